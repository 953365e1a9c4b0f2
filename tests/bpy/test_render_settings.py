# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of a scene that would make another picture than the job says, and a disk that fills up."""

import errno
import os
import shutil
from fractions import Fraction
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
import render_scenes
from matchcut.addon.audit.collect import audit_scene
from matchcut.addon.render import geometry, pictures
from matchcut.addon.render.job import run_job
from matchcut.evaluator.protocol.errors import BadInputError, ExitStatus
from matchcut.evaluator.protocol.files import write_json
from matchcut.evaluator.protocol.render_job import RenderJob, RenderStatus, frame_path
from matchcut.evaluator.protocol.timeline import Timeline

TIMELINE = Timeline(48, 28, Fraction(24000, 1001), 2)


def run(folder, scene, **options):
    folder.mkdir(exist_ok=True)
    write_json(folder / "job.json", RenderJob(str(scene), TIMELINE, 0, 0, **options).to_json())
    return run_job(folder), RenderStatus.read(folder)


def picture(folder):
    image = bpy.data.images.load(str(frame_path(folder, 0)))
    values = np.empty(image.size[0] * image.size[1] * 4, np.float32)
    image.pixels.foreach_get(values)
    bpy.data.images.remove(image)
    return values


@pytest.fixture
def save(tmp_path):
    """A function that saves a small scene, changed by a function."""

    def make(change=lambda scene: None, name="s"):
        change(render_scenes.build(2))
        return render_scenes.save(tmp_path / f"{name}.blend")

    return make


def test_the_samples_that_are_asked_for_hold_for_layers_with_their_own(tmp_path, save):
    def many(scene):
        scene.view_layers[0].samples = 33

    _, own = run(tmp_path / "own", save(many))
    assert own.samples == 33
    _, asked = run(tmp_path / "asked", save(many), samples=1)
    _, plain = run(tmp_path / "plain", save(name="plain"), samples=1)
    assert asked.samples == plain.samples == 1
    assert (picture(tmp_path / "asked") == picture(tmp_path / "plain")).all()
    assert (picture(tmp_path / "own") != picture(tmp_path / "plain")).any()

    def bounded(scene):
        many(scene)
        scene.cycles.samples, scene.cycles.use_layer_samples = 5, "BOUNDED"

    assert run(tmp_path / "bounded", save(bounded))[1].samples == 5


def test_a_view_of_saved_pictures_alone_is_told_and_gives_way_to_the_one_that_is_asked_for(tmp_path, save):
    def raw(scene):
        image = scene.render.image_settings
        image.color_management, image.view_settings.view_transform = "OVERRIDE", "Raw"

    _, own = run(tmp_path / "own", save(raw))
    _, asked = run(tmp_path / "asked", save(raw), view_transform="Standard")
    _, plain = run(tmp_path / "plain", save(name="plain"), view_transform="Standard")
    assert (own.view_transform, asked.view_transform, plain.view_transform) == ("Raw", "Standard", "Standard")
    assert (picture(tmp_path / "asked") == picture(tmp_path / "plain")).all()
    assert (picture(tmp_path / "own") != picture(tmp_path / "plain")).any()


def test_a_scene_that_saves_by_its_compositor_alone_is_rendered(tmp_path, save):
    code, status = run(tmp_path / "job", save(lambda scene: setattr(scene.render, "save_output", False)))
    assert (code, status.state) == (0, "done") and picture(tmp_path / "job").any()


def full_disk(monkeypatch):
    """What happens on a full disk: Blender writes a part of the file and says nothing."""
    monkeypatch.setattr(shutil, "disk_usage", lambda place: SimpleNamespace(free=10))


def test_a_picture_that_a_full_disk_cuts_short(tmp_path, save, monkeypatch):
    monkeypatch.setattr(pictures, "_render_file", lambda scene, number, path: path.write_bytes(b"\x89PNG"))
    scene = save()
    code, status = run(tmp_path / "a", scene)
    assert code == ExitStatus.OPERATIONAL_FAILURE and "no picture of 48x28" in status.error and status.frame == 0
    full_disk(monkeypatch)
    code, status = run(tmp_path / "b", scene)
    assert code == ExitStatus.OPERATIONAL_FAILURE and status.frame is None, "no other frame would fare better"
    assert status.error.startswith(f"{tmp_path / 'b'}: the disk is full; free some space")
    assert not list((tmp_path / "b").glob("**/.partial*"))


def test_passes_that_a_full_disk_cuts_short(tmp_path, save, monkeypatch):
    monkeypatch.setattr(geometry, "save_render", lambda scene, path: path.write_bytes(b"v/1\x01"))
    full_disk(monkeypatch)
    code, status = run(tmp_path / "job", save(), passes=True)
    assert code == ExitStatus.OPERATIONAL_FAILURE and "the disk is full" in status.error and status.frame is None


def test_any_other_disk_error_says_what_the_system_says(tmp_path, save, monkeypatch):
    def fail(scene, number, path):
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

    monkeypatch.setattr(pictures, "_render_file", fail)
    code, status = run(tmp_path / "job", save())
    assert code == ExitStatus.OPERATIONAL_FAILURE and os.strerror(errno.EIO) in status.error


def test_an_audit_does_not_pass_what_this_blender_cannot_read_whole(tmp_path):
    render_scenes.build(2)
    path = tmp_path / "s.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True, compress=False)
    data = path.read_bytes()
    assert data.startswith(b"BLENDER17-01v05")
    path.write_bytes(data.replace(b"BLENDER17-01v05", b"BLENDER17-01v07", 1))
    with pytest.raises(BadInputError, match=r"s\.blend: saved by Blender 7\."):
        audit_scene(path, tmp_path)
    assert not (tmp_path / "findings.json").exists()
