# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigid scenes whose renders show what an estimator of geometry adds by itself: nothing in them moves but the camera.

Metres; x to the right, y away from the camera, z up. `yard`: a street of houses passed sideways, under the sky;
`alley`: a walk between two walls; `hill`: blocks on a slope, seen from above on an arc.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import cos, radians, sin
from random import Random
from typing import Any, Final

from ...evaluator.protocol.timeline import Timeline
from .materials import add_sky, bricks, foliage, planks, tiles
from .shapes import add_ball, add_box

TIMELINE: Final = Timeline(640, 360, Fraction(24), 20)
SAMPLES: Final = 8
View = tuple[tuple[float, float, float], tuple[float, float, float]]
"""Place of the camera, and its tilt, roll and turn in degrees."""


def build(name: str) -> None:
    """Build the scene in an empty session (Blender only)."""
    import bpy

    scene = bpy.context.scene
    render, cycles = scene.render, scene.cycles
    render.resolution_x, render.resolution_y, render.resolution_percentage = TIMELINE.width, TIMELINE.height, 100
    render.fps, render.fps_base = TIMELINE.fps, float(TIMELINE.fps_base)
    scene.frame_start, scene.frame_end = 1, TIMELINE.frames
    render.engine, cycles.device, cycles.samples = "CYCLES", "CPU", SAMPLES
    cycles.use_adaptive_sampling = cycles.use_denoising = False
    cycles.max_bounces = 0
    scene.view_settings.view_transform = "Standard"
    add_sky(scene, (0.75, 0.82, 0.9), (0.25, 0.45, 0.8))
    light = bpy.data.lights.new("Sun", "SUN")
    light.energy, light.angle = 3.5, radians(1)
    sun = bpy.data.objects.new("Sun", light)
    sun.rotation_euler = (radians(48), 0, radians(-35))
    scene.collection.objects.link(sun)
    data = bpy.data.cameras.new("Camera")
    data.lens, data.clip_end = 30, 500
    camera = bpy.data.objects.new("Camera", data)
    scene.collection.objects.link(camera)
    scene.camera = camera
    view = SCENES[name]()
    for number in range(TIMELINE.frames):
        place, (tilt, roll, turn) = view(number / (TIMELINE.frames - 1))
        camera.location = place
        camera.rotation_euler = (radians(90 + tilt), radians(roll), radians(turn))
        camera.keyframe_insert("location", frame=number + 1)
        camera.keyframe_insert("rotation_euler", frame=number + 1)


def _paints() -> list[Any]:
    return [
        bricks("Bricks", (0.45, 0.12, 0.06), (0.62, 0.25, 0.14), (0.55, 0.52, 0.46)),
        planks("Boards", (0.3, 0.17, 0.08), (0.5, 0.33, 0.17)),
        foliage("Plaster", (0.2, 0.3, 0.4), (0.7, 0.72, 0.68), 2.5),
        foliage("Leaves", (0.03, 0.1, 0.02), (0.3, 0.5, 0.12), 4.0),
        bricks("Stones", (0.2, 0.2, 0.22), (0.5, 0.48, 0.44), (0.12, 0.12, 0.12)),
    ]


def _yard() -> Callable[[float], View]:
    random, paints = Random(5), _paints()  # noqa: S311 - a scene, no secret
    add_box("Ground", (0, 25, -0.05), (90, 80, 0.1), foliage("Ground", (0.1, 0.12, 0.05), (0.5, 0.45, 0.3), 1.6))
    for number in range(16):
        side = random.uniform(0.8, 3.2)
        place = (random.uniform(-10, 10), random.uniform(5, 30), side / 2)
        add_box(f"House {number}", place, (side, side, side), paints[number % len(paints)])
    for number in range(6):
        add_ball(f"Hill {number}", (-30 + 12 * number, 52, 0), (8, 8, 6), paints[2])
    return lambda t: ((-1.1 + 2.2 * t, -1 + 0.8 * t, 1.7 + 0.15 * sin(2 * t)), (-3 - 1.5 * t, sin(3 * t), -3 + 6 * t))


def _alley() -> Callable[[float], View]:
    random, paints = Random(11), _paints()  # noqa: S311 - a scene, no secret
    add_box("Floor", (0, 20, -0.05), (6, 60, 0.1), tiles("Slabs", (0.35, 0.33, 0.3), (0.5, 0.46, 0.4), (0.1, 0.1, 0.1)))
    for side in (-1, 1):
        for number in range(10):
            depth = random.uniform(0.2, 1.2)
            place = (side * (3.4 - depth / 2), 4 * number, 2)
            add_box(f"Wall {side} {number}", place, (depth, 3.9, random.uniform(3, 5)), paints[(number + side) % 5])
    add_box("End", (0, 42, 3), (10, 0.5, 8), paints[0])
    for number in range(5):
        add_box(f"Crate {number}", (random.uniform(-1.8, 1.8), 7 + 6 * number, 0.35), (0.7, 0.7, 0.7), paints[1])
    return lambda t: ((0.25 * sin(2 * t), -1 + 3.2 * t, 1.6), (-2, 0, 2.5 * cos(2 * t)))


def _hill() -> Callable[[float], View]:
    random, paints = Random(23), _paints()  # noqa: S311 - a scene, no secret
    add_box("Slope", (0, 0, -0.5), (70, 70, 1), foliage("Slope", (0.08, 0.12, 0.04), (0.5, 0.42, 0.22), 0.9))
    for number in range(40):
        size = (random.uniform(1, 3), random.uniform(1, 3), random.uniform(0.8, 4.5))
        place = (random.uniform(-16, 16), random.uniform(-14, 20), size[2] / 2)
        add_box(f"Block {number}", place, size, paints[number % len(paints)])

    def view(t: float) -> View:
        angle = radians(-9 + 18 * t)
        return ((24 * sin(angle), -24 * cos(angle), 13 - t), (-29, 0, -9 + 18 * t))

    return view


SCENES: Final[dict[str, Callable[[], Callable[[float], View]]]] = {"yard": _yard, "alley": _alley, "hill": _hill}
