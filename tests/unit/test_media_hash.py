# SPDX-License-Identifier: GPL-3.0-or-later
"""Every frame that is read is the one that FFmpeg decodes, at its time; picked frames are the streamed ones."""

import hashlib
import random
import subprocess
from fractions import Fraction

import imageio_ffmpeg
import numpy as np
import pytest
from matchcut.evaluator.media import decode
from matchcut.evaluator.media.decode import frames, pick, stream
from matchcut.evaluator.media.scan import scan
from matchcut.evaluator.media.source import Source
from matchcut.evaluator.protocol.errors import BadInputError

FFMPEG = imageio_ffmpeg.get_ffmpeg_exe()
TEST_PICTURES = "testsrc2=s=96x64:r=25:d=2"
X264 = "-c:v libx264 -preset veryfast -pix_fmt yuv420p"

# name of the file → how FFmpeg's program makes it; IN is an H.264 clip with B frames and a keyframe every 12 frames
CLIPS = {
    "b_frames.mp4": f"-f lavfi -i {TEST_PICTURES} {X264} -bf 3 -g 12",
    "open_gop.mkv": f"-f lavfi -i {TEST_PICTURES} {X264} -bf 3 -g 12 -x264-params open-gop=1:scenecut=0",
    "open_gop.ts": f"-f lavfi -i {TEST_PICTURES} {X264} -bf 3 -g 12 -x264-params open-gop=1:scenecut=0",
    "open_gop.mp4": f"-f lavfi -i {TEST_PICTURES} {X264} -bf 3 -g 12 -x264-params open-gop=1:scenecut=0",
    "intra_refresh.mp4": f"-f lavfi -i {TEST_PICTURES} {X264} -bf 0 -g 15 -x264-params intra-refresh=1",
    "intra_refresh.ts": f"-f lavfi -i {TEST_PICTURES} {X264} -bf 0 -g 15 -x264-params intra-refresh=1",
    "one_keyframe.mp4": f"-f lavfi -i {TEST_PICTURES} {X264} -bf 2 -g 1000",
    "edit_list.mp4": "-ss 0.7 -i IN -c copy",
    "late_start.mkv": "-i IN -c copy -output_ts_offset 3",
    "late_start.ts": "-i IN -c copy -output_ts_offset 3",
    "late_start.mp4": "-i IN -c copy -output_ts_offset 3",
    "negative_start.mov": "-i IN -c copy -output_ts_offset -0.4 -avoid_negative_ts disabled",
    "negative_offsets.mp4": "-i IN -c copy -movflags +negative_cts_offsets",
    "fragmented.mp4": "-i IN -c copy -movflags +frag_keyframe+empty_moov",
    "varying_rate.mp4": f"-f lavfi -i {TEST_PICTURES} -vf select=not(mod(n\\,3))+lt(mod(n\\,7)\\,2) {X264} -bf 2 -g 9",
    "turned.mp4": "-display_rotation 90 -i IN -c copy",
    "no_first_keyframe.ts": "-i IN -c copy -bsf:v noise=drop=lt(n\\,5)",
    "no_first_keyframe.mkv": "-i IN -c copy -bsf:v noise=drop=lt(n\\,5)",
    "ten_bit.mp4": f"-f lavfi -i {TEST_PICTURES} -c:v libx265 -preset ultrafast -pix_fmt yuv420p10le"
    " -x265-params log-level=none:keyint=12:bframes=3:open-gop=1",
    "h264.avi": f"-f lavfi -i {TEST_PICTURES} {X264} -bf 0 -g 12",
    "mpeg4.avi": f"-f lavfi -i {TEST_PICTURES} -c:v mpeg4 -q:v 3 -bf 2 -g 12",
    "hidden_frames.webm": f"-f lavfi -i {TEST_PICTURES} -c:v libvpx-vp9 -deadline realtime -cpu-used 8 -g 12"
    " -crf 30 -b:v 0 -auto-alt-ref 1 -lag-in-frames 10",
    "pictures.gif": f"-f lavfi -i {TEST_PICTURES}",
    "mpeg2.ts": f"-f lavfi -i {TEST_PICTURES} -c:v mpeg2video -q:v 3 -bf 2 -g 12",
    "mpeg1.mpg": f"-f lavfi -i {TEST_PICTURES} -c:v mpeg1video -q:v 3 -bf 2 -g 12",
    "prores.mov": f"-f lavfi -i {TEST_PICTURES} -c:v prores_ks -pix_fmt yuv422p10le",
    "mjpeg.mov": f"-f lavfi -i {TEST_PICTURES} -c:v mjpeg -q:v 3 -pix_fmt yuvj422p",
    "ffv1.mkv": f"-f lavfi -i {TEST_PICTURES} -c:v ffv1 -pix_fmt yuv444p",
}  # fmt: skip
REAL = [
    "03_blocks.mp4", "carphone_pristine.mp4", "carphone_distorted.mp4", "fire2.mp4", "nasa_13013.mp4",
    "no_duration.webm", "pigs_in_a_polka.gif", "sample.avi", "sample_edit_list_only_preroll_sync_sample.mp4",
    "sample_portrait.mp4", "sample_with_color_info.mp4", "sar_2x1.mp4", "smpte-2997.mp4", "bigbuckbunny.mp4",
    "video_0.mov", "video_90.mov", "video_180.mov", "video_270.mov",
]  # fmt: skip
LONG = {"03_blocks.mp4", "smpte-2997.mp4", "bigbuckbunny.mp4"}
"""Read for the count, the times and some frames."""


def ffmpeg(*arguments):
    command = [FFMPEG, "-hide_banner", "-nostdin", "-v", "error", "-y", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clips")
    ffmpeg("-f", "lavfi", "-i", TEST_PICTURES, *X264.split(), "-bf", "3", "-g", "12", folder / "in.mp4")
    return folder


def made(folder, name):
    path = folder / name
    if not path.exists():
        given = [str(folder / "in.mp4") if word == "IN" else word for word in CLIPS[name].split()]
        passthrough = ["-fps_mode", "passthrough"] if "varying" in name else []
        ffmpeg(*given, *passthrough, path)
    return path


def by_ffmpeg(path):
    """(seconds, MD5 of the raw picture) of every frame that FFmpeg's program decodes."""
    with Source(path) as source:
        number = source.stream.index
    text = ffmpeg(
        "-noautorotate", "-copyts", "-i", path, "-map", f"0:{number}", "-fps_mode", "passthrough",
        "-enc_time_base", "demux", "-f", "framehash", "-hash", "md5", "-",
    )  # fmt: skip
    base = Fraction(next(line for line in text.splitlines() if line.startswith("#tb 0:")).split()[-1])
    rows = [line.split(",") for line in text.splitlines() if line and line[0] != "#"]
    return [(int(row[2]) * base, row[-1].strip()) for row in rows]


def raw_hash(frame):
    """MD5 of a frame's planes without their padding, as FFmpeg's rawvideo packs them."""
    digest = hashlib.md5(usedforsecurity=False)
    packed = {"bgra": 4, "rgb24": 3}.get(frame.format.name, 1)
    size = packed * (2 if frame.format.components[0].bits > 8 else 1)
    for plane in frame.planes:
        rows = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)
        digest.update(rows[: plane.height, : plane.width * size].tobytes())
    return digest.hexdigest()


def read(path):
    """(seconds, MD5 of the raw picture) of every frame that the streamed pictures are made of."""
    with Source(path) as source:
        return [(timestamp * source.time_base, raw_hash(frame)) for timestamp, frame in source.decoded()]


@pytest.mark.parametrize("name", CLIPS)
def test_made_clips_are_read_as_ffmpeg_reads_them(folder, name):
    path = made(folder, name)
    expected = by_ffmpeg(path)
    assert read(path) == expected
    assert [frame.time for frame in stream(path, size=(16, 16))] == [time for time, _ in expected]


@pytest.mark.parametrize("name", REAL)
def test_real_clips_are_read_as_ffmpeg_reads_them(media, name):
    assert read(media / name) == by_ffmpeg(media / name)


def equals(picked, streamed):
    return picked.time == streamed.time and np.array_equal(picked.image, streamed.image)


@pytest.mark.parametrize("name", CLIPS)
def test_picked_frames_are_the_streamed_ones(folder, name):
    path = made(folder, name)
    streamed = list(stream(path))
    order = random.Random(name).sample(range(len(streamed)), len(streamed))
    picked = frames(path, order)
    assert [frame.index for frame in picked] == order
    assert all(equals(frame, streamed[frame.index]) for frame in picked)
    for index in order[:12]:  # each from anew
        assert equals(next(pick(path, [index])), streamed[index]), index


@pytest.mark.parametrize("name", [name for name in REAL if name not in LONG])
def test_picked_frames_of_real_clips_are_the_streamed_ones(media, name):
    path, size = media / name, (64, 48)
    streamed = list(stream(path, size=size))
    order = random.Random(name).sample(range(len(streamed)), len(streamed))
    assert all(equals(frame, streamed[frame.index]) for frame in frames(path, order, size=size))
    for index in order[:4]:
        assert equals(next(pick(path, [index], size=size)), streamed[index]), index


@pytest.fixture
def decoded(monkeypatch):
    """A list that grows by one entry for every frame that is decoded."""
    counted = []
    original = Source.decoded

    def counting(source):
        for entry in original(source):
            counted.append(entry[0])
            yield entry

    monkeypatch.setattr(Source, "decoded", counting)
    return counted


@pytest.mark.parametrize("name", ["long.mp4", "long.mkv", "long.ts"])
def test_far_frames_are_sought(folder, decoded, name):
    path = folder / name
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=16", *X264.split(), "-bf", "3", "-g", "12", path)
    assert len(scan(path).timestamps) == 400
    del decoded[:]
    assert [frame.index for frame in pick(path, [3, 205, 390])] == [3, 205, 390]
    assert len(decoded) <= 4 + 2 * (12 + 12), "a wanted frame costs its group of pictures, and what a seek lands before"
    del decoded[:]
    wanted = list(range(100, 148))
    assert [frame.index for frame in frames(path, wanted)] == wanted
    assert len(decoded) <= 48 + 2 * 12, "neighbours are decoded in one run"


def test_a_file_that_cannot_be_sought_is_decoded_once(folder, decoded):
    path = made(folder, "no_first_keyframe.mkv")
    count = len(scan(path).timestamps)
    del decoded[:]
    frames(path, range(count))
    assert len(decoded) <= count


def test_a_keyframe_that_is_none_is_noticed(folder, monkeypatch):
    path = made(folder, "one_keyframe.mp4")
    expected = list(stream(path))
    seen = scan(path)
    claimed = seen.keyframes.copy()
    claimed[20] = True
    monkeypatch.setattr(decode, "scan", lambda _: decode_as(seen, claimed))
    assert equals(next(pick(path, [30])), expected[30])


def decode_as(seen, keyframes):
    return type(seen)(**{**vars(seen), "keyframes": keyframes})


def test_pictures_of_changing_size_are_shown_in_the_first_ones(folder, tmp_path):
    for part, size in (("a", "96x64"), ("b", "128x96")):
        moving = ("-f", "lavfi", "-i", f"testsrc2=s={size}:r=25:d=0.6")
        ffmpeg(*moving, *X264.split(), "-bf", "0", tmp_path / f"{part}.h264")
    both = tmp_path / "both.h264"
    both.write_bytes((tmp_path / "a.h264").read_bytes() + (tmp_path / "b.h264").read_bytes())
    path = tmp_path / "both.ts"
    ffmpeg("-r", "25", "-i", both, "-c", "copy", path)
    streamed = list(stream(path))
    assert len(streamed) == 30 and {frame.image.shape for frame in streamed} == {(64, 96, 3)}
    assert all(equals(frame, streamed[frame.index]) for frame in frames(path, [29, 3, 16]))
    hashes = [[entry[1] for entry in read(tmp_path / name)] for name in ("both.ts", "a.h264", "b.h264")]
    assert hashes[0] == hashes[1] + hashes[2]


def test_picking_holds_one_picture_at_a_time(folder):
    import weakref

    path = made(folder, "b_frames.mp4")
    held = []
    for frame in pick(path, range(40)):
        held.append(weakref.ref(frame))
        assert sum(reference() is not None for reference in held) <= 2


def test_a_held_picture_stays_as_it_was(folder):
    path = made(folder, "b_frames.mp4")
    kept = []
    for frame in stream(path):
        kept.append((frame.image, frame.image.tobytes()))
    assert all(image.tobytes() == bytes_then for image, bytes_then in kept)
    with pytest.raises(ValueError, match="read-only"):
        kept[0][0][:] = 0


def test_an_index_beyond_the_end_is_refused_before_anything_is_decoded(folder):
    with pytest.raises(BadInputError, match=r"frame 50 .* 0 … 49"):
        next(pick(made(folder, "b_frames.mp4"), [3, 50]))
