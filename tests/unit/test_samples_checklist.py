# SPDX-License-Identifier: GPL-3.0-or-later
"""The sample's checklist as the evaluator reads it, and the right ratings of its reconstruction."""

from collections import Counter

import pytest
from matchcut.assets_ui.samples import SAMPLES, TIMELINES, find_sample, two_shots
from matchcut.evaluator.checklist.load import load_clips
from matchcut.evaluator.checklist.records import DIMENSIONS, FRAME_CATEGORIES, SETTINGS
from matchcut.evaluator.judge.records import RATING_VALUES
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.files import read_json

SAMPLE = SAMPLES["two_shots"]


@pytest.fixture(scope="module")
def clips():
    return load_clips(SAMPLE.clips, SAMPLE.timeline)


@pytest.fixture(scope="module")
def ratings():
    return read_json(SAMPLE.ratings, "matchcut-ratings/1")["ratings"]


def test_timeline_is_about_three_seconds_of_film():
    assert str(TIMELINES["two_shots"]) == "480x270, 24000/1001 fps (23.976), 72 frames, 3.003 s"


def test_clips_cover_every_category_and_setting(clips):
    assert len(clips) >= 3
    assert sum(len(clip.checks) for clip in clips) >= 60
    categories = {category for group in DIMENSIONS.values() for category in group}
    for setting in SETTINGS:
        found = {check.category for clip in clips for check in clip.applicable(setting)}
        assert found == categories - ({"object_appearance"} if setting == "proxy" else set())
    # the detailed setting asks for more of appearance than the simplified one
    asked = Counter(s for clip in clips for c in clip.checks if c.category == "object_appearance" for s in c.settings)
    assert asked["detailed"] > asked["simplified"] > 0


def test_camera_and_dynamic_checks_are_the_same_in_every_setting(clips):
    for clip in clips:
        for check in clip.checks:
            if check.category != "object_appearance":
                assert check.settings == list(SETTINGS), (clip.id, check.id)


def test_one_clip_crosses_the_cut_and_says_so(clips):
    crossing = [clip for clip in clips if clip.shot_transitions]
    assert [clip.frame_offset + clip.shot_transitions[0] for clip in crossing] == [two_shots.CUT]
    for clip in clips:
        inside = clip.frame_offset < two_shots.CUT < clip.frame_offset + clip.frame_count
        assert bool(clip.shot_transitions) == inside


def test_statements_name_their_frames_and_their_subjects(clips):
    for clip in clips:
        names = {entity.id: entity.name for entity in clip.entities}
        assert [entity for entity in clip.entities if len(entity.members) == 2]
        for check in clip.checks:
            assert check.evidence_frames, check.id
            assert str(check.start) in check.statement and str(check.end) in check.statement, check.id
            for subject in check.subjects:
                assert names[subject] in check.statement, (clip.id, check.id, subject)
            if check.category in FRAME_CATEGORIES:
                assert check.statement.startswith(f"At local frame {check.start} ")


def test_ratings_are_complete_and_of_every_kind(clips, ratings):
    assert set(ratings) == set(SETTINGS)
    for setting in SETTINGS:
        expected = {clip.id: [check.id for check in clip.applicable(setting)] for clip in clips}
        assert {clip: list(given) for clip, given in ratings[setting].items()} == expected
        kinds = Counter(rating for given in ratings[setting].values() for rating in given.values())
        assert set(kinds) <= set(RATING_VALUES)
        assert kinds["unsatisfied"] >= 10 and kinds["partially_satisfied"] >= 2 and kinds["fully_satisfied"] >= 40


def test_the_pillar_satisfies_nothing(clips, ratings):
    for clip in clips:
        for check in clip.applicable("detailed"):
            if "pillar" in check.subjects:
                assert ratings["detailed"][clip.id][check.id] == "unsatisfied", (clip.id, check.id)


def test_checks_before_the_first_error_are_satisfied(clips, ratings):
    """Until the ball starts, all that is wrong is the missing pillar."""
    for clip in clips:
        for check in clip.applicable("detailed"):
            if clip.frame_offset + check.end <= two_shots.BALL_X.first and "pillar" not in check.subjects:
                assert ratings["detailed"][clip.id][check.id] == "fully_satisfied"


def test_an_unknown_sample_is_refused():
    with pytest.raises(BadInputError, match="'x' is no sample; there are: two_shots"):
        find_sample("x")


def test_sources_of_a_sample_exist():
    assert all(source.is_file() for source in SAMPLE.sources)
