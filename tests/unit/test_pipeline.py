# SPDX-License-Identifier: GPL-3.0-or-later
"""Scoring as a whole on small real videos: what comes out, what is refused, and what an ended run leaves behind."""

import json
from fractions import Fraction

import pytest
import report_samples as samples
import sgc_scenes as scenes
from judge_stub import JudgeStub, error
from matchcut.evaluator.judge.records import OperationalFailure
from matchcut.evaluator.pipeline.score import NO_CHECKLIST, NO_JUDGE, SGC_OFF, ScoreRequest, score
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.protocol.render_job import RenderStatus
from matchcut.evaluator.results import Results, Unscored

RATE = Fraction(24)
FRAMES = 48


def no_blender():
    raise AssertionError("Blender is not needed here")


def run(request, reporter=None):
    return score(request, reporter=reporter or SilentReporter(), blender=no_blender)


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    """given.mp4 (cuts at 16 and 32) and mine.mp4 (the second cut 3 frames late); not to be changed."""
    folder = tmp_path_factory.mktemp("videos")
    samples.write_video(folder / "given.mp4", frames=FRAMES, rate=RATE, cuts=(16, 32))
    samples.write_video(folder / "mine.mp4", frames=FRAMES, rate=RATE, cuts=(16, 35))
    return folder


@pytest.fixture(scope="module")
def checklist(tmp_path_factory):
    """A folder of two clip files."""
    folder = tmp_path_factory.mktemp("clips")
    for clip in samples.clips():
        clip.write(folder / f"{clip.id}.json")
    return folder


def finished_job(folder, frames=FRAMES, **status):
    """A render job made by hand, with exact passes of a small scene."""
    scenes.Job(frames=frames).write(folder)
    RenderStatus(
        **{"state": "done", "done": frames, "total": frames, "blender": "5.2.2", "engine": "CYCLES", "device": "CPU"}
        | {"samples": 4}
        | status
    ).write(folder)
    return folder


def request(videos, folder, **changes):
    """Without a scene SGC is not asked for, since estimating geometry from pictures takes its time."""
    mode = "robust" if "scene" in changes else "off"
    given = {"reference": videos / "given.mp4", "reconstruction": videos / "mine.mp4", "out": folder, "sgc_mode": mode}
    return ScoreRequest(**given | changes)


def test_two_videos_alone(videos, tmp_path):
    out = tmp_path / "out"
    results = run(request(videos, out))
    assert {path.name for path in out.iterdir()} == {
        "results.json", "report.html", "reference.mp4", "reconstruction.mp4", "plan.json",
    }  # fmt: skip
    assert Results.read(out / "results.json") == results
    assert results.timeline.passed
    assert results.shots.reference_cuts == [16, 32]
    assert [match.verdict for match in results.shots.matches] == ["found", "late"]
    assert results.sgc == Unscored(reason=SGC_OFF)
    assert results.checklist == Unscored(reason=NO_CHECKLIST)
    assert (out / "reference.mp4").read_bytes() == (videos / "given.mp4").read_bytes()
    assert (results.reference.path, results.provenance.blender) == ("given.mp4", None)
    assert results.provenance.packages["av"]
    assert SGC_OFF in (out / "report.html").read_text(encoding="utf-8")


def test_same_input_same_bytes_and_no_place_of_this_machine(videos, checklist, tmp_path):
    first, second = tmp_path / "one", tmp_path / "deeper" / "two"
    for out in (first, second, first):
        run(request(videos, out, checklist=checklist))
    for name in ("results.json", "report.html"):
        data = (first / name).read_bytes()
        assert data == (second / name).read_bytes()
        for place in (videos, tmp_path, checklist):
            assert str(place).encode() not in data


def test_a_checklist_without_a_judge_is_not_judged(videos, checklist, tmp_path):
    results = run(request(videos, tmp_path, checklist=checklist))
    assert (results.checklist.state, results.checklist.reason) == ("not_judged", NO_JUDGE)
    assert results.checklist.overall.value is None
    assert results.checklist.overall.checks_expected == 20
    assert results.judgments == []
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"Not judged.</strong> {NO_JUDGE.removeprefix('not judged: ')}</p>" in page


def test_a_judge_is_asked_once_and_its_answers_are_kept(videos, checklist, tmp_path):
    with JudgeStub() as stub:
        asked = request(videos, tmp_path, checklist=checklist, judge=stub.spec)
        results = run(asked)
        assert (results.checklist.state, results.checklist.overall.value) == ("judged", 100.0)
        assert len(stub.requests) == 2
        before = (tmp_path / "results.json").read_bytes()
        run(asked)
        assert len(stub.requests) == 2
    assert (tmp_path / "results.json").read_bytes() == before
    assert len(list((tmp_path / "judgments").iterdir())) == 2


def test_a_refusing_judge_is_a_failure_and_no_zero(videos, checklist, tmp_path):
    with JudgeStub([error(401, f"no key for {videos / 'given.mp4'}", "invalid_api_key")]) as stub:
        results = run(request(videos, tmp_path, checklist=checklist, judge=stub.spec))
    assert results.checklist.state == "not_judged"
    assert results.checklist.overall.value is None
    assert len(results.operational_failures) == 2
    assert all(isinstance(failure, OperationalFailure) for failure in results.operational_failures)
    assert str(videos) not in (tmp_path / "results.json").read_text(encoding="utf-8")
    assert "Could not be judged" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def job(tmp_path_factory, videos):
    """A finished render of FRAMES frames with its passes and its video; not to be changed."""
    folder = finished_job(tmp_path_factory.mktemp("finished") / "job")
    (folder / "reconstruction.mp4").write_bytes((videos / "mine.mp4").read_bytes())
    return folder


def test_without_a_scene_the_geometry_of_both_videos_is_estimated(videos, tmp_path):
    """Flat pictures that move on their own have no geometry: an outcome with its reason, twice the same."""
    out = tmp_path / "out"
    results = run(request(videos, out, sgc_mode="robust"))
    assert results.sgc.estimator.startswith("classical") and results.sgc_frames == "reconstruction"
    assert results.sgc.score is None and results.sgc.reason
    assert results.reference_sgc.estimator == results.sgc.estimator
    assert (out / "estimates").is_dir()
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "classical" in page and "The reference: unscored" in page
    before = (out / "results.json").read_bytes()
    run(request(videos, out, sgc_mode="robust"))
    assert (out / "results.json").read_bytes() == before


@pytest.mark.parametrize("mode", ["robust", "paper"])
def test_geometry_of_a_finished_render_gives_sgc(videos, job, tmp_path, mode):
    results = run(request(videos, tmp_path / "out", scene=job, sgc_mode=mode))
    assert results.sgc.mode == mode and results.reference_sgc is None and results.sgc_frames == "reference"
    assert results.sgc.pairs_expected == FRAMES - 1 - 2  # no pair crosses a cut of the reconstruction
    assert results.sgc.pairs_scored > 0
    assert {pair.frame for pair in results.sgc.pairs} == set(range(1, FRAMES)) - {16, 35}
    assert results.sgc.score is not None
    made = results.provenance
    assert (made.blender, made.engine, made.device, made.samples) == ("5.2.2", "CYCLES", "CPU", 4)


def test_a_finished_render_is_the_reconstruction_where_none_is_given(videos, job, tmp_path):
    results = run(request(videos, tmp_path / "out", reconstruction=None, scene=job))
    assert results.reconstruction.path == "reconstruction.mp4"
    assert results.shots.reconstruction_cuts == [16, 35]


def test_what_a_browser_does_not_step_through_becomes_a_preview(videos, tmp_path):
    odd = samples.write_video(tmp_path / "odd.avi", frames=12, rate=RATE, size=(162, 96), codec="mpeg4")
    out = tmp_path / "out"
    results = run(request(videos, out, reference=odd))
    assert results.reference.codec == "mpeg4"
    from matchcut.evaluator.media.decode import stream
    from matchcut.evaluator.media.probe import probe

    preview = probe(out / "reference.mp4")
    assert (preview.codec, preview.timeline) == ("h264", results.reference.timeline)
    assert [samples.read_number(frame.image) for frame in stream(out / "reference.mp4")] == list(range(12))
    assert "odd.avi. Scores come from the file itself" in (out / "report.html").read_text(encoding="utf-8")


def test_inputs_that_lie_in_the_output_folder_are_never_written_over(tmp_path):
    reference = samples.write_video(tmp_path / "x.avi", frames=10, rate=RATE, codec="mpeg4").rename(
        tmp_path / "reference.mp4"
    )
    reconstruction = samples.write_video(tmp_path / "reconstruction.mp4", frames=10, rate=RATE)
    before = reference.read_bytes(), reconstruction.read_bytes()
    run(ScoreRequest(reference=reference, reconstruction=reconstruction, out=tmp_path))
    assert (reference.read_bytes(), reconstruction.read_bytes()) == before
    assert (tmp_path / "reference-preview.mp4").is_file()
    assert 'src="reference-preview.mp4"' in (tmp_path / "report.html").read_text(encoding="utf-8")


class Interrupted(SilentReporter):
    """Ctrl-C at the first progress of a stage."""

    def __init__(self, stage):
        self.stage = stage

    def progress(self, stage, done, total, text=""):
        if stage.startswith(self.stage):
            raise KeyboardInterrupt


@pytest.mark.parametrize("stage", ["cuts", "sgc", "judge", "encode"])
def test_an_interrupted_run_leaves_nothing_that_looks_finished(videos, checklist, tmp_path, stage):
    out, job = tmp_path / "out", finished_job(tmp_path / "job", frames=10)
    reference = samples.write_video(tmp_path / "given.avi", frames=10, rate=RATE, codec="mpeg4")
    out.mkdir()
    (out / "results.json").write_text("an earlier run's")
    (out / "report.html").write_text("an earlier run's")
    one = samples.clips()[0]
    short = one.model_copy(update={"frame_count": 10, "checks": one.checks[:1]})
    short.write(tmp_path / "short.json")
    with JudgeStub() as stub, pytest.raises(KeyboardInterrupt):
        run(
            request(videos, out, reference=reference, scene=job, checklist=tmp_path / "short.json", judge=stub.spec),
            Interrupted(stage),
        )
    left = {path.name for path in out.rglob("*") if path.is_file()}
    assert not left & {"results.json", "report.html", "reference.mp4"}
    assert not [name for name in left if ".partial" in name]


BAD = {
    "no reference": ({"reference": "missing.mp4"}, "missing.mp4: there is no such file"),
    "a folder as reference": ({"reference": "."}, "not a file"),
    "no video": ({"reference": "text.mp4"}, "text.mp4"),
    "an unreadable reconstruction": ({"reconstruction": "text.mp4"}, "text.mp4"),
    "no reconstruction": ({"reconstruction": "missing.mp4"}, "missing.mp4: there is no such file"),
    "nothing to score": ({"reconstruction": None}, "--reconstruction VIDEO"),
    "a missing scene": ({"scene": "missing.blend"}, "missing.blend: there is no such file"),
    "a scene that is no .blend": ({"scene": "text.mp4"}, "not a .blend"),
    "a folder that is no render": ({"scene": "."}, "no render job"),
    "an unfinished render": ({"scene": "unfinished"}, "not finished (its state is rendering)"),
    "a render without passes": ({"scene": "no_passes"}, "--passes"),
    "a render of another timeline": ({"scene": "other_timeline"}, "another timeline"),
    "a render without its video": ({"scene": "other_timeline", "reconstruction": None}, "no reconstruction.mp4"),
    "no checklist file": ({"checklist": "missing.json"}, "missing.json"),
    "a checklist that breaks the schema": ({"checklist": "broken.json"}, "broken.json"),
    "a clip beyond the end": ({"checklist": "beyond.json"}, "beyond.json"),
    "another setting": ({"setting": "perfect"}, "proxy, simplified, detailed"),
    "no such judge": ({"judge": "oracle:1", "checklist": "fine.json"}, "oracle"),
    "no samples": ({"samples": 0}, "--samples 0"),
    "no such mode of SGC": ({"sgc_mode": "quick"}, "--sgc-mode quick"),
    "no such estimator": ({"estimator": "magic"}, "--estimator magic"),
    "passes without a scene": ({"estimator": "blender"}, "--estimator blender"),
    "an output that is a file": ({"out": "text.mp4"}, "cannot be written"),
}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """A folder with everything that BAD names."""
    folder = tmp_path_factory.mktemp("faulty")
    (folder / "text.mp4").write_text("this is no video")
    finished_job(folder / "unfinished", frames=2, state="rendering")
    finished_job(folder / "other_timeline", frames=2)
    finished_job(folder / "no_passes", frames=2)
    (folder / "no_passes" / "geometry" / "geometry.json").unlink()
    clip = samples.clips()[0]
    clip.write(folder / "fine.json")
    clip.model_copy(update={"frame_offset": 40}).write(folder / "beyond.json")
    (folder / "broken.json").write_text(json.dumps(clip.model_dump(mode="json") | {"checks": [{"id": "c1"}]}))
    return folder


@pytest.mark.parametrize("fault", BAD)
def test_bad_input_is_one_line_and_nothing_is_written(videos, faulty, tmp_path, fault):
    changes, expected = BAD[fault]
    out = tmp_path / "out"
    paths = {
        name: faulty / value
        for name, value in changes.items()
        if name not in ("setting", "judge", "samples", "sgc_mode", "estimator") and value
    }
    with pytest.raises(BadInputError) as caught:
        run(request(videos, out, **changes | paths))
    text = str(caught.value)
    assert expected in text
    assert "\n" not in text
    assert not out.exists() or list(out.iterdir()) == []


def test_a_request_that_is_refused_at_once_leaves_the_earlier_result(videos, tmp_path):
    run(request(videos, tmp_path))
    before = (tmp_path / "results.json").read_bytes()
    with pytest.raises(BadInputError):
        run(request(videos, tmp_path, judge="oracle:1"))
    assert (tmp_path / "results.json").read_bytes() == before
