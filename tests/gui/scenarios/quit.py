# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender quits while a score is being rendered."""

import importlib
import importlib.util
import os
from pathlib import Path

_spec = importlib.util.spec_from_file_location("cancel", Path(__file__).with_name("cancel.py"))
cancel = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cancel)


def steps(window):
    jobs = importlib.import_module(f"{cancel.score.ADDON}.jobs")
    yield from cancel.score.prepare(window, samples=4096)
    yield from cancel.score.press_score(window)
    yield from cancel.score.until(lambda: jobs.last().stage == "render" and jobs.last().done > 0, 120)
    window.facts["running"] = cancel.descendants(os.getpid())
