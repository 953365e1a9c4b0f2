# SPDX-License-Identifier: GPL-3.0-or-later
"""A scene with a camera to match, another one that is known, and a box whose edges and corners that one sees."""

import itertools

import bpy
import matchcut
import numpy as np
import pytest
from bpy_extras.object_utils import world_to_camera_view
from matchcut.addon.sidebar.match_camera import shots
from mathutils import Vector

BOX = (3.0, 2.0, 2.2)
CORNERS = list(itertools.product(*((0.0, side) for side in BOX)))


@pytest.fixture(name="scene", autouse=True)
def matching_scene():
    bpy.ops.wm.read_factory_settings(use_empty=True)
    matchcut.register()
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 11, 60
    scene.frame_set(11)
    camera(scene, "Shot")
    yield scene
    matchcut.unregister()


def camera(scene, name):
    item = bpy.data.objects.new(name, bpy.data.cameras.new(name))
    scene.collection.objects.link(item)
    scene.camera = scene.camera or item
    return item


def known(scene, size=(960, 540), shift=(0.0, 0.0), fit="AUTO"):
    """A camera that sees the box; the scene's own stays where it is."""
    scene.render.resolution_x, scene.render.resolution_y = size
    item = camera(scene, "Known")
    item.location = (-3.2, -4.1, 3.0)
    item.rotation_euler = (Vector(BOX) / 2 - item.location).to_track_quat("-Z", "Y").to_euler()
    item.data.lens, item.data.sensor_fit = 24.0, fit
    item.data.shift_x, item.data.shift_y = shift
    bpy.context.view_layer.update()
    return item


def place(scene, item, world):
    seen = world_to_camera_view(scene, item, Vector(world))
    return seen.x, 1 - seen.y


def draw_lines(scene, item, axes="XYZ"):
    """The box's edges as the camera `item` sees them."""
    match = shots.match_of(scene) or shots.new_match(scene)
    for start, end in itertools.combinations(CORNERS, 2):
        along = [index for index in range(3) if start[index] != end[index]]
        if len(along) == 1 and "XYZ"[along[0]] in axes:
            line = match.lines.add()
            line.axis = "XYZ"[along[0]]
            line.start, line.end = place(scene, item, start), place(scene, item, end)
    match.origin = place(scene, item, (0, 0, 0))
    match.scale, match.height = "HEIGHT", item.location.z
    return match


def pick_points(scene, item):
    match = shots.match_of(scene) or shots.new_match(scene)
    match.mode = "POINTS"
    for corner in CORNERS:
        point = match.points.add()
        point.place, point.world, point.has_world = place(scene, item, corner), corner, True
    return match


def sees_as(scene, ours, theirs):
    """The largest distance in pixels between where the two cameras see the box."""
    bpy.context.view_layer.update()
    size = np.array([scene.render.resolution_x, scene.render.resolution_y])
    return max(
        np.abs((np.array(place(scene, ours, corner)) - place(scene, theirs, corner)) * size).max() for corner in CORNERS
    )


def state(item):
    data = item.data
    return [*item.location, *item.rotation_euler, data.lens, data.shift_x, data.shift_y]
