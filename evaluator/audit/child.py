# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the child Blender that looks through a scene, and reads what it found."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from ..environment.blender import Blender, run_headless
from ..protocol.errors import BadInputError, ExitStatus, OperationalError
from ..protocol.files import read_json

FORMAT: Final = "matchcut-audit-findings/1"
MOST_SECONDS: Final = 900


def find_in_scene(scene: Path, folder: Path, blender: Blender, frames: int) -> dict[str, Any]:
    """The findings of `scene`, of which `frames` are rendered, and its pictures below `folder`, from a child Blender.

    The child starts from factory settings, runs none of the file's scripts, and ends when this process does. Raises
    BadInputError where Blender cannot open the scene or does not start, OperationalError where it fails otherwise.
    """
    child = run_headless(
        blender,
        "audit-scene",
        str(scene.resolve()),
        str(folder.resolve()),
        str(frames),
        seconds=MOST_SECONDS,
        where=f"{scene}: looking through it",
    )
    told = [line.strip() for text in (child.stdout, child.stderr) for line in text.splitlines() if line.strip()]
    ours = [line.removeprefix("matchcut: ") for line in told if line.startswith("matchcut: ")]
    if child.returncode == ExitStatus.BAD_INPUT and ours:
        raise BadInputError(ours[-1])
    result = folder / "findings.json"
    if child.returncode != 0 or not result.is_file():
        reason = (ours or told or ["it said nothing"])[-1]
        how = (
            f"was killed by signal {-child.returncode}"
            if child.returncode < 0
            else f"ended with status {child.returncode}"
        )
        raise OperationalError(f"{scene}: Blender {how} while it looked through the scene ({reason}); try again")
    data: dict[str, Any] = read_json(result, FORMAT)
    return data
