# SPDX-License-Identifier: GPL-3.0-or-later
"""Procedural materials of the samples, in object coordinates: no image and no texture map (Blender only)."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, radians
from typing import Any, Final

Colour = tuple[float, float, float]
"""Linear reflectance (Rec. 709 primaries)."""

SKY_TINT: Final = (0.82, 0.95, 1.2)
SKY_GLOW: Final = (0.13, 0.42)
"""Strength of the sky's light on a surface that faces straight down, and straight up."""


def paint(name: str, colour: Colour, *, gloss: bool = False) -> Any:
    """One colour."""
    material = _new_material(name)
    source = _add(material, "ShaderNodeRGB").outputs[0]
    source.default_value = _rgba(colour)
    return _finish(material, source, gloss=gloss)


def tiles(name: str, first: Colour, second: Colour, joint: Colour) -> Any:
    """Square slabs of 0.9 m in the xy plane."""
    return _courses(name, first, second, joint, length=0.9, height=0.9, joint_width=0.018, offset=0.0, upright=False)


def bricks(name: str, first: Colour, second: Colour, mortar: Colour) -> Any:
    """A wall in the xz plane, its courses 0.2 m high."""
    return _courses(name, first, second, mortar, length=0.48, height=0.2, joint_width=0.014, offset=0.5, upright=True)


def planks(name: str, first: Colour, second: Colour) -> Any:
    """Boards along the x axis, 0.22 m high."""
    gap = (0.08, 0.04, 0.02)
    return _courses(name, first, second, gap, length=9.0, height=0.22, joint_width=0.012, offset=0.5, upright=True)


def stripes(name: str, first: Colour, second: Colour, width: float) -> Any:
    """Rings about the z axis, each `width` metres high."""
    material = _new_material(name)
    bands = _add(material, "ShaderNodeTexWave", wave_type="BANDS", bands_direction="Z", wave_profile="SAW")
    bands.inputs["Scale"].default_value = 2 * pi / (20 * 2 * width)  # the node's period is 2 pi / (20 scale)
    _link(material, _object_position(material), bands.inputs["Vector"])
    return _finish(material, _ramp(material, bands.outputs["Fac"], ((0.0, first), (0.5, second)), "CONSTANT"))


def foliage(name: str, dark: Colour, light: Colour, scale: float) -> Any:
    """Two colours in patches of about 1 / `scale` metres."""
    material = _new_material(name)
    noise = _add(material, "ShaderNodeTexNoise")
    noise.inputs["Scale"].default_value = scale
    _link(material, _object_position(material), noise.inputs["Vector"])
    return _finish(material, _ramp(material, noise.outputs[0], ((0.38, dark), (0.62, light)), "LINEAR"))


def add_sky(scene: Any, low: Colour, high: Colour) -> None:
    """Give the scene a world that goes from `low` at the horizon to `high` overhead; it is seen and lights nothing."""
    import bpy

    world = scene.world = bpy.data.worlds.new("Sky")
    world.node_tree.nodes.clear()
    direction = _add(world, "ShaderNodeSeparateXYZ")
    _link(world, _add(world, "ShaderNodeTexCoord").outputs["Generated"], direction.inputs[0])
    background = _add(world, "ShaderNodeBackground")
    ramp = _ramp(world, direction.outputs["Z"], ((0.0, low), (0.55, high)), "EASE")
    _link(world, ramp, background.inputs["Color"])
    _link(world, background.outputs[0], _add(world, "ShaderNodeOutputWorld").inputs["Surface"])
    world.cycles.sampling_method = "NONE"
    world.cycles_visibility.diffuse = world.cycles_visibility.glossy = False


def _courses(
    name: str, first: Colour, second: Colour, joint: Colour, *,
    length: float, height: float, joint_width: float, offset: float, upright: bool,
) -> Any:  # fmt: skip
    material = _new_material(name)
    mapping = _add(material, "ShaderNodeMapping")
    if upright:
        mapping.inputs["Rotation"].default_value = (radians(-90), 0, 0)  # z becomes the texture's y
    _link(material, _object_position(material), mapping.inputs["Vector"])
    texture = _add(material, "ShaderNodeTexBrick", offset=offset)
    values = {
        "Color1": _rgba(first), "Color2": _rgba(second), "Mortar": _rgba(joint), "Scale": 1.0, "Bias": 0.0,
        "Mortar Size": joint_width, "Mortar Smooth": 0.2, "Brick Width": length, "Row Height": height,
    }  # fmt: skip
    for socket, value in values.items():
        texture.inputs[socket].default_value = value
    _link(material, mapping.outputs["Vector"], texture.inputs["Vector"])
    return _finish(material, texture.outputs["Color"])


def _new_material(name: str) -> Any:
    import bpy

    material = bpy.data.materials.new(name)
    material.node_tree.nodes.clear()
    return material


def _finish(material: Any, colour: Any, *, gloss: bool = False) -> Any:
    """Give the material its surface of the output `colour`: lit by the sun, and by the sky as a faint glow.

    The glow depends on how far the surface faces up. It stands in for the light of the sky, whose sampling needs many
    times the samples that a demonstration on two cores can afford.
    """
    surface = _add(material, "ShaderNodeBsdfPrincipled" if gloss else "ShaderNodeBsdfDiffuse")
    surface.inputs["Roughness"].default_value = 0.35 if gloss else 0.0
    _link(material, colour, surface.inputs[0])
    upwards = _add(material, "ShaderNodeSeparateXYZ")
    _link(material, _add(material, "ShaderNodeNewGeometry").outputs["Normal"], upwards.inputs[0])
    strength = _add(material, "ShaderNodeMapRange")
    for socket, value in {"From Min": -1.0, "From Max": 1.0, "To Min": SKY_GLOW[0], "To Max": SKY_GLOW[1]}.items():
        strength.inputs[socket].default_value = value
    _link(material, upwards.outputs["Z"], strength.inputs["Value"])
    tinted = _add(material, "ShaderNodeVectorMath", operation="MULTIPLY")
    tinted.inputs[1].default_value = SKY_TINT
    _link(material, colour, tinted.inputs[0])
    glow = _add(material, "ShaderNodeEmission")
    _link(material, tinted.outputs[0], glow.inputs["Color"])
    _link(material, strength.outputs[0], glow.inputs["Strength"])
    both = _add(material, "ShaderNodeAddShader")
    _link(material, surface.outputs[0], both.inputs[0])
    _link(material, glow.outputs[0], both.inputs[1])
    _link(material, both.outputs[0], _add(material, "ShaderNodeOutputMaterial").inputs["Surface"])
    material.cycles.emission_sampling = "NONE"  # the glow lights nothing else
    return material


def _add(owner: Any, kind: str, **properties: Any) -> Any:
    node = owner.node_tree.nodes.new(kind)
    for name, value in properties.items():
        setattr(node, name, value)
    return node


def _link(owner: Any, source: Any, target: Any) -> None:
    owner.node_tree.links.new(source, target)


def _object_position(material: Any) -> Any:
    return _add(material, "ShaderNodeTexCoord").outputs["Object"]


def _ramp(owner: Any, value: Any, stops: Sequence[tuple[float, Colour]], interpolation: str) -> Any:
    """The colour of `value` between the two stops."""
    node = _add(owner, "ShaderNodeValToRGB")
    node.color_ramp.interpolation = interpolation
    for element, (position, colour) in zip(node.color_ramp.elements, stops, strict=True):
        element.position, element.color = position, _rgba(colour)
    _link(owner, value, node.inputs[0])
    return node.outputs["Color"]


def _rgba(colour: Colour) -> tuple[float, float, float, float]:
    return (*colour, 1.0)
