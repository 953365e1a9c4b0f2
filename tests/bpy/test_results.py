# SPDX-License-Identifier: GPL-3.0-or-later
"""The scores that a scene keeps: taken in, listed, gone to, and found again whatever became of the file."""

import shutil
import time
import webbrowser
from pathlib import Path

import bpy
import matchcut
import pytest
from matchcut.addon.sidebar.owner import owner_of, scene_id
from matchcut.addon.sidebar.requests import Request
from matchcut.addon.sidebar.results import check_panel, operators, panel, pictures, show, store
from matchcut.addon.sidebar.results.record import read_score
from matchcut.evaluator.protocol.errors import BadInputError
from score_samples import TIMELINE, every_third_fails, results_data, write_score


@pytest.fixture
def scene(tmp_path):
    """A fresh scene on the sample's reference, Matchcut registered."""
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    matchcut.register()
    scene = bpy.context.scene
    reference = scene.matchcut.reference
    (tmp_path / "reference.mp4").write_bytes(b"video")
    reference.path = reference.read_path = str(tmp_path / "reference.mp4")
    reference.width, reference.height = TIMELINE["width"], TIMELINE["height"]
    reference.rate, reference.frames = TIMELINE["rate"], TIMELINE["frames"]
    scene.matchcut.output = str(tmp_path / "matchcut")
    yield scene
    matchcut.unregister()


def score(scene, number=1, **made):
    """As if the scene had been scored: the folder with its origin, taken in."""
    folder = store.output_folder(scene) / f"score-{number:03d}"
    folder.mkdir(parents=True)
    Request(folder, owner_of(scene), ("score",)).write()
    write_score(folder, results_data(**made))
    store.take_results(scene.session_uid, folder)
    return folder


def state(scene):
    return scene.matchcut.results


def worse(number, category):
    return "unsatisfied" if number == 0 else every_third_fails(number, category)


def test_a_score_is_taken_in_with_its_checks_and_the_one_before(scene):
    first = score(scene)
    known = store.known(scene)
    assert known.score.folder == first and known.change is None and not known.reading
    assert Path(state(scene).folder) == first
    assert [item.name for item in state(scene).checks] == [check.key for check in known.score.checks]
    assert {line.section for line in state(scene).lines} == {"Timeline", "Cuts", "SGC", "Checklist"}
    second = score(scene, 2, rating=worse)
    known = store.known(scene)
    assert (known.score.folder, [one.folder for one in known.history]) == (second, [second, first])
    assert known.change.since.folder == first
    assert [one.check.key for one in known.change.failing] == ["clip_01/translation_0"]


def test_what_a_score_said_outlives_undo(scene):
    bpy.ops.ed.undo_push(message="before")
    bpy.ops.object.select_all(action="DESELECT")
    bpy.ops.ed.undo_push(message="after")
    folder = score(scene)
    bpy.ops.ed.undo()
    scene = bpy.context.scene
    assert Path(state(scene).folder) == folder and len(state(scene).checks) == 20
    assert store.known(scene).score.folder == folder


def test_choosing_a_row_goes_to_the_frame_of_its_check(scene):
    scene.frame_start = 101
    score(scene)
    scene.frame_set(1)
    assert store.selected(scene) is None
    state(scene).active = 3
    check = store.selected(scene)
    assert scene.frame_current == 101 + check.moment
    assert state(scene).selected == check.key
    scene.frame_set(101)
    bpy.ops.matchcut.go_to_check(key=check.key)
    assert scene.frame_current == 101 + check.moment
    with pytest.raises(RuntimeError, match="no such check"):
        bpy.ops.matchcut.go_to_check(key="clip_09/nothing")


def test_the_chosen_check_stays_chosen_and_the_frame_where_it_is_when_another_score_comes_in(scene):
    score(scene)
    show.choose(scene, "clip_02/zoom_13")
    scene.frame_set(2)
    score(scene, 2, rating=lambda number, category: "fully_satisfied" if number != 13 else "unsatisfied")
    assert store.selected(scene).key == "clip_02/zoom_13"
    assert state(scene).active == 0, "failing ones come first"
    assert scene.frame_current == 2
    score(scene, 3, checks=4)
    assert store.selected(scene) is None and scene.frame_current == 2


def test_the_failing_checks_are_gone_through_in_the_order_of_the_frames(scene):
    score(scene)
    failing = [check for check in store.known(scene).score.checks if check.rating in show.FAILING]
    seen = []
    for _ in failing:
        bpy.ops.matchcut.next_check()
        seen.append(store.selected(scene))
    assert [check.moment for check in seen] == sorted(check.moment for check in failing)
    assert {check.key for check in seen} == {check.key for check in failing}
    bpy.ops.matchcut.next_check()
    assert store.selected(scene) == seen[0], "around the end"
    bpy.ops.matchcut.next_check(backwards=True)
    assert store.selected(scene) == seen[-1]
    score(scene, 2, rating=lambda number, category: "fully_satisfied")
    with pytest.raises(RuntimeError, match="no check"):
        bpy.ops.matchcut.next_check()


def test_going_to_a_check_can_be_undone(scene):
    score(scene)
    scene.frame_set(1)
    bpy.ops.ed.undo_push(message="before")
    bpy.ops.matchcut.go_to_check("EXEC_DEFAULT", True, key="clip_01/subject_motion_9")
    assert bpy.context.scene.frame_current != 1
    bpy.ops.ed.undo()
    assert bpy.context.scene.frame_current == 1


def test_the_filter_of_the_panel_is_what_it_says(scene):
    score(scene)
    chosen = state(scene).filter
    assert chosen.wanted() == type(chosen.wanted())()
    chosen.text, chosen.ratings, chosen.category = "ball", {"unsatisfied", "not_judged"}, "camera"
    chosen.entity, chosen.setting = "Ball", "detailed"
    wanted = chosen.wanted()
    assert (wanted.text, wanted.ratings, wanted.category) == ("ball", {"unsatisfied", ""}, "camera")
    assert (wanted.entity, wanted.setting) == ("Ball", "detailed")
    bpy.ops.matchcut.clear_check_filter()
    assert chosen.wanted() == type(wanted)()


def test_another_score_of_the_history_is_shown(scene):
    first, second = score(scene), score(scene, 2, rating=worse)
    bpy.ops.matchcut.show_score(folder=str(first))
    known = store.known(scene)
    assert (known.score.folder, known.change) == (first, None)
    assert Path(state(scene).folder) == first and store.report_path(scene) == first / "report.html"
    assert [one.folder for one in known.history] == [second, first]
    with pytest.raises(RuntimeError, match="no such score"):
        bpy.ops.matchcut.show_score(folder="/nowhere")


def test_paths_are_relative_where_the_file_was_saved(scene, tmp_path):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    folder = score(scene)
    assert state(scene).folder == "//matchcut/score-001"
    assert store.report_path(scene) == folder / "report.html"


def reopened(path):
    """The scene after the file was opened, and its scores looked for."""
    bpy.ops.wm.open_mainfile(filepath=str(path))
    scene = bpy.context.scene
    assert store.known(scene).score is None, "without a window nothing is read by itself"
    bpy.ops.matchcut.find_scores()
    return scene


@pytest.fixture
def saved(scene, tmp_path):
    """A file with two scores in `shot/matchcut`, saved after the first."""
    (tmp_path / "shot").mkdir()
    blend = tmp_path / "shot" / "shot.blend"
    scene.matchcut.output = ""
    bpy.ops.wm.save_as_mainfile(filepath=str(blend))
    score(scene)
    bpy.ops.wm.save_mainfile()
    score(scene, 2, rating=worse)
    return blend


def test_scores_are_found_again_after_opening(saved):
    scene = reopened(saved)
    known = store.known(scene)
    assert known.score.folder.name == "score-001", "the one that the file says it has"
    assert [one.folder.name for one in known.history] == ["score-002", "score-001"]


def test_scores_are_found_again_where_folder_and_file_were_moved(saved, tmp_path):
    shutil.move(tmp_path / "shot", tmp_path / "archive")
    known = store.known(reopened(tmp_path / "archive" / "shot.blend"))
    assert known.score.folder == tmp_path / "archive" / "matchcut" / "score-001"
    assert len(known.history) == 2 and known.problem == ""


def test_scores_are_found_again_where_the_one_that_was_shown_is_gone(saved, tmp_path):
    shutil.rmtree(tmp_path / "shot" / "matchcut" / "score-001")
    known = store.known(reopened(saved))
    assert known.score.folder.name == "score-002"
    assert "score-001" in known.problem, "what is shown is not what the file says it has"
    store.show(bpy.context.scene, known.score)
    assert store.known(bpy.context.scene).problem == ""


def test_scores_are_found_again_where_the_file_was_never_saved_after_them(scene, tmp_path):
    blend = tmp_path / "shot.blend"
    scene.matchcut.output = ""
    scene_id(scene)
    bpy.ops.wm.save_as_mainfile(filepath=str(blend))
    score(scene)
    scene = reopened(blend)
    assert store.known(scene).score.folder.name == "score-001"
    assert state(scene).folder == "//matchcut/score-001"


def test_scores_stay_known_when_the_scene_or_the_file_gets_another_name(saved, tmp_path):
    scene = bpy.context.scene
    scene.name = "Renamed"
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot" / "second.blend"))
    assert len(store.known(reopened(tmp_path / "shot" / "second.blend")).history) == 2


def test_open_report_hands_the_report_of_the_score_that_is_shown_to_the_browser(scene, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda url, *_, **__: opened.append(url) or True)
    assert not bpy.ops.matchcut.open_report.poll()
    score(scene)
    folder = score(scene, 2, rating=worse)
    (folder / "report.html").write_text("<html></html>", encoding="utf-8")
    assert bpy.ops.matchcut.open_report() == {"FINISHED"}
    assert opened == [(folder / "report.html").as_uri()]
    (folder / "report.html").unlink()
    with pytest.raises(RuntimeError, match="report is not there any more; make it again"):
        bpy.ops.matchcut.open_report()


def test_scores_that_were_found_by_name_alone_stay_known_after_save_as(scene, tmp_path):
    blend = tmp_path / "shot.blend"
    scene.matchcut.output = ""
    bpy.ops.wm.save_as_mainfile(filepath=str(blend))
    score(scene)
    score(scene, 2, rating=worse)
    scene = reopened(blend)
    assert len(store.known(scene).history) == 2, "they name the scene by an id that it was never saved with"
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "second.blend"))
    assert len(store.known(reopened(tmp_path / "second.blend")).history) == 2


def test_what_is_gone_altogether_is_told_and_the_lines_stay(saved, tmp_path):
    shutil.rmtree(tmp_path / "shot" / "matchcut")
    scene = reopened(saved)
    known = store.known(scene)
    assert known.score is None and "results.json" in known.problem
    assert len(state(scene).lines) > 0


def test_two_scenes_keep_their_scores_apart(scene):
    score(scene)
    other = scene.copy()
    other.name = "Variant"
    assert scene_id(other) != scene_id(scene), "a copy is another scene"
    score(other, 2, rating=worse)
    store.find_again(scene)
    assert [one.folder.name for one in store.known(scene).history] == ["score-001"]
    assert [one.folder.name for one in store.known(other).history] == ["score-002"]
    assert store.known(other).change is None


def test_a_damaged_score_is_one_line_and_leaves_what_was_there(scene):
    first = score(scene)
    folder = first.with_name("score-002")
    folder.mkdir()
    (folder / "results.json").write_text("{}")
    with pytest.raises(BadInputError, match=r"score-002.results\.json"):
        store.take_results(scene.session_uid, folder)
    assert store.known(scene).score.folder == first


def test_six_hundred_checks_are_taken_in_within_a_slice(scene, tmp_path):
    read = read_score(write_score(tmp_path / "big" / "score-001", results_data(660, 30)))
    assert len(read.checks) == 600
    slices = []
    for _ in range(5):
        store.forget()
        state(scene).checks.clear()
        began = time.perf_counter()
        store._take_one(scene.session_uid, read)
        slices.append(time.perf_counter() - began)
    print(f"\n600 checks taken in {min(slices) * 1e3:.1f} ms")
    assert len(state(scene).checks) == 600
    assert min(slices) < 0.01


def test_pictures_lie_so_that_both_are_large():
    import numpy as np

    wide, tall = np.full((90, 160, 3), 7, np.uint8), np.full((160, 90, 3), 9, np.uint8)
    whole, above = pictures.together([wide, wide])
    assert above and whole.shape == (90 * 2 + pictures.GAP, 160, 3)
    assert (whole[0] == 7).all() and (whole[-1] == 7).all() and (whole[91] == 0).all()
    whole, above = pictures.together([tall, tall])
    assert not above and whole.shape == (160, 90 * 2 + pictures.GAP, 3)
    whole, above = pictures.together([tall])
    assert whole.shape == tall.shape
    whole, above = pictures.together([wide, tall])
    assert (whole[pictures.GAP + 160 :, :90] == 9).any()


def test_the_frame_of_the_render_is_the_one_at_that_time(scene, tmp_path):
    data = results_data()
    data["reconstruction"] = data["reconstruction"] | {"timeline": TIMELINE | {"rate": "12000/1001", "frames": 10}}
    read = read_score(write_score(tmp_path / "half" / "score-001", data))
    assert pictures.own_frame(read, "reference", 23) == 23
    assert [pictures.own_frame(read, "reconstruction", frame) for frame in (0, 8, 18)] == [0, 4, 9]
    assert pictures.own_frame(read, "reconstruction", 23) is None, "the render has ended by then"


def test_every_button_tells_what_it_does():
    for cls in operators.CLASSES:
        assert cls.bl_description and not cls.bl_description.endswith("."), cls
    assert set(check_panel.RATING_ICONS) == set(check_panel.RATINGS)
    assert panel.ICONS.keys() == {"good", "bad", "unscored", "plain"}
