# SPDX-License-Identifier: GPL-3.0-or-later
"""One small picture by a render engine, on the main thread; the scene is afterwards as it was before.

It is a look, not the result: few samples, without the compositor where that writes files. Where there is no graphics
driver, Cycles also stands in for what the 3D view would draw. Blender answers nothing else meanwhile. It replaces the
last picture in Render Result's last slot.
"""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ...evaluator.protocol.bridge import BridgeCallError
from ..agent.methods import plain_text
from ..render.settings import compositor_trees
from .pictures import read_picture
from .sight import Sight
from .unchanged import restored_animation, settings

Light = Literal["scene", "even", "flat"]
"""As the scene is lit; materials under an even light from everywhere; shapes alone, grey, without light."""
FLAT_SAMPLES: Final = 8
NAME: Final = "Matchcut look"
NEAREST: Final = 1e-4
"""Scene units before a camera from which on it sees."""


def render_view(
    scene: Any, sight: Sight, scene_frame: int, size: tuple[int, int], engine: str, samples: int, light: Light
) -> tuple[NDArray[np.uint8], list[str]]:
    """Render a frame as seen from `sight`: (H, W, 3) uint8, rows from the top, and notes.

    Raises BridgeCallError `failed` where Blender does not render.
    """
    if engine == "CYCLES" and not hasattr(scene, "cycles"):
        raise BridgeCallError("failed", "Cycles is switched off in this Blender; enable its add-on in the preferences")
    with (
        tempfile.TemporaryDirectory(prefix="rendered-", dir=bpy.app.tempdir or None) as folder,
        restored_animation(),
        _spare_slot(),
        _made_for(scene, sight) as made,
        _lit(scene, light) as lighting,
        settings([*_frame_settings(scene, engine, size, samples), *made, *lighting]),
    ):
        notes = _without_written_files(scene)
        # render's own frame range leaves the scene's current frame alone
        scene.render.filepath = str(Path(folder) / "rendered-######")
        _render(scene, scene_frame)
        rendered = next(Path(folder).glob("rendered-*"), None)
        if rendered is None:
            raise BridgeCallError("failed", "Blender rendered nothing; is a view layer switched on for rendering?")
        return read_picture(rendered), notes


def _render(scene: Any, scene_frame: int) -> None:
    windows = bpy.context.window_manager.windows
    override = bpy.context.temp_override(window=windows[0]) if windows else contextlib.nullcontext()
    try:
        with override:
            bpy.ops.render.render(animation=True, scene=scene.name, frame_start=scene_frame, frame_end=scene_frame)
    except RuntimeError as error:
        raise BridgeCallError("failed", f"Blender did not render: {plain_text(str(error).strip())}") from error


def _without_written_files(scene: Any) -> list[str]:
    """Leave the compositor out where its nodes would write files of the user's."""
    if any(_writes_files(tree, set()) for tree in compositor_trees(scene)):
        scene.render.use_compositing = False
        return ["without the compositor: it has a File Output node"]
    return []


def _writes_files(group: Any, seen: set[str]) -> bool:
    if group.name_full in seen:
        return False
    seen.add(group.name_full)
    inner = (node.node_tree for node in group.nodes if getattr(node, "node_tree", None) is not None)
    return any(node.bl_idname == "CompositorNodeOutputFile" for node in group.nodes) or any(
        _writes_files(one, seen) for one in inner
    )


def _frame_settings(scene: Any, engine: str, size: tuple[int, int], samples: int) -> list[tuple[Any, str, Any]]:
    render, image = scene.render, scene.render.image_settings
    wanted: list[tuple[Any, str, Any]] = [
        (scene, "camera", scene.camera),  # a marker bound to another camera switches it
        (render, "filepath", render.filepath),
        (render, "use_compositing", render.use_compositing),
        (render, "use_sequencer", False),
        (render, "engine", engine),
        (render, "resolution_x", size[0]),
        (render, "resolution_y", size[1]),
        (render, "resolution_percentage", 100),
        (render, "pixel_aspect_x", 1.0),
        (render, "pixel_aspect_y", 1.0),
        (render, "use_border", False),
        (render, "use_multiview", False),
        (render, "use_overwrite", True),
        (render, "use_placeholder", False),
        (render, "use_file_extension", True),
    ]
    if image.file_format != "PNG":
        # the format's own settings come and go with it: they are noted before it changes. Where it stays it is not
        # set, as that fills in names that were empty, and they could not be emptied again
        wanted += [
            (image, name, getattr(image, name)) for name in ("quality", "color_mode", "color_depth", "file_format")
        ]
        wanted += [(image, "media_type", "IMAGE"), (image, "file_format", "PNG")]
    wanted += [(image, "color_mode", "RGB"), (image, "color_depth", "8")]
    if hasattr(render, "save_output"):
        wanted.append((render, "save_output", True))
    if engine == "CYCLES":
        wanted += [(scene.cycles, "samples", samples), (scene.cycles, "use_denoising", False)]
        wanted += [(scene.cycles, "use_layer_samples", "IGNORE")]
    return wanted


@contextlib.contextmanager
def _made_for(scene: Any, sight: Sight) -> Iterator[list[tuple[Any, str, Any]]]:
    """The settings that make the render look from there: through the scene's camera, or through one for the moment.

    The latter is in no collection: a scene's camera is evaluated nevertheless.
    """
    if sight.camera is not None:
        yield []
        return
    lens = bpy.data.cameras.new(NAME)
    camera = bpy.data.objects.new(NAME, lens)
    try:
        _place_camera(camera, sight)
        yield [*((one, "camera", None) for one in scene.timeline_markers if one.camera), (scene, "camera", camera)]
    finally:
        bpy.data.objects.remove(camera)
        bpy.data.cameras.remove(lens)


def _place_camera(camera: Any, sight: Sight) -> None:
    """Give a camera the sight's place and the lens that has its projection (an OpenGL matrix)."""
    lens, across, up, along = camera.data, *(sight.projection[row] for row in range(3))
    lens.sensor_fit = "HORIZONTAL"
    if sight.projection[3][3]:
        lens.type, lens.ortho_scale = "ORTHO", 2 / across[0]
        near, far = (along[3] + 1) / along[2], (along[3] - 1) / along[2]
    else:
        lens.angle, lens.shift_x = 2 * math.atan(1 / across[0]), across[2] / 2
        lens.shift_y = up[2] / 2 * across[0] / up[1]
        near, far = along[3] / (along[2] - 1), along[3] / (along[2] + 1)
    back = max(0.0, NEAREST - near)  # a 3D view without perspective also shows what is behind its place
    camera.matrix_world = sight.matrix @ Matrix.Translation((0, 0, back))
    lens.clip_start, lens.clip_end = near + back, far + back


@contextlib.contextmanager
def _lit(scene: Any, light: Light) -> Iterator[list[tuple[Any, str, Any]]]:
    """The settings that light the scene for the moment."""
    if light == "scene":
        yield []
        return
    world = bpy.data.worlds.new(NAME)
    shape = bpy.data.materials.new(NAME)
    try:
        _make_studio(world)
        cycles, view = scene.cycles, scene.view_settings
        layers = [layer for layer in scene.view_layers if layer.use]
        wanted: list[tuple[Any, str, Any]] = [
            *((layer, "world_override", world) for layer in layers),
            *((one, "hide_render", True) for one in scene.objects if one.type == "LIGHT" and not one.hide_render),
            (cycles, "max_bounces", 0 if light == "flat" else 2),
            (scene.render, "use_compositing", False),
            (scene.render, "use_motion_blur", False),
            (scene.render, "film_transparent", False),
        ]
        if light == "flat":
            _make_grey(shape)
            wanted += [(layer, "material_override", shape) for layer in layers]
            # the look comes and goes with the transform: it is noted before that changes
            wanted += [(view, "look", view.look), (view, "view_transform", "Standard"), (view, "exposure", 0.0)]
            wanted += [(view, "gamma", 1.0), (cycles, "samples", FLAT_SAMPLES)]
        yield wanted
    finally:
        bpy.data.worlds.remove(world)
        bpy.data.materials.remove(shape)


def _make_studio(world: Any) -> None:
    """A dark ground to see, and light that comes from all sides, mostly from above the front."""
    nodes, links = world.node_tree.nodes, world.node_tree.links
    nodes.clear()
    world.cycles.sampling_method = "NONE"  # a map of where the light comes from takes longer than the picture
    where, seen = nodes.new("ShaderNodeTexCoord"), nodes.new("ShaderNodeLightPath")
    facing, strength = nodes.new("ShaderNodeVectorMath"), nodes.new("ShaderNodeMapRange")
    light, ground = nodes.new("ShaderNodeBackground"), nodes.new("ShaderNodeBackground")
    mixed, out = nodes.new("ShaderNodeMixShader"), nodes.new("ShaderNodeOutputWorld")
    facing.operation, facing.inputs[1].default_value = "DOT_PRODUCT", (0.35, -0.5, 0.79)
    strength.inputs["From Min"].default_value = -1.0
    strength.inputs["To Min"].default_value, strength.inputs["To Max"].default_value = 0.25, 1.4
    light.inputs["Color"].default_value, ground.inputs["Color"].default_value = (1, 1, 1, 1), (0.04, 0.04, 0.04, 1)
    links.new(where.outputs["Generated"], facing.inputs[0])
    links.new(facing.outputs["Value"], strength.inputs["Value"])
    links.new(strength.outputs["Result"], light.inputs["Strength"])
    links.new(seen.outputs["Is Camera Ray"], mixed.inputs["Fac"])
    links.new(light.outputs["Background"], mixed.inputs[1])
    links.new(ground.outputs["Background"], mixed.inputs[2])
    links.new(mixed.outputs["Shader"], out.inputs["Surface"])


def _make_grey(material: Any) -> None:
    """Grey that is the brighter the more a surface faces the viewer, whatever the light: few samples show shapes."""
    nodes, links = material.node_tree.nodes, material.node_tree.links
    nodes.clear()
    facing, grey, out = (
        nodes.new(kind) for kind in ("ShaderNodeLayerWeight", "ShaderNodeEmission", "ShaderNodeOutputMaterial")
    )
    ramp = nodes.new("ShaderNodeMapRange")
    ramp.inputs["To Min"].default_value, ramp.inputs["To Max"].default_value = 0.55, 0.06
    facing.inputs["Blend"].default_value = 0.5
    links.new(facing.outputs["Facing"], ramp.inputs["Value"])
    links.new(ramp.outputs["Result"], grey.inputs["Color"])
    links.new(grey.outputs["Emission"], out.inputs["Surface"])


@contextlib.contextmanager
def _spare_slot() -> Iterator[None]:
    """Render into the last slot of Render Result, and remove the images that only this render made."""
    before = {one.name for one in bpy.data.images}
    result = bpy.data.images.get("Render Result")
    slot = result.render_slots.active_index if result is not None else 0
    if result is not None:
        result.render_slots.active_index = len(result.render_slots) - 1
    try:
        yield
    finally:
        if result is not None:
            result.render_slots.active_index = slot
        for one in list(bpy.data.images):
            if one.name not in before and one.type in ("RENDER_RESULT", "COMPOSITING"):
                bpy.data.images.remove(one)
