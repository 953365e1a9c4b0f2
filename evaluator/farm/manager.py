# SPDX-License-Identifier: GPL-3.0-or-later
"""Speaks to a Flamenco 3 Manager over its HTTP API, with the standard library alone.

The names are those of Flamenco's OpenAPI document: SubmittedJob, Job, AvailableJobType, JobTasksSummary, Error.
"""

from __future__ import annotations

import http.client
import json
import re
import sys
import urllib.error
import urllib.request
from typing import Any, Final
from urllib.parse import quote, urlsplit

from ..protocol.errors import BadInputError, MatchcutError, OperationalError

JOB_TYPE: Final = "matchcut-render"
"""What a Manager calls the job type in `matchcut_render.js`."""
SECONDS: Final = 30.0
LARGEST_ANSWER: Final = 16 * 2**20
ENDED: Final = ("completed", "failed", "canceled")
"""States in which a Manager starts no task of a job any more."""
_ID: Final = re.compile(r"[0-9A-Za-z-]{1,80}")


def platform_name() -> str:
    """The system that this runs on, as Flamenco calls it: linux, windows, darwin and others."""
    return {"win32": "windows", "cygwin": "windows"}.get(sys.platform, sys.platform.rstrip("0123456789"))


class Manager:
    """A Manager at an address such as `http://manager:8080`.

    Every method raises OperationalError where nobody answers or the Manager is at fault, and BadInputError where it
    refuses what it was sent, each with the Manager's own words.
    """

    def __init__(self, url: str, seconds: float = SECONDS) -> None:
        """Take the address; nothing is asked yet. Raises BadInputError where it is none."""
        self.url = url.strip().rstrip("/")
        self._seconds = seconds
        try:
            parts = urlsplit(self.url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable or re.search(r"[\s\x00-\x1f]", self.url):
            raise BadInputError(f"--manager {url!r}: is no address; write it as http://manager:8080")

    def version(self) -> str:
        """Its version. Raises BadInputError where something else than a Manager answers."""
        found = self._ask("GET", "/api/v3/version")
        if not isinstance(found, dict) or not isinstance(found.get("version"), str):
            raise BadInputError(f"{self.url}: what answers there is no Flamenco Manager; look at its address")
        return str(found["version"])

    def job_type(self) -> tuple[str, set[str]]:
        """(etag, keys of its settings) of our job type. Raises BadInputError where the Manager does not have it."""
        found = self._ask("GET", f"/api/v3/jobs/type/{JOB_TYPE}", missing=_NO_JOB_TYPE)
        try:
            return str(found["etag"]), {str(setting["key"]) for setting in found["settings"]}
        except (KeyError, TypeError):
            raise self._strange("job type") from None

    def variables(self, platform: str) -> set[str]:
        """The names of the variables that workers on `platform` know."""
        found = self._ask("GET", f"/api/v3/configuration/variables/workers/{quote(platform)}")
        if not isinstance(found, dict):
            raise self._strange("variables")
        return set(found)

    def check(self, job: dict[str, Any]) -> None:
        """Have a SubmittedJob compiled without storing it."""
        self._ask("POST", "/api/v3/jobs/check", job)

    def submit(self, job: dict[str, Any]) -> str:
        """Submit a SubmittedJob; returns the job's id."""
        found = self._ask("POST", "/api/v3/jobs", job)
        name = found.get("id") if isinstance(found, dict) else None
        if not isinstance(name, str) or _ID.fullmatch(name) is None:
            raise self._strange("job")
        return name

    def job(self, name: str) -> dict[str, Any]:
        """A Job: `status`, `activity`, `name` and more."""
        found = self._ask("GET", f"/api/v3/jobs/{quote(name)}", missing=_NO_JOB.format(name))
        if not isinstance(found, dict) or not isinstance(found.get("status"), str):
            raise self._strange("job")
        return found

    def tasks(self, name: str) -> list[dict[str, Any]]:
        """The job's tasks, each with `name` and `status`."""
        found = self._ask("GET", f"/api/v3/jobs/{quote(name)}/tasks", missing=_NO_JOB.format(name))
        tasks = found.get("tasks") if isinstance(found, dict) else None
        if not isinstance(tasks, list) or not all(
            isinstance(task, dict) and isinstance(task.get("name"), str) and isinstance(task.get("status"), str)
            for task in tasks
        ):
            raise self._strange("list of tasks")
        return tasks

    def set_status(self, name: str, status: str, reason: str) -> None:
        """Ask for another status of a job: `cancel-requested`, `requeueing`."""
        self._ask(
            "POST", f"/api/v3/jobs/{quote(name)}/setstatus", {"status": status, "reason": reason},
            missing=_NO_JOB.format(name),
        )  # fmt: skip

    def _strange(self, what: str) -> OperationalError:
        return OperationalError(f"{self.url}: its {what} is not as Flamenco 3 writes it; look at the Manager's version")

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None, missing: str = "") -> Any:
        """The answer as parsed JSON, None where it is empty; `missing` is what 404 means."""
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        # the address was found to be http or https
        request = urllib.request.Request(self.url + path, data=data, method=method)  # noqa: S310
        request.add_header("Accept", "application/json")
        if data is not None:
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=self._seconds) as answer:  # noqa: S310
                text = answer.read(LARGEST_ANSWER + 1)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(error, missing) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            raise OperationalError(
                f"{self.url}: no Flamenco Manager answers ({_line(reason) or type(error).__name__}); start it, or look "
                "at its address"
            ) from None
        if len(text) > LARGEST_ANSWER:
            raise self._strange("answer")
        try:
            return json.loads(text) if text.strip() else None
        except (ValueError, RecursionError):
            raise BadInputError(f"{self.url}: what answers there is no Flamenco Manager; look at its address") from None

    def _refusal(self, error: urllib.error.HTTPError, missing: str) -> MatchcutError:
        try:
            answer = json.loads(error.read(65536))
            said = _line(answer["message"])
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError, RecursionError):
            said = _line(error.reason)
        if error.code == 404 and missing:
            return BadInputError(f"{self.url}: {missing}")
        if error.code == 412:
            return OperationalError(f"{self.url}: its job type has changed meanwhile; submit again")
        if error.code >= 500 or error.code == 429:
            return OperationalError(f"{self.url}: the Manager failed (HTTP {error.code}: {said}); try again")
        return BadInputError(f"{self.url}: the Manager refuses this (HTTP {error.code}: {said})")


_NO_JOB_TYPE: Final = (
    f"has no job type {JOB_TYPE}; put it there with matchcut farm job-type --out DIR, where DIR is the folder scripts "
    "beside the Manager's program"
)
_NO_JOB: Final = "has no job {}; it was deleted there"


def _line(said: object) -> str:
    return " ".join(str(said).split())[:300]
