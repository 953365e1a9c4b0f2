# SPDX-License-Identifier: GPL-3.0-or-later
"""The stages after an agent's run: the evaluator's own commands on what was handed in, each in a process of its own.

What somebody handed in may crash a decoder or a Blender; a child of its own takes nothing else with it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from ..environment.create import PACKAGE_ROOT
from ..protocol.children import child_environment
from ..protocol.command import EvaluatorProcess
from ..protocol.errors import ExitStatus
from .harness import Halt
from .ledger import SUBMISSION
from .plan import Task
from .records import AgentRun, Plan, Stage

LOOK_SECONDS: Final = 0.05
NOT_HANDED_IN: Final = "not_handed_in"


class StageFailedError(Exception):
    """A stage came to no result; `lasting` says that the same again gives the same."""

    def __init__(self, reason: str, detail: str, *, lasting: bool = False) -> None:
        super().__init__(detail)
        self.reason, self.detail, self.lasting = reason, detail, lasting


def run_stage(
    stage: Stage, plan: Plan, task: Task, run: AgentRun, folder: Path, *, seed: int, blender: str, stop: Halt
) -> dict[str, Any]:
    """What `stage` finds about the submission in the run's `folder`.

    `seed` chooses the frames that are rendered again. What a missing file does not let it look at is told as
    `not_handed_in`. Raises StageFailedError.
    """
    submission, reference = folder / SUBMISSION, str(task.video.reference)
    there = {file.name for file in run.submission}
    video, scene = submission / "reconstruction.mp4", submission / "scene.blend"

    def call(*arguments: str) -> dict[str, Any]:
        found = command(arguments, blender=blender, stop=stop)
        masked: dict[str, Any] = _without_folders(found, [submission, task.video.reference.parent])
        return masked

    if stage == "validate":
        return call("validate", str(submission), "--reference", reference) if there else {NOT_HANDED_IN: "anything"}
    needed = scene if stage == "audit" else video
    if needed.name not in there:
        return {NOT_HANDED_IN: needed.name}
    if stage == "audit":
        again = ["--rerender", str(plan.rerender), "--seed", str(seed)] if plan.rerender else []
        again += ["--reconstruction", str(video)] if plan.rerender and video.name in there else []
        whole = submission if plan.rerender and "submission.json" in there else scene
        return call("audit", str(whole), "--reference", reference, *again)
    if stage == "check":
        return call("check", "--reference", reference, "--reconstruction", str(video))
    if plan.sgc == "classical":
        return call("sgc", str(video))
    if scene.name not in there:
        return {NOT_HANDED_IN: scene.name}
    with tempfile.TemporaryDirectory(prefix="matchcut-bench-") as place:
        call("render", "--scene", str(scene), "--reference", reference, "--out", place, "--passes")
        return call("sgc", str(video), "--scene", place)


def _without_folders(data: Any, folders: Sequence[Path]) -> Any:
    """The same with files of these folders named without them: where they lay is this machine's own affair."""
    if isinstance(data, dict):
        return {name: _without_folders(value, folders) for name, value in data.items()}
    if isinstance(data, list):
        return [_without_folders(value, folders) for value in data]
    if isinstance(data, str):
        for folder in folders:
            data = data.replace(f"{folder}{os.sep}", "")
    return data


def command(arguments: Sequence[str], *, blender: str, stop: Halt) -> dict[str, Any]:
    """Run `matchcut ARGUMENTS` to its end; the data of its last result. Raises StageFailedError."""
    line = [sys.executable, str(PACKAGE_ROOT / "__main__.py"), *arguments]
    process = EvaluatorProcess(line, child_environment(blender))
    result: dict[str, Any] | None = None
    error = ""
    try:
        while process.returncode is None and not stop.is_set():
            for message in process.poll():
                if message.type == "result":
                    result = message.data or {}
                elif message.type == "error":
                    error = message.text
            stop.wait(LOOK_SECONDS)
    finally:
        if process.returncode is None:
            process.stop()
    status = process.returncode
    if stop.is_set():
        raise StageFailedError("stopped", "the run was called off")
    if status == ExitStatus.DONE and result is not None:
        return result
    last = (process.log_tail().splitlines() or ["it said nothing"])[-1]
    detail = error or f"matchcut {arguments[0]} ended with status {status}: {last[:300]}"
    raise StageFailedError(
        "bad_input" if status == ExitStatus.BAD_INPUT else "failed", detail, lasting=status == ExitStatus.BAD_INPUT
    )
