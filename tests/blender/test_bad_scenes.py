# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes that cannot be rendered are refused in one line, and nothing that looks finished is left."""

from fractions import Fraction

import pytest
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.protocol.timeline import Timeline
from matchcut.evaluator.render.job import render_scene

LINK = (
    "import bpy; library = pathlib.Path({library!r}); scenes.save(library)\n"
    "with bpy.data.libraries.load(str(library), link=True) as (theirs, ours): ours.worlds = theirs.worlds; "
    "ours.meshes = theirs.meshes\n"
    "scene.collection.objects.link(bpy.data.objects.new('linked', ours.meshes[0])); library.unlink()"
)


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("no_camera", "scene.camera = None", "has no camera"),
        ("light_as_camera", "scene.camera = next(o for o in scene.objects if o.type == 'LIGHT')", "has no camera"),
        ("no_layer", "scene.view_layers[0].use = False", "no view layer that is rendered"),
        ("late", "scene.frame_start = 1048574", "starts at frame 1048574"),
        ("linked", LINK, "library.blend is missing"),
    ],
)
def test_a_scene_that_cannot_be_rendered(blender, make_scene, tmp_path, name, change, reason):
    scene = make_scene(name, frames=2, change=change.replace("{library!r}", repr(str(tmp_path / "library.blend"))))
    out = tmp_path / "job"
    with pytest.raises(BadInputError) as error:
        render_scene(
            scene, out, Timeline(32, 16, Fraction(24), 3), blender=blender, reporter=SilentReporter(), samples=1
        )
    assert reason in str(error.value) and "\n" not in str(error.value)
    assert (
        not (out / "reconstruction.mp4").exists()
        and not list(out.glob("**/.partial*"))
        and not (out / ".lock").exists()
    )
