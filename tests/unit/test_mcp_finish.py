# SPDX-License-Identifier: GPL-3.0-or-later
"""The finishing tools through the SDK's own client: real commands as children, with a stub in place of Blender."""

import asyncio
import json
import os
import signal
import subprocess
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import report_samples as samples
from bridge_stub import BridgeStub
from matchcut.evaluator.media.encode import encode
from matchcut.evaluator.protocol.errors import BadInputError, OperationalError
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.report.brief import brief
from matchcut.mcp_server import running
from matchcut.mcp_server.finish_records import MOST_LINES, audit_answer, bounded, check_answer
from matchcut.mcp_server.renders import Renders
from matchcut.mcp_server.scores import check_judge
from matchcut.mcp_server.server import make_server
from matchcut.mcp_server.session import Session
from matchcut.mcp_server.workplace import Task, Workplace
from mcp import Client
from render_stub import stand_in

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a script stands in for Blender by its first line")


COPIES = """
asked = json.loads((JOB / 'job.json').read_text())
(JOB / 'scene.blend').write_bytes(pathlib.Path(asked['scene']).read_bytes())
"""


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    path = tmp_path_factory.mktemp("reference") / "reference.mp4"
    pictures = np.stack([np.full((36, 64, 3), 60 * frame % 256, np.uint8) for frame in range(3)])
    encode(pictures, Fraction(24), path, reporter=SilentReporter(), total=len(pictures))
    return path


@pytest.fixture
def shot(tmp_path, monkeypatch, video):
    """A folder with a scene and its reference, and a Blender that renders grey pictures."""
    monkeypatch.setenv("MATCHCUT_BRIDGE_FOLDER", str(tmp_path / "bridge"))
    folder = tmp_path / "shot"
    folder.mkdir()
    (folder / "shot.blend").write_bytes(b"BLENDER17-01v0502 the rest")
    (folder / "reference.mp4").write_bytes(video.read_bytes())
    child = stand_in(tmp_path, COPIES + "render()")
    program = tmp_path / "blender"
    program.write_text(f'#!/bin/sh\n[ "$1" = --version ] && exec echo Blender 5.2.0\nexec {child.path} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("BLENDER", str(program))
    return folder


def no_launch(label, given_up):
    raise OperationalError("no Blender here; run: matchcut doctor")


def with_client(work, *folders, **task):
    """What `work(call)` returns; `call(tool, …)` gives the structured result, or the error's text."""

    async def main(renders):
        async with Client(make_server(Session(no_launch), renders)) as client:

            async def call(tool, heard=None, **arguments):
                async def on_progress(done, total, text):
                    heard.append((done, text))

                options = {} if heard is None else {"progress_callback": on_progress}
                result = await client.call_tool(tool, arguments, **options)
                return "\n".join(one.text for one in result.content) if result.is_error else result.structured_content

            call.client = client
            return await work(call)

    renders = Renders(Workplace(folders, Task(**task)))
    try:
        return asyncio.run(main(renders))
    finally:
        renders.close()


async def rendered(call):
    await call("render_start", scene="shot.blend", reference="reference.mp4")
    done = await call("render_wait", seconds=60)
    assert done["state"] == "done", done
    return Path(done["job"])


def test_a_render_is_checked_and_handed_in_with_the_agent_s_report(shot, monkeypatch):
    heard = []

    async def work(call):
        job = await rendered(call)
        checked = await call("check_timeline", heard=heard, reference="reference.mp4")
        monkeypatch.setenv("BLENDER", "no blender")
        first = await call("submit", report="# Mine\nA *grey* room; the lamp is missing.", reference="reference.mp4")
        again = await call("submit", report="Better.", job=str(job), reference="reference.mp4")
        return job, checked, first, again

    job, checked, first, again = with_client(work, shot)
    assert checked["passed"] and checked["checked"] == str(job / "reconstruction.mp4") and checked["faults"] == []
    assert "frames 3" in checked["agrees"] and "resolution 64x36" in checked["agrees"]
    assert isinstance(first, dict) and first["passed"], first
    folder = Path(first["folder"])
    assert folder == shot / "matchcut" / "submission"
    assert {path.name for path in folder.iterdir()} == {
        "scene.blend", "reconstruction.mp4", "comparison.mp4", "contact_sheet.png", "report.md", "submission.json",
    }  # fmt: skip
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert again["passed"] and "> Better." in text and "lamp" not in text
    assert "## What its maker says" in text and first["files"]["report.md"].endswith("lines")
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)


def test_another_render_s_package_stays_until_it_is_given_up(shot, monkeypatch):
    async def work(call):
        await rendered(call)
        monkeypatch.setenv("BLENDER", "no blender")
        one = await call("submit", reference="reference.mp4")
        (shot / "shot.blend").write_bytes(b"BLENDER17-01v0502 another scene")
        monkeypatch.setenv("BLENDER", str(shot.parent / "blender"))
        await rendered(call)
        monkeypatch.setenv("BLENDER", "no blender")
        refused = await call("submit", reference="reference.mp4")
        kept = (Path(one["folder"]) / "submission.json").read_bytes()
        taken = await call("submit", reference="reference.mp4", replace=True)
        (shot / "full").mkdir()
        (shot / "full" / "mine.txt").write_text("mine")
        full = await call("submit", reference="reference.mp4", out="full", replace=True)
        return one, refused, kept, taken, full

    one, refused, kept, taken, full = with_client(work, shot)
    assert one["passed"] and taken["passed"]
    assert (
        "bad_params: " in refused
        and "replace=true gives it up" in refused
        and "--" not in refused
        and len(refused.splitlines()) == 1
    )
    assert taken["folder"] == one["folder"]
    assert (Path(taken["folder"]) / "submission.json").read_bytes() != kept
    assert "no package of deliverables" in full and (shot / "full" / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("submit", {}, "nothing was rendered yet"),
        ("submit", {"job": "nowhere"}, "no render job lies here"),
        ("submit", {"job": "/etc"}, "not in a folder"),
        ("score", {}, "nothing was rendered yet"),
        ("score", {"video": "none.mp4"}, "there is no such file"),
        ("score", {"video": "reference.mp4", "judge": "somebody"}, "expected openai:MODEL"),
        ("score", {"video": "reference.mp4", "judge": "openai:x"}, "name it too"),
        ("score", {"video": "reference.mp4", "checklist": "none"}, "there is no such file"),
        ("score", {"cancel": True}, "no scoring runs"),
        ("check_timeline", {"video": "none.mp4"}, "there is no such file"),
        ("check_timeline", {"video": "shot.blend"}, "shot.blend"),
        ("check_timeline", {"video": "/etc/passwd"}, "not in a folder"),
        ("check_timeline", {"video": "empty"}, "no finished video lies here"),
        ("check_timeline", {"video": "scene"}, "no Blender here"),
        ("audit", {"scene": "none.blend"}, "there is no such file"),
        ("audit", {}, "no Blender here"),
    ],
)
def test_bad_requests_are_one_line_and_leave_nothing(shot, tool, arguments, said):
    (shot / "empty").mkdir()

    async def work(call):
        return await call(tool, reference="reference.mp4", **arguments)

    refused = with_client(work, shot)
    assert isinstance(refused, str) and said in refused and len(refused.splitlines()) == 1, refused
    assert not (shot / "matchcut").exists()


def test_a_reference_that_is_gone_is_said(shot):
    async def work(call):
        return [await call(tool) for tool in ("check_timeline", "audit")]

    for refused in with_client(work, shot, reference=shot / "gone.mp4"):
        assert "gone.mp4" in refused or "no Blender here" in refused


def test_a_render_that_runs_or_is_a_part_is_no_submission(shot, monkeypatch):
    child = stand_in(shot.parent, COPIES + "render(lambda frame: time.sleep(60 if frame == 2 else 0))")
    assert child.path.endswith("fake-blender")

    async def work(call):
        await call("render_start", scene="shot.blend", reference="reference.mp4")
        answers = [await call(tool, reference="reference.mp4") for tool in ("submit", "check_timeline", "score")]
        await call("render_cancel")
        cancelled = await call("submit", reference="reference.mp4")
        await call("render_start", scene="shot.blend", reference="reference.mp4", frames="0-1")
        await call("render_wait", seconds=60)
        return answers, cancelled, await call("check_timeline", reference="reference.mp4")

    answers, cancelled, part = with_client(work, shot)
    assert all("busy: " in answer and "render_wait" in answer for answer in answers), answers
    assert "it is cancelled" in cancelled and "it is done" in part and "render all frames" in part


def test_where_nothing_is_rendered_the_scene_itself_is_checked(shot, monkeypatch):
    asked = []

    def check_scene(timeline, cuts):
        asked.append((timeline, cuts))
        return {"timeline": "64x36", "problems": ["the scene runs at 25/1 fps; the reference at 24/1"]}

    stub = BridgeStub({"check_scene": check_scene})

    async def work(call):
        first = await call("check_timeline", reference="reference.mp4")
        begun = time.monotonic()
        return first, await call("check_timeline", video="scene", reference="reference.mp4"), time.monotonic() - begun

    try:
        first, again, seconds = with_client(work, shot)
    finally:
        stub.stop()
    assert first["passed"] is False and first["faults"] == ["the scene runs at 25/1 fps; the reference at 24/1"]
    assert "unrendered" in first["checked"] and again["faults"] == first["faults"]
    assert asked[0] == ({"width": 64, "height": 36, "rate": "24/1", "frames": 3}, [])
    assert seconds < 1, "the reference's timeline and cuts are known by then"


def test_faults_of_a_video_are_plain_lines(tmp_path):
    samples.write_video(tmp_path / "given.mp4", frames=40, cuts=(20,))
    samples.write_video(tmp_path / "mine.mp4", frames=38, cuts=(18,), rate=25, size=(160, 120))

    async def work(call):
        return await call("check_timeline", video="mine.mp4", reference="given.mp4")

    answer = with_client(work, tmp_path)
    assert answer["passed"] is False
    told = "\n".join(answer["faults"])
    for said in ("resolution: is 160x120; the reference's is 160x96", "frames: is 38", "rate: is 25/1"):
        assert said in told, told


def test_in_benchmark_mode_nothing_scores_and_all_goes_to_the_output(shot, tmp_path, monkeypatch):
    out = tmp_path / "output"
    out.mkdir()

    async def work(call):
        names = [tool.name for tool in (await call.client.list_tools()).tools]
        refused = await call("score")
        folder = out / "matchcut" / "render-001"
        job = await call("render_start", scene="shot.blend", reference="reference.mp4")
        assert job["job"] == str(folder), job
        await call("render_wait", seconds=60)
        monkeypatch.setenv("BLENDER", "no blender")
        elsewhere = await call("submit", out=str(shot / "mine"))
        return names, refused, elsewhere, await call("submit")

    names, refused, elsewhere, done = with_client(
        work, shot, out, output=out, benchmark=True, reference=shot / "reference.mp4"
    )
    assert "score" not in names and {"check_timeline", "audit", "submit", "fit_camera"} <= set(names)
    assert "score" in refused and "not_allowed: " in elsewhere and not (shot / "mine").exists()
    assert done["passed"] and Path(done["folder"]) == out / "submission"


# --- score ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def pair(tmp_path, monkeypatch):
    monkeypatch.setenv("MATCHCUT_BRIDGE_FOLDER", str(tmp_path / "bridge"))
    samples.write_video(tmp_path / "given.mp4", frames=24, cuts=(12,))
    samples.write_video(tmp_path / "mine.mp4", frames=24, cuts=(12,), rate=24)
    return tmp_path


def test_a_score_is_waited_for_by_calling_again_and_keeps_its_answer(pair):
    heard = []

    async def work(call):
        arguments = {"video": "mine.mp4", "reference": "given.mp4"}
        begun = await call("score", seconds=1, **arguments)
        busy = await call("score", **{**arguments, "setting": "proxy"}) if begun["state"] == "running" else "busy: "
        for _ in range(5):
            done = await call("score", heard=heard, seconds=120, **arguments)
            if done["state"] != "running":
                break
        return begun, busy, done, await call("score", seconds=1, **arguments)

    begun, busy, done, again = with_client(work, pair)
    assert begun["state"] in ("running", "done") and "busy: " in busy
    assert done["state"] == "done" and done == again, "the same question gets the answer that is there"
    assert done["sent"] == "nothing: no judge was named" and done["checklist"].startswith("unscored: no checklist")
    assert done["scores"] == [] and done["cuts"] == "1 of 1 found" and done["timeline"]
    assert Path(done["report"]).is_file() and Path(done["report"]).parent == pair / "matchcut" / "score-001"
    assert "score" in done["sgc"] and (done["sgc"]["score"] is not None or done["sgc"]["reason"])
    assert heard


def alive(name):
    found = subprocess.run(["ps", "-ewwo", "pid,stat,args"], capture_output=True, text=True, check=True).stdout
    return [int(line.split()[0]) for line in found.splitlines() if name in line and " Z" not in line]


def test_a_score_is_cancelled_by_asking_and_by_the_client_and_leaves_no_child(pair):
    arguments = {"video": "mine.mp4", "reference": "given.mp4"}

    async def work(call):
        begun = await call("score", seconds=1, **arguments)
        cancelled = await call("score", cancel=True)
        left = alive(str(pair / "mine.mp4"))
        task = asyncio.create_task(call("score", seconds=100, **arguments))
        await asyncio.sleep(1.5)
        assert alive(str(pair / "mine.mp4")), "it runs again"
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        end = time.monotonic() + 10
        while alive(str(pair / "mine.mp4")) and time.monotonic() < end:
            await asyncio.sleep(0.1)
        return begun, cancelled, left, alive(str(pair / "mine.mp4"))

    begun, cancelled, left, after = with_client(work, pair)
    assert begun["state"] == "running" and cancelled["state"] == "cancelled" and left == [] and after == []
    assert not list(pair.glob("matchcut/score-*/results.json"))


def test_a_killed_child_is_a_failure_and_the_next_call_starts_anew(pair):
    arguments = {"video": "mine.mp4", "reference": "given.mp4"}

    async def work(call):
        begun = await call("score", seconds=1, **arguments)
        for pid in alive(str(pair / "mine.mp4")):
            os.kill(pid, signal.SIGKILL)
        failed = await call("score", seconds=20, **arguments)
        again = await call("score", seconds=1, **arguments)
        await call("score", cancel=True)
        return begun, failed, again

    begun, failed, again = with_client(work, pair)
    assert begun["state"] == "running" and "failed: score ended with status -9" in failed, failed
    assert again["state"] in ("running", "done")


@pytest.mark.parametrize("judge", ["", "openai", "openai:", "local", "nobody:x", ":x", "replay", "Human"])
def test_a_judge_is_named_in_full(judge):
    with pytest.raises(BadInputError, match="expected openai:MODEL"):
        check_judge(judge)


@pytest.mark.parametrize("judge", ["openai:m", "local:http://127.0.0.1:1/v1#m", "human", "human:me", "replay:/x#m"])
def test_judges_that_may_be_named(judge):
    check_judge(judge)


def test_a_result_in_few_words_has_what_fails_first_and_its_coverage():
    results = samples.results()
    told = brief(results)
    json.dumps(told, allow_nan=False)
    assert told["scores"][0]["name"] == "overall" and all("checks" in one["coverage"] for one in told["scores"])
    ratings = [one["rating"] for one in told["failing"]]
    assert ratings == sorted(ratings, key=["unsatisfied", "partially_satisfied"].index)
    assert told["failing_total"] >= len(told["failing"]) and all(one["statement"] for one in told["failing"])


# --- answers ----------------------------------------------------------------------------------------------------------


def test_an_audit_names_what_to_do(tmp_path):
    finding = {
        "severity": "forbidden", "kind": "image_texture", "type": "image", "name": "frame.png", "what": "packed",
        "where": ["material 'Wall'"], "why": "the protocol forbids it", "matches": [
            {"picture": "", "frame": 7, "how": "whole", "score": 0.98},
        ],
    }  # fmt: skip
    note = {**finding, "severity": "note", "matches": [], "name": "font"}
    answer = audit_answer({"passed": False, "findings": [finding, note], "notes": ["more"]}, tmp_path / "audit.json")
    first = answer.findings[0]
    assert first.startswith("forbidden: image 'frame.png'") and "frame 7 (0.98)" in first
    assert first.endswith("To do: replace it by procedural nodes, or model what it shows")
    assert answer.counts == {"forbidden": 1, "suspicious": 0, "note": 1} and "To do" not in answer.findings[1]


def test_cuts_and_fades_are_told_with_their_places():
    fade = {"kind": "out", "shade": "black", "first": 3, "last": 9}
    shots = {
        "matches": [
            {"verdict": "found", "reference": 5, "reconstruction": 5},
            {"verdict": "late", "reference": 20, "reconstruction": 22},
            {"verdict": "missing", "reference": 30, "reconstruction": None},
            {"verdict": "extra", "reference": None, "reconstruction": 33},
        ],
        "fade_matches": [{"verdict": "missing", "reference": fade, "reconstruction": None}],
    }
    faults = [{"kind": "frozen", "detail": "it stands"}]
    timeline = {"comparisons": [], "offset_frames": -2, "offset_reason": "", "faults": faults}
    answer = check_answer({"passed": False, "timeline": timeline, "shots": shots}, "mine.mp4", "")
    assert answer.faults == [
        "shift: 2 frames early",
        "frozen: it stands",
        "cut: late, at frame 22; the reference's is at frame 20",
        "cut: the reference's at frame 30 is missing",
        "cut: there is one at frame 33, and the reference has none there",
        "fade: the reference's at frames 3 to 9 is missing",
    ]
    assert answer.agrees == ["1 cut in place"]


def test_lines_are_bounded():
    lines = bounded(["x" * 5000] * 500)
    assert len(lines) == MOST_LINES + 1 and len(lines[0]) < 1000 and lines[-1] == f"and {500 - MOST_LINES} more"


def test_a_second_question_waits_for_the_first():
    slot = running.Slot("another check")
    assert slot.running("anything") is None
