# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tools return as data: their fields are the tools' output schemas."""

from __future__ import annotations

from pydantic import BaseModel, Field


class SceneTimeline(BaseModel):
    """Size, rate and range; frames count from 0 at the scene's first frame."""

    width: int
    height: int
    rate: str
    frames: int
    current_frame: int
    first_scene_frame: int


class SceneObject(BaseModel):
    """One object; location in its parent's space."""

    name: str
    type: str
    location: list[float | None]
    parent: str | None
    visible: bool
    renders: bool
    animated: bool


class SceneCamera(BaseModel):
    """One camera."""

    name: str
    lens_mm: float | None
    sensor_width_mm: float | None
    horizontal_angle_deg: float | None


class SceneMarker(BaseModel):
    """One marker; with a camera it is a cut to that camera."""

    name: str
    frame: int
    camera: str | None


class ObjectPage(BaseModel):
    """One page of the objects."""

    total: int
    offset: int
    items: list[SceneObject]
    next_offset: int | None


class SceneSummary(BaseModel):
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


class PythonResult(BaseModel):
    """The answer of run_python where the code ran to its end."""

    note: str = ""
    result: str | None = Field(description="repr of the last expression")
    output: str = Field(description="what it printed")
    changed: list[str] = Field(description="data-blocks seen to change, at most 20")
    changed_total: int
    undo_step: str = Field(description="name of the undo step, in a window")
    seconds: float
