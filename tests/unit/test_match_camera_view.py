# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a picture lies in a camera view. Against Blender's own functions: tests/gui/test_match_camera_window.py."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matchcut.addon.sidebar.match_camera.view import (
    CameraView,
    pixel_of,
    pixel_of_region,
    place_of_pixel,
    region_of_pixel,
)

SIZE = (1920, 1080)
VIEWS = st.builds(
    CameraView,
    st.tuples(st.integers(200, 4000), st.integers(200, 4000)),
    st.tuples(st.floats(100, 4000), st.floats(100, 4000)),
    st.sampled_from(["AUTO", "HORIZONTAL", "VERTICAL"]),
    st.floats(-30, 600),
    st.tuples(st.floats(-1, 1), st.floats(-1, 1)),
)


@given(VIEWS, st.floats(-100, 5000), st.floats(-100, 5000))
def test_a_pixel_comes_back_from_the_region(view, x, y):
    there = region_of_pixel(view, (x, y), SIZE)
    assert pixel_of_region(view, there, SIZE) == pytest.approx((x, y), abs=1e-5)


@given(VIEWS)
def test_the_picture_keeps_its_shape(view):
    _, _, width, height = view.frame
    assert width / height == pytest.approx(view.picture[0] / view.picture[1])


def test_the_middle_of_the_picture_is_the_middle_of_the_region_where_nothing_is_moved():
    view = CameraView((1200, 800), SIZE)
    assert region_of_pixel(view, (959.5, 539.5), SIZE) == pytest.approx((600, 400))


def test_pixels_count_from_the_top_left_and_regions_from_the_lower_left():
    view = CameraView((1200, 800), SIZE)
    left, bottom, width, height = view.frame
    first, last = region_of_pixel(view, (0, 0), SIZE), region_of_pixel(view, (1919, 1079), SIZE)
    assert first == pytest.approx((left + width / 3840, bottom + height - height / 2160))
    assert last == pytest.approx((left + width - width / 3840, bottom + height / 2160))


def test_a_view_that_is_zoomed_in_shows_the_picture_larger_about_its_middle():
    near, far = (CameraView((1200, 800), SIZE, zoom=zoom).frame for zoom in (60.0, 0.0))
    assert near[2] > 2 * far[2]
    assert near[0] + near[2] / 2 == pytest.approx(far[0] + far[2] / 2)


def test_at_twice_the_resolution_everything_is_twice_as_far():
    one, two = (CameraView((600 * n, 450 * n), SIZE, "AUTO", 12.0, (0.1, -0.2)) for n in (1, 2))
    x, y = region_of_pixel(one, (100, 900), SIZE)
    assert region_of_pixel(two, (100, 900), SIZE) == pytest.approx((2 * x, 2 * y))


def test_places_are_the_same_at_every_size_of_the_picture():
    place = place_of_pixel((959.5, 0), SIZE)
    assert pixel_of(place, (960, 540)) == pytest.approx((479.5, -0.25))
