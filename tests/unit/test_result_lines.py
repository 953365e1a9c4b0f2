# SPDX-License-Identifier: GPL-3.0-or-later
"""What the panel says of a results.json: coverage beside every score, a reason where there is none."""

import pytest

pytest.importorskip("pydantic")

from matchcut.addon.sidebar.results.lines import RESULTS_FORMAT, artists_words, result_lines
from matchcut.addon.sidebar.results.record import read_score
from matchcut.evaluator import results as records
from matchcut.evaluator.audit.records import AuditFinding, AuditReport
from matchcut.evaluator.media.records import Comparison, Fault, TimelineCheck
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.files import write_json
from matchcut.evaluator.scoring.records import ChecklistScore, Score
from matchcut.evaluator.sgc.records import COMPONENTS, SgcResult
from matchcut.evaluator.shots.records import CutMatch, ShotCheck


def score(value, scored=10, expected=12, reason=""):
    return Score(
        value=value, clips_scored=2, clips_expected=3, checks_scored=scored, checks_expected=expected, reason=reason
    )


def sgc(value, reason=""):
    return SgcResult(
        estimator="test", score=value, components=dict.fromkeys(COMPONENTS), pairs_scored=0 if value is None else 69,
        pairs_expected=70, pairs=[], reason=reason, parameters={},
    )  # fmt: skip


def checklist(state="judged", reason="", **dimensions):
    scores = {
        "camera": score(80.0),
        "static": score(50.0),
        "dynamic": score(None, 0, 4, "no frame is shared"),
    } | dimensions
    return ChecklistScore(
        setting="proxy", state=state, reason=reason, overall=score(62.5), dimensions=scores, categories={}
    )


def lines(**changes):
    """The lines of results that are right but for `changes`, by (section, label)."""
    parts = {
        "timeline": TimelineCheck(
            comparisons=[Comparison(name="rate", reference="24000/1001", reconstruction="24000/1001", agrees=True)],
            offset_frames=0,
        ),
        "shots": ShotCheck(reference_cuts=[], reconstruction_cuts=[], matches=[], detector="test"),
        "sgc": sgc(0.01234),
        "checklist": checklist(),
    } | changes
    data = {name: record.model_dump(mode="json") for name, record in parts.items()}
    return {(line.section, line.label): line for line in result_lines(data)}


def test_the_format_is_the_one_that_is_written():
    assert RESULTS_FORMAT == records.RESULTS_FORMAT


def test_every_score_has_its_coverage():
    found = lines()
    assert found["Checklist", "Overall"].text == "62.5 (10 of 12 checks)"
    assert found["SGC", "Score"].text.startswith("0.0123")
    assert found["SGC", "Pairs"].text == "69 of 70 scored"


def test_what_is_unscored_says_why_and_is_no_zero():
    found = lines(sgc=sgc(None, "the scene has no depth"))
    assert (found["SGC", "Score"].text, found["SGC", "Score"].verdict) == ("the scene has no depth", "unscored")
    assert found["Checklist", "Dynamic"].text == "no frame is shared"
    unscored = records.Unscored(reason="not judged: no judge configured")
    found = lines(sgc=unscored, checklist=unscored)
    assert found["SGC", "Score"].text == found["Checklist", "Overall"].text == "not judged: no judge configured"
    assert ("SGC", "Pairs") not in found


def test_not_judged_and_partly_judged():
    found = lines(checklist=checklist("not_judged", "no judge configured"))
    assert [key for key in found if key[0] == "Checklist"] == [("Checklist", "Overall")]
    assert found["Checklist", "Overall"].text == "no judge configured"
    found = lines(checklist=checklist("partly_judged", "1 clip failed"))
    assert found["Checklist", "Partial"].text == "1 clip failed"
    assert found["Checklist", "Overall"].text.startswith("62.5")


def test_timeline_that_disagrees():
    check = TimelineCheck(
        comparisons=[Comparison(name="frames", reference="72", reconstruction="70", agrees=False)],
        offset_frames=-2,
        faults=[
            Fault(kind="frozen", first=3, last=9, reference_first=1, reference_last=7, detail="held"),
            Fault(kind="inserted", first=0, last=1, reference_first=None, reference_last=None, detail="strange"),
            Fault(kind="speed", first=20, last=29, reference_first=22, reference_last=41, speed=2.0, detail="fast"),
        ],
    )  # fmt: skip
    found = lines(timeline=check)
    assert (found["Timeline", "Frames"].text, found["Timeline", "Frames"].verdict) == ("70, reference 72", "bad")
    assert found["Timeline", "Offset"].text == "-2 frames by content"
    assert found["Timeline", "Frozen"].text == "frames 3–9, frames 1–7 of the reference"
    assert found["Timeline", "Inserted"].text == "frames 0–1"
    assert found["Timeline", "Speed"].text == "frames 20–29, frames 22–41 of the reference, 2 times as fast"
    assert found["Timeline", "Frozen"].verdict == "bad"


def test_cuts():
    assert lines()["Cuts", "Cuts"].verdict == "good"
    matches = [
        CutMatch(verdict="found", reference=10, reconstruction=10),
        CutMatch(verdict="late", reference=36, reconstruction=38),
        CutMatch(verdict="extra", reference=None, reconstruction=50),
        CutMatch(verdict="missing", reference=60, reconstruction=None),
    ]
    check = ShotCheck(reference_cuts=[10, 36, 60], reconstruction_cuts=[10, 38, 50], matches=matches, detector="test")
    found = lines(shots=check)
    assert (found["Cuts", "Found"].text, found["Cuts", "Found"].verdict) == ("1 of 3", "bad")
    assert found["Cuts", "Late"].text == "frame 38 instead of frame 36"
    assert found["Cuts", "Extra"].text == "frame 50"
    assert found["Cuts", "Missing"].text == "frame 60 of the reference"


def test_what_the_audit_found():
    def report(*severities):
        findings = [
            AuditFinding(severity=severity, kind="k", type="image", name="frame.png", what="w", why="y")
            for severity in severities
        ]
        return AuditReport(
            scene="a.blend", scene_sha256="", rendered_scene="Scene", reference="r.mp4", reference_sha256="",
            reference_frames=3, blender="5.2", passed="forbidden" not in severities, findings=findings,
            pictures_compared=0,
        )  # fmt: skip

    assert lines(audit=report())["Audit", "Audit"].verdict == "good"
    found = lines(audit=report("forbidden", "forbidden", "note"))
    assert (found["Audit", "Audit"].text, found["Audit", "Audit"].verdict) == ("not passed", "bad")
    assert (found["Audit", "Forbidden"].text, found["Audit", "Note"].verdict) == ("2", "plain")
    assert lines(audit=records.Unscored(reason="no Blender"))["Audit", "Audit"].verdict == "unscored"


def test_a_panel_names_no_option_of_a_command_line():
    from matchcut.evaluator.pipeline.score import NO_CHECKLIST, NO_JUDGE, SGC_OFF

    for reason in (NO_CHECKLIST, f"{NO_CHECKLIST}: add --checklist CLIPS", NO_JUDGE):
        assert "Score panel" in artists_words(reason)
    assert "turned off" in artists_words(SGC_OFF)
    old = "not judged: no judge configured, set --judge PROVIDER:MODEL (matchcut judge --help lists them)"
    assert artists_words(old) == "not judged: no judge configured"
    assert artists_words("the render has no passes; render it again with --passes") == "the render has no passes"
    assert artists_words("no check of object_appearance applies under proxy") == (
        "no check of object appearance applies under proxy"
    )


@pytest.mark.parametrize(
    "content", [{"format": RESULTS_FORMAT}, {"format": "other/1"}, [], {"format": RESULTS_FORMAT, "timeline": 3}]
)
def test_a_file_of_another_form_is_one_line(tmp_path, content):
    write_json(tmp_path / "results.json", content)
    with pytest.raises(BadInputError, match=r"results\.json"):
        read_score(tmp_path)
