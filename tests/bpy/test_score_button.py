# SPDX-License-Identifier: GPL-3.0-or-later
"""Score Against Reference: what is asked for, what is told before, and what is gone on with."""

from types import SimpleNamespace

import bpy
import pytest
from matchcut.addon import jobs, preferences
from matchcut.addon.sidebar.owner import scene_id
from matchcut.addon.sidebar.progress import bar_text
from matchcut.addon.sidebar.results.store import report_path
from matchcut.addon.sidebar.score import run, tell
from matchcut.addon.sidebar.score.run import is_here, score
from matchcut.addon.sidebar.score.stages import Plan
from matchcut.addon.sidebar.words import sentence
from stand_in import FLAGS, PLAN, asked, lines, scene

__all__ = ["scene"]


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
        "--setting", "simplified", "--samples", "3", "--renders", str(folder.parent), *FLAGS,
    ]  # fmt: skip
    assert bpy.data.filepath == str(artists)
    assert artists.read_bytes() == content
    assert scene.frame_current == 7
    assert lines(scene)["SGC", "Pairs"] == "46 of 47 scored"
    assert lines(scene)["Checklist", "Overall"] == "not judged: no judge configured"
    assert jobs.last().warnings == ["the scene has no lights"]
    bpy.ops.matchcut.score()
    assert report_path(scene) == folder.with_name("score-002") / "report.html", "a score overwrote the one before"


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
    assert asked(tmp_path)[-6:-2] == [
        "--judge", "local:http://127.0.0.1:8000/v1#model", "--judged", str(tmp_path / "out" / "judged")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("judge", "here"),
    [
        ("", True),
        ("human", True),
        ("replay:DIR", True),
        ("local:http://127.0.0.1:1/v1#m", True),
        ("local:http://localhost/v1#m", True),
        ("local:http://[::1]:80/v1#m", True),
        ("local:http://127.0.0.1.example.org/v1#m", False),
        ("local:http://localhost@example.org/v1#m", False),
        ("openai:gpt", False),
        ("local:http://[::1/v1#m", False),
    ],
)
def test_who_is_on_this_machine(judge, here):
    assert is_here(judge) is here


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


def test_the_score_is_rendered_as_a_final_render_is(scene, tmp_path):
    render = scene.matchcut.render
    render.engine, render.workers, render.view_transform = "WORKBENCH", 2, "Standard"
    scene.matchcut.score.sgc = "OFF"
    bpy.ops.matchcut.score()
    assert asked(tmp_path)[7:] == [
        "--setting", "proxy", "--engine", "workbench", "--view-transform", "Standard", "--workers", "2",
        "--renders", str(tmp_path / "out"), "--sgc-mode", "off", *FLAGS,
    ]  # fmt: skip


def test_the_budget_is_of_judges_that_cost(scene, tmp_path, monkeypatch):
    (tmp_path / "clip.json").write_text("{}")
    scene.matchcut.checklist = str(tmp_path / "clip.json")
    scene.matchcut.judge, scene.matchcut.score.budget = "human", 2.5
    bpy.ops.matchcut.score()
    assert "--budget-usd" not in asked(tmp_path)
    monkeypatch.setattr(run, "bpy", SimpleNamespace(app=SimpleNamespace(online_access=True)))
    scene.matchcut.judge = "openai:model"
    bpy.ops.matchcut.score()
    assert asked(tmp_path)[-4:-2] == ["--budget-usd", "2.5"]


def test_a_panel_names_no_command():
    fault = "clips/a.json: checks/0/end: 30 lies outside"
    assert sentence(f"{fault} (and 2 more; matchcut checklist validate /a (1)/b lists them)") == f"{fault} (and 2 more)"
    assert sentence(f"{fault} (matchcut checklist validate clips lists them)") == fault
    assert sentence("it has no frames (of 3)") == "It has no frames (of 3)"


@pytest.mark.parametrize(("stage", "shown"), [("sgc, gauge", "SGC 3 / 70"), ("cuts, reference", "Cuts 3 / 70")])
def test_a_bar_tells_what_is_done_in_an_artists_words(stage, shown):
    job = SimpleNamespace(stage=stage, done=3, total=70, seconds_left=None)
    assert bar_text(job) == shown


def test_stages_are_followed(scene):
    bpy.ops.matchcut.score()
    stands = {stage.label: state for stage, state in run.course().rows()}
    assert stands == {"Render": "done", "Check": "done", "SGC": "running", "Judge": "skipped", "Report": "waiting"}


def test_what_a_score_will_do_is_asked_for_beside_it(scene, tmp_path):
    run.prepare(scene)
    assert asks(scene).stages[0].text == "48 frames"
    assert asked(tmp_path)[-3:] == ["--plan", *FLAGS]
    assert not bpy.ops.matchcut.score.poll(), "a second one would be started beside it"
    jobs.wait(run.go_ahead())
    assert "--plan" not in asked(tmp_path)
    assert run.waiting() is None and report_path(scene).parent.name == "score-001"


def asks(scene):
    """The plan of the score that waits, read as the window's timer does."""
    job = jobs._quiet[run.PLANNING]
    while job.state == "running":
        jobs._update(job)
    return run.waiting().plan if run.waiting() is not None else None


def test_a_no_leaves_nothing(scene, tmp_path):
    run.prepare(scene)
    asks(scene)
    run.give_up()
    assert list((tmp_path / "out").iterdir()) == []
    assert run.waiting() is None and run.unfinished_score(scene) == ""


def test_a_no_leaves_what_was_begun_before(scene, tmp_path):
    fail(scene, tmp_path)
    run.prepare(scene)
    run.give_up()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["score-001"]


def fail(scene, tmp_path):
    (tmp_path / "reference.mp4").write_bytes(b"broken")
    with pytest.raises(RuntimeError, match="it has no frames"):
        bpy.ops.matchcut.score()
    (tmp_path / "reference.mp4").write_bytes(b"mended")


def test_a_plan_that_fails_is_a_line_in_the_panel(scene, tmp_path):
    (tmp_path / "reference.mp4").write_bytes(b"broken")
    run.prepare(scene)
    assert asks(scene) is None
    assert run.problem(scene) == "reference.mp4: it has no frames; pick another file"
    other = bpy.data.scenes.new("Other")
    assert run.problem(other) == "", "another scene's score has its own fate"
    assert list((tmp_path / "out").iterdir()) == []


def test_a_score_that_was_cut_short_is_gone_on_with(scene, tmp_path):
    fail(scene, tmp_path)
    run.forget()  # Blender was closed
    assert not bpy.ops.matchcut.resume_score.poll()
    run.find_unfinished(scene)
    assert run.unfinished_score(scene) == "score-001"
    copy = (tmp_path / "out" / "score-001" / "scene.blend").read_bytes()
    bpy.data.objects["Cube"].location.x = 5
    bpy.ops.matchcut.resume_score()
    assert (tmp_path / "out" / "score-001" / "scene.blend").read_bytes() == copy
    assert report_path(scene).parent.name == "score-001" and run.unfinished_score(scene) == ""
    bpy.ops.matchcut.score()
    assert report_path(scene).parent.name == "score-002"


def judged(scene, tmp_path, monkeypatch):
    """A score with a judge elsewhere, as it would be with online access."""
    (tmp_path / "clip.json").write_text("{}")
    scene.matchcut.checklist, scene.matchcut.judge = str(tmp_path / "clip.json"), "openai:model"
    monkeypatch.setattr(run, "bpy", SimpleNamespace(app=SimpleNamespace(online_access=True)))


def test_going_on_sends_nothing_while_online_access_is_off(scene, tmp_path, monkeypatch):
    with monkeypatch.context() as online:
        judged(scene, tmp_path, online)
        fail(scene, tmp_path)
    assert run.unfinished_judge(scene) == "openai:model"
    with pytest.raises(RuntimeError, match="online access is off"):
        bpy.ops.matchcut.resume_score()


@pytest.mark.parametrize(("requests", "agreed"), [(0, set()), (2, {"OpenAI"})])
def test_only_what_was_told_is_agreed_to(scene, tmp_path, monkeypatch, requests, agreed):
    judged(scene, tmp_path, monkeypatch)
    monkeypatch.setattr(preferences, "_consents", set())
    run.prepare(scene)
    assert asks(scene) is not None
    asking = {"provider": "openai", "model": "m", "requests": requests, "images": 21, "answered": 0, "usd": 1.0}
    run.waiting().plan = Plan.from_data(PLAN | {"judge": asking | {"budget_usd": None}})
    bpy.ops.matchcut.confirm_score()
    assert preferences.consents() == agreed


def test_the_id_of_a_scene_outlives_undo(scene):
    bpy.ops.ed.undo_push(message="base")
    bpy.ops.mesh.primitive_cube_add()
    bpy.ops.ed.undo_push(message="cube")
    made = scene_id(scene)
    bpy.ops.ed.undo()
    assert bpy.context.scene.matchcut.results.scene_id == made, "its scores were no longer found as another file"


def test_going_on_with_what_was_deleted_is_one_line(scene, tmp_path):
    fail(scene, tmp_path)
    (tmp_path / "out" / "score-001" / "scene.blend").unlink()
    with pytest.raises(RuntimeError, match="not there any more; score anew"):
        bpy.ops.matchcut.resume_score()
    assert not bpy.ops.matchcut.resume_score.poll()


def test_two_scenes_do_not_go_on_with_each_others_scores(scene, tmp_path):
    fail(scene, tmp_path)
    other = scene.copy()
    other.name = "Other"
    jobs.wait(score(other))
    assert (tmp_path / "out" / "score-002" / "results.json").is_file()
    assert not (tmp_path / "out" / "score-001" / "results.json").exists()


def told(receiver, judge=True, **asking):
    asking = {
        "provider": "openai", "model": "m", "requests": 2, "images": 21, "answered": 0, "usd": 1.234,
        "budget_usd": None,
    } | asking  # fmt: skip
    plan = Plan.from_data(PLAN | {"judge": asking if judge else None})
    return [text for _, text in tell.to_tell(plan, receiver)]


def test_what_is_told_before_a_score(scene):
    nothing = told("", judge=False)
    assert nothing[0] == "Render: 48 frames"
    assert "Judge: left out, no checklist" in nothing
    assert nothing[-1] == "Only what can be measured is scored: there is no checklist with a judge."
    assert told("OpenAI")[-2:] == [
        "21 pictures of the reference and your render go to OpenAI, to be rated by m.",
        "It costs at most about $1.23.",
    ]
    assert told("OpenAI", budget_usd=1.0)[-1].endswith("No more than your budget of $1.00 is spent.")
    assert "not known" in told("OpenAI", usd=None)[-1]
    assert told("")[-1] == "Nothing leaves this machine."
    assert told("OpenAI", requests=0)[-1] == "Nothing is sent: every clip has been judged before."
