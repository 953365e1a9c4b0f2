# SPDX-License-Identifier: GPL-3.0-or-later
"""The two-shot sample: a small square with a rolling ball and a waving figure, and a reconstruction with known errors.

Metres; x to the right, y away from the first camera, z up. Frames are those of the reference, counted from 0; the
scene shows frame f at FRAME_START + f. The constants are the ground truth of the sample's checklist
(`two_shots/clips`) and of the right ratings of the reconstruction (`two_shots/ratings.json`).

The reconstruction differs in three things: the ball starts RECONSTRUCTION_BALL_DELAY frames late, the second shot pans
the other way, and the pillar is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import atan2, radians, tau
from typing import Any, Final, Literal

from ...evaluator.protocol.timeline import Timeline
from .materials import Colour, add_sky, bricks, foliage, paint, planks, stripes, tiles
from .shapes import Point, add_ball, add_box, add_empty, add_round, animate

Variant = Literal["reference", "reconstruction"]

TIMELINE: Final = Timeline(width=480, height=270, rate=Fraction(24000, 1001), frames=72)
FRAME_START: Final = 1
SAMPLES: Final = 6

CUT: Final = 40
"""First frame of the second shot."""
MISSING_OBJECT: Final = "Pillar"
RECONSTRUCTION_BALL_DELAY: Final = 6
KNOWN_ERRORS: Final = (
    f"the ball starts {RECONSTRUCTION_BALL_DELAY} frames late",
    "the second shot pans the other way",
    f"the {MISSING_OBJECT.lower()} is missing",
)
"""What the reconstruction gets wrong, and nothing else."""


@dataclass(frozen=True)
class Move:
    """A value that changes from `start` at frame `first` to `end` at frame `last`, and rests before and after."""

    first: int
    last: int
    start: float
    end: float


BALL_RADIUS: Final = 0.38
BALL_WEDGES: Final = (0, 1, 0, 1, 2, 1)
"""Colours around the axis: red, white, red, white, blue, white."""
BALL_Y: Final = -0.45
BALL_X: Final = Move(first=8, last=56, start=-3.0, end=2.0)

FIGURE_AT: Final = (1.15, 0.6)
ARM_RAISE_DEG: Final = Move(first=46, last=60, start=8.0, end=158.0)
"""Angle of the arm at image-right from straight down; it is raised sideways."""

DOLLY_X: Final = Move(first=0, last=CUT - 1, start=-0.9, end=0.5)
DOLLY_Y: Final = Move(first=0, last=CUT - 1, start=-8.4, end=-6.8)
DOLLY_PAN_DEG: Final = Move(first=0, last=CUT - 1, start=1.0, end=-4.0)
"""Pans are angles about the vertical: 0 looks along y, and a growing angle turns to image-left."""

PAN_FROM: Final = (3.1, -6.4, 2.6)
PAN_DEG: Final = Move(first=42, last=58, start=16.0, end=4.0)
ZOOM_MM: Final = Move(first=60, last=71, start=40.0, end=46.0)

RED: Final[Colour] = (0.62, 0.035, 0.03)
WHITE: Final[Colour] = (0.8, 0.77, 0.7)
BLUE: Final[Colour] = (0.04, 0.13, 0.42)
GOLD: Final[Colour] = (0.75, 0.42, 0.05)
SKIN: Final[Colour] = (0.62, 0.33, 0.2)
TEAL: Final[Colour] = (0.02, 0.3, 0.3)
NAVY: Final[Colour] = (0.025, 0.035, 0.09)
ORANGE: Final[Colour] = (0.75, 0.2, 0.02)
DARK: Final[Colour] = (0.02, 0.017, 0.015)
BARK: Final[Colour] = (0.14, 0.07, 0.035)


def build(variant: Variant) -> None:
    """Build the variant into the current scene, which has to be empty. Needs Blender."""
    import bpy

    scene = bpy.context.scene
    is_reference = variant == "reference"
    scene.name = f"Two Shots ({variant})"
    _set_up_scene(scene)
    _ground()
    _wall()
    _hills()
    _trees()
    _crate()
    _bench()
    if is_reference:
        _pillar()
    _figure()
    _ball(0 if is_reference else RECONSTRUCTION_BALL_DELAY)
    _sun()
    add_sky(scene, low=(0.62, 0.74, 0.86), high=(0.14, 0.33, 0.68))
    _cut(scene, _dolly_camera(), _pan_camera(1 if is_reference else -1))


def scene_frame(frame: int) -> int:
    """The scene's frame that shows frame `frame` of the reference."""
    return FRAME_START + frame


def _set_up_scene(scene: Any) -> None:
    render, cycles = scene.render, scene.cycles
    render.resolution_x, render.resolution_y, render.resolution_percentage = TIMELINE.width, TIMELINE.height, 100
    render.fps, render.fps_base = TIMELINE.fps, float(TIMELINE.fps_base)
    scene.frame_start, scene.frame_end = scene_frame(0), scene_frame(TIMELINE.frames - 1)
    scene.frame_set(scene.frame_start)
    scene.view_settings.view_transform = "Standard"
    render.engine = "CYCLES"
    render.use_persistent_data = True
    cycles.device = "CPU"
    cycles.samples = SAMPLES
    cycles.use_adaptive_sampling = False
    # not every build of Blender has a denoiser; without bounces and with one light so few samples give no noise
    cycles.use_denoising = False
    cycles.max_bounces = 0


def _ground() -> None:
    paving = tiles("Paving", (0.42, 0.33, 0.25), (0.33, 0.25, 0.19), joint=(0.16, 0.13, 0.11))
    add_box("Ground", (0, 3, -0.05), (60, 40, 0.1), paving)


def _wall() -> None:
    brick = bricks("Brick", (0.36, 0.13, 0.08), (0.27, 0.09, 0.06), mortar=(0.42, 0.37, 0.32))
    coping = paint("Coping", (0.5, 0.45, 0.38))
    add_box("Wall", (0.5, 5.0, 0.9), (26, 0.35, 1.8), brick)
    add_box("Wall Coping", (0.5, 5.0, 1.86), (26, 0.5, 0.12), coping)


def _hills() -> None:
    grass = foliage("Grass", (0.1, 0.2, 0.06), (0.17, 0.29, 0.08), scale=0.35)
    for number, (x, y, width, height) in enumerate(((-14, 34, 17, 5.5), (8, 42, 22, 7.5), (27, 32, 14, 4.5)), 1):
        add_ball(f"Hill {number}", (x, y, -0.5), (width, 8, height), grass)


def _trees() -> None:
    bark = paint("Bark", BARK)
    leaves = foliage("Leaves", (0.06, 0.2, 0.03), (0.22, 0.42, 0.06), scale=3.5)
    needles = foliage("Needles", (0.015, 0.09, 0.05), (0.05, 0.2, 0.09), scale=5)
    add_round("Tree A Trunk", (-2.7, 3.2, 0), (-2.7, 3.2, 1.3), 0.16, 0.12, bark)
    add_ball("Tree A Crown", (-2.7, 3.2, 2.1), (1.0, 1.0, 1.05), leaves)
    add_round("Tree B Trunk", (5.4, 3.2, 0), (5.4, 3.2, 0.6), 0.15, 0.15, bark)
    for number, (base, height, radius) in enumerate(((0.5, 1.3, 1.0), (1.2, 1.2, 0.8), (1.9, 1.2, 0.58)), 1):
        add_round(f"Tree B Tier {number}", (5.4, 3.2, base), (5.4, 3.2, base + height), radius, 0.02, needles)


def _crate() -> None:
    wood = planks("Crate Wood", (0.5, 0.3, 0.13), (0.33, 0.18, 0.07))
    edge = paint("Crate Edge", (0.24, 0.12, 0.045))
    centre = add_empty("Crate", (-0.75, 1.9, 0.0), turn_deg=24)
    add_box("Crate Body", (0, 0, 0.47), (0.88, 0.88, 0.88), wood, parent=centre)
    for side in (-1, 1):
        for end in (-1, 1):
            add_box(f"Crate Post {side} {end}", (side * 0.43, end * 0.43, 0.47), (0.12, 0.12, 0.94), edge, centre)
            add_box(f"Crate Rail {side} {end}", (side * 0.43, 0, 0.47 + end * 0.43), (0.1, 0.9, 0.1), edge, centre)
            add_box(f"Crate Beam {side} {end}", (0, side * 0.43, 0.47 + end * 0.43), (0.9, 0.1, 0.1), edge, centre)


def _bench() -> None:
    seat = planks("Bench Wood", (0.42, 0.24, 0.11), (0.3, 0.16, 0.07))
    stone = paint("Bench Stone", (0.36, 0.35, 0.33))
    centre = add_empty("Bench", (1.6, 3.9, 0.0))
    add_box("Bench Seat", (0, 0, 0.48), (1.9, 0.5, 0.08), seat, centre)
    for side in (-1, 1):
        add_box(f"Bench Foot {side}", (side * 0.7, 0, 0.22), (0.16, 0.4, 0.44), stone, centre)


def _pillar() -> None:
    x, y = 3.35, 1.3
    banded = stripes("Pillar Stripes", BLUE, WHITE, width=0.3)
    foot = add_box(MISSING_OBJECT, (x, y, 0.1), (0.8, 0.8, 0.2), paint("Pillar Foot", (0.4, 0.38, 0.35)))
    add_round("Pillar Shaft", (0, 0, 0.1), (0, 0, 1.9), 0.28, 0.25, banded, foot)
    add_ball("Pillar Globe", (0, 0, 2.12), (0.29, 0.29, 0.29), paint("Gold", GOLD, gloss=True), foot)


def _figure() -> None:
    shirt, trousers = paint("Shirt", TEAL), paint("Trousers", NAVY)
    skin, shoe, cap = paint("Skin", SKIN), paint("Shoe", DARK), paint("Cap", ORANGE)
    figure = add_empty("Figure", (*FIGURE_AT, 0.0), turn_deg=-6)
    for side in (-1, 1):
        add_round(f"Leg {side}", (side * 0.13, 0, 0.08), (side * 0.1, 0, 0.88), 0.085, 0.11, trousers, figure)
        add_ball(f"Shoe {side}", (side * 0.14, -0.06, 0.07), (0.1, 0.17, 0.08), shoe, figure)
    add_ball("Hips", (0, 0, 0.88), (0.21, 0.15, 0.14), trousers, figure)
    add_round("Torso", (0, 0, 0.9), (0, 0, 1.36), 0.19, 0.25, shirt, figure, flatten=0.65)
    add_ball("Shoulders", (0, 0, 1.36), (0.27, 0.16, 0.1), shirt, figure)
    add_round("Shirt Stripe", (0, 0, 1.1), (0, 0, 1.18), 0.23, 0.238, paint("Stripe", GOLD), figure, flatten=0.65)
    add_round("Neck", (0, 0, 1.4), (0, 0, 1.52), 0.065, 0.065, skin, figure)
    add_ball("Head", (0, 0, 1.65), (0.155, 0.16, 0.18), skin, figure)
    add_ball("Cap", (0, 0.015, 1.71), (0.168, 0.17, 0.15), cap, figure)
    add_ball("Cap Brim", (0, -0.16, 1.715), (0.12, 0.12, 0.022), cap, figure)
    for side in (-1, 1):
        add_ball(f"Eye {side}", (side * 0.06, -0.15, 1.65), (0.022, 0.018, 0.026), shoe, figure)
        _arm("Arm Right" if side == 1 else "Arm Left", side, figure, shirt, skin)


def _arm(name: str, side: int, figure: Any, shirt: Any, skin: Any) -> None:
    """An arm that hangs from its shoulder along its own −z; only the one at image-right moves."""
    shoulder = add_empty(name, (side * 0.26, 0, 1.36), parent=figure)
    add_round(f"{name} Sleeve", (0, 0, 0), (0, 0, -0.3), 0.085, 0.075, shirt, shoulder)
    add_round(f"{name} Forearm", (0, 0, -0.3), (0, 0, -0.56), 0.055, 0.045, skin, shoulder)
    add_ball(f"{name} Hand", (0, 0, -0.62), (0.07, 0.05, 0.085), skin, shoulder)
    raised = ARM_RAISE_DEG
    shoulder.rotation_euler.y = -side * radians(raised.start)
    if side == 1:
        keys = ((raised.first, -radians(raised.start)), (raised.last, -radians(raised.end)))
        animate(shoulder, "rotation_euler", 1, _at_scene_frames(keys), "SINE", "EASE_IN_OUT")


def _ball(delay: int) -> None:
    """A ball of six wedges around the axis that it rolls about; it starts at once and slows down evenly to a stop."""
    wedges = [paint("Ball Red", RED, gloss=True), paint("Ball White", WHITE, gloss=True)]
    wedges.append(paint("Ball Blue", BLUE, gloss=True))
    centre = (BALL_X.start, BALL_Y, BALL_RADIUS)
    ball = add_ball("Ball", centre, (BALL_RADIUS,) * 3, wedges[0])
    for material in wedges[1:]:
        ball.data.materials.append(material)
    for face in ball.data.polygons:
        turn = atan2(face.center.x, face.center.z) % tau
        face.material_index = BALL_WEDGES[int(turn / tau * len(BALL_WEDGES))]
    first, last = BALL_X.first + delay, BALL_X.last + delay
    turns = (BALL_X.end - BALL_X.start) / BALL_RADIUS
    animate(ball, "location", 0, _at_scene_frames(((first, BALL_X.start), (last, BALL_X.end))), "QUAD", "EASE_OUT")
    animate(ball, "rotation_euler", 1, _at_scene_frames(((first, 0.0), (last, turns))), "QUAD", "EASE_OUT")


def _sun() -> None:
    import bpy

    light = bpy.data.lights.new("Sun", "SUN")
    light.energy, light.angle, light.color = 3.9, radians(1.5), (1.0, 0.87, 0.7)
    sun = bpy.data.objects.new("Sun", light)
    sun.rotation_euler = (radians(52), 0, radians(-38))
    bpy.context.scene.collection.objects.link(sun)


def _dolly_camera() -> Any:
    camera = _camera("Camera 1", (DOLLY_X.start, DOLLY_Y.start, 1.75), tilt_deg=-4.5, lens_mm=35.0)
    _animate_move(camera, "location", 0, DOLLY_X, "LINEAR")
    _animate_move(camera, "location", 1, DOLLY_Y, "LINEAR")
    _animate_move(camera, "rotation_euler", 2, DOLLY_PAN_DEG, "LINEAR", factor=radians(1))
    return camera


def _pan_camera(direction: Literal[1, -1]) -> Any:
    """The second shot's camera; with direction −1 it pans by the same angle to the other side."""
    camera = _camera("Camera 2", PAN_FROM, tilt_deg=-11.5, lens_mm=ZOOM_MM.start)
    end = PAN_DEG.start + direction * (PAN_DEG.end - PAN_DEG.start)
    pan = Move(PAN_DEG.first, PAN_DEG.last, PAN_DEG.start, end)
    _animate_move(camera, "rotation_euler", 2, pan, "SINE", factor=radians(1))
    _animate_move(camera.data, "lens", -1, ZOOM_MM, "SINE")
    return camera


def _camera(name: str, location: Point, *, tilt_deg: float, lens_mm: float) -> Any:
    import bpy

    data = bpy.data.cameras.new(name)
    data.lens, data.clip_start, data.clip_end = lens_mm, 0.1, 200.0
    camera = bpy.data.objects.new(name, data)
    camera.location = location
    camera.rotation_euler = (radians(90 + tilt_deg), 0, 0)
    bpy.context.scene.collection.objects.link(camera)
    return camera


def _animate_move(owner: Any, path: str, index: int, move: Move, interpolation: str, factor: float = 1.0) -> None:
    keys = ((move.first, move.start * factor), (move.last, move.end * factor))
    animate(owner, path, index, _at_scene_frames(keys), interpolation, "EASE_IN_OUT")


def _at_scene_frames(keys: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    return [(scene_frame(frame), value) for frame, value in keys]


def _cut(scene: Any, first: Any, second: Any) -> None:
    """Bind the cameras to markers: the first from the start, the second from the cut on."""
    scene.camera = first
    for name, frame, camera in (("Shot 1", 0, first), ("Shot 2", CUT, second)):
        scene.timeline_markers.new(name, frame=scene_frame(frame)).camera = camera
