# SPDX-License-Identifier: GPL-3.0-or-later
"""What a Blender says of a scene.blend: by whom it was saved, its timeline, and the files that it needs besides."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from ..environment.blender import Blender, run_headless
from ..environment.sealed import sealed
from ..protocol.errors import BadInputError, ExitStatus, OperationalError
from ..protocol.files import read_json
from ..protocol.scratch import scratch_folder
from ..records import Record, ShownTimeline
from .records import ExternalFile, Name

MOST_SECONDS: Final = 600


class DescribedScene(Record):
    """What `describe-scene` writes."""

    format: Literal["matchcut-scene/1"]
    blender: Name
    saved_by: Name
    scene: Name
    timeline: ShownTimeline
    has_camera: bool
    external: list[ExternalFile]


def describe(scene: Path, blender: Blender) -> DescribedScene:
    """Open `scene` in a child Blender without scripts and without network, and say what it is.

    Raises BadInputError where Blender cannot open it or does not start, OperationalError where the child fails.
    """
    with scratch_folder("scene") as folder:
        out = folder / "scene.json"
        child = run_headless(
            sealed(blender),
            "describe-scene",
            str(scene.resolve()),
            str(out),
            seconds=MOST_SECONDS,
            where=f"{scene}: opening it",
        )
        lines = [line.strip() for text in (child.stdout, child.stderr) for line in text.splitlines() if line.strip()]
        ours = [line.removeprefix("matchcut: ") for line in lines if line.startswith("matchcut: ")]
        if child.returncode == ExitStatus.BAD_INPUT and ours:
            raise BadInputError(ours[-1])
        if child.returncode != 0 or not out.is_file():
            reason = (ours or lines or ["it said nothing"])[-1]
            raise OperationalError(
                f"{scene}: Blender ended with status {child.returncode} while it opened it ({reason}); try again"
            )
        return DescribedScene.from_data(read_json(out), str(scene))
