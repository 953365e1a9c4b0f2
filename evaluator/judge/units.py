# SPDX-License-Identifier: GPL-3.0-or-later
"""Which judgment belongs to which clip of which submission: one small file for each unit of a judged benchmark.

RESULTS/units/JUDGE/CONFIG/SETTING/VIDEO.json             a JudgedUnit, written once its clips are judged or have failed
RESULTS/units/JUDGE/CONFIG/SETTING/VIDEO.repeat-K.json    the same asked again, for K = 1, 2 …
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from ..checklist.records import Identifier, Setting
from ..records import Record

UNIT_FORMAT: Final = "matchcut-judged-unit/1"
UNITS: Final = "units"

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST: Final = 80


class JudgedClip(Record):
    """One clip of a unit: the key of its judgment, or why there is none (and then the key of its failure's record)."""

    clip: Identifier
    key: str | None
    """`judgments/KEY.json`; None where the clip has no judgment."""
    reason: str = ""
    detail: str = ""


class JudgedUnit(Record):
    """One submission (configuration, setting, video) as one judge rated it, in the order of the clips' files.

    Clips without a check under the setting are not in it.
    """

    format: Literal["matchcut-judged-unit/1"] = UNIT_FORMAT
    judge: str
    """Provider and model as asked for, `openai:MODEL`, and a setting that changes answers behind it: `… effort=high`.
    It tells one judge from another, and its folder is named after it."""
    provider: str
    model: str
    configuration: Identifier
    setting: Setting
    video: Identifier
    repeat: Annotated[int, Field(ge=0)] = 0
    """0 is the first time that the clips were asked for."""
    clips: list[JudgedClip]


def judge_folder(judge: str) -> str:
    """A folder's name for a judge: its own where any system takes that, else with a part of its hash behind it."""
    safe = _UNSAFE.sub("-", judge).strip(".-")[:_LONGEST] or "judge"
    # two judges may differ in what a folder's name cannot hold, and some systems take upper and lower case for one
    return f"{safe.lower()}-{hashlib.sha256(judge.encode()).hexdigest()[:8]}"


def unit_path(results: Path, judge: str, configuration: str, setting: Setting, video: str, *, repeat: int = 0) -> Path:
    """Where a unit lies."""
    name = f"{video}.json" if repeat == 0 else f"{video}.repeat-{repeat}.json"
    return results / UNITS / judge_folder(judge) / configuration / setting / name


def write_unit(results: Path, unit: JudgedUnit) -> Path:
    """Write a unit to its place, and say where that is."""
    path = unit_path(results, unit.judge, unit.configuration, unit.setting, unit.video, repeat=unit.repeat)
    unit.write(path)
    return path


def judgment_path(results: Path, key: str) -> Path:
    """The file of the judgment with this key."""
    return results / "judgments" / f"{key}.json"


def read_units(results: Path, *, judge: str | None = None) -> Iterator[JudgedUnit]:
    """Every unit below `results`, those of one judge where it is named, in the order of their paths.

    Raises BadInputError at the first damaged file.
    """
    for path in sorted((results / UNITS).glob("*/*/*/*.json")):
        if path.name.startswith("."):  # what a killed run was about to write
            continue
        unit = JudgedUnit.read(path)
        if judge is None or unit.judge == judge:
            yield unit
