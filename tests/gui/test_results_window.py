# SPDX-License-Identifier: GPL-3.0-or-later
"""The results in a real window: a row is clicked, both pictures come, every state is shown and kept as a picture."""

import os
import shutil
from fractions import Fraction

import pytest
from score_samples import TIMELINE, every_third_fails, results_data, write_score


def worse(number, category):
    """One check fails that did not, two are better."""
    return {0: "unsatisfied", 2: "fully_satisfied", 4: "partially_satisfied"}.get(
        number, every_third_fails(number, category)
    )


@pytest.fixture
def scores(tmp_path, reference):
    """Folders of scores by what they show, each with both videos."""
    np = pytest.importorskip("numpy")
    from matchcut.evaluator.media.encode import encode
    from matchcut.evaluator.protocol.messages import SilentReporter

    frames = np.zeros((24, 54, 96, 3), np.uint8)
    frames[:, 10:40, 30:60] = (60, 200, 120)
    render = tmp_path / "render.mp4"
    encode(frames, Fraction(24000, 1001), render, reporter=SilentReporter(), total=len(frames))

    def write(name, number=1, **made):
        folder = write_score(tmp_path / name / f"score-{number:03d}", results_data(**made))
        shutil.copy(reference, folder / "reference.mp4")
        shutil.copy(render, folder / "reconstruction.mp4")
        os.utime(folder / "results.json", (1_790_000_000 + 600 * number,) * 2)
        return folder

    big = {"checks": 660, "clips": 30, "pairs": 1000}
    write("judged", 599, sgc=0.051, **big)
    write("judged", 600, rating=worse, **big)
    write("judged", 598, setting="detailed", **big)
    write("partly", checks=66, clips=3, failed_clips=("clip_02",))
    write("unjudged", judged=False)
    write("unchecked", checklist=False, sgc=None)
    data = results_data()
    data["reconstruction"] = data["reconstruction"] | {"timeline": TIMELINE | {"frames": 3}}
    data["timeline"]["comparisons"][0] |= {"reconstruction": "3", "agrees": False}
    short = write_score(tmp_path / "short" / "score-001", data)
    shutil.copy(reference, short / "reference.mp4")
    (write("damaged") / "results.json").write_text("{")
    return tmp_path


def test_results_from_the_panel(run_scenario, scores):
    facts, out = run_scenario("results", seconds=1500, MATCHCUT_TEST_SCORES=str(scores))
    assert facts["history"] == ["score-600", "score-599", "score-598"]
    assert facts["checks"] == 600
    assert facts["failing"] == ["clip_01/translation_0"]
    key, moment, frame = facts["clicked"]
    assert key and frame == 101 + moment, "a click goes to the frame of the check"
    has_icon, (width, height), missing, above = facts["pictures"]
    assert has_icon and missing == {} and above
    assert height > width, "one above the other"
    assert facts["changed"] not in ("", "score-600"), "another one of the history is shown when it is pressed"
    assert facts["partly"] == ["partly", ""]
    assert facts["unjudged"] == ["unjudged", ""] and facts["unchecked"] == ["unchecked", ""]
    assert "video is not in the score's folder" in facts["pictures-short"][1]["reconstruction"]
    assert "not valid JSON" in facts["damaged"][1]
    assert facts["drawn"]["opened"] == [], "a file was touched while drawing"
    print(f"\nlongest drawing of a panel {facts['drawn']['longest'] * 1e3:.1f} ms ({facts['drawn']['slowest']}),")
    print(f"gaps of a 10 ms timer while three scores of 600 checks are read: {facts['gaps']}, idle: {facts['idle']}")
    print(f"starting to read {facts['started'] * 1e3:.2f} ms")
    assert facts["started"] < 0.01
    assert facts["reopened"] == ["score-600", 3, True]
    assert len(list(out.glob("*.png"))) >= 25
