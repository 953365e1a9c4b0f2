# SPDX-License-Identifier: GPL-3.0-or-later
"""From drawn lines and picked points to a camera, as the panel asks for it: known cameras, half a pixel of noise."""

import itertools
import time
from dataclasses import replace

import numpy as np
import pytest
from matchcut.addon.sidebar.match_camera.solve import NOTHING_DRAWN, Asked, Solution, at_height, solve, solving
from matchcut.evaluator.camera.core.pinhole import Pinhole, picture_centre
from matchcut.evaluator.camera.core.place import NO_LENGTH, Length
from matchcut.evaluator.protocol.errors import BadInputError

LANDSCAPE, PORTRAIT = (1920, 1080), (1080, 1920)
NOISE_PX = 0.5
SEEDS = range(6)
BOX = np.array([6.0, 5.0, 6.0])


def camera(size, *, shift=(0.0, 0.0), distance=7.0, height=9.0):
    """A camera that looks down at the middle of a box that stands at the origin."""
    centre = np.array([-0.62 * distance, -0.78 * distance, height])
    forward = BOX / 2 - centre
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    x, y = picture_centre(size)
    focal = 0.7 * max(size)
    rotation = np.array([right, np.cross(forward, right), forward])
    return Pinhole(size, focal, (x + shift[0], y + shift[1]), rotation, centre)


def edges(axis):
    """The box's edges along an axis, and lines on its faces."""
    index = "XYZ".index(axis)
    others = [other for other in range(3) if other != index]
    for shares in [
        *itertools.product((0, 1), (0, 1)),
        *((n / 5, 0) for n in range(1, 5)),
        *((0, n / 5) for n in range(1, 5)),
    ]:
        start = np.zeros(3)
        start[others] = np.array(shares) * BOX[others]
        end = start.copy()
        end[index] = BOX[index]
        yield start, end


def lines(seen, axes, seed, noise=NOISE_PX):
    rng = np.random.default_rng(seed)
    found = []
    for axis in axes:
        for ends in edges(axis):
            pixels = seen.project(np.array(ends)) + rng.normal(0, noise, (2, 2))
            found.append((axis, tuple(pixels.ravel().tolist())))
    return tuple(found)


def asked(seen, axes, seed=0, noise=NOISE_PX, **more):
    origin = tuple(seen.project(np.zeros((1, 3)))[0].tolist())
    return Asked(seen.size, lines(seen, axes, seed, noise), origin=origin, **more)


def off(solution: Solution, seen):
    """Focal length off in %, orientation in degrees."""
    assert solution.fit is not None, solution.problem
    found = solution.fit.camera
    angle = np.degrees(np.arccos(np.clip((np.trace(found.rotation @ seen.rotation.T) - 1) / 2, -1, 1)))
    return 100 * abs(found.focal / seen.focal - 1), angle


@pytest.mark.parametrize("size", [LANDSCAPE, PORTRAIT])
@pytest.mark.parametrize("axes", ["XY", "XZ", "YZ", "XYZ"])
def test_two_and_three_vanishing_points_tell_the_lens_within_1_percent_and_the_orientation_within_a_fifth_degree(
    size, axes
):
    seen = camera(size)
    for seed in SEEDS:
        focal, angle = off(solve(asked(seen, axes, seed)), seen)
        assert focal < 1 and angle < 0.2, (seed, focal, angle)


@pytest.mark.parametrize("size", [LANDSCAPE, PORTRAIT])
def test_one_vanishing_point_needs_the_lens_and_then_tells_the_orientation_of_a_level_camera(size):
    level = camera(size, height=BOX[2] / 2)
    for seed in SEEDS:
        alone = solve(asked(level, "Y", seed))
        assert alone.fit is None and "leave the focal length open; give it" in alone.waiting[0]
        known = solve(asked(level, "Y", seed, focal=level.focal))
        assert off(known, level)[1] < 0.2
        assert any("level" in text for text in known.fit.assumed), "what nothing tells is said"


def test_one_vanishing_point_and_a_drawn_horizon_tell_the_orientation_of_a_tilted_camera():
    seen = camera(LANDSCAPE)
    horizon = np.linalg.solve(seen.intrinsics.T, seen.rotation[:, 2])
    ends = [(x, -(horizon[0] * x + horizon[2]) / horizon[1]) for x in (100, 1800)]
    for seed in SEEDS:
        drawn = asked(seen, "Y", seed, focal=seen.focal)
        solution = solve(replace(drawn, lines=(*drawn.lines, ("HORIZON", (*ends[0], *ends[1])))))
        assert off(solution, seen)[1] < 0.2
        assert solution.residuals[-1] is not None


def test_three_vanishing_points_tell_the_lens_of_a_cropped_picture_where_the_principal_point_is_free():
    seen = camera(LANDSCAPE, shift=(180.0, -120.0))
    for seed in SEEDS:
        middle = solve(asked(seen, "XYZ", seed))
        free = solve(asked(seen, "XYZ", seed, principal="free"))
        given = solve(asked(seen, "XYZ", seed, principal=seen.principal))
        assert off(given, seen)[0] < 1 and off(given, seen)[1] < 0.2
        assert middle.fit.rms_px > 4 * free.fit.rms_px, "the middle is wrong here, and that shows"
        # two more unknowns: each is as well known as its own ± says
        fit = free.fit
        assert abs(fit.camera.focal - seen.focal) < 3.5 * fit.sigmas["focal"]
        assert abs(fit.camera.principal[0] - seen.principal[0]) < 3.5 * fit.sigmas["principal_x"]


@pytest.mark.parametrize("size", [LANDSCAPE, PORTRAIT])
@pytest.mark.parametrize("shift", [(0.0, 0.0), (150.0, 90.0)])
def test_points_tell_the_lens_within_1_percent_and_the_orientation_within_a_fifth_degree(size, shift):
    seen = camera(size, shift=shift)
    world = np.array([*itertools.product(*((0, side) for side in BOX)), (3, 2.5, 0), (0, 2.5, 2)], float)
    for seed in SEEDS:
        pixels = seen.project(world) + np.random.default_rng(seed).normal(0, NOISE_PX, (len(world), 2))
        points = tuple((tuple(a), tuple(b)) for a, b in zip(world.tolist(), pixels.tolist(), strict=True))
        principal = None if shift == (0.0, 0.0) else seen.principal
        solution = solve(Asked(size, None, (*points, None), principal=principal))
        focal, angle = off(solution, seen)
        assert focal < 1 and angle < 0.2, (seed, focal, angle)
        assert solution.residuals[-1] is None and all(value < 4 * NOISE_PX for value in solution.residuals[:-1])
        assert solution.waiting == ("points that are not picked in the scene do not count yet",)
        near = solve(Asked(size, None, points, principal=principal), solution.fit.camera)
        assert near.fit.camera.focal == pytest.approx(solution.fit.camera.focal, rel=1e-6)


def test_the_position_comes_from_the_origin_and_a_known_height_or_distance():
    seen = camera(LANDSCAPE)
    exact = asked(seen, "XYZ", noise=0.0)
    ends = seen.project(np.array([(0, 0, 0), (0, 0, BOX[2])]))
    known = Length(tuple(ends[0]), tuple(ends[1]), "z", float(BOX[2]))
    for request in (replace(exact, height=seen.centre[2]), replace(exact, length=known)):
        solution = solve(request)
        assert solution.placed and solution.fit.camera.centre == pytest.approx(seen.centre, rel=1e-4)
        assert NO_LENGTH not in solution.fit.assumed
    unknown = solve(exact)
    assert NO_LENGTH in unknown.fit.assumed
    assert np.linalg.norm(unknown.fit.camera.centre) == pytest.approx(10)


def test_the_error_of_a_position_by_height_is_the_spread_over_repeated_drawing():
    seen = camera(LANDSCAPE)
    drawn = [solve(asked(seen, "XYZ", seed, noise=1.0, height=seen.centre[2])) for seed in range(60)]
    for index, name in enumerate(("centre_x", "centre_y")):
        # the origin is picked exactly here, so what is told is a little more than what is seen
        spread = np.std([one.fit.camera.centre[index] for one in drawn])
        told = np.median([one.fit.sigmas[name] for one in drawn])
        assert 0.5 * told < spread < 1.3 * told
    assert drawn[0].fit.sigmas["centre_z"] == pytest.approx(0, abs=1e-9), "the height is given"


def test_an_origin_above_the_horizon_is_told_and_the_orientation_stays():
    seen = camera(LANDSCAPE)
    solution = solve(replace(asked(seen, "XY", height=2.0), origin=(960.0, -900.0)))
    assert "above the horizon" in solution.problem and not solution.placed
    assert off(solution, seen)[0] < 1


def test_turned_around_the_other_ends_of_the_axes_are_in_front():
    seen = camera(LANDSCAPE)
    one, other = solve(asked(seen, "XY")), solve(asked(seen, "XY", turned=True))
    assert other.fit.camera.rotation[:, 0] == pytest.approx(-one.fit.camera.rotation[:, 0])
    assert other.fit.camera.rotation[:, 2] == pytest.approx(one.fit.camera.rotation[:, 2])
    assert other.fit.camera.centre[:2] == pytest.approx(-one.fit.camera.centre[:2])


def test_a_single_line_and_one_without_length_do_not_count_and_that_is_said():
    seen = camera(LANDSCAPE)
    full = asked(seen, "XY")
    more = replace(full, lines=(("Z", (5.0, 5.0, 90.0, 700.0)), *full.lines, ("X", (7.0, 7.0, 7.5, 7.0))))
    solution = solve(more)
    assert solution.fit.camera.focal == pytest.approx(solve(full).fit.camera.focal)
    assert solution.residuals[0] is None and solution.residuals[-1] is None
    assert solution.waiting == ("one line along Z does not count yet; draw another one",)


@pytest.mark.parametrize("drawn", [(), (("X", (0.0, 0.0, 9.0, 9.0)),)])
def test_nothing_drawn_is_a_line_of_text(drawn):
    solution = solve(Asked(LANDSCAPE, drawn))
    assert solution.fit is None and solution.waiting[0] == NOTHING_DRAWN


def test_at_height_refuses_a_camera_below_the_ground():
    fit = solve(asked(camera(LANDSCAPE), "XY")).fit
    below = replace(fit, camera=replace(fit.camera, centre=fit.camera.centre * (1, 1, -1)))
    with pytest.raises(BadInputError, match="above the horizon"):
        at_height(below, 2.0)


# --- in slices --------------------------------------------------------------------------------------------------------


PIECE = 0.006
"""Seconds: with the slice that it may come at the end of, less than 10 ms."""


def longest_piece(asked, near=None):
    """Seconds of processor time that a solution takes between two places where it lets go, and their number."""
    pieces, before = [], time.thread_time()
    for _ in solving(asked, near):
        now = time.thread_time()
        pieces.append(now - before)
        before = time.thread_time()
    return max([*pieces, time.thread_time() - before]), len(pieces)


@pytest.mark.parametrize("principal", [None, "free"])
@pytest.mark.parametrize("wrong", [0.0, 200.0])
def test_a_search_of_points_lets_go_every_few_milliseconds(principal, wrong):
    seen = camera(LANDSCAPE)
    world = np.random.default_rng(3).uniform(0, 1, (12, 3)) * BOX
    pixels = seen.project(world) + np.random.default_rng(4).normal(0, NOISE_PX, (12, 2))
    pixels[2] += wrong
    points = tuple((tuple(place), tuple(pixel)) for place, pixel in zip(world, pixels, strict=True))
    points = Asked(LANDSCAPE, None, points, principal=principal)
    for near in (None, seen):
        seconds, count = min(longest_piece(points, near) for _ in range(4))
        assert seconds < PIECE and count > (100 if near is None else 3)


@pytest.mark.parametrize("principal", [None, "free"])
def test_lines_let_go_every_few_milliseconds(principal):
    drawn = asked(camera(LANDSCAPE), "XYZ", principal=principal)
    seconds, count = min(longest_piece(drawn) for _ in range(4))
    assert seconds < PIECE and count >= 3
