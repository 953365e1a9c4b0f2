# SPDX-License-Identifier: GPL-3.0-or-later
"""The page on which one rater compares: anonymous, in an order of their own, resumable (paper, appendix D)."""

from __future__ import annotations

import random
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any, Final

from ..checklist.benchmark import LoadedBenchmark
from ..checklist.records import DIMENSIONS, Clip, Dimension, Setting
from ..judge.evidence import reconstruction_frame
from ..media.decode import pick_pictures
from ..media.pairs import fitted_size, jpeg_bytes
from ..media.probe import probe
from ..media.resize import resized
from ..protocol.errors import BadInputError, MatchcutError
from ..protocol.local_page import LocalPage, Request, Response, json_response
from .aggregate import study_key
from .records import CHOICES, Study, Task, Vote, Votes

PAGES: Final = Path(__file__).resolve().parents[2] / "assets_ui" / "rating"
_FILES: Final = {
    "": ("pairwise.html", "text/html; charset=utf-8"),
    "pairwise.js": ("pairwise.js", "text/javascript; charset=utf-8"),
    "rating.css": ("rating.css", "text/css; charset=utf-8"),
}
ROLES: Final = ("reference", "a", "b")
_KEPT: Final = 9
"""Sequences of pictures that are kept: those of three tasks."""

QUESTIONS: Final[dict[Dimension, str]] = {
    "camera": "Compare the camera: where it stands, how it frames, how it moves and turns, and where shots change.",
    "static": "Compare what is there: which things and how many, how they are built and look, where they are.",
    "dynamic": "Compare what happens: where subjects move and along which path, what they do, how they interact, when.",
}
REQUIREMENTS: Final[dict[Setting, str]] = {
    "proxy": "Proxy: simple shapes may stand for things; colours, materials and decoration are not asked for.",
    "simplified": "Simplified: things have to be recognisable, with their main parts, proportions and salient looks.",
    "detailed": "Detailed: clearly visible details that are particular to the reference are asked for too.",
}


class RaterPage:
    """Serves a study's tasks to one rater and keeps every vote at once in `votes_file`.

    `runs` holds CONFIGURATION/SETTING/VIDEO/reconstruction.mp4. Nothing that the page is sent names a configuration.
    Raises BadInputError where the votes that are there are of another study.
    """

    def __init__(self, study: Study, benchmark: LoadedBenchmark, runs: Path, rater: str, votes_file: Path) -> None:
        self._study, self._benchmark, self._runs, self._file = study, benchmark, runs, votes_file
        key = study_key(study)
        self._votes = Votes.read(votes_file) if votes_file.is_file() else Votes(rater=rater, study=key, votes=[])
        if self._votes.study != key:
            raise BadInputError(f"{votes_file}: is of another study; keep each study's votes in its own folder")
        self._tasks = {task.id: task for task in study.tasks}
        self._order = sorted(self._tasks)
        random.Random(f"{study.seed}/{rater}").shuffle(self._order)  # noqa: S311  (no secret)
        self._lock = threading.Lock()
        self._decoding = threading.Lock()
        self._pictures: OrderedDict[tuple[str, str], list[bytes]] = OrderedDict()
        self.finished = threading.Event()
        self._page = LocalPage(self._answer)
        self.address = self._page.address

    @property
    def done(self) -> int:
        """Tasks with a vote."""
        return len(self._votes.votes)

    def close(self) -> None:
        """Stop serving; votes are on the disk already."""
        self._page.close()

    def _answer(self, request: Request) -> Response | None:
        if request.body is None and request.path in _FILES:
            name, kind = _FILES[request.path]
            return Response((PAGES / name).read_bytes(), kind)
        if request.path == "state" and request.body is None:
            with self._lock:
                return json_response(self._state())
        if request.path == "vote" and isinstance(request.body, dict):
            with self._lock:
                return self._vote(request.body)
        parts = request.path.split("/")
        if len(parts) == 4 and parts[0] == "picture" and request.body is None:
            return self._picture(*parts[1:])
        return None

    def _state(self) -> dict[str, Any]:
        done = {vote.task for vote in self._votes.votes}
        left = [name for name in self._order if name not in done]
        if not left:
            self.finished.set()
        state: dict[str, Any] = {"rater": self._votes.rater, "done": len(done), "total": len(self._order)}
        if left:
            state["task"] = self._describe(self._tasks[left[0]])
            # what comes next is decoded while this one is looked at
            state["next"] = self._describe(self._tasks[left[1]]) if len(left) > 1 else None
        if self._votes.votes:
            state["last"] = self._votes.votes[-1].task
        return state

    def _describe(self, task: Task) -> dict[str, Any]:
        clip = self._clip(task)
        rate = self._benchmark.video(task.video).record.timeline.rate
        frames = moments(clip, task.setting, task.dimension)
        return {
            "key": task.id,
            "dimension": task.dimension,
            "setting": task.setting,
            "question": QUESTIONS[task.dimension],
            "requirement": REQUIREMENTS[task.setting],
            "frames": frames,
            "rate": float(rate),
            "moving": task.dimension != "static",
        }

    def _clip(self, task: Task) -> Clip:
        for clip in self._benchmark.video(task.video).clips:
            if clip.id == task.clip:
                return clip
        raise BadInputError(f"{self._benchmark.folder}: the video {task.video!r} has no clip {task.clip!r}")

    def _vote(self, body: dict[str, Any]) -> Response:
        key, choice = body.get("key"), body.get("choice")
        explanation = str(body.get("explanation", "")).strip()[:1000]
        if key not in self._tasks or choice not in (*CHOICES, None):
            return json_response({"error": "no such task or choice"}, 400)
        if choice == "issue" and not explanation:
            return json_response({"error": "say what is wrong with it"}, 400)
        kept = [vote for vote in self._votes.votes if vote.task != key]
        if choice is not None:  # None takes the vote back
            kept.append(Vote(task=str(key), choice=choice, explanation=explanation))
        self._votes = self._votes.model_copy(update={"votes": kept})
        self._votes.write(self._file)
        return json_response(self._state())

    def _picture(self, key: str, role: str, number: str) -> Response | None:
        if key not in self._tasks or role not in ROLES or not number.isdecimal():
            return None
        try:
            with self._decoding:
                pictures = self._sequence(self._tasks[key], role)
        except MatchcutError:  # its text names files
            return json_response({"error": "this video cannot be played"}, 503)
        index = int(number[:6])
        return Response(pictures[index], "image/jpeg") if index < len(pictures) else None

    def _sequence(self, task: Task, role: str) -> list[bytes]:
        """The JPEGs of one side of a task, decoded in one go."""
        known = self._pictures.get((task.id, role))
        if known is None:
            known = self._decode(task, role)
            self._pictures[task.id, role] = known
            while len(self._pictures) > _KEPT:
                self._pictures.popitem(last=False)
        self._pictures.move_to_end((task.id, role))
        return known

    def _decode(self, task: Task, role: str) -> list[bytes]:
        clip, video = self._clip(task), self._benchmark.video(task.video)
        local = moments(clip, task.setting, task.dimension)
        path = video.reference
        frames = [clip.frame_offset + frame for frame in local]
        if role != "reference":
            path = reconstruction(self._runs, task.a if role == "a" else task.b, task.setting, task.video)
            reference, rebuilt = probe(video.reference), probe(path)
            frames = [reconstruction_frame(clip, frame, reference, rebuilt) for frame in local]
        return [
            jpeg_bytes(resized(picture, fitted_size(picture.shape[1], picture.shape[0])))
            for picture in pick_pictures(path, frames)
        ]


def reconstruction(runs: Path, configuration: str, setting: Setting, video: str) -> Path:
    """Where a configuration's video lies."""
    return runs / configuration / setting / video / "reconstruction.mp4"


def moments(clip: Clip, setting: Setting, dimension: Dimension) -> list[int]:
    """Local frames that a rater sees: those of the applicable checks for what stands still, else the whole clip."""
    if dimension != "static":
        return list(range(clip.frame_count))
    checks = [check for check in clip.applicable(setting) if check.category in DIMENSIONS["static"]]
    return sorted({frame for check in checks for frame in (check.start, *check.evidence_frames)})
