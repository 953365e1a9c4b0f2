"""The passes of a render job, proved by reprojection: depth, cameras and motion have to tell the same story."""

import bpy
import numpy as np
import pytest
import render_scenes
from matchcut.addon.render.geometry import check_cameras, render_geometry
from matchcut.evaluator.protocol.errors import BadInputError, OperationalError
from matchcut.evaluator.protocol.geometry import chunks_of, is_complete, write_index
from reprojection import (
    Counter,
    check_rigid,
    check_static,
    chunk_names,
    errors,
    job_of,
    read_passes,
    render_passes,
    shows,
)

FRAMES = 3


def animate(owner, name, values):
    for frame, value in enumerate(values, 1):
        setattr(owner, name, value)
        owner.keyframe_insert(name, frame=frame)


CAMERAS = {
    "landscape": ((96, 54), {}),
    "portrait": ((54, 96), {}),
    "square, vertical fit": ((64, 64), {"sensor_fit": "VERTICAL", "sensor_height": 30.0}),
    "wide, vertical fit": ((96, 40), {"sensor_fit": "VERTICAL", "sensor_height": 20.0}),
    "tall, horizontal fit": ((54, 96), {"sensor_fit": "HORIZONTAL"}),
    "auto fit, odd sensor": ((54, 96), {"sensor_width": 24.0, "sensor_height": 36.0}),
    "shifted": ((96, 54), {"shift_x": 0.13, "shift_y": -0.09}),
    "shifted portrait": ((54, 96), {"shift_x": -0.1, "shift_y": 0.06}),
}


def scene_with(settings, frames=FRAMES):
    scene = render_scenes.build(frames)
    for setting, value in settings.items():
        setattr(scene.camera.data, setting, value)
    return scene


@pytest.mark.parametrize("name", CAMERAS)
def test_depth_cameras_and_motion_agree(tmp_path, name):
    size, settings = CAMERAS[name]
    scene = scene_with(settings)
    scene.camera.scale = (2, 2, 2)  # which no render heeds
    index, data = render_passes(tmp_path, job_of(FRAMES, size))
    check_static(index, data)
    check_rigid(index, data, "ball")


@pytest.mark.parametrize("name", CAMERAS)
def test_world_points_fall_on_their_pixels(tmp_path, name):
    """A pixel's unprojected point is where a ray from Blender's camera hits the scene, up to the corners."""
    size, settings = CAMERAS[name]
    scene_with(settings, frames=2)
    index, data = render_passes(tmp_path, job_of(2, size))
    scene, names = bpy.context.scene, {entry["id"]: entry["name"] for entry in index["objects"]}
    scene.frame_set(scene.frame_start + 1)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    to_world = np.linalg.inv(data["world_to_camera"][1])
    assert np.allclose(to_world[:3, 3], scene.camera.matrix_world.translation, atol=1e-5)
    rows, columns = np.meshgrid([*range(0, size[1], 7), size[1] - 1], [*range(0, size[0], 7), size[0] - 1])
    found, same, stretch = [], [], 1.0
    for row, column in zip(rows.ravel(), columns.ravel(), strict=True):
        ray = to_world[:3, :3] @ np.linalg.inv(data["intrinsics"][1]) @ (column, row, 1)
        hit, place, _, _, item, _ = scene.ray_cast(depsgraph, to_world[:3, 3], ray / np.linalg.norm(ray))
        assert hit == (data["depth"][1][row, column] > 0)
        if hit:
            camera = data["world_to_camera"][1] @ (*place, 1)
            seen = data["intrinsics"][1] @ camera[:3]
            pixel = np.hypot(*(seen[:2] / seen[2] - (column, row)))
            found.append((pixel, abs(camera[2] - data["depth"][1][row, column]) / camera[2]))
            same.append(names[int(data["object_ids"][1][row, column])] == item.name)
            stretch = max(stretch, np.linalg.norm(camera[:3]) / camera[2])
    pixel, depth = np.array(found).T
    assert np.median(pixel) < 0.01
    assert np.median(depth) < 5e-5 and np.quantile(depth, 0.95) < 5e-4
    assert stretch > 1.03, "a distance along the ray would differ from the depth by this much"
    assert np.mean(same) > 0.97


def test_projection_agrees_with_blenders_own():
    from bpy_extras.object_utils import world_to_camera_view
    from matchcut.addon.render.camera import intrinsics, world_to_camera
    from mathutils import Vector

    scene = scene_with({"shift_x": 0.07}, frames=2)
    scene.render.resolution_x, scene.render.resolution_y = 200, 120
    scene.frame_set(2)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    camera = scene.camera.evaluated_get(depsgraph)
    for point in ((0, 2, 0.3), (-3, 1, 2), (2, 8, 1)):
        own = intrinsics(camera, depsgraph, (200, 120)) @ (world_to_camera(camera) @ (*point, 1))[:3]
        theirs = world_to_camera_view(scene, scene.camera, Vector(point))
        # their picture spans 0…1 from its lower left corner, ours starts at the centre of the top-left pixel
        assert np.allclose(own[:2] / own[2], (theirs.x * 200 - 0.5, (1 - theirs.y) * 120 - 0.5), atol=1e-3)
        assert np.isclose(own[2], theirs.z, atol=1e-4)


LENSES = {
    "focal length": {"lens": (35, 38, 42)},
    "sensor": {"sensor_width": (36, 34, 35)},
    "shift": {"shift_x": (0, 0.02, 0.04), "shift_y": (0.01, 0.0, 0.03)},
    "all of them": {"lens": (50, 45, 42), "sensor_width": (36, 34, 35), "shift_x": (0.05, 0.02, 0.0)},
}


@pytest.mark.parametrize("size", [(96, 54), (54, 96)])
@pytest.mark.parametrize("name", LENSES)
def test_a_lens_that_changes(tmp_path, name, size):
    scene = render_scenes.build(FRAMES)
    for setting, values in LENSES[name].items():
        animate(scene.camera.data, setting, values)
    index, data = render_passes(tmp_path, job_of(FRAMES, size))
    assert not np.allclose(data["intrinsics"][0], data["intrinsics"][1])
    check_static(index, data)
    check_rigid(index, data, "ball")


def test_a_smaller_job_of_a_scene_with_oblong_pixels(tmp_path):
    scene = render_scenes.build(FRAMES)
    scene.render.pixel_aspect_x, scene.render.resolution_percentage = 2.0, 50
    index, data = render_passes(tmp_path, job_of(FRAMES, (384, 216), scale=0.25))
    assert data["depth"].shape == (FRAMES, 54, 96) and (index["width"], index["height"]) == (96, 54)
    check_static(index, data)


def test_a_camera_that_a_parent_carries(tmp_path):
    scene = render_scenes.build(FRAMES)
    carrier = bpy.data.objects.new("carrier", None)
    scene.collection.objects.link(carrier)
    carrier.scale, carrier.rotation_euler = (1.5, 1.5, 1.5), (0.0, 0.05, 0.1)
    animate(carrier, "location", [(0, 0, 0), (0.1, 0, 0.05), (0.1, 0.2, 0.1)])
    scene.camera.parent = carrier
    check_static(*render_passes(tmp_path, job_of(FRAMES)))


@pytest.mark.parametrize("scale", [(-1, 1, 1), (1, 2, 0.5)])
def test_a_sheared_or_mirrored_camera_is_refused(tmp_path, scale):
    scene = render_scenes.build(2)
    carrier = bpy.data.objects.new("carrier", None)
    scene.collection.objects.link(carrier)
    carrier.scale, carrier.rotation_euler = scale, (0, 0, 0.3)
    scene.camera.parent = carrier
    with pytest.raises(BadInputError, match="'camera' is sheared or mirrored"):
        render_passes(tmp_path, job_of(2))


@pytest.mark.parametrize("kind", ["ORTHO", "PANO"])
def test_a_camera_without_perspective_is_refused_before_anything_is_rendered(tmp_path, kind):
    scene = render_scenes.build(4, two_shots=True)
    bpy.data.objects["second"].data.type = kind
    with pytest.raises(BadInputError, match=f"'second' is of type {kind}; passes need a perspective one"):
        render_passes(tmp_path, job_of(4))
    assert not (tmp_path / "geometry").exists()
    with pytest.raises(BadInputError):
        check_cameras(scene, job_of(4))


def test_forward_and_backward_motion_return(tmp_path):
    render_scenes.build(FRAMES)
    index, data = render_passes(tmp_path, job_of(FRAMES, (192, 108)))
    for frame in range(FRAMES - 1):
        for name in ("ground", "ball"):
            rows, columns = np.nonzero(shows(index, data, frame, name))
            target = np.stack([columns, rows], -1) + data["flow_next"][frame][rows, columns]
            cell = np.floor(target).astype(int)
            inside = (cell >= 0).all(1) & (cell < (191, 107)).all(1)
            part = (target - cell)[inside]
            back, same = np.zeros_like(part), np.ones(len(part), bool)
            for right, down in ((0, 0), (1, 0), (0, 1), (1, 1)):
                column, row = (cell[inside] + (right, down)).T
                share = np.abs(1 - right - part[:, :1]) * np.abs(1 - down - part[:, 1:])
                back += share * data["flow_previous"][frame + 1][row, column]
                same &= shows(index, data, frame + 1, name)[row, column]
            there = data["flow_next"][frame][rows, columns][inside]
            assert same.sum() > 20 and np.median(np.linalg.norm((there + back)[same], axis=-1)) < 0.01, (frame, name)


def test_no_motion_across_a_cut(tmp_path):
    render_scenes.build(4, two_shots=True)
    index, data = render_passes(tmp_path, job_of(4))
    hit = data["depth"] > 0
    assert np.isnan(data["flow_previous"][[0, 2]]).all() and np.isnan(data["flow_next"][[1, 3]]).all()
    for flow, frame, step in (("flow_next", 0, 1), ("flow_previous", 1, -1), ("flow_next", 2, 1)):
        assert np.isnan(data[flow][frame][~hit[frame]]).all()
        static = hit[frame] & ~shows(index, data, frame, "ball") & ~shows(index, data, frame, "rider")
        assert np.median(errors(data, flow, frame, step, static)) < 0.01
    assert np.linalg.norm(np.diff(np.linalg.inv(data["world_to_camera"])[:, :3, 3], axis=0)[1]) > 2


def test_what_blurs_or_stylises_the_pictures_leaves_the_passes_exact(tmp_path):
    scene = render_scenes.build(FRAMES)
    scene.render.use_motion_blur = scene.render.use_freestyle = True
    scene.cycles.use_sample_subset, scene.cycles.sample_offset = True, 7
    scene.camera.data.dof.use_dof = True
    scene.camera.data.dof.focus_distance = 1.0
    scene.camera.data.dof.aperture_fstop = 0.1
    index, data = render_passes(tmp_path, job_of(FRAMES, pictures=True))
    assert any("motion blur" in note for note in index["notes"])
    assert any("depth of field" in note for note in index["notes"])
    check_static(index, data)


def test_chunks_are_resumed_and_damaged_ones_made_again(tmp_path):
    render_scenes.build(14)
    job = job_of(14, (32, 18))
    before = render_passes(tmp_path, job)[1]
    names, folder = chunk_names(job), tmp_path / "geometry"
    assert names == ["000000.npz", "000012.npz"]
    kept, damaged = ((folder / name).read_bytes() for name in names)
    stamp = (folder / names[0]).stat().st_mtime_ns
    for damage in (damaged[:-200], damaged[:2000] + b"\0" * 9 + damaged[2009:], b""):
        (folder / names[1]).write_bytes(damage)
        assert not is_complete(folder / names[1], 12, 13, job.size)
        counter = Counter()
        render_geometry(tmp_path, job, chunks_of(job), counter)
        assert counter.rendered == [12, 13] and counter.skipped == 12
        assert (folder / names[1]).read_bytes() == damaged, "equal passes are equal files"
    assert (folder / names[0]).read_bytes() == kept and (folder / names[0]).stat().st_mtime_ns == stamp
    assert not is_complete(folder / names[0], 0, 11, (18, 32)) and not is_complete(folder / names[0], 1, 12, job.size)
    assert sorted(path.name for path in folder.iterdir()) == [*names, "about.json", "geometry.json"]
    assert before["depth"].dtype == np.float32 and before["object_ids"].dtype == np.uint16
    assert before["frames"].tolist() == list(range(14))


def test_a_child_writes_its_part_and_the_parent_the_index(tmp_path):
    render_scenes.build(14)
    job = job_of(14, (32, 18))
    whole = render_passes(tmp_path / "whole", job)
    parts = tmp_path / "parts"
    render_geometry(parts, job, [(12, 13)], Counter())
    assert sorted(path.name for path in (parts / "geometry").iterdir()) == ["000012.npz", "about.json"]
    about = (parts / "geometry" / "about.json").read_bytes()
    with pytest.raises(OperationalError, match="frames 0-11 are missing"):
        write_index(parts, job)
    render_geometry(parts, job, [(0, 11)], Counter())
    assert (parts / "geometry" / "about.json").read_bytes() == about
    write_index(parts, job)
    index, data = read_passes(parts)
    assert index == whole[0]
    assert all(np.array_equal(data[name], whole[1][name], equal_nan=True) for name in data)


def test_large_pictures_have_short_chunks():
    for size, frames in (((96, 54), 12), ((960, 540), 12), ((1920, 1080), 3), ((3840, 2160), 1), ((9000, 9000), 1)):
        bounds = chunks_of(job_of(25, size))
        assert bounds[0] == (0, frames - 1) and bounds[-1][1] == 24
        assert [first for first, _ in bounds] == list(range(0, 25, frames))
