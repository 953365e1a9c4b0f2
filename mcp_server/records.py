# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tools return as data: their fields are the tools' output schemas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


def _without_titles(schema: dict[str, Any]) -> None:
    """A field's title only repeats its name, and every client pays for it in tokens."""
    schema.pop("title", None)
    for field in schema.get("properties", {}).values():
        field.pop("title", None)


class Answer(BaseModel):
    """A record that a tool returns."""

    model_config = ConfigDict(json_schema_extra=_without_titles)


def shown(*names: str) -> Callable[[dict[str, Any]], None]:
    """For an Answer's `json_schema_extra`: the schema names these fields alone, and the others explain themselves."""

    def reduce(schema: dict[str, Any]) -> None:
        fields = {name: schema["properties"][name] for name in names}
        schema["properties"] = {
            name: {key: value for key, value in field.items() if key not in ("title", "default")}
            for name, field in fields.items()
        }
        schema["required"] = list(names)
        schema.pop("description", None)
        schema.pop("title", None)

    return reduce


class SceneSummary(Answer):
    """The answer of scene_summary.

    `timeline`: width, height, rate as a fraction, frames, current_frame, first_scene_frame. `cameras`: name, lens_mm,
    sensor_width_mm, horizontal_angle_deg. `markers`: name, frame, camera. `collections`: name, objects, renders.
    `objects`: total, offset, next_offset, items with name, type, location, parent, visible, renders, animated.
    """

    note: str = ""
    blender: str
    background: bool
    file: str
    scene: str
    engine: str
    timeline: dict[str, Any]
    active_camera: str | None
    cameras: list[dict[str, Any]]
    markers: list[dict[str, Any]]
    collections: list[dict[str, Any]] = []
    counts: dict[str, int]
    objects: dict[str, Any]


class Inspection(Answer):
    """The answer of inspect."""

    model_config = ConfigDict(json_schema_extra=shown("root", "lines", "next_offset"))

    note: str = ""
    root: str
    lines: list[str]
    next_offset: int | None


class PythonResult(Answer):
    """The answer of run_python where the code ran to its end.

    `result` is the repr of the last expression, `risks` what in the code the checkpoint was saved for.
    """

    model_config = ConfigDict(json_schema_extra=shown("result", "output", "changed", "undo_step", "checkpoint"))

    note: str = ""
    result: str | None
    output: str
    changed: list[str] = Field(description="data-blocks seen to change, at most 20")
    changed_total: int
    undo_step: str
    checkpoint: str = Field("", description="copy of the scene from before")
    risks: list[str] = []
    seconds: float


class UndoResult(Answer):
    """The answer of undo: the steps moved past, and those that can be taken back or done again, newest first."""

    model_config = ConfigDict(json_schema_extra=shown("moved", "can_undo", "can_redo"))

    note: str = ""
    moved: list[str]
    can_undo: list[str]
    can_redo: list[str]
    file: str = ""


class ApiHelp(Answer):
    """The answer of api_help; `path` is that of the one thing that `lines` describe, empty for a search."""

    model_config = ConfigDict(json_schema_extra=shown("lines", "next_offset"))

    note: str = ""
    path: str = ""
    lines: list[str]
    next_offset: int | None


class RenderState(Answer):
    """A render job: `done` of `total` pictures and passes are there, `seconds_left` as far as it can be told.

    `video` is there where all frames were rendered, `geometry` where passes were asked for.
    """

    model_config = ConfigDict(json_schema_extra=shown("job", "state", "progress", "video", "error"))

    note: str = ""
    job: str = Field(description="its folder")
    state: Literal["running", "done", "failed", "cancelled"]
    progress: str
    done: int
    total: int
    seconds: float
    seconds_left: float | None
    settings: str
    video: str | None
    geometry: str | None
    failed_frames: list[int]
    error: str
    warnings: list[str]
