# SPDX-License-Identifier: GPL-3.0-or-later
"""The Reference panel's work: reading, what became of the file, conforming, the camera's background, shot cameras."""

import json
import os
import shutil
import sys
import textwrap
from pathlib import Path

import bpy
import matchcut
import pytest
from matchcut.addon import jobs
from matchcut.addon.sidebar.match_camera.apply import add_camera
from matchcut.addon.sidebar.paths import absolute
from matchcut.addon.sidebar.reference import background, conform, read, shots, watch
from matchcut.addon.sidebar.reference.file import reference_file
from matchcut.addon.timeline import off_timeline
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.timeline import Timeline

VIDEO = {
    "timeline": {"width": 320, "height": 192, "rate": "24000/1001", "frames": 48},
    "constant_rate": False,
    "mirrored": False,
    "warnings": ["the frame rate varies", "high dynamic range (PQ) is shown without tone mapping"],
    "conform": ["the frame rate varies", "the picture is stored turned by 90°"],
    "shots": {"cuts": [20, 30], "intervals": [[0, 19], [20, 29], [30, 47]]},
}
GOOD = {**VIDEO, "constant_rate": True, "warnings": [], "conform": []}

EVALUATOR = """
import json, sys
from pathlib import Path
here, arguments = Path(__file__).parent, sys.argv[1:]
with (here / "asked.jsonl").open("a") as asked:
    asked.write(json.dumps(arguments) + chr(10))
def say(**fields):
    print(json.dumps(fields), flush=True)
if arguments[0] == "probe":
    if "--picture" in arguments:
        say(type="result", path=arguments[arguments.index("--picture") + 1], data={"size": [320, 192]})
    data = json.loads((here / "video.json").read_text())
    for text in data["warnings"]:
        say(type="warning", text=text)
    say(type="result", data=data)
elif arguments[0] == "conform":
    out = Path(arguments[3])
    if (here / "full").exists():
        say(type="error", text=f"{out}: No space left on device")
        sys.exit(3)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(b"conformed " + Path(arguments[1]).read_bytes())
    (here / "video.json").write_text(json.dumps(GOOD))
    say(type="result", path=str(out), data={})
say(type="done", exit_status=0)
"""


@pytest.fixture
def scene(tmp_path, monkeypatch):
    """A fresh scene, Matchcut registered, the stand-in in the evaluator's place, a reference picked but not read."""
    script = tmp_path / "tool" / "evaluator.py"
    script.parent.mkdir()
    script.write_text(f"GOOD = {GOOD!r}\n{textwrap.dedent(EVALUATOR)}")
    say(tmp_path, VIDEO)
    monkeypatch.setattr(jobs, "find_evaluator", lambda: [sys.executable, str(script)])
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    matchcut.register()
    (tmp_path / "reference.mp4").write_bytes(b"a video")
    bpy.context.scene.matchcut.reference.path = str(tmp_path / "reference.mp4")
    yield bpy.context.scene
    matchcut.unregister()


def say(tmp_path, video):
    (tmp_path / "tool" / "video.json").write_text(json.dumps(video))


def asked(tmp_path):
    return [json.loads(line) for line in (tmp_path / "tool" / "asked.jsonl").read_text().splitlines()]


def state(scene):
    reference = scene.matchcut.reference
    return reference.known, reference.state


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    """Videos written by Blender: 48 frames of 320×192 and of 192×320, at 24000/1001."""
    folder = tmp_path_factory.mktemp("videos")
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.cycles.samples = 1
    scene.render.fps, scene.render.fps_base, scene.frame_end = 24, 1.001, 48
    editor = scene.sequence_editor_create()
    strip = editor.strips.new_effect("colour", "COLOR", 1, 1, length=48)
    strip.color = (0.2, 0.5, 0.1)
    settings = scene.render.image_settings
    settings.media_type, settings.file_format = "VIDEO", "FFMPEG"
    scene.render.ffmpeg.format, scene.render.ffmpeg.codec = "MPEG4", "H264"
    made = {}
    for name, size in (("wide", (320, 192)), ("tall", (192, 320))):
        scene.render.resolution_x, scene.render.resolution_y, scene.render.resolution_percentage = *size, 100
        scene.render.filepath = str(folder / f"{name}.mp4")
        bpy.ops.render.render(animation=True)
        made[name] = folder / f"{name}.mp4"
    return made


@pytest.fixture
def shown(scene, videos, tmp_path):
    """The scene with a real video as its reference, read, and no oddities."""
    say(tmp_path, GOOD)
    shutil.copy(videos["wide"], tmp_path / "wide.mp4")
    scene.matchcut.reference.path = str(tmp_path / "wide.mp4")
    bpy.ops.matchcut.read_reference()
    return scene


def test_a_reference_is_read_with_its_shots_and_what_conform_would_mend(scene, tmp_path):
    assert bpy.ops.matchcut.read_reference() == {"FINISHED"}
    reference = scene.matchcut.reference
    assert asked(tmp_path)[0][:3] == ["probe", str(tmp_path / "reference.mp4"), "--shots"]
    assert reference.known and reference.timeline().frames == 48
    assert [(shot.first, shot.last) for shot in reference.shots] == [(0, 19), (20, 29), (30, 47)]
    assert [(line.section, line.text) for line in reference.warnings] == [
        ("", VIDEO["warnings"][1]), ("conform", VIDEO["conform"][0]), ("conform", VIDEO["conform"][1]),
    ]  # fmt: skip
    assert reference.misplaced, "Blender holds frames where the rate varies"
    assert jobs.last().warnings == [], "they stand beside the reference"
    say(tmp_path, GOOD)
    bpy.ops.matchcut.read_reference()
    assert not reference.misplaced and len(reference.warnings) == 0 and len(reference.shots) == 3


def test_what_was_read_outlives_undo_and_a_file_that_is_saved_elsewhere(scene, tmp_path):
    bpy.ops.ed.undo_push(message="before")
    bpy.ops.matchcut.read_reference()
    bpy.ops.mesh.primitive_cube_add()
    bpy.ops.ed.undo_push(message="cube")
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / folder / "a.blend"))
        assert state(scene) == (True, "same"), folder
    bpy.ops.ed.undo()
    scene = bpy.context.scene
    assert len(scene.matchcut.reference.shots) == 3 and state(scene) == (True, "same")
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "two" / "a.blend"))
    scene = bpy.context.scene
    assert state(scene) == (True, "same") and reference_file(scene) == tmp_path / "reference.mp4"
    assert len(scene.matchcut.reference.shots) == 3


def test_a_folder_that_is_moved_with_its_reference_needs_no_reading(scene, tmp_path):
    bpy.ops.matchcut.read_reference()
    (tmp_path / "a").mkdir()
    shutil.copy(tmp_path / "reference.mp4", tmp_path / "a" / "reference.mp4")
    scene.matchcut.reference.path = str(tmp_path / "a" / "reference.mp4")
    assert state(scene) == (True, "same"), "the same content, at another time and place"
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "a" / "shot.blend"))
    shutil.copytree(tmp_path / "a", tmp_path / "b", copy_function=shutil.copyfile)
    shutil.rmtree(tmp_path / "a")
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "b" / "shot.blend"))
    assert reference_file(bpy.context.scene) == tmp_path / "b" / "reference.mp4"
    assert state(bpy.context.scene) == (True, "same")
    assert len(asked(tmp_path)) == 1


def test_a_file_that_is_gone_or_another_one_is_no_known_reference(scene, tmp_path):
    file = tmp_path / "reference.mp4"
    bpy.ops.matchcut.read_reference()
    reference = scene.matchcut.reference
    for spoil, found in ((lambda: file.unlink(), "missing"), (lambda: file.write_bytes(b"a longer one"), "changed")):
        before = state(scene)
        spoil()
        assert state(scene) == before, "a file was touched to draw"
        watch.look(file, reference.read_mark)
        assert state(scene) == (False, found)
    for operator in (bpy.ops.matchcut.score, bpy.ops.matchcut.render):
        with pytest.raises(RuntimeError, match=r"reference\.mp4: it is another video than was read; press Read Again"):
            operator()
    assert not bpy.ops.matchcut.match_timeline.poll() and not bpy.ops.matchcut.make_shot_cameras.poll()
    file.write_bytes(b"b video")  # as long as the first one
    with pytest.raises(BadInputError, match="another video"):
        reference_file(scene)
    file.write_bytes(b"a video")
    assert reference_file(scene) == file and state(scene) == (True, "same")
    file.write_bytes(b"b video")
    bpy.ops.matchcut.read_reference()
    assert state(scene) == (True, "same") and reference_file(scene) == file


def test_what_is_no_file_is_one_line(scene, tmp_path):
    with pytest.raises(RuntimeError, match=r"none\.mp4: there is no such file"):
        bpy.ops.matchcut.pick_reference(filepath=str(tmp_path / "none.mp4"))
    scene.matchcut.reference.path = str(tmp_path)
    with pytest.raises(RuntimeError, match="cannot be read"):
        bpy.ops.matchcut.read_reference()
    scene.matchcut.reference.path = ""
    assert not bpy.ops.matchcut.read_reference.poll() and not bpy.ops.matchcut.conform_reference.poll()
    assert not bpy.ops.matchcut.show_in_camera.poll() and not bpy.ops.matchcut.use_original.poll()


def test_a_video_that_is_picked_or_dropped_is_the_scenes(scene, tmp_path):
    (tmp_path / "other.mov").write_bytes(b"other")
    assert bpy.ops.matchcut.pick_reference("INVOKE_DEFAULT", filepath=str(tmp_path / "other.mov")) == {"FINISHED"}
    assert absolute(scene.matchcut.reference.path) == tmp_path / "other.mov"
    handler = bpy.types.MATCHCUT_FH_reference
    assert handler.bl_import_operator == "matchcut.pick_reference" and ".mov" in handler.bl_file_extensions


def test_conform_picks_its_copy_and_can_be_undone(scene, tmp_path):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    original = tmp_path / "reference.mp4"
    bpy.ops.matchcut.read_reference()
    bpy.ops.ed.undo_push(message="read")
    bpy.ops.matchcut.conform_reference()
    reference = scene.matchcut.reference
    out = tmp_path / "matchcut" / "reference-conformed.mp4"
    assert asked(tmp_path)[1][:4] == ["conform", str(original), "--out", str(out)]
    assert reference.path == "//matchcut/reference-conformed.mp4" and absolute(reference.original) == original
    assert reference.known and conform.is_conformed(reference) and len(reference.warnings) == 0
    assert original.read_bytes() == b"a video"
    bpy.ops.ed.undo()
    reference = bpy.context.scene.matchcut.reference
    assert absolute(reference.path) == original and reference.known and len(reference.warnings) == 3
    bpy.ops.ed.redo()
    reference = bpy.context.scene.matchcut.reference
    assert absolute(reference.path) == out and reference.known and len(reference.warnings) == 0
    bpy.ops.matchcut.use_original()
    assert absolute(reference.path) == original and not conform.is_conformed(reference)
    bpy.ops.matchcut.conform_reference()
    assert absolute(reference.path) == out.with_name("reference-conformed-2.mp4"), "a copy was written over"


def test_a_conform_that_fails_leaves_the_reference(scene, tmp_path):
    (tmp_path / "tool" / "full").touch()
    with pytest.raises(RuntimeError, match="No space left"):
        bpy.ops.matchcut.conform_reference()
    assert absolute(scene.matchcut.reference.path) == tmp_path / "reference.mp4"
    assert scene.matchcut.reference.original == ""
    assert asked(tmp_path)[0][3] == str(tmp_path / "reference-conformed.mp4"), "a scene without a file has no folder"


def test_what_keeps_the_scene_off_the_timeline(scene):
    bpy.ops.matchcut.read_reference()
    timeline = scene.matchcut.reference.timeline()
    scene.camera = None
    assert len(off_timeline(scene, timeline)) == 3, "size, rate and range"
    bpy.ops.matchcut.match_timeline()
    assert off_timeline(scene, timeline) == []
    assert off_timeline(scene, Timeline(320, 192, timeline.rate, 47)) != []


def test_the_reference_is_shown_in_every_camera_once(shown, tmp_path):
    scene = shown
    scene.frame_start = 11
    other = bpy.data.objects.new("Other", bpy.data.cameras.new("Other"))
    scene.collection.objects.link(other)
    scene.timeline_markers.new("b", frame=30).camera = other
    scene.matchcut.reference.opacity = 0.9
    assert scene.matchcut.reference.opacity == 0.5, "there is nothing yet that has one"
    bpy.ops.ed.undo_push(message="before")
    bpy.ops.matchcut.show_in_camera()
    (clip,) = bpy.data.movieclips
    assert (clip.frame_start, tuple(clip.size), clip.frame_duration) == (11, (320, 192), 48)
    for data in (scene.camera.data, other.data):
        (one,) = data.background_images
        assert (one.source, one.clip, one.display_depth, one.frame_method) == ("MOVIE_CLIP", clip, "FRONT", "FIT")
        assert data.show_background_images and one.show_background_image and one.alpha == 0.5
    reference = scene.matchcut.reference
    reference.opacity, reference.in_front = 0.25, False
    assert {data.background_images[0].alpha for data in (scene.camera.data, other.data)} == {0.25}
    bpy.ops.matchcut.show_in_camera()
    assert background.shown(scene) is None
    bpy.ops.matchcut.show_in_camera()
    found = background.shown(scene)
    assert found is not None and found.alpha == 0.25 and found.display_depth == "BACK", "how it was shown was lost"
    assert len(bpy.data.movieclips) == 1 and len(other.data.background_images) == 1
    scene.frame_start = 21
    assert not background.is_current(scene, background.shown(scene))
    bpy.ops.matchcut.show_in_camera()
    assert background.is_current(scene, background.shown(scene))
    assert [clip.frame_start for clip in bpy.data.movieclips] == [21], "the clip of the former start was left behind"


def test_the_background_is_undone_and_saved_with_a_relative_path(shown, tmp_path):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bpy.ops.ed.undo_push(message="before")
    bpy.ops.matchcut.show_in_camera()
    bpy.ops.ed.undo_push(message="shown")
    bpy.ops.ed.undo()
    assert len(bpy.context.scene.camera.data.background_images) == 0 and background.shown(bpy.context.scene) is None
    bpy.ops.ed.redo()
    assert background.shown(bpy.context.scene) is not None
    assert bpy.data.movieclips[0].filepath == "//wide.mp4"
    bpy.ops.wm.save_mainfile()
    (tmp_path / "shot.blend").rename(tmp_path / "moved.blend")
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "moved.blend"))
    scene = bpy.context.scene
    assert background.is_current(scene, background.shown(scene))


def test_an_artists_own_clip_and_background_are_left_alone(shown, tmp_path):
    scene = shown
    own = bpy.data.movieclips.load(str(tmp_path / "wide.mp4"))
    own.frame_start = 5
    theirs = scene.camera.data.background_images.new()
    theirs.source, theirs.clip, theirs.alpha = "MOVIE_CLIP", own, 1.0
    bpy.ops.matchcut.show_in_camera()
    assert own.frame_start == 5 and theirs.clip == own and theirs.alpha == 1.0
    assert len(scene.camera.data.background_images) == 2 and len(bpy.data.movieclips) == 2
    bpy.ops.matchcut.show_in_camera()
    assert theirs.show_background_image


def test_another_shape_fills_the_frame_and_what_does_not_play_is_said(shown, videos, tmp_path):
    scene = shown
    scene.matchcut.reference.width = 427  # pixels of 4:3
    bpy.ops.matchcut.show_in_camera()
    assert scene.camera.data.background_images[0].frame_method == "STRETCH"
    (tmp_path / "broken.mp4").write_bytes(b"no video")
    scene.matchcut.reference.path = str(tmp_path / "broken.mp4")
    with pytest.raises(RuntimeError, match=r"broken\.mp4: Blender cannot play it; press Conform"):
        bpy.ops.matchcut.show_in_camera()
    assert len(bpy.data.movieclips) == 1
    scene.matchcut.reference.path = str(videos["tall"])
    bpy.ops.matchcut.show_in_camera()
    assert [Path(clip.filepath).name for clip in bpy.data.movieclips] == ["tall.mp4"]
    scene.camera = None
    assert not bpy.ops.matchcut.show_in_camera.poll() and background.shown(scene) is None


def cameras(scene):
    """{frame: camera's name} of the scene's markers."""
    return {marker.frame: marker.camera.name for marker in scene.timeline_markers if marker.camera}


def set_shots(scene, *firsts):
    found = scene.matchcut.reference.shots
    found.clear()
    for first, following in zip(firsts, [*firsts[1:], 48], strict=True):
        shot = found.add()
        shot.first, shot.last = first, following - 1


def test_each_shot_gets_one_camera_however_often_one_presses(shown):
    scene = shown
    source = scene.camera
    source.data.lens, scene.frame_start = 85, 11
    source.data.keyframe_insert("lens", frame=1)
    bpy.ops.matchcut.show_in_camera()
    bpy.ops.ed.undo_push(message="before")
    assert bpy.ops.matchcut.make_shot_cameras() == {"FINISHED"}
    assert cameras(scene) == {11: "Shot 01", 31: "Shot 02", 41: "Shot 03"}
    assert [marker.name for marker in scene.timeline_markers] == ["Shot 01", "Shot 02", "Shot 03"]
    made = [bpy.data.objects[name] for name in ("Shot 01", "Shot 02", "Shot 03")]
    for camera in made:
        assert camera.data.lens == 85 and camera.data.animation_data is None
        assert all((a - b).length < 1e-5 for a, b in zip(camera.matrix_world, source.matrix_world, strict=True))
        assert len(camera.data.background_images) == 1, "the new camera shows the reference as the old one does"
    assert len({camera.data for camera in made}) == 3
    assert [collection.name for collection in scene.collection.children] == ["Collection", "Shot Cameras"]
    assert scene.camera == made[0] and source.name in scene.objects
    before = sorted(bpy.data.objects.keys()), cameras(scene)
    made[1].location.x += 3
    bpy.ops.matchcut.make_shot_cameras()
    assert (sorted(bpy.data.objects.keys()), cameras(scene)) == before
    bpy.ops.ed.undo_push(message="made")
    bpy.ops.ed.undo()
    scene = bpy.context.scene
    assert cameras(scene) == {} and "Shot 01" not in bpy.data.objects and scene.camera.name == "Camera"


def test_cameras_keep_to_their_shots_where_those_change(shown):
    scene = shown
    bpy.ops.matchcut.make_shot_cameras()
    second, third = bpy.data.objects["Shot 02"], bpy.data.objects["Shot 03"]
    third.name = "Street"
    scene.frame_start = 101
    set_shots(scene, 0, 10, 20, 33)  # one more, and the last one begins later
    bpy.ops.matchcut.make_shot_cameras()
    assert cameras(scene) == {101: "Shot 01", 111: "Street", 121: "Shot 03", 134: "Shot 04"}
    assert bpy.data.objects["Shot 03"] == second, "the shot from frame 20 has the camera that it had"
    set_shots(scene, 0, 20)
    bpy.ops.matchcut.make_shot_cameras()
    assert cameras(scene) == {101: "Shot 01", 121: "Shot 02"}
    assert {"Street", "Shot 04"} <= set(scene.objects.keys()), "a camera with an artist's work was removed"


def test_an_artists_camera_stays_the_shots(shown):
    scene = shown
    theirs = scene.camera
    scene.timeline_markers.new("mine", frame=21).camera = theirs
    bpy.ops.matchcut.make_shot_cameras()
    assert cameras(scene) == {1: "Shot 01", 21: "Camera", 31: "Shot 03"}
    assert scene.timeline_markers["mine"].camera == theirs


def test_shot_cameras_without_a_camera_and_without_shots(shown):
    scene = shown
    bpy.data.objects.remove(scene.camera)
    bpy.ops.matchcut.make_shot_cameras()
    assert scene.camera.name == "Shot 01"
    assert (scene.camera.matrix_world.to_quaternion() @ shots.Matrix.Identity(3).col[2]).y < -0.99, "looks along +Y"
    scene.matchcut.reference.shots.clear()
    with pytest.raises(RuntimeError, match="shots of the reference are not known"):
        bpy.ops.matchcut.make_shot_cameras()


def test_which_camera_goes_to_which_shot():
    assert shots.assign([0, 20, 30], [0, 20, 30], []) == ({}, [])
    assert shots.assign([0, 20, 30], [0, 20, 30], [0, 20, 30]) == ({0: 0, 20: 1, 30: 2}, [])
    assert shots.assign([0, 22], [0, 22], [0, 20, 30]) == ({0: 0, 22: 1}, [2])
    assert shots.assign([0, 20], [20], [0, 20]) == ({20: 1}, [0])


def test_a_click_on_a_shot_goes_to_its_first_frame(shown):
    scene = shown
    scene.frame_start = 11
    reference = scene.matchcut.reference
    reference.shot = 1
    assert scene.frame_current == 31 and reference.shot == 1
    scene.frame_set(30)
    assert reference.shot == 0
    scene.frame_set(200)
    assert reference.shot == -1
    reference.shot = 7
    assert scene.frame_current == 200


def test_two_scenes_have_two_references(shown, videos):
    one = shown
    two = bpy.data.scenes.new("Two")
    two.camera = bpy.data.objects.new("Two", bpy.data.cameras.new("Two"))
    two.collection.objects.link(two.camera)
    two.frame_start = 5
    two.matchcut.reference.path = str(videos["tall"])
    job = read.read_reference(two)
    two.name = "Renamed"
    jobs.wait(job)
    assert two.matchcut.reference.known and one.matchcut.reference.known
    background.show(one)
    background.show(two)
    assert {(Path(clip.filepath).name, clip.frame_start) for clip in bpy.data.movieclips} == {
        ("wide.mp4", 1), ("tall.mp4", 5),
    }  # fmt: skip
    shots.make_cameras(one)
    shots.make_cameras(two)
    assert len(cameras(one)) == len(cameras(two)) == 3
    assert set(cameras(one).values()).isdisjoint(cameras(two).values())
    assert [len([c for c in scene.collection.children if shots.COLLECTION in c]) for scene in (one, two)] == [1, 1]


def test_a_scene_that_is_linked_gets_nothing_put_into_it(scene, tmp_path):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "library.blend"))
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    with bpy.data.libraries.load(str(tmp_path / "library.blend"), link=True) as (_, wanted):
        wanted.scenes = ["Scene"]
    linked = next(one for one in bpy.data.scenes if one.library is not None)
    for put in (shots.make_cameras, add_camera):
        with pytest.raises(BadInputError, match=r"linked from library\.blend"):
            put(linked)
    assert [one.name for one in bpy.data.collections if shots.COLLECTION in one] == []


def test_the_real_evaluator_reads_and_conforms(videos, tmp_path, monkeypatch):
    python = os.environ.get("MATCHCUT_PYTHON")
    if not python:
        pytest.skip("set $MATCHCUT_PYTHON to a Python that has the evaluator's packages")
    monkeypatch.setenv("MATCHCUT_CACHE_FOLDER", str(tmp_path / "cache"))
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    matchcut.register()
    try:
        scene = bpy.context.scene
        reference = scene.matchcut.reference
        shutil.copy(videos["wide"], tmp_path / "wide.mp4")
        reference.path = str(tmp_path / "wide.mp4")
        bpy.ops.matchcut.read_reference()
        assert reference.timeline() == Timeline.from_json(GOOD["timeline"]) and not reference.misplaced
        assert [(shot.first, shot.last) for shot in reference.shots] == [(0, 47)]
        bpy.ops.matchcut.conform_reference()
        assert absolute(reference.path) == tmp_path / "wide-conformed.mp4" and reference.known
        assert (tmp_path / "wide-conformed.json").is_file()
        (tmp_path / "wide-conformed.mp4").write_bytes((tmp_path / "wide-conformed.mp4").read_bytes()[:2000])
        with pytest.raises(RuntimeError, match=r"wide-conformed\.mp4"):
            bpy.ops.matchcut.read_reference()
    finally:
        matchcut.unregister()
