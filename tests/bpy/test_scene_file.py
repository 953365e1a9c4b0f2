# SPDX-License-Identifier: GPL-3.0-or-later
"""A copy of the open file opens at the scene that it was made for; what is open stays as it is."""

import bpy
import pytest
from matchcut.addon.scene_file import CHOSEN, open_scene, save_copy
from matchcut.evaluator.protocol.errors import BadInputError


@pytest.fixture
def scenes():
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    return bpy.context.scene, bpy.data.scenes.new("Other")


@pytest.mark.parametrize("which", [0, 1])
def test_a_copy_opens_at_the_scene_that_it_was_made_for(scenes, tmp_path, which):
    name = scenes[which].name
    first, second = tmp_path / "first.blend", tmp_path / "second.blend"
    save_copy(scenes[which], first)
    assert bpy.context.scene == scenes[0] and not any(CHOSEN in scene for scene in bpy.data.scenes)
    open_scene(first)
    assert bpy.context.scene.name == name
    assert not any(CHOSEN in scene for scene in bpy.data.scenes)
    save_copy(bpy.context.scene, second)  # a copy of the copy, as the render child makes one
    open_scene(second)
    assert bpy.context.scene.name == name


def test_a_copy_that_cannot_be_written_leaves_nothing(scenes, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(BadInputError, match="could not be saved"):
        save_copy(scenes[1], tmp_path / "file" / "scene.blend")
    assert CHOSEN not in scenes[1]
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_copy_leaves_the_preferences_as_they_were(scenes, tmp_path):
    preferences = bpy.context.preferences
    preferences.filepaths.file_preview_type, preferences.is_dirty = "CAMERA", False
    save_copy(scenes[0], tmp_path / "copy.blend")
    assert (preferences.filepaths.file_preview_type, preferences.is_dirty) == ("CAMERA", False)
