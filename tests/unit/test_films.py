# SPDX-License-Identifier: GPL-3.0-or-later
"""The sample benchmark's films: what their checklists hold, and the right ratings of their reconstructions."""

from collections import Counter
from dataclasses import replace

import pytest
from matchcut.assets_ui.samples.films import FILMS, find_film
from matchcut.assets_ui.samples.films.checks import COUNTS, checks_of, clip_json, ratings_of
from matchcut.assets_ui.samples.films.grades import NO, PARTLY, YES, amount, change, order
from matchcut.assets_ui.samples.films.records import Track, view_at
from matchcut.assets_ui.samples.films.variants import RECONSTRUCTIONS
from matchcut.evaluator.benchmark.sample import answers
from matchcut.evaluator.checklist.load import load_clips
from matchcut.evaluator.checklist.records import DIMENSIONS, SETTINGS
from matchcut.evaluator.judge.records import RATING_VALUES
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.files import write_json

EVERY = [(film, clip) for film in FILMS.values() for clip in film.clips]


def test_there_are_six_kinds_twenty_clips_and_six_hundred_checks():
    assert [film.kind for film in FILMS.values()] == ["dialogue", "sport", "first person", "aerial", "racing", "cuts"]
    assert len(EVERY) == 20
    checks = [check for film, clip in EVERY for check in clip_json(film, clip)["checks"]]
    assert len(checks) == 600
    categories = {category for group in DIMENSIONS.values() for category in group}
    assert {check["category"] for check in checks} == categories == set(COUNTS)
    asked = Counter(setting for check in checks for setting in check["settings"])
    assert asked["detailed"] == 600 > asked["simplified"] > asked["proxy"] > 400
    assert len({clip.id for _, clip in EVERY}) == 20, "answers are found by the clip's name alone"
    rates = {film.timeline.rate for film in FILMS.values()}
    assert len(rates) >= 4 and any(film.timeline.height > film.timeline.width for film in FILMS.values())


def test_shots_and_clips_cover_their_films():
    for film in FILMS.values():
        frames = [frame for shot in film.shots for frame in range(shot.first, shot.last + 1)]
        assert frames == list(range(film.timeline.frames)), film.id
        shown = {frame for clip in film.clips for frame in range(clip.first, clip.last + 1)}
        assert shown == set(frames), film.id
        for clip in film.clips:
            assert (clip.last - clip.first + 1) / film.timeline.rate <= 2


def test_the_clip_files_are_right_in_full(tmp_path):
    for film in FILMS.values():
        for clip in film.clips:
            write_json(tmp_path / film.id / f"{clip.id}.json", clip_json(film, clip))
        load_clips(tmp_path / film.id, film.timeline)


def test_no_statement_is_asked_twice_in_a_clip():
    for film, clip in EVERY:
        said = [check.statement for check in checks_of(film, clip)]
        assert len(set(said)) == len(said), (film.id, clip.id)


@pytest.mark.parametrize(("film", "clip"), EVERY, ids=lambda value: value.id)
def test_the_reference_satisfies_every_statement_about_itself(film, clip):
    assert set(ratings_of(film, clip, film).values()) == {YES}


def overall(name):
    """Mean of all ratings, times 100."""
    rated = [rating for film, clip in EVERY for rating in ratings_of(film, clip, RECONSTRUCTIONS[name](film)).values()]
    return 100 * sum(RATING_VALUES[rating] for rating in rated) / len(rated)


def test_reconstructions_are_graded():
    scores = {name: overall(name) for name in RECONSTRUCTIONS}
    assert scores["cheating"] == 100, "its pictures are the reference's: only the audit can tell"
    assert 90 < scores["good"] < 98
    assert 60 < scores["middle"] < 80
    assert 25 < scores["poor"] < 45


@pytest.mark.parametrize("name", ["good", "middle", "poor"])
def test_every_clip_tells_the_reconstructions_apart(name):
    for film, clip in EVERY:
        rated = {
            other: sum(RATING_VALUES[r] for r in ratings_of(film, clip, RECONSTRUCTIONS[other](film)).values())
            for other in ("good", "middle", "poor")
        }
        assert rated["good"] > rated["middle"] > rated["poor"], (film.id, clip.id, rated)


def test_answers_hold_the_checks_of_each_setting():
    films = list(FILMS.values())
    right = answers(films, "middle")["ratings"]
    assert list(right) == list(SETTINGS)
    for film in films:
        for clip in film.clips:
            for setting in SETTINGS:
                wanted = [c["id"] for c in clip_json(film, clip)["checks"] if setting in c["settings"]]
                assert list(right[setting][clip.id]) == wanted


def changed(film, **changes):
    """The film with its first shot changed."""
    return replace(film, shots=(replace(film.shots[0], **changes), *film.shots[1:]))


def test_a_fault_shows_in_its_own_category_alone():
    film = find_film("racing")
    clip = film.clips[2]

    def wrong(ours):
        return {name.rsplit("_", 1)[0] for name, rating in ratings_of(film, clip, ours).items() if rating != YES}

    assert wrong(changed(film, focal=film.shots[0].focal.reduced(-1))) >= {"zoom"}
    assert not wrong(changed(film, focal=film.shots[0].focal.reduced(-1))) & {
        "translation",
        "rotation",
        "action_events",
    }
    red = tuple(replace(thing, colour="green") if thing.id == "red_car" else thing for thing in film.things)
    assert wrong(replace(film, things=red)) == {"object_appearance"}
    gone = tuple(thing for thing in film.things if thing.id != "second")
    assert "object_presence" in wrong(replace(film, things=gone))
    still_arm = tuple(replace(t, pose=Track(t.pose.keys[:1])) for t in film.things)
    assert wrong(replace(film, things=still_arm)) == {"action_events"}


def test_grades():
    assert [change((1, 0), ours, 0.01) for ours in ((1, 0), (0.5, 0), (0.1, 0), (-1, 0), (0, 0), (1, 1.5))] == [
        YES, PARTLY, NO, NO, NO, PARTLY,
    ]  # fmt: skip
    assert [change((0, 0), (ours, 0), 0.1) for ours in (0.0, 0.2, 0.5, 1.0)] == [YES, YES, PARTLY, NO]
    assert [amount(1.0, ours, 0.1) for ours in (1.05, 1.2, 1.3)] == [YES, PARTLY, NO]
    assert [order(0.5, ours, 0.05) for ours in (0.2, 0.01, -0.2)] == [YES, PARTLY, NO]


def test_a_view_projects_what_it_looks_at_into_the_middle():
    for film in FILMS.values():
        for frame in (0, film.timeline.frames - 1):
            target = film.shot_at(frame).target.at(frame)
            x, y, depth = view_at(film, frame).project(target)
            assert abs(x - 0.5) < 1e-9 and abs(y - 0.5) < 1e-9 and depth > 0


def test_what_is_not_there_is_one_line():
    with pytest.raises(BadInputError, match="no film of the sample benchmark"):
        find_film("western")
