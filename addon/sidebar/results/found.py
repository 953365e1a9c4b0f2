# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the scores of a scene again by what lies in their folders. No bpy: this runs in a thread.

A score's folder holds `request.json`, which names the scene by an id that the scene keeps too. So it is found whatever
the scene, the file and the folder are called now, and also where the file was never saved after it was scored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ....evaluator.protocol.errors import BadInputError
from ....evaluator.protocol.timeline import Timeline
from ..requests import REQUEST, Owner, Request
from .record import Score, read_score

MOST_LOOKED_AT = 60
"""Folders that are opened, the newest first."""
MOST_KEPT = 20
"""Scores of a scene that are told of."""
MOST_BYTES = 64 * 1024**2
"""Of a results.json that is read at all: one of 600 checks takes about 2 MB."""
_NUMBERED = re.compile(r"score-([0-9]{1,9})")


@dataclass(frozen=True)
class Wanted:
    """How the scores of a scene are known; what is empty or None is not known."""

    owner: Owner
    reference: Timeline | None = None
    shown: Path | None = None
    """The folder of the score that the scene says it has, which is read by itself."""


def read_bounded(folder: Path) -> Score:
    """The score in `folder`. Raises BadInputError where it is missing, not of this version, or huge."""
    results = folder / "results.json"
    if results.is_file() and results.stat().st_size > MOST_BYTES:
        raise BadInputError(f"{results}: too large to be shown here; open the report")
    return read_score(folder)


def find_scores(roots: Sequence[Path], wanted: Wanted) -> Iterator[Score]:
    """The scene's scores below `roots` but the shown one, the newest first; what cannot be read is left out."""
    kept = 0
    for folder in _candidates(roots)[:MOST_LOOKED_AT]:
        if kept == MOST_KEPT:
            return
        if folder == wanted.shown:
            continue
        try:
            owner = Request.read(folder).owner if (folder / REQUEST).is_file() else None
            if owner is not None and not owner.is_same(wanted.owner):
                continue  # another scene's: its results are not even read
            score = read_bounded(folder)
        except (BadInputError, OSError):
            continue
        if owner is not None or _same_reference(score, wanted):
            kept += 1
            yield replace(score, scene_id=owner.scene_id if owner is not None else "")


def _candidates(roots: Sequence[Path]) -> list[Path]:
    """The numbered folders with results below `roots`, the newest first."""
    found: dict[Path, tuple[float, int]] = {}
    for root in roots:
        try:
            names = [(int(match[1]), path) for path in root.iterdir() if (match := _NUMBERED.fullmatch(path.name))]
        except OSError:
            continue
        for number, path in sorted(names, reverse=True)[:MOST_LOOKED_AT]:
            try:
                found[path] = ((path / "results.json").stat().st_mtime, number)
            except OSError:
                continue
    return sorted(found, key=lambda path: found[path], reverse=True)


def _same_reference(score: Score, wanted: Wanted) -> bool:
    """Whether a score that names no scene is of the reference that the scene has now."""
    if not wanted.owner.reference or score.reference_name != wanted.owner.reference:
        return False
    return wanted.reference is None or score.reference == wanted.reference
