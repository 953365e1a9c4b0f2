# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tools return as data: their fields are the tools' output schemas."""

from __future__ import annotations

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


class SceneTimeline(Answer):
    """Size, rate and range; frames count from 0 at the scene's first frame."""

    width: int
    height: int
    rate: str
    frames: int
    current_frame: int
    first_scene_frame: int


class SceneObject(Answer):
    """One object; location in its parent's space."""

    name: str
    type: str
    location: list[float | None]
    parent: str | None
    visible: bool
    renders: bool
    animated: bool


class SceneCamera(Answer):
    """One camera."""

    name: str
    lens_mm: float | None
    sensor_width_mm: float | None
    horizontal_angle_deg: float | None


class SceneMarker(Answer):
    """One marker; with a camera it is a cut to that camera."""

    name: str
    frame: int
    camera: str | None


class ObjectPage(Answer):
    """One page of the objects."""

    total: int
    offset: int
    items: list[SceneObject]
    next_offset: int | None


class SceneSummary(Answer):
    """The answer of scene_summary."""

    note: str = ""
    blender: str
    background: bool
    file: str
    scene: str
    engine: str
    timeline: SceneTimeline
    active_camera: str | None
    cameras: list[SceneCamera]
    markers: list[SceneMarker]
    counts: dict[str, int]
    objects: ObjectPage


class PythonResult(Answer):
    """The answer of run_python where the code ran to its end."""

    note: str = ""
    result: str | None = Field(description="repr of the last expression")
    output: str = Field(description="what it printed")
    changed: list[str] = Field(description="data-blocks seen to change, at most 20")
    changed_total: int
    undo_step: str = Field(description="name of the undo step, in a window")
    seconds: float


class RenderState(Answer):
    """A render job."""

    note: str = ""
    job: str = Field(description="its folder, which names it in other calls")
    state: Literal["running", "done", "failed", "cancelled"]
    progress: str = Field(description="frame n of N with the time left")
    done: int = Field(description="pictures and passes that are there")
    total: int
    seconds: float
    seconds_left: float | None
    settings: str
    video: str | None = Field(description="where all frames were rendered")
    geometry: str | None
    failed_frames: list[int]
    error: str
    warnings: list[str]
