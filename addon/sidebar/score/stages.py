# SPDX-License-Identifier: GPL-3.0-or-later
"""The stages of a score as its plan names them, and where a run is among them. No bpy: tested on its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from ....evaluator.protocol.errors import BadInputError
from ....evaluator.protocol.messages import Message

PLAN_FORMAT: Final = "matchcut-score-plan/1"
LABELS: Final = {"render": "Render", "check": "Check", "sgc": "SGC", "judge": "Judge", "report": "Report"}
Is = Literal["waiting", "running", "done", "reused", "skipped"]


@dataclass(frozen=True)
class Stage:
    """One stage of a plan: `state` is todo, reused or skipped; `progress` are the names under which it is heard of."""

    name: str
    state: str
    text: str
    progress: tuple[str, ...]

    @property
    def label(self) -> str:
        """As a panel shows it."""
        return LABELS.get(self.name, self.name.capitalize())


@dataclass(frozen=True)
class Judge:
    """Who is asked, for how much: `usd` at most, None where no price is known."""

    provider: str
    model: str
    requests: int
    images: int
    answered: int
    usd: float | None
    budget_usd: float | None


@dataclass(frozen=True)
class Plan:
    """What a score does, as `matchcut score` tells it."""

    frames: int
    stages: tuple[Stage, ...]
    judge: Judge | None

    @classmethod
    def from_data(cls, data: Any) -> Plan:
        """From the plan's JSON value. Raises BadInputError where it is none of this version."""
        try:
            if data["format"] != PLAN_FORMAT:
                raise BadInputError(f"a plan of the format {data['format']!r}; update the evaluator")
            judge = data["judge"]
            names = ("provider", "model", "requests", "images", "answered", "usd", "budget_usd")
            return cls(
                frames=int(data["frames"]),
                stages=tuple(
                    Stage(one["name"], one["state"], one["text"], tuple(one["progress"])) for one in data["stages"]
                ),
                judge=Judge(**{name: judge[name] for name in names}) if judge is not None else None,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise BadInputError(f"the evaluator's plan cannot be read ({error!r}); update the evaluator") from error


class Course:
    """Where a run is in its plan, from what it tells; the stages only ever go on."""

    def __init__(self) -> None:
        self.plan: Plan | None = None
        self._at = -1

    def hear(self, message: Message) -> None:
        """Take in one message of the run."""
        if message.type == "result" and message.data and message.data.get("format") == PLAN_FORMAT:
            self.plan, self._at = Plan.from_data(message.data), 0
            self._pass_over()
        elif message.type == "progress" and self.plan is not None:
            later = [
                number
                for number, stage in enumerate(self.plan.stages)
                if number >= self._at and message.stage in stage.progress and stage.state != "skipped"
            ]
            self._at = later[0] if later else self._at

    def rows(self) -> Iterator[tuple[Stage, Is]]:
        """Each stage of the plan and how it stands."""
        for number, stage in enumerate(self.plan.stages if self.plan is not None else ()):
            if stage.state == "skipped":
                yield stage, "skipped"
            elif stage.state == "reused":
                yield stage, "reused"
            elif number == self._at:
                yield stage, "running"
            else:
                yield stage, "done" if number < self._at else "waiting"

    def _pass_over(self) -> None:
        stages: Sequence[Stage] = self.plan.stages if self.plan is not None else ()
        while self._at < len(stages) - 1 and stages[self._at].state != "todo":
            self._at += 1
