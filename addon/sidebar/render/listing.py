# SPDX-License-Identifier: GPL-3.0-or-later
"""The last renders of a folder, by what lies in them. No bpy: tested on its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ....evaluator.protocol.errors import BadInputError
from ....evaluator.protocol.render_job import RenderJob, RenderStatus
from ..requests import RENDER, SCORE, Owner, may_be_of, numbered

VIDEOS: Final = ("reconstruction.mp4", "preview.mp4")
"""The verified one of all frames, and the one to look at of a part or every nth."""


@dataclass(frozen=True)
class Rendered:
    """A render on disk. `seconds` is what its frames took, None where that is not known; `video` what can be played."""

    folder: Path
    video: Path | None
    is_whole: bool
    is_done: bool
    frames: int
    of: int
    width: int
    height: int
    seconds: float | None


def list_renders(base: Path, owner: Owner) -> list[Rendered]:
    """The owner's newest renders in `base`, the newest first; what is damaged or not begun is left out."""
    found = (read_render(folder) for folder in numbered(base, RENDER) if may_be_of(owner, folder))
    return [render for render in found if render is not None]


def last_video(bases: Sequence[Path], owner: Owner, renders: Sequence[Rendered]) -> Path | None:
    """The newest video of all frames: of one of the `renders`, or of a score of the owner's; None where there is none.

    `renders` is what `list_renders` told of the same folders.
    """
    found = [one.video for one in renders if one.is_whole and one.video is not None]
    scores = [folder for base in bases for folder in numbered(base, SCORE)]
    found += [folder / VIDEOS[0] for folder in scores if may_be_of(owner, folder)]
    dated = [(seconds, path) for path in found if (seconds := _changed(path)) is not None]
    return max(dated)[1] if dated else None


def _changed(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except OSError:
        return None


def read_render(folder: Path) -> Rendered | None:
    """The render in `folder`; None where there is none that can be read."""
    try:
        job = RenderJob.read(folder)
    except BadInputError:
        return None
    try:
        status = RenderStatus.read(folder)
    except BadInputError:  # it was ended at once
        status = RenderStatus()
    wanted = len(job.wanted())
    is_done = is_finished(folder)
    video = next((folder / name for name in VIDEOS if (folder / name).is_file()), None) if is_done else None
    each = status.seconds_per_frame
    return Rendered(
        folder=folder,
        video=video,
        is_whole=job.whole and job.pictures,
        is_done=is_done,
        frames=wanted if is_done else min(wanted, status.done // max(1, job.pictures + job.passes)),
        of=wanted,
        width=job.size[0],
        height=job.size[1],
        seconds=each * wanted if each is not None else None,
    )


def is_finished(folder: Path) -> bool:
    """Whether a render came to its end."""
    try:
        return RenderStatus.read(folder).state == "done"
    except BadInputError:
        return False
