# SPDX-License-Identifier: GPL-3.0-or-later
"""Colours are converted by the frame's tags: flat patches, stored without loss, against the formulae of ITU-T H.273."""

import av
import numpy as np
import pytest
from matchcut.evaluator.media.decode import stream
from matchcut.evaluator.media.picture import Converter, Geometry
from matchcut.evaluator.media.probe import probe
from matchcut.evaluator.media.source import Source
from matchcut.evaluator.protocol.errors import BadInputError

# MatrixCoefficients of H.273 → (KR, KB)
WEIGHTS = {
    1: (0.2126, 0.0722), 4: (0.30, 0.11), 5: (0.299, 0.114), 6: (0.299, 0.114), 7: (0.212, 0.087), 9: (0.2627, 0.0593),
}  # fmt: skip
COLOURS = np.array(
    [
        (0, 0, 0), (255, 255, 255), (128, 128, 128), (200, 40, 40), (40, 180, 60), (50, 60, 190),
        (230, 200, 30), (20, 200, 220), (180, 30, 170), (16, 16, 16), (235, 235, 235), (90, 60, 30),
    ]
)  # fmt: skip
PATCH = 32
SIZE = (4 * PATCH, 3 * PATCH)

# How far from the formulae, in levels of 255: FFmpeg's scaler takes coarser tables for speed where chroma is subsampled
EXACT, SUBSAMPLED, SUBSAMPLED_DEEP = 1.2, 2.5, 3.4
FORMATS = {
    "yuv444p": (8, EXACT), "yuv444p10le": (10, EXACT), "yuv444p12le": (12, EXACT), "yuva444p10le": (10, EXACT),
    "yuv420p": (8, SUBSAMPLED), "yuv422p": (8, SUBSAMPLED), "yuva420p": (8, SUBSAMPLED),
    "yuv420p10le": (10, SUBSAMPLED_DEEP), "yuv422p10le": (10, SUBSAMPLED_DEEP), "yuv420p12le": (12, SUBSAMPLED_DEEP),
    "yuv411p": (8, SUBSAMPLED_DEEP), "yuv440p": (8, SUBSAMPLED_DEEP),
}  # fmt: skip


def codes(colour, matrix, full, bits):
    """Y', Cb, Cr of an R'G'B' colour of 0 … 255, as integers (H.273, equations 20 to 45)."""
    kr, kb = WEIGHTS[matrix]
    red, green, blue = colour / 255
    luma = kr * red + (1 - kr - kb) * green + kb * blue
    chroma = np.array([(blue - luma) / (2 * (1 - kb)), (red - luma) / (2 * (1 - kr))])
    if full:
        most = 2**bits - 1
        values = [most * luma, *(most * chroma + 2 ** (bits - 1))]
    else:
        values = [(219 * luma + 16) * 2 ** (bits - 8), *((224 * chroma + 128) * 2 ** (bits - 8))]
    return [int(np.clip(round(value), 0, 2**bits - 1)) for value in values]


def colour_of(values, matrix, full, bits):
    """R'G'B' of 0 … 255, not rounded, of integers Y', Cb, Cr: the same formulae backwards."""
    kr, kb = WEIGHTS[matrix]
    luma, *chroma = values
    if full:
        luma, chroma = luma / (2**bits - 1), (np.array(chroma) - 2 ** (bits - 1)) / (2**bits - 1)
    else:
        scale = 2 ** (bits - 8)
        luma, chroma = (luma / scale - 16) / 219, (np.array(chroma) / scale - 128) / 224
    red, blue = luma + 2 * (1 - kr) * chroma[1], luma + 2 * (1 - kb) * chroma[0]
    green = (luma - kr * red - kb * blue) / (1 - kr - kb)
    return np.clip(255 * np.array([red, green, blue]), 0, 255)


def patches(pixels, values):
    """A frame with twelve flat patches; each has a value for every component, and what is left over is opaque."""
    frame = av.VideoFrame(*SIZE, pixels)
    for number, component in enumerate(frame.format.components):
        plane = frame.planes[component.plane]
        samples = np.frombuffer(plane, np.uint16 if component.bits > 8 else np.uint8).reshape(plane.height, -1)
        height, width = plane.height // 3, plane.width // 4
        for place, value in enumerate(values):
            top, left = place // 4 * height, place % 4 * width
            code = value[number] if number < len(value) else 2**component.bits - 1
            samples[top : top + height, left : left + width] = code
    frame.pts = 0
    return frame


def write(path, frame, *, codec="ffv1", matrix=2, range_=0, transfer=None, options=None):
    with av.open(str(path), "w") as out:
        video = out.add_stream(codec, rate=25, options=options or {})
        context = video.codec_context
        context.width, context.height, context.pix_fmt = frame.width, frame.height, frame.format.name
        context.colorspace, context.color_range = matrix, range_
        frame.colorspace, frame.color_range = matrix, range_
        if transfer is not None:
            context.color_trc = transfer
        out.mux(video.encode(frame))
        out.mux(video.encode(None))
    return path


def error(image, expected):
    """Largest distance of a patch's middle from its colour, in levels."""
    middle = PATCH // 2
    shown = [image[place // 4 * PATCH + middle, place % 4 * PATCH + middle] for place in range(len(expected))]
    return np.abs(np.array(shown, float) - np.array(expected)).max()


@pytest.mark.parametrize("full", [False, True], ids=["limited", "full"])
@pytest.mark.parametrize("matrix", WEIGHTS)
@pytest.mark.parametrize("pixels", FORMATS)
def test_matrix_range_and_depth_follow_the_tags(tmp_path, pixels, matrix, full):
    bits, bound = FORMATS[pixels]
    values = [codes(colour, matrix, full, bits) for colour in COLOURS]
    path = write(tmp_path / "patches.mkv", patches(pixels, values), matrix=matrix, range_=2 if full else 1)
    expected = [colour_of(value, matrix, full, bits) for value in values]
    assert error(next(stream(path)).image, expected) <= bound


def test_the_patches_tell_the_tags_apart():
    values = [codes(colour, 1, False, 8) for colour in COLOURS]
    right = np.array([colour_of(value, 1, False, 8) for value in values])
    for matrix, full in ((5, False), (9, False), (1, True)):
        wrong = np.array([colour_of(value, matrix, full, 8) for value in values])
        assert np.abs(right - wrong).max() > 10, (matrix, full)


@pytest.mark.parametrize("range_", [0, 1])
def test_without_a_range_video_is_limited(tmp_path, range_):
    values = [codes(colour, 5, False, 8) for colour in COLOURS]
    path = write(tmp_path / "patches.mkv", patches("yuv444p", values), matrix=5, range_=range_)
    assert error(next(stream(path)).image, [colour_of(value, 5, False, 8) for value in values]) <= EXACT


@pytest.mark.parametrize("codec", ["libx264", "mjpeg"])
def test_formats_that_are_full_range_by_their_name(tmp_path, codec):
    values = [codes(colour, 5, True, 8) for colour in COLOURS]
    options = {"qp": "0"} if codec == "libx264" else {"qmin": "1", "qmax": "1"}
    frame = patches("yuvj420p" if codec == "mjpeg" else "yuv420p", values)
    path = write(tmp_path / "patches.mkv", frame, codec=codec, matrix=5, range_=2, options=options)
    assert probe(path).pixel_format == "yuvj420p"
    loss = 0 if codec == "libx264" else 2
    assert error(next(stream(path)).image, [colour_of(value, 5, True, 8) for value in values]) <= SUBSAMPLED + loss


@pytest.mark.parametrize("pixels", ["gbrp", "gbrp10le", "gbrp12le", "gbrap", "bgr0", "bgra", "rgb24"])
def test_rgb_stays_as_it_is(tmp_path, pixels):
    frame = av.VideoFrame(*SIZE, pixels)
    bits = frame.format.components[0].bits
    levels = [np.round(colour * (2**bits - 1) / 255).astype(int) for colour in COLOURS]
    if bits > 8:  # FFV1 has no planar RGB of 8 bits
        frame = patches(pixels, levels)
        path = write(tmp_path / "patches.mkv", frame, matrix=0, range_=2)
        image = next(stream(path)).image
    else:
        rgb = np.zeros((SIZE[1], SIZE[0], 3), np.uint8)
        for place, colour in enumerate(COLOURS):
            top, left = place // 4 * PATCH, place % 4 * PATCH
            rgb[top : top + PATCH, left : left + PATCH] = colour
        frame = av.VideoFrame.from_ndarray(rgb, format="rgb24").reformat(format=pixels)
        image = Converter(SIZE)(frame, Geometry(*SIZE, 1, 0, False))
    assert error(image, COLOURS) <= 1


@pytest.mark.parametrize(("pixels", "bits"), [("gray", 8), ("gray10le", 10)])
@pytest.mark.parametrize("full", [False, True], ids=["limited", "full"])
def test_grey_follows_its_range(tmp_path, pixels, bits, full):
    most, black, span = 2**bits - 1, 16 * 2 ** (bits - 8), 219 * 2 ** (bits - 8)
    levels = np.linspace(black, black + span, 12).round().astype(int)
    path = write(tmp_path / "patches.mkv", patches(pixels, levels[:, None]), range_=2 if full else 1)
    expected = levels / most * 255 if full else (levels - black) / span * 255
    assert error(next(stream(path)).image, np.repeat(expected[:, None], 3, 1)) <= 2


@pytest.mark.parametrize("transfer", [16, 18], ids=["PQ", "HLG"])
def test_high_dynamic_range_is_converted_by_its_matrix_alone_and_said(tmp_path, transfer):
    values = [codes(colour, 9, False, 10) for colour in COLOURS]
    path = write(tmp_path / "patches.mkv", patches("yuv444p10le", values), matrix=9, range_=1, transfer=transfer)
    assert error(next(stream(path)).image, [colour_of(value, 9, False, 10) for value in values]) <= EXACT
    assert any("high dynamic range" in warning for warning in probe(path).warnings)


@pytest.mark.parametrize("matrix", [8, 10, 14], ids=["YCgCo", "BT.2020 constant luminance", "ICtCp"])
def test_a_matrix_that_is_not_known_is_an_error_that_names_the_file(tmp_path, matrix):
    values = [codes(colour, 1, False, 8) for colour in COLOURS]
    path = write(tmp_path / "patches.mkv", patches("yuv444p", values), matrix=matrix, range_=1)
    with pytest.raises(BadInputError, match=r"patches\.mkv"):
        next(stream(path))


def test_tags_that_change_within_a_video_are_followed(tmp_path):
    picture = Converter(SIZE)
    for matrix, full in ((1, False), (9, False), (9, True), (5, False), (1, False)):
        values = [codes(colour, matrix, full, 8) for colour in COLOURS]
        frame = patches("yuv444p", values)
        frame.colorspace, frame.color_range = matrix, 2 if full else 1
        image = picture(frame, Geometry(*SIZE, 1, 0, False))
        assert error(image, [colour_of(value, matrix, full, 8) for value in values]) <= EXACT


def test_the_real_ten_bit_clip_keeps_its_tags(media):
    with Source(media / "sample_with_color_info.mp4") as source:
        _, frame = next(source.decoded())
        assert (frame.format.name, frame.colorspace) == ("yuv420p10le", 9)
