# SPDX-License-Identifier: GPL-3.0-or-later
"""The leaderboard: pages without a server, one of tables and one for each video, on which all of them play in step.

OUT/index.html
OUT/videos/ID/index.html, reference.mp4, SETTING/CONFIG.mp4

Of an exported file there are no videos and no words of checks, and the pages say so.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ..checklist.benchmark import LoadedVideo
from ..media.probe import probe
from ..protocol.errors import BadInputError, MatchcutError
from ..protocol.files import write_text
from ..protocol.messages import Reporter
from ..protocol.timeline import Timeline
from ..scoring.bootstrap import SAMPLES, SEED
from ..tables.board import Board, RunKey
from ..tables.make import SCORES, TITLES, ablation_blocks, category_blocks, make_table, mark_disqualified
from ..tables.results import BenchmarkItems, JudgeResults, number_items
from .breakdown import ALL_SETTINGS, failure_sheet, kind_table, points
from .export import WITHHELD
from .ledger import SUBMISSION
from .plot import Plot, scatter
from .raw import Raw, disqualified
from .sheet import value_text
from .standings import Standing, standings

TEMPLATES: Final = Path(__file__).resolve().parents[2] / "assets_ui" / "leaderboard"
RATINGS: Final = {1.0: "full", 0.5: "half", 0.0: "none"}
NO_VIDEOS: Final = "These records are an exported file: it holds no videos and no words of the checks."


@dataclass(frozen=True)
class Shown:
    """One video on a page; `address` is None where it cannot be shown, for the reason."""

    configuration: str
    address: str | None
    rate: list[int]
    frames: int
    reason: str = ""
    is_disqualified: bool = False


def write_leaderboard(
    raw: Raw, ratings: JudgeResults, out: Path, *, reporter: Reporter, base: str | None = None,
    variants: Sequence[str] = (), samples: int = SAMPLES, seed: int = SEED,
) -> Path:  # fmt: skip
    """Write the pages, and link or copy the videos beside them; returns the path of index.html.

    With `base` there is a table of what each of `variants` loses or gains against it. Raises BadInputError where one
    was not judged.
    """
    checks, barred = number_items(raw.benchmark), disqualified(raw)
    board = checks.board(ratings.runs.get(0, {}), samples=samples, seed=seed, disqualified=barred)
    ablation = ablation_blocks(board, base, variants) if base is not None else []
    environment = _environment()
    pages = []
    for number, video in enumerate(raw.benchmark.videos):
        reporter.progress("videos", number, len(raw.benchmark.videos), video.id)
        folder = out / "videos" / video.id
        context = _video_context(raw, board, checks, video, folder)
        _write(environment, "video.html", "video.js", folder / "index.html", context)
        pages.append({"id": video.id, "kind": video.record.kind or "", "clips": len(video.clips)})
    reporter.progress("videos", len(raw.benchmark.videos), len(raw.benchmark.videos))
    scores = make_table("scores", checks, ratings, disqualified=barred, samples=samples, seed=seed)
    context = {
        "benchmark": checks.name,
        "judge": ratings.judge,
        "columns": SCORES,
        "boards": [(name, _rows(raw, board, name)) for name in _names(board)],
        "plots": {name: _plots(raw, board, name) for name in _names(board)},
        "ablation": [mark_disqualified(block, barred) for block in ablation],
        "categories": [mark_disqualified(block, barred) for block in category_blocks(board)],
        "kinds": kind_table(raw, ratings, disqualified=barred, samples=samples, seed=seed),
        "kinds_title": TITLES["kinds"],
        "failures": failure_sheet(raw, checks, ratings),
        "videos": pages,
        "notes": scores.notes,
        "bootstrap": scores.bootstrap,
    }
    index = out / "index.html"
    _write(environment, "index.html", "table.js", index, context)
    return index


def _names(board: Board) -> list[str]:
    settings: list[str] = [*board.settings()]
    return [*settings, ALL_SETTINGS] if len(settings) > 1 else settings


def _rows(raw: Raw, board: Board, name: str) -> list[Standing]:
    return standings(board, points(raw, board, _setting(board, name)), _setting(board, name))


def _setting(board: Board, name: str) -> Any:
    return next((setting for setting in board.settings() if setting == name), None)


def _plots(raw: Raw, board: Board, name: str) -> list[Plot]:
    found = points(raw, board, _setting(board, name))
    return [
        scatter("US dollars for a task", [(p.configuration, p.spent.usd, p.score, p.cheapest) for p in found]),
        scatter("Minutes for a task", [(p.configuration, p.spent.minutes, p.score, p.fastest) for p in found]),
    ]


def _video_context(raw: Raw, board: Board, checks: BenchmarkItems, video: LoadedVideo, folder: Path) -> dict[str, Any]:
    timeline = video.record.timeline
    reference: Shown | None = None
    if raw.ledger is not None:
        reference = _show("reference", video.reference, folder / "reference.mp4", "reference.mp4", timeline)
    shown = {setting: _shown(raw, video, str(setting), folder, board.disqualified) for setting in board.settings()}
    rows = []
    for clip in video.clips:
        for check in clip.checks:
            first = clip.frame_offset + check.start
            rated = {
                str(setting): {
                    name: _rating(board, checks, RunKey(name, setting), (video.id, clip.id), check.id)
                    for name in board.configurations
                }
                for setting in board.settings()
                if setting in check.settings
            }
            words = "" if check.statement == WITHHELD else check.statement
            rows.append(
                {
                    "clip": clip.id, "id": check.id, "category": check.category, "statement": words, "first": first,
                    "last": clip.frame_offset + check.end, "rated": rated,
                }
            )  # fmt: skip
    data = {
        "frames": timeline.frames,
        "rate": [timeline.rate.numerator, timeline.rate.denominator],
        "reference": _data(reference),
        "settings": {name: [_data(one) for one in several] for name, several in shown.items()},
    }
    return {
        "video": video.record, "configurations": board.configurations, "disqualified": board.disqualified,
        "settings": [str(setting) for setting in board.settings()], "rows": rows, "data": data,
        "reason": "" if raw.ledger is not None else NO_VIDEOS, "others": [one.id for one in raw.benchmark.videos],
    }  # fmt: skip


def _rating(board: Board, checks: BenchmarkItems, key: RunKey, clip: tuple[str, str], check: str) -> str:
    if key not in board.runs:
        return "unrated"
    value = float(board.runs[key].values[checks.items[key.setting].numbers[clip][check]])
    return "unrated" if np.isnan(value) else RATINGS[value]


def _shown(raw: Raw, video: LoadedVideo, setting: str, folder: Path, barred: frozenset[str]) -> list[Shown]:
    """Every configuration's video under a setting, in the order of their names."""
    timelines = {
        record.run: Timeline.from_json(result["reconstruction"]["timeline"])
        for record, result in raw.found("check")
        if "timeline" in (result.get("reconstruction") or {})
    }
    found = []
    for run in sorted(raw.runs, key=lambda run: run.configuration):
        if (run.video, run.setting) != (video.id, setting) or raw.ledger is None:
            continue
        source = raw.ledger.run_folder(run.key) / SUBMISSION / "reconstruction.mp4"
        name = f"{setting}/{run.configuration}.mp4"
        one = _show(run.configuration, source, folder / name, name, timelines.get(run.key))
        found.append(Shown(**{**vars(one), "is_disqualified": run.configuration in barred}))
    return found


def _show(configuration: str, source: Path, goal: Path, address: str, timeline: Timeline | None) -> Shown:
    if not source.is_file():
        return Shown(configuration, None, [1, 1], 0, "no video was handed in")
    try:
        timeline = timeline or probe(source).timeline
    except MatchcutError:
        return Shown(configuration, None, [1, 1], 0, "the video cannot be decoded")
    _place(source, goal)
    return Shown(configuration, address, [timeline.rate.numerator, timeline.rate.denominator], timeline.frames)


def _place(source: Path, goal: Path) -> None:
    """The file beside the page, without a copy where the system has links. Raises BadInputError."""
    try:
        goal.parent.mkdir(parents=True, exist_ok=True)
        goal.unlink(missing_ok=True)
        with suppress(OSError):
            os.link(source, goal)
            return
        shutil.copyfile(source, goal)
    except OSError as error:
        raise BadInputError(f"{goal}: cannot be written ({error.strerror or error}); choose another --out") from error


def _data(one: Shown | None) -> dict[str, Any] | None:
    return None if one is None else vars(one)


def _write(environment: Environment, template: str, script: str, path: Path, context: Mapping[str, Any]) -> None:
    source = (TEMPLATES / script).read_text(encoding="utf-8")
    style = (TEMPLATES / "leaderboard.css").read_text(encoding="utf-8")
    own = {
        "script": Markup(source),  # noqa: S704 - our own file, and what script_hash is of
        "style": Markup(style),  # noqa: S704 - our own file
        # the page runs this one script only, whatever a name or a statement in it may hold
        "script_hash": "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode(),
    }
    write_text(path, environment.get_template(template).render({**context, **own}))


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters |= {"words": lambda text: str(text).replace("_", " "), "value": value_text}
    return environment
