# SPDX-License-Identifier: GPL-3.0-or-later
"""Which reference a call means, and where the open scene lies."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from mcp.server.mcpserver import Context

from ..evaluator.protocol.errors import BadInputError
from .calls import Calls, call
from .workplace import Workplace

PLACE_SECONDS: Final = 240.0


async def find_reference(
    session: Calls, context: Context | None, workplace: Workplace, given: str, instance: int | None = None
) -> Path:
    """The reference video: the one `given`, else the task's, else the one picked in Blender's Matchcut tab.

    Blender is asked in the last case only. Raises BadInputError where there is none, or it may not be read.
    """
    if given:
        return workplace.allowed(given, "reference")
    if workplace.task.reference is not None:
        return workplace.task.reference
    place, _ = await call(session, context, "scene_place", {}, PLACE_SECONDS, instance)
    if not place["reference"]:
        raise BadInputError(
            "bad_params: name the reference video: none is picked in Blender's Matchcut tab, and the server was "
            "started without --reference"
        )
    return Path(place["reference"])


def changed_at(path: Path, what: str) -> int:
    """When a file was changed last (ns). Raises BadInputError where it is not there (any more)."""
    try:
        return path.stat().st_mtime_ns
    except OSError as error:
        raise BadInputError(f"bad_params: {path}: the {what} cannot be read ({error.strerror or error})") from error
