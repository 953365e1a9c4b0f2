# SPDX-License-Identifier: GPL-3.0-or-later
"""The buttons' work against a stand-in for the evaluator that speaks the real protocol and checks what it is given."""

import json
import sys
import textwrap
from pathlib import Path

import bpy
import matchcut
import pytest
from matchcut.addon import jobs
from matchcut.addon.scene_file import save_copy
from matchcut.addon.sidebar.evaluator.install import install_evaluator
from matchcut.addon.sidebar.reference import read
from matchcut.addon.sidebar.render.run import render as start_render
from matchcut.addon.sidebar.render.run import unfinished_render
from matchcut.addon.sidebar.results.store import report_path
from matchcut.addon.sidebar.score.run import is_loopback, score
from matchcut.evaluator.protocol.errors import BadInputError

VIDEO = {
    "timeline": {"width": 96, "height": 54, "rate": "24000/1001", "frames": 48},
    "warnings": ["The picture is rotated by 90 degrees"],
}
RESULTS = {
    "format": "matchcut-results/1",
    "timeline": {
        "comparisons": [{"name": "rate", "reference": "24/1", "reconstruction": "24/1", "agrees": True}],
        "offset_frames": 0, "offset_reason": "", "faults": [],
    },
    "shots": {"reference_cuts": [], "reconstruction_cuts": [], "matches": [], "detector": "d"},
    "sgc": {"score": 0.5, "pairs_scored": 46, "pairs_expected": 47, "reason": ""},
    "checklist": {"unscored": True, "reason": "not judged: no judge configured"},
}  # fmt: skip

FLAGS = ["--messages", "--follow-parent"]
EVALUATOR = """
import json, sys
from pathlib import Path
arguments = sys.argv[1:]
flags = ("--passes", "--messages", "--follow-parent")
pairs = [argument for argument in arguments[1:] if argument not in flags]
options = dict(zip(pairs[::2], pairs[1::2])) if arguments[0] != "probe" else {}
def say(**fields):
    print(json.dumps(fields), flush=True)
Path(__file__).with_name("asked.json").write_text(json.dumps(arguments))
assert arguments[-2:] == ["--messages", "--follow-parent"]
if arguments[0] == "probe":
    say(type="result", path=arguments[1], data=VIDEO)
elif Path(options["--reference"]).read_bytes() == b"broken":
    say(type="error", text="reference.mp4: it has no frames; pick another file")
    sys.exit(2)
else:
    say(type="progress", stage="render", done=1, total=2)
    say(type="warning", text="the scene has no lights")
    out = Path(options["--out"])
    assert Path(options["--scene"]).read_bytes()
    if arguments[0] == "score":
        (out / "results.json").write_text(json.dumps(RESULTS))
        say(type="result", path=str(out / "results.json"), data={})
    else:
        (out / "job.json").write_text("{}")
        video = None if "--frames" in options else str(out / "reconstruction.mp4")
        say(type="result", path=video or str(out / "frames"), data={"folder": str(out), "video": video})
say(type="done", exit_status=0)
"""


@pytest.fixture
def scene(tmp_path, monkeypatch):
    """A fresh scene with a reference picked, Matchcut registered, the stand-in in the evaluator's place."""
    script = tmp_path / "evaluator.py"
    script.write_text(f"VIDEO = {VIDEO!r}\nRESULTS = {RESULTS!r}\n{textwrap.dedent(EVALUATOR)}")
    monkeypatch.setattr(jobs, "find_evaluator", lambda: [sys.executable, str(script)])
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    matchcut.register()
    scene = bpy.context.scene
    (tmp_path / "reference.mp4").write_bytes(b"video")
    scene.matchcut.reference.path = str(tmp_path / "reference.mp4")
    scene.matchcut.output = str(tmp_path / "out")
    yield scene
    matchcut.unregister()


def asked(tmp_path):
    return json.loads((tmp_path / "asked.json").read_text())


def lines(scene):
    return {(line.section, line.label): line.text for line in scene.matchcut.results.lines}


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


def test_score_leaves_the_artists_file_as_it_is(scene, tmp_path):
    artists = tmp_path / "artist" / "shot.blend"
    artists.parent.mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(artists))
    content = artists.read_bytes()
    scene.matchcut.output = ""
    scene.matchcut.setting = "simplified"
    scene.matchcut.use_samples, scene.matchcut.samples = True, 3
    scene.frame_set(7)
    assert bpy.ops.matchcut.score() == {"FINISHED"}
    folder = artists.parent / "matchcut" / "score-001"
    assert asked(tmp_path) == [
        "score", "--reference", str(tmp_path / "reference.mp4"), "--scene", str(folder / "scene.blend"),
        "--out", str(folder),
        "--setting", "simplified", "--samples", "3", *FLAGS,
    ]  # fmt: skip
    assert bpy.data.filepath == str(artists)
    assert artists.read_bytes() == content
    assert scene.frame_current == 7
    assert lines(scene)["SGC", "Pairs"] == "46 of 47 scored"
    assert lines(scene)["Checklist", "Overall"] == "not judged: no judge configured"
    assert jobs.last().warnings == ["the scene has no lights"]
    bpy.ops.matchcut.score()
    assert report_path(scene) == folder.with_name("score-002") / "report.html", "a score overwrote the one before"


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


def test_every_render_has_a_folder_of_its_own_which_is_remembered(scene, tmp_path):
    assert not bpy.ops.matchcut.play_render.poll() and not bpy.ops.matchcut.open_render_folder.poll()
    bpy.ops.matchcut.render()
    render = scene.matchcut.render
    assert Path(render.folder) == tmp_path / "out" / "render-001"
    assert Path(render.video) == tmp_path / "out" / "render-001" / "reconstruction.mp4"
    with pytest.raises(RuntimeError, match="the video is not there any more"):
        bpy.ops.matchcut.play_render()
    render.frames = "CURRENT"
    scene.frame_set(3)
    bpy.ops.matchcut.render()
    assert Path(render.folder) == tmp_path / "out" / "render-002" and render.video == ""
    assert not bpy.ops.matchcut.play_render.poll() and bpy.ops.matchcut.open_render_folder.poll()
    (tmp_path / "out" / "render-002" / "job.json").unlink()
    with pytest.raises(RuntimeError, match="the render is not there any more"):
        bpy.ops.matchcut.open_render_folder()


def test_the_options_of_a_render(scene, tmp_path):
    bpy.ops.matchcut.render()
    assert asked(tmp_path)[7:] == FLAGS, "where nothing is chosen the scene's own settings stay"
    render = scene.matchcut.render
    render.scale, render.engine, render.device, render.view_transform = 25, "EEVEE", "OPTIX", "Standard"
    render.workers, render.passes, render.frames = 2, True, "PREVIEW"
    scene.matchcut.use_samples, scene.matchcut.samples = True, 3
    scene.frame_start, scene.frame_end = 11, 58
    with pytest.raises(RuntimeError, match="there is no preview range"):
        bpy.ops.matchcut.render()
    scene.use_preview_range, scene.frame_preview_start, scene.frame_preview_end = True, 20, 400
    bpy.ops.matchcut.render()
    assert asked(tmp_path)[7:] == [
        "--samples", "3", "--frames", "9-47", "--scale", "0.25", "--engine", "eevee", "--device", "optix",
        "--view-transform", "Standard", "--workers", "2", "--passes", *FLAGS,
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
    scene.matchcut.render.scale = 50
    bpy.ops.matchcut.resume_render()
    assert asked(tmp_path) == first and (tmp_path / "out" / "render-001" / "scene.blend").read_bytes() == copy
    assert Path(scene.matchcut.render.folder).name == "render-001"
    assert unfinished_render(scene) == "" and not bpy.ops.matchcut.resume_render.poll()


def test_a_resume_of_what_was_deleted_is_one_line(scene, tmp_path):
    (tmp_path / "reference.mp4").write_bytes(b"broken")
    with pytest.raises(RuntimeError, match="it has no frames"):
        bpy.ops.matchcut.render()
    (tmp_path / "out" / "render-001" / "scene.blend").unlink()
    with pytest.raises(RuntimeError, match="not there any more; render anew"):
        bpy.ops.matchcut.resume_render()
    assert not bpy.ops.matchcut.resume_render.poll()


def test_without_an_evaluator_nothing_is_written(scene, tmp_path, monkeypatch):
    def none():
        raise BadInputError("the evaluator is not installed")

    monkeypatch.setattr(jobs, "find_evaluator", none)
    for operator in (bpy.ops.matchcut.render, bpy.ops.matchcut.score):
        with pytest.raises(RuntimeError, match="not installed"):
            operator()
    assert not (tmp_path / "out").exists()


def test_an_error_of_the_evaluator_is_its_one_line(scene, tmp_path):
    (tmp_path / "reference.mp4").write_bytes(b"broken")
    with pytest.raises(RuntimeError, match=r"reference\.mp4: it has no frames; pick another file"):
        bpy.ops.matchcut.score()
    assert jobs.last().state == "failed"
    assert len(scene.matchcut.results.lines) == 0
    (tmp_path / "reference.mp4").write_bytes(b"mended")
    bpy.ops.matchcut.score()
    assert report_path(scene) == tmp_path / "out" / "score-001" / "report.html", "what failed was not gone on with"


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda scene: setattr(scene.matchcut.reference, "path", "/no/such.mp4"), "the reference is not there"),
        (lambda scene: setattr(scene, "camera", None), "there is no camera"),
        (lambda scene: setattr(scene.matchcut, "checklist", "/no/clips"), "the checklist is not there"),
    ],
)
def test_bad_input_starts_nothing(scene, tmp_path, spoil, said):
    spoil(scene)
    with pytest.raises(RuntimeError, match=said):
        bpy.ops.matchcut.score()
    assert jobs.last() is None
    assert not (tmp_path / "out").exists()


def test_a_judge_elsewhere_needs_online_access(scene, tmp_path):
    (tmp_path / "clip.json").write_text("{}")
    scene.matchcut.checklist = str(tmp_path / "clip.json")
    scene.matchcut.judge = "local:http://judge.example:8000/v1#model"
    assert not bpy.app.online_access
    with pytest.raises(RuntimeError, match="online access is off"):
        bpy.ops.matchcut.score()
    scene.matchcut.judge = "local:http://127.0.0.1:8000/v1#model"
    bpy.ops.matchcut.score()
    assert asked(tmp_path)[-4:-2] == ["--judge", "local:http://127.0.0.1:8000/v1#model"]


@pytest.mark.parametrize(
    ("judge", "is_here"),
    [
        ("local:http://127.0.0.1:1/v1#m", True),
        ("local:http://localhost/v1#m", True),
        ("local:http://[::1]:80/v1#m", True),
        ("local:http://127.0.0.1.example.org/v1#m", False),
        ("local:http://localhost@example.org/v1#m", False),
        ("openai:gpt", False),
        ("local:http://[::1/v1#m", False),
    ],
)
def test_loopback(judge, is_here):
    assert is_loopback(judge) is is_here


def test_results_reach_a_renamed_scene_and_survive_undo(scene, tmp_path):
    bpy.ops.ed.undo_push(message="base")
    bpy.ops.mesh.primitive_cube_add()
    bpy.ops.ed.undo_push(message="cube")
    job = score(scene)
    scene.name = "Renamed"
    jobs.wait(job)
    assert lines(bpy.data.scenes["Renamed"])["SGC", "Pairs"] == "46 of 47 scored"
    bpy.ops.ed.undo()
    assert len(bpy.data.objects) == 3
    assert lines(bpy.context.scene)["SGC", "Pairs"] == "46 of 47 scored"


def test_a_camera_that_a_marker_makes_active_is_one(scene, tmp_path):
    camera, scene.camera = scene.camera, None
    scene.timeline_markers.new("shot", frame=1).camera = camera
    bpy.ops.matchcut.score()
    assert jobs.last().state == "done"


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
        install_evaluator()
