# SPDX-License-Identifier: GPL-3.0-or-later
"""What a scene keeps: its paths through save, Save As, copy, append, link, undo and a moved folder; older layouts."""

import ntpath
import posixpath

import bpy
import matchcut
import pytest
from matchcut.addon import state
from matchcut.addon.scene_file import save_copy
from matchcut.addon.sidebar.kept import keep
from matchcut.addon.sidebar.paths import absolute, rebased, relative, stored
from matchcut.addon.sidebar.reference import read


@pytest.fixture
def scene(tmp_path, monkeypatch):
    """A scene that no file holds yet; it names files of the folder `shot`."""
    monkeypatch.setattr(read, "reference_picked", lambda scene: pytest.fail("the reference was read anew"))
    for name in ("shot", "elsewhere/deep"):
        (tmp_path / name).mkdir(parents=True)
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    matchcut.register()
    yield bpy.context.scene
    matchcut.unregister()
    bpy.ops.wm.read_homefile(use_factory_startup=True)


def fill(scene, reference, folder):
    """Paths of every kind, put where no update function sees them."""
    scene.matchcut.render.folder = f"{folder}/matchcut/render-001"
    scene.matchcut.results.folder = f"{folder}/matchcut/score-001"
    scene.matchcut.output = f"{folder}/matchcut"
    data = state.raw(scene)
    data["reference"] = {"path": str(reference), "read_path": str(reference)}


def texts(scene):
    state = scene.matchcut
    return [state.reference.path, state.output, state.render.folder, state.results.folder]


def targets(scene):
    return [absolute(text) for text in texts(scene)]


SHOT = ["//reference.mp4", "//matchcut", "//matchcut/render-001", "//matchcut/score-001"]


@pytest.fixture
def shot(scene, tmp_path):
    """The scene saved in the folder `shot`, with paths that are relative since then."""
    fill(scene, tmp_path / "shot" / "reference.mp4", tmp_path / "shot")
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot" / "shot.blend"))
    return scene


def expected(tmp_path):
    return [tmp_path / "shot" / text[2:] for text in SHOT]


def test_the_first_save_makes_paths_relative(shot, tmp_path):
    assert texts(shot) == SHOT
    assert shot.matchcut.reference.known, "what was read of the reference still belongs to it"
    assert shot.matchcut.version == state.VERSION
    assert stored(tmp_path / "shot" / "a" / "b") == "//a/b" and stored(tmp_path / "x") == "//../x"


def test_absolute_paths_stay_where_the_artist_wants_them(scene, tmp_path):
    preferences = bpy.context.preferences.filepaths
    preferences.use_relative_paths = False
    try:
        fill(scene, tmp_path / "shot" / "reference.mp4", tmp_path / "shot")
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot" / "shot.blend"))
        assert texts(scene) == [str(path) for path in expected(tmp_path)]
        assert stored(tmp_path / "shot" / "a") == str(tmp_path / "shot" / "a")
    finally:
        preferences.use_relative_paths = True


def test_later_saves_make_relative_what_lies_below(shot, tmp_path):
    data = state.raw(shot)
    data["render"]["folder"] = str(tmp_path / "shot" / "matchcut" / "render-002")
    data["reference"]["path"] = str(tmp_path / "library" / "reference.mp4")
    bpy.ops.wm.save_mainfile()
    assert shot.matchcut.render.folder == "//matchcut/render-002"
    assert shot.matchcut.reference.path == str(tmp_path / "library" / "reference.mp4")


def test_save_as_elsewhere_names_the_same_files(shot, tmp_path):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "elsewhere" / "deep" / "shot.blend"))
    assert shot.matchcut.reference.path == "//../../shot/reference.mp4"
    assert shot.matchcut.reference.known
    assert targets(shot) == expected(tmp_path)
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "elsewhere" / "deep" / "shot.blend"))
    assert targets(bpy.context.scene) == expected(tmp_path), "the file says another thing than the session"


def test_folders_outside_of_the_files_own_are_relative_and_stay_so_through_undo_and_save_as(shot, tmp_path):
    outside = tmp_path / "renders" / "score-001"
    keep(shot.session_uid, "results", lambda scene: setattr(scene.matchcut.results, "folder", stored(outside)))
    assert shot.matchcut.results.folder == "//../renders/score-001"
    bpy.ops.ed.undo_push(message="base")
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "elsewhere" / "deep" / "shot.blend"))
    assert shot.matchcut.results.folder == "//../../renders/score-001"
    shot.frame_current = 7
    bpy.ops.ed.undo_push(message="frame")
    bpy.ops.ed.undo()
    found = bpy.context.scene.matchcut.results.folder
    assert found == "//../../renders/score-001" and absolute(found) == outside


def test_a_copy_has_its_own_paths_and_the_open_file_keeps_its(shot, tmp_path):
    bpy.ops.ed.undo_push(message="base")
    copy = save_copy(shot, tmp_path / "elsewhere" / "deep" / "scene.blend")
    assert texts(shot) == SHOT
    bpy.ops.wm.open_mainfile(filepath=str(copy))
    assert targets(bpy.context.scene) == expected(tmp_path)


def test_a_copy_of_what_was_never_saved_changes_nothing(scene, tmp_path):
    fill(scene, tmp_path / "shot" / "reference.mp4", tmp_path / "shot")
    before = texts(scene)
    save_copy(scene, tmp_path / "elsewhere" / "scene.blend")
    assert texts(scene) == before


def test_a_save_that_fails_changes_nothing(shot, tmp_path):
    with pytest.raises(RuntimeError):
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "no" / "such" / "folder" / "shot.blend"))
    assert texts(shot) == SHOT


def test_a_moved_folder_takes_its_files_along(shot, tmp_path):
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    (tmp_path / "shot").rename(tmp_path / "moved")
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "moved" / "shot.blend"))
    assert texts(bpy.context.scene) == SHOT
    assert targets(bpy.context.scene)[0] == tmp_path / "moved" / "reference.mp4"


def test_undo_past_a_save_as_names_the_same_files(shot, tmp_path):
    bpy.ops.ed.undo_push(message="base")
    shot.frame_current = 7
    bpy.ops.ed.undo_push(message="frame")
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "elsewhere" / "deep" / "shot.blend"))
    bpy.ops.ed.undo()
    scene = bpy.context.scene
    assert scene.frame_current != 7
    assert targets(scene) == expected(tmp_path)
    bpy.ops.ed.redo()
    assert targets(bpy.context.scene) == expected(tmp_path)


@pytest.mark.parametrize("link", [False, True])
def test_an_appended_or_linked_scene_keeps_its_reference(shot, tmp_path, link):
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "elsewhere" / "deep" / "other.blend"))
    shot_file = tmp_path / "shot" / "shot.blend"
    where = {"filepath": f"{shot_file}/Scene/Scene", "directory": f"{shot_file}/Scene/", "filename": "Scene"}
    (bpy.ops.wm.link if link else bpy.ops.wm.append)(**where)
    came = next(scene for scene in bpy.data.scenes if scene != bpy.context.scene)
    assert (came.library is not None) is link
    assert targets(came) == expected(tmp_path)
    if link:
        bpy.context.window.scene = came
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "elsewhere" / "deep" / "other.blend"))
    came = next(scene for scene in bpy.data.scenes if state.raw(scene) is not None and texts(scene)[0])
    assert targets(came) == expected(tmp_path)


def test_a_scene_appended_to_an_unsaved_file_has_absolute_paths(shot, tmp_path):
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    shot_file = tmp_path / "shot" / "shot.blend"
    bpy.ops.wm.append(filepath=f"{shot_file}/Scene/Scene", directory=f"{shot_file}/Scene/", filename="Scene")
    came = next(scene for scene in bpy.data.scenes if scene != bpy.context.scene)
    assert texts(came) == [str(path) for path in expected(tmp_path)]


def test_scenes_keep_their_own_through_renaming(shot, tmp_path):
    other = bpy.data.scenes.new("Other")
    fill(other, tmp_path / "shot" / "other.mp4", tmp_path / "shot" / "second")
    shot.name, other.name = "First", "Scene"
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.open_mainfile(filepath=bpy.data.filepath)
    assert bpy.data.scenes["First"].matchcut.reference.path == "//reference.mp4"
    assert bpy.data.scenes["Scene"].matchcut.reference.path == "//other.mp4"


def test_scenes_that_matchcut_never_touched_are_left_alone(scene, tmp_path):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot" / "plain.blend"))
    assert state.raw(scene) is None


@pytest.mark.parametrize(
    ("path", "folder", "expected"),
    [
        ("C:\\work\\shot\\a.mp4", "C:\\work\\shot", "//a.mp4"),
        ("C:\\work\\library\\a.mp4", "C:\\work\\shot", "//../library/a.mp4"),
        ("D:\\library\\a.mp4", "C:\\work\\shot", "D:\\library\\a.mp4"),
        ("\\\\server\\share\\a.mp4", "C:\\work\\shot", "\\\\server\\share\\a.mp4"),
        ("C:\\work\\shot\\a.mp4", "", "C:\\work\\shot\\a.mp4"),
    ],
)
def test_relative_on_windows(path, folder, expected):
    assert relative(path, folder, flavour=ntpath) == expected


def test_rebased_to_another_drive_is_absolute():
    assert rebased("//a/b.mp4", "C:\\work\\shot", "D:\\other", ntpath) == "C:\\work\\shot\\a\\b.mp4"
    assert rebased("//a/b.mp4", "C:\\work\\shot", "C:\\work", ntpath) == "//shot/a/b.mp4"
    assert rebased("//../a", "/x/y", "/x", posixpath) == "//a"
    assert rebased("//a", "/x", "", posixpath) == "/x/a"
    assert rebased("/x/a", "/x", "/y", posixpath) == "/x/a"


def older(data):
    """A scene's stored properties as a file without a version holds them, and something that nobody knows."""
    data["matchcut"] = {
        "reference": {"path": "//reference.mp4", "read_path": "//reference.mp4", "width": 96, "height": 54},
        "setting": 2,
        "render": {"folder": "//matchcut/render-001", "video": "//matchcut/render-001/reconstruction.mp4"},
        "results": {"folder": "//matchcut/score-001", "lines": [{"section": "SGC", "label": "Score", "text": "0.5"}]},
        "unknown": {"kept": 7},
    }


@pytest.fixture
def older_file(tmp_path):
    """A .blend as the first releases wrote it."""
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    older(bpy.context.scene.bl_system_properties_get(do_create=True))
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "older.blend"))
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    return tmp_path / "older.blend"


def test_files_of_older_versions_are_taken_in(older_file, scene):
    bpy.ops.wm.open_mainfile(filepath=str(older_file))
    scene = bpy.context.scene
    assert scene.matchcut.version == state.VERSION
    assert scene.matchcut.setting == "detailed"
    assert targets(scene)[0] == older_file.with_name("reference.mp4") and scene.matchcut.reference.known
    assert scene.matchcut.render.folder == "//matchcut/render-001"
    assert (scene.matchcut.render.mode, scene.matchcut.render.scale) == ("FINAL", 100), "it would render something else"
    assert scene.matchcut.results.folder == "//matchcut/score-001"
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.open_mainfile(filepath=str(older_file))
    assert state.raw(bpy.context.scene)["unknown"]["kept"] == 7, "what this version does not know was lost"


def test_a_render_of_a_part_becomes_a_preview(scene):
    data = scene.bl_system_properties_get(do_create=True)
    data["matchcut"] = {"render": {"frames": 2, "scale": 25}}
    state.migrate(data["matchcut"])
    assert (scene.matchcut.render.mode, scene.matchcut.render.frames, scene.matchcut.render.scale) == (
        "PREVIEW", "CURRENT", 25,
    )  # fmt: skip


def test_every_step_between_layouts_is_run_once_and_in_order(scene, monkeypatch):
    ran = []
    steps = {version: lambda data, version=version: ran.append(version) for version in range(3)}
    monkeypatch.setattr(state, "MIGRATIONS", steps)
    monkeypatch.setattr(state, "VERSION", 3)
    scene.matchcut.version = 1
    state.migrate(state.raw(scene))
    state.migrate(state.raw(scene))
    assert ran == [1, 2] and scene.matchcut.version == 3


def test_an_undo_takes_what_was_made_here_for_no_older_layout(scene):
    scene.matchcut.render.every = 2  # no version is stamped before the file is saved
    bpy.ops.ed.undo_push(message="base")
    scene.frame_current = 7
    bpy.ops.ed.undo_push(message="frame")
    bpy.ops.ed.undo()
    assert bpy.context.scene.matchcut.render.mode == "PREVIEW"


def test_a_file_of_a_newer_version_keeps_its_stamp(scene, tmp_path):
    scene.matchcut.version = 99
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "newer.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "newer.blend"))
    assert bpy.context.scene.matchcut.version == 99


def test_there_is_a_step_from_every_layout():
    assert sorted(state.MIGRATIONS) == list(range(state.VERSION))
