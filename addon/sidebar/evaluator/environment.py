# SPDX-License-Identifier: GPL-3.0-or-later
"""The evaluator's environment as the buttons make, check, choose and remove it, and what is known of it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import bpy
from bpy.app.translations import pgettext_n

from ....evaluator.environment.create import log_of
from ....evaluator.protocol.errors import BadInputError
from ....evaluator.protocol.messages import Message
from ... import jobs, preferences
from ...evaluator_process import PACKAGE_ROOT
from ...preferences import asking
from ..reference.read import reference_picked

INSTALLING: Final = pgettext_n("Installing the evaluator")
REMOVING: Final = pgettext_n("Removing the evaluator")
CHECK: Final = "evaluator"
"""Under which `asking` keeps what the evaluator's Python says of itself."""
CHOICE: Final = "chosen evaluator"
HELP: Final = PACKAGE_ROOT / "assets_ui" / "help" / "evaluator.html"
DOWNLOAD_BYTES: Final = 165_000_000
INSTALLED_BYTES: Final = 630_000_000
"""Of the lock file as it is, on Linux; told before anything is downloaded."""


@dataclass(frozen=True)
class Known:
    """What is told of the evaluator that is ready; None and empty where it is not known."""

    python: str = ""
    packages: int | None = None
    bytes: int | None = None
    differing: tuple[str, ...] = ()
    is_own: bool = False


def own_folder() -> Path | None:
    """Where the buttons make the environment; None outside an installed extension."""
    return preferences.evaluator_folder()


def known() -> Known:
    """What is known of the evaluator, from what was noted and from the last check."""
    state, told = jobs.evaluator(), asking.answer(CHECK).data or {}
    noted = state.noted
    differing = tuple(f"{name} {here} ({lock})" for name, (here, lock) in told.get("differing", {}).items())
    return Known(
        python=str(told.get("python") or noted.get("python", "")),
        packages=told.get("packages") or noted.get("packages"),
        bytes=told.get("bytes") or noted.get("bytes"),
        differing=differing,
        is_own=state.source == "the add-on",
    )


def install(*, anew: bool = False) -> jobs.Job:
    """Start making the environment with Blender's own Python, below the extension's user folder; or go on with it.

    With `anew` one that looks complete is made again.
    """
    if not bpy.app.online_access:
        raise BadInputError("online access is off; allow it in Preferences > System > Network, then install again")
    folder = preferences.evaluator_folder(create=True)
    if folder is None:
        raise BadInputError("Matchcut is not installed as an extension here; run ./run setup in the checkout")
    arguments = [
        "setup",
        "--evaluator",
        "--into",
        str(folder),
        "--python",
        sys.executable,
        *(["--anew"] if anew else []),
    ]
    asking.forget(CHECK, CHOICE, "caches", "keys")
    return jobs.start(INSTALLING, arguments, _read_what_waits, prefix=asking.OWN_PYTHON)


def remove() -> jobs.Job:
    """Start deleting the environment that the button made."""
    folder = own_folder()
    if folder is None or not folder.exists():
        raise BadInputError("there is no evaluator of Matchcut's own to remove")
    asking.forget(CHECK, CHOICE, "keys")
    arguments = ["setup", "--remove", "--into", str(folder)]
    return jobs.start(REMOVING, arguments, _drop, prefix=asking.OWN_PYTHON)


def check() -> jobs.Job:
    """Have the evaluator's Python import everything and say which versions it has."""
    return asking.ask(CHECK, ["setup", "--check"])


def choose(python: Path) -> jobs.Job:
    """Take another Python as the evaluator's, once it has shown that it has the packages."""
    if preferences.get() is None:
        raise BadInputError("Matchcut is not installed as an extension here; set $MATCHCUT_PYTHON instead")
    if not python.is_file():
        raise BadInputError(f"{python}: there is no such program; choose a Python that has the evaluator's packages")

    def take(data: dict[str, Any]) -> None:
        preferences.get().evaluator_python = str(python)  # which looks for the evaluator again
        bpy.context.preferences.is_dirty = True
        asking.forget(CHOICE)

    return asking.ask(CHOICE, ["setup", "--check"], prefix=(str(python), str(PACKAGE_ROOT / "__main__.py")), then=take)


def take_own() -> None:
    """Name no other Python any more."""
    preferences.get().evaluator_python = ""
    bpy.context.preferences.is_dirty = True


def log() -> Path:
    """The log of the last installation. Raises BadInputError where there is none."""
    folder = own_folder()
    if folder is None or not log_of(folder).is_file():
        raise BadInputError("there is no log: nothing was installed since Matchcut was set up")
    return log_of(folder)


def log_text(lines: int = 200) -> str:
    """The last error and the end of the log, with the home folder's name left out."""
    job = jobs.last()
    told = [job.title, job.error, job.details] if job is not None and job.title == INSTALLING else []
    try:
        told.append("\n".join(log().read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]))
    except BadInputError:
        pass
    return "\n".join(line for line in told if line).replace(str(Path.home()), "~")


def _read_what_waits(messages: list[Message]) -> None:
    """A reference that was picked before there was an evaluator is read now."""
    jobs.refresh_evaluator()
    for scene in bpy.data.scenes:
        if not scene.matchcut.reference.read:
            reference_picked(scene)


def _drop(messages: list[Message]) -> None:
    """What was made is found again when the job has ended."""
