# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for the evaluator that speaks the real protocol and checks what it is given, and a scene for buttons."""

import json
import sys
import textwrap

import bpy
import matchcut
import pytest
from matchcut.addon import jobs

VIDEO = {
    "timeline": {"width": 96, "height": 54, "rate": "24000/1001", "frames": 48},
    "warnings": ["The picture is rotated by 90 degrees"],
}
RESULTS = {
    "format": "matchcut-results/1",
    "timeline": {
        "comparisons": [{"name": "rate", "reference": "24/1", "reconstruction": "24/1", "agrees": True}],
        "offset_frames": 0, "offset_reason": "", "faults": [],
    },
    "shots": {"reference_cuts": [], "reconstruction_cuts": [], "matches": [], "detector": "d"},
    "sgc": {"score": 0.5, "pairs_scored": 46, "pairs_expected": 47, "reason": ""},
    "checklist": {"unscored": True, "reason": "not judged: no judge configured"},
}  # fmt: skip
PLAN = {
    "format": "matchcut-score-plan/1", "frames": 48,
    "stages": [
        {"name": "render", "state": "todo", "text": "48 frames", "progress": ["render", "encode"]},
        {"name": "check", "state": "todo", "text": "timeline and cuts", "progress": ["cuts, reconstruction"]},
        {"name": "sgc", "state": "todo", "text": "from the scene's passes", "progress": ["sgc"]},
        {"name": "judge", "state": "skipped", "text": "no checklist", "progress": ["judge"]},
        {"name": "report", "state": "todo", "text": "page, and audit of the scene", "progress": ["encode"]},
    ],
    "judge": None,
}  # fmt: skip
FLAGS = ["--messages", "--follow-parent"]
"""What the window adds to every command."""
EVALUATOR = """
import json, sys
from pathlib import Path
arguments = sys.argv[1:]
flags = ("--passes", "--reusable", "--plan", "--messages", "--follow-parent")
pairs = [argument for argument in arguments[1:] if argument not in flags]
options = dict(zip(pairs[::2], pairs[1::2])) if arguments[0] != "probe" else {}
def say(**fields):
    print(json.dumps(fields), flush=True)
Path(__file__).with_name("asked.json").write_text(json.dumps(arguments))
assert arguments[-2:] == ["--messages", "--follow-parent"]
if arguments[0] == "probe":
    say(type="result", path=arguments[1], data=VIDEO)
elif Path(options["--reference"]).read_bytes() == b"broken":
    say(type="error", text="reference.mp4: it has no frames; pick another file")
    say(type="done", exit_status=2)
    sys.exit(2)
elif "--plan" in arguments:
    say(type="result", path="", data=PLAN)
else:
    say(type="progress", stage="render", done=1, total=2)
    say(type="warning", text="the scene has no lights")
    out = Path(options["--out"])
    assert Path(options["--scene"]).read_bytes()
    if arguments[0] == "score":
        say(type="result", path=str(out / "plan.json"), data=PLAN)
        say(type="progress", stage="sgc", done=1, total=2)
        (out / "results.json").write_text(json.dumps(RESULTS))
        say(type="result", path=str(out / "results.json"), data={})
    else:
        first, _, last = options.get("--frames", "0-47").partition("-")
        job = {"format": "matchcut-render-job/1", "scene": options["--scene"], "timeline": VIDEO["timeline"],
               "first": int(first), "last": int(last), "step": int(options.get("--every", 1))}
        (out / "job.json").write_text(json.dumps(job))
        count = len(range(job["first"], job["last"] + 1, job["step"]))
        status = {"format": "matchcut-render-status/1", "state": "done", "done": count, "total": count,
                  "seconds_per_frame": 0.25}
        (out / "status.json").write_text(json.dumps(status))
        whole = count == 48
        name = "reconstruction.mp4" if whole else "preview.mp4"
        if count > 1:
            (out / name).write_bytes(b"a video")
        video = str(out / name) if whole else None
        say(type="result", path=video or str(out / "frames"), data={"folder": str(out), "video": video})
say(type="done", exit_status=0)
"""


@pytest.fixture
def scene(tmp_path, monkeypatch):
    """A fresh scene with a reference picked, Matchcut registered, the stand-in in the evaluator's place."""
    script = tmp_path / "evaluator.py"
    given = f"VIDEO = {VIDEO!r}\nRESULTS = {RESULTS!r}\nPLAN = {PLAN!r}\n"
    script.write_text(given + textwrap.dedent(EVALUATOR))
    monkeypatch.setattr(jobs, "find_evaluator", lambda: [sys.executable, str(script)])
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    matchcut.register()
    scene = bpy.context.scene
    (tmp_path / "reference.mp4").write_bytes(b"video")
    scene.matchcut.reference.path = str(tmp_path / "reference.mp4")
    scene.matchcut.output = str(tmp_path / "out")
    yield scene
    matchcut.unregister()


def asked(tmp_path):
    """The arguments of the last command."""
    return json.loads((tmp_path / "asked.json").read_text())


def lines(scene):
    """The scene's results."""
    return {(line.section, line.label): line.text for line in scene.matchcut.results.lines}
