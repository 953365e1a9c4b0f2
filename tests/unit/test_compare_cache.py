# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames decoded ahead for the window: what a file holds, which are there, and what makes place for what."""

import json
import os
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("av")

from matchcut.evaluator.media.decode import SeekTable, pick, stream  # noqa: E402
from matchcut.evaluator.media.framecache import (  # noqa: E402
    cached_video,
    decode_ahead,
    frame_path,
    packed,
    unpacked,
)
from matchcut.evaluator.media.resize import resized  # noqa: E402
from matchcut.evaluator.media.scan import scan  # noqa: E402
from matchcut.evaluator.protocol.cache import cache_folder, forget_oldest  # noqa: E402
from matchcut.evaluator.protocol.errors import BadInputError  # noqa: E402
from matchcut.evaluator.protocol.messages import SilentReporter  # noqa: E402
from media_samples import pictures, write_video  # noqa: E402


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache of its own."""
    monkeypatch.setenv("MATCHCUT_CACHE_FOLDER", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def video(tmp_path):
    return write_video(tmp_path / "shot.mp4", pictures(30), rate=Fraction(24000, 1001), options={"g": "10"})


def ahead(video, longest=96, **options):
    cached = cached_video(video, longest)
    made = decode_ahead(video, cached, reporter=SilentReporter(), **options)
    return cached, made


def read(cached, frame):
    width, height = cached.size
    return unpacked(np.fromfile(frame_path(cached.folder, frame), "<f4").reshape(height, width))


def there(cached):
    return sorted(int(path.stem) for path in cached.folder.glob("[0-9]*.f32"))


def test_every_color_fits_a_float_exactly():
    values = np.arange(256, dtype=np.uint8)
    image = np.stack(np.meshgrid(values, values[::5], values[::17]), axis=-1).reshape(256, -1, 3)
    assert packed(image).dtype == np.float32
    assert (unpacked(packed(image)) == image).all()


def test_the_files_are_the_decoders_frames(video):
    cached, made = ahead(video)
    assert (made, cached.frames, cached.size, cached.rate) == (30, 30, (96, 64), Fraction(24000, 1001))
    for frame in stream(video):
        assert (read(cached, frame.index) == frame.image).all()


def test_a_larger_picture_is_scaled_and_a_smaller_one_is_not(video):
    cached, _ = ahead(video, longest=48)
    assert cached.size == (48, 32)
    assert (read(cached, 7) == resized(next(pick(video, [7])).image, (48, 32))).all()
    assert cached_video(video, 960).size == (96, 64)


def test_a_turned_video_is_cached_as_it_is_shown(tmp_path):
    turned = write_video(tmp_path / "turned.mp4", pictures(4), rotation=90)
    cached, _ = ahead(turned, longest=48)
    assert cached.size == (32, 48)
    assert (read(cached, 2) == resized(next(pick(turned, [2])).image, (32, 48))).all()


def test_a_second_run_decodes_nothing_and_a_gap_is_filled(video):
    ahead(video)
    cached, made = ahead(video)
    assert made == 0
    frame_path(cached.folder, 12).unlink()
    frame_path(cached.folder, 25).write_bytes(b"cut off by a power failure")
    cached, made = ahead(video, start=20)
    assert (made, there(cached)) == (2, list(range(30)))
    assert frame_path(cached.folder, 25).stat().st_size == 96 * 64 * 4


def test_the_playhead_comes_first(video):
    order = []

    class Reporter(SilentReporter):
        def progress(self, stage, done, total, text=""):
            order.append((done, total, there(cached)))

    cached = cached_video(video, 96)
    decode_ahead(video, cached, start=18, reporter=Reporter())
    assert order[0][2][0] == 18
    assert order[-1][:2] == (30, 30)


def test_each_nth_frame_alone(video):
    cached, made = ahead(video, every=8)
    assert (made, there(cached)) == (4, [0, 8, 16, 24])


def test_a_moved_video_finds_its_frames_and_another_of_its_name_does_not(video, tmp_path):
    cached, _ = ahead(video)
    moved = video.rename(tmp_path / "moved.mp4")
    assert cached_video(moved, 96).folder == cached.folder
    write_video(video, pictures(5, seed=2))
    other = cached_video(video, 96)
    assert other.folder != cached.folder and other.frames == 5


def test_of_a_long_video_the_frames_around_the_playhead_are_kept(video):
    room = 16 * 96 * 64 * 4
    cached, made = ahead(video, start=14, most_bytes=2 * room)
    assert (made, there(cached)) == (16, list(range(10, 26)))
    cached, made = ahead(video, start=29, most_bytes=2 * room)
    assert made == 4 and there(cached) == list(range(10, 30))


def test_the_oldest_files_make_place(tmp_path):
    for age, name in enumerate(("new", "middle", "old")):
        path = tmp_path / "frames" / name / "000000.f32"
        path.parent.mkdir(parents=True)
        path.write_bytes(bytes(100))
        os.utime(path, (1e9 - age, 1e9 - age))
    forget_oldest(tmp_path / "frames", 250)
    assert sorted(path.parent.name for path in tmp_path.rglob("*.f32")) == ["middle", "new"]
    forget_oldest(tmp_path / "nowhere", 0)


def test_another_videos_frames_go_first(video, tmp_path):
    other = write_video(tmp_path / "other.mp4", pictures(30, seed=5), options={"g": "10"})
    first, _ = ahead(other)
    for path in first.folder.glob("*.f32"):
        os.utime(path, (1e9, 1e9))
    cached, _ = ahead(video, most_bytes=40 * 96 * 64 * 4)
    assert len(there(cached)) == 20 and len(there(first)) < 20


def test_nobody_ever_sees_a_part_of_a_frame(video):
    cached, seen, done = cached_video(video, 96), [], threading.Event()

    def look():
        while not done.is_set():
            seen.extend(path.stat().st_size for path in cached.folder.glob("[0-9]*.f32"))

    watcher = threading.Thread(target=look)
    watcher.start()
    decode_ahead(video, cached, reporter=SilentReporter())
    done.set()
    watcher.join()
    assert set(seen) == {96 * 64 * 4}
    assert not list(cached.folder.glob(".partial*"))


def test_a_damaged_table_is_made_anew(video):
    cached, _ = ahead(video)
    table = cached.folder.parent / "seek.npz"
    for damage in (b"", b"no archive", table.read_bytes()[:-40]):
        table.write_bytes(damage)
        again = cached_video(video, 96)
        assert (again.frames, again.rate) == (30, Fraction(24000, 1001))
        assert (again.table.timestamps == cached.table.timestamps).all()


def test_a_kept_table_finds_the_same_frames(video):
    table = SeekTable.of(scan(video))
    expected = [frame.image for frame in stream(video)]
    for frame in pick(video, [3, 11, 28], table=table):
        assert (frame.image == expected[frame.index]).all()
    assert table.seekable


def test_a_frame_that_there_is_not_and_a_file_that_is_none(video, tmp_path):
    cached = cached_video(video, 96)
    with pytest.raises(BadInputError, match="frame 30 was asked for"):
        decode_ahead(video, cached, start=30, reporter=SilentReporter())
    with pytest.raises(BadInputError, match=r"missing\.mp4"):
        cached_video(tmp_path / "missing.mp4")
    with pytest.raises(BadInputError, match="16 to 8192"):
        cached_video(video, 4)


def test_the_command_tells_the_place_first(video, root, cache):
    command = [sys.executable, str(root / "__main__.py"), "decode", str(video), "--size", "48", "--messages"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    first = messages[0]
    assert first["type"] == "result"
    assert first["data"] == {"width": 48, "height": 32, "rate": "24000/1001", "frames": 30}
    assert Path(first["path"]).is_relative_to(cache / "frames")
    results = [message["data"] for message in messages if message["type"] == "result"]
    assert [result.get("decoded") for result in results] == [None, 30]
    assert messages[-1] == {"type": "done", "exit_status": 0}
    missing = subprocess.run([*command[:3], "nowhere.mp4"], capture_output=True, text=True, timeout=120, check=False)
    assert missing.returncode == 2
    assert missing.stderr.count("\n") == 1 and "nowhere.mp4" in missing.stderr


def test_the_cache_lies_where_the_others_do(cache):
    assert cache_folder("frames") == cache / "frames"
