# SPDX-License-Identifier: GPL-3.0-or-later
"""What a score says of itself before it begins, and the render of the same scene that it takes instead of a new one."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest
import report_samples as samples
from matchcut.evaluator.cli.score import plan_lines
from matchcut.evaluator.environment.blender import Blender
from matchcut.evaluator.judge.forecast import forecast
from matchcut.evaluator.judge.prices import IMAGE_TOKENS, Price
from matchcut.evaluator.judge.providers import open_provider
from matchcut.evaluator.media.selection import clip_frames
from matchcut.evaluator.pipeline import plan as planning
from matchcut.evaluator.pipeline.score import ScoreRequest, plan_score, score
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.files import write_json
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.protocol.render_job import RenderJob, RenderStatus
from matchcut.evaluator.protocol.timeline import Timeline
from matchcut.evaluator.render.content import find_render

RATE, FRAMES = Fraction(24000, 1001), 40
BLENDER = Blender("no program", "program", "5.2.2")


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("videos")
    samples.write_video(folder / "given.mp4", frames=FRAMES, rate=RATE, cuts=(16,))
    samples.write_video(folder / "mine.mp4", frames=FRAMES, rate=RATE, cuts=(19,))
    return folder


@pytest.fixture
def scene(tmp_path, monkeypatch):
    """A .blend as far as anybody looks at it; what it holds is told to be `same`."""
    monkeypatch.setattr(planning, "scene_content", lambda *_, **__: "same")
    path = tmp_path / "new" / "scene.blend"
    path.parent.mkdir()
    path.write_bytes(b"BLENDER-of-another-save")
    return path


@pytest.fixture
def checklist(tmp_path):
    folder = tmp_path / "clips"
    for clip in samples.clips():
        if clip.frame_offset + clip.frame_count <= FRAMES:
            clip.write(folder / f"{clip.id}.json")
    assert list(folder.iterdir())
    return folder


def job(videos, **changes):
    from matchcut.evaluator.media.probe import probe

    timeline = probe(videos / "given.mp4").timeline
    fields = {"scene_sha256": "another", "content": "same"} | changes
    return RenderJob("/elsewhere/scene.blend", timeline, 0, timeline.frames - 1, **fields)


def finish(folder, render, videos, state="done"):
    """Write a finished job as far as its pictures go."""
    write_json(folder / "job.json", render.to_json())
    RenderStatus(state=state, done=FRAMES, total=FRAMES, blender="5.2.2", engine="CYCLES").write(folder)
    (folder / "reconstruction.mp4").write_bytes((videos / "mine.mp4").read_bytes())


def asked(videos, scene, out, **changes):
    return ScoreRequest(videos / "given.mp4", out, scene=scene, renders=out.parent, sgc_mode="off", **changes)


def planned(request):
    return plan_score(request, reporter=SilentReporter(), blender=lambda: BLENDER)


def state(plan, name):
    return next((stage.state, stage.text) for stage in plan.stages if stage.name == name)


def test_a_render_of_the_same_scene_is_taken(videos, scene, tmp_path):
    out = tmp_path / "renders" / "score-002"
    assert state(planned(asked(videos, scene, out)), "render") == ("todo", f"{FRAMES} frames")
    finish(tmp_path / "renders" / "render-001", job(videos), videos)
    assert state(planned(asked(videos, scene, out)), "render") == ("reused", "render-001, of the same scene")
    with_passes = planned(replace(asked(videos, scene, out), sgc_mode="robust"))
    assert state(with_passes, "render") == ("todo", f"pictures of render-001; depth and motion of {FRAMES} frames")
    results = score(asked(videos, scene, out), reporter=SilentReporter(), blender=lambda: BLENDER)
    assert results.provenance.engine == "CYCLES"
    assert not (out / "render").exists(), "it was rendered again"
    assert (out / "reconstruction.mp4").read_bytes() == (videos / "mine.mp4").read_bytes()
    assert json.loads((out / "plan.json").read_text())["stages"][0]["state"] == "reused"


@pytest.mark.parametrize(
    "changes",
    [
        {"content": "other"}, {"content": ""}, {"samples": 4}, {"engine": "eevee"}, {"view_transform": "Standard"},
        {"scale": 0.5}, {"step": 2}, {"device": "cpu"}, {"pictures": False, "passes": True},
    ],
)  # fmt: skip
def test_a_render_of_anything_else_is_not(videos, scene, tmp_path, changes):
    finish(tmp_path / "render-001", job(videos, **changes), videos)
    wanted = asked(videos, scene, tmp_path / "score-001").job(scene, job(videos).timeline, "same")
    assert find_render(wanted, tmp_path) is None


def test_neither_is_one_that_did_not_come_to_its_end_or_lost_its_video(videos, tmp_path):
    finish(tmp_path / "render-001", job(videos), videos, state="rendering")
    finish(tmp_path / "render-002", job(videos), videos)
    (tmp_path / "render-002" / "reconstruction.mp4").unlink()
    (tmp_path / "render-003").mkdir()
    (tmp_path / "render-003" / "job.json").write_text("damaged")
    assert find_render(job(videos), tmp_path) is None
    assert find_render(job(videos, content=""), tmp_path) is None


def test_one_with_passes_goes_before_a_newer_one_without(videos, tmp_path):
    finish(tmp_path / "score-001" / "render", job(videos, passes=True), videos)
    (tmp_path / "score-001" / "render" / "geometry").mkdir()
    (tmp_path / "score-001" / "render" / "geometry" / "geometry.json").write_text("{}")
    finish(tmp_path / "render-001", job(videos), videos)
    found = find_render(job(videos), tmp_path)
    assert (found.name, found.has_passes) == ("score-001", True)


def test_what_the_judge_is_sent_and_what_it_costs(videos, checklist, tmp_path, monkeypatch):
    monkeypatch.setattr("matchcut.evaluator.judge.forecast.find_price", lambda *_: Price(input=1.0, output=10.0))
    provider = open_provider("local:http://127.0.0.1:9/v1#model")
    clips = [clip for clip in samples.clips() if clip.frame_offset + clip.frame_count <= FRAMES]
    told = forecast(clips, "proxy", RATE, provider, store=tmp_path)
    applicable = [clip for clip in clips if clip.applicable("proxy")]
    images = sum(len(clip_frames(clip, "proxy", RATE)) for clip in applicable)
    assert (told.requests, told.images, told.answered) == (len(applicable), images, 0)
    assert told.tokens.input > images * IMAGE_TOKENS
    assert told.usd == pytest.approx((told.tokens.input + 10 * told.tokens.output) / 1e6)


def test_a_plan_sends_nothing_and_makes_nothing(videos, checklist, tmp_path):
    request = ScoreRequest(
        videos / "given.mp4", tmp_path / "out", reconstruction=videos / "mine.mp4", checklist=checklist,
        judge="local:http://127.0.0.1:9/v1#model", sgc_mode="off",
    )  # fmt: skip
    plan = planned(request)
    assert plan.judge.requests >= 1 and plan.judge.usd == 0
    assert [stage.state for stage in plan.stages] == ["reused", "todo", "skipped", "todo", "todo"]
    assert list((tmp_path / "out").iterdir()) == []
    last = plan_lines(plan)[-1]
    assert last.startswith(f"sends {plan.judge.requests} requests to local:http://127.0.0.1:9/v1:model")


def test_without_a_checklist_or_a_judge_nobody_is_asked(videos, checklist, tmp_path):
    request = ScoreRequest(videos / "given.mp4", tmp_path / "out", reconstruction=videos / "mine.mp4", sgc_mode="off")
    assert state(planned(request), "judge") == ("skipped", "no checklist")
    assert state(planned(replace(request, checklist=checklist)), "judge") == ("skipped", "no judge")


def test_a_budget_needs_a_price(videos, checklist, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key")
    request = ScoreRequest(
        videos / "given.mp4", tmp_path / "out", reconstruction=videos / "mine.mp4", checklist=checklist,
        judge="openai:nobody-knows-it", budget_usd=1.0, sgc_mode="off",
    )  # fmt: skip
    with pytest.raises(BadInputError, match="no price of openai:nobody-knows-it is known"):
        planned(request)


def test_a_job_of_the_same_content_is_the_same_job_wherever_its_scene_lies():
    timeline = Timeline(64, 36, Fraction(24), 10)
    one = RenderJob("/a.blend", timeline, 0, 9, scene_sha256="1", content="c")
    assert one.same_pixels(replace(one, scene="/b.blend", scene_sha256="2", passes=True))
    assert not one.same_pixels(replace(one, content="d")), "a file that it reads has changed"
    assert one.same_pixels(replace(one, content="")), "nobody looked: the .blend's bytes tell"
    assert not one.same_pixels(replace(one, content="", scene_sha256="2"))
    assert not one.same_pixels(replace(one, samples=3))


def test_paths_of_the_plan_are_nobodys_business(videos, scene, tmp_path):
    out = tmp_path / "score-001"
    finish(tmp_path / "render-001", job(videos), videos)
    assert str(tmp_path) not in json.dumps(planned(asked(videos, scene, out)).to_json())
