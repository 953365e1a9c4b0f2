# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut demo` from nothing with a judge that knows the right ratings, and once more from what lies there."""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager

from matchcut.evaluator.protocol.children import child_environment
from matchcut.evaluator.protocol.messages import parse_message


@contextmanager
def knowing_judge(root):
    """The address of a server that answers with the sample's right ratings."""
    ratings = root / "assets_ui" / "samples" / "two_shots" / "ratings.json"
    stub = [sys.executable, str(root / "tests" / "unit" / "judge_stub.py"), "--ratings", str(ratings)]
    with subprocess.Popen(stub, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield re.search(r"http://[^\s#]+", process.stdout.readline()).group(0)
        finally:
            process.terminate()


def demo(root, out, url):
    """Run it with one sample per pixel; returns its messages and how long it took."""
    command = [sys.executable, str(root / "__main__.py"), "demo", "--out", str(out), "--samples", "1", "--messages"]
    started = time.monotonic()
    answer = subprocess.run(
        [*command, "--judge", f"local:{url}#stub"],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, env={**child_environment(), **os.environ},
        timeout=1500, check=False,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stdout[-2000:] + answer.stderr[-2000:]
    return [parse_message(line) for line in answer.stdout.splitlines()], time.monotonic() - started


def test_the_demo_tells_the_known_errors(root, artifacts):
    out = artifacts / "demo"
    shutil.rmtree(out, ignore_errors=True)
    with knowing_judge(root) as url:
        messages, seconds = demo(root, out, url)
        first = (out / "results.json").read_bytes()
        _, again = demo(root, out, url)
    print(f"\nthe demo took {seconds:.0f} s, and {again:.0f} s from what was there")
    assert messages[-1].type == "done" and messages[-1].exit_status == 0
    stages = {message.stage for message in messages if message.type == "progress"}
    assert {"render, reference", "render, reconstruction", "sgc", "judge"} <= stages
    assert (out / "results.json").read_bytes() == first, "the same input gave other bytes"

    results = json.loads(first)
    assert all(comparison["agrees"] for comparison in results["timeline"]["comparisons"])
    assert results["shots"]["reference_cuts"] == results["shots"]["reconstruction_cuts"] == [40]
    assert (results["sgc"]["pairs_scored"], results["sgc"]["pairs_expected"]) == (70, 70)
    assert (results["sgc"]["mode"], results["sgc"]["estimator"]) == ("robust", "blender-passes/1")
    divergence = [pair["divergence_px"] for pair in results["sgc"]["pairs"]]
    assert statistics.median(divergence) < 1e-2, "the passes of a rigid scene agree"
    # the second shot turns and zooms from one place: there depth cannot be told
    assert {pair["frame"] for pair in results["sgc"]["pairs"] if pair["observable"]} == set(range(1, 40))

    ratings = json.loads((root / "assets_ui" / "samples" / "two_shots" / "ratings.json").read_text())["ratings"][
        "proxy"
    ]
    told = {
        judgment["clip"]: {rating["check"]: rating["rating"] for rating in judgment["ratings"]}
        for judgment in results["judgments"]
    }
    assert told == ratings
    overall = results["checklist"]["overall"]
    assert overall["value"] is not None and overall["checks_scored"] == overall["checks_expected"] == 87
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "reference.mp4" in page and str(out) not in page
    assert str(root).encode() not in first, "a path of the machine is in the results"
