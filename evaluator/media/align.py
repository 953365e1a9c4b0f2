# SPDX-License-Identifier: GPL-3.0-or-later
"""Which frame of a reference each frame of a reconstruction shows, told by what moves in the pictures.

The frames of the reference are the states of a hidden Markov model, the frames of the reconstruction its observations,
and the best path through it (Viterbi) is the answer. Two cosines speak for a pair of frames: of the pictures without
what stays the same for half a second around them, and of the change since the frame before, which is compared with
the reference's change over as many frames as the path takes. Neither feels other colours, brightness or contrast; how
much a cosine counts follows from how well the two videos agree where they agree, so that a rough stand-in for the
scene decides little and a good copy decides single frames.

A path goes on frame by frame at no cost. It may also jump, play backwards, or play at another speed; each has a price
in nats that the pictures must pay back, so that a path that is on time is never left without evidence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

FORWARDS, BACKWARDS, SLOW, FAST = range(4)

STILL_RMS: Final = 0.15
"""Grey levels between two signatures; below it nothing moves."""
LEAST_SIMILARITY: Final = 0.1
LEAST_LEAD: Final = 2.0
"""A path counts when the changes along it have at least this mean cosine similarity, and beat those of every path
beside it by at least this many standard errors. A path through unrelated real clips stays below 0.04 and 1.3."""

_LEAST_MEAN_LEAD = 0.01  # of similarity: keeps a motion that repeats itself exactly from deciding by rounding
_LEAST_FRAMES = 6  # that move in both
_JUMP = 12.0  # nats; among 2,000 frames one is met by chance at 7.6
_TURN = 6.0  # nats, for another speed or direction on top of a jump or instead of one
_RESUME = 3.0  # nats, for going on after a held picture from where it stood instead of in time
_MOST = 6.0  # nats that one cosine of one frame can bring, since neighbouring frames err alike
_REFINED_RMS = 0.6  # grey levels over all cells of such a picture; and a quarter of the usual change
_WEIGHT = 8.0  # independent cells of a signature, taken low
_STEEPEST = 8.0, 8.0  # nats per unit of cosine of pictures and of changes, since near a fault even the best differ
_FASTEST = 4
_PASSES = 3
_BLOCK, _WIDTH = 256, 2048  # frames whose evidence is computed at a time; frames of the reference that are in reach
_IMPOSSIBLE = np.float32(-1e9)
_CODE_JUMP, _CODE_GAP, _CODE_GAP_BACK = 255, 15, 14  # else 16 · mode before + 8 + step


@dataclass(frozen=True)
class Alignment:
    """The frames of a reconstruction that say something, and what of the reference each of them shows."""

    frames: NDArray[np.int64]
    """(k,) places in the reconstruction, increasing."""
    shown: NDArray[np.int64]
    """(k,) places in the reference; below 0 or beyond its end where its content has not begun or is over."""
    modes: NDArray[np.int64]
    """(k,) FORWARDS, BACKWARDS, SLOW or FAST."""
    supported: NDArray[np.bool_]
    """(k,) whether the pictures speak for it at all; elsewhere the path only goes on."""
    reason: str
    """Why the content decides nothing; empty where it does."""


def align(reference: NDArray[np.uint8], reconstruction: NDArray[np.uint8], rate: float) -> Alignment:
    """Best path through two videos on one grid of `rate` frames per second; signatures (n, h, w) and (m, h, w).

    Held and black pictures of the reconstruction say nothing and are left out. Time and memory grow with m times the
    reach of about 1,000 frames to either side of being on time; shorter videos are searched whole.
    """
    frames = np.flatnonzero(_telling(reconstruction))
    reach = max(2, round(rate))
    features = _Features(reference, reconstruction, frames, round(rate / 2))
    weights, before = (2.0, 2.0), None
    for _ in range(_PASSES):
        shown, modes = _best_path(features, frames, weights, pad=2 * reach)
        similar, moved = features.along(shown, modes)
        if before is not None and np.array_equal(shown, before):
            break
        weights = min(_weight(similar), _STEEPEST[0]), min(_weight(moved), _STEEPEST[1])
        before = shown
    supported = (similar > 0.5 * _middle(similar)) | (moved > 0.5 * _middle(moved))
    inside = (shown >= 0) & (shown < len(reference))
    return Alignment(frames, shown, modes, supported & inside, features.doubt(shown, modes, longest=2 * reach))


def largest_change(signatures: NDArray[np.uint8]) -> NDArray[np.int16]:
    """(n − 1,) grey levels by which the most changed cell of each picture (n, h, w) differs in the next."""
    steps: NDArray[np.int16] = np.abs(np.diff(signatures.astype(np.int16), axis=0)).max(axis=(1, 2), initial=0)
    return steps


REPEATED: Final = 1
"""Largest change of any cell, in grey levels, of a picture that was only encoded again."""
REFINED: Final = 4
"""Largest change of any cell, in grey levels, of a held picture that an encoder improves from frame to frame."""
BLACK: Final = 24
"""Brightest cell of a black picture, in grey levels."""


def _telling(signatures: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """(n,) whether a picture is neither black nor that of the frame before; the first always counts."""
    telling: NDArray[np.bool_] = signatures.max(axis=(1, 2)) > BLACK
    change = largest_change(signatures)
    steps = np.sqrt(np.square(np.diff(signatures.astype(np.float32), axis=0)).mean(axis=(1, 2)))
    moving = steps[change > REPEATED]
    faint = min(_REFINED_RMS, 0.25 * float(np.median(moving))) if len(moving) else 0.0
    telling[1:] &= (change > REFINED) | ((change > REPEATED) & (steps > faint))
    telling[0] = True
    return telling


class _Features:
    """Unit vectors of both videos' pictures and changes; zero where there is nothing to compare."""

    def __init__(
        self,
        reference: NDArray[np.uint8],
        reconstruction: NDArray[np.uint8],
        frames: NDArray[np.int64],
        half: int,
    ) -> None:
        given, made = _level(reference), _level(reconstruction)
        self.pictures = _unit(_without_mean(given, half))
        self.changes = {lag: _unit(_change(given, lag)) for lag in range(1, _FASTEST + 1)}
        own = _without_mean(made, half)
        self.own_pictures = _unit(own)[frames]
        self.reliable = _reliable(own, half)[frames]
        self.own_changes = _unit(_change(made, 1))[frames]

    def along(self, shown: NDArray[np.int64], modes: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Cosines of pictures and of changes (k,) along a path; 0 where there is nothing to compare."""
        return _beside(self.own_pictures, self.pictures, shown, 0)[:, 0], self._moved(shown, modes, 0)[:, 0]

    def _moved(self, shown: NDArray[np.int64], modes: NDArray[np.int64], longest: int) -> Floats:
        """Cosines (k, 2 · longest + 1) of the changes along a path, and along those up to ± `longest` beside it."""
        moved = np.zeros((len(shown), 2 * longest + 1), np.float32)
        back = modes == BACKWARDS
        steps = np.where(back, 0, np.maximum(np.diff(shown, prepend=shown[0] - 1), 1))
        moved[back] = -_beside(self.own_changes[back], self.changes[1], shown[back] + 1, longest)
        for lag, change in self.changes.items():
            of_lag = steps == lag
            moved[of_lag] = _beside(self.own_changes[of_lag], change, shown[of_lag], longest)
        return moved

    def doubt(self, shown: NDArray[np.int64], modes: NDArray[np.int64], longest: int) -> str:
        """Why a path is not believed: it has to stand out from the same path up to ± `longest` frames beside it."""
        count = len(self.pictures)
        moving = np.asarray(self.changes[1].any(axis=1), np.bool_)
        own = np.asarray(self.own_changes.any(axis=1), np.bool_)
        if moving.sum() < _LEAST_FRAMES:
            return "the reference hardly moves"
        if own.sum() < _LEAST_FRAMES:
            return "the reconstruction hardly moves"
        longest = min(longest, count // 3)
        places = shown[:, None] + np.arange(-longest, longest + 1)
        inside = (places >= 0) & (places < count)
        counted = own[:, None] & inside & moving[places.clip(0, count - 1)]
        moved = self._moved(shown, modes, longest)
        on_path = counted[:, longest]
        if on_path.sum() < _LEAST_FRAMES:
            return "too few frames move in both at the same time"
        if float(moved[on_path, longest].mean()) < LEAST_SIMILARITY:
            return "the pictures do not move alike"
        for size in range(1, longest + 1):
            for column in (longest + size, longest - size):
                both = on_path & counted[:, column]
                if both.sum() < _LEAST_FRAMES:
                    continue
                lead = moved[both, longest] - moved[both, column]
                error = float(lead.std(ddof=1)) / math.sqrt(len(lead))
                if float(lead.mean()) <= max(LEAST_LEAD * error, _LEAST_MEAN_LEAD):
                    return f"the motion looks the same {size} frame{'s' if size > 1 else ''} apart"
        return ""


def _level(signatures: NDArray[np.uint8]) -> Floats:
    """(n, h·w) signatures without the brightness that all cells share."""
    flat: Floats = signatures.reshape(len(signatures), -1).astype(np.float32)
    flat -= flat.mean(axis=1, keepdims=True)
    return flat


def _without_mean(values: Floats, half: int) -> Floats:
    """Rows without the mean of the rows up to `half` before and after."""
    total = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0, dtype=np.float64)])
    places = np.arange(len(values))
    start, end = np.maximum(places - half, 0), np.minimum(places + half + 1, len(values))
    left: Floats = (values - (total[end] - total[start]) / (end - start)[:, None]).astype(np.float32)
    return left


def _reliable(values: Floats, half: int) -> Floats:
    """(n,) weight from 0 to 1 of rows beside those up to `half` around them.

    Where the picture changes steadily, as in a fade, it passes through its own mean, and what is left is rounding.
    """
    power: Floats = np.square(values).mean(axis=1, keepdims=True).astype(np.float32)
    around = power - _without_mean(power, half)
    weight: Floats = np.minimum(power / np.maximum(around, 1e-9), 1)[:, 0]
    return weight


def _change(values: Floats, lag: int) -> Floats:
    changes = np.zeros_like(values)
    changes[lag:] = values[lag:] - values[:-lag]
    return changes


def _unit(values: Floats) -> Floats:
    length = np.linalg.norm(values, axis=1, keepdims=True)
    moves = length > STILL_RMS * math.sqrt(values.shape[1])
    return np.where(moves, values / np.maximum(length, 1e-9), 0).astype(np.float32)


def _beside(own: Floats, given: Floats, places: NDArray[np.int64], longest: int) -> Floats:
    """Cosines (k, 2 · longest + 1) of each row of `own` and the rows of `given` around its place; 0 outside."""
    found = np.zeros((len(own), 2 * longest + 1), np.float32)
    around = np.arange(-longest, longest + 1)
    for first in range(0, len(own), _BLOCK):
        rows = slice(first, first + _BLOCK)
        wanted = places[rows, None] + around
        inside = (wanted >= 0) & (wanted < len(given))
        if inside.any():
            low, high = int(wanted[inside].min()), int(wanted[inside].max())
            table = own[rows] @ given[low : high + 1].T
            chosen = np.take_along_axis(table, (wanted - low).clip(0, high - low), axis=1)
            found[rows] = np.where(inside, chosen, 0)
    return found


def _middle(cosines: Floats) -> float:
    """Median of the cosines that there are."""
    known = cosines[cosines != 0]
    return max(0.0, float(np.median(known))) if len(known) else 0.0


def _weight(cosines: Floats) -> float:
    """Nats per unit of cosine: the slope of a log likelihood ratio of two Gaussians, around the middle and around 0."""
    middle = min(_middle(cosines), 1.0)
    return _WEIGHT * middle / (1.05 - middle**2)


def _evidence(cosines: Floats, weight: float) -> Floats:
    """Nats for cosines; 0 where they are no better than chance."""
    nats: Floats = np.maximum(weight * (cosines - 1) + min(weight, _MOST), 0, dtype=np.float32)
    return nats


Shifted = TypeVar("Shifted", np.float32, np.uint8)


def _shifted(values: NDArray[Shifted], steps: int, fill: Shifted) -> NDArray[Shifted]:
    """Values moved by `steps` places to higher indices."""
    if steps == 0:
        return values
    moved = np.empty_like(values)
    if steps > 0:
        moved[:steps], moved[steps:] = fill, values[:-steps]
    else:
        moved[steps:], moved[:steps] = fill, values[-steps:]
    return moved


def _best_path(
    features: _Features, frames: NDArray[np.int64], weights: tuple[float, float], pad: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(k,) places in the reference and (k,) modes of the best path."""
    k, n = len(frames), len(features.pictures)
    width = min(n + 2 * pad, _WIDTH)
    # column c of block b is place starts[b] + c of the reference
    middles = frames[np.minimum(np.arange(0, k, _BLOCK) + _BLOCK // 2, k - 1)]
    starts = np.clip(middles - width // 2, -pad, n + pad - width)
    back = np.empty((k, 4, width), np.uint8)
    jumped = np.zeros((k, 2), np.int64)
    gaps = np.diff(frames, prepend=frames[0] - 1)
    values = np.full((4, width), _IMPOSSIBLE)
    for block, start in enumerate(starts):
        rows = np.arange(block * _BLOCK, min((block + 1) * _BLOCK, k))
        similar, moved = _block_evidence(features, rows, int(start), width, weights)
        moves = int(start - starts[block - 1]) if block else 0
        values = np.stack([_shifted(value, -moves, _IMPOSSIBLE) for value in values])
        for place, row in enumerate(rows):
            steps = {lag: evidence[place] for lag, evidence in moved.items()}
            if row == 0:
                values = _first(similar[0], int(frames[0] - start))
            else:
                jumped[row] = divmod(int(np.argmax(values)), width)
                values = _step(values, steps, int(gaps[row]), back[row]) + similar[place]
    mode, column = divmod(int(np.argmax(values)), width)
    shown, modes = np.empty(k, np.int64), np.empty(k, np.int64)
    for at in range(k - 1, -1, -1):
        shown[at], modes[at] = column + int(starts[at // _BLOCK]), mode
        if at == 0:
            break
        code = int(back[at, mode, column])
        if code == _CODE_JUMP:
            mode, column = int(jumped[at, 0]), int(jumped[at, 1])
        else:
            mode, step = divmod(code, 16)
            gap = int(gaps[at])
            column -= gap if step == _CODE_GAP else -gap if step == _CODE_GAP_BACK else step - 8
        column += int(starts[at // _BLOCK] - starts[(at - 1) // _BLOCK])
    return shown, modes


def _block_evidence(
    features: _Features, rows: NDArray[np.int64], start: int, width: int, weights: tuple[float, float]
) -> tuple[Floats, dict[int, Floats]]:
    """Nats (rows, width) for showing a place of the reference, and for having come there by each number of frames."""

    def cosines(own: Floats, given: Floats, at: int) -> Floats:
        found = np.zeros((len(rows), width), np.float32)
        first, last = max(0, at), min(len(given), at + width)
        if first < last:
            found[:, first - at : last - at] = own[rows] @ given[first:last].T
        return found

    similar = _evidence(cosines(features.own_pictures, features.pictures, start), weights[0])
    similar *= features.reliable[rows, None]
    moved = {lag: cosines(features.own_changes, change, start) for lag, change in features.changes.items()}
    moved[-1] = -cosines(features.own_changes, features.changes[1], start + 1)
    return similar, {lag: _evidence(found, weights[1]) for lag, found in moved.items()}


def _first(similar: Floats, on_time: int) -> Floats:
    """Values (4, width) of beginning somewhere; only being on time costs nothing."""
    values = np.tile(similar - np.float32(_JUMP), (4, 1))
    values[SLOW:] -= np.float32(_TURN)
    if 0 <= on_time < len(similar):
        values[[FORWARDS, SLOW, FAST], on_time] += np.float32(_JUMP)
    return values


def _step(values: Floats, moved: dict[int, Floats], gap: int, back: NDArray[np.uint8]) -> Floats:
    """Values (4, width) one frame later without that frame's picture; `back` (4, width) takes how each was reached."""
    jump = values.max() - np.float32(_JUMP)
    # between two frames towards the next one, a slow picture changes as either of the two steps
    eased = np.maximum(moved[1], _shifted(moved[1], -1, np.float32(0)))
    nothing = np.float32(0)
    resume = np.float32(0 if gap == 1 else _RESUME)
    slow, fast = np.float32(math.log(2)), np.float32(math.log(_FASTEST))
    # (step, code of the step, what it brings less what it costs)
    ways: dict[int, list[tuple[int, int, Floats]]] = {
        FORWARDS: [(step, 8 + step, moved[step] - resume) for step in range(1, min(gap - 1, _FASTEST) + 1)]
        or [(1, 9, moved[1])],
        BACKWARDS: [(-1, 7, moved[-1] - resume)],
        SLOW: [(step, 8 + step, eased - slow) for step in (0, 1)],
        FAST: [(step, 8 + step, moved[step] - fast) for step in range(1, _FASTEST + 1)],
    }
    if gap > 1:
        ways[FORWARDS].append((gap, _CODE_GAP, moved.get(gap, moved[1] * nothing)))
        ways[BACKWARDS].append((-gap, _CODE_GAP_BACK, moved[1] * nothing))
    reached = np.empty_like(values)
    for mode, options in ways.items():
        origin, best = _origin(values, mode)
        result = np.full(values.shape[1], jump - np.float32(0 if mode == FORWARDS else _TURN))
        codes = np.full(values.shape[1], _CODE_JUMP, np.uint8)
        for step, code, gain in options:
            found = _shifted(best, step, _IMPOSSIBLE) + gain
            better = found >= result
            np.copyto(result, found, where=better)
            np.copyto(codes, _shifted(origin, step, np.uint8(0)) + np.uint8(code), where=better)
        reached[mode], back[mode] = result, codes
    return reached


def _origin(values: Floats, mode: int) -> tuple[NDArray[np.uint8], Floats]:
    """(16 · mode, value) that each place is best left from to go on in `mode`."""
    best, origin = values[mode].copy(), np.full(values.shape[1], 16 * mode, np.uint8)
    price = np.float32(_JUMP if mode == BACKWARDS else _TURN)
    for other in (BACKWARDS, SLOW, FAST) if mode == FORWARDS else (FORWARDS,):
        changed = values[other] - price
        better = changed > best
        np.copyto(best, changed, where=better)
        origin[better] = 16 * other
    return origin, best
