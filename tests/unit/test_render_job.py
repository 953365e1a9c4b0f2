"""Render jobs without a Blender: what is refused, what stays of an earlier job, how a child's end is told."""

import os
import sys
from fractions import Fraction

import pytest
from matchcut.evaluator.cli.render import parse_frames
from matchcut.evaluator.environment.blender import Blender, identify
from matchcut.evaluator.protocol.errors import BadInputError, OperationalError
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.protocol.render_job import RenderJob, RenderStatus
from matchcut.evaluator.protocol.timeline import Timeline
from matchcut.evaluator.render.job import render_scene

TIMELINE = Timeline(64, 36, Fraction(24000, 1001), 3)
needs_scripts = pytest.mark.skipif(os.name != "posix", reason="a script stands in for Blender by its first line")

# stands in for Blender: DO is what it does with the job's folder JOB
CHILD = """#!{python}
import pathlib, sys, json, struct, zlib
JOB = pathlib.Path(sys.argv[sys.argv.index("render-job") + 1])
def status(**values):
    (JOB / "status.json").write_text(json.dumps({{"format": "matchcut-render-status/1", **values}}))
def picture(frame, width=64, height=36):
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\\0" + bytes([60 * frame]) * (3 * width) for _ in range(height))
    (JOB / "frames").mkdir(exist_ok=True)
    (JOB / "frames" / f"{{frame:06d}}.png").write_bytes(
        b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
{do}
"""


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "s.blend"
    path.write_bytes(b"BLENDER17-01v0502 the rest")
    return path


def stand_in(tmp_path, do):
    path = tmp_path / "fake-blender"
    path.write_text(CHILD.format(python=sys.executable, do=do))
    path.chmod(0o755)
    return Blender(str(path), "program", "5.2.0")


def render(scene, out, blender=None, **options):
    blender = blender or Blender("/nowhere/blender", "program", "5.2.0")
    return render_scene(scene, out, TIMELINE, blender=blender, reporter=SilentReporter(), **options)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"first": 2, "last": 1}, "frames 2-1"),
        ({"last": 3}, "has frames 0-2"),
        ({"scale": 0}, "scale"),
        ({"samples": 0}, "samples"),
        ({"pictures": False}, "nothing to render"),
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
    do = "[picture(frame) for frame in range(3)]; status(state='done', done=3, total=3, notes=['by the way'])"
    outcome = render(scene, tmp_path / "job", stand_in(tmp_path, do))
    assert outcome.video.stat().st_size > 0 and outcome.status.notes == ["by the way"] and outcome.geometry is None


@needs_scripts
def test_a_killed_run_leaves_no_video_of_the_run_before(scene, tmp_path):
    works = "[picture(frame) for frame in range(3)]; status(state='done', done=3, total=3)"
    video = render(scene, tmp_path / "job", stand_in(tmp_path, works)).video
    with pytest.raises(OperationalError, match="signal 9"):
        render(scene, tmp_path / "job", stand_in(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"))
    assert not video.exists()
    assert len(list((tmp_path / "job" / "frames").iterdir())) == 3, "an identical job keeps its frames"
    with pytest.raises(OperationalError):
        render(scene, tmp_path / "job", stand_in(tmp_path, "sys.exit(1)"), samples=7)
    assert not (tmp_path / "job" / "frames").exists(), "another job does not"
    render(scene, tmp_path / "job", stand_in(tmp_path, works))
    scene.write_bytes(b"BLENDER17-01v0502 changed")
    with pytest.raises(OperationalError):
        render(scene, tmp_path / "job", stand_in(tmp_path, "sys.exit(1)"))
    assert not (tmp_path / "job" / "frames").exists(), "neither does a changed scene"


@needs_scripts
@pytest.mark.parametrize(
    ("do", "kind", "text"),
    [
        ("status(state='failed', error='no camera'); sys.exit(2)", BadInputError, "^no camera$"),
        ("status(state='failed', error='disk full'); sys.exit(3)", OperationalError, "^disk full$"),
        ("status(state='rendering', done=2, frame=1); print('boom'); sys.exit(11)", OperationalError,
         r"ended with status 11 after frame 1 \(boom\)"),
        ("status(state='rendering', done=1, frame=0)", OperationalError, "ended with status 0 after frame 0"),
        ("pass", OperationalError, "before its first frame"),
    ],
)  # fmt: skip
def test_how_a_child_ends_is_told_in_one_line(scene, tmp_path, do, kind, text):
    with pytest.raises(kind, match=text) as error:
        render(scene, tmp_path / "job", stand_in(tmp_path, do))
    assert "\n" not in str(error.value) and not (tmp_path / "job" / "reconstruction.mp4").exists()


@needs_scripts
def test_a_missing_picture_is_found_although_the_child_says_done(scene, tmp_path):
    with pytest.raises((BadInputError, OperationalError), match=r"000002\.png"):
        render(
            scene, tmp_path / "job", stand_in(tmp_path, "picture(0); picture(1); status(state='done', done=3, total=3)")
        )
    assert not (tmp_path / "job" / "reconstruction.mp4").exists()


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
