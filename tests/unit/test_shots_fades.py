# SPDX-License-Identifier: GPL-3.0-or-later
"""Fades: their kind, shade and frames; a jump to a shade is none."""

import numpy as np
import pytest
from matchcut.evaluator.media.scan import signature
from matchcut.evaluator.shots.fades import find_fades
from shot_samples import shot, toward


def fades(images):
    return [
        (fade.kind, fade.shade, fade.first, fade.last)
        for fade in find_fades(np.stack([signature(image) for image in images]))
    ]


@pytest.fixture(scope="module")
def taken():
    return shot(21, 60)


@pytest.mark.parametrize("shade", ["black", "white"])
@pytest.mark.parametrize("ramp", [4, 12])
def test_the_three_kinds(taken, shade, ramp):
    down = [1 - (step + 1) / ramp for step in range(ramp)]
    rest = 60 - 20 - ramp
    out = toward(taken, shade, [*[1.0] * 20, *down, *[0.0] * rest])
    assert fades(out) == [("out", shade, 20, 19 + ramp)]
    assert fades(out[::-1]) == [("in", shade, 40 - ramp, 39)]
    through = toward(taken, shade, [*[1.0] * 20, *down, 0.0, 0.0, *down[::-1], *[1.0] * (38 - 2 * ramp)])
    assert fades(through) == [("through", shade, 20, 21 + 2 * ramp)]


def test_a_fade_that_eases_and_a_slow_one_are_found_whole(taken):
    eased = [0.5 + 0.5 * np.cos(np.pi * step / 20) for step in range(1, 21)]
    ((kind, _, first, last),) = fades(toward(taken, "black", [*[1.0] * 20, *eased, *[0.0] * 20]))
    assert kind == "out" and 20 <= first <= 22 and 38 <= last <= 39
    slow = [1 - step / 50 for step in range(1, 51)]
    ((kind, _, first, last),) = fades(toward(taken, "black", [*[1.0] * 5, *slow, *[0.0] * 5]))
    assert kind == "out" and 4 <= first <= 7 and 53 <= last <= 54


def test_a_jump_to_a_shade_or_from_it_is_no_fade(taken):
    for shade in ("black", "white"):
        weights = [*[1.0] * 20, *[0.0] * 20, *[1.0] * 20]
        assert fades(toward(taken, shade, weights)) == []
        weights[20], weights[39] = 0.5, 0.5  # blended with the neighbour, as a conversion of the rate does
        assert fades(toward(taken, shade, weights)) == []


def test_a_shade_at_the_ends_is_no_fade(taken):
    black = [np.zeros_like(taken[0])] * 10
    assert fades([*black, *taken[:20], *black]) == []
    assert fades(black) == [] and fades(black[:1]) == []
    assert fades([*black, *toward(taken[:20], "black", [*(np.arange(1, 9) / 8), *[1.0] * 12])]) == [
        ("in", "black", 9, 16)
    ]


def test_a_picture_that_grows_dark_but_not_black_is_no_fade(taken):
    assert fades(toward(taken, "black", np.linspace(1, 0.3, 60))) == []
    assert fades([(image * 0.12).astype(np.uint8) for image in taken]) == []


def test_a_cut_to_black_then_a_fade_in_is_both(taken):
    weights = [*[1.0] * 20, *[0.0] * 5, *(np.arange(1, 11) / 10), *[1.0] * 25]
    assert fades(toward(taken, "black", weights)) == [("in", "black", 24, 33)]
