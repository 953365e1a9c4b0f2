# SPDX-License-Identifier: GPL-3.0-or-later
"""The scores of each scene, in memory: read in a thread, taken in by a timer. The scene keeps what has to be saved."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import bpy

from ....evaluator.protocol.errors import BadInputError
from ... import jobs
from ..kept import keep
from ..owner import adopt, named
from ..paths import absolute, output_folder, scenes_of, stored
from .change import Change, before, change, order
from .found import Wanted, find_scores, read_bounded
from .record import Check, Score

INTERVAL = 0.05
GIVES_WAY = 0.0005
"""Seconds after which a reading thread lets the window's go on; Python's usual 5 ms add up in one drawing."""


@dataclass(frozen=True)
class Known:
    """What is in memory of a scene's scores."""

    score: Score | None = None
    """The one that is shown."""
    history: tuple[Score, ...] = ()
    """All that were found, the newest first; the shown one is among them."""
    change: Change | None = None
    """The shown one against the one before it."""
    reading: bool = False
    problem: str = ""
    """Why the score that the scene should show could not be read; the newest one that was found is shown instead."""


class _Reading:
    """A thread that reads scores from the disk; `found` gives each as it comes, then None."""

    def __init__(self, shown: Path | None, roots: Sequence[Path], wanted: Wanted) -> None:
        self.found: queue.SimpleQueue[Score | str | None] = queue.SimpleQueue()
        self._thread = threading.Thread(
            target=self._read, args=(shown, tuple(roots), wanted), name="matchcut results", daemon=True
        )
        self.stopped = False
        self._thread.start()

    def _read(self, shown: Path | None, roots: Sequence[Path], wanted: Wanted) -> None:
        with _one_at_a_time:
            usual = sys.getswitchinterval()
            sys.setswitchinterval(GIVES_WAY)
            try:
                for one in read(shown, roots, wanted):
                    self.found.put(one)
                    if self.stopped:
                        return
            finally:
                sys.setswitchinterval(usual)
                self.found.put(None)


_one_at_a_time = threading.Lock()
_known: dict[int, Known] = {}
_readings: dict[int, _Reading] = {}


def known(scene: Any) -> Known:
    """What is in memory of the scene's scores; never reads a file."""
    return _known.get(scene.session_uid, Known())


def selected(scene: Any) -> Check | None:
    """The check that is chosen in the score that is shown."""
    score, active = known(scene).score, scene.matchcut.results.active
    return score.checks[active] if score is not None and 0 <= active < len(score.checks) else None


def take_results(uid: int, folder: Path) -> None:
    """Show the score in `folder` as the last one of the scene with this session id, and find the ones before it.

    In a window this returns at once and a thread reads; without one it raises BadInputError where there is none.
    """
    for scene in scenes_of(uid):
        if bpy.app.background:
            read_bounded(folder)
        _start(scene, folder)


def find_again(scene: Any) -> None:
    """Read the scene's scores from the disk again: the one that it says it has, and all others that are its own."""
    folder = scene.matchcut.results.folder
    _start(scene, absolute(folder) if folder else None)


def show(scene: Any, score: Score) -> None:
    """Show this one of the scene's scores."""
    uid = scene.session_uid
    _known[uid] = replace(known(scene), problem="")
    _take(uid, score, shown=True)


def report_path(scene: Any) -> Path | None:
    """Where the report of the score that is shown lies; None where there is no score."""
    folder = folder_of(scene)
    return folder / "report.html" if folder is not None else None


def folder_of(scene: Any) -> Path | None:
    """The folder of the score that is shown; None where there is none."""
    score = known(scene).score
    if score is not None:
        return score.folder
    kept = scene.matchcut.results.folder
    return absolute(kept) if kept else None


def read(shown: Path | None, roots: Sequence[Path], wanted: Wanted) -> Iterator[Score | str]:
    """Yield the shown score, or the reason why there is none, then the others, the newest first; touches no scene."""
    if shown is not None:
        try:
            yield read_bounded(shown)
        except (BadInputError, OSError) as error:
            yield str(error)
    yield from find_scores(roots, wanted)


def _start(scene: Any, shown: Path | None) -> None:
    """Read in a thread, or right here where no timer would take it in."""
    uid = scene.session_uid
    kept = scene.matchcut.results.folder
    roots = [output_folder(scene), *([absolute(kept).parent] if kept else []), *([shown.parent] if shown else [])]
    reference = scene.matchcut.reference
    owner = named(scene, scene.matchcut.results.scene_id)
    wanted = Wanted(owner, reference.timeline() if reference.known else None, shown)
    _stop(uid)
    old = _known.get(uid, Known())
    _known[uid] = Known(old.score if shown is None or old.score is None or old.score.folder == shown else None,
                        reading=True)  # fmt: skip
    if bpy.app.background:
        for one in read(shown, list(dict.fromkeys(roots)), wanted):
            _take_one(uid, one)
        _take_one(uid, None)
        return
    _readings[uid] = _Reading(shown, list(dict.fromkeys(roots)), wanted)
    if not bpy.app.timers.is_registered(_tick):
        bpy.app.timers.register(_tick, first_interval=INTERVAL, persistent=True)


def _tick() -> float | None:
    for uid, reading in list(_readings.items()):
        try:
            one = reading.found.get_nowait()  # one at a time: a slice stays short
        except queue.Empty:
            continue
        if one is None:
            del _readings[uid]
        _take_one(uid, one)
    return INTERVAL if _readings else None


def _take_one(uid: int, one: Score | str | None) -> None:
    """Take in a score, the reason why the one wanted cannot be read, or None at the end."""
    old = _known.get(uid, Known())
    if isinstance(one, Score):
        _take(uid, one, shown=old.score is None or old.score.folder == one.folder)
    elif one is None:
        _put(uid, old.score, old.history, reading=False, problem=old.problem)
    else:
        _put(uid, None, old.history, reading=True, problem=one)


def _take(uid: int, score: Score, *, shown: bool) -> None:
    old = _known.get(uid, Known())
    others = [other for other in old.history if other.folder != score.folder]
    history = tuple(sorted((score, *others), key=order, reverse=True))
    _put(uid, score if shown else old.score, history, reading=old.reading, problem=old.problem)
    for scene in scenes_of(uid):
        adopt(scene, score.scene_id)
    if shown:
        keep(uid, "results", lambda scene: _write(scene.matchcut.results, score))


def _put(uid: int, score: Score | None, history: tuple[Score, ...], *, reading: bool, problem: str) -> None:
    since = before(score, history) if score is not None else None
    made = change(score, since) if score is not None and since is not None else None
    _known[uid] = Known(score, history, made, reading, problem)
    jobs.redraw()


def _write(results: Any, score: Score) -> None:
    """What the scene keeps of a score; the list is written anew only where it is another one."""
    folder = stored(score.folder)
    keys = [check.key for check in score.checks]
    if results.folder == folder and len(results.lines) == len(score.lines) and results.checks.keys() == keys:
        return
    results.folder = folder
    results.lines.clear()
    for line in score.lines:
        item = results.lines.add()
        item.section, item.label, item.text, item.verdict = line.section, line.label, line.text, line.verdict
    results.checks.clear()
    for key in keys:
        results.checks.add().name = key
    results.active = keys.index(results.selected) if results.selected in keys else -1


def _stop(uid: int) -> None:
    reading = _readings.pop(uid, None)
    if reading is not None:
        reading.stopped = True


def forget() -> None:
    """Drop what is in memory and end what is being read."""
    for uid in list(_readings):
        _stop(uid)
    _known.clear()
    if bpy.app.timers.is_registered(_tick):
        bpy.app.timers.unregister(_tick)


def find_all_again() -> None:
    """Another file was opened: find the scores of its scenes. Without a window nothing is shown of them."""
    forget()
    if bpy.app.background:
        return
    for scene in bpy.data.scenes:
        if scene.matchcut.results.folder or scene.matchcut.reference.path:
            find_again(scene)
