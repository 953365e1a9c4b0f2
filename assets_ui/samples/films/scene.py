# SPDX-License-Identifier: GPL-3.0-or-later
"""A film's description as a Blender scene; every track is keyed frame by frame, so that it shows what was described."""

from __future__ import annotations

from math import radians
from typing import Any, Final

from ..materials import add_sky, foliage
from ..shapes import add_box
from . import find_film
from .records import Film, Shot, Thing, view_at
from .things import BUILDERS
from .variants import CHEATING, RECONSTRUCTIONS

FRAME_START: Final = 1
SAMPLES: Final = 4
REFERENCE: Final = "reference"
VARIANTS: Final = (REFERENCE, *RECONSTRUCTIONS)
SCREEN_AT: Final = 2.0
"""Metres from the camera to the screen that a cheating reconstruction shows the reference on."""


def build(name: str, variant: str) -> None:
    """Build a variant of the film into the current scene, which has to be empty. Needs Blender."""
    import bpy

    film = find_film(name)
    scene = bpy.context.scene
    scene.name = f"{film.title} ({variant})"
    _set_up(scene, film)
    if variant == CHEATING:
        _screen(scene, film)
        return
    shown = film if variant == REFERENCE else RECONSTRUCTIONS[variant](film)
    ground = foliage("Ground", shown.ground, tuple(1.35 * value for value in shown.ground), scale=0.7)  # type: ignore[arg-type]
    add_box("Ground", (0, 0, -0.05), (160, 160, 0.1), ground)
    for thing in shown.things:
        _thing(shown, thing)
    _sun(scene)
    add_sky(scene, low=tuple(min(1.0, 1.25 * value) for value in shown.sky), high=shown.sky)  # type: ignore[arg-type]
    for number, shot in enumerate(shown.shots, 1):
        _camera(scene, shown, shot, number)


def _set_up(scene: Any, film: Film) -> None:
    render, cycles, size = scene.render, scene.cycles, film.timeline
    render.resolution_x, render.resolution_y, render.resolution_percentage = size.width, size.height, 100
    render.fps, render.fps_base = size.fps, float(size.fps_base)
    scene.frame_start, scene.frame_end = FRAME_START, FRAME_START + size.frames - 1
    scene.view_settings.view_transform = "Standard"
    render.engine = "CYCLES"
    render.use_persistent_data = True
    cycles.device, cycles.samples = "CPU", SAMPLES
    cycles.use_adaptive_sampling = cycles.use_denoising = False
    cycles.max_bounces = 0


def _thing(film: Film, thing: Thing) -> None:
    top, pivot, axis = BUILDERS[thing.shape](thing)
    frames = range(film.timeline.frames)
    if len(thing.place.keys) > 1:
        for index in range(3):
            _keys(top, "location", index, [(f, thing.place.at(f)[index]) for f in frames])
    if len(thing.turn.keys) > 1:
        _keys(top, "rotation_euler", 2, [(f, radians(thing.turn.at(f)[0])) for f in frames])
    top.location, top.rotation_euler[2] = thing.place.at(0), radians(thing.turn.at(0)[0])
    if pivot is not None:
        pivot.rotation_euler[axis] = -radians(thing.pose.at(0)[0])
        if len(thing.pose.keys) > 1:
            _keys(pivot, "rotation_euler", axis, [(f, -radians(thing.pose.at(f)[0])) for f in frames])


def _camera(scene: Any, film: Film, shot: Shot, number: int) -> None:
    import bpy
    from mathutils import Matrix

    data = bpy.data.cameras.new(f"Camera {number}")
    data.sensor_width, data.clip_start, data.clip_end = 36.0, 0.05, 400.0
    camera = bpy.data.objects.new(f"Camera {number}", data)
    scene.collection.objects.link(camera)
    turns: list[list[tuple[int, float]]] = [[], [], []]
    before = None
    for frame in range(shot.first, shot.last + 1):
        view = view_at(film, frame)
        columns = (view.right, view.up, tuple(-value for value in view.forward))
        matrix = Matrix([[column[row] for column in columns] for row in range(3)])
        euler = matrix.to_euler("XYZ") if before is None else matrix.to_euler("XYZ", before)
        before = euler
        for index in range(3):
            turns[index].append((frame, euler[index]))
    span = range(shot.first, shot.last + 1)
    for index in range(3):
        _keys(camera, "rotation_euler", index, turns[index])
        _keys(camera, "location", index, [(f, shot.eye.at(f)[index]) for f in span])
    _keys(data, "lens", -1, [(f, shot.focal.at(f)[0]) for f in span])
    scene.timeline_markers.new(f"Shot {number}", frame=FRAME_START + shot.first).camera = camera
    if number == 1:
        scene.camera = camera


def _screen(scene: Any, film: Film) -> None:
    """A plane that fills the picture and shows `reference.mp4` beside the .blend file."""
    import bpy

    size = film.timeline
    data = bpy.data.cameras.new("Camera")
    camera = bpy.data.objects.new("Camera", data)
    camera.rotation_euler = (radians(90), 0, 0)
    scene.collection.objects.link(camera)
    scene.camera = camera
    width = SCREEN_AT * 36.0 / data.lens * size.width / max(size.width, size.height)
    height = width * size.height / size.width
    mesh = bpy.data.meshes.new("Screen")
    corners = [(x * width / 2, SCREEN_AT, z * height / 2) for x, z in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    mesh.from_pydata(corners, [], [(0, 1, 2, 3)])
    for loop, at in zip(mesh.uv_layers.new().data, ((0, 0), (1, 0), (1, 1), (0, 1)), strict=True):
        loop.uv = at
    screen = bpy.data.objects.new("Screen", mesh)
    scene.collection.objects.link(screen)
    material = bpy.data.materials.new("Screen")
    nodes, links = material.node_tree.nodes, material.node_tree.links
    nodes.clear()
    picture = nodes.new("ShaderNodeTexImage")
    image = bpy.data.images.new("reference", 1, 1)
    image.source, image.filepath = "MOVIE", "//reference.mp4"
    picture.image = image
    user = picture.image_user
    user.frame_duration, user.frame_start, user.use_auto_refresh = size.frames, FRAME_START, True
    light, out = nodes.new("ShaderNodeEmission"), nodes.new("ShaderNodeOutputMaterial")
    links.new(picture.outputs["Color"], light.inputs["Color"])
    links.new(light.outputs[0], out.inputs["Surface"])
    mesh.materials.append(material)


def _sun(scene: Any) -> None:
    import bpy

    light = bpy.data.lights.new("Sun", "SUN")
    light.energy, light.angle, light.color = 3.6, radians(1.0), (1.0, 0.9, 0.76)
    sun = bpy.data.objects.new("Sun", light)
    sun.rotation_euler = (radians(48), 0, radians(-34))
    scene.collection.objects.link(sun)


def _keys(owner: Any, path: str, index: int, values: list[tuple[int, float]]) -> None:
    """Keyframe one component at frames of the reference, linear in between."""
    from ..shapes import animate

    animate(owner, path, index, [(FRAME_START + frame, value) for frame, value in values], "LINEAR", "AUTO")
