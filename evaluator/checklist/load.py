# SPDX-License-Identifier: GPL-3.0-or-later
"""Clips for scoring: read, fully validated, or refused in one line."""

from __future__ import annotations

from pathlib import Path

from ..protocol.errors import BadInputError
from ..protocol.timeline import Timeline
from .records import Clip
from .validate import first_fault_line, validate


def load_clips(path: Path, reference: Timeline | None) -> list[Clip]:
    """The clips of a clip file, a folder of clip files, or a video folder with `clips/`, in the order of their names.

    With `reference`, every clip has to last at most 2 s and to lie inside that video. Raises BadInputError with the
    first fault, how many more there are, and the command that lists them.
    """
    validation = validate(path, reference)
    if validation.faults:
        raise BadInputError(first_fault_line(path, validation.faults))
    return validation.clips
