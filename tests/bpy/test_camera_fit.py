"""A fitted camera and Blender's own see the same: both ways, whatever the fit, the shape and the shift."""

import bpy
import numpy as np
import pytest
from bpy_extras.object_utils import world_to_camera_view
from matchcut.addon.render.camera import intrinsics, world_to_camera
from matchcut.evaluator.camera.core.blender import BlenderCamera, Sensor, from_blender, to_blender
from matchcut.evaluator.camera.core.pinhole import Pinhole, picture_centre
from mathutils import Matrix, Vector

POINTS = np.random.default_rng(2).uniform(-1, 1, (40, 3))
SIZES = {"landscape": (96, 54), "portrait": (54, 96), "square": (64, 64), "wide": (96, 40)}
FITS = ("AUTO", "HORIZONTAL", "VERTICAL")
SHIFTS = {"centred": (0.0, 0.0), "shifted": (11.5, -6.25)}


def pinhole(size, shift):
    forward = np.array([0.6, 0.7, -0.4]) / np.linalg.norm([0.6, 0.7, -0.4])
    right = np.cross(forward, (0.1, 0, 1))
    right /= np.linalg.norm(right)
    rotation = np.array([right, np.cross(forward, right), forward])
    x, y = picture_centre(size)
    return Pinhole(size, 0.9 * max(size), (x + shift[0], y + shift[1]), rotation, -4 * forward)


def blender_camera(written, size):
    """A real camera with what was written for it, in a scene of this size."""
    scene = bpy.context.scene
    scene.render.resolution_x, scene.render.resolution_y = size
    scene.render.resolution_percentage = 100
    scene.render.pixel_aspect_x = scene.render.pixel_aspect_y = 1
    item = bpy.data.objects.new("fitted", bpy.data.cameras.new("fitted"))
    scene.collection.objects.link(item)
    item.data.sensor_fit = written.sensor.fit
    item.data.sensor_width, item.data.sensor_height = written.sensor.width, written.sensor.height
    item.data.lens, item.data.shift_x, item.data.shift_y = written.lens, written.shift_x, written.shift_y
    item.matrix_world = Matrix(written.matrix_world.tolist())
    bpy.context.view_layer.update()
    return scene, item


def seen_by_blender(scene, item, size):
    """The pixel coordinates of POINTS as Blender's own function has them: its 0…1 run from edge to edge, y up."""
    views = np.array([world_to_camera_view(scene, item, Vector(point)) for point in POINTS])
    return np.column_stack([views[:, 0] * size[0] - 0.5, (1 - views[:, 1]) * size[1] - 0.5])


@pytest.fixture(autouse=True)
def empty():
    bpy.ops.wm.read_factory_settings(use_empty=True)


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("size", SIZES)
def test_blender_sees_points_where_the_fit_does(size, fit, shift):
    ours = pinhole(SIZES[size], SHIFTS[shift])
    scene, item = blender_camera(to_blender(ours, Sensor(fit, 31.0, 19.0)), ours.size)
    assert np.abs(seen_by_blender(scene, item, ours.size) - ours.project(POINTS)).max() < 1e-4


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("size", SIZES)
def test_it_is_the_inverse_of_what_the_passes_record(size, fit, shift):
    ours = pinhole(SIZES[size], SHIFTS[shift])
    _, item = blender_camera(to_blender(ours, Sensor(fit, 31.0, 19.0)), ours.size)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    recorded = item.evaluated_get(depsgraph)
    assert np.allclose(intrinsics(recorded, depsgraph, ours.size), ours.intrinsics, atol=1e-4)
    assert np.allclose(world_to_camera(recorded), ours.world_to_camera, atol=1e-6)
    # and from the camera in the scene back to ours
    data = item.data
    sensor = Sensor(data.sensor_fit, data.sensor_width, data.sensor_height)
    read = BlenderCamera(data.lens, data.shift_x, data.shift_y, sensor, np.array(item.matrix_world))
    back = from_blender(read, ours.size)
    assert np.abs(back.project(POINTS) - ours.project(POINTS)).max() < 1e-4


def test_at_full_size_only_blender_s_single_precision_is_left():
    ours = pinhole((3840, 2160), (300.0, -200.0))
    scene, item = blender_camera(to_blender(ours, Sensor()), ours.size)
    assert np.abs(seen_by_blender(scene, item, ours.size) - ours.project(POINTS)).max() < 4e-3
