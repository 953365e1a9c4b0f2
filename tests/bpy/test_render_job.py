"""The render child on its job folder: pictures, resumption, markers, the scene's copy, and what it refuses."""

import hashlib
from fractions import Fraction

import bpy
import numpy as np
import pytest
import render_scenes
from matchcut.addon.render.job import run_job
from matchcut.evaluator.protocol.files import write_json
from matchcut.evaluator.protocol.png import is_finished
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
    assert code == 2 and status.state == "failed" and "no camera" in status.error
    assert status.done == 0 and status.frame is None


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


def _rigid(scene):
    bpy.ops.mesh.primitive_cube_add(size=0.6, location=(0, -2, 2.0), rotation=(0.3, 0.4, 0.1))
    bpy.ops.rigidbody.object_add()


def _cloth(scene):
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=6, y_subdivisions=6, size=1.5, location=(0, -2, 2.0))
    bpy.context.object.modifiers.new("cloth", "CLOTH")


def _zone(scene):
    bpy.ops.mesh.primitive_cube_add(size=0.6, location=(0, -2, 1.0))
    tree = bpy.data.node_groups.new("drift", "GeometryNodeTree")
    for way in ("INPUT", "OUTPUT"):
        tree.interface.new_socket("Geometry", in_out=way, socket_type="NodeSocketGeometry")
    names = ("NodeGroupInput", "GeometryNodeSimulationInput", "GeometryNodeTransform", "GeometryNodeSimulationOutput")
    start, into, move, out = (tree.nodes.new(name) for name in names)
    into.pair_with_output(out)
    move.inputs["Translation"].default_value = (0.3, 0, 0.1)
    end = tree.nodes.new("NodeGroupOutput")
    for source, target in ((start, into), (into, move), (move, out), (out, end)):
        tree.links.new(source.outputs["Geometry"], target.inputs["Geometry"])
    bpy.context.object.modifiers.new("zone", "NODES").node_group = tree


@pytest.mark.parametrize("simulate", [_rigid, _cloth, _zone])
def test_a_simulation_is_the_same_in_whatever_order_it_is_rendered(tmp_path, simulate):
    scene = render_scenes.build(4)
    simulate(scene)
    name, path, played = bpy.context.object.name, render_scenes.save(tmp_path / "s.blend"), []
    for number in range(1, 5):
        scene.frame_set(number)
        graph = bpy.context.evaluated_depsgraph_get()
        mesh = bpy.data.objects[name].evaluated_get(graph)
        played.append(sum((mesh.matrix_world @ vertex.co for vertex in mesh.data.vertices), start=mesh.location * 0))
    assert (played[3] - played[0]).length > 0.1, "it moves"
    code, status = run(tmp_path / "whole", path)
    assert code == 0 and any("played from their start" in note for note in status.notes)
    for folder, batches in (("parts", [(2, 3), (0, 1)]), ("one", [(3, 3), (1, 1), (0, 0), (2, 2)])):
        (tmp_path / folder).mkdir()
        write_json(tmp_path / folder / "job.json", RenderJob(str(path), TIMELINE, 0, 3).to_json())
        assert [run_job(tmp_path / folder, batch) for batch in batches] == [0] * len(batches)
        assert hashes(tmp_path / folder) == hashes(tmp_path / "whole")
    assert (tmp_path / "whole" / "simulated.blend").exists() and path.stat().st_size > 0
    # played before: what Blender itself renders of the copy is the same, whichever frame is asked for first
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "whole" / "simulated.blend"))
    bpy.context.scene.frame_set(4)
    item = bpy.data.objects[name]
    mesh = item.evaluated_get(bpy.context.evaluated_depsgraph_get())
    moved = sum((mesh.matrix_world @ vertex.co for vertex in mesh.data.vertices), start=mesh.location * 0)
    assert (moved - played[3]).length < 1e-3 * len(mesh.data.vertices)  # at 24000/1001 where it was played at 24


def _patched(path, old, new):
    """The open scene as a .blend that is not compressed, with bytes of it replaced."""
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True, compress=False)
    data = path.read_bytes()
    assert old in data and len(old) == len(new)
    path.write_bytes(data.replace(old, new))
    return path


def test_a_view_that_this_blender_lacks_is_no_other_one(tmp_path):
    scene = render_scenes.build(2)
    scene.view_settings.view_transform = "False Color"
    path = _patched(tmp_path / "s.blend", b"False Color\0", b"Falsk Color\0")
    code, status = run(tmp_path / "a", path, last=0)
    assert code == 2 and "'Falsk Color'" in status.error and "--view-transform" in status.error
    code, status = run(tmp_path / "b", path, last=0, view_transform="Filmic")
    assert code == 0 and (status.view_transform, status.display_device) == ("Filmic", "sRGB")
    assert any("'Falsk Color' is not there" in note for note in status.notes)
    code, status = run(tmp_path / "c", path, last=0, view_transform="Technicolor")
    assert code == 2 and "no view transform 'Technicolor'; it has 'Standard'" in status.error
    assert hashes(tmp_path / "b") and not (tmp_path / "a" / "frames").exists()


def test_a_scene_of_a_newer_blender_is_not_opened_with_loss(tmp_path):
    render_scenes.build(2)
    path = _patched(tmp_path / "s.blend", b"BLENDER17-01v05", b"BLENDER17-01v07")
    code, status = run(tmp_path / "job", path)
    assert code == 2 and "saved by Blender 7." in status.error and "would lose" in status.error


def test_scripts_of_the_scene_do_not_run_and_that_is_told(tmp_path):
    scene = render_scenes.build(2)
    text = bpy.data.texts.new("boot.py")
    text.write(f"open({str(tmp_path / 'ran')!r}, 'w')")
    text.use_module = True
    bpy.data.objects["ball"].driver_add("location", 2).driver.expression = "len([1, 2]) + frame"
    assert scene
    code, status = run(tmp_path / "job", render_scenes.save(tmp_path / "s.blend"), last=0)
    assert code == 0 and not (tmp_path / "ran").exists()
    assert any("scripts of the .blend are not run" in note for note in status.notes)


def test_nothing_is_written_outside_the_jobs_folder(tmp_path):
    scene = render_scenes.build(2)
    scene.render.filepath = str(tmp_path / "elsewhere" / "f")
    tree = bpy.data.node_groups.new("comp", "CompositorNodeTree")
    inner = bpy.data.node_groups.new("inner", "CompositorNodeTree")
    tree.interface.new_socket("Image", in_out="OUTPUT", socket_type="NodeSocketColor")
    layers, output, group = (
        tree.nodes.new(name) for name in ("CompositorNodeRLayers", "NodeGroupOutput", "CompositorNodeGroup")
    )
    inner.interface.new_socket("Image", in_out="INPUT", socket_type="NodeSocketColor")
    entry = inner.nodes.new("NodeGroupInput")
    group.node_tree = inner
    for owner, source in ((tree, layers.outputs["Image"]), (inner, entry.outputs[0])):
        node = owner.nodes.new("CompositorNodeOutputFile")
        node.directory = str(tmp_path / "elsewhere")
        node.file_output_items.new("RGBA", "image")
        owner.links.new(source, node.inputs[0])
    tree.links.new(layers.outputs["Image"], output.inputs[0])
    tree.links.new(layers.outputs["Image"], group.inputs[0])
    scene.compositing_node_group = tree
    code, status = run(tmp_path / "a {job} #1", render_scenes.save(tmp_path / "s.blend"), last=1)
    assert code == 0 and sorted(hashes(tmp_path / "a {job} #1")) == ["000000.png", "000001.png"]
    assert not (tmp_path / "elsewhere").exists()
    assert sum("is muted" in note for note in status.notes) == 2


def test_addons_of_a_job(tmp_path, scene):
    code, status = run(tmp_path / "a", scene, last=0, addons=["no_such_addon"])
    assert code == 2 and "no_such_addon cannot be enabled" in status.error and "\n" not in status.error
    assert run(tmp_path / "b", scene, last=0, addons=["io_scene_fbx"])[0] == 0


def test_a_bound_camera_that_is_hidden_from_renders_is_passed_over_and_told(tmp_path):
    render_scenes.build(4)
    run(tmp_path / "first", render_scenes.save(tmp_path / "first.blend"))
    render_scenes.build(4, two_shots=True)
    bpy.data.objects["second"].hide_render = True
    code, status = run(tmp_path / "job", render_scenes.save(tmp_path / "s.blend"), passes=True)
    assert code == 0 and hashes(tmp_path / "job") == hashes(tmp_path / "first")
    assert any("'second' of marker 'b' is hidden" in note for note in status.notes)
    with np.load(tmp_path / "job" / "geometry" / "000000.npz") as chunk:
        assert np.isfinite(chunk["flow_next"][1]).any(), "there is no cut"


def test_only_what_was_rendered_counts_in_the_time_of_a_frame(tmp_path, scene):
    run(tmp_path / "job", scene)
    code, status = run(tmp_path / "job", scene)
    assert code == 0 and (status.done, status.rendered, status.seconds_per_frame) == (4, 0, None)
    frame_path(tmp_path / "job", 2).unlink()
    _, status = run(tmp_path / "job", scene)
    assert status.rendered == 1 and status.seconds_per_frame > 0.005


def test_a_part_without_the_frames_that_are_not_tried(tmp_path, scene):
    (tmp_path / "job").mkdir()
    write_json(tmp_path / "job" / "job.json", RenderJob(str(scene), TIMELINE, 0, 3, passes=True).to_json())
    assert run_job(tmp_path / "job", (0, 3), [1]) == 0
    assert sorted(hashes(tmp_path / "job")) == ["000000.png", "000002.png", "000003.png"]
    assert not list((tmp_path / "job" / "geometry").glob("0*.npz")), "the chunk would not be whole"
    status = RenderStatus.read(tmp_path / "job", "parts/000000-000003.json")
    assert (status.state, status.done, status.total) == ("done", 3, 8)
