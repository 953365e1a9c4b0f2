# SPDX-License-Identifier: GPL-3.0-or-later
"""A copy of the open file for a child process; the artist's own file and its state stay as they are."""

from __future__ import annotations

from pathlib import Path

import bpy

from ..evaluator.protocol.errors import BadInputError


def save_copy(path: Path) -> Path:
    """Save what is open now as `path`, whole or not at all, with relative paths that still hold; returns `path`.

    Raises BadInputError where the folder cannot be written to.
    """
    partial = path.with_name(f".partial-{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        bpy.ops.wm.save_as_mainfile(filepath=str(partial), copy=True, relative_remap=True, compress=True)
        partial.replace(path)
    except (OSError, RuntimeError) as error:
        raise BadInputError(f"{path}: the scene could not be saved ({' '.join(str(error).split())})") from error
    finally:
        partial.unlink(missing_ok=True)
    return path
