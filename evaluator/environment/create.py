# SPDX-License-Identifier: GPL-3.0-or-later
from pathlib import Path


def bpy_python() -> Path | None:
    """The interpreter."""
