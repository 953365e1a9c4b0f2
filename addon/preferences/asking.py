# SPDX-License-Identifier: GPL-3.0-or-later
"""What quiet commands told for the preferences: caches, keys, tests of judges. Drawing reads it from here.

Drawing itself starts nothing: where something is not known yet, it is asked for a moment later, once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import bpy

from ...evaluator.protocol.errors import MatchcutError
from ...evaluator.protocol.messages import Message
from .. import jobs
from ..evaluator_process import PACKAGE_ROOT
from . import judges

OWN_PYTHON = (sys.executable, str(PACKAGE_ROOT / "__main__.py"))
"""How commands start that need no package: Blender's own Python runs them, also where there is no evaluator."""


@dataclass
class Answer:
    """What one command told: while `job` runs nothing, then `data`, or `problem` in one line."""

    job: jobs.Job | None = None
    data: dict[str, Any] | None = None
    problem: str = ""

    @property
    def waits(self) -> bool:
        """Whether the command still runs."""
        return self.job is not None and self.job.state == "running"


_answers: dict[str, Answer] = {}
_wanted: dict[str, Callable[[], None]] = {}


def answer(key: str) -> Answer:
    """What is known under `key`; an empty answer where nothing was asked."""
    return _answers.get(key, Answer())


def ask(
    key: str,
    arguments: Sequence[str],
    *,
    prefix: Sequence[str] | None = None,
    line: str | None = None,
    then: Callable[[dict[str, Any]], None] = lambda data: None,
) -> jobs.Job:
    """Run a small command whose result goes under `key`; the last one of a key counts.

    Raises BadInputError where it cannot be started.
    """
    kept = _answers[key] = Answer()

    def finish(messages: list[Message]) -> None:
        kept.data = next((message.data for message in messages if message.data is not None), {})
        then(kept.data)
        jobs.redraw()

    def failed(problem: str) -> None:
        lacks = "has no package" in problem
        kept.problem = "the evaluator lacks a package; press Check in the Evaluator panel" if lacks else problem
        jobs.redraw()

    kept.job = jobs.start_quiet(key, arguments, finish, failed=failed, prefix=prefix, line=line)
    jobs.redraw()
    return kept.job


def want(key: str, start: Callable[[], Any]) -> None:
    """Called while drawing: have `start` called a moment later, unless `key` was asked for already."""
    if key in _answers or key in _wanted or bpy.app.background:
        return
    _wanted[key] = start
    if not bpy.app.timers.is_registered(_start_wanted):
        bpy.app.timers.register(_start_wanted, first_interval=0.05)


def forget(*keys: str) -> None:
    """Nothing is known under these keys any more."""
    for key in keys:
        _answers.pop(key, None)


def _start_wanted() -> None:
    for key, start in list(_wanted.items()):
        del _wanted[key]
        try:
            start()
        except MatchcutError as error:
            _answers[key] = Answer(problem=str(error))
            jobs.redraw()


def count_caches() -> jobs.Job:
    """Have the caches counted."""
    return ask("caches", ["cache"], prefix=OWN_PYTHON)


def clear_cache(name: str) -> jobs.Job:
    """Have one cache emptied, and all of them counted."""
    return ask("caches", ["cache", "--clear", name], prefix=OWN_PYTHON)


def look_for_keys() -> jobs.Job:
    """Ask the evaluator what the system's keyring holds; no key comes back."""
    return ask("keys", ["judge", "key"], then=judges.take_keys)


def store_key(kind: str, key: str) -> jobs.Job:
    """Put a key into the system's keyring; it goes to the command's standard input and nowhere else."""
    forget(f"test {kind}")
    return ask("keys", ["judge", "key", kind, "--store"], line=key, then=judges.take_keys)


def forget_key(kind: str) -> jobs.Job:
    """Remove a key from the system's keyring."""
    forget(f"test {kind}")
    return ask("keys", ["judge", "key", kind, "--forget"], then=judges.take_keys)


def test_judge(kind: str, judge: str) -> jobs.Job:
    """Ask a judge about one tiny picture; without a model only which ones there are."""
    return ask(f"test {kind}", ["judge", "test", judge], then=lambda data: judges.take_models(kind, data))


def unregister() -> None:
    """Forget everything, and leave no timer."""
    if bpy.app.timers.is_registered(_start_wanted):
        bpy.app.timers.unregister(_start_wanted)
    _wanted.clear()
    _answers.clear()
    judges.forget_keys()
