# SPDX-License-Identifier: GPL-3.0-or-later
"""A small rigid scene with exact geometry: ground, back wall and upright panels under a moving camera; no Blender."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from matchcut.evaluator.protocol.messages import Reporter
from matchcut.evaluator.protocol.render_job import GEOMETRY_FORMAT, RenderJob
from matchcut.evaluator.protocol.timeline import Timeline
from matchcut.evaluator.sgc.estimators.base import shots_between
from matchcut.evaluator.sgc.estimators.blender import open_job
from matchcut.evaluator.sgc.paper import score_paper
from matchcut.evaluator.sgc.records import FrameGeometry, Geometry, PairGeometry, SgcResult, Tracks

H, W = 120, 160
K = np.array([[150.0, 0, W / 2 - 0.5], [0, 150.0, H / 2 - 0.5], [0, 0, 1]])

# (id, centre x, z, half width, top y, bottom y): upright panels facing the first camera, ground at y = 1.5
PANELS = (
    (3, -2.0, 6.0, 0.7, -1.2, 1.5),
    (4, 1.5, 8.0, 0.9, -1.0, 1.5),
    (5, -4.0, 11.0, 1.5, -2.0, 1.5),
    (6, 4.5, 14.0, 1.5, -2.5, 1.5),
    (7, 0.0, 18.0, 2.0, -3.0, 1.5),
)
OBJECTS = [
    {"id": 1, "name": "ground", "static": True},
    {"id": 2, "name": "wall", "static": True},
    *({"id": panel[0], "name": f"panel {panel[0]}", "static": True} for panel in PANELS),
]


@dataclass(frozen=True)
class View:
    """One exact frame: depth (H, W), object ids (H, W), world-to-camera (4, 4)."""

    depth: np.ndarray
    ids: np.ndarray
    camera: np.ndarray


def camera(step: float) -> np.ndarray:
    """World-to-camera after `step` frames of moving forward and right while turning left and tipping."""
    yaw, pitch = np.radians(-0.4 * step), np.radians(0.15 * step)
    cy, sy, cp, sp = np.cos(yaw), np.sin(yaw), np.cos(pitch), np.sin(pitch)
    rotation = np.array([[1, 0, 0], [0, cp, -sp], [0, sp, cp]]) @ np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    matrix = np.eye(4)
    matrix[:3, :3] = rotation
    matrix[:3, 3] = -rotation @ np.array([0.06 * step, 0.0, 0.1 * step])
    return matrix


def view(step: float, *, sky: bool = False) -> View:
    """Ray-cast the scene; with `sky` there is no back wall."""
    matrix = camera(step)
    inverse = np.linalg.inv(matrix)
    v, u = np.mgrid[:H, :W].astype(float)
    rays = np.stack([u, v, np.ones_like(u)], -1) @ np.linalg.inv(K).T  # z = 1, so that the parameter is the depth
    directions, origin = rays @ inverse[:3, :3].T, inverse[:3, 3]
    depth, ids = np.full((H, W), np.inf), np.zeros((H, W), np.uint16)

    def place(number: int, z: np.ndarray, where: np.ndarray) -> None:
        nearer = where & (z > 0) & (z < depth)
        depth[nearer], ids[nearer] = z[nearer], number

    with np.errstate(divide="ignore", invalid="ignore"):
        t = (1.5 - origin[1]) / directions[..., 1]
        place(1, t, (origin + t[..., None] * directions)[..., 2] < 30)
        if not sky:
            t = (30.0 - origin[2]) / directions[..., 2]
            place(2, t, np.isfinite(t))
        for number, x, z, half, top, bottom in PANELS:
            t = (z - origin[2]) / directions[..., 2]
            hit = origin + t[..., None] * directions
            place(number, t, (abs(hit[..., 0] - x) < half) & (hit[..., 1] > top) & (hit[..., 1] < bottom))
    return View(np.where(ids > 0, depth, 0).astype(np.float32), ids, matrix)


def exact_flow(before: View, after: View) -> np.ndarray:
    """Flow (H, W, 2) of every pixel that hit something, by the camera's motion; NaN elsewhere."""
    v, u = np.mgrid[:H, :W].astype(float)
    points = (np.stack([u, v, np.ones_like(u)], -1) @ np.linalg.inv(K).T) * before.depth[..., None]
    motion = after.camera @ np.linalg.inv(before.camera)
    moved = (points @ motion[:3, :3].T + motion[:3, 3]) @ K.T
    with np.errstate(divide="ignore", invalid="ignore"):
        flow = moved[..., :2] / moved[..., 2:] - np.stack([u, v], -1)
    flow[before.depth == 0] = np.nan
    return flow


def pair(step: int = 1, *, sky: bool = False) -> PairGeometry:
    """Frames step − 1 and step with an exact track from every pixel, visible where its surface is seen again."""
    before, after = view(step - 1, sky=sky), view(step, sky=sky)
    v, u = np.mgrid[:H, :W]
    start = np.stack([u.ravel(), v.ravel()], 1).astype(float)
    end = start + exact_flow(before, after).reshape(-1, 2)
    with np.errstate(invalid="ignore"):
        visible = ((end >= 0) & (end <= (W - 1, H - 1))).all(1)
    # a hidden point is not visible: another surface lies where it should be
    index = np.clip(np.round(np.nan_to_num(end)), 0, (W - 1, H - 1)).astype(int)
    visible &= after.ids[index[:, 1], index[:, 0]] == before.ids.ravel()
    still = np.zeros((H, W), bool)
    frames = (
        FrameGeometry(step - 1 + place, one.depth, one.depth == 0, still, K, one.camera)
        for place, one in enumerate((before, after))
    )
    return PairGeometry(*frames, Tracks(start, end, visible.astype(float), np.ones(len(start))))


def changed(pair: PairGeometry, **fields) -> PairGeometry:
    """The pair with other fields of its current frame, of its previous one (`previous_…`), or other `tracks`."""
    tracks = fields.pop("tracks", pair.tracks)
    before = {name.removeprefix("previous_"): fields.pop(name) for name in list(fields) if name.startswith("previous_")}
    return PairGeometry(replace(pair.previous, **before), replace(pair.current, **fields), tracks)


def geometry_of(*pairs: PairGeometry, expected: int | None = None) -> Geometry:
    """A video's geometry of these pairs."""
    return Geometry(
        estimator="test/1", scale="shared_with_poses", size=(W, H), shots=((0, len(pairs)),),
        pairs=lambda: iter(pairs), pairs_expected=len(pairs) if expected is None else expected, depth_unit="one",
    )  # fmt: skip


def measure_render(job: Path, *, cuts: Sequence[int], reporter: Reporter) -> SgcResult:
    """SGC of a render job in the paper's mode, with these first frames of new shots."""
    frames = RenderJob.read(job)
    return score_paper(open_job(job, shots_between(cuts, frames.first, frames.last)), reporter=reporter)


def warped(exact: PairGeometry, pixels: float) -> PairGeometry:
    """The pair with a sinusoidal warp of `pixels` amplitude in its current track positions."""
    end = exact.tracks.current
    offset = pixels * np.stack([np.sin(end[:, 1] / 11.0), np.cos(end[:, 0] / 13.0)], 1)
    return changed(exact, tracks=replace(exact.tracks, current=end + offset))


@dataclass
class Job:
    """A finished render job on disk, made by hand; a test changes it before `write`."""

    frames: int = 6
    chunk: int = 4
    sky: bool = False
    objects: list[dict] = field(default_factory=lambda: [dict(entry) for entry in OBJECTS])

    def arrays(self, first: int, last: int) -> dict[str, np.ndarray]:
        """The arrays of the chunk with the frames first … last."""
        views = [view(step, sky=self.sky) for step in range(first, last + 1)]
        following = [*views[1:], view(last + 1, sky=self.sky)]
        flows = [exact_flow(one, two) for one, two in zip(views, following, strict=True)]
        return {
            "frames": np.arange(first, last + 1, dtype=np.int32),
            "depth": np.stack([one.depth for one in views]),
            "flow_next": np.stack(flows).astype(np.float32),
            "flow_previous": np.full((len(views), H, W, 2), np.nan, np.float32),
            "object_ids": np.stack([one.ids for one in views]),
            "intrinsics": np.stack([K] * len(views)),
            "world_to_camera": np.stack([one.camera for one in views]),
        }

    def write(self, folder: Path) -> Path:
        """Write job.json and the geometry folder; returns the job's folder."""
        geometry = folder / "geometry"
        geometry.mkdir(parents=True)
        timeline = Timeline(W, H, Fraction(24), self.frames)
        job = RenderJob(scene="scene.blend", timeline=timeline, first=0, last=self.frames - 1, passes=True)
        (folder / "job.json").write_text(json.dumps(job.to_json()))
        chunks = []
        for first in range(0, self.frames, self.chunk):
            arrays = self.arrays(first, min(first + self.chunk, self.frames) - 1)
            name = f"{first:06d}.npz"
            np.savez_compressed(geometry / name, **arrays)
            chunks.append({"file": name, "first": first, "last": first + len(arrays["frames"]) - 1})
        index = {
            "format": GEOMETRY_FORMAT, "width": W, "height": H, "first": 0, "last": self.frames - 1,
            "view_layer": "ViewLayer", "objects": self.objects, "chunks": chunks, "notes": [],
        }  # fmt: skip
        (geometry / "geometry.json").write_text(json.dumps(index))
        return folder
