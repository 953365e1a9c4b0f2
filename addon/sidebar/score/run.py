# SPDX-License-Identifier: GPL-3.0-or-later
"""Scores a saved copy of the scene against its reference, in a numbered folder that is gone on with until done."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy

from ....evaluator.protocol.errors import BadInputError
from ....evaluator.protocol.files import numbered_folder
from ....evaluator.protocol.messages import Message
from ... import jobs, preferences
from ...preferences.judges import receiver
from .. import aside
from ..owner import owner_of
from ..paths import existing, output_folder, scenes_of
from ..reference.file import reference_file
from ..render.run import ask_for, final_options, find_renders, need_camera
from ..requests import COPY, SCORE, Request, unfinished
from ..results.store import take_results
from .stages import Course, Plan

SCORING = "Scoring"
"""Title of a score's job, whose progress the Score panel shows."""
PLANNING = "score plan"
"""Key of the quiet command that says what a score would do."""
JUDGE = "--judge"
JUDGED = "judged"
"""Folder beside them in which all scores keep what judges said: nothing is asked for twice."""


@dataclass
class Waiting:
    """A score that is looked into before it starts: what it will do is not known yet, or waits for a yes."""

    request: Request
    uid: int
    is_new: bool
    """Whether its folder was made for it just now."""
    plan: Plan | None = None

    @property
    def judge(self) -> str:
        """Who rates in it; empty for nobody."""
        return judge_in(self.request)

    @property
    def sends(self) -> bool:
        """Whether the judge will be asked anything that it has not answered before."""
        return self.plan is not None and self.plan.judge is not None and self.plan.judge.requests > 0


_waiting: Waiting | None = None
_problems: dict[int, str] = {}
"""By session id of the scene: why its last score could not even be looked into."""
_course = Course()
_unfinished: dict[int, Request] = {}
"""By session id of the scene: its last score, where that did not come to its end."""


def score(scene: Any) -> jobs.Job:
    """Start scoring a saved copy of the scene: in a new folder, or in the last one where that has no result yet."""
    request, _ = _asked(scene)
    return start(scene.session_uid, request)


def resume_score(scene: Any) -> jobs.Job:
    """Go on with the score that was cancelled, failed or ended with Blender, with the copy that it was started with."""
    return start(scene.session_uid, _left(scene))


def prepare(scene: Any, *, resumed: bool = False) -> None:
    """Make a score ready, or the last one again, and have the evaluator say what it will do.

    `waiting` tells when it has. Raises BadInputError as `score` does.
    """
    global _waiting  # noqa: PLW0603
    _problems.pop(scene.session_uid, None)
    request, is_new = (_left(scene), False) if resumed else _asked(scene)
    asked = _waiting = Waiting(request, scene.session_uid, is_new)

    def finish(messages: list[Message]) -> None:
        if _waiting is asked:
            try:
                asked.plan = Plan.from_data(next((one.data for one in reversed(messages) if one.data), None))
            except BadInputError as error:
                failed(str(error))

    def failed(problem: str) -> None:
        if _waiting is asked:
            give_up()
            _problems[asked.uid] = problem
            jobs.redraw()

    jobs.start_quiet(PLANNING, [*request.command_line, "--plan"], finish, failed=failed)


def waiting() -> Waiting | None:
    """The score that is looked into before it starts."""
    return _waiting


def problem(scene: Any) -> str:
    """Why the scene's last one could not even be looked into; empty where it could."""
    return _problems.get(scene.session_uid, "")


def give_up() -> None:
    """Do not start the score that waits; a folder that was made for it goes."""
    global _waiting
    gone, _waiting = _waiting, None
    jobs.stop_quiet(PLANNING)
    if gone is not None and gone.is_new:
        shutil.rmtree(gone.request.folder, ignore_errors=True)
    jobs.redraw()


def go_ahead() -> jobs.Job:
    """Start the score that waits. Raises BadInputError where another job runs by now."""
    global _waiting  # noqa: PLW0603
    asked = _waiting
    if asked is None:
        raise BadInputError("there is no score that waits; press Score Against Reference again")
    _waiting = None
    return start(asked.uid, asked.request)


def start(uid: int, request: Request) -> jobs.Job:
    """Start the command of `request` for the scene with this session id."""
    global _course  # noqa: PLW0603
    _problems.pop(uid, None)

    def finish(messages: list[Message]) -> None:
        _unfinished.pop(uid, None)
        take_results(uid, request.folder)
        for scene in scenes_of(uid):
            find_renders(scene)

    job = jobs.start(SCORING, request.command_line, finish)
    course = _course = Course()
    job.heard = course.hear
    _unfinished[uid] = request
    return job


def course() -> Course:
    """Where the score that runs, or ran last, is among its stages."""
    return _course


def unfinished_score(scene: Any) -> str:
    """The name of the folder of a score that did not come to its end; empty where there is none."""
    return _unfinished[scene.session_uid].folder.name if scene.session_uid in _unfinished else ""


def unfinished_judge(scene: Any) -> str:
    """Who rates in a score that did not come to its end; empty for nobody."""
    return judge_in(_unfinished[scene.session_uid]) if scene.session_uid in _unfinished else ""


def find_unfinished(scene: Any) -> None:
    """Look on the disk for a score of the scene that did not come to its end."""
    base, owner, uid = output_folder(scene), owner_of(scene), scene.session_uid

    def take(found: Request | None) -> None:
        if found is not None:
            _unfinished[uid] = found
        else:
            _unfinished.pop(uid, None)
        jobs.redraw()

    aside.look(f"scores {uid}", lambda: unfinished(base, SCORE, owner, has_results), take)


def has_results(folder: Path) -> bool:
    """Whether a score came to its end: its results are written last."""
    return (folder / "results.json").is_file()


def forget() -> None:
    """Another file was opened, or the add-on ends."""
    global _course  # noqa: PLW0603
    give_up()
    _unfinished.clear()
    _problems.clear()
    _course = Course()


def judge_of(scene: Any) -> str:
    """The judge of the scene, else the one of the preferences; empty for none."""
    return str(scene.matchcut.judge or preferences.default_judge())


def judge_in(request: Request) -> str:
    """The judge that a request names; empty for none."""
    line = request.command_line
    return line[line.index(JUDGE) + 1] if JUDGE in line[:-1] else ""


def is_here(judge: str) -> bool:
    """Whether what a judge is shown stays on this machine."""
    return not receiver(judge)


def _asked(scene: Any) -> tuple[Request, bool]:
    """The request for a score, its copy of the scene saved, and whether its folder was made for it."""
    jobs.check_ready()
    state = scene.matchcut
    reference = reference_file(scene)
    need_camera(scene)
    base = output_folder(scene)
    options: list[str | Path] = ["--setting", state.setting, *final_options(scene), "--renders", base]
    if state.score.sgc != "ROBUST":
        options += ["--sgc-mode", state.score.sgc.lower()]
    if state.checklist:
        options += ["--checklist", existing(state.checklist, "checklist"), *_judge_options(scene, base)]
    left = unfinished(base, SCORE, owner_of(scene), has_results)
    folder = left.folder if left is not None else numbered_folder(base, SCORE)
    request = ask_for("score", scene, reference, folder, options)
    return request, left is None


def _left(scene: Any) -> Request:
    """The score that did not come to its end. Raises BadInputError where it cannot be gone on with."""
    jobs.check_ready()
    request = _unfinished[scene.session_uid]
    if not (request.folder / COPY).is_file():
        del _unfinished[scene.session_uid]
        raise BadInputError(f"{request.folder}: what was scored is not there any more; score anew")
    _check_online(judge_in(request))
    return request


def _check_online(judge: str) -> None:
    if not bpy.app.online_access and not is_here(judge):
        raise BadInputError(
            "the judge is on another machine and online access is off; allow it in Preferences > System > Network"
        )


def _judge_options(scene: Any, base: Path) -> list[str | Path]:
    judge = judge_of(scene)
    if not judge:
        return []
    _check_online(judge)
    budget = scene.matchcut.score.budget
    limit = ["--budget-usd", f"{budget:g}"] if budget > 0 and not is_here(judge) else []
    return [JUDGE, judge, "--judged", base / JUDGED, *limit]
