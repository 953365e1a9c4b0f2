# SPDX-License-Identifier: GPL-3.0-or-later
"""One worker of `./run perf bench`: its later stages and its judge answer at once, so that what is left is our own.

python bench_guest.py SCHEDULER_FILE FOLDER
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from media import ROOT  # loads the package under its name

sys.path.insert(0, str(ROOT / "tests" / "unit"))

from bench_cluster import serve  # isort: skip
from matchcut.evaluator.benchmark import judging, run  # isort: skip
from matchcut.evaluator.judge.providers import JudgeRequest, Reply  # isort: skip


class Instant:
    """A judge in this process that finds everything satisfied."""

    name, model = "local", "instant"

    def ask(self, request: JudgeRequest) -> Reply:
        """The answer."""
        ratings = ["fully_satisfied"] * len(json.loads(request.text)["checks"])
        return Reply(json.dumps({"results": ratings}), "stop", model=self.model)


def answer_at_once() -> None:
    """Let stages and judge answer at once in this process."""

    def stage(name: str, *rest: Any, **options: Any) -> dict[str, Any]:
        return {"stage": name}

    run.run_stage = stage
    judging.open_provider = lambda *rest, **options: Instant()


if __name__ == "__main__":
    answer_at_once()
    asyncio.run(serve(sys.argv[1], 1, {}, Path(sys.argv[2])))
