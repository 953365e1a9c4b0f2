# SPDX-License-Identifier: GPL-3.0-or-later
"""The Render panel's buttons: previews and finals in folders of their own, resumed, listed, played."""

import json
from pathlib import Path

import bpy
import pytest
from matchcut.addon import jobs
from matchcut.addon.sidebar.paths import absolute
from matchcut.addon.sidebar.render import run
from matchcut.addon.sidebar.render.run import unfinished_render
from stand_in import FLAGS, asked, scene

__all__ = ["scene"]


def rows(scene):
    return [(row.name, row.frames, row.is_done, Path(row.video).name) for row in scene.matchcut.render.renders]


def test_every_render_has_a_folder_of_its_own_and_is_listed(scene, tmp_path):
    assert not bpy.ops.matchcut.play_render.poll() and not bpy.ops.matchcut.open_render_folder.poll()
    render, out = scene.matchcut.render, tmp_path / "out"
    render.mode = "FINAL"
    bpy.ops.matchcut.render()
    assert Path(render.folder) == out / "render-001"
    assert Path(render.video) == out / "render-001" / "reconstruction.mp4"
    render.mode, render.frames = "PREVIEW", "CURRENT"
    scene.frame_set(3)
    bpy.ops.matchcut.render()
    assert Path(render.folder) == out / "render-002"
    assert Path(render.video).parent.name == "render-001", "the last video of all frames is that which is compared"
    render.frames, render.every = "ALL", 4
    bpy.ops.matchcut.render()
    assert rows(scene) == [
        ("render-003", 12, True, "preview.mp4"),
        ("render-002", 1, True, ""),
        ("render-001", 48, True, "reconstruction.mp4"),
    ]
    assert render.renders[2].seconds == pytest.approx(48 * 0.25)
    (out / "render-003" / "preview.mp4").unlink()
    with pytest.raises(RuntimeError, match="the video is not there any more"):
        bpy.ops.matchcut.play_render()
    (out / "render-002" / "job.json").unlink()
    with pytest.raises(RuntimeError, match="the render is not there any more"):
        bpy.ops.matchcut.open_render_folder(row=1)


def test_renders_are_found_on_the_disk(scene, tmp_path):
    scene.matchcut.render.mode = "FINAL"
    bpy.ops.matchcut.render()
    bpy.ops.matchcut.render()
    render = scene.matchcut.render
    render.renders.clear()
    render.folder = render.video = ""
    (tmp_path / "out" / "render-004").mkdir()
    (tmp_path / "out" / "render-005").mkdir()
    (tmp_path / "out" / "render-005" / "job.json").write_text("damaged")
    run.find_renders(scene)
    assert [row.name for row in render.renders] == ["render-002", "render-001"]
    assert Path(render.folder).name == "render-002" and Path(render.video).parent.name == "render-002"


def test_the_list_outlives_undo_and_a_render_leaves_nothing_to_undo(scene):
    bpy.ops.ed.undo_push(message="base")
    bpy.ops.mesh.primitive_cube_add()
    bpy.ops.ed.undo_push(message="cube")
    bpy.ops.matchcut.render()
    bpy.ops.ed.undo()
    assert [row.name for row in bpy.context.scene.matchcut.render.renders] == ["render-001"]


def test_the_options_of_a_final_render(scene, tmp_path):
    render = scene.matchcut.render
    render.mode = "FINAL"
    bpy.ops.matchcut.render()
    assert asked(tmp_path)[7:] == ["--reusable", *FLAGS], "where nothing is chosen the scene's own settings stay"
    render.scale, render.frames, render.every = 25, "CURRENT", 3  # of previews
    render.engine, render.device, render.view_transform = "EEVEE", "OPTIX", "Standard"
    render.workers, render.passes = 2, True
    scene.matchcut.use_samples, scene.matchcut.samples = True, 3
    bpy.ops.matchcut.render()
    assert asked(tmp_path)[7:] == [
        "--samples", "3", "--engine", "eevee", "--device", "optix", "--view-transform", "Standard", "--workers", "2",
        "--reusable", "--passes", *FLAGS,
    ]  # fmt: skip


def test_the_options_of_a_preview(scene, tmp_path):
    render = scene.matchcut.render
    assert render.mode == "PREVIEW"
    bpy.ops.matchcut.render()
    assert asked(tmp_path)[7:] == ["--scale", "0.5", "--samples", "16", *FLAGS]
    render.frames, render.every, render.scale, render.preview_samples = "PREVIEW", 2, 25, 4
    scene.matchcut.use_samples, scene.matchcut.samples = True, 300  # of finals and scores
    scene.frame_start, scene.frame_end = 11, 58
    with pytest.raises(RuntimeError, match="there is no preview range"):
        bpy.ops.matchcut.render()
    scene.use_preview_range, scene.frame_preview_start, scene.frame_preview_end = True, 20, 400
    bpy.ops.matchcut.render()
    assert asked(tmp_path)[7:] == [
        "--frames", "9-47", "--every", "2", "--scale", "0.25", "--samples", "4", *FLAGS,
    ]  # fmt: skip
    bpy.ops.matchcut.read_reference()
    scene.frame_preview_start, scene.frame_preview_end = 60, 70
    with pytest.raises(RuntimeError, match="frames 60 to 70: the reference covers the scene's frames 11 to 58"):
        bpy.ops.matchcut.render()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["render-001", "render-002"]


def test_a_render_that_failed_is_resumed_from_its_copy(scene, tmp_path):
    (tmp_path / "reference.mp4").write_bytes(b"broken")
    assert not bpy.ops.matchcut.resume_render.poll()
    with pytest.raises(RuntimeError, match="it has no frames"):
        bpy.ops.matchcut.render()
    assert unfinished_render(scene) == "render-001"
    copy = (tmp_path / "out" / "render-001" / "scene.blend").read_bytes()
    first = asked(tmp_path)
    (tmp_path / "reference.mp4").write_bytes(b"mended")
    bpy.data.objects["Cube"].location.x = 5
    scene.matchcut.render.scale = 25
    bpy.ops.matchcut.resume_render()
    assert asked(tmp_path) == first and (tmp_path / "out" / "render-001" / "scene.blend").read_bytes() == copy
    assert Path(scene.matchcut.render.folder).name == "render-001"
    assert unfinished_render(scene) == "" and not bpy.ops.matchcut.resume_render.poll()


def test_a_render_that_ends_after_save_as_is_the_scenes_all_the_same(scene, tmp_path):
    for name in ("here", "elsewhere"):
        (tmp_path / name).mkdir()
    scene.matchcut.output, scene.matchcut.render.mode = "", "FINAL"
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "here" / "shot.blend"))
    job = run.render(scene)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "elsewhere" / "shot.blend"))
    jobs.wait(job)
    made = tmp_path / "here" / "matchcut" / "render-001"
    assert absolute(scene.matchcut.render.folder) == made and made.is_dir()
    assert rows(scene) == [("render-001", 48, True, "reconstruction.mp4")]


def test_what_was_cut_short_is_offered_after_the_file_is_opened_again(scene, tmp_path):
    """Also where the whole folder was moved meanwhile, and the scene renamed."""
    place = tmp_path / "shot"
    place.mkdir()
    (tmp_path / "reference.mp4").replace(place / "reference.mp4")
    scene.matchcut.reference.path, scene.matchcut.output = str(place / "reference.mp4"), ""
    bpy.ops.wm.save_as_mainfile(filepath=str(place / "shot.blend"))
    (place / "reference.mp4").write_bytes(b"broken")
    with pytest.raises(RuntimeError, match="it has no frames"):
        bpy.ops.matchcut.render()
    scene.name = "Renamed"
    bpy.ops.wm.save_mainfile()
    moved = tmp_path / "moved"
    place.rename(moved)
    (moved / "reference.mp4").write_bytes(b"mended")
    bpy.ops.wm.open_mainfile(filepath=str(moved / "shot.blend"))
    scene = bpy.context.scene
    run.find_renders(scene)  # as the window does when a file is opened
    assert unfinished_render(scene) == "render-001"
    bpy.ops.matchcut.resume_render()
    folder = moved / "matchcut" / "render-001"
    assert asked(tmp_path)[1:7] == [
        "--reference", str(moved / "reference.mp4"), "--scene", str(folder / "scene.blend"), "--out", str(folder)
    ]  # fmt: skip
    assert rows(scene)[0][:3] == ("render-001", 48, True)


def test_a_resume_of_what_was_deleted_is_one_line(scene, tmp_path):
    (tmp_path / "reference.mp4").write_bytes(b"broken")
    with pytest.raises(RuntimeError, match="it has no frames"):
        bpy.ops.matchcut.render()
    (tmp_path / "out" / "render-001" / "scene.blend").unlink()
    with pytest.raises(RuntimeError, match="not there any more; render anew"):
        bpy.ops.matchcut.resume_render()
    assert not bpy.ops.matchcut.resume_render.poll()


def test_another_scenes_unfinished_render_is_not_offered(scene, tmp_path):
    (tmp_path / "reference.mp4").write_bytes(b"broken")
    with pytest.raises(RuntimeError, match="it has no frames"):
        bpy.ops.matchcut.render()
    other = bpy.data.scenes.new("Other")
    other.matchcut.output = scene.matchcut.output
    other.matchcut.reference.path = scene.matchcut.reference.path
    run.find_renders(other)
    assert unfinished_render(other) == "" and unfinished_render(scene) == "render-001"
    request = json.loads((tmp_path / "out" / "render-001" / "request.json").read_text())
    assert request["scene"] == scene.name and str(tmp_path) not in json.dumps(request["arguments"])
