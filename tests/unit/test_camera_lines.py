# SPDX-License-Identifier: GPL-3.0-or-later
"""A camera out of vanishing lines, a horizon, an origin and a length."""

import numpy as np
import pytest
from camera_samples import camera, cameras, drawn, segment, sets_of, vanishing_point
from hypothesis import given, settings
from hypothesis import strategies as st
from matchcut.evaluator.camera.core.lines import HEADING, LEVEL, UPRIGHT_HEADING, fit_lines
from matchcut.evaluator.camera.core.place import Length, on_ground, place
from matchcut.evaluator.camera.core.vanishing import Lines
from matchcut.evaluator.protocol.errors import BadInputError


def horizon_of(seen, ends=(0.2, 0.9)):
    """x, y of two points of the horizon, at these shares of the width."""
    a, b, c = np.linalg.solve(seen.intrinsics.T, seen.rotation[:, 2])
    xs = np.array(ends) * seen.size[0]
    return np.column_stack([xs, -(a * xs + c) / b]).ravel().tolist()


def assert_same(fit, seen, tolerance=1e-6):
    assert fit.camera.focal == pytest.approx(seen.focal, rel=tolerance)
    assert fit.camera.principal == pytest.approx(seen.principal, abs=tolerance * seen.focal)
    assert np.abs(fit.camera.rotation - seen.rotation).max() < tolerance
    assert fit.rms_px < 1e-6
    assert np.isfinite(fit.covariance).all() and (np.diag(fit.covariance) > 0).all()


@settings(max_examples=40)
@given(cameras(), st.sampled_from(("xy", "yx", "xyz")))
def test_two_or_three_sets_give_focal_length_and_orientation(seen, axes):
    if axes == "xyz" and abs(seen.rotation[2, 2]) < 1e-3:
        axes = "xy"  # the vertical has no sign
    assert_same(fit_lines(seen.size, sets_of(seen, axes)), seen)


@settings(max_examples=40)
@given(cameras(off_centre=True), st.sampled_from(("xy", "yx")))
def test_a_known_principal_point_off_the_middle(seen, axes):
    assert_same(fit_lines(seen.size, sets_of(seen, axes), principal=seen.principal), seen)


@settings(max_examples=40)
@given(cameras(off_centre=True, level=50), st.floats(15, 50), st.sampled_from((-1, 1)))
def test_three_sets_give_the_principal_point_too(seen, pitch, sign):
    seen = camera(seen.size, seen.focal, seen.principal, 40, sign * pitch, 5)
    assert_same(fit_lines(seen.size, sets_of(seen, "zxy"), principal="free"), seen)


@settings(max_examples=40)
@given(cameras(level=50))
def test_a_horizon_and_one_set_with_a_known_focal_length(seen):
    fit = fit_lines(seen.size, sets_of(seen, "x"), horizon=horizon_of(seen), focal=seen.focal)
    assert_same(fit, seen)
    assert not fit.assumed and "focal" not in fit.parameters


@settings(max_examples=40)
@given(cameras(), st.sampled_from((("x", "y"), ("y", "x"), ("z", "y", "x"))))
def test_without_signs_the_camera_stands_upright_and_sees_the_first_set_recede(seen, axes):
    sets = [Lines(axis, drawn(seen, axis, seed=index)) for index, axis in enumerate(axes)]
    fit = fit_lines(seen.size, sets)
    turn = fit.camera.rotation.T @ seen.rotation  # between the two worlds: only a turn about the vertical
    assert np.abs(turn - np.round(turn)).max() < 1e-6 and turn[2, 2] > 0.5
    assert fit.camera.rotation[1, 2] < 0
    assert fit.camera.focal == pytest.approx(seen.focal, rel=1e-6)


def test_one_set_with_a_known_focal_length_takes_the_camera_for_level():
    seen = camera(roll=0)
    fit = fit_lines(seen.size, sets_of(seen, "y"), focal=seen.focal)
    assert fit.assumed == (LEVEL,)
    assert_same(fit, seen)


def test_verticals_and_a_horizon_give_the_focal_length():
    seen = camera(yaw=0, roll=4)
    fit = fit_lines(seen.size, sets_of(seen, "z"), horizon=horizon_of(seen))
    assert fit.assumed == (UPRIGHT_HEADING,)
    assert fit.camera.focal == pytest.approx(seen.focal, rel=1e-9)
    up = fit.camera.rotation[:, 2]
    assert np.allclose(up, seen.rotation[:, 2], atol=1e-9)
    assert abs(fit.camera.rotation[0, 1]) < 1e-9 and fit.camera.rotation[0, 0] > 0


@pytest.mark.parametrize(("roll", "assumed"), [(3, UPRIGHT_HEADING), (60, HEADING)])
def test_a_horizon_alone_with_a_known_focal_length_gives_tilt_and_roll(roll, assumed):
    seen = camera(roll=roll)
    fit = fit_lines(seen.size, [], horizon=horizon_of(seen), focal=seen.focal)
    assert fit.assumed == (assumed,)
    assert np.allclose(fit.camera.rotation[:, 2], seen.rotation[:, 2], atol=1e-9)


def test_parallel_lines_are_no_hindrance_where_the_focal_length_is_known():
    seen = camera(yaw=0, roll=0, pitch=-20)  # x runs along the picture's rows
    assert abs(vanishing_point(seen, "x")[2]) < 1e-12
    fit = fit_lines(seen.size, [Lines("x", drawn(seen, "x")), Lines("+y", drawn(seen, "y"))], focal=seen.focal)
    assert_same(fit, seen)


SEEN = camera()
FAN = np.array([[100, 100, 500, 120], [100, 900, 500, 800]], dtype=float)
DEGENERATE = {
    "no lines": (lambda: {"sets": []}, "focal length open"),
    "nothing": (lambda: {"sets": [], "focal": 900.0}, "no lines"),
    "one line": (lambda: {"sets": [Lines("x", FAN[:1])]}, "two at least"),
    "a point": (lambda: {"sets": [Lines("x", FAN[:, [0, 1, 0, 1]])]}, "no length"),
    "axis twice": (lambda: {"sets": [Lines("x", FAN), Lines("-x", FAN)]}, "given twice"),
    "no axis": (lambda: {"sets": [Lines("w", FAN)]}, "has to be x, y or z"),
    "one set": (lambda: {"sets": sets_of(SEEN, "x")}, "focal length open"),
    "one set and the horizon": (lambda: {"sets": sets_of(SEEN, "x"), "horizon": horizon_of(SEEN)}, "focal length open"),
    "parallel": (
        lambda: {"sets": [Lines("x", np.array([[0, 0, 100, 50], [0, 90, 100, 140.0]])), *sets_of(SEEN, "y")]},
        "lines of x are parallel in the picture",
    ),
    "two parallel of three": (
        lambda: {"sets": sets_of(camera(yaw=0, pitch=0, roll=0), "zxy")[:2] + sets_of(SEEN, "y")},
        "parallel in the picture",
    ),
    "same point": (lambda: {"sets": [Lines("x", FAN), Lines("y", FAN[:, [2, 3, 0, 1]])]}, "meet in the same point"),
    "imaginary": (
        lambda: {"sets": [Lines("x", FAN), Lines("y", FAN + np.array([0, 0, 0, 30]))]},
        "focal length is imaginary",
    ),
    "on one line": (lambda: {"sets": [Lines("x", np.array([[0, 0, 10, 10], [20, 20, 90, 90.0]]))]}, "on one line"),
    "collinear points": (
        lambda: {
            "sets": [
                Lines(axis, np.array([[300, 700, x, 200], [900, 800, x, 200.0]]))
                for axis, x in (("x", -900), ("y", 600), ("z", 2500))
            ],
            "principal": "free",
        },
        "vanishing points lie on one line",
    ),
    "obtuse": (
        lambda: {
            "sets": [
                Lines(axis, np.array([[300, 700, *end], [900, 800, *end]], dtype=float))
                for axis, end in (("x", (-900, 200)), ("y", (600, 300)), ("z", (2500, 200)))
            ],
            "principal": "free",
        },
        "obtuse",
    ),
    "free with two": (lambda: {"sets": sets_of(SEEN, "xy"), "principal": "free"}, "all three axes"),
    "free at infinity": (
        lambda: {"sets": sets_of(camera(pitch=0, roll=0), "zxy"), "principal": "free"},
        "too little about the principal",
    ),
    "left-handed": (
        lambda: {"sets": [Lines("-x" if lines.axis == "+x" else "+x", lines.segments) if lines.letter == "x" else lines
                          for lines in sets_of(SEEN, "xyz")]},
        "left-handed",
    ),
    "level with a horizon": (
        lambda: {"sets": sets_of(camera(pitch=0, roll=0), "z"), "horizon": horizon_of(camera(pitch=0, roll=0))},
        "looks level",
    ),
    "horizon is a point": (lambda: {"sets": [], "focal": 900.0, "horizon": [5, 5, 5, 5]}, "two different points"),
    "not a number": (lambda: {"sets": [Lines("x", FAN * np.nan)]}, "not a number"),
    "focal of nothing": (lambda: {"sets": sets_of(SEEN, "xy"), "focal": 0.0}, "positive number"),
    "level lines": (
        lambda: {"sets": [Lines("x", np.array([[0, 0, 100, 0], [0, 50, 100, 50.0]]))], "focal": 900.0}, "never meet",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DEGENERATE)
def test_what_tells_no_camera_is_refused_with_its_reason(name):
    make, reason = DEGENERATE[name]
    arguments = make()
    with pytest.raises(BadInputError, match=reason) as caught:
        fit_lines(SEEN.size, arguments.pop("sets"), **arguments)
    assert "\n" not in str(caught.value)


NUMBERS = st.floats(width=32) | st.integers(-50, 50).map(float)


@settings(max_examples=150)
@given(
    st.lists(st.lists(st.tuples(*[NUMBERS] * 4), max_size=4), max_size=3),
    st.permutations(["x", "-y", "z"]),
    st.none() | st.tuples(*[NUMBERS] * 4),
    st.none() | NUMBERS,
    st.none() | st.just("free") | st.tuples(NUMBERS, NUMBERS),
)
def test_any_lines_give_a_camera_or_one_line_of_reason(drawn_sets, axes, horizon, focal, principal):
    sets = [Lines(axis, np.array(lines)) for axis, lines in zip(axes, drawn_sets, strict=False)]
    try:
        fit = fit_lines((64, 48), sets, horizon=horizon, focal=focal, principal=principal)
    except BadInputError as error:
        assert "\n" not in str(error)
        return
    assert np.isfinite(fit.camera.rotation).all() and np.isfinite(fit.residuals).all() and fit.camera.focal > 0
    assert np.linalg.det(fit.camera.rotation) == pytest.approx(1) and np.isfinite(fit.covariance).all()


@pytest.mark.parametrize(("axes", "principal"), [("xy", None), ("zxy", "free")])
def test_standard_deviations_are_those_of_repeated_drawing(axes, principal):
    seen = camera(roll=5)
    scores = []
    for seed in range(70):
        sets = [
            Lines(lines.axis, drawn(seen, lines.letter, seed=100 * seed + index, count=6, noise=0.7))
            for index, lines in enumerate(sets_of(seen, axes))
        ]
        fit = fit_lines(seen.size, sets, principal=principal, sigma_px=0.7)
        turn = fit.camera.rotation @ seen.rotation.T
        vector = np.array([turn[2, 1], turn[0, 2], turn[1, 0]])
        off = [*vector, fit.camera.focal - seen.focal]
        if principal:
            off += [fit.camera.principal[0] - seen.principal[0], fit.camera.principal[1] - seen.principal[1]]
        scores.append(np.array(off) / list(fit.sigmas.values()))
    assert (np.sqrt(np.mean(np.square(scores), axis=0)) < 1.25).all()
    assert (np.sqrt(np.mean(np.square(scores), axis=0)) > 0.75).all()


def test_a_weak_focal_length_is_told():
    seen = camera(yaw=3, focal=4000.0)  # the lines of x hardly converge
    fit = fit_lines(seen.size, sets_of(seen, "xy"), sigma_px=2)
    assert fit.sigmas["focal"] > 0.25 * fit.camera.focal and "known to" in fit.notes[0]


LENGTHS = {
    "up": ("z", (1, 2, 0), (1, 2, 1.8)),
    "along x": ("x", (0, 0, 0), (2.5, 0, 0)),
    "along -y": ("y", (1, 2, 0), (1, -1, 0)),
    "on the ground": ("ground", (-1, 2, 0), (2, 4, 0)),
}


@pytest.mark.parametrize("name", LENGTHS)
@pytest.mark.parametrize("size", [(1920, 1080), (1080, 1920)])
def test_an_origin_and_a_length_give_position_and_scale(name, size):
    seen = camera(size, principal=(800.0, 500.0))
    along, start, end = LENGTHS[name]
    fit = fit_lines(size, sets_of(seen, "xy"), principal=seen.principal)
    a, b = segment(seen, start, end)
    length = Length(a, b, along, float(np.linalg.norm(np.subtract(end, start))))
    placed = place(fit, tuple(seen.project([(0, 0, 0)])[0]), length)
    assert placed.placed and not placed.assumed and not placed.notes
    assert np.allclose(placed.camera.centre, seen.centre, atol=1e-6)
    assert len(placed.parameters) == len(placed.covariance) == len(fit.parameters) + 3


def test_without_a_length_the_distance_is_assumed():
    seen = camera()
    placed = place(fit_lines(seen.size, sets_of(seen, "xy")), tuple(seen.project([(0, 0, 0)])[0]))
    assert "10 units" in placed.assumed[0]
    assert np.linalg.norm(placed.camera.centre) == pytest.approx(10)
    assert np.allclose(placed.camera.centre / 10, seen.centre / np.linalg.norm(seen.centre))


def test_the_position_s_standard_deviation_heeds_lines_and_picks():
    seen = camera()
    scores = []
    for seed in range(70):
        rng = np.random.default_rng(seed)
        sets = [
            Lines(lines.axis, drawn(seen, lines.letter, seed=100 * seed + index, count=6, noise=0.5))
            for index, lines in enumerate(sets_of(seen, "xy"))
        ]
        picks = seen.project([(0, 0, 0), (1, 2, 0), (1, 2, 1.8)]) + rng.normal(size=(3, 2)) * 0.5
        origin, start, end = (tuple(pixel) for pixel in picks)
        fit = place(fit_lines(seen.size, sets, sigma_px=0.5), origin, Length(start, end, "z", 1.8))
        scores.append((fit.camera.centre - seen.centre) / list(fit.sigmas.values())[-3:])
    spread = np.sqrt(np.mean(np.square(scores), axis=0))
    assert (spread > 0.7).all() and (spread < 1.3).all()


BAD_PLACES = {
    "above the horizon": (None, ((900, -60), (900, 300), "z", 1.0), "not below the horizon"),
    "no length": (None, ((900, 700), (900, 700), "z", 1.0), "same place"),
    "negative": (None, ((900, 700), (900, 500), "z", -1.0), "positive"),
    "another axis": (None, ((900, 700), (900, 500), "w", 1.0), "has to be"),
    "origin of nothing": ((np.nan, 3), None, "not a number"),
    "beyond": (None, ((900.0, 700.0), "beyond", "y", 1.0), "vanishing point"),
}


@pytest.mark.parametrize("name", BAD_PLACES)
def test_a_place_that_tells_nothing_is_refused(name):
    origin, length, reason = BAD_PLACES[name]
    fit = fit_lines(SEEN.size, sets_of(SEEN, "xy"))
    if length is not None and length[1] == "beyond":
        point = vanishing_point(SEEN, "y")
        length = (length[0], tuple(np.array(length[0]) + 1.5 * (point[:2] / point[2] - length[0])), *length[2:])
    with pytest.raises(BadInputError, match=reason):
        place(fit, origin or tuple(SEEN.project([(0, 0, 0)])[0]), None if length is None else Length(*length))


@settings(max_examples=50)
@given(cameras(level=50), st.floats(0, 1), st.floats(0, 1))
def test_a_ground_point_is_seen_where_it_was_picked(seen, across, down):
    pixel = np.array([across, down]) * seen.size
    try:
        point = on_ground(seen, pixel)
    except BadInputError:
        return
    assert point[2] == pytest.approx(0, abs=1e-6 * np.abs(point).max() + 1e-9)
    assert seen.project([point])[0] == pytest.approx(pixel, abs=1e-4)
