"""A scene takes on a reference's timeline."""

from fractions import Fraction

import bpy
import pytest
from matchcut.addon.timeline import match_timeline, scene_timeline, timeline_problems
from matchcut.evaluator.protocol.timeline import Timeline

RATES = [
    Fraction(24000, 1001), Fraction(30000, 1001), Fraction(60000, 1001), Fraction(15000, 1001), Fraction(25),
    Fraction(24), Fraction(25, 2), Fraction(2997, 125), Fraction(50), Fraction(10, 3), Fraction(1, 2), Fraction(240),
]  # fmt: skip


@pytest.fixture
def scene():
    bpy.ops.wm.read_factory_settings(use_empty=False)
    return bpy.context.scene


@pytest.mark.parametrize("rate", RATES)
def test_rate_comes_back_exactly(scene, rate):
    timeline = Timeline(480, 270, rate, 72)
    match_timeline(scene, timeline)
    assert scene_timeline(scene) == timeline
    assert scene.render.fps == max(1, round(rate))
    assert abs(scene.render.fps / scene.render.fps_base / rate - 1) < 1e-6
    assert timeline_problems(scene, timeline) == []


def test_a_rate_that_blender_holds_nearly_is_no_problem(scene):
    timeline = Timeline(480, 270, Fraction(45000, 1499), 72)  # as telephones record it
    assert any("45000/1499" in text for text in match_timeline(scene, timeline))
    assert match_timeline(scene, timeline) == [] and timeline_problems(scene, timeline) == []
    assert abs(scene.render.fps / scene.render.fps_base / timeline.rate - 1) < 1e-7


def test_tells_what_changed_and_changes_nothing_else(scene):
    render = scene.render
    scene.frame_start = 101
    scene.frame_step = 2
    scene.frame_current = 5
    render.resolution_percentage = 50
    render.pixel_aspect_y = 2.0
    render.use_border = True
    render.engine = "CYCLES"
    scene.cycles.samples = 17
    render.filepath = "//mine"
    before = {name: getattr(render, name) for name in ("engine", "filepath", "use_motion_blur", "dither_intensity")}
    changes = match_timeline(scene, Timeline(480, 270, Fraction(24000, 1001), 72))
    assert changes == [
        "resolution_x: 1920 to 480", "resolution_y: 1080 to 270", "resolution_percentage: 50 to 100",
        "pixel_aspect_y: 2.0 to 1.0", "use_border: True to False", "frame_end: 250 to 172", "frame_step: 2 to 1",
        "rate: 24/1 to 24000/1001 fps",
    ]  # fmt: skip
    assert (scene.frame_start, scene.frame_end, scene.frame_current, scene.cycles.samples) == (101, 172, 5, 17)
    assert before == {name: getattr(render, name) for name in before}
    assert match_timeline(scene, Timeline(480, 270, Fraction(24000, 1001), 72)) == []


def test_problems_name_what_disagrees(scene):
    timeline = Timeline(480, 270, Fraction(24000, 1001), 72)
    size, rate, span = timeline_problems(scene, timeline)
    assert "1920x1080" in size and "480x270" in size
    assert rate == "the scene runs at 24 fps; the reference at 23.976 (24000/1001)"
    assert "1-250" in span and "1-72" in span
    scene.frame_step = 100
    assert "1-250 in steps of 100 (3 frames)" in timeline_problems(scene, timeline)[2]
    match_timeline(scene, timeline)
    scene.render.pixel_aspect_x = 2.0
    scene.render.frame_map_new = 50
    scene.render.use_border = True
    assert [text.split()[1] for text in timeline_problems(scene, timeline)] == ["scene's", "scene", "scene's"]
    match_timeline(scene, timeline)
    bpy.data.objects.remove(scene.camera)
    (problem,) = timeline_problems(scene, timeline)
    assert "no camera" in problem
