# SPDX-License-Identifier: GPL-3.0-or-later
"""Clips to measure with, made by script: a camera that pans over a textured ground, and things that move on it."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

OPTIONS = {"preset": "veryfast", "crf": "22", "g": "250", "bf": "2", "threads": "2"}


@dataclass(frozen=True)
class Spec:
    """A clip: `frames` pictures are encoded once, and their packets repeated, which costs nothing."""

    width: int
    height: int
    rate: int
    frames: int
    repeats: int
    gain: float = 1.0
    """Brightness: a second clip of the same things."""


def make(folder: Path, spec: Spec) -> Path:
    """The clip in `folder`, made where it is not there yet; its name changes with all that decides its content."""
    recipe = repr(spec) + repr(OPTIONS) + inspect.getsource(pictures) + inspect.getsource(_write)
    path = folder / f"{spec.width}x{spec.height}-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}.mp4"
    if not path.exists():
        unfinished = path.with_suffix(".part")
        _write(unfinished, spec)
        unfinished.replace(path)
    return path


def pictures(spec: Spec) -> Iterator[NDArray[np.uint8]]:
    """(H, W, 3) uint8 RGB pictures with grain, about as hard to encode as film."""
    random = np.random.default_rng(1)
    height, width = spec.height, spec.width
    margin = max(8, spec.frames * 4)
    y, x = np.mgrid[0:height, 0 : width + margin].astype(np.float32)
    ground = np.zeros((height, width + margin), np.float32)
    for octave in range(1, 7):
        a, b, phase = random.uniform(-1, 1, 3)
        ground += np.sin((a * x + b * y) * octave**2 * 0.02 + 6 * phase) / octave
    ground = 110 + 45 * ground / np.abs(ground).max()
    grain = random.normal(0, 2.5, (height, width + 64)).astype(np.float32)
    tint = np.array([1.0, 0.95, 0.85], np.float32)
    for index in range(spec.frames):
        shown = ground[:, 4 * index : 4 * index + width] + grain[:, index % 64 : index % 64 + width]
        size = height // 6
        for thing in range(4):
            left = int((width - size) * (0.5 + 0.5 * np.sin(index / 9 + 1.7 * thing)))
            top = (height - size) * thing // 4
            shown[top : top + size, left : left + size] = 60 + 45 * thing
        yield (shown[..., None] * tint * spec.gain).clip(0, 255).astype(np.uint8)


def _write(path: Path, spec: Spec) -> None:
    with av.open(str(path), "w", format="mp4") as out:
        stream = out.add_stream("libx264", rate=spec.rate, options=dict(OPTIONS))
        context = stream.codec_context
        context.width, context.height, context.pix_fmt = spec.width, spec.height, "yuv420p"
        packets = []
        for index, picture in enumerate(pictures(spec)):
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts = index
            packets += stream.encode(frame)
        packets += stream.encode(None)
        kept = [(bytes(packet), packet.pts, packet.dts, packet.is_keyframe, packet.time_base) for packet in packets]
        for repeat in range(spec.repeats):
            for data, pts, dts, is_keyframe, time_base in kept:
                packet = av.Packet(data)
                shift = round(repeat * spec.frames / (spec.rate * time_base))
                packet.pts, packet.dts, packet.time_base = pts + shift, dts + shift, time_base
                packet.is_keyframe, packet.stream = is_keyframe, stream
                out.mux(packet)
