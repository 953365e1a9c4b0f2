# SPDX-License-Identifier: GPL-3.0-or-later
"""The tab without an evaluator, with long texts, and after a failure."""

import importlib
import importlib.util
import sys
from pathlib import Path

import bpy

_spec = importlib.util.spec_from_file_location("score", Path(__file__).with_name("score.py"))
score = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(score)

FAILS = """
import json, sys
text = "/a/long/folder/name/that/wraps/no-frames.mp4: it has no frames; pick another file"
print(json.dumps({"type": "error", "text": text}))
sys.exit(2)
"""


def steps(window):
    jobs = importlib.import_module(f"{score.ADDON}.jobs")
    properties = bpy.context.scene.matchcut
    yield from window.open_sidebar()
    window.facts["problem"] = jobs.evaluator().problem
    yield from window.picture("no-evaluator")
    window.facts["buttons"] = []
    for operator in ("match_timeline", "render", "score", "install_evaluator"):  # from the top down
        yield from window.find(f"matchcut.{operator}")
        window.facts["buttons"].append(f"matchcut.{operator}")
    yield from window.picture("no-evaluator-below")

    child = window.out / "fails.py"
    child.write_text(FAILS)
    reference = properties.reference
    reference.path = reference.read_path = "/a/long/folder/name/reference.mp4"
    reference.width, reference.height, reference.rate, reference.frames = 1920, 1080, "30000/1001", 2998
    reference.warnings.add().text = "The frame rate is not constant; frames are matched by their own times"
    jobs.start("Scoring", [], lambda messages: None, prefix=[sys.executable, str(child)])
    yield from score.until(lambda: jobs.running() is None, 20)
    window.facts["failed"], window.facts["failure"] = jobs.last().state, jobs.last().error
    yield from window.picture("failed")
