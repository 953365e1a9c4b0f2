# SPDX-License-Identifier: GPL-3.0-or-later
"""Every use of an image, movie clip or texture: where, by what, and whether it reaches the render."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import bpy

from .findings import label
from .reach import STATES, Reach, State, TreeWalk, modifier_state, rooted_trees

Found = tuple[Any, "Use"]


@dataclass(frozen=True)
class Use:
    """One use of a datablock. `holder` is the datablock that has it."""

    where: str
    state: State
    holder: Any


def find_uses(reach: Reach) -> dict[Any, list[Use]]:
    """The uses of every image, movie clip and texture of the file; those that nothing else knows are told by holder."""
    uses: dict[Any, list[Use]] = defaultdict(list)
    for finder in (_in_nodes, _in_objects, _in_cameras, _in_materials, _in_scenes, _in_clips):
        for target, use in finder(reach):
            uses[target].append(use)
    for blocks in (bpy.data.textures, bpy.data.images, bpy.data.movieclips):
        for block in blocks:
            known = {use.holder for use in uses[block]}
            for user in reach.users.get(block, ()):
                # trees are walked node by node; what is left of one is the default of a group's socket
                if user not in known and not (known and user.id_type == "NODETREE"):
                    uses[block] += _other(block, user, uses, reach)
    return {block: _without_repeats(found) for block, found in uses.items()}


def strongest(uses: list[Use]) -> State:
    """The state of the use that counts; `unused` where there is none."""
    return min((use.state for use in uses), key=STATES.index, default="unused")


def _without_repeats(uses: list[Use]) -> list[Use]:
    """Of several uses at the same place the strongest."""
    best: dict[str, Use] = {}
    for use in uses:
        if use.where not in best or STATES.index(use.state) < STATES.index(best[use.where].state):
            best[use.where] = use
    return list(best.values())


def _in_nodes(reach: Reach) -> Iterator[Found]:
    found: list[Found] = []

    def visit(node: Any, where: str, state: State, holder: Any) -> None:
        for name in ("image", "clip", "texture"):
            block = getattr(node, name, None)
            if isinstance(block, bpy.types.ID):
                found.append((block, Use(where, state, holder)))
        for socket in node.inputs:
            block = getattr(socket, "default_value", None) if socket.type in ("IMAGE", "TEXTURE") else None
            if isinstance(block, bpy.types.ID) and not socket.is_linked:
                found.append((block, Use(where, state, holder)))

    walk = TreeWalk(visit)
    for tree, holder, where, state in rooted_trees(reach):
        walk.walk(tree, holder, where, state)
        if isinstance(holder, bpy.types.Material) and any(
            scene.display.shading.color_type == "TEXTURE" for scene in reach.scenes
        ):  # connected or not
            shown = [node for node in tree.nodes if node.type == "TEX_IMAGE" and node.image is not None]
            found += [(node.image, Use(f"{where}, node '{node.name}' (in Workbench)", state, holder)) for node in shown]
    return iter(found)


def _in_objects(reach: Reach) -> Iterator[Found]:
    for item in bpy.data.objects:
        if item.type == "EMPTY" and isinstance(item.data, bpy.types.Image):
            yield item.data, Use(f"{label(item)} (an empty that shows an image)", "viewport", item)
        for modifier in item.modifiers:
            place, state = f"{label(item)}, modifier '{modifier.name}'", modifier_state(item, modifier, reach)
            for name in ("texture", "mask_texture"):
                if getattr(modifier, name, None) is not None:
                    yield getattr(modifier, name), Use(place, state, item)
            if modifier.type == "NODES":
                for block in _modifier_inputs(modifier):
                    yield block, Use(f"{place}, input", state, item)
        for constraint in item.constraints:
            if getattr(constraint, "clip", None) is not None:
                where = f"{label(item)}, constraint '{constraint.name}' (takes tracked positions, shows no picture)"
                yield constraint.clip, Use(where, "viewport", item)


def _modifier_inputs(modifier: Any) -> Iterator[Any]:
    inputs = getattr(modifier.properties, "inputs", None)
    for name in inputs.bl_rna.properties.keys() if inputs is not None else ():
        value = getattr(getattr(inputs, name, None), "value", None)
        if isinstance(value, (bpy.types.Image, bpy.types.Texture)):
            yield value


def _in_cameras(reach: Reach) -> Iterator[Found]:
    for camera in bpy.data.cameras:
        for shown in camera.background_images:
            for block in (shown.image, shown.clip):  # the one that is not chosen stays in the file
                if block is not None:
                    yield block, Use(f"{label(camera)}, background image (viewport only)", "viewport", camera)


def _in_materials(reach: Reach) -> Iterator[Found]:
    for material in bpy.data.materials:
        style = material.grease_pencil
        for name in ("fill_image", "stroke_image") if style is not None else ():
            block = getattr(style, name)
            if block is not None:
                place = f"{label(material)}, grease pencil {name.replace('_', ' ')}"
                yield block, Use(place, reach.state(material), material)


def _in_scenes(reach: Reach) -> Iterator[Found]:
    for scene in bpy.data.scenes:
        tools = scene.tool_settings
        paint = tools.image_paint
        for block in (paint.canvas, paint.clone_image, paint.stencil_image, tools.paint_mode.canvas_image):
            if block is not None:
                yield block, Use(f"{label(scene)}, paint tool", "viewport", scene)
        if scene.active_clip is not None:
            yield scene.active_clip, Use(f"{label(scene)}, active clip (viewport only)", "viewport", scene)
        editor = scene.sequence_editor
        for strip in editor.strips_all if editor is not None else ():
            if strip.type == "MOVIECLIP" and strip.clip is not None:
                # the strip has a finding of its own, which says whether it is in the output
                yield strip.clip, Use(f"{label(scene)}, sequencer strip '{strip.name}'", "off", scene)


def _in_clips(reach: Reach) -> Iterator[Found]:
    for clip in bpy.data.movieclips:
        for tracked in clip.tracking.objects:
            for plane in tracked.plane_tracks:
                if plane.image is not None:
                    yield plane.image, Use(f"{label(clip)}, plane track '{plane.name}'", "viewport", clip)


def _other(block: Any, user: Any, uses: dict[Any, list[Use]], reach: Reach) -> Iterator[Use]:
    """Uses that no finder knows, by the datablock that has them: a texture hands on its own uses."""
    state = reach.state(user)
    if user.id_type == "TEXTURE":
        for use in uses.get(user, []):
            yield Use(f"{label(user)}: {use.where}", use.state, user)
        if not uses.get(user):
            yield Use(label(user), "unused", user)
    elif user.id_type == "BRUSH":
        yield Use(f"{label(user)} (a tool)", "viewport", user)
    elif user.id_type in ("SCREEN", "WORKSPACE", "WINDOWMANAGER"):
        yield Use(f"{label(user)} (an editor)", "viewport", user)
    elif block.id_type == "TEXTURE":
        yield Use(label(user), state, user)  # particles and line styles have slots for textures
    else:
        # a custom property, or a default of a group's socket: it is named, but shows nothing by itself
        yield Use(label(user), "off" if state == "rendered" else state, user)
