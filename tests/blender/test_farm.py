"""Workers of a farm that run what the job type compiles to, with a real Blender, against a local render."""

import json
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.media.probe import probe
from matchcut.evaluator.protocol.files import sha256_of
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.protocol.render_job import RenderStatus
from matchcut.evaluator.protocol.timeline import Timeline
from matchcut.evaluator.render.job import render_scene

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "unit"))
import farm_stub  # noqa: E402

TIMELINE = Timeline(64, 36, Fraction(24000, 1001), 5)
pytestmark = pytest.mark.skipif(farm_stub.NODE is None, reason="node compiles the job type")


@pytest.fixture
def manager(blender, tmp_path, monkeypatch):
    if blender.kind != "program":
        pytest.skip("Flamenco's workers run Blender's program")
    monkeypatch.setenv("BLENDER", blender.path)
    script = (ROOT / "evaluator" / "farm" / "matchcut_render.js").read_text("utf-8")
    made = farm_stub.Manager(
        script, {"blender": blender.path, "matchcut": ROOT.as_posix()}, two_way={"shared": tmp_path.as_posix()}
    )
    yield made
    made.close()


def test_a_farms_video_is_the_local_renders_to_the_byte(blender, make_scene, manager, tmp_path, capsys):
    scene, folder = make_scene("farm", frames=5), tmp_path / "job"
    local = render_scene(
        scene, tmp_path / "local", TIMELINE, blender=blender, reporter=SilentReporter(), device="cpu", passes=True
    )
    start = ["farm", "submit", str(scene), "--reference", str(local.video), "--out", str(folder), "--manager"]
    assert main([*start, manager.url, "--device", "cpu", "--passes", "--batch", "3", "--json"]) == 0
    job = json.loads(capsys.readouterr().out)["job"]
    manager.work(job)
    assert [task["status"] for task in manager.jobs[job]["tasks"]] == ["completed", "completed"]
    assert main(["farm", "collect", str(folder), "--wait", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    for frame in range(5):
        name = f"frames/{frame:06d}.png"
        assert sha256_of(folder / name) == sha256_of(tmp_path / "local" / name)
    video = Path(answer["video"])
    assert sha256_of(video) == sha256_of(local.video) and probe(video).timeline == TIMELINE
    assert (Path(answer["geometry"]) / "geometry.json").is_file()
    status = RenderStatus.read(folder)
    assert (status.state, status.engine, status.blender) == ("done", "CYCLES", local.status.blender)


def test_a_worker_makes_the_video_where_it_has_the_evaluator(
    blender, make_scene, manager, tmp_path, capsys, need_evaluator_inside, monkeypatch
):
    need_evaluator_inside(blender.path)
    monkeypatch.setenv("MATCHCUT_PYTHON", sys.executable)
    scene, folder = make_scene("farm", frames=5), tmp_path / "job"
    reference = render_scene(
        scene, tmp_path / "r", TIMELINE, blender=blender, reporter=SilentReporter(), samples=1, device="cpu"
    ).video
    assert main([
        "farm", "submit", str(scene), "--reference", str(reference), "--out", str(folder), "--manager", manager.url,
        "--device", "cpu", "--samples", "1", "--collect", "--json",
    ]) == 0  # fmt: skip
    job = json.loads(capsys.readouterr().out)["job"]
    manager.work(job)
    assert [task["status"] for task in manager.jobs[job]["tasks"]] == ["completed", "completed"]
    assert sha256_of(folder / "reconstruction.mp4") == sha256_of(reference)
