# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the sample scenes, each once for what its scripts say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..environment.blender import Blender, run_headless
from ..protocol.errors import OperationalError
from ..protocol.files import content_key, sha256_of, write_text
from ..protocol.messages import Reporter

BUILD_SECONDS = 300


def build_scene(
    name: str, variant: str, sources: Sequence[Path], folder: Path, blender: Blender, reporter: Reporter
) -> Path:
    """A sample's variant as a .blend in `folder`, built by a child Blender unless that of these `sources` lies there.

    Raises OperationalError where the child fails; then no .blend is there.
    """
    scene, built_from = folder / f"{name}_{variant}.blend", folder / f"{name}_{variant}.key"
    key = content_key([blender.version, variant, *(sha256_of(source) for source in sources)])
    if scene.is_file() and built_from.is_file() and built_from.read_text("utf-8") == key:
        return scene
    reporter.status(f"building the {variant} with Blender {blender.version}")
    built_from.unlink(missing_ok=True)
    scene.unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    child = run_headless(
        blender,
        "sample",
        name,
        variant,
        str(scene.resolve()),
        seconds=BUILD_SECONDS,
        where=f"building {scene}",
    )
    if child.returncode != 0 or not scene.is_file():
        said = [line for text in (child.stdout, child.stderr) for line in text.splitlines() if line.strip()]
        reason = said[-1].strip().removeprefix("matchcut: ") if said else "it said nothing"
        raise OperationalError(
            f"building {scene}: Blender ended with status {child.returncode} ({reason}); run: matchcut doctor"
        )
    write_text(built_from, key)
    return scene
