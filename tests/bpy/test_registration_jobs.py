# SPDX-License-Identifier: GPL-3.0-or-later
"""The buttons' work against a stand-in for the evaluator that speaks the real protocol and checks what it is given."""

import json
import sys
import textwrap
from pathlib import Path

import bpy
import matchcut
import pytest
from matchcut.addon import jobs, workflow
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

EVALUATOR = """
import json, sys
from pathlib import Path
arguments = sys.argv[1:]
options = dict(zip(arguments[1::2], arguments[2::2])) if arguments[0] != "probe" else {}
def say(**fields):
    print(json.dumps(fields), flush=True)
Path(__file__).with_name("asked.json").write_text(json.dumps(arguments))
assert arguments[-1] == "--messages"
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
        say(type="result", path=str(out / "reconstruction.mp4"), data={})
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
        "--setting", "simplified", "--samples", "3", "--messages",
    ]  # fmt: skip
    assert bpy.data.filepath == str(artists)
    assert artists.read_bytes() == content
    assert scene.frame_current == 7
    assert lines(scene)["SGC", "Pairs"] == "46 of 47 scored"
    assert lines(scene)["Checklist", "Overall"] == "not judged: no judge configured"
    assert jobs.last().warnings == ["the scene has no lights"]
    bpy.ops.matchcut.score()
    assert workflow.report_path(scene) == folder.with_name("score-002") / "report.html", (
        "a score overwrote the one before"
    )


def test_the_copy_keeps_relative_paths(scene, tmp_path):
    artists = tmp_path / "artist" / "shot.blend"
    artists.parent.mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(artists))
    image = bpy.data.images.new("texture", 4, 4)
    image.source, image.filepath, image.use_fake_user = "FILE", "//texture.png", True
    copy = workflow.save_copy(scene, tmp_path / "elsewhere" / "deep" / "scene.blend")
    assert image.filepath == "//texture.png"
    bpy.ops.wm.open_mainfile(filepath=str(copy))
    found = bpy.path.abspath(bpy.data.images["texture"].filepath)
    assert Path(found).resolve() == artists.parent / "texture.png"


def test_render_remembers_its_video(scene, tmp_path):
    assert not bpy.ops.matchcut.open_render.poll()
    bpy.ops.matchcut.render()
    assert scene.matchcut.last_render == str(tmp_path / "out" / "render-001" / "reconstruction.mp4")
    with pytest.raises(RuntimeError, match="the video is not there any more"):
        bpy.ops.matchcut.open_render()


def test_an_error_of_the_evaluator_is_its_one_line(scene, tmp_path):
    (tmp_path / "reference.mp4").write_bytes(b"broken")
    with pytest.raises(RuntimeError, match=r"reference\.mp4: it has no frames; pick another file"):
        bpy.ops.matchcut.score()
    assert jobs.last().state == "failed"
    assert len(scene.matchcut.results.lines) == 0
    (tmp_path / "reference.mp4").write_bytes(b"mended")
    bpy.ops.matchcut.score()
    assert workflow.report_path(scene) == tmp_path / "out" / "score-001" / "report.html", (
        "what failed was not gone on with"
    )


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
    assert asked(tmp_path)[-3:-1] == ["--judge", "local:http://127.0.0.1:8000/v1#model"]


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
    assert workflow.is_loopback(judge) is is_here


def test_results_reach_a_renamed_scene_and_survive_undo(scene, tmp_path):
    bpy.ops.ed.undo_push(message="base")
    bpy.ops.mesh.primitive_cube_add()
    bpy.ops.ed.undo_push(message="cube")
    job = workflow.score(scene)
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
    monkeypatch.setattr(workflow, "reference_picked", picked.append)
    (tmp_path / "other.mp4").write_bytes(b"video")
    other.matchcut.reference.path = str(tmp_path / "other.mp4")
    assert picked == [other], "not the scene that the window shows"
    jobs.wait(workflow.read_reference(other))
    assert other.matchcut.reference.known and not scene.matchcut.reference.known
    assert asked(tmp_path)[1] == str(tmp_path / "other.mp4")


def test_a_job_whose_results_break_something_has_ended(scene, monkeypatch):
    monkeypatch.setattr(workflow, "_store_video", lambda *_: {}["a bug"])
    job = workflow.read_reference(scene)
    with pytest.raises(KeyError):
        jobs.wait(job)
    assert job.state == "failed" and "system console" in job.error
    assert jobs.running() is None, "nothing could be started any more"


def test_one_job_at_a_time(scene):
    job = workflow.read_reference(scene)
    assert not bpy.ops.matchcut.score.poll()
    with pytest.raises(BadInputError, match="still running"):
        workflow.render(scene)
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
        workflow.install_evaluator()
