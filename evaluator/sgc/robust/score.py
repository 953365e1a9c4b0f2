# SPDX-License-Identifier: GPL-3.0-or-later
"""SGC of a video in the robust mode: one walk through its pairs for the gauge, one to measure them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from ...protocol.messages import Reporter
from ..records import Geometry
from .floors import shipped_floor
from .gauge import fit_gauges
from .pair import NO_PARALLAX, Measured, measure_pair
from .points import Floats
from .records import ROBUST_COMPONENTS, Gauge, NoiseFloor, RobustComponent, RobustPair, RobustResult
from .settings import ROBUST, RobustSettings
from .summary import DEFAULT_SCALE, drawn, interval, levels, score_of, score_of_floor, summaries, table_of

FOCAL_SIGMA = 0.1
"""A window whose tracks leave the focal length more uncertain than this share says nothing of it."""


@dataclass
class _Window:
    """Pairs of one shot whose information on the focal length is added up."""

    pairs: list[int] = field(default_factory=list)
    focal: list[Floats] = field(default_factory=list)


def score_robust(
    geometry: Geometry, *, reporter: Reporter, floor: NoiseFloor | None = None, settings: RobustSettings = ROBUST
) -> RobustResult:
    """SGC of one video; `floor` is that of the estimator's stack, None the one that comes with the program, if any.

    Pairs are read one at a time, twice. Progress is told as the stages `sgc, gauge` and `sgc`, a step per pair.
    """
    expected = geometry.pairs_expected
    floor = floor or shipped_floor(geometry.estimator)
    gauges = fit_gauges(geometry, settings, lambda done: reporter.progress("sgc, gauge", done, max(expected, done)))
    pairs: list[RobustPair] = []
    window, place, current = _Window(), 0, (0, 0)
    for pair in geometry.pairs():
        while place + 1 < len(gauges) and pair.frame > gauges[place].last:
            place += 1
        own = place, window_of(pair.frame, (gauges[place].first, gauges[place].last), settings.window)
        if own != current:
            _close(window, pairs)
            window, current = _Window(), own
        measured = measure_pair(pair, gauges[place], masks_from_residuals(geometry), settings)
        pairs.append(measured.result)
        _extend(window, measured, len(pairs) - 1)
        reporter.progress("sgc", len(pairs), max(expected, len(pairs)))
    _close(window, pairs)
    return _result(geometry, pairs, gauges, floor, settings)


def masks_from_residuals(geometry: Geometry) -> bool:
    """Whether the estimator called moving what its own cameras did not explain."""
    return geometry.masks == "residuals"


def window_of(frame: int, shot: tuple[int, int], length: int) -> int:
    """Which of its shot's sub-windows the pair that ends at `frame` lies in.

    A shot of n pairs is divided evenly into round(n / length) of them, at least one: a rest of two or three pairs
    would tell little of the focal length, with as much weight as the others.
    """
    pairs = max(1, shot[1] - shot[0])
    return (frame - shot[0] - 1) * max(1, round(pairs / length)) // pairs


def _extend(window: _Window, measured: Measured, index: int) -> None:
    window.pairs.append(index)
    if measured.focal is not None:
        window.focal.append(measured.focal)


def _close(window: _Window, pairs: list[RobustPair]) -> None:
    """Give the window's pairs the error of its focal length, where its tracks determine one."""
    error = focal_error(window.focal)
    for index in window.pairs:
        if pairs[index].observable:
            pairs[index] = pairs[index].model_copy(update={"focal_error": error})


def focal_error(pairs: Sequence[Floats]) -> float | None:
    """|log| of the factor on the focal length that pairs ask for beyond what they are apart about; None if unknown.

    Each is (2, parts), see focal_information. The parts of the picture are each wrong in their own way in all pairs,
    so that how far they are apart tells the standard deviation: what it lets one expect is taken off the square.
    """
    information, pulls = np.sum(pairs, axis=0) if pairs else np.zeros((2, 1))
    total = float(information.sum())
    if total <= 1 / FOCAL_SIGMA**2:
        return None
    error = float(pulls.sum()) / total
    apart = pulls - error * information
    variance = 1 / total + float((apart**2).sum()) * len(apart) / max(1, len(apart) - 1) / total**2
    if variance > FOCAL_SIGMA**2:
        return None
    return min(1.0, math.sqrt(max(0.0, error**2 - variance)))


def _result(
    geometry: Geometry, pairs: list[RobustPair], gauges: list[Gauge], floor: NoiseFloor | None, settings: RobustSettings
) -> RobustResult:
    expected = max(geometry.pairs_expected, len(pairs))
    scored = [pair for pair in pairs if pair.divergence_px is not None]
    observable = sum(pair.observable for pair in pairs)
    # a pair that the estimator could not give at all costs like one that could not be measured
    lost = [RobustPair(frame=-1)] * (expected - len(pairs))
    table = table_of([*pairs, *lost])
    scale = floor.scale if floor is not None else DEFAULT_SCALE
    reason = _reason(pairs, scored, observable, expected, settings)
    result = RobustResult(
        estimator=geometry.estimator,
        score=None,
        components=summaries(table, settings),
        pairs_scored=len(scored),
        pairs_observable=observable,
        pairs_expected=geometry.pairs_expected,
        pairs=pairs,
        worst=_worst(pairs, scale),
        gauges=gauges,
        floor_source=_source(floor),
        reason=reason,
        notes=[*geometry.notes, *_notes(geometry, pairs, scored, observable, expected, floor)],
        parameters={
            **asdict(settings),
            "depth_unit": geometry.depth_unit,
            "depth_scale": geometry.scale,
            "width": geometry.size[0],
            "height": geometry.size[1],
            **{f"scale_{name}": scale[name] for name in ROBUST_COMPONENTS},
        },
    )
    if reason:
        return result
    level = levels(table)
    ends = interval(score_of(levels(table[drawn(len(table), settings)]), scale)) if len(table) > 1 else None
    score = float(score_of(level, scale))
    low, high = ends if ends is not None else (None, None)
    changes: dict[str, float | None] = {"score": score, "score_low": low, "score_high": high}
    if floor is not None:
        zero = score_of_floor(floor, level)
        changes |= {"floor": zero, "excess": max(0.0, score - zero)}
    return result.model_copy(update=changes)


def _reason(
    pairs: Sequence[RobustPair], scored: Sequence[RobustPair], observable: int, expected: int, settings: RobustSettings
) -> str:
    """Why there is no score, or nothing."""
    if not pairs:
        return "there are no two consecutive frames within one shot"
    needed = max(1, math.ceil(settings.minimum_observable * expected))
    if observable >= needed:
        return ""
    common, count = Counter(pair.reason for pair in pairs if not pair.observable).most_common(1)[0]
    if not scored and common != NO_PARALLAX:
        return f"none of {len(pairs)} pairs of frames could be measured; in {count}: {common}"
    few = f"{observable} of {expected} pairs have parallax, {needed} are needed"
    return f"unobservable: {few}; in {count}: {common}"


def _worst(pairs: Sequence[RobustPair], scale: dict[RobustComponent, float]) -> list[int]:
    """Frames of the ten worst pairs by their own scores."""
    if not pairs:
        return []
    scores = score_of(table_of(pairs), scale)
    order = np.argsort(-scores, kind="stable")[:10]
    return [pairs[index].frame for index in order]


def _source(floor: NoiseFloor | None) -> str:
    if floor is None:
        return "none measured for this estimator: the scales are general ones"
    return f"{floor.estimator} on {len(floor.scenes)} clean scenes at {floor.size[0]}×{floor.size[1]}"


def _notes(
    geometry: Geometry,
    pairs: Sequence[RobustPair],
    scored: Sequence[RobustPair],
    observable: int,
    expected: int,
    floor: NoiseFloor | None,
) -> list[str]:
    notes = []
    if expected > len(pairs):
        notes.append(f"the estimator gave {len(pairs)} of {expected} pairs; the others count as invalid")
    if len(pairs) > len(scored):
        notes.append(f"{len(pairs) - len(scored)} of {len(pairs)} pairs could not be measured and count as invalid")
    if observable < len(scored):
        notes.append(
            f"{len(scored) - observable} of {len(scored)} measured pairs have no parallax: depth and translation are "
            "unobservable there"
        )
    if masks_from_residuals(geometry):
        notes.append("the motion mask comes from residuals, so that what it removes counts as unexplained motion")
    masked = [pair.masked_share for pair in scored]
    if masked and float(np.median(masked)) > 0.5:
        notes.append(
            f"the motion mask removes {100 * float(np.median(masked)):.0f} % of the picture in the median pair"
        )
    if scored and floor is None:
        notes.append("no noise floor was measured for this estimator: read the components, not the score")
    return notes


def levels_by_name(table: Floats) -> dict[RobustComponent, float | None]:
    """The levels of a table of pairs by component; None where no pair has it."""
    return {
        name: None if math.isnan(value) else float(value)
        for name, value in zip(ROBUST_COMPONENTS, levels(table), strict=True)
    }
