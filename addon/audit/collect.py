# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks through one .blend and writes what it found for the evaluator; the file's scripts are never run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import bpy

from ...evaluator.protocol.files import write_json
from ..scene_file import open_scene
from .attributes import find_coloured_geometry
from .external import find_assets, find_external_files, find_libraries
from .files import Exporter
from .findings import SEVERITIES, Finding
from .images import find_images
from .mosaics import find_mosaics
from .reach import Reach
from .scripts import find_colour_curves, find_drivers, find_hidden_data, find_shader_code, find_texts
from .strips import find_file_outputs, find_strips

FORMAT: Final = "matchcut-audit-findings/1"
MOST_FINDINGS: Final = 1000

_LOOKING: Final[tuple[Callable[[Reach], Iterator[Finding]], ...]] = (
    find_strips, find_file_outputs, find_libraries, find_assets, find_external_files, find_texts, find_shader_code,
    find_drivers, find_colour_curves, find_hidden_data,
)  # fmt: skip
_EXPORTING: Final[tuple[Callable[[Reach, Exporter], Iterator[Finding]], ...]] = (
    find_images, find_coloured_geometry, find_mosaics,
)  # fmt: skip


def collect(scene: Any, folder: Path, frames: int | None = None) -> tuple[list[Finding], list[str]]:
    """(findings, notes) of the open file, whose `scene` is rendered; pictures to compare are written below `folder`.

    `frames` is how many are rendered, None for the scene's own range. The gravest findings come first.
    Notes say what was left out.
    """
    reach, exporter = Reach(scene, frames), Exporter(folder / "pictures")
    findings = [finding for look in _LOOKING for finding in look(reach)]
    findings += [finding for look in _EXPORTING for finding in look(reach, exporter)]
    findings.sort(key=lambda finding: (SEVERITIES.index(finding.severity), finding.kind, finding.type, finding.name))
    notes = []
    if exporter.left_out:
        notes.append(f"{exporter.left_out} packed pictures were too large to be compared with the reference")
    if len(findings) > MOST_FINDINGS:
        notes.append(f"{len(findings)} findings; the {MOST_FINDINGS} gravest are told")
    return findings[:MOST_FINDINGS], notes


def audit_scene(path: Path, folder: Path, frames: int | None = None) -> None:
    """Open a .blend, of which `frames` are rendered, and write `folder/findings.json`.

    Raises BadInputError where Blender cannot open it.
    """
    open_scene(path)
    scene = bpy.context.scene
    findings, notes = collect(scene, folder, frames)
    write_json(
        folder / "findings.json",
        {
            "format": FORMAT,
            "blender": bpy.app.version_string,
            "scene": scene.name,
            "findings": [finding.to_json() for finding in findings],
            "notes": notes,
        },
    )
