# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Python the evaluator's commands run in. Needs the standard library alone."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..evaluator.environment.condition import Condition, condition, python_of
from ..evaluator.environment.create import EVALUATOR, default_folder
from ..evaluator.protocol.errors import BadInputError

PACKAGE_ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class EvaluatorChoice:
    """A Python interpreter that has the evaluator's packages, and who named it."""

    python: Path
    source: str


class NoEvaluatorError(BadInputError):
    """There is no evaluator to run: `condition` says what its folder holds instead."""

    def __init__(self, found: Condition) -> None:
        super().__init__(f"{_PROBLEMS[found]}; {_MEND}")
        self.condition = found


_PROBLEMS: Final[dict[Condition, str]] = {
    "ready": "",
    "missing": "the evaluator is not installed",
    "unfinished": "the evaluator's installation was cut off",
    "outdated": "the evaluator is of another version of Matchcut",
    "broken": "the evaluator's Python is not there any more",
}
_MEND: Final = (
    "press Install Evaluator in the Matchcut tab, run blender --command matchcut setup (in a checkout ./run setup), or"
    " set $MATCHCUT_PYTHON to a Python that has its packages"
)


def choose_evaluator(preferred: str, installed: Path | None) -> EvaluatorChoice:
    """The evaluator's interpreter: `preferred`, `$MATCHCUT_PYTHON`, the environment in `installed`, the checkout's own.

    One that is named but is not there is an error, not a reason to take another. Raises BadInputError.
    """
    for named, source in (
        (preferred, "Matchcut's preferences"),
        (os.environ.get("MATCHCUT_PYTHON", ""), "$MATCHCUT_PYTHON"),
    ):
        if named:
            python = Path(named).expanduser()
            if not python.is_file():
                raise BadInputError(f"{python}: there is no such Python; correct the evaluator's path in {source}")
            return EvaluatorChoice(python, source)
    problems: list[Condition] = []
    for folder, source in ((installed, "the add-on"), (default_folder(EVALUATOR), "matchcut setup")):
        found: Condition = condition(folder, EVALUATOR.lock) if folder is not None else "missing"
        if folder is not None and found == "ready":
            return EvaluatorChoice(python_of(folder), source)
        problems.append(found)
    raise NoEvaluatorError(next((one for one in problems if one != "missing"), "missing"))


def find_evaluator() -> list[str]:
    """How every evaluator command line starts: `[python, ROOT/__main__.py]`. Raises BadInputError where none is."""
    if "bpy" in sys.modules:
        from .preferences import evaluator_choice

        choice = evaluator_choice()
    else:
        choice = choose_evaluator("", None)
    return [str(choice.python), str(PACKAGE_ROOT / "__main__.py")]
