# SPDX-License-Identifier: GPL-3.0-or-later
"""What is scored, and where: the same question asked again waits for its answer, or gets it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..evaluator.protocol.errors import BadInputError
from ..evaluator.protocol.files import numbered_folder
from .places import changed_at
from .running import RunningCommand, Slot

JUDGES: Final = ("openai", "anthropic", "gemini", "local", "human", "replay")


@dataclass(frozen=True)
class Question:
    """What is to be scored; `stamps` change where one of its files does."""

    reference: Path
    video: Path
    scene: Path | None
    """The folder of a render job with passes."""
    checklist: Path | None
    setting: str
    judge: str
    stamps: tuple[int, ...]

    def arguments(self, out: Path) -> list[str]:
        """Of `matchcut score`."""
        options = ["--reference", str(self.reference), "--reconstruction", str(self.video), "--setting", self.setting]
        options += ["--scene", str(self.scene)] if self.scene is not None else []
        options += ["--checklist", str(self.checklist)] if self.checklist is not None else []
        options += [f"--judge={self.judge}"] if self.judge else []
        return ["score", *options, "--out", str(out)]


class Scores:
    """The scorings of this server, one at a time."""

    def __init__(self) -> None:
        self.slot = Slot("another scoring")
        self._folders: dict[Question, Path] = {}

    def ask(self, question: Question, base: Path) -> RunningCommand:
        """The scoring of `question`, started where it is new or has not come to its end.

        It has a folder of its own below `base`, which it takes again, so that a judge is asked nothing twice. Raises
        OperationalError where another scoring runs.
        """
        found = self.slot.running(question)
        if found is not None:
            return found
        last = self.slot.command
        if last is not None and last.key == question and last.state == "done":
            return last
        if question not in self._folders:
            self._folders[question] = numbered_folder(base, "score")
        folder = self._folders[question]
        return self.slot.start(question, [question.arguments(folder)], place=folder)


def check_judge(judge: str) -> None:
    """Raise BadInputError where `judge` is no whole name of one: nothing is sent to who was only hinted at."""
    name, separator, rest = judge.partition(":")
    if name not in JUDGES or (name != "human" and not (separator and rest)):
        raise BadInputError(
            f"bad_params: judge {judge!r}: expected openai:MODEL, anthropic:MODEL, gemini:MODEL, local:URL#MODEL, "
            "human or replay:DIR; left out, nothing is sent and the checklist stays unscored"
        )


def stamps(paths: Sequence[Path | None]) -> tuple[int, ...]:
    """When the files, and the JSON files in the folders, were changed last (ns)."""
    found = []
    for path in paths:
        if path is not None:
            files = [path, *sorted(path.glob("*.json"))] if path.is_dir() else [path]
            found += [changed_at(file, "file") for file in files]
    return tuple(found)
