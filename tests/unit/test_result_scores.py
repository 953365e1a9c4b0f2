# SPDX-License-Identifier: GPL-3.0-or-later
"""What the panel knows of a score: figures, checks and which are listed, what changed, which folders are a scene's."""

import os
import shutil

import pytest

pytest.importorskip("pydantic")

from matchcut.addon.sidebar.requests import Owner, Request
from matchcut.addon.sidebar.results import record
from matchcut.addon.sidebar.results.change import before, change, signed
from matchcut.addon.sidebar.results.checks import Filter, entities, listed, places
from matchcut.addon.sidebar.results.found import MOST_KEPT, Wanted, find_scores
from matchcut.addon.sidebar.results.record import CATEGORIES, RATINGS, read_score
from matchcut.evaluator.checklist.records import DIMENSIONS
from matchcut.evaluator.judge.records import RATING_VALUES
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.timeline import Timeline
from matchcut.evaluator.report.checks import check_rows
from matchcut.evaluator.results import Results
from matchcut.evaluator.sgc.records import COMPONENTS
from matchcut.evaluator.sgc.robust.records import ROBUST_COMPONENTS
from score_samples import every_third_fails, results_data, write_score

REFERENCE = Timeline.from_json({"width": 96, "height": 54, "rate": "24000/1001", "frames": 24})


@pytest.fixture
def scored(tmp_path):
    """Writes a made-up score as `score-00N` and reads it."""

    def make(number=1, **made):
        return read_score(write_score(tmp_path / f"score-{number:03d}", results_data(**made)))

    return make


def test_the_words_are_those_of_the_evaluator():
    assert DIMENSIONS == CATEGORIES
    assert set(RATINGS) == {*RATING_VALUES, ""}
    assert set(record.COMPONENTS) == {*ROBUST_COMPONENTS, *COMPONENTS}


def test_the_checks_are_those_of_the_report_in_its_order(tmp_path):
    data = results_data(66, 3, failed_clips=("clip_02",))
    rows = check_rows(Results.model_validate(data))
    score = read_score(write_score(tmp_path / "score-001", data))
    assert len(score.checks) == len(rows) == 60
    for check, row in zip(score.checks, rows, strict=True):
        assert (check.key, check.rating, check.category) == (row.key, row.rating or "", row.category)
        assert (check.first, check.last, list(check.evidence)) == (row.first, row.last, row.evidence)
        assert (check.statement, list(check.entities)) == (row.statement, row.subjects)
    unjudged = [check for check in score.checks if not check.rating]
    assert {check.reason for check in unjudged} == {"rate limited"}
    assert score.checks[0].judge == "a-model-2026"
    assert set(score.checks[0].evidence) <= set(score.checks[0].shown)


def test_every_figure_has_its_coverage_and_what_is_unscored_is_no_zero(scored):
    score = scored()
    checklist = results_data()["checklist"]
    assert score.overall.value == checklist["overall"]["value"]
    assert [figure.name for figure in score.dimensions] == list(CATEGORIES)
    assert len(score.categories) == 11
    appearance = next(figure for figure in score.categories if figure.name == "object_appearance")
    assert appearance.value is None and appearance.expected == 0
    assert appearance.reason == "no check of object appearance applies under proxy"
    assert appearance.label == "Object Appearance"
    assert (score.overall.scored, score.overall.expected) == (20, 20)


def test_sgc_with_its_floor_and_parts(scored):
    sgc = scored(sgc=0.0345).sgc
    assert (sgc.score, sgc.floor, sgc.scored, sgc.expected) == (0.0345, 0.0114, 22, 23)
    assert sgc.excess == pytest.approx(0.0231)
    parts = {part.label: part.text for part in sgc.components}
    assert parts["Local Motion"] == "0.012 px"
    assert parts["Unexplained"] == "1.2 %"
    assert parts["Focal Length"] == "", "unknown is not 0"
    none = scored(2, sgc=None).sgc
    assert (none.score, none.reason) == (None, "the scene has no depth")


def test_states_that_are_not_judged_say_what_would(scored):
    score = scored(checklist=False)
    assert (score.state, score.checks) == ("not_judged", ())
    assert score.reason.startswith("no checklist was given")
    score = scored(2, judged=False)
    assert score.state == "not_judged" and {check.rating for check in score.checks} == {""}
    assert "--" not in score.reason
    score = scored(3, checks=66, clips=3, failed_clips=("clip_02",))
    assert score.state == "partly_judged"
    assert [(failure.reason, failure.clips) for failure in score.failures] == [("Rate limited", ("clip_02",))]


def test_what_an_earlier_version_did_not_write_is_not_asked_for(tmp_path):
    data = results_data()
    for name in ("audit", "reference_sgc", "sgc_frames", "operational_failures"):
        del data[name]
    assert read_score(write_score(tmp_path / "a", data)).overall.value is not None


@pytest.mark.parametrize("name", ["checklist", "sgc", "timeline"])
def test_a_file_of_another_form_is_one_line(tmp_path, name):
    for value in (3, [], {}, {"score": "high"}):
        write_score(tmp_path / "a", results_data() | {name: value})
        with pytest.raises(BadInputError, match=r"results\.json"):
            read_score(tmp_path / "a")


def test_checks_are_filtered_by_everything_at_once(scored):
    checks = scored(checks=220, clips=2).checks

    def found(**wanted):
        flags = listed(checks, Filter(**wanted))
        return [check for check, shown in zip(checks, flags, strict=True) if shown]

    assert found() == list(checks)
    assert {check.rating for check in found(ratings=frozenset({"unsatisfied"}))} == {"unsatisfied"}
    assert {check.category for check in found(category="zoom")} == {"zoom"}
    assert {check.category for check in found(category="dynamic")} == set(CATEGORIES["dynamic"])
    assert all("Ball" in check.entities for check in found(entity="Ball"))
    assert [check.key for check in found(text="NUMBER 137 where")] == [c.key for c in checks if c.key.endswith("_137")]
    assert all("ball" in check.statement.lower() for check in found(text="zoom ball"))
    assert found(setting="detailed") == list(checks), "the scene's setting decides what is judged"
    both = found(ratings=frozenset({"unsatisfied"}), entity="Bench", category="camera")
    assert both and all(check.rating == "unsatisfied" and "Bench" in check.entities for check in both)
    assert found(text="nothing says this") == []
    assert entities(checks) == ["Ball", "Bench", "Crate", "Person A", "Striped Pillar"]


@pytest.mark.parametrize(
    ("sort", "key"),
    [
        ("RATING", lambda check: list(RATINGS).index(check.rating)),
        ("START", lambda check: check.first),
        ("CATEGORY", lambda check: [n for names in CATEGORIES.values() for n in names].index(check.category)),
    ],
)
def test_checks_are_sorted(scored, sort, key):
    checks = scored(checks=220).checks
    order = places(checks, sort)
    assert sorted(order) == list(range(len(checks)))
    shown = [key(checks[order.index(place)]) for place in range(len(checks))]
    assert shown == sorted(shown)


def test_what_an_edit_did(scored):
    def better(number, category):
        return {0: "partially_satisfied", 2: "fully_satisfied", 4: "unsatisfied"}.get(
            number, every_third_fails(number, category)
        )

    old, new = scored(1), scored(2, rating=better, sgc=0.0145)
    done = change(new, old)
    keys = lambda changes: [one.check.key.rpartition("_")[2] for one in changes]  # noqa: E731
    assert keys(done.satisfied) == ["2"]
    assert keys(done.failing) == ["0"]
    assert (done.better, done.worse) == ((), ())
    assert done.sgc == pytest.approx(-0.02)
    assert done.same_checks
    assert done.by["zoom"] == pytest.approx(25.0)
    assert done.by["translation"] == pytest.approx(-25.0)
    assert done.by["overall"] == pytest.approx(new.overall.value - old.overall.value)
    assert "object_appearance" not in done.by
    assert change(old, new).by["zoom"] == pytest.approx(-25.0)


def test_scores_of_other_checks_or_another_estimator_are_told_of_as_such(scored):
    old = scored(1)
    assert not change(scored(2, checks=44), old).same_checks
    assert change(scored(3, sgc=None), old).sgc is None
    assert change(scored(4, judged=False), old).by == {}


def test_the_one_before_is_of_the_same_setting_and_reference(scored, tmp_path):
    first, other, foreign = scored(1), scored(2, setting="detailed"), scored(3, sha="f" * 64)
    for number, made in ((1, 100), (2, 200), (3, 300), (4, 400)):
        if number == 4:
            scored(4)
        os.utime(tmp_path / f"score-{number:03d}" / "results.json", (made, made))
    history = [read_score(tmp_path / f"score-{number:03d}") for number in (1, 2, 3, 4)]
    assert before(history[3], history).folder == first.folder
    assert before(history[0], history) is None
    assert before(history[1], history) is None and other.setting == "detailed"
    assert foreign.reference_sha256 == "f" * 64


def test_signed_numbers():
    assert [signed(value) for value in (4.21, -0.34, 0.0, -0.01)] == ["+4.2", "−0.3", "±0", "±0"]
    assert signed(-0.0341, 3) == "−0.034"


def found(root, scene_id="mine", reference="", timeline=None, shown=None):
    wanted = Wanted(Owner(scene_id, "shot.blend", "Scene", reference), timeline, shown)
    return [score.folder.name for score in find_scores([root], wanted)]


def of_scene(folder, scene_id, blend="other.blend"):
    """A score's folder that says whose it is."""
    write_score(folder, results_data(4, 1))
    Request(folder, Owner(scene_id, blend, "Scene", "reference.mp4"), ("score",)).write()


def test_scores_are_found_by_the_scene_that_they_name_wherever_they_lie(tmp_path):
    base = tmp_path / "shot" / "matchcut"
    for number, scene in ((1, "mine"), (2, "theirs"), (3, "mine")):
        of_scene(base / f"score-{number:03d}", scene)
        os.utime(base / f"score-{number:03d}" / "results.json", (number, number))
    shutil.copytree(base / "score-001", base / "render-001")
    (base / "score-004").mkdir()
    write_score(base / "score-005", results_data())
    (base / "score-005" / "results.json").write_text("{")
    assert found(base) == ["score-003", "score-001"]
    assert found(base, shown=base / "score-003") == ["score-001"]
    assert found(base, scene_id="") == []
    moved = tmp_path / "elsewhere"
    shutil.move(tmp_path / "shot", moved)
    assert found(moved / "matchcut") == ["score-003", "score-001"]
    assert found(tmp_path / "nowhere") == []


def test_scores_of_a_scene_that_was_not_saved_since_are_found_by_its_names(tmp_path):
    of_scene(tmp_path / "score-001", "given-later", blend="shot.blend")
    assert found(tmp_path, scene_id="", reference="reference.mp4") == ["score-001"]
    assert found(tmp_path, scene_id="", reference="other.mp4") == []


def test_scores_that_name_no_scene_are_found_by_their_reference(tmp_path):
    write_score(tmp_path / "score-001", results_data())
    assert found(tmp_path) == []
    assert found(tmp_path, reference="reference.mp4") == ["score-001"]
    assert found(tmp_path, reference="reference.mp4", timeline=REFERENCE) == ["score-001"]
    assert found(tmp_path, reference="other.mp4", timeline=REFERENCE) == []
    assert found(tmp_path, reference="reference.mp4", timeline=Timeline(96, 54, REFERENCE.rate, 25)) == []


def test_no_more_scores_are_read_than_are_shown(tmp_path):
    for number in range(MOST_KEPT + 5):
        of_scene(tmp_path / f"score-{number + 1:03d}", "mine")
    assert len(found(tmp_path)) == MOST_KEPT


def test_a_results_file_that_is_huge_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("matchcut.addon.sidebar.results.found.MOST_BYTES", 1000)
    of_scene(tmp_path / "score-001", "mine")
    assert found(tmp_path) == []
