# SPDX-License-Identifier: GPL-3.0-or-later
"""Match Camera in a real scene: what is drawn becomes the shot's camera, is kept and undone."""

from types import SimpleNamespace

import bpy
import numpy as np
import pytest
from match_camera_scenes import (  # noqa: F401 (the fixture is found by its name)
    CORNERS,
    camera,
    draw_lines,
    known,
    matching_scene,
    pick_points,
    place,
    sees_as,
    state,
)
from matchcut.addon.agent.camera import curves_of
from matchcut.addon.sidebar.match_camera import (
    apply,
    editing,
    finding,
    handles,
    mode,
    panel,
    scene_points,
    shots,
    solve,
    view,
)
from matchcut.evaluator.camera.core import fit
from matchcut.evaluator.camera.core.blender import Sensor
from matchcut.evaluator.camera.core.pinhole import Pinhole
from matchcut.evaluator.protocol.errors import BadInputError, OperationalError
from mathutils import Vector

SIZES = {"landscape": (960, 540), "portrait": (540, 960)}
SHIFTS = {"centered": (0.0, 0.0), "shifted": (0.12, -0.07)}


# --- lines and points -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("fit", ["AUTO", "HORIZONTAL", "VERTICAL"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("draw", [draw_lines, pick_points])
def test_the_applied_camera_sees_what_was_drawn_where_it_was_drawn(scene, draw, size, fit, shift):
    theirs = known(scene, SIZES[size], SHIFTS[shift], fit)
    scene.camera.data.sensor_fit = fit
    match = draw(scene, theirs)
    if shift != "centered":
        match.principal = "GIVEN"
        across = max(SIZES[size]) if fit == "AUTO" else SIZES[size][0 if fit == "HORIZONTAL" else 1]
        match.principal_place = [
            0.5 - SHIFTS[shift][0] * across / SIZES[size][0], 0.5 + SHIFTS[shift][1] * across / SIZES[size][1],
        ]  # fmt: skip
    assert bpy.ops.matchcut.apply_match() == {"FINISHED"}
    assert sees_as(scene, scene.camera, theirs) < 0.05
    assert scene.camera.data.lens == pytest.approx(theirs.data.lens, rel=1e-3)
    assert scene.camera.location[:] == pytest.approx(theirs.location[:], abs=2e-3)
    assert scene.camera.data.shift_x == pytest.approx(SHIFTS[shift][0], abs=1e-3)


def test_residuals_are_told_for_every_line_and_point(scene):
    theirs = known(scene)
    match = draw_lines(scene, theirs, "XY")
    match.lines[0].end = (match.lines[0].end[0] + 0.01, match.lines[0].end[1] - 0.02)
    found = finding.solution_of(scene, match).residuals
    assert len(found) == len(match.lines) and max(found) > found[0] > 0.5 and sorted(found)[3] < 1e-3
    match = pick_points(scene, theirs)
    match.points[3].place[0] += 0.02
    found = finding.solution_of(scene, match).residuals
    assert len(found) == 8 and max(found) == found[3]


class Timers:
    """Blender's timers as they are in a window: `run` lets those that wait run until none does."""

    def __init__(self):
        self.waiting = None

    def is_registered(self, function):
        return self.waiting is not None

    def register(self, function, **_):
        self.waiting = function

    def unregister(self, function):
        self.waiting = None

    def run(self):
        count = 0
        while self.waiting is not None:
            count += 1
            if self.waiting() is None:
                self.waiting = None
        return count


@pytest.fixture
def window(monkeypatch):
    """A search is made in slices, as in a window."""
    app = SimpleNamespace(background=False, timers=Timers())
    monkeypatch.setattr(finding, "bpy", SimpleNamespace(app=app))
    return app.timers


def test_in_a_window_points_are_searched_in_slices_and_the_camera_before_stays_meanwhile(scene, window, monkeypatch):
    monkeypatch.setattr(finding, "SLICE", 0.0005)
    theirs = known(scene)
    match = pick_points(scene, theirs)
    waits = finding.solution_of(scene, match)
    assert waits.fit is None and waits.waiting == (finding.SEARCHING,) and finding.is_searching(scene, match)
    assert window.run() > 3
    first = finding.solution_of(scene, match)
    assert first.fit is not None and not finding.is_searching(scene, match)

    match.points[3].place[0] += 0.02
    assert finding.solution_of(scene, match) is first, "what was found before is shown"
    match.points.remove(7)
    assert finding.solution_of(scene, match).residuals == (None,) * 7, "residuals are never those of other points"
    window.run()
    found = finding.solution_of(scene, match)
    assert found.fit is not first.fit and found.residuals == solve.solve(solve.asked_of(scene, match)).residuals


def test_the_camera_that_follows_goes_to_what_was_found_in_the_end(scene, window, monkeypatch):
    monkeypatch.setattr(finding, "SLICE", 0.0005)
    theirs = known(scene)
    pick_points(scene, theirs)
    scene.matchcut.match_camera.live = True
    apply.changed(scene)
    assert sees_as(scene, scene.camera, theirs) > 1
    window.run()
    assert sees_as(scene, scene.camera, theirs) < 0.05


def test_the_camera_follows_while_one_drags_on(scene, window, monkeypatch):
    theirs = known(scene)
    match = draw_lines(scene, theirs)
    scene.matchcut.match_camera.live = True
    apply.changed(scene)
    window.run()
    finding.begin_near(scene, match)
    monkeypatch.setattr(finding, "SLICE", 0.0)
    places = []
    for _ in range(40):  # a move of the mouse comes before each of the slices
        match.lines[0].end[1] += 0.001
        apply.changed(scene)
        window.waiting()
        places.append(round(scene.camera.data.lens, 4))
    assert len(set(places)) > 3, "each search comes to its end, and the camera goes there"
    finding.end_near()


def test_a_search_that_runs_while_one_drags_ends_and_the_next_is_for_the_last_place(scene, window, monkeypatch):
    theirs = known(scene)
    match = pick_points(scene, theirs)
    finding.solution_of(scene, match, final=True)
    finding.begin_near(scene, match)
    monkeypatch.setattr(finding, "SLICE", 0.0)
    for _ in range(3):
        match.points[2].place[1] += 0.01
        finding.solution_of(scene, match)
    (search,) = finding._searches.values()
    assert search.key[0] != solve.asked_of(scene, match), "the one of the first place goes on"
    monkeypatch.setattr(finding, "SLICE", 1.0)
    window.run()
    finding.solution_of(scene, match)  # as the drawing that follows
    window.run()
    last = finding.solution_of(scene, match)
    assert last.residuals == finding._known[solve.asked_of(scene, match), True].residuals
    finding.end_near()


def test_a_cancelled_drag_leaves_the_camera_alone_that_is_found_later(scene, window, monkeypatch):
    monkeypatch.setattr(finding, "SLICE", 0.0)
    pick_points(scene, known(scene))
    scene.matchcut.match_camera.live = True
    kept = apply.snapshot(scene)
    apply.changed(scene)
    apply.restore(kept)
    monkeypatch.setattr(finding, "SLICE", 1.0)
    window.run()
    assert scene.camera.location[:] == (0, 0, 0)


def test_apply_waits_for_no_slice(scene, window, monkeypatch):
    monkeypatch.setattr(finding, "SLICE", 0.0)
    theirs = known(scene)
    pick_points(scene, theirs)
    apply.apply(scene)
    assert sees_as(scene, scene.camera, theirs) < 0.05


def test_a_number_is_about_the_next_line_while_the_mouse_is_still_on_the_one_that_was_drawn(scene, monkeypatch):
    monkeypatch.setattr(editing, "push", lambda step: None)
    monkeypatch.setattr(editing, "_reach", lambda context: 12.0)
    match = shots.new_match(scene)
    line = match.lines.add()
    line.start, line.end = (0.2, 0.2), (0.8, 0.2)
    seen = view.CameraView((960, 540), (960, 540))
    region = SimpleNamespace(as_pointer=lambda: 1)
    edit = SimpleNamespace(_now=mode.Mode("LINES"), _told=lambda context: None)

    def move(place):
        target = SimpleNamespace(point=seen.region_of(place), region=region, view=seen)
        editing.EditMode._hover(edit, bpy.context, target)

    edit._now.drawn = 0  # as it is noted where the button is let go
    move((0.8, 0.201))
    assert edit._now.hover is not None and edit._now.text(match) == mode.LINES_TEXT
    assert editing.EditMode._key(edit, bpy.context, "TWO")
    assert (line.axis, scene.matchcut.match_camera.axis) == ("X", "Y")
    move((0.5, 0.8))
    move((0.5, 0.201))
    assert edit._now.text(match) == mode.LINE_TEXT
    assert editing.EditMode._key(edit, bpy.context, "THREE")
    assert (match.lines[0].axis, scene.matchcut.match_camera.axis) == ("Z", "Z")


def test_where_the_position_is_not_known_the_camera_stays_in_its_place(scene):
    theirs = known(scene)
    match = draw_lines(scene, theirs)
    match.origin = (0.5, -3.0)
    scene.camera.location = (7, 8, 9)
    notes = apply.apply(scene)
    assert any("stays where it is" in note for note in notes)
    assert scene.camera.location[:] == (7, 8, 9) and scene.camera.data.lens == pytest.approx(24, rel=1e-3)


def test_what_is_missing_is_said_in_one_line(scene):
    with pytest.raises(BadInputError, match="nothing is drawn for this shot yet"):
        apply.apply(scene)
    draw_lines(scene, known(scene), "X")
    with pytest.raises(BadInputError, match="no camera was found yet: lines of x alone leave the focal length open"):
        apply.apply(scene)
    bpy.data.objects.remove(scene.camera)
    with pytest.raises(BadInputError, match="Add Camera"):
        apply.apply(scene)
    assert bpy.ops.matchcut.add_camera() == {"FINISHED"} and scene.camera is not None


def test_a_camera_with_a_parent_is_refused_with_its_reason_and_left_alone(scene):
    draw_lines(scene, known(scene))
    scene.camera.parent = bpy.data.objects.new("Rig", None)
    before = state(scene.camera)
    with pytest.raises(OperationalError, match="parent 'Rig'"):
        apply.apply(scene)
    assert state(scene.camera) == before


def test_an_animated_camera_gets_a_keyframe_at_the_frame_that_was_drawn_on(scene):
    theirs = known(scene)
    scene.frame_set(21)
    draw_lines(scene, theirs)
    item = scene.camera
    for frame in (11, 41):
        item.location.x = frame
        item.keyframe_insert("location", frame=frame)
    scene.frame_set(33)
    apply.apply(scene)
    (curve,) = [one for one in curves_of(item) if (one.data_path, one.array_index) == ("location", 0)]
    assert [point.co.x for point in curve.keyframe_points] == [11, 21, 41]
    scene.frame_set(21)
    assert sees_as(scene, item, theirs) < 0.05


def test_live_the_camera_goes_with_every_change_unless_it_is_animated(scene):
    match = draw_lines(scene, known(scene))
    before = state(scene.camera)
    match.height = 5.0
    assert state(scene.camera) == before
    scene.matchcut.match_camera.live = True
    assert scene.camera.location.z == pytest.approx(5)
    match.height = 4.0
    assert scene.camera.location.z == pytest.approx(4)
    kept = apply.snapshot(scene)
    match.height = 9.0
    apply.restore(kept)
    assert scene.camera.location.z == pytest.approx(4)
    scene.camera.keyframe_insert("location", frame=11)
    match.height = 2.0
    assert scene.camera.location.z == pytest.approx(4) and "animated" in apply.why_not_live(scene)


def test_undo_takes_back_the_camera_and_the_lines(scene):
    bpy.ops.ed.undo_push(message="Start")
    before = state(scene.camera)
    draw_lines(scene, known(scene))
    bpy.ops.ed.undo_push(message="Lines")
    assert bpy.ops.matchcut.apply_match("EXEC_DEFAULT", True) == {"FINISHED"}
    after = state(bpy.context.scene.camera)
    assert after != before
    bpy.ops.ed.undo()
    assert state(bpy.context.scene.camera) == before and len(shots.match_of(bpy.context.scene).lines) == 12
    bpy.ops.ed.undo()
    assert shots.match_of(bpy.context.scene) is None
    bpy.ops.ed.redo()
    bpy.ops.ed.redo()
    assert state(bpy.context.scene.camera) == after


def test_lines_and_points_are_kept_in_the_file(scene, tmp_path):
    theirs = known(scene)
    match = draw_lines(scene, theirs)
    pick_points(scene, theirs)
    match.shapes.add().kind = "CAR"
    lines = [[line.axis, *line.start, *line.end] for line in match.lines]
    path = str(tmp_path / "kept.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.wm.open_mainfile(filepath=path)
    match = shots.match_of(bpy.context.scene)
    assert [[line.axis, *line.start, *line.end] for line in match.lines] == lines
    assert np.array([point.world[:] for point in match.points]) == pytest.approx(np.array(CORNERS))
    assert match.shapes[0].kind == "CAR" and match.mode == "POINTS"


def test_every_shot_has_lines_and_a_camera_of_its_own(scene):
    second = camera(scene, "Second")
    for name, item, frame in (("a", scene.camera, 11), ("b", second, 31)):
        scene.timeline_markers.new(name, frame=frame).camera = item
    assert [(shot.first, shot.last) for shot in shots.shots_of(scene)] == [(0, 19), (20, 49)]
    theirs = known(scene)
    draw_lines(scene, theirs)
    first = state(scene.camera)
    scene.frame_set(35)
    assert shots.match_of(scene) is None and shots.camera_of(scene) == second
    draw_lines(scene, theirs)
    apply.apply(scene)
    assert sees_as(scene, second, theirs) < 0.05 and state(bpy.data.objects["Shot"]) == first
    assert [match.frame for match in scene.matchcut.match_camera.matches] == [0, 24]
    assert bpy.ops.matchcut.clear_match() == {"FINISHED"}
    assert [match.frame for match in scene.matchcut.match_camera.matches] == [0]


def test_cuts_of_the_reference_are_shots_where_no_marker_binds_a_camera(scene):
    for first, last in ((0, 29), (30, 49)):
        shot = scene.matchcut.reference.shots.add()
        shot.first, shot.last = first, last
    assert [(shot.number, shot.first, shot.last) for shot in shots.shots_of(scene)] == [(1, 0, 29), (2, 30, 49)]


def test_a_second_frame_of_a_shot_is_matched_by_itself(scene):
    theirs = known(scene)
    draw_lines(scene, theirs)
    scene.frame_set(41)
    assert shots.match_of(scene).frame == 0
    assert bpy.ops.matchcut.match_again() == {"FINISHED"} and len(shots.match_of(scene).lines) == 0
    scene.frame_set(13)
    assert len(shots.match_of(scene).lines) == 12
    assert bpy.ops.matchcut.match_frame() == {"FINISHED"} and scene.frame_current == 11


def test_the_buttons_that_need_a_mouse_say_so_in_the_background(scene):
    with pytest.raises(RuntimeError):
        bpy.ops.matchcut.edit_lines()
    assert mode.current() is None


# --- handles and places -----------------------------------------------------------------------------------------------


def test_the_nearest_handle_is_taken_and_ends_come_before_the_line_between(scene):
    match = shots.new_match(scene)
    line = match.lines.add()
    line.start, line.end = (0.25, 0.5), (0.75, 0.5)
    match.origin = (0.9, 0.9)
    there = view.CameraView((1600, 900), (960, 540), zoom=29.3)
    find = lambda where: handles.handle_at(match, there, there.region_of(where), 12)  # noqa: E731
    assert find((0.251, 0.5)) == handles.Handle("line", 0, "start")
    assert find((0.5, 0.503)) == handles.Handle("line", 0, "both")
    assert find((0.9, 0.9)) == handles.Handle("match", 0, "origin")
    assert find((0.1, 0.1)) is None
    handles.put(match, handles.Handle("line", 0, "both"), [(0.3, 0.6), (0.8, 0.6)])
    assert line.start[:] == pytest.approx((0.3, 0.6)) and line.end[:] == pytest.approx((0.8, 0.6))
    assert not handles.remove(match, handles.Handle("match", 0, "origin"))
    assert handles.remove(match, handles.Handle("line", 0, "end")) and len(match.lines) == 0
    assert handles.places_of(match, handles.Handle("line", 0, "both")) == []


def test_vertices_origins_and_the_cursor_can_be_clicked_on(scene):
    mesh = bpy.data.meshes.new("Box")
    mesh.from_pydata(CORNERS, [], [])
    item = bpy.data.objects.new("Box", mesh)
    scene.collection.objects.link(item)
    item.location, item.scale = (1, 2, 3), (2, 2, 2)
    scene.cursor.location = (9, 9, 9)
    bpy.context.view_layer.update()
    places = scene_points.gather(bpy.context)
    names = {places.name_of(index): tuple(world) for index, world in enumerate(places.world.tolist())}
    assert names["Box v7"] == pytest.approx((7, 6, 7.4))
    assert names["Box origin"] == pytest.approx((1, 2, 3)) and names["3D cursor"] == pytest.approx((9, 9, 9))
    theirs = known(scene)
    matrix = (
        theirs.calc_matrix_camera(bpy.context.evaluated_depsgraph_get(), x=960, y=540) @ theirs.matrix_world.inverted()
    )
    u, v = place(scene, theirs, names["Box v3"])
    found = scene_points.place_at(places, matrix, (960, 540), (u * 960 + 3, (1 - v) * 540 - 4), 12)
    assert places.name_of(found) == "Box v3"
    assert scene_points.place_at(places, matrix, (960, 540), (u * 960 + 30, (1 - v) * 540), 12) is None


def test_places_behind_the_viewer_are_never_found(scene):
    theirs = known(scene)
    matrix = (
        theirs.calc_matrix_camera(bpy.context.evaluated_depsgraph_get(), x=960, y=540) @ theirs.matrix_world.inverted()
    )
    behind = np.array([theirs.matrix_world @ Vector((0, 0, 5))])
    assert np.isnan(scene_points.to_region(behind, matrix, (960, 540))).all()


def test_scale_shapes_are_of_their_size_in_every_unit(scene):
    scene.unit_settings.scale_length = 0.01
    draw_lines(scene, known(scene))
    assert bpy.ops.matchcut.add_scale_shape(kind="PERSON") == {"FINISHED"}
    assert shots.match_of(scene).shapes[0].size[2] == pytest.approx(170)
    assert bpy.ops.matchcut.remove_scale_shape() == {"FINISHED"} and len(shots.match_of(scene).shapes) == 0


def test_what_is_not_determined_has_no_figure():
    camera = Pinhole((960, 540), 8000.0, (479.5, 269.5), np.eye(3), np.array([0.0, 0.0, -30.0]))
    sigmas = [0.01, 0.01, 0.01, 75000.0, 200.0, 200.0, 200.0]
    parameters = fit.names(True, False, True)
    found = fit.Fit(camera, True, np.zeros((6, 2)), parameters, np.diag(np.square(sigmas)), 1.0)
    rows = dict(panel.found_rows(solve.Solution(found), Sensor(), (960, 540)))
    assert rows["Lens"] == rows["Field of View"] == rows["Position"] == "not determined"
    assert rows["Rotation"] == "± 0.99°"
    assert fit.weak_focal(found.sigmas, 8000.0)[0].startswith("the focal length is not determined; pick more")
    assert "known to 30% only" in fit.weak_focal({"focal": 300.0}, 1000.0)[0]
