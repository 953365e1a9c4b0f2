# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes wrong at an artist's desk: one clear line, nothing lost, nothing left running, nothing shown elsewhere."""

import subprocess
import time
from fractions import Fraction
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def shorter(tmp_path_factory):
    """Another reference, of 12 frames."""
    np = pytest.importorskip("numpy")
    pytest.importorskip("av")
    from matchcut.evaluator.media.encode import encode
    from matchcut.evaluator.protocol.messages import SilentReporter

    frames = np.full((12, 54, 96, 3), 90, np.uint8)
    for index, frame in enumerate(frames):
        frame[10:30, 4 * index : 4 * index + 20] = (40, 200, 250)
    path = tmp_path_factory.mktemp("shorter") / "shorter.mp4"
    encode(frames, Fraction(24), path, reporter=SilentReporter(), total=len(frames))
    return str(path)


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 3 MB, or an empty name where none can be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "none", str(place)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    yield str(place) if mounted else ""
    if mounted:
        subprocess.run(["umount", "-l", str(place)], check=True)


def is_one_line(text):
    return bool(text) and "\n" not in text and "Traceback" not in text


def test_the_reference_is_moved_replaced_or_deleted_and_the_disk_is_full(run_scenario, shorter, small_disk):
    facts, _ = run_scenario(
        "mishap_reference", seconds=1200, MATCHCUT_TEST_SHORTER=shorter, MATCHCUT_TEST_DISK=small_disk,
        MATCHCUT_TEST_BALLAST=str(int(2.7 * 2**20)),
    )  # fmt: skip
    said, idle, made = facts["moved"]
    assert "is not there" in said and "pick" in said and is_one_line(said)
    assert idle and not made, "a moved reference is told before anything is started"

    replaced = facts["replaced"]
    if replaced["said"]:
        assert is_one_line(replaced["said"]), replaced
    else:
        assert facts["replaced_job"]["state"] in ("done", "failed"), facts["replaced_job"]

    assert facts["begun"] == "" and facts["deleted"]["state"] in ("done", "failed")
    if facts["deleted"]["state"] == "failed":
        assert is_one_line(facts["deleted"]["error"]) and "reference.mp4" in facts["deleted"]["error"]
        assert facts["deleted_results"] == []
    assert facts["deleted"]["left"] == [] and facts["deleted_partial"] == []

    if not small_disk:
        pytest.skip("the rest needs a small disk, which only root on Linux can mount")
    line = facts["full_said"] or facts["full"]["error"]
    assert is_one_line(line) and ("disk is full" in line or "No space left" in line), line
    assert facts["full_left"] == []
    assert facts["room"] == "" and facts["after_full"]["state"] == "done", facts["after_full"]


def test_two_scenes_are_scored_renamed_undone_and_saved_elsewhere(run_scenario, shorter):
    facts, out = run_scenario("mishap_scenes", seconds=1200, MATCHCUT_TEST_SHORTER=shorter)
    assert facts["references"] == [24, 12]
    assert facts["begun"] == "" and facts["undone"], "undo ended the job"
    assert facts["scored"] == {"state": "done", "error": "", "left": []}
    assert facts["first"][0].startswith(str(out / "matchcut" / "score-001")), "the result of a scene since renamed"
    assert facts["other"][0] == "", "a score was shown in a scene that it is not of"
    assert facts["scored_other"]["state"] == "done", facts["scored_other"]
    assert facts["other_again"][0].startswith(str(out / "other" / "score-001"))
    assert facts["first_again"] == facts["first"]
    assert facts["after_undo"] == facts["other_again"], "an undo lost the score"

    assert facts["rendered"]["state"] == "done", facts["rendered"]
    folder, blend, reference = facts["saved_as"]
    assert folder == str(out / "here" / "matchcut" / "render-001") and Path(folder).is_dir()
    assert blend == str(out / "elsewhere" / "deep" / "new.blend") and Path(reference).is_file()
    assert facts["opened_again"][0] == folder, facts["opened_again"]


def test_no_network_the_add_on_disabled_and_blender_closed_in_mid_score(run_scenario):
    facts, out = run_scenario("mishap_addon", seconds=900)
    assert facts["online"] is False and facts["install"] is False
    assert "online access is off" in facts["judge"] and is_one_line(facts["judge"]) and not facts["judge_started"]
    assert facts["begun"] == "" and facts["ran"], "nothing ran: the test shows nothing"
    assert facts["gone"] and facts["left"] == [], "disabling the add-on left a process"
    assert facts["reference"].endswith("reference.mp4") and facts["results"] == []
    assert facts["begun_again"] == "" and facts["again"] == [True, ""]
    end = time.monotonic() + 10
    while time.monotonic() < end and any(Path(f"/proc/{pid}").exists() for pid in facts["closed_with"]):
        time.sleep(0.1)
    assert facts["closed_with"] and not any(Path(f"/proc/{pid}").exists() for pid in facts["closed_with"])
    assert not list((out / "matchcut").rglob("results.json")) and not list((out / "matchcut").rglob(".partial*"))
