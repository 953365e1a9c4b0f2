# SPDX-License-Identifier: GPL-3.0-or-later
"""The file that a scene has for its reference, for whatever reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ....evaluator.protocol.errors import BadInputError
from ..paths import existing
from . import watch


def picked_file(scene: Any) -> Path:
    """The video that is picked, read or not. Raises BadInputError where none is, or where it is not there."""
    if not scene.matchcut.reference.path:
        raise BadInputError("no reference is picked; choose the video to rebuild in the Reference panel")
    return existing(scene.matchcut.reference.path, "reference")


def reference_file(scene: Any) -> Path:
    """The scene's reference. Raises BadInputError as `picked_file`, and where it is another file than was read."""
    file, reference = picked_file(scene), scene.matchcut.reference
    if reference.read and watch.look(file, reference.read_mark) == "changed":
        raise BadInputError(f"{file}: it is another video than was read; press Read Again in the Reference panel")
    return file
