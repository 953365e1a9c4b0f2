# SPDX-License-Identifier: GPL-3.0-or-later
"""Small videos with known geometry, made with numpy: textured planes seen by a moving camera."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
from matchcut.evaluator.media.encode import encode
from matchcut.evaluator.protocol.messages import SilentReporter

WIDTH, HEIGHT, FOCAL = 240, 136, 220.0


@dataclass(frozen=True)
class Plane:
    """Points c + a·x + b·y with |a|, |b| ≤ 1, with a texture of its own."""

    centre: tuple[float, float, float]
    across: tuple[float, float, float]
    down: tuple[float, float, float]
    seed: int


ROOM = (
    Plane((0, 0, 9), (9, 0, 1), (0, 6, 0), 1),
    Plane((0, 1.6, 5), (9, 0, 0), (0, 0, 5), 2),
    Plane((-1.2, 0.6, 4.5), (0.7, 0, 0.3), (0, 1.0, 0), 3),
    Plane((1.5, 0.3, 6), (0.9, 0, -0.4), (0, 1.3, 0), 4),
    Plane((0.2, -0.6, 5.2), (0.5, 0, 0), (0, 0.5, 0.1), 5),
)


def pose(centre: Sequence[float], turn: Sequence[float]) -> np.ndarray:
    """World to camera of a camera at `centre`, turned by a rotation vector in radians."""
    found = np.eye(4)
    found[:3, :3] = cv2.Rodrigues(np.array(turn, float))[0]
    found[:3, 3] = -found[:3, :3] @ np.array(centre, float)
    return found


def path(frames: int, step: float = 0.06) -> list[np.ndarray]:
    """A camera that goes sideways and a little forward, and turns."""
    return [
        pose((step * i - 0.4, 0.02 * np.sin(i / 3), 0.4 * step * i), (0.002 * i, -0.006 * i, 0.004 * np.sin(i / 4)))
        for i in range(frames)
    ]


def view(camera: np.ndarray, planes: Sequence[Plane] = ROOM, grain: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Picture (H, W, 3) uint8 and depth (H, W), 0 where nothing is hit; `grain` seeds a little noise."""
    x, y = np.meshgrid(np.arange(WIDTH) - (WIDTH - 1) / 2, np.arange(HEIGHT) - (HEIGHT - 1) / 2)
    rays = np.stack([x / FOCAL, y / FOCAL, np.ones_like(x)], -1)
    depth = np.zeros((HEIGHT, WIDTH))
    picture = np.full((HEIGHT, WIDTH), 200, np.float32)
    for plane in planes:
        centre = camera[:3, :3] @ plane.centre + camera[:3, 3]
        across, down = camera[:3, :3] @ plane.across, camera[:3, :3] @ plane.down
        # z · ray = centre + a·across + b·down
        normal = np.cross(across, down)
        z = (centre @ normal) / np.where(np.abs(rays @ normal) < 1e-9, 1e-9, rays @ normal)
        offset = rays * z[..., None] - centre
        a, b = offset @ across / (across @ across), offset @ down / (down @ down)
        hit = (z > 0.1) & (np.abs(a) <= 1) & (np.abs(b) <= 1) & ((depth == 0) | (z < depth))
        size = 40 * np.array([np.linalg.norm(plane.across), np.linalg.norm(plane.down)])
        u, v = ((a + 1) * size[0]).astype(np.float32), ((b + 1) * size[1]).astype(np.float32)
        shown = cv2.remap(texture(plane.seed), u % 500, v % 500, cv2.INTER_LINEAR)
        picture, depth = np.where(hit, shown, picture), np.where(hit, z, depth)
    if grain is not None:
        picture = picture + np.random.default_rng(grain).normal(0, 1.5, picture.shape)
    return np.repeat(np.clip(picture, 0, 255).astype(np.uint8)[..., None], 3, axis=2), depth


def texture(seed: int) -> np.ndarray:
    """Smooth noise of several sizes, (512, 512) float32 in 20 … 230."""
    random = np.random.default_rng(seed)
    total = np.zeros((512, 512), np.float32)
    for cell, weight in ((64, 1.0), (24, 1.0), (9, 0.7)):
        count = 512 // cell + 3
        noise = random.normal(size=(count, count)).astype(np.float32)
        total += weight * cv2.resize(noise, (512, 512), interpolation=cv2.INTER_CUBIC)
    return np.clip(125 + 45 * total, 20, 230)


def video(folder: Path, pictures: Sequence[np.ndarray], name: str = "video") -> Path:
    """An MP4 of the pictures at 24 frames per second."""
    out = folder / f"{name}.mp4"
    encode(list(pictures), Fraction(24), out, reporter=SilentReporter(), total=len(pictures), quantiser=8)
    return out
