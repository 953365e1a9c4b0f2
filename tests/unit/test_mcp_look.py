# SPDX-License-Identifier: GPL-3.0-or-later
"""The tools look and compare: what is asked of Blender, which files may be compared, and what the agent is told."""

import asyncio
import base64
import io
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from bridge_stub import JPEG, BridgeStub, summary
from matchcut.evaluator.media.encode import encode
from matchcut.evaluator.protocol.bridge import BridgeCallError
from matchcut.evaluator.protocol.errors import OperationalError
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.mcp_server import look_tools, looks
from matchcut.mcp_server.renders import Renders
from matchcut.mcp_server.server import make_server
from matchcut.mcp_server.session import Session
from matchcut.mcp_server.workplace import Task, Workplace
from mcp import Client
from media_samples import pictures
from PIL import Image

FRAMES = 6


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    path = tmp_path_factory.mktemp("reference") / "reference.mp4"
    return encoded(path, pictures(FRAMES, width=192, height=108), Fraction(12))


def encoded(path, images, rate=Fraction(12)):
    encode(images, rate, path, reporter=SilentReporter(), total=len(images))
    return path


def jpeg_of(image):
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "JPEG", quality=95)
    return base64.b64encode(buffer.getvalue()).decode("ascii")


@pytest.fixture
def shot(tmp_path, monkeypatch, video):
    """A folder with the reference, which is all that may be read."""
    monkeypatch.setenv("MATCHCUT_BRIDGE_FOLDER", str(tmp_path / "bridge"))
    folder = tmp_path / "shot"
    folder.mkdir()
    (folder / "reference.mp4").write_bytes(video.read_bytes())
    return folder


@pytest.fixture
def stubs():
    started = []

    def start(methods=None):
        started.append(BridgeStub(methods))
        return started[-1]

    yield start
    for stub in started:
        stub.stop()


def no_launch(label, given_up):
    raise OperationalError("no Blender here; run: matchcut doctor")


def use(shot, work, *, renders=None, task=None, **options):
    session = Session(no_launch)
    renders = renders or Renders(Workplace([shot], task or Task(reference=shot / "reference.mp4")))

    async def main():
        async with Client(make_server(session, renders), **options) as client:
            return await work(client)

    try:
        return asyncio.run(main())
    finally:
        session.close()
        renders.close()


def ask(shot, tool, arguments, **options):
    async def work(client):
        return await client.call_tool(tool, arguments)

    return use(shot, work, **options)


def text_of(result):
    return "\n".join(block.text for block in result.content if block.type == "text")


def image_of(result):
    block = next(block for block in result.content if block.type == "image")
    assert block.mime_type == "image/jpeg" and len(block.data) * 3 / 4 < 700_000
    image = Image.open(io.BytesIO(base64.b64decode(block.data)))
    assert max(image.size) <= 1024
    return image


def scene_of(rate="12/1", frames=FRAMES):
    timeline = {"width": 192, "height": 108, "rate": rate, "frames": frames, "current_frame": 0, "first_scene_frame": 1}
    return lambda offset=0, limit=50: {**summary(), "timeline": timeline}


def drawing(images, asked, **fields):
    """A look that answers with the picture of the frame, and notes what it was asked for."""

    def look(
        view="camera", frame=None, size=512, shading="auto", samples=16, target="", overlays=False, cells=1, data=True
    ):
        asked.append({"frame": frame, "view": view, "size": size, "shading": shading, "data": data, "cells": cells})
        return {
            "path": f"/tmp/{frame}.jpg", "width": 192, "height": 108, "frame": frame, "rate": "12", "frames": 20,
            "view": "camera Cam", "lens": "35.0 mm", "engine": "3D view, solid", "samples": None, "seconds": 0.1,
            "notes": [], "jpeg": jpeg_of(images[frame]), **fields,
        }  # fmt: skip

    return look


# --- look -------------------------------------------------------------------------------------------------------------


def test_one_look_is_a_picture_with_words(shot, stubs):
    stub = stubs()
    result = ask(shot, "look", {"frames": [2], "size": 256, "view": "orbit:30,20", "shading": "solid"})
    assert result.structured_content is None and [block.type for block in result.content] == ["text", "image"]
    assert result.content[1].data == JPEG
    text = text_of(result)
    assert "Frame 2: orbit:30,20 (50.0 mm); Cycles, 16 samples; note: a note, 0.10 s" in text
    assert "256x128" in text and "/tmp/frame-2.jpg" in text and stub.ran == ["look"]


def test_without_frames_it_is_the_current_one(shot, stubs):
    asked = []
    stubs({"look": drawing({None: np.zeros((8, 8, 3), np.uint8)}, asked, frame=4)})
    assert "Frame 4" in text_of(ask(shot, "look", {}))
    assert [(one["frame"], one["data"], one["cells"]) for one in asked] == [(None, True, 1)]


def test_several_looks_are_taken_one_by_one_and_make_a_sheet(shot, stubs):
    asked, sheets, heard = [], [], []

    def look_sheet(paths, labels):
        sheets.append((paths, labels))
        return {"path": "/tmp/sheet.jpg", "width": 900, "height": 800, "jpeg": JPEG}

    stub = stubs({"look": drawing(pictures(FRAMES), asked), "look_sheet": look_sheet})

    async def on_progress(progress, total, message):
        heard.append((progress, total, message))

    async def work(client):
        arguments = {"frames": [0, 2, 5], "size": 900}
        return await client.call_tool("look", arguments, progress_callback=on_progress)

    result = use(shot, work, mode="legacy")
    assert stub.ran == ["look", "look", "look", "look_sheet"], "Blender is free between two looks"
    assert [one["frame"] for one in asked] == [0, 2, 5]
    assert all(one["cells"] == 3 and not one["data"] and one["size"] == 900 for one in asked)
    assert sheets == [(["/tmp/0.jpg", "/tmp/2.jpg", "/tmp/5.jpg"], [f"frame {one}   camera Cam" for one in (0, 2, 5)])]
    assert heard[-1] == (3, 3, "look: frame 3 of 3") and [one[0] for one in heard] == sorted(one[0] for one in heard)
    text = text_of(result)
    assert "Frame 0: camera Cam (35.0 mm); 3D view, solid" in text and "Frame 5: as before" in text
    assert "900x800" in text and "/tmp/sheet.jpg" in text and len([b for b in result.content if b.type == "image"]) == 1


@pytest.mark.parametrize(
    "arguments",
    [{"size": 5000}, {"frames": list(range(17))}, {"shading": "pretty"}, {"samples": 0}, {"frames": ["x"]}],
)
def test_what_no_look_can_be_is_refused_before_blender_is_asked(shot, stubs, arguments):
    stub = stubs()
    assert ask(shot, "look", arguments).is_error and stub.ran == []


def test_blender_s_own_refusal_is_passed_on_in_one_line(shot, stubs):
    def refuse(**_):
        raise BridgeCallError("bad_params", "frame is 99; expected a whole number from 0 to 23")

    def look(view, frame, size, shading, samples, target, overlays, cells, data):
        refuse()

    stubs({"look": look})
    result = ask(shot, "look", {"frames": [99]})
    assert result.is_error and text_of(result).endswith("expected a whole number from 0 to 23")
    assert "bad_params" in text_of(result) and len(text_of(result).splitlines()) == 1


# --- compare ----------------------------------------------------------------------------------------------------------


def test_a_fresh_look_is_compared_with_its_neighbours(shot, stubs, artifacts):
    images, asked = pictures(FRAMES, width=192, height=108), []
    stubs({"look": drawing(images, asked), "scene_summary": scene_of()})
    result = ask(shot, "compare", {"frames": [1, 5], "shading": "rendered"})
    assert not result.is_error, text_of(result)
    assert [one["frame"] for one in asked] == [1, 2, 4, 5], "the motion needs the next frame, at the end the one before"
    assert all(one["view"] == "camera" and one["shading"] == "rendered" for one in asked)
    text = text_of(result)
    image_of(result).save(artifacts / "mcp-compare.png")
    assert "frame 1 (0.083 s) against ours 1:" in text and "frame 5" in text
    assert "scale 1.00" in text and ("dE 0." in text or "dE 1." in text)
    assert text.count("flow: error 0.") == 2, "the same picture moves alike"
    assert "Frame 1: camera Cam" in text and "Frame 2" not in text and "File: " in text
    path = Path(text.split("File: ")[1])
    assert path.is_file() and path.parent == looks.pictures_folder()


def test_colours_of_a_look_without_its_materials_are_unknown(shot, stubs):
    stubs({"look": drawing(pictures(FRAMES, width=192, height=108), []), "scene_summary": scene_of()})
    text = text_of(ask(shot, "compare", {"frames": [1], "shading": "solid", "mode": "overlay", "amount": 0.3}))
    assert "colour unknown: the look is not rendered" in text and "overlay" in text


def test_a_scene_at_another_rate_is_met_by_time(shot, stubs):
    asked = []
    stubs({"look": drawing(pictures(20, width=192, height=108), asked), "scene_summary": scene_of("24/1", 12)})
    result = ask(shot, "compare", {"frames": [2]})
    assert [one["frame"] for one in asked] == [4, 6]
    assert "24/1 frames per second, not 12/1" in text_of(result)


@pytest.mark.parametrize(
    ("frames", "scene", "text"),
    [
        ([6], scene_of(), "the reference's frames are 0 … 5"),
        ([-1], scene_of(), "frame -1"),
        ([4], scene_of(frames=3), "the reference's frame 4 is the scene's 4, and it has 3"),
    ],
)
def test_frames_that_one_side_lacks_are_told_before_anything_is_drawn(shot, stubs, frames, scene, text):
    asked = []
    stubs({"look": drawing(pictures(FRAMES), asked), "scene_summary": scene})
    result = ask(shot, "compare", {"frames": frames})
    assert result.is_error and text in text_of(result) and asked == []
    assert "bad_params" in text_of(result) and len(text_of(result).splitlines()) == 1


def test_a_render_is_compared_without_blender(shot, stubs, video):
    stub = stubs()
    job = shot / "render"
    (job / "frames").mkdir(parents=True)
    for frame, image in enumerate(pictures(4, width=192, height=108)):
        Image.fromarray(image).save(job / "frames" / f"{frame:06d}.png")
    for ours in (str(job), "./render"):
        result = ask(shot, "compare", {"frames": [0, 3], "ours": ours, "mode": "difference"})
        assert not result.is_error, text_of(result)
        assert "against ours 3" in text_of(result) and str(job) in text_of(result)
        assert "ours has no picture of the neighbouring frame 4" in text_of(result)
    missing = ask(shot, "compare", {"frames": [5], "ours": str(job)})
    assert missing.is_error and "frame 5 is not there; there are 0-3" in text_of(missing)
    mine = encoded(shot / "mine.mp4", pictures(FRAMES, width=192, height=108))
    assert not ask(shot, "compare", {"frames": [5], "ours": str(mine), "mode": "wipe"}).is_error
    assert stub.ran == [], "the task names the reference, and the job lies on the disk"


def test_the_last_render_is_meant_by_its_name(shot, stubs, tmp_path):
    job = tmp_path / "elsewhere" / "render-001"
    (job / "frames").mkdir(parents=True)
    Image.fromarray(pictures(1, width=192, height=108)[0]).save(job / "frames" / "000000.png")

    class OneJob(Renders):
        def find(self, name):
            return type("Job", (), {"folder": job})

    renders = OneJob(Workplace([shot], Task(reference=shot / "reference.mp4")))
    result = ask(shot, "compare", {"frames": [0], "ours": "render"}, renders=renders)
    assert not result.is_error and str(job) in text_of(result)
    none = ask(shot, "compare", {"frames": [0], "ours": "render"})
    assert none.is_error and "none was started" in text_of(none)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"ours": "/etc"}, "not in a folder"),
        ({"ours": "../secret.mp4"}, "not in a folder"),
        ({"ours": "nothing"}, "no such video or folder"),
        ({"reference": "/etc/passwd"}, "not in a folder"),
        ({"reference": "nothing.mp4"}, "no such file"),
        ({"frames": []}, "frames"),
        ({"frames": list(range(9))}, "frames"),
        ({"mode": "flicker"}, "mode"),
        ({"amount": 2}, "amount"),
        ({"amount": float("nan")}, "amount"),
    ],
)
def test_what_cannot_be_compared_is_told(shot, stubs, change, text):
    stubs()
    (shot.parent / "secret.mp4").write_bytes(b"secret")
    result = ask(shot, "compare", {"frames": [0], "ours": "reference.mp4", **change})
    assert result.is_error and text in text_of(result)


def test_a_reference_that_is_no_video_or_gone_is_told(shot, stubs):
    stubs({"look": drawing(pictures(1), []), "scene_summary": scene_of()})
    (shot / "broken.mp4").write_bytes(b"no video")
    broken = ask(shot, "compare", {"frames": [0], "reference": "broken.mp4"})
    assert broken.is_error and "broken.mp4" in text_of(broken) and "bad_params" in text_of(broken)
    gone = ask(shot, "compare", {"frames": [0]}, task=Task(reference=shot / "gone.mp4"))
    assert gone.is_error and "gone.mp4" in text_of(gone)


def test_the_reference_is_read_once_while_it_stays_the_same(shot, stubs, monkeypatch):
    stubs({"look": drawing(pictures(FRAMES, width=192, height=108), []), "scene_summary": scene_of()})
    ran, real = [], looks.run_command

    async def counted(context, arguments, *, seconds):
        ran.append(arguments[0])
        return await real(context, arguments, seconds=seconds)

    monkeypatch.setattr(looks, "run_command", counted)
    monkeypatch.setattr(look_tools, "run_command", counted)

    async def work(client):
        for _ in range(2):
            assert not (await client.call_tool("compare", {"frames": [0]})).is_error
        os.utime(shot / "reference.mp4", (1, 1))
        assert not (await client.call_tool("compare", {"frames": [0]})).is_error

    use(shot, work)
    assert ran == ["probe", "stills", "stills", "probe", "stills"]
