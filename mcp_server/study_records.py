# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tools that study a reference return as data."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict

from .records import Answer


def undescribed(schema: dict[str, Any]) -> None:
    """What the tool's description says is not said twice."""
    schema.pop("description", None)


class ReferenceInfo(Answer):
    """The answer of reference_info: `timeline` holds width, height, rate, frames and seconds."""

    model_config = ConfigDict(json_schema_extra=undescribed)

    path: str
    setting: str
    timeline: dict[str, Any]
    scene: dict[str, Any]
    shots: list[Any]
    fades: list[Any]
    warnings: list[str]
    sha256: str


class ReferenceMotion(Answer):
    """The answer of reference_motion."""

    model_config = ConfigDict(json_schema_extra=undescribed)

    state: str = "done"
    cuts: list[int] = []
    shots: list[dict[str, Any]] = []
    notes: list[str]
