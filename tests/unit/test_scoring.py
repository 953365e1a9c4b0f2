# SPDX-License-Identifier: GPL-3.0-or-later
"""Appendix C.3 by hand on a small benchmark, and the properties that hold on any."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matchcut.evaluator.checklist.records import DIMENSIONS, FRAME_CATEGORIES, SETTINGS, Check, Clip
from matchcut.evaluator.judge.records import RATING_VALUES, ItemRating, Judgment, OperationalFailure
from matchcut.evaluator.scoring.aggregate import score_checklist

NAMES = {1.0: "fully_satisfied", 0.5: "partially_satisfied", 0.0: "unsatisfied"}
CATEGORIES = [category for categories in DIMENSIONS.values() for category in categories]


def check(number, category, settings=("simplified",)):
    return Check(
        id=f"k{number}",
        category=category,
        settings=list(settings),
        subjects=[],
        start=0,
        end=0 if category in FRAME_CATEGORIES else 9,
        evidence_frames=[],
        statement="s",
    )


def clip(name, *categories, video="v"):
    checks = [check(n, c) if isinstance(c, str) else check(n, *c) for n, c in enumerate(categories)]
    return Clip(id=name, video=video, frame_offset=0, frame_count=10, shot_transitions=[], entities=[], checks=checks)


def judgment(of, *values, setting="simplified"):
    checks = of.applicable(setting)
    assert len(values) == len(checks)
    ratings = [
        ItemRating(check=c.id, category=c.category, rating=NAMES[v], value=v)
        for c, v in zip(checks, values, strict=True)
    ]
    return Judgment(
        key="k", clip=of.id, video=of.video, setting=setting, ratings=ratings, evidence=[], provider="p",
        requested_model="m", replied_model=None, request_id=None, prompt_sha256="0", usage={}, attempts=[],
    )  # fmt: skip


def failure(of, reason="connection", setting="simplified"):
    return OperationalFailure(
        key="k", clip=of.id, video=of.video, setting=setting, reason=reason, detail="d", attempts=[]
    )


# Two clips in full, one without any dynamic check.
A = clip("a", "translation", "rotation", "object_presence", "object_presence", "spatial_relations", "action_events")
B = clip("b", "rotation", "object_presence", "subject_motion", "action_events", "action_events")
C = clip("c", "zoom", "object_presence")


def test_by_hand():
    score = score_checklist(
        [A, B, C],
        [judgment(A, 1, 0.5, 1, 0, 0.5, 0), judgment(B, 0, 1, 1, 0.5, 0.5), judgment(C, 1, 0.5)],
        [],
        "simplified",
    )
    # camera: a (1 + 0.5)/2 = 0.75, b 0, c 1                      → 1.75/3
    # static: a (1 + 0 + 0.5)/3 = 0.5, b 1, c 0.5                 → 2/3
    # dynamic: a 0, b (1 + 0.5 + 0.5)/3 = 2/3, c has none         → (2/3)/2 = 1/3
    assert score.dimensions["camera"].value == pytest.approx(100 * 1.75 / 3, abs=1e-12)
    assert score.dimensions["static"].value == pytest.approx(100 * 2 / 3, abs=1e-12)
    assert score.dimensions["dynamic"].value == pytest.approx(100 / 3, abs=1e-12)
    assert score.overall.value == pytest.approx(100 * (1.75 / 3 + 2 / 3 + 1 / 3) / 3, abs=1e-12)
    # categories: rotation a 0.5, b 0; presence a 0.5, b 1, c 0.5; action a 0, b 0.5
    by_hand = {
        "translation": 100, "rotation": 25, "zoom": 100, "object_presence": 200 / 3,
        "spatial_relations": 50, "subject_motion": 100, "action_events": 25,
    }  # fmt: skip
    assert {c: s.value for c, s in score.categories.items() if s.value is not None} == pytest.approx(by_hand)
    assert set(score.categories) == set(CATEGORIES)
    target = score.categories["target"]
    assert (target.value, target.clips_expected, target.checks_expected) == (None, 0, 0)
    assert "target" in target.reason and "simplified" in target.reason
    assert (score.state, score.reason) == ("judged", "")
    dynamic = score.dimensions["dynamic"]
    assert (dynamic.clips_scored, dynamic.clips_expected) == (2, 2)
    assert (dynamic.checks_scored, dynamic.checks_expected) == (4, 4)
    assert (score.overall.clips_scored, score.overall.checks_scored, score.overall.checks_expected) == (3, 13, 13)


def test_many_items_in_one_clip_weigh_as_much_as_one_in_another():
    many, one = clip("many", *["rotation"] * 9), clip("one", "rotation")
    score = score_checklist([many, one], [judgment(many, *[1] * 9), judgment(one, 0)], [], "simplified")
    assert score.categories["rotation"].value == 50
    assert score.dimensions["camera"].value == 50


def test_missing_clip_lowers_the_coverage_and_not_the_score():
    score = score_checklist(
        [A, B, C], [judgment(A, 1, 1, 1, 1, 1, 1), judgment(C, 1, 1)], [failure(B, "timeout")], "simplified"
    )
    assert score.state == "partly_judged"
    assert score.reason == "2 of 3 clips judged; failed: timeout (1)"
    assert score.overall.value == 100
    assert (score.overall.clips_scored, score.overall.clips_expected) == (2, 3)
    assert (score.overall.checks_scored, score.overall.checks_expected) == (8, 13)
    assert score.overall.reason == score.reason
    motion = score.categories["subject_motion"]
    assert (motion.value, motion.clips_scored, motion.clips_expected) == (None, 0, 1)
    assert motion.reason == score.reason
    assert score.categories["zoom"].reason == ""


def test_no_judgment_is_not_a_zero():
    failures = [failure(A, "unauthorized"), failure(B, "unauthorized"), failure(C, "timeout")]
    score = score_checklist([A, B, C], [], failures, "simplified")
    assert score.state == "not_judged"
    assert score.reason == "0 of 3 clips judged; failed: timeout (1), unauthorized (2)"
    assert score.overall.value is None and score.overall.reason == score.reason
    assert all(part.value is None for part in (*score.dimensions.values(), *score.categories.values()))


def test_dimension_without_checks_leaves_the_overall_unscored():
    score = score_checklist([C], [judgment(C, 1, 1)], [], "simplified")
    assert score.state == "judged"
    assert score.dimensions["camera"].value == 100
    assert score.overall.value is None
    assert "dynamic" in score.overall.reason
    assert score.overall.checks_scored == 2


def test_not_judged_reason_stands_everywhere():
    score = score_checklist([A, B, C], [], [], "simplified", not_judged_reason="no judge configured")
    assert (score.state, score.reason) == ("not_judged", "no judge configured")
    parts = [score.overall, *score.dimensions.values(), *(s for s in score.categories.values() if s.checks_expected)]
    assert all((part.value, part.reason) == (None, "no judge configured") for part in parts)
    assert (score.overall.checks_scored, score.overall.checks_expected) == (0, 13)
    assert (score.overall.clips_scored, score.overall.clips_expected) == (0, 3)


def test_no_check_applies():
    score = score_checklist([A], [], [], "proxy")
    assert (score.state, score.reason) == ("not_judged", "no check applies under proxy")
    assert (score.overall.value, score.overall.checks_expected) == (None, 0)


def test_other_settings_do_not_mix():
    both = clip("x", ("rotation", ("proxy", "detailed")), ("rotation", ("detailed",)))
    proxy = score_checklist([both], [judgment(both, 1, setting="proxy")], [], "proxy")
    detailed = score_checklist([both], [judgment(both, 1, 0, setting="detailed")], [], "detailed")
    assert (proxy.dimensions["camera"].value, detailed.dimensions["camera"].value) == (100, 50)
    with pytest.raises(ValueError, match="proxy"):
        score_checklist([both], [judgment(both, 1, setting="proxy")], [], "detailed")


def test_judgment_of_an_unknown_clip_or_twice_is_refused():
    with pytest.raises(ValueError, match="'b'"):
        score_checklist([A], [judgment(B, 0, 1, 1, 0.5, 0.5)], [], "simplified")
    with pytest.raises(ValueError, match="'c'"):
        score_checklist([C], [judgment(C, 1, 1), judgment(C, 1, 1)], [], "simplified")


def test_clips_of_two_videos_may_share_their_name():
    one, two = clip("same", "rotation", video="one"), clip("same", "rotation", video="two")
    score = score_checklist([one, two], [judgment(one, 1), judgment(two, 0)], [], "simplified")
    assert score.dimensions["camera"].value == 50


@st.composite
def benchmarks(draw):
    """Clips with random categories and settings, and judgments of some of them, under one setting."""
    setting = draw(st.sampled_from(SETTINGS))
    clips, judgments = [], []
    for number in range(draw(st.integers(1, 6))):
        one = clip(
            f"c{number}",
            *draw(
                st.lists(
                    st.tuples(
                        st.sampled_from(CATEGORIES),
                        st.lists(st.sampled_from(SETTINGS), min_size=1, max_size=3, unique=True),
                    ),
                    max_size=7,
                )
            ),
        )
        clips.append(one)
        count = len(one.applicable(setting))
        if count and draw(st.booleans()):
            values = draw(st.lists(st.sampled_from(list(RATING_VALUES.values())), min_size=count, max_size=count))
            judgments.append(judgment(one, *values, setting=setting))
    return clips, judgments, setting


@settings(max_examples=120, deadline=None)
@given(benchmarks(), st.randoms(use_true_random=False))
def test_order_of_the_clips_does_not_matter(benchmark, chance):
    clips, judgments, setting = benchmark
    first = score_checklist(clips, judgments, [], setting)
    chance.shuffle(clips)
    chance.shuffle(judgments)
    assert score_checklist(clips, judgments, [], setting) == first


@settings(max_examples=120, deadline=None)
@given(benchmarks())
def test_coverage_adds_up_and_scores_are_in_range(benchmark):
    clips, judgments, setting = benchmark
    score = score_checklist(clips, judgments, [], setting)
    everything = [check for one in clips for check in one.applicable(setting)]
    rated = sum(len(one.ratings) for one in judgments)
    for parts in (score.dimensions.values(), score.categories.values(), [score.overall]):
        assert sum(part.checks_expected for part in parts) == len(everything)
        assert sum(part.checks_scored for part in parts) == rated
    for dimension, categories in DIMENSIONS.items():
        inner = [score.categories[category] for category in categories]
        assert score.dimensions[dimension].checks_scored == sum(part.checks_scored for part in inner)
    for part in (score.overall, *score.dimensions.values(), *score.categories.values()):
        assert part.clips_scored <= part.clips_expected <= len(clips)
        assert part.value is None or 0 <= part.value <= 100
        assert (part.value is not None) == (part.clips_scored > 0) or part is score.overall
        assert part.value is not None or part.reason


@settings(max_examples=120, deadline=None)
@given(benchmarks(), st.sampled_from(list(DIMENSIONS)))
def test_clip_without_items_in_a_dimension_does_not_count_there(benchmark, dimension):
    clips, judgments, setting = benchmark
    without = next(category for other, names in DIMENSIONS.items() if other != dimension for category in names)
    extra = clip("extra", (without, SETTINGS))
    before = score_checklist(clips, judgments, [], setting).dimensions[dimension]
    after = score_checklist([extra, *clips], [judgment(extra, 0, setting=setting), *judgments], [], setting).dimensions[
        dimension
    ]
    assert (after.value, after.clips_expected) == (before.value, before.clips_expected)


@settings(max_examples=60, deadline=None)
@given(benchmarks())
def test_better_ratings_never_lower_a_score(benchmark):
    clips, judgments, setting = benchmark
    best = [
        judgment(next(c for c in clips if c.id == j.clip), *[1] * len(j.ratings), setting=setting) for j in judgments
    ]
    before, after = (score_checklist(clips, js, [], setting) for js in (judgments, best))
    for name in CATEGORIES:
        if before.categories[name].value is not None:
            assert math.isclose(after.categories[name].value, 100)
            assert before.categories[name].value <= 100
