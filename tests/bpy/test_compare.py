# SPDX-License-Identifier: GPL-3.0-or-later
"""Comparing with the reference, without a window: where it lies, which frame is due, what is decoded when."""

import threading
import time
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import bpy
import matchcut
import numpy as np
import pytest
from matchcut.addon import jobs
from matchcut.addon.sidebar.compare import (
    draw,
    feeds,
    filmstrip,
    follow,
    operators,
    reader,
    timings,
    wipe,
)
from matchcut.addon.sidebar.compare.feeds import Feed, Wanted
from matchcut.addon.sidebar.compare.placement import Rect, camera_frame, cropped_projection, place, seen
from matchcut.evaluator.protocol.messages import Message
from mathutils import Matrix, Vector

WIDTH, HEIGHT = 8, 6


@pytest.fixture
def scene():
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    matchcut.register()
    yield bpy.context.scene
    matchcut.unregister()


def until(told, seconds=20):
    end = time.monotonic() + seconds
    while not told():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


# where the picture lies


def test_a_picture_of_the_frames_shape_fills_it_and_another_keeps_its_own():
    frame = Rect(100.3, 50.7, 400, 225)
    assert frame.fitted(16 / 9) == frame
    assert frame.fitted(400.5 / 225) == frame, "half a pixel is no reason for bars"
    tall = frame.fitted(9 / 16)
    assert (tall.height, tall.x + tall.width / 2) == (225, pytest.approx(300.3))
    wide = frame.fitted(4)
    assert (wide.x, wide.width, wide.height) == (100.3, 400, 100)
    assert wide.y + 50 == pytest.approx(50.7 + 112.5)


def test_parts_and_halves():
    rect = Rect(10, 20, 200, 100)
    left, right = rect.halves(4)
    assert (left.x, left.right, right.x, right.right) == (10, 108, 112, 210)
    assert rect.part(Rect(60, 20, 100, 50)) == (0.25, 0.0, 0.75, 0.5)
    assert rect.within(Rect(0, 0, 50, 50)) == Rect(10, 20, 40, 30)
    assert rect.within(Rect(0, 0, 5, 5)).width == 0


def view_through(camera, region, scene, zoom=1.0, offset=(0.0, 0.0)):
    """A camera view as Blender makes it, with the view's own zoom and offset on top."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    projection = camera.calc_matrix_camera(depsgraph, x=region.width, y=region.height)
    view = Matrix.Diagonal(Vector((zoom, zoom, 1, 1))).to_4x4()
    view[0][3], view[1][3] = offset
    return SimpleNamespace(view_perspective="CAMERA", window_matrix=view @ projection)


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (720, 1280)])
def test_the_cameras_frame_is_found_in_the_views_own_projection(scene, width, height):
    scene.render.resolution_x, scene.render.resolution_y = width, height
    camera = scene.camera
    camera.data.shift_x, camera.data.shift_y = 0.1, -0.2
    camera.scale = (3, 3, 3)
    region = SimpleNamespace(width=width // 2, height=height // 2)
    space = SimpleNamespace(use_local_camera=False)
    found = camera_frame(region, space, view_through(camera, region, scene), scene)
    for value, expected in zip(
        (found.x, found.y, found.width, found.height), (0, 0, width / 2, height / 2), strict=True
    ):
        assert value == pytest.approx(expected, abs=0.01)
    zoomed = camera_frame(region, space, view_through(camera, region, scene, 0.5, (0.25, 0)), scene)
    assert zoomed.width == pytest.approx(width / 4, abs=0.01)
    assert zoomed.x == pytest.approx(width / 4 * 0.75, abs=0.01)


def test_without_a_camera_view_there_is_no_frame(scene):
    region = SimpleNamespace(width=640, height=360)
    view = view_through(scene.camera, region, scene)
    space = SimpleNamespace(use_local_camera=False)
    assert camera_frame(region, space, SimpleNamespace(view_perspective="PERSP"), scene) is None
    scene.camera = bpy.data.objects["Cube"]
    assert camera_frame(region, space, view, scene) is None
    scene.camera = None
    assert camera_frame(region, space, view, scene) is None


def test_what_lies_over_the_region_is_left_free():
    region = SimpleNamespace(x=100, y=50, width=800, height=600, type="WINDOW", alignment="NONE")

    def part(kind, side, x, y, width, height):
        return SimpleNamespace(type=kind, alignment=side, x=x, y=y, width=width, height=height)

    area = SimpleNamespace(
        regions=[
            region, part("HEADER", "TOP", 100, 624, 800, 26), part("TOOLS", "LEFT", 100, 50, 50, 574),
            part("UI", "RIGHT", 700, 50, 200, 574), part("HUD", "FLOAT", 160, 60, 200, 100),
            part("UI", "RIGHT", 2000, 50, 200, 574), part("ASSET_SHELF", "BOTTOM", 100, 50, 1, 1),
        ]
    )  # fmt: skip
    free = seen(area, region)
    assert (free.x, free.y, free.right, free.top) == (50, 0, 600, 574)
    space, view = SimpleNamespace(use_local_camera=False), SimpleNamespace(view_perspective="ORTHO")
    placed = place(area, region, space, view, SimpleNamespace(camera=None), 2.0, 1.0)
    assert (placed.x, placed.right) == (62, 588) and placed.height == placed.width / 2


def test_a_part_of_the_region_is_projected_alone():
    region, part = SimpleNamespace(width=400, height=200), Rect(100, 50, 200, 50)
    crop = cropped_projection(Matrix.Identity(4), region, part)
    for x, y, expected in ((100, 50, (-1, -1)), (300, 100, (1, 1)), (200, 75, (0, 0))):
        clip = crop @ Vector((x / 200 - 1, y / 100 - 1, 0, 1))
        assert tuple(clip.xy) == pytest.approx(expected)


def test_the_line_is_caught_where_it_is_seen():
    span = Rect(100, 100, 200, 200)
    assert wipe.is_near((203, 150), 200, span, 1.0)
    assert not wipe.is_near((208, 150), 200, span, 1.0)
    assert wipe.is_near((208, 200), 200, span, 1.0), "the handle is wider"
    assert wipe.is_near((209, 150), 200, span, 2.0)
    assert not wipe.is_near((200, 90), 200, span, 1.0)


# which frame is due


def feed_of(rate, frames=48, store=True):
    fake = SimpleNamespace(there=frozenset(), watched=True, identity=(1, 1), version=0)
    fake.want = fake.look = fake.open = fake.close = lambda *_: None
    fake.frame = fake.nearest = lambda *_: None
    place = reader.Store(Path("frames"), WIDTH, HEIGHT, frames) if store else None
    return Feed(Wanted(Path("shot.mp4"), 960), fake, store=place, rate=Fraction(rate))


def test_at_the_references_rate_frames_are_counted_alike():
    feed = feed_of("24000/1001")
    single = float(np.float32(1.001))  # as Blender keeps fps_base
    assert [feed.frame_at(frame, 101, 24 / single) for frame in (101, 125, 148)] == [0, 24, 47]
    assert feed.frame_at(100, 101, 24 / single) is None
    assert feed.frame_at(149, 101, 24 / single) is None


def test_at_another_rate_the_nearest_frame_by_time_is_due():
    assert [feed_of("24").frame_at(frame, 1, 12.0) for frame in (1, 2, 5)] == [0, 2, 8]
    assert [feed_of("24").frame_at(frame, 0, 30.0) for frame in range(6)] == [0, 1, 2, 2, 3, 4]
    assert feed_of("24", store=False).frame_at(1, 1, 24.0) is None


def test_a_picture_is_named_by_the_frame_of_the_timeline_that_it_belongs_to(monkeypatch):
    scene = bpy.context.scene
    scene.frame_start, scene.frame_current = 101, 108
    scene.render.fps, scene.render.fps_base = 24, 1.0
    feed = feed_of("24")
    monkeypatch.setattr(feeds, "find", lambda wanted: feed)
    for held, label in ((7, "Reference 108"), (5, "Reference 106 · decoding")):
        monkeypatch.setattr(Feed, "texture", lambda self, frame, held=held: (held, object()))
        assert draw._video(scene, feed.wanted, "Reference").label == label
    assert feed_of("24").scene_frame(8, 1, 12.0) == 5


# what is decoded when


@pytest.fixture
def started(monkeypatch):
    """The commands that feeds start, as [(start frame, job)]."""
    made = []

    def start_quiet(key, arguments, finish, heard=None):
        job = SimpleNamespace(state="running", error="", finish=finish, heard=heard)
        made.append((int(arguments[arguments.index("--start") + 1]), job))
        return job

    monkeypatch.setattr(jobs, "start_quiet", start_quiet)
    monkeypatch.setattr(jobs, "stop_quiet", lambda key: None)
    monkeypatch.setattr(feeds, "RESTART_SECONDS", -1.0)
    return made


def test_decoding_begins_at_the_playhead_and_is_not_disturbed_by_playing(started):
    feed = feed_of("24", frames=400, store=False)
    feed.follow(30)
    feed.follow(31)
    assert [start for start, _ in started] == [30]
    data = {"width": WIDTH, "height": HEIGHT, "rate": "24/1", "frames": 400}
    started[0][1].heard(Message("result", path="frames", data=data))
    assert feed.store == reader.Store(Path("frames"), WIDTH, HEIGHT, 400)
    feed.reader.there = frozenset(range(30, 60))
    for frame in (32, 59, 61, 80):
        feed.follow(frame)
    assert [start for start, _ in started] == [30], "what is about to come is waited for"


def test_a_jump_elsewhere_starts_again_there(started):
    feed = feed_of("24", frames=400)
    feed.follow(0)
    feed.reader.there = frozenset(range(40))
    feed.follow(300)
    feed.follow(301)
    assert [start for start, _ in started] == [0, 300]
    feed.reader.there |= frozenset(range(300, 320))
    feed.follow(10)
    assert [start for start, _ in started] == [0, 300], "those frames are there"


def test_once_all_is_there_nothing_runs_and_a_dropped_frame_is_fetched(started):
    feed = feed_of("24", frames=100)
    feed.follow(0)
    started[0][1].state = "done"
    feed.reader.there = frozenset(range(100))
    for frame in (0, 50, 99):
        feed.follow(frame)
    assert len(started) == 1
    feed.reader.there -= {70}
    feed.follow(60)
    assert [start for start, _ in started] == [0, 70]
    started[1][1].state = "done"
    started[1][1].finish([Message("result", path="frames", data={"decoded": 0})])
    feed.follow(60)
    assert len(started) == 2, "what a run did not bring the next one does not either"


def test_a_cache_that_was_emptied_is_filled_again(started):
    feed = feed_of("24", frames=100)
    feed.follow(9)
    started[0][1].state = "done"
    started[0][1].finish([Message("result", path="frames", data={"decoded": 0})])
    feed.reader.there = frozenset(range(100))
    feed.follow(9)
    feed.reader.there = frozenset()
    feed.follow(9)
    assert [start for start, _ in started] == [9, 9]


def test_a_video_that_cannot_be_decoded_is_not_tried_for_ever(started):
    feed = feed_of("24", store=False)
    feed.follow(0)
    started[0][1].heard(Message("error", text="shot.mp4: no frame can be decoded"))
    started[0][1].state = "failed"
    for _ in range(3):
        feed.follow(0)
    assert len(started) == 1
    assert follow.problem(feed, "Reference") == "shot.mp4: no frame can be decoded"


def test_a_moved_file_is_told_of_and_a_replaced_one_is_decoded_anew(started):
    feed = feed_of("24")
    feed.follow(0)
    feed.reader.there = frozenset(range(48))
    feed.reader.identity = None
    feed.follow(5)
    assert "not where it was" in follow.problem(feed, "Reference")
    assert len(started) == 1 and feed.store is not None
    feed.reader.identity = (1, 1)
    feed.follow(5)
    assert follow.problem(feed, "Reference") == "" and len(started) == 1
    feed.reader.identity = (2, 2)
    feed.follow(5)
    assert len(started) == 2 and feed.store is None


def test_a_file_that_never_was_is_not_decoded(started):
    feed = feed_of("24", store=False)
    feed.reader.identity = None
    feed.follow(0)
    assert started == []
    assert follow.problem(feed, "Reference") == "shot.mp4 is not there; pick it again"
    feed.reader.identity = (3, 3)
    feed.follow(0)
    assert len(started) == 1 and follow.problem(feed, "Reference") == ""


# the thread that reads


def write(folder, frame, size=WIDTH * HEIGHT):
    np.full(size, frame, "<f4").tofile(folder / f"{frame:06d}.f32")


@pytest.fixture
def reading(tmp_path):
    video = tmp_path / "shot.mp4"
    video.write_bytes(b"a video")
    for frame in range(10):
        write(tmp_path, frame)
    made = reader.FrameReader(video)
    yield made, reader.Store(tmp_path, WIDTH, HEIGHT, 10)
    made.close()


def test_frames_come_in_the_order_that_they_are_wanted(reading):
    made, store = reading
    made.want([4, 5])
    assert made.frame(4) is None and made.nearest(4) is None
    made.open(store)
    until(lambda: made.frame(5) is not None)
    assert (made.frame(4) == 4).all() and made.frame(4).size == WIDTH * HEIGHT
    assert made.there == frozenset(range(10))
    assert (made.nearest(0), made.nearest(9), made.frame(9)) == (4, 5, None)


def test_a_part_of_a_frame_is_none(reading):
    made, store = reading
    write(store.folder, 3, size=7)
    (store.folder / ".partial-abcdefgh.f32").write_bytes(b"")
    made.open(store)
    made.want([3, 4])
    until(lambda: made.frame(4) is not None)
    assert made.frame(3) is None and 3 not in made.there


def test_memory_is_bounded_and_what_is_wanted_stays(reading, monkeypatch):
    made, store = reading
    monkeypatch.setattr(reader, "MEMORY", 5 * WIDTH * HEIGHT * 4)
    made.open(store)
    for frame in range(10):
        made.want([frame])
        until(lambda frame=frame: made.frame(frame) is not None)
    held = [frame for frame in range(10) if made.frame(frame) is not None]
    assert len(held) <= 5 and 9 in held


def test_a_changed_and_a_vanished_video_are_seen(reading, monkeypatch):
    monkeypatch.setattr(reader, "WATCH_SECONDS", 0.05)
    made, store = reading
    video = store.folder / "shot.mp4"
    made.look()
    until(lambda: made.watched and made.identity is not None)
    before = made.identity
    video.write_bytes(b"a longer video")
    until(lambda: made.identity != before)
    video.unlink()
    until(lambda: made.identity is None)


def test_a_closed_reader_ends_its_thread(reading):
    made, _ = reading
    made.close()
    until(lambda: not made._thread.is_alive())


# the scene, and what is left behind


def test_the_settings_are_saved_with_the_file(scene, tmp_path):
    compare = scene.matchcut.compare
    assert (compare.show, compare.mode, compare.source, compare.size) == (False, "WIPE", "VIEWPORT", "960")
    compare.mode, compare.wipe, compare.filmstrip, compare.interval = "ONION", 0.25, True, 2.0
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "kept.blend"))
    compare.mode = "WIPE"
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "kept.blend"))
    compare = bpy.context.scene.matchcut.compare
    assert (compare.mode, compare.wipe, compare.filmstrip, compare.interval) == ("ONION", 0.25, True, 2.0)


def test_commands_go_through_the_modes_and_can_be_undone(scene):
    with pytest.raises(RuntimeError, match="poll"):
        bpy.ops.matchcut.compare()
    scene.matchcut.reference.path = "//shot.mp4"
    bpy.ops.ed.undo_push(message="base")
    bpy.ops.matchcut.compare()
    assert scene.matchcut.compare.show
    bpy.ops.ed.undo_push(message="shown")
    modes = []
    for _ in operators.MODE_ITEMS:
        bpy.ops.matchcut.compare_mode()
        modes.append(bpy.context.scene.matchcut.compare.mode)
    assert sorted(modes) == sorted(item[0] for item in operators.MODE_ITEMS) and modes[-1] == "WIPE"
    bpy.ops.matchcut.compare_mode(backwards=True)
    assert bpy.context.scene.matchcut.compare.mode == "FLICKER"
    bpy.ops.ed.undo_push(message="flicker")
    bpy.ops.ed.undo()
    assert bpy.context.scene.matchcut.compare.mode == "WIPE"
    bpy.ops.ed.undo()
    assert not bpy.context.scene.matchcut.compare.show


def test_there_is_nothing_to_swap_before_a_render(scene):
    scene.matchcut.reference.path = "//shot.mp4"
    with pytest.raises(RuntimeError, match="poll"):
        bpy.ops.matchcut.compare_source()
    scene.matchcut.render.video = "//render.mp4"
    bpy.ops.matchcut.compare_source()
    assert scene.matchcut.compare.source == "RENDER"


def test_cuts_are_where_shots_begin(scene):
    assert filmstrip.cuts_of(scene) == []
    if hasattr(scene.matchcut.reference, "shots"):
        for first, last in ((0, 15), (16, 23), (24, 47)):
            shot = scene.matchcut.reference.shots.add()
            shot.first, shot.last = first, last
        assert filmstrip.cuts_of(scene) == [16, 24]
    assert filmstrip.cuts_of(SimpleNamespace(matchcut=SimpleNamespace(reference=SimpleNamespace()))) == []


def test_a_long_references_strip_takes_few_pictures(scene):
    reference = scene.matchcut.reference
    reference.path = reference.read_path = "//shot.mp4"
    for frames, every in ((48, 1), (400, 1), (401, 2), (7200, 18)):
        reference.frames = frames
        assert follow.strip_wanted(scene).every == every


def test_slices_are_counted_and_blenders_own_are_apart(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(timings.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(timings.time, "thread_time", lambda: clock[0] / 2)
    timings.forget()
    for seconds in (1.0, 2.0, 9.0):
        with timings.measured("draw"):
            clock[0] += seconds
            with timings.measured("viewport"):
                clock[0] += 100.0
    told = timings.timings()
    assert told["draw"] == {
        "count": 3, "median": 2.0, "p99": 9.0, "longest": 9.0, "cpu_median": 1.0, "cpu_p99": 4.5, "cpu_longest": 4.5,
    }  # fmt: skip
    assert told["viewport"]["longest"] == 100.0
    timings.forget()
    assert timings.timings() == {}


def test_switching_off_ends_the_threads(scene, tmp_path):
    (tmp_path / "shot.mp4").write_bytes(b"a video")
    feeds.feed(Wanted(tmp_path / "shot.mp4", 960))
    assert [thread for thread in threading.enumerate() if thread.name == "matchcut frames"]
    matchcut.unregister()
    try:
        until(lambda: not [thread for thread in threading.enumerate() if thread.name == "matchcut frames"])
        assert feeds._feeds == {} and not bpy.app.timers.is_registered(follow._tick)
    finally:
        matchcut.register()
