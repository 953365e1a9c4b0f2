"""Render jobs without a Blender: what is refused, what stays of an earlier job, how a child's end is told."""

import os
import sys
import time
from fractions import Fraction

import pytest
from matchcut.evaluator.cli.render import parse_frames
from matchcut.evaluator.environment.blender import Blender, identify
from matchcut.evaluator.protocol.errors import BadInputError, OperationalError
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.protocol.render_job import RenderJob, RenderStatus
from matchcut.evaluator.protocol.timeline import Timeline
from matchcut.evaluator.render.batches import missing_batches
from matchcut.evaluator.render.job import render_scene
from render_stub import stand_in, starts

TIMELINE = Timeline(64, 36, Fraction(24000, 1001), 3)
needs_scripts = pytest.mark.skipif(os.name != "posix", reason="a script stands in for Blender by its first line")


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "s.blend"
    path.write_bytes(b"BLENDER17-01v0502 the rest")
    return path


class Listener(SilentReporter):
    def __init__(self):
        self.events = []

    def progress(self, stage, done, total, text=""):
        self.events.append((stage, done, total, text))

    def warning(self, text):
        self.events.append(text)


def render(scene, out, blender=None, timeline=TIMELINE, reporter=None, **options):
    blender = blender or Blender("/nowhere/blender", "program", "5.2.0")
    return render_scene(scene, out, timeline, blender=blender, reporter=reporter or SilentReporter(), **options)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"first": 2, "last": 1}, "frames 2-1"),
        ({"last": 3}, "has frames 0-2"),
        ({"scale": 0}, "scale"),
        ({"samples": 0}, "samples"),
        ({"pictures": False}, "nothing to render"),
        ({"workers": 0}, "workers"),
        ({"frame_limit": 0}, "frame limit"),
    ],
)
def test_requests_that_make_no_sense(scene, tmp_path, options, text):
    with pytest.raises(BadInputError, match=text):
        render(scene, tmp_path / "job", **options)
    assert not (tmp_path / "job").exists()


@pytest.mark.parametrize(
    ("content", "text"), [(None, "no such file"), (b"", "not a .blend"), (b"PK\3\4zip", "not a .blend")]
)
def test_scenes_that_are_none(tmp_path, content, text):
    path = tmp_path / "x.blend"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadInputError, match=text) as error:
        render(path, tmp_path / "job")
    assert str(path) in str(error.value)


def test_an_odd_size_is_refused_before_anything_is_rendered(scene, tmp_path):
    with pytest.raises(BadInputError, match="even"):
        render_scene(
            scene, tmp_path / "job", Timeline(65, 36, Fraction(24), 3),
            blender=Blender("/nowhere", "program", "5.2.0"), reporter=SilentReporter(),
        )  # fmt: skip
    assert not (tmp_path / "job").exists()


def test_a_folder_that_cannot_be_written(scene, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(BadInputError, match="cannot be written"):
        render(scene, tmp_path / "file" / "job")


def test_frames_of_nobodys_job_are_not_touched(scene, tmp_path):
    mine = tmp_path / "job" / "frames" / "000000.png"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    with pytest.raises(BadInputError, match="is no job's"):
        render(scene, tmp_path / "job")
    assert mine.read_text() == "mine"


@needs_scripts
def test_pictures_become_a_verified_video(scene, tmp_path):
    listener = Listener()
    outcome = render(
        scene, tmp_path / "job", stand_in(tmp_path, "told.update(notes=['by the way']); render()"), reporter=listener
    )
    assert outcome.video.stat().st_size > 0 and outcome.status.notes == ["by the way"] and outcome.geometry is None
    status = RenderStatus.read(tmp_path / "job")
    assert (status.state, status.done, status.total, status.engine, status.samples) == ("done", 3, 3, "CYCLES", 4)
    assert listener.events.index("by the way") < next(
        place for place, event in enumerate(listener.events) if event[0] == "render" and event[1] > 0
    ), "told before the first frame is there"
    assert sorted(path.name for path in (tmp_path / "job").iterdir()) == [
        "frames", "job.json", "reconstruction.mp4", "render.log", "starts.txt", "status.json",
    ]  # fmt: skip


@needs_scripts
def test_what_is_finished_is_not_rendered_again(scene, tmp_path):
    blender, job = stand_in(tmp_path, "render(); print('I was here')"), tmp_path / "job"
    first = render(scene, job, blender)
    assert render(scene, job, blender).status.engine == "CYCLES" and starts(job) == ["0 2"]
    (job / "frames" / "000001.png").unlink()
    data = bytearray((job / "frames" / "000002.png").read_bytes())
    data[60] ^= 255  # in the middle of the pixels
    (job / "frames" / "000002.png").write_bytes(data)
    stamp = (job / "frames" / "000000.png").stat().st_mtime_ns
    assert render(scene, job, stand_in(tmp_path, "(JOB / 'frames/000002.png').unlink(); render()")).status.done == 3
    assert starts(job) == ["0 2", "0 2"] and (job / "frames" / "000000.png").stat().st_mtime_ns == stamp
    assert first.video.exists() and "I was here" not in (job / "render.log").read_text()


@needs_scripts
def test_pictures_stay_where_passes_are_asked_for_later_or_no_more(scene, tmp_path):
    out, blender = tmp_path / "job", stand_in(tmp_path, "render()")
    render(scene, out, blender)
    made = {path.name: path.stat().st_mtime_ns for path in (out / "frames").iterdir()}
    with pytest.raises(OperationalError, match="passes"):  # which the stand-in does not make
        render(scene, out, blender, passes=True)
    outcome = render(scene, out, blender)
    assert made == {path.name: path.stat().st_mtime_ns for path in (out / "frames").iterdir()} and len(made) == 3
    assert (outcome.status.done, outcome.status.total, outcome.status.state) == (3, 3, "done")


@needs_scripts
def test_a_killed_run_leaves_no_video_of_the_run_before(scene, tmp_path):
    works, job = "render()", tmp_path / "job"
    video = render(scene, job, stand_in(tmp_path, works)).video
    (job / "frames" / "000001.png").unlink()
    with pytest.raises(OperationalError, match="was killed"):
        render(scene, job, stand_in(tmp_path, "die(signal.SIGKILL)"))
    assert not video.exists()
    assert len(list((job / "frames").iterdir())) == 2, "an identical job keeps its frames"
    with pytest.raises(OperationalError):
        render(scene, job, stand_in(tmp_path, "sys.exit(1)"), samples=7)
    assert not (job / "frames").exists(), "another job does not"
    render(scene, job, stand_in(tmp_path, works))
    scene.write_bytes(b"BLENDER17-01v0502 changed")
    with pytest.raises(OperationalError):
        render(scene, job, stand_in(tmp_path, "sys.exit(1)"))
    assert not (job / "frames").exists(), "neither does a changed scene"


@needs_scripts
@pytest.mark.parametrize(
    ("do", "kind", "text"),
    [
        ("status(state='failed', error='no camera'); sys.exit(2)", BadInputError, "^no camera$"),
        ("status(state='failed', error='disk full'); sys.exit(3)", OperationalError, "^disk full$"),
        ("print('boom'); sys.exit(11)", OperationalError, r"before its first frame \(exit status 11: boom\); see"),
        ("pass", OperationalError, r"before its first frame \(exit status 0: no output\)"),
        ("die()", OperationalError, r"before its first frame \(it crashed: no output\)"),
        ("render(lambda frame: die(signal.SIGABRT))", OperationalError,
         r"frames 0, 1, 2 could not be rendered \(frame 0: it aborted: no output\); the rest is kept"),
    ],
)  # fmt: skip
def test_how_a_child_ends_is_told_in_one_line(scene, tmp_path, do, kind, text):
    with pytest.raises(kind, match=text) as error:
        render(scene, tmp_path / "job", stand_in(tmp_path, do))
    assert "\n" not in str(error.value) and not (tmp_path / "job" / "reconstruction.mp4").exists()
    status = RenderStatus.read(tmp_path / "job")
    assert status.state == "failed" and status.error == str(error.value) and not (tmp_path / "job" / "parts").exists()


@needs_scripts
def test_a_missing_picture_is_found_although_the_child_says_done(scene, tmp_path):
    with pytest.raises((BadInputError, OperationalError), match=r"000002\.png"):
        render(scene, tmp_path / "job", stand_in(tmp_path, "picture(0); picture(1); status(state='done', done=3)"))
    assert not (tmp_path / "job" / "reconstruction.mp4").exists()


ONCE = "once = JOB / 'once'\nrender(lambda frame: frame == 1 and not once.exists() and (once.touch(), {do}))"


@needs_scripts
@pytest.mark.parametrize(
    ("do", "error"), [("render()", ""), ("status(state='failed', error='there is no scene')", "there is no scene")]
)
def test_a_child_that_stands_still_after_its_end_is_not_waited_for(scene, tmp_path, monkeypatch, do, error):
    monkeypatch.setattr("matchcut.evaluator.render.batches.EXIT_SECONDS", 0.3)
    blender, began = stand_in(tmp_path, f"{do}\ntime.sleep(300)"), time.monotonic()
    if error:
        with pytest.raises(OperationalError, match=error):
            render(scene, tmp_path / "job", blender)
    else:
        assert render(scene, tmp_path / "job", blender).video is not None
    assert time.monotonic() - began < 60


@needs_scripts
@pytest.mark.parametrize("do", ["die()", "sys.exit(3)", "time.sleep(60)"])
def test_a_frame_that_fails_once_is_tried_again(scene, tmp_path, do):
    outcome = render(scene, tmp_path / "job", stand_in(tmp_path, ONCE.format(do=do)), frame_limit=1.5)
    assert outcome.video is not None and outcome.status.failed == [] and outcome.status.rendered == 3
    assert starts(tmp_path / "job") == ["0 2", "0 2"]


@needs_scripts
@pytest.mark.parametrize(
    ("do", "reason"), [("die()", "it crashed"), ("time.sleep(60)", "it took more than 1.5 s; --frame-limit allows")]
)
def test_a_frame_that_fails_twice_is_named_and_the_rest_goes_on(scene, tmp_path, do, reason):
    job, listener = tmp_path / "job", Listener()
    broken = stand_in(tmp_path, f"render(lambda frame: frame == 1 and {do})")
    with pytest.raises(OperationalError, match=f"frame 1 could not be rendered .frame 1: {reason}"):
        render(scene, job, broken, frame_limit=1.5, reporter=listener)
    assert sorted(path.name for path in (job / "frames").iterdir()) == ["000000.png", "000002.png"]
    assert starts(job) == ["0 2", "0 2", "0 2 1"]
    status = RenderStatus.read(job)
    assert status.state == "failed" and status.done == 2
    assert [entry["frame"] for entry in status.failed] == [1] and reason in status.failed[0]["reason"]
    assert any(isinstance(event, str) and "frame 1 could not be rendered" in event for event in listener.events)
    outcome = render(scene, job, stand_in(tmp_path, "render()"))
    assert outcome.video is not None and outcome.status.rendered == 1 and outcome.status.failed == []


@needs_scripts
def test_blender_that_renders_no_frame_is_given_up(scene, tmp_path):
    with pytest.raises(OperationalError, match="Blender renders no frame"):
        render(scene, tmp_path / "job", stand_in(tmp_path, "render(lambda frame: die())"), Timeline(64, 36, 24, 30))
    assert len(starts(tmp_path / "job")) == 10


@needs_scripts
def test_workers_share_the_batches_once_the_first_has_opened_the_scene(scene, tmp_path):
    job, timeline = tmp_path / "job", Timeline(64, 36, Fraction(24), 48)
    do = "(JOB / f'{FIRST}.begun').touch()\nrender(lambda frame: time.sleep(0.02))\n(JOB / f'{FIRST}.done').touch()"
    do = f"assert FIRST == 0 or (JOB / '0.begun').exists() and not (JOB / '0.done').exists()\ntime.sleep(0.3)\n{do}"
    outcome = render(scene, job, stand_in(tmp_path, do), timeline, workers=2)
    assert starts(job) == ["0 23", "24 47"] and outcome.status.workers == 2
    assert outcome.status.rendered == 48 and len(list((job / "frames").iterdir())) == 48


def test_batches_are_whole_chunks_of_what_is_missing(tmp_path):
    job = RenderJob("s", Timeline(64, 36, Fraction(24), 400), 5, 304)
    assert [(b.first, b.last) for b in missing_batches(job, tmp_path, 1)] == [(5, 124), (125, 244), (245, 304)]
    assert [(b.first, b.last) for b in missing_batches(job, tmp_path, 4)] == [
        (5, 88), (89, 172), (173, 256), (257, 304),
    ]  # fmt: skip


@needs_scripts
@pytest.mark.parametrize(
    ("prints", "text"),
    [("Blender 4.5.1 LTS", "is Blender 4.5.1; 5.2 or newer is needed"), ("", "does not run"), (None, "does not start")],
)
def test_a_blender_that_cannot_be_used(tmp_path, prints, text):
    path = tmp_path / "blender"
    if prints is not None:
        path.write_text(f"#!{sys.executable}\nprint({prints!r})\n")
        path.chmod(0o755)
    with pytest.raises(BadInputError, match=text):
        identify(str(path), "$BLENDER")


def test_job_and_status_come_back_from_their_files(tmp_path):
    job = RenderJob("/a/b.blend", TIMELINE, 0, 2, 0.5, 8, "CYCLES", "cpu", True, True, "00")
    assert RenderJob.from_json(job.to_json()) == job
    assert job.size == (32, 18)
    status = RenderStatus(state="rendering", done=1, total=3, notes=["x"])
    status.write(tmp_path)
    assert RenderStatus.read(tmp_path) == status


@pytest.mark.parametrize(("scale", "size"), [(1.0, (65, 36)), (0.5, (32, 18)), (0.25, (16, 8)), (0.001, (2, 2))])
def test_scaled_sizes_are_even(scale, size):
    assert RenderJob("s", Timeline(65, 36, Fraction(24), 3), 0, 2, scale).size == size


def test_frames_option():
    assert parse_frames(None) == (0, None) and parse_frames("3-7") == (3, 7) and parse_frames("4") == (4, 4)
    for text in ("a", "3-", "-1", "1-2-3"):
        with pytest.raises(BadInputError, match="write two frames"):
            parse_frames(text)
