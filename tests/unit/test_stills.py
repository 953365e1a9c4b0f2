# SPDX-License-Identifier: GPL-3.0-or-later
"""What is measured of two pictures follows the fault that it is named after, and says so where it cannot tell."""

import math
from dataclasses import asdict
from itertools import pairwise

import cv2
import numpy as np
import pytest
from matchcut.evaluator.sgc.classical.flow import workers
from matchcut.evaluator.stills.colour import measure_colour
from matchcut.evaluator.stills.framing import measure_framing
from matchcut.evaluator.stills.grey import grey, measured_size, small
from matchcut.evaluator.stills.measure import described, measure
from matchcut.evaluator.stills.motion import measure_motion
from matchcut.evaluator.stills.silhouette import measure_silhouette

WIDTH, HEIGHT = 480, 270


def scene(seed=3, things=14, *, noise=0.0, tint=(1.0, 1.0, 1.0)):
    """(H, W, 3) uint8: boxes and discs of many greys and colours over a shaded, faintly textured ground."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)
    image = np.stack([90 + 40 * np.sin(x / 130 + one) + 30 * np.cos(y / 90) for one in range(3)], axis=-1)
    image += cv2.GaussianBlur(random.normal(0, 25, image.shape).astype(np.float32), (0, 0), 2.5)
    for _ in range(things):
        at = tuple(int(value) for value in random.uniform((30, 30), (WIDTH - 30, HEIGHT - 30)))
        colour = tuple(float(value) for value in random.uniform(10, 245, 3))
        size = int(random.uniform(10, 45))
        if random.random() < 0.5:
            cv2.circle(image, at, size, colour, -1, cv2.LINE_AA)
        else:
            cv2.rectangle(image, at, (at[0] + size, at[1] + 2 * size), colour, -1)
    image += random.normal(0, noise, image.shape) if noise else 0
    return (image * tint).clip(0, 255).astype(np.uint8)


def moved(image, right=0.0, down=0.0, scale=1.0):
    """The picture's content shifted by shares of the width, and scaled about the centre."""
    place = np.array([
        [scale, 0, WIDTH / 2 * (1 - scale) + right * WIDTH], [0, scale, HEIGHT / 2 * (1 - scale) + down * WIDTH],
    ])  # fmt: skip
    return cv2.warpAffine(image, place, (WIDTH, HEIGHT), flags=cv2.INTER_AREA, borderMode=cv2.BORDER_REFLECT)


def greys(*images):
    size = measured_size(WIDTH, HEIGHT)
    return [grey(small(image, size)) for image in images]


def pair(first, second):
    return tuple(one.astype(np.uint8) for one in greys(first, second))


def rising(values):
    return all(before < after for before, after in pairwise(values))


# --- framing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [3, 4])
@pytest.mark.parametrize(
    ("right", "down", "scale"),
    [(0, 0, 1), (0.01, 0, 1), (-0.05, 0.03, 1), (0.25, -0.1, 1), (0, 0, 1.02), (0, 0, 0.8), (0.1, -0.05, 1.3)],
)
def test_framing_finds_shift_and_scale(seed, right, down, scale):
    image = scene(seed)
    found = measure_framing(*greys(image, moved(image, right, down, scale)))
    assert found.right == pytest.approx(100 * right, abs=0.25) and found.down == pytest.approx(100 * down, abs=0.25)
    assert found.scale == pytest.approx(scale, rel=0.01) and found.score > 0.8


def test_framing_does_not_feel_light_colour_and_texture():
    image = scene()
    other = moved(image, 0.06, -0.02, 1.1)
    changes = {
        "negative": 255 - other,
        "darker": (other * 0.35).astype(np.uint8),
        "noisy": (other + np.random.default_rng(1).normal(0, 12, other.shape)).clip(0, 255).astype(np.uint8),
        "grey": np.repeat(other.mean(axis=2, keepdims=True), 3, axis=2).astype(np.uint8),
        "recoloured": np.ascontiguousarray(other[..., ::-1]),
    }
    for name, changed in changes.items():
        found = measure_framing(*greys(image, changed))
        assert found.right == pytest.approx(6, abs=0.5), name
        assert found.down == pytest.approx(-2, abs=0.5) and found.scale == pytest.approx(1.1, rel=0.02), name


def test_framing_s_score_falls_as_less_is_the_same():
    image = scene(things=14)
    scores = [measure_framing(*greys(image, scene(things=count))).score for count in (14, 12, 10, 7)]
    assert scores[0] == pytest.approx(1) and rising(scores[::-1])


def stripes(turn):
    wave = 128 + 90 * np.sin((np.mgrid[0:HEIGHT, 0:WIDTH][1]) / 6 + turn)
    return np.repeat(wave[..., None], 3, axis=2).astype(np.uint8)


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        (scene(3), scene(33), "too little in common"),
        (scene(), np.full((HEIGHT, WIDTH, 3), 120, np.uint8), "ours has hardly any edges"),
        (np.full((HEIGHT, WIDTH, 3), 120, np.uint8), scene(), "the reference has hardly any edges"),
        (stripes(0), stripes(1), "fit alike"),
        (scene(), moved(scene(), 0.6), ""),
        (scene(), moved(scene(), 0, 0, 3), ""),
    ],
)
def test_framing_that_is_not_clear_is_unknown(first, second, reason):
    found = measure_framing(*greys(first, second))
    assert (found.right, found.down, found.scale, found.score) == (None,) * 4 and reason in found.reason
    assert found.reason


# --- silhouette -------------------------------------------------------------------------------------------------------


def test_silhouettes_overlap_less_the_more_they_are_moved_or_scaled():
    image = scene()
    for faults in (
        [moved(image, right) for right in (0, 0.004, 0.008, 0.015, 0.03)],
        [moved(image, 0, 0, scale) for scale in (1, 1.02, 1.05, 1.1)],
        [scene(things=count) for count in (14, 12, 9, 6)],
    ):
        found = [measure_silhouette(*(given := greys(image, one)), measure_framing(*given)) for one in faults]
        assert found[0].overlap == 1 and rising([one.overlap for one in found][::-1])
        assert all(one.chance < 0.4 for one in found)


def test_with_the_framing_undone_only_the_shapes_count():
    image = scene()
    given = greys(image, moved(image, 0.08, 0.02, 1.1))
    found = measure_silhouette(*given, measure_framing(*given))
    assert found.overlap < 0.4 and found.aligned > 0.75
    other = greys(image, scene(33))
    unrelated = measure_silhouette(*other, measure_framing(*other))
    assert unrelated.aligned is None and abs(unrelated.overlap - unrelated.chance) < 0.1


def test_a_picture_without_outlines_has_no_silhouette():
    flat = np.full((HEIGHT, WIDTH, 3), 90, np.uint8)
    for first, second, who in (
        (scene(), flat, "ours"),
        (flat, scene(), "the reference"),
        (flat, flat, "the reference"),
    ):
        given = greys(first, second)
        found = measure_silhouette(*given, measure_framing(*given))
        assert (found.overlap, found.aligned, found.chance) == (None,) * 3 and who in found.reason


# --- colour -----------------------------------------------------------------------------------------------------------


def test_colour_differences_grow_with_a_tint_and_say_which():
    image = (scene() * 0.8).astype(np.uint8)
    for axis, name, sign in ((0, "red", 1), (1, "red", -1), (2, "yellow", -1)):
        tints = [np.where(np.arange(3) == axis, 1 + amount, 1.0) for amount in (0, 0.05, 0.1, 0.2)]
        found = [measure_colour(image, (image * tint).round().clip(0, 255).astype(np.uint8)) for tint in tints]
        assert found[0].difference == 0 and rising([one.difference for one in found])
        assert rising([one.histogram for one in found]) and rising([sign * getattr(one, name) for one in found])


def test_exposure_is_the_ratio_of_linear_light():
    def lit(stops):
        value = scene().astype(np.float64) / 255
        linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4) * 0.4 * 2.0**stops
        shown = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
        return (shown.clip(0, 1) * 255).round().astype(np.uint8)

    for stops in (-2, -1, -0.5, 0.5, 1):
        found = measure_colour(lit(0), lit(stops))
        assert math.log2(found.exposure) == pytest.approx(stops, abs=0.06)
        assert math.copysign(1, found.lightness) == math.copysign(1, stops)


def test_a_small_shift_is_no_difference_of_colour_and_other_places_are_none_of_the_histogram():
    image = scene()
    shifted = measure_colour(image, moved(image, 0.01))
    assert shifted.difference < 5 and shifted.histogram < 1
    mirrored = measure_colour(image, np.ascontiguousarray(image[:, ::-1]))
    assert mirrored.histogram == pytest.approx(0, abs=0.01) and mirrored.difference > 15


def test_black_has_no_colour():
    black = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    for ours in (black, scene()):
        found = measure_colour(black, ours)
        assert found.reason == "the reference is black"
        assert [value for name, value in asdict(found).items() if name != "reason"] == [None] * 6
    found = measure_colour(scene(), black)
    assert found.difference > 30 and found.exposure is None and "ours is black" in found.reason


# --- flow -------------------------------------------------------------------------------------------------------------


def test_motion_differs_with_its_speed_and_its_direction():
    image = scene()
    given = pair(image, moved(image, 0.01))
    with workers() as threads:
        speeds = [
            measure_motion(given, pair(image, moved(image, right)), threads) for right in (0.01, 0.013, 0.016, 0.02)
        ]
        turns = [
            measure_motion(given, pair(image, moved(image, 0.01 * math.cos(turn), 0.01 * math.sin(turn))), threads)
            for turn in np.radians((0, 30, 60, 120, 180))
        ]
    assert speeds[0].error < 0.02 and rising([one.error for one in speeds]) and rising([one.speed for one in speeds])
    assert speeds[-1].error == pytest.approx(1, abs=0.15) and speeds[-1].speed == pytest.approx(2, abs=0.15)
    assert all(one.direction > 0.95 for one in speeds)
    assert [one.direction for one in turns] == pytest.approx([1, 0.866, 0.5, -0.5, -1], abs=0.1)
    assert rising([one.error for one in turns])


def test_motion_that_cannot_be_followed_is_unknown():
    image, flat = scene(), np.full((HEIGHT, WIDTH, 3), 99, np.uint8)
    steps = {
        "too little of ours": (pair(image, moved(image, 0.01)), pair(flat, flat)),
        "too little of the reference": (pair(flat, flat), pair(image, image)),
        "too little of the reference can be followed": (pair(image, np.zeros_like(image)), pair(image, image)),
    }
    with workers() as threads:
        for reason, (given, ours) in steps.items():
            found = measure_motion(given, ours, threads)
            assert (found.error, found.direction, found.speed) == (None,) * 3 and reason in found.reason
        still = measure_motion(pair(image, image), pair(image, moved(image, 0.01)), threads)
        held = measure_motion(pair(image, moved(image, 0.01)), pair(image, image), threads)
    assert still.error == pytest.approx(1, abs=0.1) and still.direction is None and "stands still" in still.reason
    assert held.error == pytest.approx(1, abs=0.1) and held.direction is None and held.speed < 0.05


# --- together ---------------------------------------------------------------------------------------------------------


def test_nothing_is_told_of_black_pictures_and_of_other_shapes():
    image, black = scene(), np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    with workers() as threads:
        both_black = measure(black, black, ((black, black), (black, black)), threads)
        ours_black = measure(image, black, ((image, image), (black, black)), threads)
        square = measure(image, np.ascontiguousarray(image[:, :HEIGHT]), "none", threads)
        assert measure(image, image, "only one frame", threads).motion.reason == "only one frame"
        no_colour = measure(image, image, "", threads, no_colour="it is grey")
    for found, reason in (
        (both_black, "the reference is black"),
        (ours_black, "ours is black"),
        (square, "another shape"),
    ):
        lines = described(found)
        assert lines[0] == f"framing unknown: {found.framing.reason}" and reason in lines[0]
        assert found.framing.score is None and found.silhouette.overlap is None and found.motion.error is None
    assert both_black.colour.difference is None and square.colour.difference is not None
    assert no_colour.colour.reason == "it is grey" and described(no_colour)[2] == "colour unknown: it is grey"


def test_the_lines_say_which_way_ours_is_off():
    image = scene()
    ours = moved((image * 0.7).astype(np.uint8), -0.05, 0.02, 1.1)
    with workers() as threads:
        lines = described(measure(image, ours, ((image, moved(image, 0.01)), (ours, moved(ours, 0.02))), threads))
    assert lines[0].startswith("framing: ours lies 5.") and "left, 2.0 % down, scale 1." in lines[0]
    assert "with the framing undone" in lines[1] and "mean L -" in lines[2] and "exposure x0." in lines[2]
    assert lines[3].startswith("flow: error ") and "speed x" in lines[3]
    assert all(len(line) < 120 for line in lines)


def test_pictures_of_any_sizes_are_compared():
    image = scene()
    large = cv2.resize(image, (1920, 1080), interpolation=cv2.INTER_CUBIC)
    tall = np.ascontiguousarray(np.rot90(image))
    with workers() as threads:
        found = measure(large, image, ((large, large), (image, image)), threads)
        turned = measure(tall, tall, "", threads)
        tiny = measure(image[:20, :30], image[:20, :30], "", threads)
    assert found.framing.scale == pytest.approx(1, abs=0.01) and found.silhouette.overlap > 0.8
    assert turned.framing.score == pytest.approx(1) and tiny.silhouette is not None
