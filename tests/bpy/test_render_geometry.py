"""The passes of a render job, proved by reprojection: depth, cameras and motion have to tell the same story."""

import json
from fractions import Fraction

import bpy
import numpy as np
import pytest
import render_scenes
from matchcut.addon.render.job import run_job
from matchcut.evaluator.protocol.files import write_json
from matchcut.evaluator.protocol.render_job import RenderJob, RenderStatus
from matchcut.evaluator.protocol.timeline import Timeline

FRAMES = 4


def render(folder, scene, *, size=(96, 54), frames=FRAMES, **options):
    job = RenderJob(str(scene), Timeline(*size, Fraction(24000, 1001), frames), 0, frames - 1, **options)
    folder.mkdir(exist_ok=True)
    write_json(folder / "job.json", job.to_json())
    status = run_job(folder)
    assert status == 0, RenderStatus.read(folder).error
    return job


def passes(folder):
    index = json.loads((folder / "geometry" / "geometry.json").read_text())
    chunks = [dict(np.load(folder / "geometry" / chunk["file"])) for chunk in index["chunks"]]
    return index, {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}


def carried(data, frame, other):
    """Pixels of `frame`, unprojected by its depth and projected into `other`: (H, W, 2), minus the pixel itself."""
    height, width = data["depth"][frame].shape
    grid = np.stack(np.meshgrid(np.arange(width), np.arange(height)), -1).astype(float)
    rays = np.concatenate([grid, np.ones((height, width, 1))], -1) @ np.linalg.inv(data["intrinsics"][frame]).T
    points = rays * data["depth"][frame][..., None]
    motion = data["world_to_camera"][other] @ np.linalg.inv(data["world_to_camera"][frame])
    seen = (points @ motion[:3, :3].T + motion[:3, 3]) @ data["intrinsics"][other].T
    return seen[..., :2] / seen[..., 2:] - grid


CAMERAS = {
    "landscape": ((96, 54), {}),
    "portrait": ((54, 96), {}),
    "square, vertical fit": ((64, 64), {"sensor_fit": "VERTICAL", "sensor_height": 30.0}),
    "wide, vertical fit": ((96, 40), {"sensor_fit": "VERTICAL", "sensor_height": 20.0}),
    "tall, horizontal fit": ((54, 96), {"sensor_fit": "HORIZONTAL"}),
    "shifted": ((96, 54), {"shift_x": 0.13, "shift_y": -0.09}),
    "shifted portrait": ((54, 96), {"shift_x": -0.1, "shift_y": 0.06}),
}


@pytest.mark.parametrize("name", CAMERAS)
def test_depth_cameras_and_flow_agree(tmp_path, name):
    size, settings = CAMERAS[name]
    scene = render_scenes.build(FRAMES)
    for setting, value in settings.items():
        setattr(scene.camera.data, setting, value)
    scene.camera.scale = (2, 2, 2)  # which no render heeds
    render(tmp_path / "job", render_scenes.save(tmp_path / "s.blend"), size=size, pictures=False, passes=True)
    index, data = passes(tmp_path / "job")
    moving = [entry["id"] for entry in index["objects"] if not entry["static"]]
    seen = 0
    for flow, step in (("flow_next", 1), ("flow_previous", -1)):
        for frame in range(FRAMES):
            if not 0 <= frame + step < FRAMES:
                assert np.isnan(data[flow][frame]).all()
                continue
            static = (data["depth"][frame] > 0) & ~np.isin(data["object_ids"][frame], moving)
            measured = data[flow][frame]
            expected = carried(data, frame, frame + step)
            error = np.linalg.norm(measured - expected, axis=-1)[static]
            assert np.linalg.norm(expected, axis=-1)[static].mean() > 0.3
            assert np.median(error) < 0.01, (flow, frame)
            # flow is taken at the centre of a pixel: not even a silhouette mixes two motions
            assert np.mean(error < 0.05) > 0.99, (flow, frame)
            # the ball moves on its own, and its flow says so
            own = np.isin(data["object_ids"][frame], moving)
            if own.sum() > 10:
                seen += 1
                assert np.median(np.linalg.norm(measured - expected, axis=-1)[own]) > 0.3
    assert seen > 1


@pytest.mark.parametrize("name", CAMERAS)
def test_world_points_fall_on_their_pixels(tmp_path, name):
    """A pixel's unprojected point is where a ray from Blender's camera hits the scene."""
    size, settings = CAMERAS[name]
    scene = render_scenes.build(FRAMES)
    for setting, value in settings.items():
        setattr(scene.camera.data, setting, value)
    render(tmp_path / "job", render_scenes.save(tmp_path / "s.blend"), size=size, pictures=False, passes=True)
    index, data = passes(tmp_path / "job")
    scene, names = bpy.context.scene, {entry["id"]: entry["name"] for entry in index["objects"]}
    scene.frame_set(scene.frame_start + 2)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    to_world = np.linalg.inv(data["world_to_camera"][2])
    assert np.allclose(to_world[:3, 3], scene.camera.matrix_world.translation, atol=1e-5)
    rows, columns = (grid.ravel() for grid in np.mgrid[3 : size[1] : 7, 3 : size[0] : 7])
    errors, same = [], []
    for row, column in zip(rows, columns, strict=True):
        ray = to_world[:3, :3] @ np.linalg.inv(data["intrinsics"][2]) @ (column, row, 1)
        hit, place, _, _, item, _ = scene.ray_cast(depsgraph, to_world[:3, 3], ray / np.linalg.norm(ray))
        assert hit == (data["depth"][2][row, column] > 0)
        if hit:
            camera = data["world_to_camera"][2] @ (*place, 1)
            seen = data["intrinsics"][2] @ camera[:3]
            pixel = np.hypot(*(seen[:2] / seen[2] - (column, row)))
            errors.append((pixel, abs(camera[2] - data["depth"][2][row, column]) / camera[2]))
            same.append(names[int(data["object_ids"][2][row, column])] == item.name)
    pixel, depth = np.array(errors).T
    assert np.median(pixel) < 0.01
    assert np.median(depth) < 1e-4
    assert np.mean(same) > 0.97


def test_projection_agrees_with_blenders_own(tmp_path):
    from bpy_extras.object_utils import world_to_camera_view
    from matchcut.addon.render.camera import intrinsics, world_to_camera

    scene = render_scenes.build(2)
    scene.render.resolution_x, scene.render.resolution_y = 200, 120
    scene.camera.data.shift_x = 0.07
    scene.frame_set(2)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    camera = scene.camera.evaluated_get(depsgraph)
    for point in ((0, 2, 0.3), (-3, 1, 2), (2, 8, 1)):
        own = intrinsics(camera, depsgraph, (200, 120)) @ (world_to_camera(camera) @ (*point, 1))[:3]
        theirs = world_to_camera_view(scene, scene.camera, bpy_vector(point))
        # their picture spans 0…1 from its lower left corner, ours starts at the centre of the top-left pixel
        assert np.allclose(own[:2] / own[2], (theirs.x * 200 - 0.5, (1 - theirs.y) * 120 - 0.5), atol=1e-3)
        assert np.isclose(own[2], theirs.z, atol=1e-4)


def bpy_vector(point):
    from mathutils import Vector

    return Vector(point)


def test_objects_know_whether_they_are_static(tmp_path):
    from matchcut.addon.render.objects import is_static

    render_scenes.build(2)
    objects = bpy.data.objects
    assert is_static(objects["ground"])
    assert is_static(objects["box 1"])
    assert not is_static(objects["ball"])
    assert not is_static(objects["rider"]), "its parent moves"
    objects["box 0"].modifiers.new("b", "BEVEL")
    assert is_static(objects["box 0"])
    objects["box 0"].modifiers.new("m", "MIRROR").mirror_object = objects["ball"]
    assert not is_static(objects["box 0"]), "its shape hangs on the ball"
    objects["box 1"].modifiers.new("w", "WAVE")
    assert not is_static(objects["box 1"])
    objects["box 2"].constraints.new("COPY_LOCATION")
    assert not is_static(objects["box 2"])
    objects["box 3"].driver_add("location", 0)
    assert not is_static(objects["box 3"])
    objects["box 4"].shape_key_add(name="Basis")
    objects["box 4"].shape_key_add(name="up").keyframe_insert("value", frame=1)
    assert not is_static(objects["box 4"])


def test_instances_move_with_their_instancer(tmp_path):
    scene = render_scenes.build(2)
    collection = bpy.data.collections.new("prop")
    bpy.ops.mesh.primitive_cube_add(size=1)
    prop = bpy.context.object
    prop.name = "prop"
    for owner in list(prop.users_collection):
        owner.objects.unlink(prop)
    collection.objects.link(prop)
    empty = bpy.data.objects.new("carrier", None)
    empty.instance_type, empty.instance_collection = "COLLECTION", collection
    scene.collection.objects.link(empty)
    empty.location = (0, -2, 1)
    empty.keyframe_insert("location", frame=1)
    empty.location.x = 1
    empty.keyframe_insert("location", frame=2)
    render(tmp_path / "job", render_scenes.save(tmp_path / "s.blend"), frames=2, pictures=False, passes=True)
    index, data = passes(tmp_path / "job")
    entry = next(entry for entry in index["objects"] if entry["name"] == "prop")
    assert entry["static"] is False
    assert (data["object_ids"] == entry["id"]).sum() > 20


def test_no_flow_across_a_cut(tmp_path):
    render_scenes.build(FRAMES, two_shots=True)
    render(tmp_path / "job", render_scenes.save(tmp_path / "s.blend"), pictures=False, passes=True)
    _, data = passes(tmp_path / "job")
    hit = data["depth"] > 0
    assert np.isnan(data["flow_next"][1]).all() and np.isnan(data["flow_previous"][2]).all()
    assert not np.isnan(data["flow_next"][0][hit[0]]).any() and not np.isnan(data["flow_next"][2][hit[2]]).any()
    assert np.isnan(data["flow_next"][0][~hit[0]]).all()
    assert np.linalg.norm(np.diff(np.linalg.inv(data["world_to_camera"])[:, :3, 3], axis=0)[1]) > 2


def test_motion_blur_and_depth_of_field_leave_the_passes_exact(tmp_path):
    scene = render_scenes.build(FRAMES)
    scene.render.use_motion_blur = True
    scene.camera.data.dof.use_dof = True
    scene.camera.data.dof.focus_distance = 1.0
    scene.camera.data.dof.aperture_fstop = 0.1
    render(tmp_path / "job", render_scenes.save(tmp_path / "s.blend"), passes=True)
    index, data = passes(tmp_path / "job")
    assert any("motion blur" in note for note in index["notes"])
    assert any("depth of field" in note for note in index["notes"])
    moving = [entry["id"] for entry in index["objects"] if not entry["static"]]
    static = (data["depth"][1] > 0) & ~np.isin(data["object_ids"][1], moving)
    assert np.median(np.linalg.norm(data["flow_next"][1] - carried(data, 1, 2), axis=-1)[static]) < 0.01


def test_chunks_are_resumed_and_damaged_ones_made_again(tmp_path):
    render_scenes.build(14)
    scene = render_scenes.save(tmp_path / "s.blend")
    job = tmp_path / "job"
    render(job, scene, size=(32, 18), frames=14, pictures=False, passes=True)
    names = [chunk["file"] for chunk in passes(job)[0]["chunks"]]
    assert names == ["000000.npz", "000012.npz"]
    before = passes(job)[1]
    kept = (job / "geometry" / names[0]).stat().st_mtime_ns
    (job / "geometry" / names[1]).write_bytes((job / "geometry" / names[1]).read_bytes()[:-200])
    (job / "geometry" / ".partial-passes.exr").write_bytes(b"left by a killed child")
    render(job, scene, size=(32, 18), frames=14, pictures=False, passes=True)
    assert (job / "geometry" / names[0]).stat().st_mtime_ns == kept
    after = passes(job)[1]
    assert all(np.array_equal(before[name], after[name], equal_nan=True) for name in before)
    assert sorted(path.name for path in (job / "geometry").iterdir()) == [*names, "geometry.json"]
    assert before["depth"].dtype == np.float32 and before["object_ids"].dtype == np.uint16
    assert before["frames"].tolist() == list(range(14))
