"""A job that is killed again and again, at any instant and in any way, ends with what an undisturbed one makes."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from matchcut.evaluator.environment.blender import identify
from matchcut.evaluator.environment.create import bpy_python
from matchcut.evaluator.protocol.children import child_environment, own_group
from matchcut.evaluator.protocol.render_job import RenderStatus

FRAMES, INTERRUPTIONS, SEED = 26, 20, 4
pytestmark = pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are looked up in /proc")

RUNNER = """
import runpy, sys, pathlib
from fractions import Fraction
runpy.run_path({main!r}, run_name="matchcut_main")["load_package"]()
from matchcut.evaluator.environment.blender import Blender
from matchcut.evaluator.protocol.errors import MatchcutError
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.protocol.timeline import Timeline
from matchcut.evaluator.render.job import render_scene
try:
    render_scene(
        pathlib.Path({scene!r}), pathlib.Path(sys.argv[1]), Timeline(48, 28, Fraction(24000, 1001), {frames}),
        blender=Blender({blender!r}, "wheel", "5.2"), reporter=SilentReporter(), device="cpu", samples=1, passes=True,
        workers=2,
    )
except MatchcutError as error:  # as the command does
    sys.exit(error.exit_status)
"""


@pytest.fixture(scope="module")
def wheel():
    python = bpy_python()
    if python is None:
        pytest.skip("the bpy wheel, which starts quickest, is not there: run: matchcut setup --bpy")
    return identify(str(python), "wheel")


@pytest.fixture(scope="module")
def runner(root, wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("killed")
    scene = folder / "scene.blend"
    build = f"""
import sys; sys.path.insert(0, {str(root / "tests" / "bpy")!r})
import pathlib, render_scenes
render_scenes.build({FRAMES}); render_scenes.save(pathlib.Path({str(scene)!r}))
"""
    subprocess.run([wheel.path, "-c", build], check=True, capture_output=True, env=child_environment())
    script = folder / "runner.py"
    script.write_text(
        RUNNER.format(main=str(root / "__main__.py"), scene=str(scene), frames=FRAMES, blender=wheel.path)
    )

    def start(out: Path) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, str(script), str(out)], stderr=subprocess.DEVNULL, env=child_environment(), **own_group()
        )

    return start


def children(out: Path) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            ours = f"render-job\0{out}\0".encode() in (entry / "cmdline").read_bytes()
            if ours and (entry / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def kill(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        pass


def contents(out: Path) -> dict[str, str]:
    """What a job has made, by the hash of its bytes: everything but its log, its status and the copy of the scene."""
    return {
        str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.name not in ("render.log", "status.json", "scene.blend")
    }


def test_twenty_interruptions_leave_no_trace(runner, tmp_path):
    assert runner(tmp_path / "whole").wait() == 0
    choose, out, done = random.Random(SEED), tmp_path / "job", []
    ways = ["child", "parent", "both", "cancel"] * (INTERRUPTIONS // 4)
    choose.shuffle(ways)
    parent = runner(out)
    while len(done) < INTERRUPTIONS:
        time.sleep(choose.uniform(0.1, 2.5))
        if parent.poll() is not None:  # it has come to its end in between: let it have something to do again
            assert parent.returncode in (0, 3)
            if parent.returncode == 0:
                for path in choose.sample(sorted((out / "frames").iterdir()), 6):
                    path.write_bytes(path.read_bytes()[: choose.randrange(400)])
                next((out / "geometry").glob("0*.npz")).unlink(missing_ok=True)
            parent = runner(out)
            continue
        way = ways[len(done)]
        if way == "cancel":
            parent.send_signal(signal.SIGINT)
        if way in ("parent", "both"):
            parent.kill()
        if way in ("child", "both"):
            for process in children(out):
                kill(process)
        done.append(way)
        if way != "child":
            begun = time.monotonic()
            parent.wait()
            while children(out):
                assert time.monotonic() - begun < 5, f"after {way} something still runs"
                time.sleep(0.02)
            parent = runner(out)
    # a child that was killed twice at one frame makes it a failed one: the next start tries it again
    while parent.wait() == 3:
        parent = runner(out)
    assert parent.returncode == 0 and len(set(done)) == 4
    assert contents(out) == contents(tmp_path / "whole") and len(list((out / "frames").iterdir())) == FRAMES
    assert RenderStatus.read(out).state == "done" and children(out) == []


def test_a_child_whose_parent_has_ended_does_not_first_import_the_wheel(root, wheel, tmp_path):
    command = [wheel.path, str(root / "addon" / "headless.py"), "--", "render-job", str(tmp_path / "missing")]
    for flags, status in (([], 2), (["--follow-parent"], 3)):
        child = subprocess.run(
            [*command, *flags], stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False
        )
        assert child.returncode == status, child.stderr
