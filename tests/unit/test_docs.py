# SPDX-License-Identifier: GPL-3.0-or-later
"""What the documents show is what the program reads, and every path and command that they name exists."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from matchcut.evaluator.agreement.records import Study, Votes
from matchcut.evaluator.audit.records import AuditReport
from matchcut.evaluator.camera.records import CameraRequest
from matchcut.evaluator.camera.request import answer
from matchcut.evaluator.checklist.benchmark import Benchmark, BenchmarkVideo
from matchcut.evaluator.checklist.records import Clip
from matchcut.evaluator.cli.main import COMMANDS
from matchcut.evaluator.judge.prices import PriceTable
from matchcut.evaluator.judge.records import Judgment, OperationalFailure
from matchcut.evaluator.judge.units import JudgedUnit
from matchcut.evaluator.media.conform import Conformed
from matchcut.evaluator.pipeline.playback import Preview
from matchcut.evaluator.protocol.messages import parse_message
from matchcut.evaluator.protocol.render_job import RenderJob
from matchcut.evaluator.reliability.report import KnownRatings
from matchcut.evaluator.sgc.estimators.precomputed import CamerasFile
from matchcut.evaluator.tables.records import Table

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

READERS: dict[str, Any] = {
    "matchcut-benchmark/1": lambda data: Benchmark.from_data(data, "docs"),
    "matchcut-benchmark-video/1": lambda data: BenchmarkVideo.from_data(data, "docs"),
    "matchcut-judged-unit/1": lambda data: JudgedUnit.from_data(data, "docs"),
    "matchcut-table/1": lambda data: Table.from_data(data, "docs"),
    "matchcut-prices/1": lambda data: PriceTable.from_data(data, "docs"),
    "matchcut-ratings/1": lambda data: KnownRatings.from_data(data, "docs"),
    "matchcut-agreement-study/1": lambda data: Study.from_data(data, "docs"),
    "matchcut-agreement-votes/1": lambda data: Votes.from_data(data, "docs"),
    "matchcut-cameras/1": lambda data: CamerasFile.from_data(data, "docs"),
    "matchcut-camera-request/1": lambda data: answer(CameraRequest.from_data(data, "docs")),
    "matchcut-audit/1": lambda data: AuditReport.from_data(data, "docs"),
    "matchcut-conform/1": lambda data: Conformed.from_data(data, "docs"),
    "matchcut-preview/1": lambda data: Preview.from_data(data, "docs"),
    "matchcut-clip/1": lambda data: Clip.from_data(data, "docs"),
    "matchcut-judgment/1": lambda data: Judgment.from_data(data, "docs"),
    "matchcut-operational-failure/1": lambda data: OperationalFailure.from_data(data, "docs"),
    "matchcut-render-job/1": RenderJob.from_json,
}


def test_examples_of_formats_are_read_by_their_records() -> None:
    formats = set()
    for page in PAGES:
        for block in re.findall(r"```json\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            data = json.loads(block)
            if "format" in data:
                READERS[data["format"]](data)
                formats.add(data["format"])
    assert formats == set(READERS)


def test_examples_of_messages_are_messages() -> None:
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith('{"type"')]
    assert len(lines) == 3 and all(parse_message(line) is not None for line in lines)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_a_page_shows_exists(page: Path) -> None:
    shown = re.findall(r"(?:\./run|(?<![\w-])matchcut(?: --command)?) ([a-z][a-z-]+)", page.read_text(encoding="utf-8"))
    for code in re.findall(r"```(?:sh|bash)?\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        for command in re.findall(r"(?:^|\s)\./run ([a-z][a-z-]*)", code):
            assert command in COMMANDS, f"{page.name}: ./run {command}"
    assert all(command in COMMANDS for command in shown if f"./run {command}" in page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_file_of_ours_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
