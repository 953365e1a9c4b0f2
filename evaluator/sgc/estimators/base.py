# SPDX-License-Identifier: GPL-3.0-or-later
"""What the estimators share: shots of a video as ranges of frames, and pairs of consecutive frames out of a stream."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from ...protocol.errors import BadInputError
from ..records import FrameGeometry, PairGeometry, Shots, Tracks

Carried = TypeVar("Carried")


@dataclass(frozen=True)
class Reading:
    """How the files are read. The defaults are sound; both off is what the authors' code does."""

    rescale_intrinsics: bool = True
    """Intrinsics of a picture of another size are scaled to the grid of the depths."""
    invert_inverse_depth: bool = True
    """Relative inverse depth becomes depth; off, it is taken for depth as it is."""


SOUND: Final = Reading()


def shots_between(cuts: Iterable[int], first: int, last: int) -> Shots:
    """The shots of the frames `first` … `last` that `cuts`, first frames of new shots, divide; others are ignored."""
    starts = [first, *sorted({cut for cut in cuts if first < cut <= last})]
    return tuple((start, end - 1) for start, end in zip(starts, [*starts[1:], last + 1], strict=True))


def shots_within(shots: Sequence[tuple[int, int]] | None, first: int, last: int, where: str) -> Shots:
    """`shots` as given, or one over all frames `first` … `last` for None.

    Raises BadInputError, naming `where`, for shots that are out of order, empty, or hold other frames.
    """
    if shots is None:
        return ((first, last),)
    borders = [first - 1, *(border for shot in shots for border in shot)]
    in_order = all(start <= end for start, end in shots)
    apart = all(after[0] > before[1] for before, after in itertools.pairwise(shots))
    if not shots or not in_order or not apart or min(borders[1:]) < first or max(borders) > last:
        raise BadInputError(
            f"{where}: it has the frames {first} to {last}, which do not hold the shots {list(shots)}; "
            "give the shots of this video"
        )
    return tuple((int(start), int(end)) for start, end in shots)


def pairs_expected(shots: Shots) -> int:
    """How many pairs of consecutive frames the shots have."""
    return sum(last - first for first, last in shots)


def consecutive(
    frames: Iterable[tuple[FrameGeometry, Carried]],
    shots: Shots,
    tracks: Callable[[FrameGeometry, FrameGeometry, Carried], Tracks],
) -> Iterator[PairGeometry]:
    """The pairs of consecutive frames of one shot; two frames in memory.

    Each frame comes with what its tracks to the next one are made of, which `tracks` is given after the two frames.
    """
    starts = {first for first, _ in shots}
    inside = {number for first, last in shots for number in range(first, last + 1)}
    previous: tuple[FrameGeometry, Carried] | None = None
    for current, carried in frames:
        number = current.number
        if previous is not None and {number - 1, number} <= inside and number not in starts:
            before, of_before = previous
            if before.number == number - 1:
                yield PairGeometry(before, current, tracks(before, current, of_before))
        previous = current, carried


def read_pictures(paths: Sequence[Path], size: tuple[int, int]) -> Iterator[NDArray[np.uint8]]:
    """RGB pictures (H, W, 3) of `size` (width, height) from picture files, one in memory.

    Raises BadInputError, naming the file, for one that is no picture; another size is resampled.
    """
    for path in paths:
        picture = read_picture(path, cv2.IMREAD_COLOR)
        if picture.shape[1::-1] != size:
            picture = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
        yield cv2.cvtColor(picture, cv2.COLOR_BGR2RGB).astype(np.uint8)


def read_picture(path: Path, flags: int) -> NDArray[np.uint8]:
    """A picture file as OpenCV gives it with `flags`; BadInputError, naming the file, where it cannot be read."""
    try:
        data = np.frombuffer(path.read_bytes(), np.uint8)  # not cv2.imread, which cannot open every name on Windows
        picture = cv2.imdecode(data, flags) if len(data) else None
    except (OSError, cv2.error) as error:
        raise BadInputError(f"{path}: cannot be read as a picture ({error}); make it again") from error
    if picture is None:
        raise BadInputError(f"{path}: no picture that can be read; make it again")
    return np.asarray(picture, dtype=np.uint8)
