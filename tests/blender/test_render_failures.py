"""Crashes, hangs, full disks and missing devices in the real Blender: one line, nothing lost, nothing left running."""

import os
import subprocess
import time
from fractions import Fraction
from pathlib import Path

import pytest
from matchcut.evaluator.protocol.errors import BadInputError, OperationalError
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.protocol.render_job import RenderStatus
from matchcut.evaluator.protocol.timeline import Timeline
from matchcut.evaluator.render.job import render_scene

TIMELINE = Timeline(48, 28, Fraction(24), 4)

# an add-on that does something at the scene's third frame, in every process or only in the first
ADDON = """
import bpy, ctypes, pathlib, time
bl_info = {{"name": "trouble", "blender": (5, 2, 0), "category": "Render"}}
ONCE = pathlib.Path({once!r})
@bpy.app.handlers.persistent
def trouble(scene, *_):
    if scene.frame_current == 3 and not ({only_once} and ONCE.exists()):
        ONCE.touch()
        {do}
def register(): bpy.app.handlers.render_pre.append(trouble)
def unregister(): bpy.app.handlers.render_pre.remove(trouble)
"""


class Listener(SilentReporter):
    def __init__(self):
        self.warnings = []

    def warning(self, text):
        self.warnings.append(text)


@pytest.fixture
def trouble(tmp_path, monkeypatch):
    def make(do, only_once=False):
        folder = tmp_path / "scripts" / "addons"
        folder.mkdir(parents=True)
        (folder / "trouble.py").write_text(ADDON.format(once=str(tmp_path / "once"), only_once=only_once, do=do))
        monkeypatch.setenv("BLENDER_USER_SCRIPTS", str(folder.parent))
        return ["trouble"]

    return make


def render(blender, scene, out, **options):
    options = {"device": "cpu", "samples": 1, "reporter": SilentReporter(), **options}
    return render_scene(scene, out, TIMELINE, blender=blender, **options)


def left(out):
    """What a job should not leave: processes, temporary files, a video that is not whole."""
    names = [str(path) for path in out.glob("**/.partial*")] + [str(path) for path in out.glob("parts/**/*")]
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            names += [entry.name] if str(out).encode() in (entry / "cmdline").read_bytes() else []
        except OSError:
            continue
    return names


def test_a_crash_at_one_frame_is_tried_again(blender, make_scene, tmp_path, trouble):
    addons = trouble("ctypes.string_at(0)", only_once=True)
    outcome = render(blender, make_scene(), tmp_path / "job", addons=addons)
    assert outcome.video is not None and (tmp_path / "once").exists() and left(tmp_path / "job") == []


def test_a_frame_that_always_crashes_is_named_and_the_rest_is_kept(blender, make_scene, tmp_path, trouble):
    out, addons = tmp_path / "job", trouble("ctypes.string_at(0)")
    with pytest.raises(OperationalError, match=r"frame 2 could not be rendered .frame 2: it ") as error:
        render(blender, make_scene(), out, addons=addons)
    assert "\n" not in str(error.value) and left(out) == []
    assert sorted(path.name for path in (out / "frames").iterdir()) == ["000000.png", "000001.png", "000003.png"]
    assert [entry["frame"] for entry in RenderStatus.read(out).failed] == [2]


def test_a_hang_is_ended_and_tried_again(blender, make_scene, tmp_path, trouble):
    addons = trouble("time.sleep(300)", only_once=True)
    begun = time.monotonic()
    outcome = render(blender, make_scene(), tmp_path / "job", addons=addons, frame_limit=15)
    assert outcome.status.failed == [] and 15 < time.monotonic() - begun < 120 and left(tmp_path / "job") == []


def test_a_handler_that_raises_is_told_and_the_job_goes_on(blender, make_scene, tmp_path, trouble):
    listener = Listener()
    outcome = render(blender, make_scene(), tmp_path / "job", addons=trouble("1 / 0"), reporter=listener)
    assert outcome.video is not None
    assert any("handler failed" in text and "render.log" in text for text in listener.warnings)
    assert "ZeroDivisionError" in (tmp_path / "job" / "render.log").read_text()


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 3 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "none", str(place)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("a small disk can only be mounted by root on Linux")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture
def full_disk(blender, small_disk):
    """The same, where the Blender sees it."""
    if blender.kind == "program":  # it may live in a tree that does not see what is mounted later
        probe = ["-b", "--factory-startup", "--python-exit-code", "1", "--python-expr"]
        code = f"import shutil; assert shutil.disk_usage({str(small_disk)!r}).total < 2**23"
        if subprocess.run([blender.path, *probe, code], capture_output=True, check=False).returncode:
            pytest.skip("this Blender does not see the small disk")
    return small_disk


def test_a_disk_without_room_for_the_passes(blender, make_scene, full_disk):
    out = full_disk / "job"
    with pytest.raises(OperationalError, match="disk is full") as error:
        render_scene(
            make_scene(), out, Timeline(640, 360, Fraction(24), 4), blender=blender, reporter=SilentReporter(),
            samples=1, passes=True,
        )  # fmt: skip
    assert "\n" not in str(error.value) and not list(out.glob("**/.partial*"))
    assert len(list((out / "frames").iterdir())) == 4, "the pictures are lost"
    assert RenderStatus.read(out).failed == []


def test_a_disk_that_fills_up(blender, make_scene, full_disk):
    small_disk, scene = full_disk, make_scene()
    out = small_disk / "job"
    (small_disk / "ballast").write_bytes(bytes(int(2.5 * 2**20)))
    with pytest.raises(OperationalError, match="disk is full") as error:
        render_scene(
            scene, out, Timeline(640, 360, Fraction(24), 4), blender=blender, reporter=SilentReporter(), samples=1
        )
    assert "\n" not in str(error.value) and not list(out.glob("**/.partial*"))
    (small_disk / "ballast").unlink()
    again = render_scene(
        scene, out, Timeline(640, 360, Fraction(24), 4), blender=blender, reporter=SilentReporter(), samples=1
    )
    assert again.video is not None


@pytest.mark.parametrize("device", ["optix", "metal"])
def test_a_gpu_that_is_not_there(blender, make_scene, tmp_path, device):
    with pytest.raises(BadInputError, match=f"no {device.upper()} device.*--device auto or cpu"):
        render(blender, make_scene(), tmp_path / "job", device=device)
    assert left(tmp_path / "job") == []


def test_eevee_without_opengl(blender, make_scene, tmp_path, monkeypatch):
    monkeypatch.setenv("__EGL_VENDOR_LIBRARY_FILENAMES", "/nowhere/vendor.json")
    monkeypatch.setenv("VK_DRIVER_FILES", "/nowhere/driver.json")
    monkeypatch.setenv("LIBGL_DRIVERS_PATH", "/nowhere")
    monkeypatch.delenv("DISPLAY", raising=False)
    with pytest.raises(BadInputError) as error:
        render(blender, make_scene(), tmp_path / "job", engine="eevee")
    assert "\n" not in str(error.value) and left(tmp_path / "job") == []
    assert "OpenGL" in str(error.value) and "--engine cycles" in str(error.value)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written(blender, make_scene, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    with pytest.raises(BadInputError, match="cannot be written"):
        render(blender, make_scene(), tmp_path / "closed" / "job")


@pytest.mark.parametrize("passes", [False, True])
def test_two_workers_make_the_same_as_one(blender, make_scene, tmp_path, passes):
    scene, timeline = make_scene("thirty", frames=30), Timeline(48, 28, Fraction(24), 30)
    outcomes = [
        render_scene(
            scene, tmp_path / str(workers), timeline, blender=blender, reporter=SilentReporter(), samples=1,
            device="cpu", workers=workers, passes=passes,
        )
        for workers in (1, 2)
    ]  # fmt: skip
    made = [
        {path.relative_to(outcome.folder): path.read_bytes() for path in outcome.folder.glob("*/*")}
        for outcome in outcomes
    ]
    assert made[0] == made[1] and len(made[0]) == 30 + (5 if passes else 0)
    assert outcomes[1].status.peak_memory_bytes > 0 and outcomes[1].status.rendered == 30 * (1 + passes)
