# SPDX-License-Identifier: GPL-3.0-or-later
"""The real clips' right values, row by row of the table beside them, and what people report of rates and counts."""

import subprocess
from dataclasses import dataclass
from fractions import Fraction

import imageio_ffmpeg
import numpy as np
import pytest
from matchcut.evaluator.media.check import check_timeline
from matchcut.evaluator.media.encode import check_size
from matchcut.evaluator.media.probe import probe
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.protocol.timeline import Timeline
from matchcut.evaluator.shots.detect import detect_shots
from media_samples import pictures, write_video

NTSC = Fraction(30000, 1001)
FILM = Fraction(24000, 1001)
PHONE = Fraction(750000, 71393)  # 25 frames in 2.3798 s


@dataclass(frozen=True)
class Row:
    """Right values of one clip; `said` are parts of its warnings, and without any there is none."""

    name: str
    size: tuple[int, int]
    rate: Fraction
    frames: int
    constant: bool = True
    said: tuple[str, ...] = ()
    facts: dict[str, object] | None = None
    cuts: list[int] | None = None


ROWS = [
    Row("bigbuckbunny.mp4", (1280, 720), Fraction(25), 132, facts={"seconds": 5.28, "container_seconds": 5.312}),
    Row("carphone_pristine.mp4", (193, 144), NTSC, 120, facts={"coded_width": 176, "pixel_aspect": "128:117"}),
    Row("carphone_distorted.mp4", (193, 144), NTSC, 120, facts={"coded_width": 176, "pixel_aspect": "128:117"}),
    Row("bedroom.mp4", (960, 540), Fraction(30), 200),
    Row("03_blocks.mp4", (1280, 720), NTSC, 292),
    Row("Tokyo-Walk_rgb.mp4", (1280, 720), Fraction(15), 195),
    Row(
        "nasa_13013.mp4", (320, 180), Fraction(25), 325, said=("other video streams", "480x270", "30000/1001 fps"),
        facts={"seconds": 13.0, "header_seconds": 13.0, "container_seconds": 16.57}, cuts=[127, 202],
    ),
    Row("smpte-2997.mp4", (1920, 1080), Fraction(25), 251),
    Row(
        "fire2.mp4", (1280, 720), PHONE, 25, constant=False, said=("rate varies",),
        facts={"rotation_deg": 180, "rate_source": "average_rate", "seconds": 2.379767},
    ),
    Row(
        "no_duration.webm", (1280, 720), Fraction(15000, 1001), 74, constant=False, said=("stray",),
        facts={"header_frames": None, "header_seconds": None, "container_seconds": None, "seconds": 4.938733},
    ),
    Row("pigs_in_a_polka.gif", (314, 273), Fraction(10), 30, facts={"seconds": 3.0}),
    Row(
        "sample.avi", (960, 400), FILM, 96, constant=False, said=("1 hole", "0.125 s", "between frames 0 and 1"),
        facts={"header_frames": 98, "damage": None},
    ),
    Row(
        "sample_edit_list_only_preroll_sync_sample.mp4", (640, 360), Fraction(23040000, 767849), 16,
        facts={"header_frames": 17, "hidden_frames": 1, "damage": None},
    ),
    Row("sample_portrait.mp4", (720, 1080), NTSC, 30),
    Row(
        "sample_with_color_info.mp4", (1080, 1920), Fraction(30), 9, said=("HLG",),
        facts={"codec": "hevc", "bit_depth": 10, "coded_width": 1920, "coded_height": 1080, "rotation_deg": 90},
    ),
    Row("sar_2x1.mp4", (1280, 360), Fraction(30), 150, facts={"coded_width": 640, "pixel_aspect": "2:1"}),
    Row("video_0.mov", (568, 320), Fraction(30), 3, facts={"rotation_deg": 0}),
    Row("video_90.mov", (320, 568), Fraction(30), 3, facts={"rotation_deg": 90}),
    Row("video_180.mov", (568, 320), Fraction(30), 3, facts={"rotation_deg": 180}),
    Row("video_270.mov", (320, 568), Fraction(30), 3, facts={"rotation_deg": 270}),
    Row("truncated_bedroom.mp4", (0, 0), Fraction(1), 0, said=("cannot be opened", "truncated_bedroom.mp4")),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_a_row_of_the_table(media, row):
    path = media / row.name
    if not row.frames:
        with pytest.raises(BadInputError) as caught:
            probe(path)
        assert all(part in str(caught.value) for part in row.said) and "\n" not in str(caught.value)
        return
    if row.cuts is not None:
        assert detect_shots(path, reporter=SilentReporter()).cuts == row.cuts
    info = probe(path)
    timeline = info.timeline
    assert ((timeline.width, timeline.height), timeline.rate, timeline.frames) == (row.size, row.rate, row.frames)
    assert info.constant_rate is row.constant
    assert info.start_seconds == 0
    for name, value in (row.facts or {}).items():
        assert getattr(info, name) == (pytest.approx(value, abs=1e-5) if isinstance(value, float) else value), name
    text = " / ".join(info.warnings)
    assert all(part in text for part in row.said)
    assert len(info.warnings) == bool(row.said)


def test_every_real_clip_has_its_row(media):
    names = {path.name for path in media.iterdir() if path.suffix != ".md"}
    assert names == {row.name for row in ROWS}


def test_what_the_files_say_beyond_the_table(media):
    nasa = probe(media / "nasa_13013.mp4")
    assert [words.split(":")[0] for words in nasa.other_streams] == [
        "audio", "subtitles", "video", "audio", "subtitles"
    ]  # fmt: skip
    hole = probe(media / "sample.avi").holes
    assert [(found.frame, found.missing) for found in hole] == [(0, 2)]
    assert hole[0].seconds == pytest.approx(0.125, abs=0.001)
    colour = probe(media / "sample_with_color_info.mp4").colour
    assert (colour.range, colour.primaries, colour.transfer, colour.matrix, colour.assumed) == (
        "limited", "bt2020", "arib-std-b67", "bt2020nc", {}
    )  # fmt: skip
    untagged = probe(media / "sample.avi").colour
    assert untagged.matrix == "unspecified" and untagged.assumed["matrix"] == "smpte170m"
    assert probe(media / "fire2.mp4").colour.assumed["matrix"] == "bt709"
    (edit,) = probe(media / "sample_edit_list_only_preroll_sync_sample.mp4").edits
    assert (edit.start_seconds, edit.seconds) == (pytest.approx(0.033327, abs=1e-6), pytest.approx(0.533))
    with pytest.raises(BadInputError, match="314x273 is odd"):
        check_size(314, 273, "pigs_in_a_polka.gif")


# --- what people report, numbers 1 to 3 -----------------------------------------------------------------------------


def ffmpeg(*arguments, pixels):
    """Run the ffmpeg program with raw RGB pictures on its standard input."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y", *map(str, arguments)]
    subprocess.run(command, input=np.stack(pixels).tobytes(), check=True, timeout=60)


RAW = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", "48x32")


def verdicts(reference, reconstruction):
    check = check_timeline(probe(reference), probe(reconstruction), reporter=SilentReporter())
    return {comparison.name: comparison.agrees for comparison in check.comparisons}


def test_1_24_for_24000_1001_fails_the_rate_and_the_duration_and_not_the_count(tmp_path):
    images = pictures(240, width=48, height=32)
    reference = write_video(tmp_path / "film.mp4", images, rate=FILM)
    whole = write_video(tmp_path / "24.mp4", images, rate=Fraction(24))
    assert verdicts(reference, whole) == {"resolution": True, "rate": False, "frames": True, "duration": False}
    rounded = tmp_path / "23.976.mp4"
    ffmpeg(*RAW, "-framerate", "23.976", "-i", "-", "-pix_fmt", "yuv420p", rounded, pixels=images)
    info = probe(rounded)
    assert info.timeline.rate == Fraction(2997, 125)
    apart = float(abs(info.timeline.duration - probe(reference).timeline.duration))
    assert apart == pytest.approx(10e-6, abs=1e-6)
    assert all(verdicts(reference, rounded).values())


@pytest.mark.parametrize(("rate", "fps"), [(FILM, 24), (NTSC, 30), (Fraction(45000, 1499), 30), (PHONE, 11)])
def test_2_blender_is_given_a_whole_rate_and_an_exact_base(rate, fps):
    timeline = Timeline(96, 64, rate, 10)
    assert timeline.fps == fps
    assert Fraction(timeline.fps) / timeline.fps_base == rate


def test_3_a_rate_after_the_input_makes_up_frames_and_the_count_says_so(tmp_path):
    images = pictures(30, width=48, height=32)
    reference = write_video(tmp_path / "given.mp4", images, rate=Fraction(30))
    after, before = tmp_path / "after.mp4", tmp_path / "before.mp4"
    ffmpeg(*RAW, "-r", "24", "-i", "-", "-r", "30", "-pix_fmt", "yuv420p", after, pixels=images)
    ffmpeg(*RAW, "-r", "30", "-i", "-", "-pix_fmt", "yuv420p", before, pixels=images)
    assert probe(after).timeline.frames in (37, 38)
    assert verdicts(reference, after) == {"resolution": True, "rate": True, "frames": False, "duration": False}
    assert probe(before).timeline == probe(reference).timeline
    assert all(verdicts(reference, before).values())
