# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of measured motion on exact data: turns and zooms, ways in words, keys, shake, regions."""

import cv2
import numpy as np
import pytest
from matchcut.evaluator.camera.core.pinhole import rotation_of
from matchcut.evaluator.motion.describe import MOST_KEYS, keys_of, shake_of, way_of, words_for
from matchcut.evaluator.motion.regions import Step, blobs_of, follow
from matchcut.evaluator.motion.turn import WORST_SIGMA, fit_turn, focal_of_turns

FOCAL, SIDE = 300.0, 320


def turned(random, vector, *, zoom=1.0, outliers=0, noise=0.0, focal=FOCAL):
    """Points over the picture, and where they are after a turn and a zoom."""
    first = random.uniform((-160, -90), (160, 90), (300, 2))
    rays = np.column_stack([first / focal, np.ones(len(first))]) @ rotation_of(np.array(vector)).T
    second = zoom * focal * rays[:, :2] / rays[:, 2:] + random.normal(0, noise, first.shape)
    second[:outliers] += random.uniform(5, 20, (outliers, 2))
    return first, second


def test_a_turn_and_a_zoom_are_found_among_outliers():
    found = fit_turn(turned(np.random.default_rng(1), (0.02, -0.05, 0.03), zoom=1.08, outliers=90, noise=0.05), FOCAL)
    assert np.allclose(cv2.Rodrigues(found.rotation)[0].ravel(), (0.02, -0.05, 0.03), atol=5e-4)
    assert abs(np.exp(found.log_zoom) - 1.08) < 1e-3 and np.median(found.distances[90:]) < 0.2


@pytest.mark.parametrize(("degrees", "known"), [(6.0, True), (0.02, False)])
def test_a_large_turn_tells_the_focal_length_and_a_small_one_says_that_it_does_not(degrees, known):
    random = np.random.default_rng(2)
    pairs = [turned(random, (0.0, np.radians(degrees), 0.0), noise=0.1) for _ in range(4)]
    found = focal_of_turns(pairs, (SIDE, 180), zooms=False)
    assert (found.sigma <= WORST_SIGMA) == known
    if known:
        assert abs(np.log(found.length / FOCAL)) < 2 * max(found.sigma, 0.03)


def path(pans=0.0, tilts=0.0, rolls=0.0, places=(0, 0, 0), count=9):
    """World to camera (n, 3, 3) and centres (n, 3) of a camera that does so much evenly (degrees; x right, y down)."""
    rotations, centres = [], []
    for share in np.linspace(0, 1, count):
        pan, tilt, roll = np.radians([pans, tilts, rolls]) * share
        rotations.append(
            rotation_of(np.array([0, 0, -roll])) @ rotation_of(np.array([-tilt, 0, 0]))
            @ rotation_of(np.array([0, -pan, 0]))
        )  # fmt: skip
        centres.append(share * np.array(places, float))
    return np.array(rotations), np.array(centres)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"pans": 12}, "pan right"), ({"pans": -200}, "pan left"), ({"tilts": 5}, "tilt up"),
        ({"tilts": -5}, "tilt down"),
        ({"rolls": 20}, "roll clockwise"), ({"rolls": -20}, "roll counterclockwise"),
        ({"places": (0, 0, 0.5)}, "dolly in"), ({"places": (0, 0, -0.5)}, "dolly out"),
        ({"places": (0.5, 0, 0)}, "truck right"), ({"places": (-0.5, 0, 0)}, "truck left"),
        ({"places": (0, -0.5, 0)}, "pedestal up"), ({"places": (0, 0.5, 0)}, "pedestal down"),
        ({"places": (0.4, 0, 0.5), "tilts": 4}, "dolly in and truck right and tilt up"), ({}, "nearly static"),
    ],
)  # fmt: skip
def test_a_way_is_told_in_words(how, words):
    way = way_of(*path(**how))
    assert words_for(way, zoom=None, shake=None, still=False, moves="places" in how) == words
    for name, value in (("pans", way.pan_deg), ("tilts", way.tilt_deg), ("rolls", way.roll_deg)):
        assert abs(value - how.get(name, 0)) < 1e-6


def test_zooms_and_shake_are_told_too():
    way = way_of(*path())
    assert words_for(way, zoom=1.4, shake=0.3, still=False, moves=False) == "zoom in, handheld"
    assert words_for(way, zoom=0.7, shake=0.0, still=False, moves=False) == "zoom out"
    assert words_for(way, zoom=1.0, shake=0.3, still=False, moves=False) == "handheld, stays in place"
    assert words_for(way, zoom=1.0, shake=None, still=True, moves=False) == "static"


@pytest.mark.parametrize("degrees", [30, -30])
def test_a_way_around_a_point_is_an_orbit(degrees):
    angles = np.radians(degrees) * np.linspace(0, 1, 12)
    rotations = np.array([rotation_of(np.array([0, angle, 0])) for angle in angles])
    centres = 2.0 * np.column_stack([np.sin(angles), 0 * angles, 1 - np.cos(angles)])
    way = way_of(rotations, centres)
    assert abs(way.orbit_deg - degrees) < 0.1 and abs(way.orbit_distance - 2) < 1e-6
    side = "right" if degrees > 0 else "left"
    assert words_for(way, zoom=None, shake=None, still=False, moves=True) == f"orbit {side}"
    assert way_of(*path(pans=30, places=(1, 0, 0))).orbit_deg is None, "it looks away from what it passes"


def test_keys_are_those_of_a_blender_camera_and_no_more_than_a_straight_way_needs():
    rotations, centres = path(pans=-20, places=(0, 0, 1), count=30)
    keys = keys_of(range(100, 130), rotations, centres, np.full(30, 960.0), (1920, 1080), moves=True)
    assert [key.frame for key in keys] == [100, 129]
    assert keys[0].location == (0, 0, 0) and keys[0].rotation_deg == (90, 0, 0) and keys[0].lens_mm == 18
    assert keys[1].location == (0, 1, 0) and np.allclose(keys[1].rotation_deg, (90, 0, 20), atol=1e-3)
    bent = np.sin(np.linspace(0, 9, 30))[:, None] * (0.3, 0, 0)
    assert len(keys_of(range(30), rotations, bent, np.full(30, 960.0), (1920, 1080), moves=True)) == MOST_KEYS
    assert keys_of(range(30), rotations, bent, np.full(30, 960.0), (1920, 1080), moves=False)[3].location is None


def test_shake_is_what_a_smooth_way_does_not_explain():
    ease = 60 * (1 - np.cos(np.linspace(0, np.pi, 48)))  # starts and ends slowly within two seconds
    smooth = np.column_stack([ease, 0.3 * ease])
    assert shake_of(smooth, 24, 320) < 0.03
    shaken = smooth + np.random.default_rng(3).normal(0, 1.6, smooth.shape)
    assert 0.3 < shake_of(shaken, 24, 320) < 0.8
    assert shake_of(shaken, 5, 320) is None and shake_of(shaken[:8], 24, 320) is None


def moving_mask(boxes, size=(160, 90)):
    mask = np.zeros(size[::-1], bool)
    for left, top, right, bottom in boxes:
        mask[top:bottom, left:right] = True
    return mask


def test_regions_are_followed_with_their_speed_and_direction():
    """Two of them, one to the right by 4 pixels a frame, one that goes up; one is missed for two frames."""
    seen, sound = [], np.ones((90, 160), bool)
    grey = np.random.default_rng(4).integers(0, 255, (90, 160), np.uint8)
    for number in range(10):
        flow = np.zeros((90, 160, 2), np.float32)
        first, second = (10 + 4 * number, 20, 30 + 4 * number, 44), (120, 60 - 3 * number, 140, 80 - 3 * number)
        flow[20:44, 10 + 4 * number : 30 + 4 * number] = (4, 0)
        flow[60 - 3 * number : 80 - 3 * number, 120:140] = (0, -3)
        boxes = [first] if number in (4, 5) else [first, second]
        then = cv2.remap(grey, *(np.indices(grey.shape, np.float32)[::-1] - flow.transpose(2, 0, 1)), cv2.INTER_LINEAR)
        seen.append(blobs_of(moving_mask(boxes), Step(grey, then, flow, sound)))
    across, up = follow(seen, range(0, 20, 2), 1 / 24, (160, 90))
    assert (across.first, across.last, up.first, up.last) == (0, 18, 0, 18)
    assert across.direction == "right" and abs(across.speed_percent - 100 * 4 * 12 / 160) < 0.1
    assert up.direction == "up" and abs(up.speed_percent - 100 * 3 * 12 / 160) < 0.1
    assert across.boxes[0].box == (10 / 160, round(20 / 90, 4), 20 / 160, round(24 / 90, 4))
    assert [one.frame for one in across.boxes] == [0, 10, 18]
    assert abs(across.against_background_percent - across.speed_percent) < 0.1
    assert abs(across.share_percent - 100 * 20 * 24 / 160 / 90) < 0.01


def test_noise_of_single_frames_is_no_region():
    seen = [blobs_of(moving_mask([(10 * n, 10, 10 * n + 9, 22)] if n % 4 == 0 else []), None) for n in range(12)]
    assert follow(seen, range(12), 1 / 24, (160, 90)) == []


def test_what_the_picture_does_not_show_to_move_is_no_region():
    """A part whose flow says that it stands while all around goes on: of an even wall it is a guess."""
    flow = np.full((90, 160, 2), (3, 0), np.float32)
    flow[20:50, 40:90] = 0
    mask, sound = moving_mask([(40, 20, 90, 50)]), np.ones((90, 160), bool)
    wall = np.full((90, 160), 120, np.uint8) + np.random.default_rng(5).integers(0, 3, (90, 160), np.uint8)
    assert blobs_of(mask, Step(wall, wall, flow, sound)) == []
    picture = np.random.default_rng(6).integers(0, 255, (90, 160), np.uint8)
    (found,) = blobs_of(mask, Step(picture, picture, flow, sound))
    assert found.flow == (0, 0) and found.around == (3, 0)


def test_a_turn_that_differs_over_the_picture_does_not_tell_the_focal_length():
    random = np.random.default_rng(7)
    pairs = [turned(random, (0.0, np.radians(3.0), 0.0), noise=0.1) for _ in range(4)]
    exact = focal_of_turns(pairs, (SIDE, 180), zooms=False)
    # what lies on the right is nearer, and shifts more
    near = [(first, second + np.clip(first[:, :1], 0, None) * (0.01, 0)) for first, second in pairs]
    assert focal_of_turns(near, (SIDE, 180), zooms=False).sigma > 3 * exact.sigma
