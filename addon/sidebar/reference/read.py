# SPDX-License-Identifier: GPL-3.0-or-later
"""The reference is picked, and read by the evaluator: size, rate, frames, shots, and what is odd about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy

from ....evaluator.protocol.errors import BadInputError, OperationalError
from ....evaluator.protocol.messages import Message
from ... import jobs, preferences
from ..kept import keep
from ..paths import absolute, stored
from . import picture, watch
from .file import picked_file

READING = "Reading the reference"
"""Title of the job."""

_heard: dict[str, tuple[str, tuple[int, int]]] = {}
"""By path of a file that is being read: its digest, and (width, height) as shown; told before the rest is known."""


def pick(scene: Any, file: Path) -> None:
    """Make a video the scene's reference. Raises BadInputError where it is not there."""
    if not file.is_file():
        raise BadInputError(f"{file}: there is no such file; pick another one")
    scene.matchcut.reference.path = stored(file)


def reference_picked(scene: Any) -> None:
    """Take in the path just picked: known at once where it is the file that was read, moved; else it is read.

    Where that is impossible now, the panel offers Read Reference.
    """
    reference = scene.matchcut.reference
    if not reference.path:
        return
    preferences.apply_defaults(scene)
    if _is_what_was_read(reference):
        return
    if not bpy.app.background and jobs.running() is None and not jobs.evaluator().problem:
        try:
            read_reference(scene)
        except BadInputError:
            pass  # the same error comes with its text when Read Reference is pressed


def _is_what_was_read(reference: Any) -> bool:
    file = absolute(reference.path)
    if not reference.read_mark or watch.look(file, reference.read_mark) != "same":
        return False
    reference.read_path = reference.path
    return True


def read_reference(scene: Any) -> jobs.Job:
    """Start reading the reference. Raises BadInputError where no file is picked, or where it cannot be opened."""
    file = picked_file(scene)
    try:
        mark = watch.mark_of(file)
    except OSError as error:
        raise BadInputError(f"{file}: it cannot be read ({error.strerror}); pick another file") from error
    uid, digest = scene.session_uid, watch.digest_in(mark)

    def heard(message: Message) -> None:
        if message.data and "size" in message.data:
            width, height = message.data["size"]
            _heard[str(file)] = digest, (width, height)
            picture.take(digest)

    def finish(messages: list[Message]) -> None:
        info = next((message.data for message in messages if message.data and "timeline" in message.data), None)
        if info is None:
            raise OperationalError("the evaluator told nothing of the reference; see Copy Details")
        keep(uid, f"video {file}", lambda found: _store(found.matchcut.reference, file, mark, info))
        job.warnings.clear()  # they stand beside the reference

    asked = [] if bpy.app.background else ["--picture", str(picture.place(digest))]
    job = jobs.start(READING, ["probe", str(file), "--shots", *asked], finish)
    job.heard = heard
    return job


def heard_of(reference: Any) -> tuple[str, tuple[int, int]] | None:
    """Digest, and (width, height) as shown, of a file that is being read, once they are told; from memory."""
    return _heard.get(str(absolute(reference.path)))


def _store(reference: Any, file: Path, mark: str, info: dict[str, Any]) -> None:
    if not reference.path or absolute(reference.path) != file:
        return
    timeline = info["timeline"]
    reference.read_path, reference.read_mark = reference.path, mark
    reference.width, reference.height = timeline["width"], timeline["height"]
    reference.rate, reference.frames = timeline["rate"], timeline["frames"]
    reference.misplaced = info.get("constant_rate") is False or bool(info.get("mirrored"))
    reference.warnings.clear()
    mended = info.get("conform", [])
    for text in [*(text for text in info.get("warnings", []) if text not in mended), *mended]:
        line = reference.warnings.add()
        line.text, line.section = text, "conform" if text in mended else ""
    reference.shots.clear()
    for first, last in info.get("shots", {}).get("intervals", []):
        shot = reference.shots.add()
        shot.first, shot.last = first, last
    watch.look(file, mark)
