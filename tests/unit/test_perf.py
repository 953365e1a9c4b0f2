# SPDX-License-Identifier: GPL-3.0-or-later
"""The benchmark runs and says what it measured; its figures are for a quiet machine, and are not judged here."""

import json
import subprocess
import sys

import pytest

PARTS = {"stream": "streaming", "check": "check of two clips", "pairs": "50 pair images"}


def perf(root, *arguments):
    command = [sys.executable, str(root / "__main__.py"), "perf", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False)


def test_the_table_names_figure_bound_and_verdict(root, tmp_path):
    only = [word for part in PARTS for word in ("--only", part)]
    answer = perf(root, "media", "--tiny", "--rounds", 1, "--folder", tmp_path, *only)
    assert answer.returncode in (0, 1), answer.stderr
    head, *lines = answer.stdout.splitlines()
    assert head.split() == ["what", "figure", "bound", "rounds", "cpu", "verdict"]
    for line, start in zip(lines, PARTS.values(), strict=True):
        assert line.startswith(start) and line.split()[-1] in ("passed", "MISSED")
    assert (answer.returncode == 0) == ("MISSED" not in answer.stdout)
    assert len(list(tmp_path.glob("*.mp4"))) == 2


def test_memory_is_measured_in_a_process_of_its_own(root, tmp_path):
    answer = perf(root, "media", "--json", "--tiny", "--folder", tmp_path, "--only", "memory")
    data = json.loads(answer.stdout)
    assert data["machine"]["cores"] >= 1
    peaks = [row for row in data["rows"] if row["unit"] == "MB"]
    assert len(peaks) == 5 and all(20 < row["value"] < 600 and row["passed"] for row in peaks)


def test_the_metric_is_compared_with_plain_formulas_where_scikit_learn_is_installed(root):
    answer = perf(root, "sgc", "--tiny", "--rounds", 1, "--json")
    if answer.returncode == 2:  # it is not installed
        assert "pip install scikit-learn" in answer.stderr and answer.stderr.count("\n") == 2
    else:
        assert all(row["value"] > 0 for row in json.loads(answer.stdout)["rows"])


@pytest.mark.parametrize("suite", ["nothing", ""])
def test_an_unknown_suite_is_named(root, suite):
    answer = perf(root, suite)
    assert answer.returncode == 2 and "no suite of benchmarks; they are: media" in answer.stderr
