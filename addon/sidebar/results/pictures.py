# SPDX-License-Identifier: GPL-3.0-or-later
"""The reference's and the render's frame of the chosen check, decoded by the evaluator and shown from memory."""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import bpy
import bpy.utils.previews
import numpy as np
from numpy.typing import NDArray

from ....evaluator.protocol.errors import BadInputError
from ....evaluator.protocol.messages import Message
from ....evaluator.protocol.timeline import nearest_frame
from ... import jobs
from ...look.pictures import read_picture
from .record import Score

LONGEST = 320
"""Pixels of a picture's longer side: as much as a wide sidebar shows at twice the resolution scale."""
GAP = 4
"""Pixels between the two."""
Role = Literal["reference", "reconstruction"]
ROLES: tuple[Role, ...] = ("reference", "reconstruction")
VIDEOS: dict[Role, tuple[str, ...]] = {
    "reference": ("reference.mp4", "reference-copy.mp4", "reference-preview.mp4"),
    "reconstruction": ("reconstruction.mp4", "reconstruction-copy.mp4", "reconstruction-preview.mp4"),
}
"""What a score's folder holds of each video: the first of these that is there."""


@dataclass
class Shown:
    """What is shown, or asked for: one moment of one score."""

    folder: Path
    frame: int
    """Of the reference."""
    icon: int = 0
    """Of the picture, 0 until it is there."""
    size: tuple[int, int] = (1, 1)
    """(width, height) in pixels of both together."""
    above: bool = True
    """Whether the reference lies above the render; else it lies to its left."""
    missing: dict[Role, str] = field(default_factory=dict)
    """Why one of the two is not there."""
    waiting: set[Role] = field(default_factory=set)
    """What is being decoded."""
    files: dict[Role, Path] = field(default_factory=dict)


_shown: Shown | None = None
_previews: Any = None


def shown(score: Score, frame: int) -> Shown | None:
    """The pictures of that moment; None where nobody asked for them."""
    is_it = _shown is not None and (_shown.folder, _shown.frame) == (score.folder, frame)
    return _shown if is_it else None


def ask(score: Score, frame: int) -> None:
    """Have both pictures at `frame` of the reference; what is not there yet is decoded in another process."""
    global _shown  # noqa: PLW0603
    if bpy.app.background:
        return
    _shown = asked = Shown(score.folder, frame)
    for role in ROLES:
        jobs.stop_quiet(_key(role))
        try:
            _ask_one(asked, score, role)
        except BadInputError as error:
            asked.missing[role] = str(error)
    _compose(asked)


def own_frame(score: Score, role: Role, frame: int) -> int | None:
    """The frame of one of the two videos at `frame` of the reference; None where it has ended by then."""
    reference, own = score.reference, score.reference if role == "reference" else score.reconstruction
    if reference is None or own is None:
        return frame
    found = frame if own.rate == reference.rate else nearest_frame(reference.time_of(frame), own.rate)
    return found if found < own.frames else None


def _ask_one(asked: Shown, score: Score, role: Role) -> None:
    video = next((path for name in VIDEOS[role] if (path := score.folder / name).is_file()), None)
    what = "reference" if role == "reference" else "render"
    if video is None:
        raise BadInputError(f"the {what}'s video is not in the score's folder any more")
    own = own_frame(score, role, asked.frame)
    if own is None:
        raise BadInputError(f"the {what} has ended by then")
    path = _folder(video) / f"{own:06d}.jpg"
    if path.is_file():
        asked.files[role] = path
        return
    asked.waiting.add(role)
    arguments = ["frames", str(video), "--frames", str(own), "--layout", "single", "--size", str(LONGEST)]

    def finish(messages: list[Message]) -> None:
        asked.waiting.discard(role)
        asked.files[role] = path
        _compose(asked)

    def failed(error: str) -> None:
        asked.waiting.discard(role)
        asked.missing[role] = error
        _compose(asked)

    try:
        jobs.start_quiet(_key(role), [*arguments, "--out", str(path)], finish, failed=failed)
    except BadInputError:
        asked.waiting.discard(role)
        raise


def _key(role: Role) -> str:
    return f"picture of the {role}"


def _folder(video: Path) -> Path:
    """Where the frames of a video lie that were decoded in this session; another content has another folder."""
    stat = video.stat()
    name = hashlib.sha256(f"{video} {stat.st_mtime_ns} {stat.st_size}".encode()).hexdigest()[:16]
    return Path(bpy.app.tempdir or tempfile.gettempdir()) / "matchcut-pictures" / name


def _compose(asked: Shown) -> None:
    """Once nothing is waited for, put what is there into one picture that an icon shows."""
    global _previews  # noqa: PLW0603
    if asked is not _shown or asked.waiting:
        return
    images = []
    for role in ROLES:
        if role in asked.files:
            try:
                images.append(read_picture(asked.files[role]))
            except (OSError, ValueError) as error:
                asked.missing[role] = f"{asked.files[role]}: cannot be read ({error})"
    if images:
        whole, asked.above = together(images)
        asked.size = (whole.shape[1], whole.shape[0])
        if _previews is None:
            _previews = bpy.utils.previews.new()
        _previews.clear()
        preview = _previews.new(f"{asked.folder} {asked.frame}")
        preview.image_size = asked.size
        pixels = np.full((*whole.shape[:2], 4), 255, np.uint8)
        pixels[..., :3] = whole[::-1]  # icons have their rows from the bottom
        preview.image_pixels.foreach_set(pixels.reshape(-1).view(np.int32))
        asked.icon = preview.icon_id
    jobs.redraw()


def together(images: list[NDArray[np.uint8]]) -> tuple[NDArray[np.uint8], bool]:
    """One (h, w, 3) uint8 picture of one or two, rows from the top, and whether the first lies above the second.

    Wide ones lie above each other, tall ones beside each other, so that both are as large as a square allows.
    """
    first, second = images[0], images[-1]
    above = first.shape[1] >= first.shape[0]
    if len(images) == 1:
        return first, above
    height, width = max(first.shape[0], second.shape[0]), max(first.shape[1], second.shape[1])
    size = (2 * height + GAP, width) if above else (height, 2 * width + GAP)
    whole = np.zeros((*size, 3), np.uint8)
    places = ((0, 0), (height + GAP, 0)) if above else ((0, 0), (0, width + GAP))
    for image, (y, x) in zip(images, places, strict=True):
        whole[y : y + image.shape[0], x : x + image.shape[1]] = image
    return whole, above


def forget() -> None:
    """Show nothing any more."""
    global _shown, _previews  # noqa: PLW0603
    for role in ROLES:
        jobs.stop_quiet(_key(role))
    _shown = None
    if _previews is not None:
        bpy.utils.previews.remove(_previews)
        _previews = None
