# SPDX-License-Identifier: GPL-3.0-or-later
"""Small commands beside the one job: a newer one takes an older one's place, all end with the file and the add-on."""

import sys
import time

import bpy
import matchcut
import pytest
from matchcut.addon import jobs

CHILD = """
import json, sys, time
say = lambda **fields: print(json.dumps(fields), flush=True)
say(type="status", text=sys.argv[1])
if sys.argv[1] == "fails":
    say(type="error", text="it cannot be read; pick another file")
    sys.exit(2)
if sys.argv[1] == "waits":
    time.sleep(60)
say(type="result", path="", data={"name": sys.argv[1]})
"""


@pytest.fixture
def start(tmp_path, monkeypatch):
    """A function that starts a quiet command under a key; what came of it is in `start.heard` and `start.done`."""
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    monkeypatch.setattr(jobs, "find_evaluator", lambda: [sys.executable, str(script)])
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    matchcut.register()

    def begin(key, name):
        return jobs.start_quiet(
            key, [name], lambda messages: begin.done.append(messages[-1].data["name"]),
            lambda message: begin.heard.append(message.type),
        )  # fmt: skip

    begin.heard, begin.done = [], []
    yield begin
    matchcut.unregister()


def tick_until(condition):
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        jobs._tick()
        time.sleep(0.02)
    assert condition()


def test_one_runs_to_its_end_beside_the_job(start, tmp_path):
    big = jobs.start("Working", ["waits"], lambda messages: None)
    quiet = start("thumbnail", "first")
    tick_until(lambda: quiet.state != "running")
    assert quiet.state == "done" and start.done == ["first"] and set(start.heard) == {"status", "result"}
    assert jobs.running() is big and jobs.last() is big, "a quiet command took the panel's place"
    assert jobs._tick() is not None, "the timer ended while a job runs"


def test_a_newer_one_takes_its_place_and_the_older_ones_results_are_dropped(start):
    older = start("thumbnail", "waits")
    other = start("filmstrip", "other")
    newer = start("thumbnail", "newer")
    tick_until(lambda: newer.state == "done" and other.state == "done" and older.state != "running")
    assert older.state == "cancelled" and sorted(start.done) == ["newer", "other"]
    assert jobs._tick() is None, "the timer goes on with nothing to read"


def test_one_that_fails_tells_nobody_but_itself(start):
    job = start("thumbnail", "fails")
    tick_until(lambda: job.state != "running")
    assert job.state == "failed" and job.error == "it cannot be read; pick another file"
    assert start.done == [] and jobs.last() is None


def test_another_file_and_the_end_of_the_add_on_end_them(start):
    first = start("thumbnail", "waits")
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    tick_until(lambda: first.state != "running")
    assert first.state == "cancelled"
    second, third = start("thumbnail", "waits"), start("filmstrip", "waits")
    matchcut.unregister()
    assert all(job.process._process.poll() is not None for job in (second, third))
    matchcut.register()
    assert start.done == []
