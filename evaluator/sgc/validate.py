# SPDX-License-Identifier: GPL-3.0-or-later
"""The paper's own experiments on given videos: sensitivity to injected corruptions, and what the components share.

Source: SGC, sections 4.3 to 4.5 and figures 5 and 7. A corruption grows linearly along each shot. It is injected into
the geometry (tracks, depth, as in the paper), or into the pictures, whose geometry is then estimated anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

import numpy as np

from ..protocol.messages import Reporter
from ..records import Record
from .calibrate import pearson
from .records import Geometry, SgcResult
from .robust.records import RobustResult

SEVERITIES: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
FEWEST_VIDEOS: Final = 3
"""For correlations over videos."""


class Condition(Record):
    """Means over the videos at one kind and severity; a component that no video has is None."""

    kind: str
    severity: float
    score: float | None
    videos: int
    """How many of them have a score."""
    components: dict[str, float | None]


class Sensitivity(Record):
    """How the score answers to one kind of corruption."""

    kind: str
    monotone: bool
    """Whether each severity scores worse than the one before, all videos having a score at each."""
    rank_correlation: float | None
    """Spearman's ρ of severity and mean score."""
    conditions: list[Condition]


class Validation(Record):
    """What was found; see docs/sgc.md."""

    format: Literal["matchcut-sgc-validation/1"] = "matchcut-sgc-validation/1"
    mode: Literal["paper", "robust"]
    injected: Literal["geometry", "pictures"]
    videos: list[str]
    estimators: list[str]
    sensitivities: list[Sensitivity]
    correlated: str
    """What the correlations are over."""
    correlations: dict[str, dict[str, float | None]]
    """Pearson's r between components."""
    camera_dynamics: dict[str, float]
    """Mean turn and mean travel a frame, each scaled to [0, 1] over the videos, the greater one; empty for few."""
    camera_correlation: float | None
    """Pearson's r of camera dynamics and score."""
    notes: list[str] = []


@dataclass(frozen=True)
class Case:
    """One video: its name, and its score with a corruption of some severity."""

    name: str
    score: Callable[[str, float], SgcResult | RobustResult]


def validate(
    cases: Sequence[Case],
    kinds: Sequence[str],
    severities: Sequence[float],
    *,
    mode: Literal["paper", "robust"],
    injected: Literal["geometry", "pictures"],
    reporter: Reporter,
) -> Validation:
    """Score every case with every corruption. Progress is told as stage `validate`, a step per score.

    Severity 0 changes nothing; it is scored once a case, and stands in every kind's table.
    """
    severities = sorted(set(severities) | {0.0})
    total = len(cases) * (1 + len(kinds) * (len(severities) - 1))
    results: dict[tuple[str, float], list[SgcResult | RobustResult]] = {}
    clean = []
    done = 0
    for case in cases:
        for kind, severity in [("", 0.0), *((kind, one) for kind in kinds for one in severities if one > 0)]:
            result = case.score(kind or kinds[0], severity)
            if severity == 0:
                clean.append(result)
            else:
                results.setdefault((kind, severity), []).append(result)
            done += 1
            reporter.progress("validate", done, total, case.name)
    for kind in kinds:
        results[kind, 0.0] = clean
    names = list(values_of(clean[0]))
    enough = len(cases) >= FEWEST_VIDEOS
    rows = [values_of(result) for result in (clean if enough else [one for many in results.values() for one in many])]
    dynamics = camera_dynamics([case.name for case in cases], clean) if enough else {}
    scored = [(dynamics[case.name], one.score) for case, one in zip(cases, clean, strict=True) if case.name in dynamics]
    known = [(camera, score) for camera, score in scored if score is not None]
    return Validation(
        mode=mode,
        injected=injected,
        videos=[case.name for case in cases],
        estimators=sorted({result.estimator for result in clean}),
        sensitivities=[
            _sensitivity(kind, [(severity, results[kind, severity]) for severity in severities]) for kind in kinds
        ],
        correlated="videos" if enough else "videos and corruptions (fewer than three videos were given)",
        correlations={first: {second: _correlation(rows, first, second) for second in names} for first in names},
        camera_dynamics=dynamics,
        camera_correlation=pearson(*map(np.array, zip(*known, strict=True))) if len(known) >= FEWEST_VIDEOS else None,
        notes=[
            f"{case.name} has no score without a corruption: {result.reason}"
            for case, result in zip(cases, clean, strict=True)
            if result.score is None
        ],
    )


def values_of(result: SgcResult | RobustResult) -> dict[str, float | None]:
    """Components by name: means in the paper's mode, medians in the robust one."""
    if isinstance(result, SgcResult):
        return {str(name): value for name, value in result.components.items()}
    return {str(name): None if one is None else one.median for name, one in result.components.items()}


def _sensitivity(kind: str, measured: list[tuple[float, list[SgcResult | RobustResult]]]) -> Sensitivity:
    conditions = [_condition(kind, severity, results) for severity, results in measured]
    complete = all(one.score is not None and one.videos == len(measured[0][1]) for one in conditions)
    scores = [math.nan if one.score is None else one.score for one in conditions]
    ranked = [(severity, score) for (severity, _), score in zip(measured, scores, strict=True) if score == score]
    return Sensitivity(
        kind=kind,
        monotone=complete and all(after > before for before, after in pairwise(scores)),
        rank_correlation=_spearman(ranked),
        conditions=conditions,
    )


def _spearman(pairs: list[tuple[float, float]]) -> float | None:
    from .calibrate import spearman

    return spearman(*map(np.array, zip(*pairs, strict=True))) if len(pairs) > 1 else None


def _condition(kind: str, severity: float, results: list[SgcResult | RobustResult]) -> Condition:
    scores = [result.score for result in results if result.score is not None]
    values = [values_of(result) for result in results]
    return Condition(
        kind=kind,
        severity=severity,
        score=math.fsum(scores) / len(scores) if scores else None,
        videos=len(scores),
        components={name: _mean([one[name] for one in values]) for name in values[0]},
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _correlation(rows: list[dict[str, float | None]], first: str, second: str) -> float | None:
    pairs = [(x, y) for row in rows if (x := row[first]) is not None and (y := row[second]) is not None]
    return pearson(*map(np.array, zip(*pairs, strict=True))) if len(pairs) >= FEWEST_VIDEOS else None


def camera_dynamics(names: Sequence[str], results: Sequence[SgcResult | RobustResult]) -> dict[str, float]:
    """Estimated camera dynamics (SGC, section 4.4) of the videos whose result tells the camera's motion.

    Mean turn and mean travel per frame, each min-max scaled over the videos; the greater of the two.
    """
    motions = {
        name: (result.camera_rotation_deg, result.camera_translation)
        for name, result in zip(names, results, strict=True)
        if isinstance(result, SgcResult)
        and result.camera_rotation_deg is not None
        and result.camera_translation is not None
    }
    if not motions:
        return {}
    values = np.array(list(motions.values()), dtype=np.float64)
    span = np.ptp(values, axis=0)
    scaled = np.divide(values - values.min(axis=0), span, out=np.zeros_like(values), where=span > 0)
    return {name: float(row.max()) for name, row in zip(motions, scaled, strict=True)}


def corrupted(geometry: Geometry, kind: str, severity: float) -> Geometry:
    """The geometry with a corruption; severity 0 is the geometry itself."""
    from .perturb import CORRUPTIONS, perturbed

    known = next((one for one in CORRUPTIONS if one == kind), None)
    assert known is not None
    return perturbed(geometry, known, severity) if severity > 0 else geometry
