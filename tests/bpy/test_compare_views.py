# SPDX-License-Identifier: GPL-3.0-or-later
"""What Compare's drawing lacks is made between drawings, and a view's picture is kept until it would look otherwise."""

from types import SimpleNamespace

import bpy
import pytest
from matchcut.addon.sidebar.compare import lacking, views
from matchcut.addon.sidebar.compare.placement import Rect
from mathutils import Matrix


@pytest.fixture
def registered_views():
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    views.register()
    yield
    views.unregister()


def test_what_a_drawing_lacks_is_made_one_thing_at_a_time():
    made = []
    for name, area in (("shader", "VIEW_3D"), ("picture", "VIEW_3D"), ("shader", "DOPESHEET_EDITOR")):
        lacking.ask(name, area, lambda name=name: made.append(name))
    assert lacking.make_one() == {"VIEW_3D", "DOPESHEET_EDITOR"} and made == ["shader"] and lacking.waits()
    assert lacking.make_one() == {"VIEW_3D"}
    assert made == ["shader", "picture"] and not lacking.waits() and lacking.make_one() == set()


def test_a_view_is_drawn_again_when_the_scene_or_its_settings_change(registered_views):
    scene = bpy.context.scene
    still = SimpleNamespace(view_matrix=Matrix(), window_matrix=Matrix())
    screen = next(area for screen in bpy.data.screens for area in screen.areas if area.type == "VIEW_3D")
    space = screen.spaces.active
    context = SimpleNamespace(
        scene=scene, space_data=space, region_data=still, view_layer=scene.view_layers[0], mode="OBJECT"
    )
    part = Rect(0, 0, 10, 10)
    looks = [views._look(context, part)]
    assert views._look(context, part) == looks[0], "nothing has changed"

    def changed():
        looks.append(views._look(context, part))
        return looks[-1] not in looks[:-1]

    bpy.data.objects.new("Cube", None)
    scene.collection.objects.link(bpy.data.objects["Cube"])
    bpy.context.view_layer.update()
    assert changed()
    space.shading.light = "FLAT"
    assert changed()
    space.overlay.show_wireframes = True
    assert changed()
    scene.view_settings.exposure = 1.5
    assert changed()
    still.view_matrix = Matrix.Translation((0, 0, 1))
    assert changed()
    scene.frame_set(scene.frame_current + 1)
    assert changed()
