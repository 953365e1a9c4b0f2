# SPDX-License-Identifier: GPL-3.0-or-later
"""Opens a scene for a render child, and refuses what Blender would open with something else in its place."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import addon_utils
import bpy

from ...evaluator.protocol.errors import BadInputError
from ..scene_file import open_scene


def enable_addons(modules: Sequence[str]) -> None:
    """Enable add-ons for this process alone. Raises BadInputError where there is no such module or it fails."""
    for module in modules:
        reasons: list[str] = []
        addon_utils.enable(module, handle_error=lambda error, told=reasons: told.append(str(error)))
        if not addon_utils.check(module)[1]:
            reason = " ".join(reasons[-1].split()) if reasons else "Blender does not find it"
            raise BadInputError(f"the add-on {module} cannot be enabled ({reason}); see --addon in render --help")


def open_job_scene(path: Path, source: Path, *, view_is_chosen: bool) -> list[str]:
    """Open `path`, which is `source` or the job's copy of it; returns notes on what is not as the artist sees it.

    Raises BadInputError where a newer Blender wrote it, a linked library is missing, or it asks for a display or view
    that this Blender lacks and no view is chosen for it: Blender would take others without a word in the picture.
    """
    with _listening() as told:
        open_scene(path)
    lost = missing_files(bpy.data.libraries)
    if lost:
        raise BadInputError(
            f"{source}: the linked library {lost[0]} is missing; put it there, or append what is linked"
        )
    notes = []
    replaced = re.findall(r'(?:Display|view) "([^"]*)".* not found, setting to "([^"]*)"', "".join(told))
    if replaced and not view_is_chosen:
        raise BadInputError(
            f"{source}: asks for the display or view {replaced[0][0]!r}, which this Blender's colour management lacks; "
            "choose another with --view-transform, or set $OCIO to the configuration that has it"
        )
    notes += [f"the display or view {lacks!r} is not there: {has!r} stands in for it" for lacks, has in replaced]
    notes += _without_freestyle_scripts()
    if bpy.app.autoexec_fail:
        what = " ".join(bpy.app.autoexec_fail_message.split())
        notes.append(f"scripts of the .blend are not run ({what}); bake what they would change")
    return notes


def _without_freestyle_scripts() -> list[str]:
    """Turn off what Freestyle would run while it renders: Blender 5.2 runs it even without auto-run."""
    notes = []
    for scene in bpy.data.scenes:
        for layer in scene.view_layers:
            settings = layer.freestyle_settings
            modules = [module for module in settings.modules if module.use and module.script is not None]
            for module in modules:
                module.use = False
            if modules and settings.mode == "SCRIPT" and layer.use_freestyle and scene.render.use_freestyle:
                notes.append(f"Freestyle's Python of view layer {layer.name!r} is not run; use its parameter editor")
    return notes


def missing_files(blocks: Any) -> list[str]:
    """The files that libraries or images read and that are not there, in order; what is packed is in the .blend."""
    named = (block.filepath for block in blocks if block.users and not block.packed_file and block.filepath)
    return sorted({path for path in map(bpy.path.abspath, named) if not Path(path).is_file()})


@contextmanager
def _listening() -> Iterator[list[str]]:
    """Collects what Blender writes on standard output meanwhile; it goes there all the same when the block ends."""
    told: list[str] = []
    sys.stdout.flush()
    with tempfile.TemporaryFile() as file:
        kept = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            yield told
        finally:
            os.dup2(kept, 1)
            os.close(kept)
            file.seek(0)
            data = file.read()
            os.write(1, data)
            told.append(data.decode("utf-8", "replace"))
