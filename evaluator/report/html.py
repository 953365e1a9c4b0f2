# SPDX-License-Identifier: GPL-3.0-or-later
"""The report: one HTML page beside the two videos that it shows, without any request to elsewhere."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ..checklist.records import DIMENSIONS
from ..media.records import VideoInfo
from ..protocol.files import write_text
from ..protocol.timeline import Timeline
from ..results import Results
from ..scoring.records import ChecklistScore
from ..sgc.robust.records import RobustResult
from .axis import Axis
from .checks import check_rows
from .consistency import (
    AnySgc,
    component_rows,
    floor_text,
    interval_text,
    pairs_text,
    reference_text,
    sgc_of,
)
from .pictures import ReportPictures
from .text import (
    RATING_LABELS,
    RATING_MARKS,
    coverage,
    cuts_text,
    fade_text,
    offset_text,
    rate_text,
    significant,
    words,
)

TEMPLATES = Path(__file__).resolve().parents[2] / "assets_ui" / "report"
FRAMES_PER_REASON = 40


@dataclass(frozen=True)
class Tile:
    """One of the figures at the top of the page; `tone` is good, bad, plain or none."""

    title: str
    figure: str
    unit: str
    note: str
    tone: str


@dataclass(frozen=True)
class PairReason:
    """Pairs that lack a component for the same reason; at most FRAMES_PER_REASON of their frames."""

    reason: str
    frames: list[int]
    count: int


@dataclass(frozen=True)
class FactGroup:
    """Names and values under one heading."""

    title: str
    facts: list[tuple[str, str]]


def write_report(
    results: Results,
    out: Path,
    *,
    reference_video: str = "reference.mp4",
    reconstruction_video: str = "reconstruction.mp4",
    previews: Sequence[str] = (),
    pictures: ReportPictures | None = None,
) -> Path:
    """Write `out/report.html` atomically and return its path.

    `reference_video` and `reconstruction_video` are names of files in `out` that a browser plays with the timelines
    of `results`; `previews` names the videos for which they are copies made for the page. `pictures` are held in it.
    """
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    style = (TEMPLATES / "report.css").read_text(encoding="utf-8")
    context = _context(results) | {
        "pictures": pictures or ReportPictures(),
        "previews": list(previews),
        "reference_video": quote(reference_video),
        "reconstruction_video": quote(reconstruction_video),
        "script": Markup(script),  # noqa: S704 - our own file, and what script_hash is of
        "style": Markup(style),  # noqa: S704 - our own file
        # the page runs this one script only, whatever a name or a statement in it may hold
        "script_hash": "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    }
    path = out / "report.html"
    write_text(path, _environment().get_template("report.html").render(context))
    return path


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"words": words, "significant": significant, "fade_text": fade_text}
    environment.globals |= {
        "RATING_LABELS": RATING_LABELS,
        "RATING_MARKS": RATING_MARKS,
        "DIMENSIONS": DIMENSIONS,
    }
    return environment


def _context(results: Results) -> dict[str, Any]:
    axis = Axis(results)
    rows = check_rows(results)
    sgc = sgc_of(results)
    checklist = results.checklist if isinstance(results.checklist, ChecklistScore) else None
    names = [rating or "unrated" for rating in RATING_LABELS]
    used = {field: {getattr(row, field) for row in rows} for field in ("dimension", "category", "clip", "rating")}
    return {
        "results": results,
        "reference": results.reference,
        "reconstruction": results.reconstruction,
        "rate_text": rate_text(results.reference.timeline.rate),
        "offset_text": offset_text(results.timeline),
        "tiles": _tiles(results, sgc, checklist),
        "frames": axis.frames,
        "to_reference": axis.to_reference,
        "ticks": axis.ticks(),
        "cut_rows": axis.cut_rows(),
        "check_groups": axis.check_groups(rows),
        "panels": axis.panels(sgc) if sgc is not None and sgc.pairs else [],
        "sgc": sgc,
        "sgc_reason": results.sgc.reason,
        "components": component_rows(sgc) if sgc is not None else [],
        "sgc_pairs": pairs_text(sgc) if sgc is not None else "",
        "sgc_floor": floor_text(sgc) if sgc is not None and sgc.score is not None else "",
        "sgc_interval": interval_text(sgc) if sgc is not None else "",
        "sgc_reference": reference_text(results),
        "worst_pairs": sgc.worst if isinstance(sgc, RobustResult) else [],
        "sgc_frame": axis.to_reference if results.sgc_frames == "reconstruction" else int,
        "pair_reasons": _pair_reasons(sgc) if sgc is not None else [],
        "audit": results.audit,
        "checklist": checklist,
        "checklist_reason": "" if isinstance(results.checklist, ChecklistScore) else results.checklist.reason,
        "rows": rows,
        "ratings_present": used["rating"],
        "filter_values": {
            "dimension": [name for name in DIMENSIONS if name in used["dimension"]],
            "category": [name for group in DIMENSIONS.values() for name in group if name in used["category"]],
            "rating": [name for name in names if name in {rating or "unrated" for rating in used["rating"]}],
            "clip": sorted(used["clip"]),
        },
        "provenance": _provenance(results, sgc),
        "data": {
            "frames": axis.frames,
            "reference": _playback(results.reference.timeline),
            "reconstruction": _playback(results.reconstruction.timeline),
        },
    }


def _playback(timeline: Timeline) -> dict[str, Any]:
    return {"rate": [timeline.rate.numerator, timeline.rate.denominator], "frames": timeline.frames}


def _tiles(results: Results, sgc: AnySgc | None, checklist: ChecklistScore | None) -> list[Tile]:
    if checklist is not None and checklist.overall.value is not None:
        score = Tile("Overall score", f"{checklist.overall.value:.1f}", "of 100", coverage(checklist.overall), "plain")
    elif checklist is not None:
        title = "Not judged" if checklist.state == "not_judged" else "Unscored"
        score = Tile(
            "Overall score",
            title,
            "",
            (checklist.reason or checklist.overall.reason).removeprefix("not judged: "),
            "none",
        )
    else:
        reason = "" if isinstance(results.checklist, ChecklistScore) else results.checklist.reason
        score = Tile("Overall score", "Unscored", "", reason, "none")
    wrong = [item.name for item in results.timeline.comparisons if not item.agrees]
    notes = [f"{', '.join(wrong)} differ{'s' if len(wrong) == 1 else ''}" if wrong else "size, rate, frames, duration"]
    notes += [f"content {offset_text(results.timeline)}"] if results.timeline.offset_frames else []
    kinds = list(dict.fromkeys(fault.kind for fault in results.timeline.faults))
    notes += [f"{', '.join(kinds)} stretches" if kinds else "no stretch out of place"]
    on_time = results.timeline.passed
    timeline = Tile(
        "Timeline", "Agrees" if on_time else "Differs", "", "; ".join(notes), "good" if on_time else "bad"
    )  # fmt: skip
    agree = results.shots.passed
    cuts = Tile("Cuts", "Agree" if agree else "Differ", "", cuts_text(results.shots), "good" if agree else "bad")
    if sgc is not None and sgc.score is not None:
        beside = [floor_text(sgc), f"lower is better; {pairs_text(sgc)}"]
        consistency = Tile("SGC", significant(sgc.score), "", "; ".join(text for text in beside if text), "plain")
    else:
        reason = results.sgc.reason
        consistency = Tile("SGC", "Unscored", "", reason, "none")
    return [score, timeline, cuts, consistency]


def _pair_reasons(sgc: AnySgc) -> list[PairReason]:
    frames: dict[str, list[int]] = {}
    for pair in sgc.pairs:
        if pair.reason:
            frames.setdefault(pair.reason, []).append(pair.frame)
    return [PairReason(reason, found[:FRAMES_PER_REASON], len(found)) for reason, found in frames.items()]


def _provenance(results: Results, sgc: AnySgc | None) -> list[FactGroup]:
    made = results.provenance
    program = [("matchcut", made.matchcut), ("Python", made.python), *made.packages.items(), ("seed", str(made.seed))]
    groups = [
        FactGroup("Reference", _video_facts(results.reference)),
        FactGroup("Reconstruction", _video_facts(results.reconstruction)),
        FactGroup("Program", program),
    ]
    if made.blender is not None:
        render = [("Blender", made.blender), ("engine", made.engine), ("device", made.device)]
        render += [("samples", str(made.samples) if made.samples is not None else None)]
        groups.append(FactGroup("Render", [(name, value) for name, value in render if value]))
    if sgc is not None:
        parameters = [(words(name), str(value)) for name, value in sgc.parameters.items()]
        groups.append(FactGroup("SGC", [("mode", sgc.mode), ("geometry", sgc.estimator), *parameters]))
    if results.judgments:
        groups.append(FactGroup("Judge", _judge_facts(results)))
    return groups


def _video_facts(info: VideoInfo) -> list[tuple[str, str]]:
    timeline = info.timeline
    shown = [
        ("file", info.path),
        ("sha256", info.sha256),
        ("size", f"{timeline.width}×{timeline.height}"),
        ("rate", f"{rate_text(timeline.rate)}{'' if info.constant_rate else ', variable'}"),
        ("frames", str(timeline.frames)),
        ("coding", f"{info.codec}, {info.pixel_format}, {info.bit_depth} bit"),
    ]
    if (info.coded_width, info.coded_height) != (timeline.width, timeline.height):
        shown.append(("coded size", f"{info.coded_width}×{info.coded_height}, pixels {info.pixel_aspect}"))
    if info.rotation_deg or info.mirrored:
        shown.append(("turned", f"{info.rotation_deg}°{', mirrored' if info.mirrored else ''}"))
    return shown


def _judge_facts(results: Results) -> list[tuple[str, str]]:
    judgments = results.judgments
    usage: Counter[str] = Counter()
    for judgment in judgments:
        usage.update(judgment.usage)
    facts = [
        ("provider", _distinct(judgment.provider for judgment in judgments)),
        ("model asked for", _distinct(judgment.requested_model for judgment in judgments)),
        ("model that replied", _distinct(judgment.replied_model or "not named" for judgment in judgments)),
        ("prompt", _distinct(judgment.prompt_sha256 for judgment in judgments)),
        ("images sent", str(sum(len(judgment.evidence) for judgment in judgments))),
    ]
    return facts + [(words(name), str(count)) for name, count in usage.items()]


def _distinct(values: Any) -> str:
    return ", ".join(sorted(set(values)))
