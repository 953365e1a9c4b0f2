# SPDX-License-Identifier: GPL-3.0-or-later
"""The samples as Blender builds them: timeline, cut, cameras, ball, arm, and what the reconstruction gets wrong."""

from __future__ import annotations

from dataclasses import dataclass
from math import degrees

import bpy
import numpy as np
import pytest
from bpy_extras.object_utils import world_to_camera_view
from matchcut.assets_ui.samples import VARIANTS, build_sample, two_shots
from matchcut.evaluator.protocol.errors import BadInputError
from mathutils import Vector

FRAMES = range(two_shots.TIMELINE.frames)
ENTITIES = {
    "person_a": ("Figure",), "ball": ("Ball",), "crate": ("Crate",), "pillar": ("Pillar",), "bench": ("Bench",),
    "tree_a": ("Tree A Trunk", "Tree A Crown"), "tree_b": ("Tree B Trunk", *(f"Tree B Tier {n}" for n in (1, 2, 3))),
    "wall": ("Wall", "Wall Coping"), "ground": ("Ground",), "hand": ("Arm Right Hand",), "head": ("Head",),
    "hills": ("Hill 1", "Hill 2", "Hill 3"),
}  # fmt: skip


@dataclass(frozen=True)
class Seen:
    """What one frame shows: boxes are (left, top, right, bottom) in parts of the picture, y down, not cut to it."""

    camera: str
    at: tuple[float, float, float]
    pan_deg: float
    tilt_deg: float
    lens_mm: float
    boxes: dict[str, tuple[float, float, float, float]]
    depth: dict[str, float]
    ball_x: float
    ball_turn: float
    arm_deg: float
    other_arm_deg: float
    ground_at: dict[str, tuple[float, float, float]]
    materials: dict[str, set[str]]

    def x(self, entity: str) -> float:
        left, _, right, _ = self.boxes[entity]
        return (left + right) / 2

    def y(self, entity: str) -> float:
        _, top, _, bottom = self.boxes[entity]
        return (top + bottom) / 2

    def width(self, entity: str) -> float:
        return self.boxes[entity][2] - self.boxes[entity][0]

    def height(self, entity: str) -> float:
        return self.boxes[entity][3] - self.boxes[entity][1]

    def share_inside(self, entity: str) -> float:
        """How much of an entity's box lies in the picture; 0 for what the scene does not have."""
        if entity not in self.boxes:
            return 0.0
        left, top, right, bottom = self.boxes[entity]
        inside = max(0.0, min(right, 1) - max(left, 0)) * max(0.0, min(bottom, 1) - max(top, 0))
        return inside / ((right - left) * (bottom - top))


def measure(variant: str) -> list[Seen]:
    """Build a variant and look at every frame."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    two_shots.build(variant)
    scene = bpy.context.scene
    return [_look(scene, frame) for frame in FRAMES]


def _look(scene, frame: int) -> Seen:
    scene.frame_set(two_shots.scene_frame(frame))
    camera = scene.camera
    boxes, depth, ground_at, materials = {}, {}, {}, {}
    for entity, roots in ENTITIES.items():
        found = [bpy.data.objects[name] for name in roots if name in bpy.data.objects]
        solids = [o for root in found for o in (root, *root.children_recursive) if o.type == "MESH"]
        corners = [o.matrix_world @ Vector(corner) for o in solids for corner in o.bound_box]
        if corners:
            seen = np.array([world_to_camera_view(scene, camera, corner) for corner in corners])
            boxes[entity] = (seen[:, 0].min(), 1 - seen[:, 1].max(), seen[:, 0].max(), 1 - seen[:, 1].min())
            depth[entity] = float(seen[:, 2].mean())
            ground_at[entity] = tuple(found[0].matrix_world.translation)
            materials[entity] = {m.name for o in solids for m in o.data.materials}
    tilt, _, pan = camera.matrix_world.to_euler()
    ball = bpy.data.objects["Ball"]
    return Seen(
        camera.name, tuple(camera.matrix_world.translation), degrees(pan), degrees(tilt) - 90, camera.data.lens,
        boxes, depth, ball.matrix_world.translation.x, ball.rotation_euler.y, _arm_angle("Right"), _arm_angle("Left"),
        ground_at, materials,
    )  # fmt: skip


def _arm_angle(side: str) -> float:
    """Degrees from straight down to the direction in which the arm points."""
    arm = bpy.data.objects[f"Arm {side}"].matrix_world.to_3x3() @ Vector((0, 0, -1))
    return degrees(arm.angle(Vector((0, 0, -1))))


@pytest.fixture(scope="module")
def reference() -> list[Seen]:
    return measure("reference")


@pytest.fixture(scope="module")
def reconstruction() -> list[Seen]:
    return measure("reconstruction")


def test_the_cut_is_bound_to_a_marker_and_the_same_in_both(reference, reconstruction):
    for seen in (reference, reconstruction):
        assert [s.camera for s in seen] == ["Camera 1"] * two_shots.CUT + ["Camera 2"] * (72 - two_shots.CUT)


def test_the_ball_rolls_without_sliding_and_stops(reference):
    first, last = two_shots.BALL_X.first, two_shots.BALL_X.last
    for seen in reference:
        assert seen.ball_turn * two_shots.BALL_RADIUS == pytest.approx(seen.ball_x - two_shots.BALL_X.start, abs=1e-4)
    steps = np.diff([seen.ball_x for seen in reference])
    assert np.all(steps[:first] == 0) and np.all(steps[last:] == 0)
    assert np.all(steps[first:last] > 0) and np.all(np.diff(steps[first:last]) < 0)


def test_the_reconstructions_ball_is_six_frames_late_everywhere(reference, reconstruction):
    late = two_shots.RECONSTRUCTION_BALL_DELAY
    assert late == 6
    expected = [reference[max(0, frame - late)].ball_x for frame in FRAMES]
    assert [seen.ball_x for seen in reconstruction] == pytest.approx(expected, abs=1e-6)


def test_the_second_shot_pans_the_other_way_by_the_same_angle(reference, reconstruction):
    start = two_shots.PAN_DEG.start
    for ours, theirs in zip(reference[two_shots.CUT :], reconstruction[two_shots.CUT :], strict=True):
        assert theirs.pan_deg - start == pytest.approx(start - ours.pan_deg, abs=1e-4)
    assert reference[-1].pan_deg - start < -10


def test_everything_else_is_identical(reference, reconstruction):
    for ours, theirs in zip(reference, reconstruction, strict=True):
        assert set(ours.boxes) - set(theirs.boxes) == {"pillar"}
        assert (ours.at, ours.tilt_deg, ours.lens_mm, ours.arm_deg) == (
            theirs.at, theirs.tilt_deg, theirs.lens_mm, theirs.arm_deg,
        )  # fmt: skip
    for ours, theirs in zip(reference[: two_shots.CUT], reconstruction[: two_shots.CUT], strict=True):
        assert ours.pan_deg == theirs.pan_deg
        for entity in set(theirs.boxes) - {"ball"}:
            assert ours.boxes[entity] == pytest.approx(theirs.boxes[entity], abs=1e-9), entity


def test_the_arm_goes_from_hanging_to_raised(reference):
    arm = two_shots.ARM_RAISE_DEG
    angles = [seen.arm_deg for seen in reference]
    assert angles[: arm.first + 1] == pytest.approx([arm.start] * (arm.first + 1), abs=0.01)
    assert angles[arm.last :] == pytest.approx([arm.end] * (72 - arm.last), abs=0.01)
    assert np.all(np.diff(angles[arm.first : arm.last + 1]) > 0)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_saved_sample_opens_on_its_timeline(variant, tmp_path):
    out = tmp_path / f"{variant}.blend"
    build_sample("two_shots", variant, out)
    assert [path.name for path in tmp_path.iterdir()] == [out.name]
    bpy.ops.wm.open_mainfile(filepath=str(out))
    scene, render = bpy.context.scene, bpy.context.scene.render
    assert (render.resolution_x, render.resolution_y, render.resolution_percentage) == (480, 270, 100)
    assert (render.fps, render.fps_base) == (24, pytest.approx(1.001))
    assert (scene.frame_start, scene.frame_end) == (1, 72)
    assert scene.view_settings.view_transform == "Standard"
    assert not [image for image in bpy.data.images if image.source == "FILE"]
    assert ("Pillar" in bpy.data.objects) == (variant == "reference")
    assert out.stat().st_size < 500_000


@pytest.mark.parametrize(("name", "variant"), [("three_shots", "reference"), ("two_shots", "copy")])
def test_an_unknown_sample_or_variant_is_refused(name, variant, tmp_path):
    with pytest.raises(BadInputError, match="there are: "):
        build_sample(name, variant, tmp_path / "x.blend")
    assert not list(tmp_path.iterdir())


def test_a_rendered_frame_shows_both_variants_apart(tmp_path):
    """The missing pillar leaves the wall in its place: the pictures differ there and nowhere far from it."""
    pictures = {}
    for variant in VARIANTS:
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        two_shots.build(variant)
        scene = bpy.context.scene
        scene.render.resolution_percentage, scene.cycles.samples = 25, 4
        scene.render.filepath = str(tmp_path / f"{variant}.png")
        bpy.ops.render.render(write_still=True)
        image = bpy.data.images.load(scene.render.filepath)
        pixels = np.array(image.pixels[:]).reshape(image.size[1], image.size[0], 4)[::-1, :, :3]
        pictures[variant] = pixels
    difference = np.abs(pictures["reference"] - pictures["reconstruction"]).max(axis=2)
    changed = np.argwhere(difference > 0.1)
    assert len(changed) > 50
    assert changed[:, 1].min() > 0.75 * difference.shape[1]  # the pillar stands at the image-right edge in frame 0
    mean = pictures["reference"].mean()
    assert 0.25 < mean < 0.75 and pictures["reference"].std() > 0.1


def test_no_deprecated_call(recwarn):
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    two_shots.build("reference")
    assert not [w for w in recwarn.list if issubclass(w.category, DeprecationWarning)]
