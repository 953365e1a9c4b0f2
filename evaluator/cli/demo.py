# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut demo`: a sample and a reconstruction of it with known errors, built, rendered, and scored.

OUT/scenes/          both variants of the sample as .blend files
OUT/renders/         their render jobs; what is finished there is used again
OUT/results.json …   what `matchcut score` writes
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import Any

from ...assets_ui.samples import VARIANTS, Sample, find_sample
from ..checklist.records import SETTINGS
from ..environment.blender import Blender, find_blender
from ..judge.providers import open_provider, require_ready
from ..pipeline.score import ScoreRequest, score
from ..protocol.errors import ExitStatus
from ..protocol.files import atomic_path
from ..protocol.lock import sole_user
from ..protocol.messages import Reporter
from ..render.job import RenderOutcome, render_scene
from ..render.sample import build_scene
from .score import summary, summary_lines

SAMPLE = "two_shots"

DESCRIPTION = """Build a two-shot sample and a reconstruction of it with known errors, render both with Cycles, score
them, and write a report. A second run uses what the first one rendered. Without --judge everything but the checklist
is scored."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--out", type=Path, default=Path("demo"), metavar="DIR", help="where to (default: demo)")
    parser.add_argument("--setting", choices=SETTINGS, default="proxy", help="how true it has to be (default: proxy)")
    parser.add_argument(
        "--judge", metavar="SPEC", help="openai:MODEL, anthropic:MODEL, gemini:MODEL, local:URL#MODEL or human"
    )
    parser.add_argument("--samples", type=int, metavar="N", help="render samples (default: as the scene says)")
    parser.add_argument("--json", action="store_true", help="print results.json instead of the summary")


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Build, render, and score the sample; print the summary and the report's path."""
    sample, out = find_sample(SAMPLE), args.out
    if args.judge is not None:
        # a judge that cannot be asked is told before the minutes of rendering
        require_ready(open_provider(args.judge), args.judge)
    blender = find_blender(reporter.status)
    with sole_user(out / "scenes"):
        reference, reconstruction = (_render(sample, variant, args, blender, reporter) for variant in VARIANTS)
        assert reference.video is not None
        _copy(reference.video, out / "reference.mp4")
    request = ScoreRequest(
        reference=out / "reference.mp4",
        out=out,
        scene=reconstruction.folder,
        checklist=sample.clips,
        setting=args.setting,
        judge=args.judge,
    )
    results = score(request, reporter=reporter, blender=lambda: blender)
    if args.messages:
        reporter.result(str(out / "results.json"), summary(results) | {"report": str(out / "report.html")})
    elif args.json:
        sys.stdout.write(json.dumps(results.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n")
    else:
        known = f"The reconstruction is wrong on purpose: {'; '.join(sample.known_errors)}."
        lines = [*summary_lines(results), "", known, "", f"report  {out / 'report.html'}"]
        sys.stdout.write("\n".join(lines) + "\n")
    return ExitStatus.DONE


def _render(
    sample: Sample, variant: str, args: argparse.Namespace, blender: Blender, reporter: Reporter
) -> RenderOutcome:
    """Render one variant; the reconstruction with the passes that SGC needs."""
    scene = build_scene(sample.name, variant, sample.sources, args.out / "scenes", blender, reporter)
    reporter.status(f"rendering the {variant} with Blender {blender.version}")
    return render_scene(
        scene,
        args.out / "renders" / variant,
        sample.timeline,
        blender=blender,
        reporter=_Named(reporter, variant),
        samples=args.samples,
        passes=variant == "reconstruction",
    )


def _copy(source: Path, target: Path) -> None:
    with atomic_path(target) as temporary:
        shutil.copyfile(source, temporary)


class _Named:
    """A reporter whose stages carry the variant's name: each rendering has a bar of its own."""

    def __init__(self, reporter: Reporter, name: str) -> None:
        self._reporter, self._name = reporter, name

    def progress(self, stage: str, done: int, total: int, text: str = "") -> None:
        """See Reporter."""
        self._reporter.progress(f"{stage}, {self._name}", done, total, text)

    def status(self, text: str) -> None:
        """See Reporter."""
        self._reporter.status(text)

    def warning(self, text: str) -> None:
        """See Reporter."""
        self._reporter.warning(f"{self._name}: {text}")

    def result(self, path: str, data: dict[str, Any]) -> None:
        """See Reporter."""
        self._reporter.result(path, data)
