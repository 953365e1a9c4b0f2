# SPDX-License-Identifier: GPL-3.0-or-later
"""Decoded frames: upright, in the right colours, and the same whether sought or streamed."""

import gc
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from matchcut.evaluator.media import decode
from matchcut.evaluator.media.decode import frames, stream
from matchcut.evaluator.media.probe import probe
from matchcut.evaluator.protocol.errors import BadInputError
from media_samples import pictures, write_video

RED, GREEN, BLUE, WHITE = (200, 40, 40), (40, 180, 60), (50, 60, 190), (230, 230, 230)


def quarters(width=64, height=32):
    """Red and green above, blue and white below."""
    image = np.empty((height, width, 3), np.uint8)
    image[: height // 2, : width // 2], image[: height // 2, width // 2 :] = RED, GREEN
    image[height // 2 :, : width // 2], image[height // 2 :, width // 2 :] = BLUE, WHITE
    return image


def corners(image):
    """Top left, top right, bottom left, bottom right, each as the nearest of the four colours."""
    height, width = image.shape[:2]
    names = {"red": RED, "green": GREEN, "blue": BLUE, "white": WHITE}
    places = [(y, x) for y in (height // 4, height * 3 // 4) for x in (width // 4, width * 3 // 4)]
    return [min(names, key=lambda n: np.abs(image[place].astype(int) - names[n]).sum()) for place in places]


# x' = a x + c y, y' = b x + d y with y down: (a, b, c, d) of each matrix, and how the picture then shows
ORIENTATIONS = {
    "as it is": ((1, 0, 0, 1), ["red", "green", "blue", "white"]),
    "90 clockwise": ((0, 1, -1, 0), ["blue", "red", "white", "green"]),
    "180": ((-1, 0, 0, -1), ["white", "blue", "green", "red"]),
    "270 clockwise": ((0, -1, 1, 0), ["green", "white", "red", "blue"]),
    "mirrored": ((-1, 0, 0, 1), ["green", "red", "white", "blue"]),
    "upside down": ((1, 0, 0, -1), ["blue", "white", "red", "green"]),
    "transposed": ((0, 1, 1, 0), ["red", "blue", "green", "white"]),
    "transversed": ((0, -1, -1, 0), ["white", "green", "blue", "red"]),
}


@pytest.mark.parametrize("name", ORIENTATIONS)
def test_pictures_are_turned_and_mirrored_as_the_file_says(tmp_path, name):
    (a, b, c, d), expected = ORIENTATIONS[name]
    one = 1 << 16
    matrix = [a * one, b * one, 0, c * one, d * one, 0, 0, 0, 1 << 30]
    path = write_video(tmp_path / "turned.mp4", [quarters()] * 2, display_matrix=matrix)
    image = next(stream(path)).image
    assert corners(image) == expected
    assert image.shape == ((64, 32, 3) if a == 0 else (32, 64, 3))
    info = probe(path)
    assert (info.timeline.height, info.timeline.width) == image.shape[:2]
    assert info.mirrored == (a * d - b * c < 0)
    small = next(stream(path, size=(20, 10))).image
    assert small.shape == (10, 20, 3)
    assert corners(small) == expected


def test_the_turn_agrees_with_how_players_name_it(tmp_path):
    path = write_video(tmp_path / "turned.mp4", [quarters()] * 2, rotation=-90)  # counted against the clock
    assert probe(path).rotation_deg == 90
    assert corners(next(stream(path)).image) == ORIENTATIONS["90 clockwise"][1]


def test_real_rotations_have_the_right_shape(media):
    assert next(stream(media / "video_0.mov")).image.shape == (320, 568, 3)
    assert next(stream(media / "video_180.mov")).image.shape == (320, 568, 3)
    assert next(stream(media / "video_90.mov")).image.shape == (568, 320, 3)
    assert next(stream(media / "video_270.mov")).image.shape == (568, 320, 3)


@pytest.mark.parametrize(
    ("aspect", "shown"), [(Fraction(2), (128, 32)), (Fraction(1, 2), (64, 64)), (Fraction(128, 117), (70, 32))]
)
def test_pixels_are_made_square_by_stretching(tmp_path, aspect, shown):
    path = write_video(tmp_path / "wide.mp4", [quarters()] * 2, aspect=aspect)
    info = probe(path)
    assert (info.timeline.width, info.timeline.height) == shown
    image = next(stream(path)).image
    assert image.shape == (shown[1], shown[0], 3)
    assert corners(image) == ["red", "green", "blue", "white"]


def test_an_odd_size_stays_odd(media):
    assert next(stream(media / "pigs_in_a_polka.gif")).image.shape == (273, 314, 3)


@pytest.mark.parametrize("pixels", ["yuv420p", "yuv420p10le", "yuv444p"])
@pytest.mark.parametrize("full_range", [False, True])
@pytest.mark.parametrize("matrix", [1, 6, 9], ids=["bt709", "bt601", "bt2020"])
def test_colours_follow_the_tags(tmp_path, matrix, full_range, pixels):
    matrix = 5 if matrix == 6 else matrix  # swscale's own number for BT.601
    path = write_video(
        tmp_path / "colour.mkv", [quarters()] * 2, matrix=matrix, full_range=full_range, pixels=pixels
    )  # fmt: skip
    image = next(stream(path)).image.astype(int)
    for place, colour in zip([(8, 16), (8, 48), (24, 16), (24, 48)], (RED, GREEN, BLUE, WHITE), strict=True):
        assert np.abs(image[place] - colour).max() <= 5, (place, image[place])


@pytest.mark.parametrize(("size", "matrix"), [((64, 32), 5), ((1280, 32), 1)], ids=["small is 601", "wide is 709"])
def test_untagged_colours_are_taken_as_players_take_them(tmp_path, size, matrix):
    tagged = write_video(tmp_path / "tagged.mkv", [quarters(*size)], matrix=matrix, full_range=False)
    data = next(stream(tagged)).image.astype(int)
    path = tmp_path / "untagged.mkv"
    _strip_matrix(tagged, path)
    image = next(stream(path)).image.astype(int)
    assert np.abs(image - data).max() <= 1


def _strip_matrix(source, path):
    import av

    with av.open(str(source)) as given, av.open(str(path), "w") as out:
        old = next(given.decode(video=0))
        stream = out.add_stream("libx264", rate=25, options={"crf": "0"})
        stream.codec_context.width, stream.codec_context.height, stream.codec_context.pix_fmt = (
            old.width,
            old.height,
            "yuv420p",
        )
        fresh = av.VideoFrame(old.width, old.height, "yuv420p")
        for new, plane in zip(fresh.planes, old.planes, strict=True):
            rows = np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size)[:, : plane.width]
            target = np.frombuffer(new, np.uint8).reshape(new.height, new.line_size)
            target[:, : new.width] = rows
        fresh.pts = 0
        out.mux(stream.encode(fresh))
        out.mux(stream.encode(None))


GOPS = {
    "closed": {"g": "12", "bf": "3"},
    "open": {"g": "12", "bf": "3", "x264-params": "open-gop=1:scenecut=0"},
    "one keyframe": {"g": "1000", "bf": "3"},
    "intra refresh": {"g": "20", "bf": "0", "x264-params": "intra-refresh=1"},
}


@pytest.mark.parametrize("container", ["mp4", "mkv", "ts"])
@pytest.mark.parametrize("gop", GOPS)
def test_frames_are_those_of_a_full_decode(tmp_path, gop, container):
    path = write_video(tmp_path / f"clip.{container}", pictures(70), options=GOPS[gop], time_base=Fraction(1, 25))
    everything = list(stream(path))
    assert [frame.index for frame in everything] == list(range(len(everything)))
    assert len(everything) == 70 == probe(path).timeline.frames
    indices = [69, 0, 33, 11, 12, 13, 33, 47, 1]
    picked = frames(path, indices)
    assert [frame.index for frame in picked] == indices
    for frame in picked:
        assert frame.time == everything[frame.index].time
        assert np.array_equal(frame.image, everything[frame.index].image), frame.index
    for index in range(0, 70, 7):
        assert np.array_equal(frames(path, [index])[0].image, everything[index].image), index


def test_seeking_is_used_where_it_is_safe(tmp_path, monkeypatch):
    path = write_video(tmp_path / "clip.mp4", pictures(60), options=GOPS["closed"])
    expected = frames(path, [40])[0]
    monkeypatch.setattr(decode, "_from_start", lambda *_: pytest.fail("the file was decoded from its start"))
    assert np.array_equal(frames(path, [40])[0].image, expected.image)


@pytest.mark.parametrize(
    "name",
    ["sample.avi", "sample_edit_list_only_preroll_sync_sample.mp4", "nasa_13013.mp4", "no_duration.webm", "fire2.mp4"],
)
def test_real_frames_are_those_of_a_full_decode(media, name):
    size = (160, 90)
    everything = [frame.image for frame in stream(media / name, size=size)]
    last = len(everything) - 1
    for index in (last, last // 2, last // 2 + 1, 1, 0):
        assert np.array_equal(frames(media / name, [index], size=size)[0].image, everything[index]), index


def test_a_frame_asked_for_twice_comes_twice(media):
    first, again = frames(media / "smpte-2997.mp4", [100, 100])
    assert np.array_equal(first.image, again.image)
    assert first.time == 4


def test_times_are_the_files_own(tmp_path):
    stamps = [0, 3, 4, 9, 10, 20]
    path = write_video(tmp_path / "clip.mkv", pictures(6), timestamps=stamps)
    times = [frame.time for frame in stream(path)]
    assert [round(time * 25) for time in times] == stamps


def test_an_index_outside_is_refused(tmp_path):
    path = write_video(tmp_path / "clip.mp4", pictures(5))
    for index in (5, -1):
        with pytest.raises(BadInputError, match=rf"clip\.mp4: frame {index} .* 0 … 4"):
            frames(path, [0, index])
    assert frames(path, []) == []


def test_a_changed_file_is_read_anew(tmp_path):
    path = write_video(tmp_path / "clip.mp4", pictures(5))
    assert probe(path).timeline.frames == 5
    write_video(path, pictures(9, seed=2))
    assert probe(path).timeline.frames == 9
    assert frames(path, [8])[0].index == 8


def test_decoded_frames_are_freed_without_the_garbage_collector(tmp_path):
    path = write_video(tmp_path / "clip.mp4", pictures(60), rotation=90)
    gc.collect()
    gc.disable()
    try:
        for _ in stream(path):
            pass
        held = sum(type(thing).__name__ == "VideoFrame" for thing in gc.get_objects())
    finally:
        gc.enable()
    assert held <= 4


def test_streaming_holds_a_few_pictures_only(tmp_path):
    def peak(path):
        tracemalloc.start()
        for _ in stream(path, size=(480, 320)):
            pass
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    short = write_video(tmp_path / "short.mp4", pictures(20))
    long = write_video(tmp_path / "long.mp4", pictures(200))
    assert peak(long) < 1.2 * peak(short) + 500_000
