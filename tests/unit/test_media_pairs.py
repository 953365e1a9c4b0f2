# SPDX-License-Identifier: GPL-3.0-or-later
"""Pair images: size, order, aspect, labels, and bytes that do not vary."""

import io

import numpy as np
import pytest
from matchcut.evaluator.media.labels import empty_panel, label_bar, text_width
from matchcut.evaluator.media.pairs import LABEL_HEIGHT, fitted_size, jpeg_bytes, pair_image, png_bytes
from media_samples import pictures
from PIL import Image


def flat(width, height, colour):
    return np.full((height, width, 3), colour, np.uint8)


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        ((1920, 1080), (960, 540)),
        ((480, 270), (960, 540)),
        ((720, 1080), (360, 540)),
        ((960, 400), (960, 400)),
        ((193, 144), (724, 540)),
    ],
)
def test_each_picture_fits_its_area_with_its_aspect(size, shown):
    image = pair_image(flat(*size, (255, 0, 0)), flat(960, 540, (0, 0, 255)), 3, 0.125)
    assert image.shape == (2 * LABEL_HEIGHT + shown[1] + 540, 960, 3) and image.dtype == np.uint8
    red = (image == (255, 0, 0)).all(axis=2)
    rows, columns = np.flatnonzero(red.any(axis=1)), np.flatnonzero(red.any(axis=0))
    assert (columns[-1] - columns[0] + 1, rows[-1] - rows[0] + 1) == shown
    assert abs(columns[0] - (959 - columns[-1])) <= 1
    blue = np.flatnonzero((image == (0, 0, 255)).all(axis=2).any(axis=1))
    assert rows[0] == LABEL_HEIGHT
    assert blue[0] == rows[-1] + 1 + LABEL_HEIGHT  # the reconstruction is below


def test_the_largest_image_is_960_by_1232():
    assert pair_image(flat(960, 540, 1), flat(960, 540, 1), 0, 0.0).shape == (1232, 960, 3)


def test_labels_tell_role_frame_and_time(artifacts):
    first, second = pictures(2, width=960, height=540)
    image = pair_image(first, second, 17, 0.709)
    Image.fromarray(image).save(artifacts / "pair_image.png")

    def bars(of):
        return of[:LABEL_HEIGHT], of[LABEL_HEIGHT + 540 : 2 * LABEL_HEIGHT + 540]

    reference, reconstruction = bars(image)
    for bar in (reference, reconstruction):
        bright = np.flatnonzero((bar > 200).all(axis=2).any(axis=1))
        assert bright[-1] - bright[0] >= 24  # letters that are read at a glance
        assert not (bar > 60)[:, :12].any() and not (bar > 60)[:, -12:].any()  # nothing cut off at the sides
    assert (reference != reconstruction).any()
    assert not np.array_equal(reference[:, :480], reconstruction[:, :480])  # the role
    assert np.array_equal(reference[:, 600:], reconstruction[:, 600:])  # the same moment
    for frame, time in ((18, 0.709), (17, 0.751)):
        other = bars(pair_image(first, second, frame, time))[0]
        assert np.array_equal(other[:, :480], reference[:, :480]) and not np.array_equal(other, reference)


def test_bytes_are_the_same_every_time_and_keep_the_colours():
    image = pair_image(*pictures(2), 1, 0.04)
    assert png_bytes(image) == png_bytes(image.copy())
    assert jpeg_bytes(image) == jpeg_bytes(image.copy())
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(png_bytes(image)))), image)
    with Image.open(io.BytesIO(jpeg_bytes(image))) as jpeg:
        assert jpeg.format == "JPEG"
        assert {component[1:3] for component in jpeg.layer} == {(1, 1)}  # 4:4:4
        assert np.abs(np.asarray(jpeg).astype(int) - image).mean() < 3


def test_a_picture_of_the_fitted_size_is_taken_as_it_is():
    first, second = pictures(2, width=960, height=540)
    image = pair_image(first, second, 0, 0.0)
    assert np.array_equal(image[LABEL_HEIGHT : LABEL_HEIGHT + 540], first)
    assert np.array_equal(image[2 * LABEL_HEIGHT + 540 :], second)


def test_shrinking_averages_areas_and_makes_up_no_edges():
    (first,) = pictures(1, width=1920, height=1080)
    image = pair_image(first, first, 0, 0.0)[LABEL_HEIGHT : LABEL_HEIGHT + 540]
    means = first.reshape(540, 2, 960, 2, 3).mean(axis=(1, 3))
    assert np.abs(image - means).max() <= 0.75
    hard = flat(1920, 1080, (0, 0, 0))
    hard[:, 961:] = 200
    shown = pair_image(hard, hard, 0, 0.0)[LABEL_HEIGHT : LABEL_HEIGHT + 540]
    assert shown.max() == 200 and shown.min() == 0 and set(np.unique(shown)) == {0, 100, 200}


@pytest.mark.parametrize("size", [(1, 1), (7, 5000), (5000, 7), (3840, 2160), (1081, 1920), (1920, 1079)])
def test_the_fitted_size_stays_within_the_area(size):
    width, height = fitted_size(*size)
    assert 1 <= width <= 960 and 1 <= height <= 540 and (width == 960 or height == 540)
    assert pair_image(flat(*size, 9), flat(*size, 9), 0, 0.0).shape == (2 * LABEL_HEIGHT + 2 * height, 960, 3)


def test_a_decoder_s_read_only_picture_is_taken():
    for size in ((960, 540), (100, 60)):
        image = flat(*size, 7)
        image.flags.writeable = False
        pair_image(image, image, 0, 0.0)


@pytest.mark.parametrize("width", [120, 300, 960])
def test_a_label_is_never_cut_off(width):
    bar = label_bar(width, 40, "RECONSTRUCTION", "frame 12345   514.398 s", size=22, margin=10)
    assert bar.shape == (40, width, 3)
    lit = np.flatnonzero((bar > 60).all(axis=2).any(axis=0))
    assert lit[0] >= 8 or width == 120  # type of 8 pixels is the least; there it may touch the side
    assert text_width("RECONSTRUCTION", 22) > text_width("REFERENCE", 22) > 60


def test_an_empty_panel_is_plain_to_see(artifacts):
    panel = empty_panel(480, 270, ("RECONSTRUCTION HAS ENDED", "last: frame 71   2.961 s"), size=20)
    Image.fromarray(panel).save(artifacts / "empty_panel.png")
    assert panel.shape == (270, 480, 3) and len(np.unique(panel[:40].reshape(-1, 3), axis=0)) >= 2  # striped
    lit = (panel > 200).all(axis=2)
    assert lit.any() and not lit[:, :10].any() and not lit[:, -10:].any()
