# SPDX-License-Identifier: GPL-3.0-or-later
"""The films' scenes show what their descriptions say: the same places in the picture, the same poses, the same cuts."""

from math import degrees

import bpy
import pytest
from bpy_extras.object_utils import world_to_camera_view
from matchcut.assets_ui.samples import build_sample
from matchcut.assets_ui.samples.films import FILMS, scene
from matchcut.assets_ui.samples.films.records import middle_of, place_of, view_at
from matchcut.assets_ui.samples.films.variants import RECONSTRUCTIONS
from matchcut.evaluator.protocol.errors import BadInputError
from mathutils import Vector


def built(name, variant):
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    scene.build(name, variant)
    return bpy.context.scene


def camera_at(made):
    """The camera that the last marker up to the current frame makes active."""
    passed = [marker for marker in made.timeline_markers if marker.frame <= made.frame_current]
    return max(passed, key=lambda marker: marker.frame).camera


@pytest.mark.parametrize("variant", ["reference", "good", "middle", "poor"])
@pytest.mark.parametrize("name", list(FILMS))
def test_a_scene_shows_what_is_described(name, variant):
    film = FILMS[name] if variant == "reference" else RECONSTRUCTIONS[variant](FILMS[name])
    made = built(name, variant)
    assert made.frame_end - made.frame_start + 1 == film.timeline.frames
    assert [marker.frame - made.frame_start for marker in made.timeline_markers] == [0, *film.cuts]
    checked = 0
    for frame in {0, *(shot.last for shot in film.shots), film.timeline.frames // 3}:
        made.frame_set(made.frame_start + frame)
        camera, view = camera_at(made), view_at(film, frame)
        for thing in film.things:
            top = bpy.data.objects[thing.name]
            assert tuple(top.matrix_world.translation) == pytest.approx(place_of(thing, frame), abs=1e-4)
            u, v, depth = world_to_camera_view(made, camera, Vector(middle_of(thing, frame)))
            x, y, far = view.project(middle_of(thing, frame))
            if far > 0.1:
                assert (u, 1 - v, depth) == pytest.approx((x, y, far), abs=2e-4), (frame, thing.id)
                checked += 1
    assert checked > 6


@pytest.mark.parametrize(
    ("name", "thing", "part"), [("dialogue", "Ben", "Ben Arm 1"), ("aerial", "Barrier", "Barrier Boom")]
)
def test_a_pose_is_turned_as_described(name, thing, part):
    made, film = built(name, "reference"), FILMS[name]
    described = next(one for one in film.things if one.name == thing)
    for frame in (0, 15, 60, film.timeline.frames - 1):
        made.frame_set(made.frame_start + frame)
        turned = -degrees(bpy.data.objects[part].rotation_euler.y)
        assert turned == pytest.approx(described.pose.at(frame)[0], abs=1e-3)


def test_the_cheat_is_a_screen_with_the_reference_on_it(tmp_path):
    build_sample("sport", "cheating", tmp_path / "scene.blend")
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "scene.blend"))
    (image,) = [image for image in bpy.data.images if image.source == "MOVIE"]
    assert bpy.path.abspath(image.filepath) == str(tmp_path / "reference.mp4")
    made = bpy.context.scene
    corners = [
        world_to_camera_view(made, made.camera, bpy.data.objects["Screen"].matrix_world @ vertex.co)
        for vertex in bpy.data.objects["Screen"].data.vertices
    ]
    assert [tuple(corner)[:2] for corner in corners] == [
        pytest.approx(at, abs=1e-4) for at in ((0, 0), (1, 0), (1, 1), (0, 1))
    ]


def test_a_variant_that_there_is_not_is_one_line(tmp_path):
    with pytest.raises(BadInputError, match="no variant of aerial"):
        build_sample("aerial", "better", tmp_path / "scene.blend")
