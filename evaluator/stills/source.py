# SPDX-License-Identifier: GPL-3.0-or-later
"""Where our picture of a reference's frame comes from: a video, a render job, or a folder of numbered pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..media.compare import frame_at
from ..media.decode import pick
from ..media.pictures import SUFFIXES, read_picture
from ..media.probe import probe
from ..protocol.errors import BadInputError
from ..protocol.render_job import RenderJob
from ..protocol.timeline import Timeline

VIDEO: Final = "reconstruction.mp4"
_NUMBER: Final = re.compile(r".*?([0-9]+)[^0-9]*")

Picture = NDArray[np.uint8]


@dataclass(frozen=True)
class Stills:
    """Our pictures of some of the reference's frames.

    `pictures` by the reference's frame; `own` is the frame of ours that each is.
    """

    pictures: dict[int, Picture]
    own: dict[int, int]


def reference_stills(path: Path, frames: Iterable[int]) -> tuple[dict[int, Picture], Timeline]:
    """The reference's pictures at `frames` and those beside them, and its timeline.

    Raises BadInputError for a frame that it does not have.
    """
    timeline = probe(path).timeline
    chosen = set(frames)
    beyond = next((frame for frame in sorted(chosen) if frame >= timeline.frames), None)
    if beyond is not None:
        raise BadInputError(f"{path}: frame {beyond} was asked for, but its frames are 0 … {timeline.frames - 1}")
    wanted = {frame + shift for frame in chosen for shift in (-1, 0, 1) if 0 <= frame + shift < timeline.frames}
    return {frame.index: frame.image for frame in pick(path, sorted(wanted))}, timeline


def our_stills(place: Path, frames: Iterable[int], optional: Iterable[int], reference: Timeline) -> Stills:
    """Our pictures at the reference's `frames`; those at `optional` only where they are there.

    Of a video the frame nearest by time; of a folder the picture with that number. A job whose pictures are not all
    there has its video searched. Raises BadInputError that names the first frame that is missing, and what there is.
    """
    wanted, more = sorted(set(frames)), sorted(set(optional) - set(frames))
    if place.is_file():
        return _of_video(place, wanted, more, reference)
    if not place.is_dir():
        raise BadInputError(f"{place}: there is no such video or folder; render the scene first, or name another one")
    folder, video = place / "frames", place / VIDEO
    if not folder.is_dir() and not video.is_file():
        return _of_folder(place, wanted, more)
    found = _numbered(folder) if folder.is_dir() else {}
    if video.is_file() and not set(wanted) <= set(found):
        return _of_video(video, wanted, more, reference)
    _check_rate(place, reference)
    return _of_folder(folder, wanted, more)


def _check_rate(job: Path, reference: Timeline) -> None:
    """A job's frames are its own reference's; raise BadInputError where that ran at another rate."""
    if (job / "job.json").is_file():
        rate = RenderJob.read(job).timeline.rate
        if rate != reference.rate:
            raise BadInputError(
                f"{job}: was rendered at {float(rate):.6g} frames per second, the reference runs at "
                f"{float(reference.rate):.6g}; render the scene again on this reference"
            )


def _of_video(path: Path, wanted: list[int], more: list[int], reference: Timeline) -> Stills:
    timeline = probe(path).timeline
    own = {frame: frame_at(reference.time_of(frame), timeline) for frame in [*wanted, *more]}
    ended = next((frame for frame in wanted if own[frame] is None), None)
    if ended is not None:
        raise BadInputError(
            f"{path}: has ended by the reference's frame {ended}; its last frame is {timeline.frames - 1} at "
            f"{float(timeline.time_of(timeline.frames - 1)):.3f} s"
        )
    known = {frame: place for frame, place in own.items() if place is not None}
    picked = {frame.index: frame.image for frame in pick(path, sorted(set(known.values())))}
    return Stills({frame: picked[place] for frame, place in known.items()}, known)


def _of_folder(folder: Path, wanted: list[int], more: list[int]) -> Stills:
    found = _numbered(folder)
    missing = next((frame for frame in wanted if frame not in found), None)
    if missing is not None:
        there = f"there are {_ranges(sorted(found))}" if found else "the folder has none"
        raise BadInputError(f"{folder}: frame {missing} is not there; {there}; render it, or choose another frame")
    frames = [*wanted, *(frame for frame in more if frame in found)]
    return Stills({frame: read_picture(found[frame]) for frame in frames}, {frame: frame for frame in frames})


def _numbered(folder: Path) -> dict[int, Path]:
    names = (path for path in folder.iterdir() if not path.name.startswith(".") and path.suffix.lower() in SUFFIXES)
    matches = ((_NUMBER.fullmatch(path.stem), path) for path in sorted(names))
    return {int(match[1]): path for match, path in matches if match is not None}


def _ranges(frames: list[int]) -> str:
    """`0-9, 12` of increasing numbers, the first few of them."""
    parts: list[list[int]] = []
    for frame in frames:
        if parts and frame == parts[-1][1] + 1:
            parts[-1][1] = frame
        else:
            parts.append([frame, frame])
    texts = [f"{first}-{last}" if last > first else f"{first}" for first, last in parts]
    return ", ".join(texts[:6] + (["…"] if len(texts) > 6 else []))
