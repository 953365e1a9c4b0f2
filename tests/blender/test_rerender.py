# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames of a scene rendered again by a real Blender: honest videos agree, cheating ones are named."""

import json
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from matchcut.evaluator.audit.rerender import find_submitted, rerender
from matchcut.evaluator.environment.sealed import sealed
from matchcut.evaluator.media.decode import stream
from matchcut.evaluator.media.encode import encode
from matchcut.evaluator.protocol.children import child_environment
from matchcut.evaluator.protocol.errors import BadInputError, OperationalError
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.protocol.timeline import Timeline
from matchcut.evaluator.render.job import render_scene

FRAMES = 6
TIMELINE = Timeline(64, 36, Fraction(24), FRAMES)
# what a hostile scene would run while it renders, or on load
HOSTILE = """
text = scenes.bpy.data.texts.new("run.py"); text.use_module = True
text.write("open({mark!r}, 'w').write('ran')")
scene.render.use_freestyle = True; layer = scene.view_layers[0]; layer.use_freestyle = True
layer.freestyle_settings.mode = "SCRIPT"; layer.freestyle_settings.modules.new().script = text
"""


def video(path, pictures):
    pictures = [np.clip(picture, 0, 255).astype(np.uint8) for picture in pictures]
    encode(pictures, TIMELINE.rate, path, reporter=SilentReporter(), total=len(pictures))
    return path


@pytest.fixture(scope="module")
def made(blender, make_scene, tmp_path_factory):
    """(job folder, reference, the job's pictures): a scene rendered against a reference that is much like it."""
    folder = tmp_path_factory.mktemp("made")
    y, x = np.mgrid[:36, :64]
    # as a careful reconstruction is: the same layout in other colours
    given = [
        np.stack([90 + 60 * np.sin((x + 3 * i) / 9), 120 + 50 * np.cos(y / 6), 60 + 2 * x], -1) for i in range(FRAMES)
    ]
    reference = video(folder / "given.mp4", given)
    scene = make_scene("again", frames=FRAMES, two_shots=True)
    render_scene(scene, folder / "job", TIMELINE, blender=blender, reporter=SilentReporter(), samples=4, device="cpu")
    return folder / "job", reference, [frame.image for frame in stream(folder / "job" / "reconstruction.mp4")]


def again(made, blender, count=3, seed=1, path=None, **changes):
    submitted = replace(find_submitted(path or made[0]), **changes)
    return rerender(submitted, made[1], count=count, seed=seed, blender=blender, reporter=SilentReporter())


def test_an_honest_video_agrees(made, blender):
    report = again(made, blender)
    assert report.verdict == "agree" and not report.nearer_to_reference and report.samples == 4
    assert len(report.frames) == 3 and all(frame.psnr_db > 30 for frame in report.frames), report.frames
    assert report.isolation == sealed(blender).isolation and report.settings == "job" and report.notes is not None
    assert str(made[0].parent) not in report.model_dump_json()
    # the scene alone: its own samples are others, so the noise is
    bare = again(made, blender, count=2, path=made[0] / "scene.blend", reconstruction=made[0] / "reconstruction.mp4")
    assert bare.settings == "scene" and bare.samples == 2 and bare.verdict == "agree", bare.frames


@pytest.mark.parametrize("cheat", ["reference", "pasted", "brighter", "late"])
def test_cheating_videos_are_flagged(made, blender, tmp_path, cheat):
    _, reference, own = made
    given = [frame.image for frame in stream(reference)]
    pictures = {
        "reference": given,
        "pasted": [np.hstack([a[:, :40], b[:, 40:]]) for a, b in zip(own, given, strict=True)],
        "brighter": [picture * 1.15 for picture in own],
        "late": [own[0], *own[:-1]],
    }[cheat]
    report = again(made, blender, count=2, seed=3, reconstruction=video(tmp_path / "cheat.mp4", pictures))
    assert report.verdict == "differ", report.frames
    assert report.nearer_to_reference is (cheat in ("reference", "pasted")), report.frames


def test_another_scene_differs_and_a_short_video_too(made, blender, make_scene, tmp_path):
    other = make_scene(
        "other", frames=FRAMES, change="scene.camera.location.y = 4; scene.camera.animation_data_clear()"
    )
    report = again(made, blender, count=1, path=other, reconstruction=made[0] / "reconstruction.mp4")
    assert report.verdict == "differ"
    short = video(tmp_path / "short.mp4", made[2][:1])
    report = again(made, blender, count=1, seed=2, reconstruction=short)
    assert report.frames[0].shown is None and "has ended" in report.frames[0].detail


def test_a_record_cannot_ask_for_so_few_pixels_that_all_looks_alike(made, blender):
    asked = find_submitted(made[0]).asked.model_copy(update={"scale": 0.05})
    report = again(made, blender, count=1, asked=asked)
    assert (report.width, report.height) == (64, 36) and report.verdict == "agree"
    assert any("0.05 times" in note and "64x36" in note for note in report.notes)


def test_scripts_of_the_file_do_not_run(made, blender, make_scene, tmp_path):
    mark = tmp_path / "mark"
    scene = make_scene("hostile", frames=FRAMES, two_shots=True, change=HOSTILE.format(mark=str(mark)))
    report = again(made, blender, count=1, path=scene, reconstruction=made[0] / "reconstruction.mp4")
    assert not mark.exists() and any("Freestyle" in note for note in report.notes)


def test_what_cannot_be_rendered_is_no_difference(made, blender, make_scene):
    nothing = make_scene("no_camera", change="scenes.bpy.data.objects.remove(scene.camera)")
    with pytest.raises((BadInputError, OperationalError), match="no camera"):
        again(made, blender, path=nothing, reconstruction=made[0] / "reconstruction.mp4")


def test_command_line(made, blender, root, tmp_path):
    job, reference, _ = made
    command = [sys.executable, str(root / "__main__.py"), "audit", str(job), "--reference", str(reference)]
    environment = {**child_environment(), "BLENDER": blender.path, "TMPDIR": str(tmp_path)}
    out = tmp_path / "audit.json"
    done = subprocess.run(
        [*command, "--rerender", "2", "--seed", "4", "--json", "--out", str(out)], capture_output=True, text=True,
        env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer == json.loads(out.read_text()) and answer["passed"] and answer["rerender"]["verdict"] == "agree"
    assert answer["rerender"]["seed"] == 4 and [path.name for path in tmp_path.iterdir()] == ["audit.json"]
    wrong = subprocess.run([*command, "--seed", "4"], capture_output=True, text=True, env=environment)
    assert wrong.returncode == 2 and "--rerender" in wrong.stderr
