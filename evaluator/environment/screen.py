# SPDX-License-Identifier: GPL-3.0-or-later
"""A Blender with a window on a virtual screen, which begins and ends with it.

`$BLENDER_WINDOW` is a command line that opens a window, for example `env BLENDER_GUI=1 path/to/blender`. Without it
`xvfb-run` on PATH puts Blender on a screen of its own: it starts an X server, and ends it with the program.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Final

from ..protocol.errors import BadInputError
from .blender import Blender

VARIABLE: Final = "BLENDER_WINDOW"
SIZE: Final = (1600, 900)
"""Pixels of the virtual screen, which the window fills."""


def window_prefix(blender: Blender) -> list[str]:
    """The command line that opens a window of `blender`, to which Blender's own arguments are added.

    Raises BadInputError, with the reason, where this machine has no virtual screen for it.
    """
    if blender.kind != "program":
        raise BadInputError("a window needs Blender's program, not the bpy wheel; set $BLENDER to one")
    given = os.environ.get(VARIABLE)
    if given:
        return shlex.split(given)
    if not sys.platform.startswith("linux"):
        raise BadInputError(
            f"a window on a virtual screen needs Linux; here set ${VARIABLE} to a command line that opens Blender's"
        )
    xvfb = shutil.which("xvfb-run")
    if xvfb is None:
        raise BadInputError(
            f"a window needs a virtual screen, and xvfb-run is not on PATH; install xvfb, or set ${VARIABLE}"
        )
    width, height = SIZE
    screen = f"-screen 0 {width}x{height}x24 +extension GLX -nolisten tcp"
    geometry = ["--window-geometry", "0", "0", str(width), str(height)]
    return [xvfb, "-a", "-s", screen, blender.path, "--gpu-backend", "opengl", *geometry]


def in_window(prefix: list[str], blender: Blender, *arguments: str, scene: Path | None = None) -> list[str]:
    """As `Blender.command`, with a window: `prefix` opens it."""
    _, background, *rest = blender.command(*arguments, scene=scene)
    assert background == "-b"
    return [*prefix, *rest]
