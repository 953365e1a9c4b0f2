# SPDX-License-Identifier: GPL-3.0-or-later
"""Deliverables of a real render: packaged, checked with a Blender, and what the scene needs besides itself told."""

import json
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from matchcut.evaluator.deliver.package import package_job
from matchcut.evaluator.deliver.records import SUBMISSION
from matchcut.evaluator.deliver.scene import describe
from matchcut.evaluator.deliver.validate import validate_folder
from matchcut.evaluator.media.encode import encode
from matchcut.evaluator.protocol.children import child_environment
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.files import sha256_of
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.protocol.timeline import Timeline
from matchcut.evaluator.render.job import render_scene

TIMELINE = Timeline(64, 36, Fraction(24000, 1001), 4)
OUTSIDE = """
image = scenes.bpy.data.images.new("wall", 8, 8); image.filepath_raw = {path!r}; image.file_format = "PNG"; image.save()
loaded = scenes.bpy.data.images.load({path!r}); loaded.use_fake_user = True
lost = scenes.bpy.data.images.new("lost", 8, 8); lost.source = "FILE"
lost.filepath = "//gone/sky.png"; lost.use_fake_user = True
kept = scenes.bpy.data.images.new("kept", 8, 8); kept.pack(); kept.use_fake_user = True
"""


class Listener(SilentReporter):
    def __init__(self):
        self.warnings = []

    def warning(self, text):
        self.warnings.append(text)


@pytest.fixture(scope="module")
def rendered(blender, make_scene, tmp_path_factory):
    """(job folder, reference): a small scene rendered on the timeline of a grey video."""
    folder = tmp_path_factory.mktemp("rendered")
    reference = folder / "given.mp4"
    encode([np.full((36, 64, 3), 60 * i, np.uint8) for i in range(4)], TIMELINE.rate, reference,
           reporter=SilentReporter(), total=4)  # fmt: skip
    render_scene(
        make_scene(), folder / "job", TIMELINE, blender=blender, reporter=SilentReporter(), samples=1, device="cpu"
    )
    return folder / "job", reference


def test_a_render_is_packaged_and_passes(blender, rendered, tmp_path):
    job, reference = rendered
    out = tmp_path / "out"
    submission = package_job(job, reference, out, blender=blender, reporter=SilentReporter())
    assert submission.external_files == [] and submission.rendered.engine == "CYCLES"
    assert submission.rendered.blender.startswith(blender.version) and submission.rendered.device == "CPU"
    text = (out / "report.md").read_text(encoding="utf-8")
    assert "Nothing: all that it needs is in it." in text and "the scene renders 1920x1080" in text
    assert str(job.parent) not in text + (out / SUBMISSION).read_text()
    found = validate_folder(out, blender=blender, reporter=SilentReporter())
    assert [f for f in found.findings if f.where == "scene.blend"] == []
    assert found.files[0].what.startswith("saved by Blender 5.")


def test_files_outside_are_told(blender, make_scene, tmp_path):
    scene = make_scene("outside", change=OUTSIDE.format(path=str(tmp_path / "wall.png")))
    told = {(item.name, item.file, item.missing) for item in describe(scene, blender).external}
    assert told == {("wall.png", "wall.png", False), ("lost", "sky.png", True)}
    reference = tmp_path / "given.mp4"
    pictures = [np.full((36, 64, 3), 200, np.uint8)] * 4
    encode(pictures, TIMELINE.rate, reference, reporter=SilentReporter(), total=4)
    render_scene(scene, tmp_path / "job", TIMELINE, blender=blender, reporter=SilentReporter(), samples=1, device="cpu")
    listener = Listener()
    submission = package_job(tmp_path / "job", reference, tmp_path / "out", blender=blender, reporter=listener)
    assert [(item.file, item.missing) for item in submission.external_files] == [("sky.png", True), ("wall.png", False)]
    assert len(listener.warnings) == 2 and "Pack Resources" in listener.warnings[0]
    assert "sky.png (missing)" in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    (tmp_path / "wall.png").unlink()
    found = validate_folder(tmp_path / "out", blender=blender, reporter=SilentReporter())
    assert sum("needs the file" in finding.what for finding in found.findings) == 2


def test_scenes_that_do_not_open_or_have_no_camera(blender, make_scene, rendered, tmp_path):
    job, reference = rendered
    out = tmp_path / "out"
    package_job(job, reference, out, blender=blender, reporter=SilentReporter())
    nothing = make_scene("no_camera", change="scenes.bpy.data.objects.remove(scene.camera)").read_bytes()
    for data, told in (((out / "scene.blend").read_bytes()[:3000], "cannot open"), (nothing, "no camera")):
        (out / "scene.blend").write_bytes(data)
        submission = json.loads((out / SUBMISSION).read_text())
        submission["files"][0].update(bytes=len(data), sha256=sha256_of(out / "scene.blend"))
        (out / SUBMISSION).write_text(json.dumps(submission))
        found = validate_folder(out, blender=blender, reporter=SilentReporter())
        faults = [f.what for f in found.findings if f.severity == "fault" and f.where == "scene.blend"]
        assert len(faults) == 1 and told in faults[0] and str(out) not in faults[0], faults
    with pytest.raises(BadInputError):
        describe(reference, blender)


def test_command_line(blender, rendered, root, tmp_path):
    job, reference = rendered
    command = [sys.executable, str(root / "__main__.py")]
    environment = {**child_environment(), "BLENDER": blender.path}
    arguments = ["package", str(job), "--reference", str(reference), "--out", str(tmp_path / "out")]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, env=environment)
    assert done.returncode == 0 and "scene.blend" in done.stdout, done.stderr
    checked = subprocess.run(
        [*command, "validate", str(tmp_path / "out"), "--blender", "--json"],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert checked.returncode == 0, checked.stderr
    assert json.loads(checked.stdout)["files"][0]["what"].startswith("saved by Blender")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
