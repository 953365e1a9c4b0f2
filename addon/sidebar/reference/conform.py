# SPDX-License-Identifier: GPL-3.0-or-later
"""A copy of the reference at a constant rate, upright, with square pixels, which then is the reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy

from ....evaluator.protocol.errors import BadInputError, OperationalError
from ....evaluator.protocol.messages import Message
from ... import jobs
from ..paths import output_folder, scenes_of, stored
from .file import picked_file
from .read import read_reference

CONFORMING = "Conforming the reference"
"""Title of the job."""


def conform_reference(scene: Any) -> jobs.Job:
    """Start writing the copy; once it is whole, it is picked. The original stays, and its path is kept."""
    jobs.check_ready()
    file = picked_file(scene)
    out = _free(_folder(scene, file), f"{file.stem}-conformed")
    uid = scene.session_uid

    def finish(messages: list[Message]) -> None:
        if not out.is_file():
            raise OperationalError(f"{out}: it was not written; see Copy Details")
        for found in scenes_of(uid):
            _take(found, file, out)

    return jobs.start(CONFORMING, ["conform", str(file), "--out", str(out)], finish)


def use_original(scene: Any) -> None:
    """Make the reference again what it was before Conform. Raises BadInputError where that is gone."""
    reference = scene.matchcut.reference
    if not reference.original:
        raise BadInputError("the reference was not conformed; there is no other one")
    reference.path = reference.original


def is_conformed(reference: Any) -> bool:
    """Whether the reference is the copy, whose original is known."""
    return bool(reference.original) and reference.path == reference.conformed


def _take(scene: Any, file: Path, out: Path) -> None:
    reference = scene.matchcut.reference
    reference.original, reference.conformed = stored(file), stored(out)
    reference.path = reference.conformed  # in a window it is read at once
    with bpy.context.temp_override(window=bpy.context.window_manager.windows[0]):
        bpy.ops.ed.undo_push(message="Conform Reference")
    if bpy.app.background:
        jobs.wait(read_reference(scene))


def _folder(scene: Any, file: Path) -> Path:
    """The output folder; of a scene that has none yet but a temporary one, that of the file."""
    return output_folder(scene) if scene.matchcut.output or bpy.data.filepath else file.parent


def _free(folder: Path, stem: str) -> Path:
    """A name of which there is neither a video nor a record yet."""
    number, path = 1, folder / f"{stem}.mp4"
    while path.exists() or path.with_suffix(".json").exists():
        number += 1
        path = folder / f"{stem}-{number}.mp4"
    return path
