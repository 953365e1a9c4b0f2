# SPDX-License-Identifier: GPL-3.0-or-later
"""A person as judge: rates the same evidence on a page in the browser, with the keys 1, 2 and 3.

What is rated is written down at once, so that a person can stop in the middle of a clip and go on another day.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import threading
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ...protocol.errors import BadInputError
from ...protocol.files import content_key, read_json, write_json
from ...protocol.local_page import LocalPage, Request, Response, json_response
from ...protocol.messages import Reporter
from ..records import RATING_VALUES
from .base import FatalError, JudgeRequest, Reply, StoppedError

DRAFT_FORMAT: Final = "matchcut-rating-draft/1"
PAGES: Final = Path(__file__).resolve().parents[3] / "assets_ui" / "rating"
_FILES: Final = {
    "": ("judge.html", "text/html; charset=utf-8"),
    "judge.js": ("judge.js", "text/javascript; charset=utf-8"),
    "rating.css": ("rating.css", "text/css; charset=utf-8"),
}
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
LABELS: Final = tuple(RATING_VALUES)


def announcer(reporter: Reporter) -> Callable[[str], None]:
    """Tells a person where the page is, and opens it in the browser of this machine."""

    def announce(address: str) -> None:
        reporter.status(f"rate the clips at {address}")
        webbrowser.open(address)

    return announce


@dataclass
class _Task:
    """One clip under one setting that waits for the person."""

    key: str
    request: JudgeRequest
    asked: dict[str, Any]
    """The entity table and the checks, as any judge gets them."""
    draft: str
    """What is asked, by its content; two tasks that ask the same share their draft."""
    ratings: list[str | None]
    reply: Reply | None = None
    declined: str = ""
    """Why it cannot be judged, in the person's words."""
    ended: threading.Event = field(default_factory=threading.Event)


class Human:
    """A judge called `human`; `model` is the rater's name.

    The page is served from the first request on; `announce` is told its address. Several requests may wait at once, and
    the page shows them one after the other. `drafts` is the folder for what is rated so far; without it nothing is kept
    of a clip that is not finished. Raises BadInputError where the name is unusable.
    """

    name = "human"

    def __init__(
        self, rater: str = "person", *, drafts: Path | None = None, announce: Callable[[str], None] = lambda _: None
    ) -> None:
        if not _NAME.fullmatch(rater):
            raise BadInputError(
                f"judge human:{rater}: a rater's name has letters, digits, '-', '_' and '.', at most 40 of them"
            )
        self.model = rater
        self._drafts, self._announce = drafts, announce
        self._lock = threading.Lock()
        self._page: LocalPage | None = None
        self._waiting: dict[str, _Task] = {}
        self._finished = 0
        self._numbers = itertools.count()
        self._closed = False

    def ask(self, request: JudgeRequest) -> Reply:
        """Wait until the person has rated every check of the request.

        Raises FatalError where the person says that it cannot be judged, StoppedError where the page is closed first.
        """
        task = self._task(request)
        with self._lock:
            if self._closed:
                raise StoppedError("the page is closed")
            self._waiting[task.key] = task
            if self._page is None:
                self._page = LocalPage(self._answer)
                self._announce(self._page.address)
        while not task.ended.wait(0.2):  # in short steps, so that Ctrl-C is heard on every system
            pass
        if task.declined:
            raise FatalError("declined", f"{self.model} cannot judge it: {task.declined}", whole_run=False)
        if task.reply is None:
            raise StoppedError("the page was closed before the clip was rated")
        return task.reply

    def close(self) -> None:
        """End the page; requests that still wait fail, and their drafts stay."""
        with self._lock:
            self._closed = True
            page, self._page = self._page, None
            for task in self._waiting.values():
                task.ended.set()
            self._waiting.clear()
        if page is not None:
            page.close()

    def _task(self, request: JudgeRequest) -> _Task:
        asked = json.loads(request.text)
        images = [hashlib.sha256(image).hexdigest() for image in request.images]
        key = content_key({"instruction": request.instruction, "text": request.text, "images": images})
        # a repeat asks the same again, and may wait at the same time
        return _Task(f"{next(self._numbers)}-{key}", request, asked, key, self._draft(key, len(asked["checks"])))

    def _draft(self, key: str, checks: int) -> list[str | None]:
        nothing: list[str | None] = [None] * checks
        path = self._draft_path(key)
        if path is None or not path.is_file():
            return nothing
        try:
            ratings = read_json(path, DRAFT_FORMAT)["ratings"]
        except (BadInputError, KeyError):
            return nothing
        fits = isinstance(ratings, list) and len(ratings) == checks
        return ratings if fits and all(one is None or one in LABELS for one in ratings) else nothing

    def _draft_path(self, key: str) -> Path | None:
        return None if self._drafts is None else self._drafts / self.model / f"{key}.json"

    def _answer(self, request: Request) -> Response | None:
        """One request of the page."""
        if request.body is None and request.path in _FILES:
            name, kind = _FILES[request.path]
            return Response((PAGES / name).read_bytes(), kind)
        with self._lock:
            if request.path == "state" and request.body is None:
                return json_response(self._state())
            word, _, rest = request.path.partition("/")
            if word == "image" and request.body is None:
                key, _, number = rest.partition("/")
                task = self._waiting.get(key)
                if task is None or not number.isdecimal() or int(number[:4]) >= len(task.request.images):
                    return None
                return Response(task.request.images[int(number[:4])], "image/jpeg")
            if word in ("rate", "submit", "decline") and isinstance(request.body, dict):
                return self._take(word, request.body)
        return None

    def _state(self) -> dict[str, Any]:
        task = next(iter(self._waiting.values()), None)
        state: dict[str, Any] = {"rater": self.model, "finished": self._finished, "waiting": len(self._waiting)}
        if task is not None:
            state["task"] = {
                "key": task.key,
                "instruction": task.request.instruction,
                "images": len(task.request.images),
                "frames": list(task.request.frames),
                "ratings": task.ratings,
                "labels": list(LABELS),
                **task.asked,
            }
        return state

    def _take(self, word: str, body: dict[str, Any]) -> Response:
        """A rating, the end of a clip, or the word that it cannot be judged."""
        task = self._waiting.get(str(body.get("key")))
        if task is None:
            return json_response({"error": "this clip is not open any more"}, 409)
        if word == "rate":
            index, label = body.get("index"), body.get("label")
            if type(index) is not int or not 0 <= index < len(task.ratings) or label not in (None, *LABELS):
                return json_response({"error": "no such check or rating"}, 400)
            task.ratings[index] = label
            path = self._draft_path(task.draft)
            if path is not None:
                write_json(path, {"format": DRAFT_FORMAT, "ratings": task.ratings})
        elif word == "submit":
            if None in task.ratings:
                return json_response({"error": "some checks are not rated yet"}, 409)
            task.reply = Reply(json.dumps({"results": task.ratings}), "stop", model=self.model)
            self._end(task)
        else:
            reason = str(body.get("reason", "")).strip()[:500]
            if not reason:
                return json_response({"error": "say why it cannot be judged"}, 400)
            task.declined = reason
            self._end(task)
        return json_response(self._state())

    def _end(self, task: _Task) -> None:
        path = self._draft_path(task.draft)
        del self._waiting[task.key]
        self._finished += 1
        task.ended.set()
        if path is not None and task.reply is not None:  # the judgment takes its place
            path.unlink(missing_ok=True)
