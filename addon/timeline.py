# SPDX-License-Identifier: GPL-3.0-or-later
"""A scene takes on a reference's timeline: size, rate and frame range; everything else stays as the artist set it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

from ..evaluator.protocol.timeline import Timeline, format_rate

# fps_base is a float of 32 bits: a rate comes back from it with a relative error of at most 2^-24
RATE_ERROR = Fraction(1, 2**24)
# what every render of a reference needs, whatever the reference is: nothing cropped, stretched or skipped
NEUTRAL: dict[str, Any] = {
    "resolution_percentage": 100,
    "pixel_aspect_x": 1.0,
    "pixel_aspect_y": 1.0,
    "use_border": False,
    "use_crop_to_border": False,
    "frame_map_old": 100,
    "frame_map_new": 100,
}


def scene_rate(scene: Any) -> Fraction:
    """The scene's frames per second as the simplest fraction that its `fps` and `fps_base` can mean."""
    return _simplest_rate(scene.render.fps, scene.render.fps_base)


@lru_cache(maxsize=32)  # panels ask each time that they are drawn
def _simplest_rate(fps: int, fps_base: float) -> Fraction:
    value = Fraction(fps) / Fraction(fps_base)
    for denominator in (1, 1001, *range(2, 1001)):
        rate = Fraction(round(value * denominator), denominator)
        if abs(rate - value) <= value * RATE_ERROR:
            return rate
    return value.limit_denominator(1_000_000)


def rate_text(rate: Fraction) -> str:
    """A rate as a person reads it: `25`, or `23.976 (24000/1001)`."""
    return str(rate) if rate.denominator == 1 else f"{float(rate):.3f} ({rate})"


def runs_at(scene: Any, rate: Fraction) -> bool:
    """Whether the scene's `fps` and `fps_base` are as near to `rate` as Blender can hold it."""
    value = Fraction(scene.render.fps) / Fraction(scene.render.fps_base)
    return abs(value - rate) <= rate * RATE_ERROR


def scene_timeline(scene: Any) -> Timeline:
    """Size in pixels as rendered, rate and number of frames of a `bpy.types.Scene`."""
    render = scene.render
    return Timeline(
        width=render.resolution_x * render.resolution_percentage // 100,
        height=render.resolution_y * render.resolution_percentage // 100,
        rate=scene_rate(scene),
        frames=scene.frame_end - scene.frame_start + 1,
    )


def match_timeline(scene: Any, timeline: Timeline) -> list[str]:
    """Set the scene's size, rate and range to the timeline's, with square pixels at 100 %; `frame_start` stays.

    Frame f of the reference becomes scene frame `frame_start + f`. Returns one line for each thing that changed, as
    `frame_end: 250 to 71`.
    """
    render = scene.render
    last = scene.frame_start + timeline.frames - 1
    wanted: list[tuple[Any, dict[str, Any]]] = [
        (render, {"resolution_x": timeline.width, "resolution_y": timeline.height, **NEUTRAL}),
        (scene, {"frame_end": last, "frame_step": 1}),
    ]
    changes = []
    for owner, settings in wanted:
        for name, value in settings.items():
            before = getattr(owner, name)
            if before != value:
                setattr(owner, name, value)
                changes.append(f"{name}: {before} to {getattr(owner, name)}")
    rate, right = scene_rate(scene), runs_at(scene, timeline.rate)
    if not right or render.fps != timeline.fps:
        render.fps = timeline.fps
        render.fps_base = float(timeline.fps_base)
        if not right:
            changes.append(f"rate: {format_rate(rate)} to {format_rate(timeline.rate)} fps")
    return changes


def timeline_problems(scene: Any, timeline: Timeline) -> list[str]:
    """What keeps the scene from being rendered on the timeline, one line each; empty where nothing does."""
    camera = [] if has_camera(scene) else [f"scene {scene.name!r} has no camera; add one and make it the active camera"]
    return [*camera, *off_timeline(scene, timeline)]


def off_timeline(scene: Any, timeline: Timeline) -> list[str]:
    """What `match_timeline` would set right, one line each; empty where the scene is on the timeline."""
    return list(_differences(scene, timeline))


def has_camera(scene: Any) -> bool:
    """Whether there is a camera to render with: the scene's own, or one that a marker makes active."""
    return scene.camera is not None or any(marker.camera for marker in scene.timeline_markers)


def _differences(scene: Any, timeline: Timeline) -> Iterator[str]:
    own, render = scene_timeline(scene), scene.render
    if (own.width, own.height) != (timeline.width, timeline.height):
        yield f"the scene renders {own.width}x{own.height}; the reference is {timeline.width}x{timeline.height}"
    if render.pixel_aspect_x != render.pixel_aspect_y:
        yield f"the scene's pixels are {render.pixel_aspect_x:g}:{render.pixel_aspect_y:g}; the reference's are square"
    if render.use_border:
        yield "the scene renders a border region only; the reference is the whole picture"
    if not runs_at(scene, timeline.rate):
        yield f"the scene runs at {rate_text(own.rate)} fps; the reference at {rate_text(timeline.rate)}"
    if render.frame_map_old != render.frame_map_new:
        yield f"the scene's time is stretched {render.frame_map_old}:{render.frame_map_new}; the reference's is not"
    if own.frames != timeline.frames or scene.frame_step != 1:
        last = scene.frame_start + timeline.frames - 1
        shown = len(range(scene.frame_start, scene.frame_end + 1, scene.frame_step))
        step = "" if scene.frame_step == 1 else f" in steps of {scene.frame_step}"
        yield (
            f"the scene's range is {scene.frame_start}-{scene.frame_end}{step} ({shown} frames); "
            f"the reference's {timeline.frames} frames need {scene.frame_start}-{last}"
        )
