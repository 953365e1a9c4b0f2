"""Render jobs through a real child Blender: from a .blend to a verified video, resumed, refused, killed."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from matchcut.evaluator.environment.blender import Blender
from matchcut.evaluator.media.encode import encode
from matchcut.evaluator.media.probe import probe
from matchcut.evaluator.protocol.children import child_environment
from matchcut.evaluator.protocol.errors import BadInputError, OperationalError
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.protocol.render_job import RenderStatus
from matchcut.evaluator.protocol.timeline import Timeline
from matchcut.evaluator.render.job import render_scene

TIMELINE = Timeline(64, 36, Fraction(24000, 1001), 4)


class Listener(SilentReporter):
    def __init__(self):
        self.steps, self.warnings = [], []

    def progress(self, stage, done, total, text=""):
        self.steps.append((stage, done, total, text))

    def warning(self, text):
        self.warnings.append(text)


def render(blender, scene, out, timeline=TIMELINE, reporter=None, **options):
    options = {"device": "cpu", **options}
    return render_scene(scene, out, timeline, blender=blender, reporter=reporter or SilentReporter(), **options)


def hashes(out):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted((out / "frames").iterdir())}


def alive(text):
    """Ids of processes whose command line holds `text`."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if text.encode() in (entry / "cmdline").read_bytes() and (entry / "stat").read_text().split()[2] != "Z":
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def state(out):
    try:
        return RenderStatus.read(out).state
    except BadInputError:
        return ""


needs_proc = pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are looked up in /proc")


def test_video_on_the_timeline(blender, make_scene, tmp_path):
    listener = Listener()
    scene = make_scene()
    before = scene.read_bytes()
    outcome = render(blender, scene, tmp_path / "job", reporter=listener, passes=True)
    assert probe(outcome.video).timeline == TIMELINE
    assert outcome.status.state == "done" and outcome.status.blender.startswith(blender.version)
    stage = [step for step in listener.steps if step[0] == "render"]
    assert stage[-1][1:3] == (8, 8) and "s/frame" in stage[-1][3]
    assert any("1920x1080" in warning for warning in listener.warnings)
    assert scene.read_bytes() == before
    index = json.loads((outcome.geometry / "geometry.json").read_text())
    chunk = np.load(outcome.geometry / index["chunks"][0]["file"])
    assert chunk["depth"].shape == (4, 36, 64) and (chunk["depth"] > 0).mean() > 0.3
    names = {path.name for path in outcome.folder.rglob("*") if path.is_file()}
    assert not [name for name in names if name.startswith(".partial")]
    # the same again renders nothing
    frames = hashes(outcome.folder)
    stamps = [path.stat().st_mtime_ns for path in sorted((outcome.folder / "frames").iterdir())]
    again = render(blender, scene, tmp_path / "job", passes=True)
    assert probe(again.video).timeline == TIMELINE and hashes(again.folder) == frames
    assert stamps == [path.stat().st_mtime_ns for path in sorted((outcome.folder / "frames").iterdir())]


def test_another_job_in_the_same_folder_starts_anew(blender, make_scene, tmp_path):
    render(blender, make_scene(), tmp_path / "job", first=1, last=3, samples=1)
    assert sorted(hashes(tmp_path / "job")) == ["000001.png", "000002.png", "000003.png"]
    outcome = render(blender, make_scene(), tmp_path / "job", first=0, last=0, scale=0.5)
    assert list(hashes(tmp_path / "job")) == ["000000.png"]
    assert outcome.video is None and not (tmp_path / "job" / "reconstruction.mp4").exists()


def test_scaled_video(blender, make_scene, tmp_path):
    outcome = render(blender, make_scene(), tmp_path / "job", Timeline(70, 45, Fraction(25), 2), scale=0.5, samples=1)
    found = probe(outcome.video).timeline
    assert (found.width, found.height, found.rate, found.frames) == (36, 22, 25, 2)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("scenes.bpy.data.objects.remove(scene.camera)", "no camera"),
        ("", "LUXCORE"),
    ],
)
def test_what_cannot_be_rendered_is_said_in_one_line(blender, make_scene, tmp_path, change, expected):
    scene = make_scene("no_camera" if change else "scene", change=change)
    with pytest.raises(BadInputError, match=expected) as error:
        render(blender, scene, tmp_path / "job", engine=None if change else "LUXCORE")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "job" / "reconstruction.mp4").exists()
    assert not (tmp_path / "job" / "frames").exists()


def test_a_corrupt_scene(blender, tmp_path):
    scene = tmp_path / "bad.blend"
    scene.write_bytes(b"BLENDER17-01v0502" + bytes(range(256)) * 20)
    with pytest.raises(BadInputError, match=r"bad\.blend: Blender cannot open it"):
        render(blender, scene, tmp_path / "job")


@needs_proc
def test_cancelled_and_resumed(blender, make_scene, tmp_path):
    scene, out = make_scene(frames=6, name="six"), tmp_path / "job"
    timeline = Timeline(64, 36, Fraction(24), 6)
    render(blender, scene, tmp_path / "whole", timeline, samples=20)

    class Impatient(SilentReporter):
        def progress(self, stage, done, total, text=""):
            if done >= 2:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        render(blender, scene, out, timeline, reporter=Impatient(), samples=20)
    assert alive(str(out)) == []
    assert 2 <= len(list((out / "frames").glob("0*.png"))) < 6
    assert not (out / "reconstruction.mp4").exists()
    render(blender, scene, out, timeline, samples=20)
    assert hashes(out) == hashes(tmp_path / "whole")


@needs_proc
def test_the_child_ends_when_its_parent_is_killed(blender, make_scene, root, tmp_path):
    reference, out = tmp_path / "reference.mp4", tmp_path / "job"
    pictures = [np.full((180, 320, 3), 40 * index, np.uint8) for index in range(6)]
    encode(pictures, Fraction(24), reference, reporter=SilentReporter(), total=6)
    command = [sys.executable, str(root / "__main__.py"), "render", str(make_scene(frames=6, name="six"))]
    command += ["--reference", str(reference), "--out", str(out), "--samples", "4000", "--device", "cpu"]
    parent = subprocess.Popen(command, env={**child_environment(), "BLENDER": blender.path})
    deadline = time.monotonic() + 120
    while state(out) != "rendering" and time.monotonic() < deadline:
        time.sleep(0.05)
    assert state(out) == "rendering" and alive(f"render-job\0{out}")
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    killed = time.monotonic()
    while alive(f"render-job\0{out}") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert time.monotonic() - killed < 5 and state(out) == "rendering"
    assert not (out / "reconstruction.mp4").exists()


@needs_proc
def test_a_child_that_is_killed_whenever_it_renders_is_reported(blender, make_scene, tmp_path):
    out = tmp_path / "job"

    class Murderer(SilentReporter):
        def progress(self, stage, done, total, text=""):
            if state(out) == "rendering":
                for process in alive(f"render-job\0{out}"):
                    os.kill(process, signal.SIGKILL)

    timeline = Timeline(64, 36, Fraction(24), 3)
    with pytest.raises(OperationalError, match="it was killed") as error:
        render(blender, make_scene(), out, timeline, reporter=Murderer(), samples=4000)
    assert "render.log" in str(error.value) and not (out / "reconstruction.mp4").exists() and alive(str(out)) == []
    assert RenderStatus.read(out).state == "failed"


def test_command_line(blender, make_scene, root, tmp_path):
    reference = tmp_path / "reference.mp4"
    pictures = [np.full((36, 64, 3), 60 * index, np.uint8) for index in range(4)]
    encode(pictures, TIMELINE.rate, reference, reporter=SilentReporter(), total=4)
    command = [sys.executable, str(root / "__main__.py"), "render", str(make_scene()), "--reference", str(reference)]
    command += ["--out", str(tmp_path / "out"), "--device", "cpu"]
    environment = {**child_environment(), "BLENDER": blender.path}
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert probe(Path(answer["video"])).timeline == TIMELINE and answer["status"]["engine"] == "CYCLES"
    bad = subprocess.run([*command, "--frames", "2-9"], capture_output=True, text=True, env=environment)
    assert bad.returncode == 2 and bad.stderr == "matchcut: frames 2-9: the reference has frames 0-3\n"


@pytest.fixture
def blender_with_evaluator(blender, need_evaluator_inside):
    """A Blender from which the evaluator can be started."""
    if blender.kind == "program":
        need_evaluator_inside(blender.path)
    return blender


def headless(blender, *arguments, scene=None, **variables):
    variables = {"MATCHCUT_PYTHON": sys.executable, **variables}
    return subprocess.run(
        blender.command(*arguments, scene=scene), capture_output=True, text=True, stdin=subprocess.DEVNULL,
        env={**child_environment(), **variables},
    )  # fmt: skip


def test_headless_render_of_the_opened_scene(blender_with_evaluator, make_scene, tmp_path):
    reference, out = tmp_path / "reference.mp4", tmp_path / "out"
    pictures = [np.full((36, 64, 3), 60 * index, np.uint8) for index in range(4)]
    encode(pictures, TIMELINE.rate, reference, reporter=SilentReporter(), total=4)
    scene = make_scene()
    arguments = ["render", "--reference", str(reference), "--out", str(out), "--device", "cpu"]
    done = headless(blender_with_evaluator, *arguments, scene=scene, BLENDER="/nowhere/blender")
    assert done.returncode == 0, done.stderr + done.stdout
    assert probe(out / "reconstruction.mp4").timeline == TIMELINE
    assert (out / "scene.blend").exists()
    assert headless(blender_with_evaluator, *arguments).returncode == 2


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (["probe", "/nowhere/none.mp4"], 2, "none.mp4"),
        (["nonsense"], 2, "nonsense"),
        (["render-job"], 2, "one folder"),
        (["render-job", "{missing}"], 2, "one folder that is there"),
        (["sample", "no_such_sample", "reference", "/tmp/x.blend"], 2, "no_such_sample"),
        (["--help"], 0, ""),
    ],
)
def test_exit_statuses_get_through(blender_with_evaluator, tmp_path, arguments, status, text):
    missing = tmp_path / "missing" / "job"
    done = headless(blender_with_evaluator, *(argument.format(missing=missing) for argument in arguments))
    assert not missing.parent.exists(), "a refused command left a folder"
    assert done.returncode == status, done.stderr + done.stdout
    assert text in done.stderr


def test_wheel_cannot_open_what_is_not_there(blender_with_evaluator):
    done = headless(blender_with_evaluator, "probe", scene=Path("/nowhere/none.blend"))
    assert done.returncode != 0 and "none.blend" in done.stderr + done.stdout


def test_a_blender_that_does_not_start(make_scene, tmp_path):
    gone = Blender(str(tmp_path / "gone"), "program", "5.2.0")
    with pytest.raises(BadInputError, match="does not start"):
        render(gone, make_scene(), tmp_path / "job")
