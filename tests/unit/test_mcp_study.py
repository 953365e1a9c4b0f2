# SPDX-License-Identifier: GPL-3.0-or-later
"""The tools that study a reference, through the SDK's own client: real commands as children, no Blender."""

import asyncio
import base64
import io
import json
from fractions import Fraction
from pathlib import Path

import motion_samples as samples
import numpy as np
import pytest
from bridge_stub import BridgeStub
from matchcut.evaluator.protocol.errors import OperationalError
from matchcut.mcp_server import running, study_tools
from matchcut.mcp_server.renders import Renders
from matchcut.mcp_server.server import make_server
from matchcut.mcp_server.session import Session
from matchcut.mcp_server.workplace import Task, Workplace
from mcp import Client
from media_samples import pictures, write_video
from PIL import Image


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("MATCHCUT_BRIDGE_FOLDER", str(tmp_path / "bridge"))
    monkeypatch.setenv("MATCHCUT_CACHE_FOLDER", str(tmp_path / "cache"))


@pytest.fixture
def shot(tmp_path):
    """A folder with a reference of two shots."""
    folder = tmp_path / "shot"
    folder.mkdir()
    second = [255 - picture for picture in pictures(10, seed=8)]
    write_video(folder / "reference.mp4", [*pictures(12), *second], rate=Fraction(24000, 1001))
    return folder


def no_launch(label, given_up):
    raise OperationalError("no Blender here; run: matchcut doctor")


def ask(workplace, tool, heard=None, **arguments):
    """The tool's result."""

    async def main():
        async with Client(make_server(Session(no_launch), Renders(workplace))) as client:

            async def on_progress(done, total, text):
                heard.append((done, total, text))

            return await client.call_tool(tool, arguments, progress_callback=None if heard is None else on_progress)

    return asyncio.run(main())


def text_of(result):
    return "\n".join(block.text for block in result.content if block.type == "text")


def task_of(shot):
    return Workplace([shot], Task(reference=shot / "reference.mp4", setting="proxy"))


def test_info_says_what_to_set_and_what_is_asked(shot):
    found = ask(task_of(shot), "reference_info").structured_content
    assert found["setting"] == "proxy" and found["path"] == str(shot / "reference.mp4")
    assert found["timeline"]["rate"] == "24000/1001" and found["timeline"]["frames"] == 22
    assert abs(found["timeline"]["seconds"] - 22 * 1001 / 24000) < 1e-6
    scene = found["scene"]
    assert (scene["render.resolution_x"], scene["render.resolution_y"], scene["render.fps"]) == (96, 64, 24)
    assert scene["render.fps_base"] == 1.001 and (scene["frame_start"], scene["frame_end"]) == (1, 22)
    assert found["shots"] == [[0, 11], [12, 21]] and found["fades"] == [] and len(found["sha256"]) == 64


def test_oddities_come_with_what_to_do(tmp_path):
    images = pictures(6)
    write_video(
        tmp_path / "odd.mp4", images, rate=Fraction(25), rotation=90, time_base=Fraction(1, 1000),
        timestamps=[0, 40, 200, 240, 900, 940],
    )  # fmt: skip
    found = ask(Workplace([tmp_path]), "reference_info", reference="odd.mp4").structured_content
    said = "\n".join(found["warnings"])
    assert "render 6 frames at" in said and "use 64x96, upright" in said
    assert (found["scene"]["render.resolution_x"], found["scene"]["render.resolution_y"]) == (64, 96)


def test_a_sheet_is_a_picture_with_words_and_a_file(shot):
    result = ask(task_of(shot), "reference_frames")
    assert not result.is_error and result.structured_content is None
    text, (picture,) = text_of(result), [block for block in result.content if block.type == "image"]
    data = base64.b64decode(picture.data)
    image = Image.open(io.BytesIO(data))
    assert image.format == "JPEG" and max(image.size) <= 1024 and len(data) < 700_000
    assert "CUT 12 (0.50" in text and "cuts at [12]" in text
    path = Path(text.rsplit("File: ", 1)[1])
    assert path.read_bytes() == data and path.is_relative_to(shot.parent / "cache")


def test_frames_in_detail_say_where_their_pixels_are(shot):
    result = ask(
        task_of(shot), "reference_frames", times=[0.2, 0.6], crop=[0.5, 0, 0.5, 1], layout="single", grid=True, size=256
    )
    images = [block for block in result.content if block.type == "image"]
    assert len(images) == 2 and "x 48 to 95, y 0 to 63" in text_of(result) and "grid" in text_of(result)
    assert "4 (0.167 s), 14 (0.584 s)" in text_of(result)
    assert all(max(Image.open(io.BytesIO(base64.b64decode(one.data))).size) <= 256 for one in images)


def test_motion_comes_as_numbers_with_progress_and_the_second_time_from_the_cache(tmp_path):
    write_video(tmp_path / "pan.mp4", samples.turning(8, pan_deg=5), rate=Fraction(24))
    heard = []
    found = ask(Workplace([tmp_path]), "reference_motion", heard, reference="pan.mp4").structured_content
    (shot,) = found["shots"]
    assert found["cuts"] == [] and shot["kind"] == "pan right" and abs(shot["camera"]["pan_deg"] - 5) < 0.5
    assert shot["camera"]["move"] is None and "no parallax" in shot["camera"]["reason"]
    assert shot["keys"][0]["frame"] == 0 and "location" in shot["keys"][0] and shot["first"] == 0
    assert any("motion" in text for _, _, text in heard)
    assert len(json.dumps(found)) < 6000
    (kept,) = (tmp_path / "cache" / "motion").iterdir()
    written = kept.stat().st_mtime_ns
    assert ask(Workplace([tmp_path]), "reference_motion", reference="pan.mp4").structured_content == found
    assert kept.stat().st_mtime_ns == written


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("reference_info", {"reference": "/etc/hostname"}, "not in a folder that this server may use"),
        ("reference_info", {"reference": "../secret.mp4"}, "not in a folder that this server may use"),
        ("reference_info", {"reference": "none.mp4"}, "there is no such file"),
        ("reference_frames", {"reference": "text.mp4"}, "cannot be opened as a video"),
        ("reference_frames", {"reference": "reference.mp4", "frames": "22"}, "its frames are 0 to 21"),
        ("reference_frames", {"reference": "reference.mp4", "frames": "-1"}, "frames count from 0"),
        ("reference_frames", {"reference": "reference.mp4", "times": [-1.0]}, "times are seconds"),
        ("reference_frames", {"reference": "reference.mp4", "crop": [0, 0, 200, 20]}, "which is 96x64 pixels"),
        ("reference_frames", {"reference": "reference.mp4", "crop": [0, 0]}, "x,y,width,height"),
        ("reference_frames", {"reference": "reference.mp4", "frames": "0-9", "layout": "single"}, "4 are shown"),
        ("reference_motion", {"reference": "reference.mp4", "shot": 7}, "its shots are 0 to 1"),
    ],
)  # fmt: skip
def test_what_cannot_be_studied_is_one_line(shot, tool, arguments, said):
    (shot / "text.mp4").write_text("no video")
    (shot.parent / "secret.mp4").write_bytes((shot / "reference.mp4").read_bytes())
    result = ask(Workplace([shot]), tool, **arguments)
    assert result.is_error and text_of(result).startswith("bad_params: ") and said in text_of(result)
    assert "\n" not in text_of(result)


def test_the_reference_that_is_picked_in_blender_is_the_default(shot):
    place = {"file": str(shot / "shot.blend"), "reference": str(shot / "reference.mp4"), "blender": ""}
    stub = BridgeStub({"scene_place": lambda: place})
    try:
        assert ask(Workplace([]), "reference_info").structured_content["timeline"]["frames"] == 22
        place["reference"] = ""
        assert "name the reference video" in text_of(ask(Workplace([]), "reference_info"))
    finally:
        stub.stop()


def test_a_long_measurement_goes_on_between_the_calls_that_wait_for_it(tmp_path, monkeypatch):
    write_video(tmp_path / "long.mp4", samples.turning(6))
    monkeypatch.setattr(study_tools, "WAIT_SECONDS", 0.2)

    async def main():
        async with Client(make_server(Session(no_launch), Renders(Workplace([tmp_path])))) as client:
            first = await client.call_tool("reference_motion", {"reference": "long.mp4"})
            other = await client.call_tool("reference_motion", {"reference": "long.mp4", "shot": 0})
            monkeypatch.setattr(study_tools, "WAIT_SECONDS", 120.0)
            return first, other, await client.call_tool("reference_motion", {"reference": "long.mp4"})

    first, other, last = asyncio.run(main())
    assert first.structured_content["state"] == "running" and "call again" in first.structured_content["notes"][0]
    assert other.is_error and text_of(other).startswith("busy: ")
    assert last.structured_content["state"] == "done" and len(last.structured_content["shots"]) == 1


def test_a_client_that_cancels_leaves_no_child_and_nothing_in_the_cache(tmp_path, monkeypatch):
    started = []

    class Recorded(running.EvaluatorProcess):
        def __init__(self, *given):
            super().__init__(*given)
            started.append(self)

    monkeypatch.setattr(running, "EvaluatorProcess", Recorded)
    write_video(tmp_path / "long.mp4", [np.roll(picture, 3, 1) for picture in samples.turning(6)] * 8)

    async def main():
        async with Client(make_server(Session(no_launch), Renders(Workplace([tmp_path])))) as client:
            call = asyncio.ensure_future(client.call_tool("reference_motion", {"reference": "long.mp4"}))
            while not started:
                await asyncio.sleep(0.02)
            call.cancel()
            for _ in range(1500):
                started[0].poll()  # its status is told once its messages are read
                if started[0].returncode is not None:
                    return
                await asyncio.sleep(0.02)

    asyncio.run(main())
    assert len(started) == 1 and started[0].returncode not in (None, 0)
    assert not list((tmp_path / "cache").glob("motion/*"))
