# SPDX-License-Identifier: GPL-3.0-or-later
"""What phones, cameras and editors write, and what is left of a file that was cut or damaged, as probe tells it."""

import subprocess
from fractions import Fraction

import imageio_ffmpeg
import numpy as np
import pytest
from matchcut.evaluator.cli.probe import rows
from matchcut.evaluator.media.decode import frames, stream
from matchcut.evaluator.media.mp4 import read_tracks
from matchcut.evaluator.media.probe import probe
from matchcut.evaluator.media.rate import fit_rate
from matchcut.evaluator.media.records import VideoInfo
from matchcut.evaluator.protocol.errors import BadInputError

MOVING = ("-f", "lavfi", "-i", "testsrc2=size=96x64:rate=25:duration=4")
TONE = ("-f", "lavfi", "-i", "sine=duration=4")
X264 = ("-c:v", "libx264", "-pix_fmt", "yuv420p", "-g", "25", "-bf", "2")


def ffmpeg(*arguments):
    """Run the ffmpeg program; the last argument is the file that it makes."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y", *map(str, arguments)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, timeout=60)
    return arguments[-1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("oddities")


@pytest.fixture(scope="module")
def plain(folder):
    return ffmpeg(*MOVING, *X264, folder / "plain.mp4")


@pytest.fixture(scope="module")
def files(folder):
    """A hundred frames with sound, in each container."""
    made = {"front": folder / "front.mp4", "end": folder / "end.mp4"}
    made |= {kind: folder / f"whole.{kind}" for kind in ("mkv", "ts", "avi", "flv")}
    for name, path in made.items():
        ffmpeg(*MOVING, *TONE, *X264, *(("-movflags", "+faststart") if name == "front" else ()), path)
    return made


@pytest.mark.parametrize(
    ("options", "size", "turn", "mirrored"),
    [
        (("-display_rotation", "90"), (64, 96), 270, False),  # the option counts anticlockwise
        (("-display_rotation", "-90"), (64, 96), 90, False),
        (("-display_rotation", "180"), (96, 64), 180, False),
        (("-display_hflip",), (96, 64), 0, True),
        (("-display_vflip",), (96, 64), 180, True),
        (("-display_rotation", "90", "-display_hflip"), (64, 96), 90, True),
    ],
)
def test_a_display_matrix(plain, tmp_path, options, size, turn, mirrored):
    path = ffmpeg(*options, "-i", plain, "-c", "copy", tmp_path / "turned.mp4")
    info = probe(path)
    assert (info.rotation_deg, info.mirrored) == (turn, mirrored)
    assert (info.timeline.width, info.timeline.height) == size
    # the picture as FFmpeg itself shows it
    shown = ffmpeg("-i", path, "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "rgb24", tmp_path / "shown.rgb")
    expected = np.fromfile(shown, np.uint8).reshape(size[1], size[0], 3).astype(int)
    assert np.abs(next(stream(path)).image - expected).mean() < 3


def test_a_pixel_aspect_with_a_turn(tmp_path):
    wide = ffmpeg(*MOVING, "-vf", "setsar=4/3", *X264, tmp_path / "wide.mp4")
    turned = ffmpeg("-display_rotation", "270", "-i", wide, "-c", "copy", tmp_path / "turned.mp4")
    assert (probe(wide).timeline.width, probe(wide).timeline.height) == (128, 64)
    assert (probe(turned).timeline.width, probe(turned).timeline.height) == (64, 128)


@pytest.mark.parametrize(("order", "name"), [("tff", "top first"), ("bff", "bottom first")])
def test_interlaced_frames(tmp_path, order, name):
    path = ffmpeg(
        *MOVING, "-vf", f"interlace=scan={order},fps=25", "-c:v", "mpeg2video", "-flags", "+ildct+ilme",
        tmp_path / "interlaced.mpg",
    )  # fmt: skip
    info = probe(path)
    assert (info.interlaced_frames, info.field_order) == (info.timeline.frames, name)
    assert any("fields woven together" in warning for warning in info.warnings)


def test_high_dynamic_range_in_ten_bits(tmp_path):
    tags = "log-level=none:colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc"
    info = probe(
        ffmpeg(*MOVING, "-c:v", "libx265", "-pix_fmt", "yuv420p10le", "-x265-params", tags, tmp_path / "hdr.mp4")
    )
    assert (info.codec, info.bit_depth, info.colour.transfer) == ("hevc", 10, "smpte2084")
    assert info.warnings == ["high dynamic range (PQ) is shown without tone mapping"]


def test_what_else_is_in_a_file(plain, tmp_path):
    camera = ffmpeg(*MOVING, *TONE, *X264, "-timecode", "01:00:00:00", tmp_path / "camera.mov")
    kinds = probe(camera).other_streams
    assert kinds[0].startswith("audio: aac, 44100 Hz, mono")
    assert kinds[1].startswith("data: timecode 01:00:00:00")
    cover = ffmpeg(*MOVING, "-frames:v", "1", tmp_path / "cover.jpg")
    maps = ("-map", "0", "-map", "1", "-c", "copy", "-disposition:v:1", "attached_pic")
    info = probe(ffmpeg("-i", plain, "-i", cover, *maps, tmp_path / "covered.mp4"))
    assert info.other_streams == ["cover picture: mjpeg, 96x64 (stream 1)"]
    assert not info.warnings


def test_a_varying_rate_a_negative_start_and_an_edit(plain, tmp_path):
    varying = probe(
        ffmpeg(*MOVING, "-vf", "select=gt(random(1)\\,0.5)", "-fps_mode", "vfr", "-c:v", "libvpx", tmp_path / "v.webm")
    )
    assert varying.rate_source == "average_rate" and not varying.constant_rate
    assert varying.shortest_seconds < varying.longest_seconds
    early = probe(ffmpeg("-i", plain, "-c", "copy", "-movflags", "negative_cts_offsets", tmp_path / "early.mp4"))
    assert (early.start_seconds, early.timeline.frames, early.warnings) == (0, 100, [])
    trimmed = probe(ffmpeg("-ss", "1.5", "-t", "1", "-i", plain, "-c", "copy", tmp_path / "trimmed.mp4"))
    (edit,) = trimmed.edits
    assert edit.start_seconds > 0.4 and trimmed.hidden_frames > 10 and trimmed.timeline.frames < 30
    assert trimmed.damage is None and trimmed.start_seconds == 0
    assert ("edit list", f"from {edit.start_seconds:.6f} s of the coded video on, for {edit.seconds:.6f} s") in rows(
        trimmed
    )


def test_a_whole_file_has_no_damage_in_any_container(files):
    for path in files.values():
        info = probe(path)
        assert (info.timeline.frames, info.timeline.rate, info.constant_rate) == (100, 25, True), path
        assert info.damage is None and not info.warnings, path


def read_cut(files, name, share, tmp_path):
    data = files[name].read_bytes()
    path = tmp_path / f"cut{files[name].suffix}"
    path.write_bytes(data[: int(len(data) * share)])
    return path


@pytest.mark.parametrize("name", ["front", "mkv", "avi", "ts"])
@pytest.mark.parametrize("share", [0.3, 0.5, 0.7, 0.9])
def test_a_file_that_is_cut_off_says_where_it_ends(files, name, share, tmp_path):
    path = read_cut(files, name, share, tmp_path)
    info = probe(path)
    last = info.timeline.frames - 1
    assert share * 100 - 15 < last < share * 100 + 5
    assert info.timeline.rate == 25
    assert sum(1 for _ in stream(path)) == info.timeline.frames
    assert [frame.index for frame in frames(path, [last, 0])] == [last, 0]
    if name != "ts":  # which promises nothing: its length is what is there
        assert info.damage is not None and info.damage.ends_early
        said = f"frame {last} at {info.seconds - 1 / 25:.3f} s is the last that decodes"
        assert any(said in warning for warning in info.warnings)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.95])
def test_an_mp4_without_its_index_is_refused_in_one_line(files, share, tmp_path):
    path = read_cut(files, "end", share, tmp_path)
    with pytest.raises(BadInputError, match="cannot be opened as a video") as caught:
        probe(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["front", "end", "mkv", "ts", "avi"])
def test_a_hole_of_zeros_in_the_middle(files, name, tmp_path):
    data = bytearray(files[name].read_bytes())
    middle = len(data) // 2
    data[middle : middle + 3000] = bytes(3000)
    path = tmp_path / f"zeros{files[name].suffix}"
    path.write_bytes(data)
    info = probe(path)
    assert 70 < info.timeline.frames < 100 and info.timeline.rate == 25
    assert info.damage is not None and info.warnings
    assert sum(1 for _ in stream(path)) == info.timeline.frames


def test_a_recording_that_starts_between_keyframes(files, tmp_path):
    data = files["ts"].read_bytes()
    path = tmp_path / "middle.ts"
    path.write_bytes(data[len(data) // 3 // 188 * 188 :])
    info = probe(path)
    assert info.damage.lost_before > 5 and not info.damage.ends_early
    assert any("starts between keyframes" in warning for warning in info.warnings)
    assert info.timeline.frames == 50 and info.constant_rate


def test_two_recordings_one_behind_the_other(files, tmp_path):
    path = tmp_path / "twice.ts"
    path.write_bytes(files["ts"].read_bytes() * 2)
    info = probe(path)
    assert info.timeline.rate == 25 and not info.constant_rate
    assert 195 < info.timeline.frames <= 200 and 95 < info.backward[0] <= 100 and len(info.backward) == 1


def test_a_jump_of_any_length_keeps_the_rate():
    for jump in (50, 10**6, 2**50, -20):
        stamps = np.concatenate([np.arange(30), np.arange(30) + 30 + jump]) * 1001
        fit = fit_rate(stamps, Fraction(1, 24000))
        assert (fit.rate, fit.constant, fit.source) == (Fraction(24000, 1001), False, "timestamps"), jump
        assert fit.steps[29] == max(0, jump + 1)


def test_records_of_earlier_versions_are_read():
    old = {
        "path": "a.mp4", "sha256": "0" * 64, "timeline": {"width": 96, "height": 64, "rate": "25/1", "frames": 4},
        "rate_source": "timestamps", "constant_rate": True, "start_seconds": 0.0, "coded_width": 96,
        "coded_height": 64, "rotation_deg": 0, "mirrored": False, "pixel_aspect": "1:1", "codec": "h264",
        "pixel_format": "yuv420p", "bit_depth": 8, "header_frames": 4, "warnings": [],
    }  # fmt: skip
    info = VideoInfo.from_data(old, "old.json")
    assert info.colour is None and info.damage is None and dict(rows(info))["duration"] == "0.160000 s"


def test_boxes_that_lie_are_passed_over(plain, tmp_path):
    data = plain.read_bytes()
    (track,) = read_tracks(plain)
    assert (track.id, track.samples, track.handler) == (1, 100, b"vide")
    path = tmp_path / "lie.mp4"
    for place in range(data.index(b"moov"), len(data) - 4, 11):
        path.write_bytes(data[:place] + b"\xff\xff\xff\xff" + data[place + 4 :])
        try:
            read_tracks(path)
        except BadInputError as error:
            assert "samples" in str(error)
