# SPDX-License-Identifier: GPL-3.0-or-later
"""SGC in either mode as rows and curves for a reader: the page and the command line say the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..results import Results
from ..sgc.records import COMPONENTS, SgcResult
from ..sgc.robust.records import ROBUST_COMPONENTS, ROBUST_LABELS, ROBUST_UNITS, RobustResult
from .text import COMPONENT_LABELS, COMPONENT_UNITS, significant

AnySgc = SgcResult | RobustResult


@dataclass(frozen=True)
class ComponentRow:
    """One component: its mean over pairs in the paper's mode; median, upper tail and interval in the robust one."""

    component: str
    label: str
    unit: str
    value: str | None
    pairs: str
    p90: str = ""
    interval: str = ""


@dataclass(frozen=True)
class Series:
    """One component's values by frame, None where a pair has none; `logarithm` as the score takes them."""

    component: str
    label: str
    unit: str
    values: dict[int, float | None]
    logarithm: bool


def sgc_of(results: Results) -> AnySgc | None:
    """The reconstruction's SGC, None where it is unscored as a whole."""
    return results.sgc if isinstance(results.sgc, SgcResult | RobustResult) else None


def component_rows(sgc: AnySgc) -> list[ComponentRow]:
    """A row per component, in the order of the mode."""
    return list(_paper_rows(sgc) if isinstance(sgc, SgcResult) else _robust_rows(sgc))


def series_of(sgc: AnySgc) -> list[Series]:
    """A curve per component, in the order of the mode."""
    if isinstance(sgc, SgcResult):
        return [
            Series(
                name, COMPONENT_LABELS[name], COMPONENT_UNITS[name],
                {pair.frame: pair.components.get(name) for pair in sgc.pairs},
                logarithm=name != "average_depth_consistency_error",
            )
            for name in COMPONENTS
        ]  # fmt: skip
    return [
        Series(
            name, ROBUST_LABELS[name], ROBUST_UNITS[name], {pair.frame: getattr(pair, name) for pair in sgc.pairs},
            logarithm=False,
        )
        for name in ROBUST_COMPONENTS
    ]  # fmt: skip


def floor_text(sgc: AnySgc) -> str:
    """What stands beside a robust score: the floor of its estimator and how far the score is above it."""
    if isinstance(sgc, SgcResult):
        return ""
    if sgc.floor is None or sgc.excess is None:
        return "no noise floor is known for this estimator"
    return f"{significant(sgc.excess)} above its estimator's floor of {significant(sgc.floor)}"


def interval_text(sgc: AnySgc) -> str:
    """The 95 % interval of a robust score, empty where there is none."""
    if isinstance(sgc, SgcResult) or sgc.score_low is None or sgc.score_high is None:
        return ""
    return f"{significant(sgc.score_low)}–{significant(sgc.score_high)}"


def pairs_text(sgc: AnySgc) -> str:
    """How many pairs stand behind a score."""
    text = f"{sgc.pairs_scored} of {sgc.pairs_expected} pairs"
    if isinstance(sgc, RobustResult) and sgc.pairs_observable < sgc.pairs_scored:
        text += f", {sgc.pairs_observable} with parallax"
    return text


def reference_text(results: Results) -> str:
    """The reference's own SGC beside the reconstruction's, empty where it was not measured."""
    other = results.reference_sgc
    if other is None:
        return ""
    score = getattr(other, "score", None)
    return f"the reference: {significant(score)}" if score is not None else f"the reference: unscored, {other.reason}"


def _paper_rows(sgc: SgcResult) -> Iterator[ComponentRow]:
    for name in COMPONENTS:
        value = sgc.components.get(name)
        shown = significant(value) if value is not None else None
        pairs = str(sgc.component_pairs.get(name, sgc.pairs_scored))
        yield ComponentRow(name, COMPONENT_LABELS[name], COMPONENT_UNITS[name], shown, pairs)


def _robust_rows(sgc: RobustResult) -> Iterator[ComponentRow]:
    for name in ROBUST_COMPONENTS:
        found = sgc.components.get(name)
        label, unit = ROBUST_LABELS[name], ROBUST_UNITS[name]
        if found is None:
            yield ComponentRow(name, label, unit, None, "0")
            continue
        ends = "" if found.low is None or found.high is None else f"{significant(found.low)}–{significant(found.high)}"
        yield ComponentRow(name, label, unit, significant(found.median), str(found.pairs), significant(found.p90), ends)
