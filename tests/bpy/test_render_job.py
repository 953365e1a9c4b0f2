"""The render child on its job folder: pictures, resumption, markers, the scene's copy, and what it refuses."""

import hashlib
from fractions import Fraction

import bpy
import numpy as np
import pytest
import render_scenes
from matchcut.addon.render.job import run_job
from matchcut.addon.render.png import is_finished
from matchcut.evaluator.protocol.files import write_json
from matchcut.evaluator.protocol.render_job import RenderJob, RenderStatus, frame_path
from matchcut.evaluator.protocol.timeline import Timeline

TIMELINE = Timeline(48, 28, Fraction(24000, 1001), 4)


@pytest.fixture
def scene(tmp_path):
    render_scenes.build(4)
    return render_scenes.save(tmp_path / "s.blend")


def run(folder, scene, *, first=0, last=3, **options):
    folder.mkdir(exist_ok=True)
    write_json(folder / "job.json", RenderJob(str(scene), TIMELINE, first, last, **options).to_json())
    return run_job(folder), RenderStatus.read(folder)


def hashes(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted((folder / "frames").iterdir())}


def pixels(path):
    image = bpy.data.images.load(str(path))
    values = np.empty(image.size[0] * image.size[1] * 4, np.float32)
    image.pixels.foreach_get(values)
    bpy.data.images.remove(image)
    return values


def test_every_frame_once_and_the_status_says_so(tmp_path, scene):
    code, status = run(tmp_path / "job", scene)
    assert code == 0
    assert list(hashes(tmp_path / "job")) == [f"{frame:06d}.png" for frame in range(4)]
    assert (status.state, status.done, status.total, status.frame) == ("done", 4, 4, 3)
    assert (status.engine, status.device, status.samples, status.denoiser) == ("CYCLES", "CPU", 2, "")
    assert status.blender == bpy.app.version_string and status.seconds_per_frame > 0
    assert any("1920x1080" in note for note in status.notes)
    assert len(set(hashes(tmp_path / "job").values())) == 4
    assert sorted(path.name for path in (tmp_path / "job").iterdir()) == [
        "frames", "job.json", "scene.blend", "status.json",
    ]  # fmt: skip


def test_the_same_scene_gives_the_same_bytes_with_and_without_passes(tmp_path, scene):
    run(tmp_path / "a", scene)
    run(tmp_path / "b", scene, passes=True)
    assert hashes(tmp_path / "a") == hashes(tmp_path / "b")


def test_resumes_with_what_is_missing_or_damaged(tmp_path, scene):
    job = tmp_path / "job"
    run(job, scene)
    before = hashes(job)
    stamps = {frame: frame_path(job, frame).stat().st_mtime_ns for frame in range(4)}
    whole = frame_path(job, 2).read_bytes()
    frame_path(job, 2).write_bytes(whole[: len(whole) // 2])
    frame_path(job, 1).unlink()
    (job / "frames" / ".partial-x.png").write_bytes(whole[:50])
    assert not is_finished(frame_path(job, 2), (48, 28)) and not is_finished(frame_path(job, 0), (48, 30))
    run(job, scene)
    assert hashes(job) == before
    assert frame_path(job, 0).stat().st_mtime_ns == stamps[0] and frame_path(job, 3).stat().st_mtime_ns == stamps[3]


def test_part_of_the_range_in_another_size(tmp_path, scene):
    run(tmp_path / "all", scene)
    code, status = run(tmp_path / "part", scene, first=1, last=2, scale=0.5, samples=1)
    assert code == 0 and status.samples == 1 and status.total == 2
    assert sorted(hashes(tmp_path / "part")) == ["000001.png", "000002.png"]
    assert is_finished(frame_path(tmp_path / "part", 1), (24, 14))


def test_bound_markers_choose_the_camera(tmp_path):
    scene = render_scenes.build(4, two_shots=True)
    scene.frame_set(1)
    assert scene.camera.name == "camera"
    run(tmp_path / "cut", render_scenes.save(tmp_path / "cut.blend"))
    scene = render_scenes.build(4)
    scene.camera = render_scenes._camera("second", 4, 3.0)
    run(tmp_path / "second", render_scenes.save(tmp_path / "second.blend"))
    run(tmp_path / "first", _plain(tmp_path))
    cut, first, second = (hashes(tmp_path / name) for name in ("cut", "first", "second"))
    assert list(cut.values()) == [*list(first.values())[:2], *list(second.values())[2:]]


def _plain(tmp_path):
    render_scenes.build(4)
    return render_scenes.save(tmp_path / "first.blend")


def test_frame_start_of_the_scene_stays(tmp_path):
    scene = render_scenes.build(4)
    run(tmp_path / "one", render_scenes.save(tmp_path / "one.blend"))
    scene = render_scenes.build(4)
    for item in (scene.camera, bpy.data.objects["ball"]):
        for layer in item.animation_data.action.layers:
            for strip in layer.strips:
                for curve in strip.channelbag(item.animation_data.action_slot).fcurves:
                    for point in curve.keyframe_points:
                        point.co.x += 100
                        point.handle_left.x += 100
                        point.handle_right.x += 100
    scene.frame_start, scene.frame_end = 101, 300
    scene.cycles.use_animated_seed = False
    run(tmp_path / "hundred", render_scenes.save(tmp_path / "hundred.blend"))
    for frame in (0, 3):
        error = np.abs(pixels(frame_path(tmp_path / "one", frame)) - pixels(frame_path(tmp_path / "hundred", frame)))
        assert error.mean() < 0.02


def test_a_scene_saved_for_video_with_compositing(tmp_path):
    scene = render_scenes.build(4)
    run(tmp_path / "plain", render_scenes.save(tmp_path / "plain.blend"))
    scene = render_scenes.build(4)
    scene.render.image_settings.media_type = "VIDEO"
    scene.render.image_settings.file_format = "FFMPEG"
    scene.render.filepath = str(tmp_path / "elsewhere" / "film")
    tree = bpy.data.node_groups.new("comp", "CompositorNodeTree")
    tree.interface.new_socket("Image", in_out="OUTPUT", socket_type="NodeSocketColor")
    layers, invert = tree.nodes.new("CompositorNodeRLayers"), tree.nodes.new("CompositorNodeInvert")
    output = tree.nodes.new("NodeGroupOutput")
    tree.links.new(layers.outputs["Image"], invert.inputs["Color"])
    tree.links.new(invert.outputs["Color"], output.inputs[0])
    scene.compositing_node_group = tree
    code, _ = run(tmp_path / "job", render_scenes.save(tmp_path / "video.blend"))
    assert code == 0 and not (tmp_path / "elsewhere").exists()
    plain, negative = (pixels(frame_path(tmp_path / name, 1)) for name in ("plain", "job"))
    assert np.corrcoef(plain.reshape(-1, 4)[:, 0], negative.reshape(-1, 4)[:, 0])[0, 1] < -0.5
    # passes come out although the artist's compositor is in the way, and leave its pictures alone
    before = hashes(tmp_path / "job")
    code, status = run(tmp_path / "with", tmp_path / "video.blend", passes=True)
    assert code == 0 and hashes(tmp_path / "with") == before and status.done == 8


def test_object_index_in_a_material_is_not_changed_by_passes(tmp_path):
    render_scenes.build(4)
    nodes = bpy.data.materials["grey"].node_tree
    info = nodes.nodes.new("ShaderNodeObjectInfo")
    nodes.links.new(info.outputs["Object Index"], nodes.nodes["Principled BSDF"].inputs["Base Color"])
    scene = render_scenes.save(tmp_path / "index.blend")
    run(tmp_path / "a", scene)
    run(tmp_path / "b", scene, passes=True)
    assert hashes(tmp_path / "a") == hashes(tmp_path / "b")


def test_linked_files_are_found_from_the_copy(tmp_path):
    (tmp_path / "lib").mkdir()
    render_scenes.build(4)
    render_scenes.save(tmp_path / "lib" / "props.blend")
    render_scenes.build(4)
    before = render_scenes.save(tmp_path / "whole.blend")
    run(tmp_path / "whole", before)
    bpy.ops.wm.open_mainfile(filepath=str(before))
    bpy.data.objects.remove(bpy.data.objects["box 2"])
    with bpy.data.libraries.load(str(tmp_path / "lib" / "props.blend"), link=True, relative=False) as (_, wanted):
        wanted.objects = ["box 2"]
    bpy.context.scene.collection.objects.link(bpy.data.objects["box 2"])
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "linked.blend"), relative_remap=True)
    bpy.ops.file.make_paths_relative()
    bpy.ops.wm.save_mainfile()
    assert bpy.data.libraries[0].filepath == "//lib/props.blend"
    (tmp_path / "deep" / "er").mkdir(parents=True)
    run(tmp_path / "deep" / "er" / "job", tmp_path / "linked.blend")
    error = pixels(frame_path(tmp_path / "whole", 0)) - pixels(frame_path(tmp_path / "deep" / "er" / "job", 0))
    assert np.abs(error).max() < 0.01


def test_no_camera(tmp_path):
    scene = render_scenes.build(4)
    bpy.data.objects.remove(scene.camera)
    code, status = run(tmp_path / "job", render_scenes.save(tmp_path / "s.blend"))
    assert code == 2 and status.state == "failed" and "no camera" in status.error and status.done == 0


def test_an_orthographic_camera_has_pictures_but_no_passes(tmp_path):
    scene = render_scenes.build(4)
    scene.camera.data.type = "ORTHO"
    path = render_scenes.save(tmp_path / "s.blend")
    assert run(tmp_path / "pictures", path)[0] == 0
    code, status = run(tmp_path / "passes", path, pictures=False, passes=True)
    assert code == 2 and "perspective" in status.error


@pytest.mark.parametrize(
    ("options", "expected"),
    [({"engine": "LUXCORE"}, "LUXCORE"), ({"device": "metal"}, "METAL"), ({"device": "abacus"}, "abacus")],
)
def test_what_this_blender_lacks(tmp_path, scene, options, expected):
    code, status = run(tmp_path / "job", scene, **options)
    assert code == 2 and expected in status.error and "\n" not in status.error


def test_a_file_that_is_no_scene(tmp_path):
    (tmp_path / "bad.blend").write_bytes(b"BLENDER17-01v0502" + bytes(range(256)) * 8)
    code, status = run(tmp_path / "job", tmp_path / "bad.blend")
    assert code == 2 and "bad.blend" in status.error and "\n" not in status.error
    assert not (tmp_path / "job" / "scene.blend").exists()


def test_a_handler_of_the_scene_that_raises_does_not_stop_the_job(tmp_path, scene):
    def broken(*_):
        raise ValueError("mine")

    bpy.app.handlers.persistent(broken)
    bpy.app.handlers.render_pre.append(broken)
    try:
        assert run(tmp_path / "job", scene)[0] == 0
    finally:
        bpy.app.handlers.render_pre.remove(broken)
