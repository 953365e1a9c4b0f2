# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a picture is shifted and scaled against another one that may be lit, coloured and textured quite otherwise.

What is compared is the direction of edges, whichever side of them is the brighter one: the gradient as a complex
number, its angle doubled and its length saturated. The shift is the peak of a cross-correlation that is normalised by
what both pictures hold where they overlap (Padfield, Masked FFT registration, CVPR 2010), the scale the best of a
series; both are then refined together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from .grey import Grey, edge_share, gradients

SEARCH_WIDTH: Final = 128
SCALES: Final = np.exp(np.linspace(np.log(0.6), np.log(1 / 0.6), 27))
LARGEST_SHIFT: Final = 0.4
"""Of the width and of the height."""
LEAST_SCORE: Final = 0.2
LEAST_LEAD: Final = 1.15
"""The best placement beats every one elsewhere by this factor; else several look alike."""
LEAST_EDGES: Final = 0.004
"""Share of the pixels that lie on an edge."""
_NEAR: Final = 0.06  # of the width: placements that belong to the same peak
_FLOOR: Final = 6.0  # grey levels per pixel at which an edge counts half

Field = NDArray[np.complex64]


@dataclass(frozen=True)
class Framing:
    """Where our content lies in the picture against the reference's; None with a `reason` where that is not clear.

    `right` and `down` in per cent of the picture's width, `scale` is above 1 where ours is larger, about the picture's
    centre; `score` from 0 to 1 tells how alike the edges are once that is undone.
    """

    right: float | None
    down: float | None
    scale: float | None
    score: float | None
    reason: str = ""


def measure_framing(reference: Grey, ours: Grey) -> Framing:
    """The shift and scale of `ours` (h, w) against `reference` (h, w), both float32 grey levels."""
    for name, picture in (("the reference", reference), ("ours", ours)):
        if edge_share(picture) < LEAST_EDGES:
            return Framing(None, None, None, None, f"{name} has hardly any edges")
    height, width = reference.shape
    small = (SEARCH_WIDTH, max(16, round(SEARCH_WIDTH * height / width)))
    coarse, made = (_field(cv2.resize(one, small, interpolation=cv2.INTER_AREA)) for one in (reference, ours))
    given = _Given(coarse)
    peaks = [_best_shift(given, made, float(scale)) for scale in SCALES]
    best = max(range(len(peaks)), key=lambda place: peaks[place][0])
    score, right, down, second = peaks[best]
    ratio = width / small[0]
    start = (right * ratio, down * ratio, float(SCALES[best]))
    refined, score = _refined(_field(reference), _field(ours), start, ratio)
    if score < LEAST_SCORE:
        return Framing(None, None, None, None, "the pictures have too little in common")
    if peaks[best][0] < LEAST_LEAD * second:
        return Framing(None, None, None, None, "several placements fit alike")
    if best in (0, len(SCALES) - 1):
        return Framing(None, None, None, None, f"ours is scaled by less than {SCALES[0]:.2f} or more than its inverse")
    right, down, scale = refined
    if abs(right) > LARGEST_SHIFT * width or abs(down) > LARGEST_SHIFT * height:
        return Framing(None, None, None, None, f"the best placement lies off by more than {LARGEST_SHIFT:.0%}")
    return Framing(100 * right / width, 100 * down / width, scale, score)


def aligned(ours: Grey, framing: Framing) -> Grey:
    """`ours` with its shift and scale undone; what then has no content repeats the edge."""
    if framing.scale is None or framing.right is None or framing.down is None:
        return ours
    width = ours.shape[1]
    moved = (framing.right * width / 100, framing.down * width / 100, framing.scale)
    return np.asarray(_moved(ours, moved, cv2.BORDER_REPLICATE), np.float32)


def _field(picture: Grey) -> Field:
    """Doubled directions of the edges (h, w) complex64, of length 0 to 1."""
    across, down = gradients(picture)
    length = np.hypot(across, down)
    weight = length**2 / (length**2 + np.float32(_FLOOR) ** 2) / np.maximum(length, 1e-6) ** 2
    return np.asarray(weight * (across + 1j * down) ** 2, np.complex64)


def _placement(size: tuple[int, int], moved: tuple[float, float, float]) -> NDArray[np.float64]:
    """(2, 3) affine map from the reference's pixels to ours: scaled about the centre, then shifted."""
    right, down, scale = moved
    middle = np.array([(size[0] - 1) / 2, (size[1] - 1) / 2])
    offset = middle * (1 - scale) + (right, down)
    return np.array([[scale, 0, offset[0]], [0, scale, offset[1]]])


def _moved(picture: NDArray[np.float32], moved: tuple[float, float, float], border: int) -> NDArray[np.float32]:
    size = (picture.shape[1], picture.shape[0])
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    return np.asarray(cv2.warpAffine(picture, _placement(size, moved), size, flags=flags, borderMode=border))


def _undone(field: Field, moved: tuple[float, float, float]) -> tuple[Field, NDArray[np.float32]]:
    """A field with shift and scale undone, and 1 where it is known."""
    pair = np.stack([field.real, field.imag, np.ones(field.shape)], axis=-1).astype(np.float32)
    found = _moved(pair, moved, cv2.BORDER_CONSTANT)
    known = (found[..., 2] > 0.999).astype(np.float32)
    return np.asarray((found[..., 0] + 1j * found[..., 1]) * known, np.complex64), known


class _Given:
    """The reference's field and what its correlations with others need of it."""

    def __init__(self, field: Field) -> None:
        height, width = field.shape
        self.size = (cv2.getOptimalDFTSize(2 * height), cv2.getOptimalDFTSize(2 * width))
        power = np.abs(field) ** 2
        self.total = float(power.sum())
        self.field, self.power, self.known = (
            np.conj(self.spectrum(one)) for one in (field, power, np.ones_like(power))
        )
        self.rows, self.columns = (np.fft.fftfreq(length, 1 / length) for length in self.size)

    def spectrum(self, values: NDArray[Any]) -> NDArray[np.complex128]:
        return np.asarray(np.fft.fft2(values, self.size), np.complex128)


def _best_shift(given: _Given, made: Field, scale: float) -> tuple[float, float, float, float]:
    """Score of the best shift at a scale, that shift (right, down) in pixels, and the best score elsewhere."""
    height, width = made.shape
    scaled, known = _undone(made, (0.0, 0.0, scale))
    power = np.abs(scaled) ** 2
    alike = np.fft.ifft2(given.field * given.spectrum(scaled)).real
    # what each holds where they overlap: both are real, so one transform back serves for both
    held = np.fft.ifft2(given.power * given.spectrum(known) + 1j * given.known * given.spectrum(power))
    # where they hardly overlap a few pixels would decide
    enough = (held.real > 0.35 * given.total) & (held.imag > 0.35 * float(power.sum()))
    rows, columns = given.rows[:, None], given.columns
    reach = (np.abs(rows) <= LARGEST_SHIFT * height) & (np.abs(columns) <= LARGEST_SHIFT * width)
    score = np.where(enough & reach, alike / np.sqrt(np.maximum(held.real * held.imag, 1e-9)), -1.0)
    row, column = np.unravel_index(int(np.argmax(score)), score.shape)
    down, right = float(rows[row, 0]), float(columns[column])
    near = (np.abs(rows - down) <= _NEAR * width) & (np.abs(columns - right) <= _NEAR * width)
    return float(score[row, column]), right * scale, down * scale, float(np.where(near, -1.0, score).max())


def _refined(
    given: Field, made: Field, start: tuple[float, float, float], step: float
) -> tuple[tuple[float, float, float], float]:
    """The best shift and scale near `start`, by ever smaller steps, and its score."""

    def score(moved: tuple[float, float, float]) -> float:
        field, known = _undone(made, moved)
        there = np.where(known > 0, given, 0)
        norm = float(np.sqrt((np.abs(there) ** 2).sum() * (np.abs(field) ** 2).sum()))
        return float((np.conj(there) * field).real.sum()) / norm if norm > 0 else 0.0

    best, at = score(start), start
    grow = 1.02
    while step > 0.04:
        tried = [
            *((at[0] + x * step, at[1] + y * step, at[2]) for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1))),
            (at[0], at[1], at[2] * grow), (at[0], at[1], at[2] / grow),
        ]  # fmt: skip
        scores = [score(one) for one in tried]
        place = int(np.argmax(scores))
        if scores[place] > best:
            best, at = scores[place], tried[place]
        else:
            step, grow = step / 2, 1 + (grow - 1) / 2
    return at, best
