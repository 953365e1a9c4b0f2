# SPDX-License-Identifier: GPL-3.0-or-later
"""A score as the panel shows it, from its results.json. No bpy: read in a thread, tested on its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ....evaluator.protocol.errors import BadInputError
from ....evaluator.protocol.files import read_json
from ....evaluator.protocol.timeline import Timeline
from .lines import RESULTS_FORMAT, ResultLine, artists_words, result_lines

CATEGORIES: Final[dict[str, tuple[str, ...]]] = {
    "camera": ("translation", "rotation", "zoom", "position", "target", "shot_transitions"),
    "static": ("object_presence", "object_appearance", "spatial_relations"),
    "dynamic": ("subject_motion", "action_events"),
}
"""By dimension, in the order in which they are shown."""
RATINGS: Final = {
    "unsatisfied": "Unsatisfied",
    "partially_satisfied": "Partially Satisfied",
    "": "Not Judged",
    "fully_satisfied": "Satisfied",
}
"""Labels by rating, failing first; empty is what no judge has rated."""
COMPONENTS: Final = {
    "divergence_px": ("Local Motion", "px"),
    "depth_log_error": ("Depth", ""),
    "unexplained_share": ("Unexplained", "%"),
    "invalid_share": ("Not Measured", "%"),
    "focal_error": ("Focal Length", "%"),
    "average_local_rotation_variance": ("Local Turn", "deg²"),
    "average_local_translation_variance": ("Local Shift", ""),
    "average_global_rotation_variance": ("Global Turn", "deg²"),
    "average_global_translation_variance": ("Global Shift", ""),
    "average_depth_consistency_error": ("Depth", ""),
}
"""Label, short enough for a label column, and unit of each part of SGC in either mode."""


@dataclass(frozen=True)
class Figure:
    """A score of 0 to 100 with how many checks stand behind it; `value` is None, with a reason, where there is none."""

    name: str
    value: float | None
    scored: int
    expected: int
    reason: str = ""

    @property
    def label(self) -> str:
        """As a panel names it."""
        return title(self.name)


@dataclass(frozen=True)
class Check:
    """One check under the score's setting. Frames are the reference's, counted from 0, both ends included."""

    key: str
    """CLIP/CHECK."""
    category: str
    statement: str
    entities: tuple[str, ...]
    settings: tuple[str, ...]
    rating: str
    """A key of RATINGS."""
    first: int
    last: int
    evidence: tuple[int, ...]
    """On which the statement can be seen."""
    shown: tuple[int, ...]
    """Of those within the check that the judge was shown."""
    judge: str
    reason: str
    """Why it was not judged, where it was not."""

    @property
    def moment(self) -> int:
        """The frame that tells most: the middle one of its evidence, else of its interval."""
        return self.evidence[len(self.evidence) // 2] if self.evidence else (self.first + self.last) // 2


@dataclass(frozen=True)
class Component:
    """One part of SGC: its value in its unit, empty where it could not be measured."""

    label: str
    text: str


@dataclass(frozen=True)
class Consistency:
    """SGC; lower is better. `score` is None, with a reason, where there is none."""

    score: float | None
    reason: str = ""
    mode: str = ""
    estimator: str = ""
    floor: float | None = None
    excess: float | None = None
    low: float | None = None
    high: float | None = None
    scored: int = 0
    expected: int = 0
    reference: float | None = None
    """The reference's own, by the same estimator."""
    components: tuple[Component, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failure:
    """Clips that no judge could rate, for one reason."""

    reason: str
    clips: tuple[str, ...]
    detail: str


@dataclass(frozen=True)
class Score:
    """All that the panel shows of one results.json."""

    folder: Path
    setting: str
    state: str
    """judged | partly_judged | not_judged"""
    reason: str
    """Why nothing, or not everything, was judged."""
    overall: Figure
    dimensions: tuple[Figure, ...]
    categories: tuple[Figure, ...]
    checks: tuple[Check, ...]
    failures: tuple[Failure, ...]
    sgc: Consistency
    lines: tuple[ResultLine, ...]
    reference: Timeline | None
    reconstruction: Timeline | None
    reference_name: str
    reference_sha256: str
    seconds: float = 0.0
    """When it was scored, in seconds since the epoch."""
    scene_id: str = ""
    """By which its folder names the scene; empty where it names none, or was read because the scene names it."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Overall, then the dimensions, then the categories."""
        return (self.overall, *self.dimensions, *self.categories)


def title(name: str) -> str:
    """A name of the formats as a label: `shot_transitions` becomes `Shot Transitions`."""
    return name.replace("_", " ").title()


def read_score(folder: Path) -> Score:
    """The score in `folder`. Raises BadInputError where its results.json is missing or not of this version."""
    path = folder / "results.json"
    data = read_json(path, RESULTS_FORMAT)
    try:
        return score_of(data, folder, path.stat().st_mtime)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, BadInputError) as error:
        raise BadInputError(f"{path}: not what this version of Matchcut writes ({error!r}); score again") from error


def score_of(data: Mapping[str, Any], folder: Path, seconds: float) -> Score:
    """The score that parsed results tell of. What earlier versions did not write may be missing."""
    checklist = data["checklist"]
    setting = data.get("setting", "")
    scored = not checklist.get("unscored")
    reference, reconstruction = data.get("reference") or {}, data.get("reconstruction") or {}
    return Score(
        folder=folder,
        setting=setting,
        state=checklist["state"] if scored else "not_judged",
        reason=artists_words(checklist.get("reason") or ""),
        overall=_figure("overall", checklist.get("overall")),
        dimensions=tuple(_figure(name, (checklist.get("dimensions") or {}).get(name)) for name in CATEGORIES),
        categories=tuple(
            _figure(name, (checklist.get("categories") or {}).get(name))
            for names in CATEGORIES.values()
            for name in names
        ),
        checks=tuple(sorted(_checks(data, setting), key=by_rating)),
        failures=tuple(_failures(data.get("operational_failures") or [])),
        sgc=_consistency(data["sgc"], data.get("reference_sgc")),
        lines=tuple(result_lines(data)),
        reference=_timeline(reference),
        reconstruction=_timeline(reconstruction),
        reference_name=reference.get("path", ""),
        reference_sha256=reference.get("sha256", ""),
        seconds=seconds,
    )


def by_rating(check: Check) -> tuple[int, int, int, str]:
    """Sorts failing checks first, then in order of time."""
    return list(RATINGS).index(check.rating), check.first, check.last, check.key


def _timeline(video: Mapping[str, Any]) -> Timeline | None:
    return Timeline.from_json(video["timeline"]) if video.get("timeline") else None


def _figure(name: str, score: Mapping[str, Any] | None) -> Figure:
    if score is None:
        return Figure(name, None, 0, 0)
    reason = artists_words(score.get("reason") or "")
    return Figure(name, score["value"], score["checks_scored"], score["checks_expected"], reason)


def _checks(data: Mapping[str, Any], setting: str) -> Iterator[Check]:
    judgments = {one["clip"]: one for one in data.get("judgments") or [] if one["setting"] == setting}
    failed = {one["clip"]: one["reason"] for one in data.get("operational_failures") or []}
    for clip in data.get("clips") or []:
        names = {entity["id"]: entity["name"] for entity in clip["entities"]}
        judgment = judgments.get(clip["id"]) or {}
        ratings = {item["check"]: item["rating"] for item in judgment.get("ratings") or []}
        shown = sorted({frame["reference_frame"] for frame in judgment.get("evidence") or []})
        offset = clip["frame_offset"]
        for check in clip["checks"]:
            if setting not in check["settings"]:
                continue
            first, last = offset + check["start"], offset + check["end"]
            rating = ratings.get(check["id"]) or ""
            if rating not in RATINGS:
                raise ValueError(f"rating {rating!r}")
            yield Check(
                key=f"{clip['id']}/{check['id']}",
                category=check["category"],
                statement=check["statement"],
                entities=tuple(names.get(subject, subject) for subject in check["subjects"]),
                settings=tuple(check["settings"]),
                rating=rating,
                first=first,
                last=last,
                evidence=tuple(offset + frame for frame in sorted(check["evidence_frames"])),
                shown=tuple(frame for frame in shown if first <= frame <= last),
                judge=judgment.get("replied_model") or judgment.get("requested_model") or "",
                reason="" if rating else failed.get(clip["id"], "").replace("_", " "),
            )


def _failures(failures: list[Mapping[str, Any]]) -> Iterator[Failure]:
    for reason in dict.fromkeys(failure["reason"] for failure in failures):
        of_it = [failure for failure in failures if failure["reason"] == reason]
        clips = tuple(dict.fromkeys(failure["clip"] for failure in of_it))
        yield Failure(reason.replace("_", " ").capitalize(), clips, of_it[0].get("detail", ""))


def _consistency(sgc: Mapping[str, Any], reference: Mapping[str, Any] | None) -> Consistency:
    if sgc.get("unscored"):
        return Consistency(None, artists_words(sgc["reason"]))
    return Consistency(
        score=sgc["score"],
        reason=artists_words(sgc.get("reason") or ""),
        mode=sgc.get("mode", "paper"),
        estimator=sgc.get("estimator", ""),
        floor=sgc.get("floor"),
        excess=sgc.get("excess"),
        low=sgc.get("score_low"),
        high=sgc.get("score_high"),
        scored=sgc["pairs_scored"],
        expected=sgc["pairs_expected"],
        reference=(reference or {}).get("score"),
        components=tuple(_component(name, value) for name, value in (sgc.get("components") or {}).items()),
        notes=tuple(sgc.get("notes") or ()),
    )


def _component(name: str, value: Any) -> Component:
    """A component of either mode: a number, or a summary of which the median is told."""
    label, unit = COMPONENTS.get(name, (title(name), ""))
    number = value["median"] if isinstance(value, dict) else value
    if number is None:
        return Component(label, "")
    if unit == "%":
        return Component(label, f"{100 * number:.2g} %")
    return Component(label, f"{number:.2g} {unit}".rstrip())
