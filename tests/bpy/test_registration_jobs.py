# SPDX-License-Identifier: GPL-3.0-or-later
"""What the buttons have in common: one job at a time, its end, its results, and nothing left running."""

import sys
from pathlib import Path
from types import SimpleNamespace

import bpy
import matchcut
import pytest
from matchcut.addon import jobs
from matchcut.addon.scene_file import save_copy
from matchcut.addon.sidebar.evaluator.environment import install
from matchcut.addon.sidebar.reference import read
from matchcut.addon.sidebar.render.run import render as start_render
from matchcut.evaluator.protocol.errors import BadInputError
from stand_in import VIDEO, asked, scene

__all__ = ["scene"]


def test_the_reference_is_read_and_the_timeline_matched(scene):
    assert not scene.matchcut.reference.known
    assert not bpy.ops.matchcut.match_timeline.poll()
    assert bpy.ops.matchcut.read_reference() == {"FINISHED"}
    reference = scene.matchcut.reference
    assert reference.known
    assert reference.timeline().to_json() == VIDEO["timeline"]
    assert [warning.text for warning in reference.warnings] == VIDEO["warnings"]
    bpy.ops.matchcut.match_timeline()
    assert (scene.render.resolution_x, scene.render.resolution_y, scene.render.fps) == (96, 54, 24)
    assert scene.frame_end - scene.frame_start + 1 == 48
    reference.path = "other.mp4"
    assert not reference.known, "what was read belongs to another file"


def test_the_copy_keeps_relative_paths(scene, tmp_path):
    artists = tmp_path / "artist" / "shot.blend"
    artists.parent.mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(artists))
    image = bpy.data.images.new("texture", 4, 4)
    image.source, image.filepath, image.use_fake_user = "FILE", "//texture.png", True
    copy = save_copy(scene, tmp_path / "elsewhere" / "deep" / "scene.blend")
    assert image.filepath == "//texture.png"
    bpy.ops.wm.open_mainfile(filepath=str(copy))
    found = bpy.path.abspath(bpy.data.images["texture"].filepath)
    assert Path(found).resolve() == artists.parent / "texture.png"


def test_without_an_evaluator_nothing_is_written(scene, tmp_path, monkeypatch):
    def none():
        raise BadInputError("the evaluator is not installed")

    monkeypatch.setattr(jobs, "find_evaluator", none)
    for operator in (bpy.ops.matchcut.render, bpy.ops.matchcut.score):
        with pytest.raises(RuntimeError, match="not installed"):
            operator()
    assert not (tmp_path / "out").exists()


def test_each_scene_has_a_reference_of_its_own(scene, tmp_path, monkeypatch):
    other = bpy.data.scenes.new("Other")
    picked = []
    monkeypatch.setattr(read, "reference_picked", picked.append)
    (tmp_path / "other.mp4").write_bytes(b"video")
    other.matchcut.reference.path = str(tmp_path / "other.mp4")
    assert picked == [other], "not the scene that the window shows"
    jobs.wait(read.read_reference(other))
    assert other.matchcut.reference.known and not scene.matchcut.reference.known
    assert asked(tmp_path)[1] == str(tmp_path / "other.mp4")


def test_a_job_whose_results_break_something_has_ended(scene, monkeypatch):
    monkeypatch.setattr(read, "_store", lambda *_: {}["a bug"])
    job = read.read_reference(scene)
    with pytest.raises(KeyError):
        jobs.wait(job)
    assert job.state == "failed" and "system console" in job.error
    assert jobs.running() is None, "nothing could be started any more"


def test_one_job_at_a_time(scene):
    job = read.read_reference(scene)
    assert not bpy.ops.matchcut.score.poll()
    with pytest.raises(BadInputError, match="still running"):
        start_render(scene)
    jobs.wait(job)
    assert bpy.ops.matchcut.score.poll()


def test_disabling_the_add_on_ends_the_job(scene, tmp_path):
    sleeper = tmp_path / "sleeper.py"
    sleeper.write_text("import time; time.sleep(60)")
    job = jobs.start("Sleeping", [], lambda messages: None, prefix=[sys.executable, str(sleeper)])
    matchcut.unregister()
    assert job.process._process.returncode is not None
    matchcut.register()


def test_opening_another_file_cancels_the_job(scene, tmp_path):
    sleeper = tmp_path / "sleeper.py"
    sleeper.write_text("import time; time.sleep(60)")
    job = jobs.start("Sleeping", [], lambda messages: None, prefix=[sys.executable, str(sleeper)])
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    assert job.process.cancelling
    job.process.stop()


def test_installing_needs_online_access(scene):
    assert not bpy.ops.matchcut.install_evaluator.poll()
    with pytest.raises(BadInputError, match="online access is off"):
        install()


def test_after_a_file_was_opened_the_panels_are_drawn_once_more(scene, monkeypatch):
    waits, drawn = [], []
    timers = SimpleNamespace(is_registered=waits.__contains__, register=lambda call, first_interval: waits.append(call))
    blender = SimpleNamespace(app=SimpleNamespace(background=False, timers=timers), context=bpy.context)
    monkeypatch.setattr(jobs, "redraw", lambda: drawn.append(None))
    with monkeypatch.context() as window:
        window.setattr(jobs, "bpy", blender)
        jobs._scene_gone()
        jobs._scene_gone()
    (later,) = waits
    drawn.clear()
    assert later() is None and drawn == [None], "once, after all handlers: else a panel keeps its old height"
