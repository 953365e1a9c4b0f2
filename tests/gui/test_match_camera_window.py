# SPDX-License-Identifier: GPL-3.0-or-later
"""Match Camera in a real window: lines and points by the mouse, over a picture of a camera that is known."""

import statistics

CORNERS = [[0, 0, 0], [3, 0, 0], [0, 2, 0], [0, 0, 2.2], [3, 0, 2.2], [0, 2, 2.2]]
PICTURES = (
    "1-no-camera", "2-not-in-camera-view", "2-twice-the-scale-light", "3-edit-lines-empty", "4-lines", "5-panel",
    "5-applied-with-shapes", "6-dragging-live", "7-pick-in-the-scene", "8-points", "9-points-applied",
    "10-motion-panel",
)  # fmt: skip


def test_a_camera_is_matched_by_dragging_lines_and_picking_points(run_scenario):
    facts, out = run_scenario("match_camera", seconds=1800)
    assert facts["finished"]
    for name in PICTURES:
        assert (out / f"{name}.png").stat().st_size > 2000, name

    assert facts["added"], "the empty state has a button that adds a camera"
    assert len(facts["mapping"]) == 2, "at the usual resolution scale and at twice that"
    for worst, views in facts["mapping"]:
        assert worst < 0.5 and views >= 10, "zoomed, moved, portrait, every fit, shift and pixel aspect"

    assert facts["editing"] and facts["drawn"] == ["X", "X", "X", "Y", "Y", "Y"]
    focal, angle, away = facts["lines_missed"]
    print(
        f"\nby six lines that the mouse drew: lens {focal:.2f} %, orientation {angle:.2f}°, place {away:.2f} units off"
    )
    # the mouse draws to whole pixels of the screen, which are nearly as large as those of the picture
    assert focal < 5 and angle < 1.5 and away < 0.5
    assert all(value is not None and value < 1.5 for value in facts["residuals"])

    assert facts["moved_while_dragging"], "the camera follows where it is live"
    assert facts["cancelled"], "Esc puts the line and the camera back"
    assert 1.9 < facts["precise"][0] < 2.1 and 2.3 < facts["precise"][1] < 2.5, "Shift drags ten times as finely"
    assert facts["undone"] and facts["still_editing"], "one step of undo takes back the drag and the camera"
    assert facts["deleted"] == 1 and facts["back"]
    assert facts["ended_by_enter"]
    # events that move nothing take no time
    move, lines = (sorted(value for value in facts[name] if value > 1e-3) for name in ("move_seconds", "lines_seconds"))
    print(
        f"a move of a drag with the camera following: {statistics.median(move) * 1e3:.1f} ms, {move[-1] * 1e3:.1f} ms"
    )
    print(f"drawing the lines: {statistics.median(lines) * 1e3:.1f} ms, at most {lines[-1] * 1e3:.1f} ms")

    assert [[round(value, 2) for value in point[1:]] for point in facts["points"]] == CORNERS
    assert all(point[0].startswith("House v") for point in facts["points"])
    focal, angle, away = facts["points_missed"]
    print(f"by six points: lens {focal:.2f} %, orientation {angle:.2f}°, place {away:.2f} units off")
    assert focal < 5 and angle < 1.5 and away < 0.5
    assert all(value is not None and value < 1.5 for value in facts["points_residuals"])
    slices = sorted(facts["slice_seconds"])
    print(f"{len(slices)} slices of three searches of points: at most {slices[-1] * 1e3:.1f} ms of processor time")
    assert facts["found_meanwhile"] and len(slices) > 6 and slices[-1] < 0.010, "the window has its turn meanwhile"
    assert facts["apply_undone"] == 70, "Ctrl Z takes Apply to Camera back while points are picked"
    assert facts["ended_by_button"]

    assert facts["begun_again"] and facts["ended_by_file"] and facts["kept"], "another file ends it, and lines are kept"
    assert facts["ended_by_editor"], "no 3D view is left to draw in"
    assert facts["begun_third"] and facts["disabled"], "the add-on can be disabled while lines are edited"
