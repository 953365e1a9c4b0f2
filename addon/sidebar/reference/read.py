# SPDX-License-Identifier: GPL-3.0-or-later
"""The reference is read by the evaluator: its size, rate, frames, and what is odd about it."""

from __future__ import annotations

from typing import Any

import bpy

from ....evaluator.protocol.errors import BadInputError, OperationalError
from ....evaluator.protocol.messages import Message
from ... import jobs
from ..kept import keep
from ..paths import reference_file


def reference_picked(scene: Any) -> None:
    """Read the file just picked, unless that is impossible now: the panel then offers Read Reference."""
    reference = scene.matchcut.reference
    if reference.path and not bpy.app.background and jobs.running() is None and not jobs.evaluator().problem:
        try:
            read_reference(scene)
        except BadInputError:
            pass  # the same error comes with its text when Read Reference is pressed


def read_reference(scene: Any) -> jobs.Job:
    """Start reading the reference's size, rate and frames. Raises BadInputError where no file is picked."""
    path = scene.matchcut.reference.path
    uid = scene.session_uid

    def finish(messages: list[Message]) -> None:
        info = next((message.data for message in messages if message.data), None)
        if info is None:
            raise OperationalError("the evaluator told nothing of the reference; see Copy Details")
        keep(uid, f"video {path}", lambda found: _store(found.matchcut.reference, path, info))
        job.warnings.clear()  # they stand beside the reference

    job = jobs.start("Reading the reference", ["probe", str(reference_file(scene))], finish)
    return job


def _store(reference: Any, path: str, info: dict[str, Any]) -> None:
    if reference.path != path:
        return
    timeline = info["timeline"]
    reference.read_path = path
    reference.width, reference.height = timeline["width"], timeline["height"]
    reference.rate, reference.frames = timeline["rate"], timeline["frames"]
    reference.warnings.clear()
    for text in info.get("warnings", []):
        reference.warnings.add().text = text
