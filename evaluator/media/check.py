# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a reconstruction lies on its reference's timeline, told by numbers and by what the pictures show."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..protocol.messages import Reporter
from ..protocol.timeline import Timeline, format_rate, nearest_frame
from .records import Comparison, TimelineCheck, VideoInfo
from .scan import scan

DRIFT_FRAMES = Fraction(1, 10)
DRIFT_LENGTH = 10_000
"""Two rates agree when they drift apart by less than a tenth of a frame over the reference, taken as at least 10,000
frames long: a relative difference of 1e-5. 2997/125 for 24000/1001 (1e-6) agrees at any length below ten minutes and
far beyond; 24 for 24000/1001 (1e-3) never does, however short the clip. Durations are held to the same."""

LONGEST_SHIFT_SECONDS = 2
LEAST_SIMILARITY = 0.1
LEAST_LEAD = 2.0
"""An offset counts when the frame-to-frame changes at it have at least this mean cosine similarity, and beat every
other offset by at least this many standard errors. Pairs of unrelated real clips stay below 0.04 and 1.3."""

_LEAST_MEAN_LEAD = 0.01  # of similarity: keeps a motion that repeats itself exactly from deciding by rounding
_STILL_RMS = 0.15  # grey levels between two signatures; below it nothing moves, for finding the offset
_REPEATED = 1  # largest change of any cell, in grey levels, of a picture that was only encoded again
_MOVED = 4  # smallest change of a cell that counts as the reference having moved
_LULL = 2  # frames
_BLACK, _NOT_BLACK = 24, 48  # brightest cell of a black picture; of one that certainly is not


def check_timeline(reference: VideoInfo, reconstruction: VideoInfo, *, reporter: Reporter) -> TimelineCheck:
    """Compare size, rate, frame count and duration, and look in the pictures for a shift, frozen and black stretches.

    Frames of both are matched by time from their first frames on, as the protocol does (appendix C.1); where the rates
    differ, at the times of the slower one. Nothing is corrected.
    Raises BadInputError where a file can no longer be read.
    """
    reporter.status("comparing the timelines")
    first, second = reference.timeline, reconstruction.timeline
    comparisons = [
        Comparison(
            name="resolution",
            reference=f"{first.width}x{first.height}",
            reconstruction=f"{second.width}x{second.height}",
            agrees=(first.width, first.height) == (second.width, second.height),
        ),
        Comparison(
            name="rate",
            reference=format_rate(first.rate),
            reconstruction=format_rate(second.rate),
            agrees=within_drift(first.rate, second.rate, first.frames),
        ),
        Comparison(
            name="frames",
            reference=str(first.frames),
            reconstruction=str(second.frames),
            agrees=first.frames == second.frames,
        ),
        Comparison(
            name="duration",
            reference=f"{float(first.duration):.6f} s",
            reconstruction=f"{float(second.duration):.6f} s",
            agrees=within_drift(first.duration, second.duration, first.frames),
        ),
    ]
    grid = min(first.rate, second.rate)
    given, own = on_grid(first, grid), on_grid(second, grid)
    shown = scan(Path(reference.path)).signatures[given]
    rebuilt = scan(Path(reconstruction.path)).signatures[own]
    offset = content_offset(shown, rebuilt, longest=round(LONGEST_SHIFT_SECONDS * grid))
    both = min(len(given), len(own))
    return TimelineCheck(
        comparisons=comparisons,
        offset_frames=None if offset is None else round(offset * first.rate / grid),
        frozen=_as_own_frames(frozen_stretches(shown[:both], rebuilt[:both], offset or 0), own),
        black=_as_own_frames(black_stretches(shown[:both], rebuilt[:both]), own),
    )


def within_drift(first: Fraction, second: Fraction, frames: int) -> bool:
    """Whether two rates, or two durations, of a video of `frames` frames are the same but for rounding."""
    return abs(first / second - 1) * max(frames, DRIFT_LENGTH) < DRIFT_FRAMES


def on_grid(timeline: Timeline, rate: Fraction) -> NDArray[np.int64]:
    """(n,) frames nearest to the times 0, 1/rate, 2/rate … that the video has, `rate` being at most its own.

    At rates that agree, every frame.
    """
    if within_drift(timeline.rate, rate, timeline.frames):
        return np.arange(timeline.frames)
    places = (nearest_frame(place / rate, timeline.rate) for place in range(timeline.frames))
    return np.array([frame for frame in places if frame < timeline.frames], np.int64)


def content_offset(reference: NDArray[np.uint8], reconstruction: NDArray[np.uint8], *, longest: int) -> int | None:
    """Shift s at which frame f of the reference looks like frame f + s of the reconstruction, up to ± `longest`.

    Signatures (n, h, w) and (m, h, w). What is compared is how the picture changes from frame to frame (cosine
    similarity, so that other colours and brightness do not matter). None where no shift stands out: a still picture,
    a motion that repeats itself, or pictures that have nothing in common.
    """
    change, moves = _changes(reference)
    other_change, other_moves = _changes(reconstruction)
    count, other_count = len(change), len(other_change)
    similarity = np.where(moves[:, None] & other_moves[None, :], change @ other_change.T, 0.0)
    longest = min(longest, min(count, other_count) // 3)
    least = max(6, min(count, other_count) // 8)
    # a row per shift: the similarity of each change of the reference to its counterpart, NaN where there is none
    table = np.full((2 * longest + 1, count), np.nan)
    for row, shift in enumerate(range(-longest, longest + 1)):
        frames = np.arange(max(0, -shift), min(count, other_count - shift))
        frames = frames[moves[frames]]
        table[row, frames] = similarity[frames, frames + shift]
    if longest < 1 or (np.isfinite(table).sum(axis=1) < least).any():
        return None
    means = np.nanmean(table, axis=1)
    best = int(np.argmax(means))
    lead = np.delete(table[best] - table, best, axis=0)
    shared = np.isfinite(lead).sum(axis=1)
    if means[best] < LEAST_SIMILARITY or (shared < least).any():
        return None
    error = np.nanstd(lead, axis=1, ddof=1) / np.sqrt(shared)
    stands_out = np.nanmean(lead, axis=1) > np.maximum(LEAST_LEAD * error, _LEAST_MEAN_LEAD)
    return best - longest if bool(stands_out.all()) else None


def _changes(signatures: NDArray[np.uint8]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Unit vectors (n − 1, h·w) of the change to each next frame, without the part that all cells share; who moved."""
    change = np.diff(signatures.reshape(len(signatures), -1).astype(np.float64), axis=0)
    change -= change.mean(axis=1, keepdims=True)
    length = np.linalg.norm(change, axis=1)
    moves = length > _STILL_RMS * np.sqrt(change.shape[1])
    return change / np.maximum(length, 1e-9)[:, None], moves


def frozen_stretches(
    reference: NDArray[np.uint8], reconstruction: NDArray[np.uint8], offset: int
) -> list[tuple[int, int]]:
    """Inclusive stretches in which the reconstruction repeats one picture while the reference moves.

    Signatures (n, h, w) of both, frame by frame at the same times. Where the reconstruction lies `offset` frames off,
    a step counts when the reference moves both at its time and at the time that it shows.
    """
    change, given = _largest_change(reconstruction), _largest_change(reference)
    if offset:
        source = np.arange(len(given)) - offset
        inside = (source >= 0) & (source < len(given))
        given = np.where(inside, np.minimum(given, given[source.clip(0, len(given) - 1)]), given)
    repeats, moves = change <= _REPEATED, given >= _MOVED
    # a dim or blurred reconstruction changes less everywhere: only a step that should have been seen counts
    followed = moves & ~repeats
    share = float(np.median(change[followed] / given[followed])) if followed.any() else 1.0
    missed = repeats & (given * min(1.0, share) >= _MOVED)
    # repeats beside a missed step belong to the same hold even where the reference slows down for a moment
    padded = np.pad(missed, _LULL)
    beside = np.any([padded[lag : lag + len(missed)] for lag in range(2 * _LULL + 1)], axis=0)
    return [(first, last + 1) for first, last in _runs(repeats & beside)]


def black_stretches(reference: NDArray[np.uint8], reconstruction: NDArray[np.uint8]) -> list[tuple[int, int]]:
    """Inclusive stretches in which the reconstruction is black and the reference is not; signatures (n, h, w)."""
    dark = reconstruction.max(axis=(1, 2)) <= _BLACK
    return _runs(dark & (reference.max(axis=(1, 2)) >= _NOT_BLACK))


def _largest_change(signatures: NDArray[np.uint8]) -> NDArray[np.int16]:
    steps: NDArray[np.int16] = np.abs(np.diff(signatures.astype(np.int16), axis=0)).max(axis=(1, 2))
    return steps


def _runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and last index of every run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(start), int(end) - 1) for start, end in zip(edges[::2], edges[1::2], strict=True)]


def _as_own_frames(stretches: list[tuple[int, int]], places: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Stretches of places on the grid as frames of the reconstruction."""
    return [(int(places[first]), int(places[last])) for first, last in stretches]
