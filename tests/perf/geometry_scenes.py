# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes whose geometry is known exactly, for measuring estimators; runs inside Blender: `geometry_scenes.py NAME OUT`.

`town`: boxes and hills on textured ground under an open sky, a ball that flies through, a camera that moves sideways
and turns. `interior`: a room with smooth walls, some furniture, and an arc around it. `aerial`: terrain with houses,
seen from a drone that flies forward and looks down. 24 frames each, 960×540, Cycles with 16 samples and no denoising.
"""

from __future__ import annotations

import math
import random
import sys

import bpy

FRAMES = 24
Colour = tuple[float, float, float]


def start(lens: float, sky: Colour, strength: float = 1.0) -> bpy.types.Object:
    """An empty scene with its settings; returns the camera."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.engine, scene.cycles.device, scene.cycles.samples = "CYCLES", "CPU", 16
    scene.cycles.use_denoising = False
    scene.render.resolution_x, scene.render.resolution_y = 960, 540
    scene.frame_start, scene.frame_end = 1, FRAMES
    scene.view_settings.view_transform = "Standard"
    scene.world = bpy.data.worlds.new("sky")
    scene.world.use_nodes = True
    background = scene.world.node_tree.nodes["Background"]
    background.inputs["Color"].default_value, background.inputs["Strength"].default_value = (*sky, 1), strength
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    scene.collection.objects.link(camera)
    scene.camera = camera
    camera.data.sensor_width, camera.data.lens, camera.data.clip_end = 36, lens, 1000
    return camera


def light(kind: str, energy: float, location: Colour, rotation: Colour = (0, 0, 0), size: float = 1) -> None:
    """A sun or an area light."""
    data = bpy.data.lights.new(kind, kind)
    data.energy = energy
    if kind == "AREA":
        data.size = size
    lamp = bpy.data.objects.new(kind, data)
    lamp.location, lamp.rotation_euler = location, rotation
    bpy.context.scene.collection.objects.link(lamp)


def noise(number: int, scale: float, dark: Colour, bright: Colour, contrast: float = 0.12) -> bpy.types.Material:
    """A diffuse material of fractal noise between two colours; a small contrast makes sharp patches."""
    material = bpy.data.materials.new(f"noise {number}")
    material.use_nodes = True
    nodes, links = material.node_tree.nodes, material.node_tree.links
    nodes.clear()
    place, mapping = nodes.new("ShaderNodeTexCoord"), nodes.new("ShaderNodeMapping")
    texture, ramp = nodes.new("ShaderNodeTexNoise"), nodes.new("ShaderNodeValToRGB")
    diffuse, out = nodes.new("ShaderNodeBsdfDiffuse"), nodes.new("ShaderNodeOutputMaterial")
    mapping.inputs["Location"].default_value = (number * 3.1, number * 1.7, number * 0.9)
    texture.inputs["Scale"].default_value, texture.inputs["Detail"].default_value = scale, 8
    ramp.color_ramp.elements[0].position, ramp.color_ramp.elements[1].position = 0.5 - contrast, 0.5 + contrast
    ramp.color_ramp.elements[0].color, ramp.color_ramp.elements[1].color = (*dark, 1), (*bright, 1)
    links.new(place.outputs["Object"], mapping.inputs["Vector"])
    links.new(mapping.outputs["Vector"], texture.inputs["Vector"])
    links.new(texture.outputs[0], ramp.inputs[0])
    links.new(ramp.outputs[0], diffuse.inputs[0])
    links.new(diffuse.outputs[0], out.inputs[0])
    return material


def plain(colour: Colour) -> bpy.types.Material:
    """A diffuse material of one colour."""
    return noise(hash(colour) % 97, 1, colour, colour)


def clothed(material: bpy.types.Material) -> bpy.types.Object:
    """The object that was just added, with a material."""
    added = bpy.context.object
    added.data.materials.append(material)
    return added


def box(size: Colour, location: Colour, turn: float, material: bpy.types.Material) -> None:
    """A box of `size`, turned about the vertical."""
    bpy.ops.mesh.primitive_cube_add(size=1, location=location, rotation=(0, 0, turn))
    made = clothed(material)
    made.dimensions = size
    bpy.ops.object.transform_apply(location=False, rotation=False, scale=True)


def town() -> None:
    """The prototype's scene."""
    camera = start(28, (0.5, 0.65, 0.9))
    random.seed(3)
    bpy.ops.mesh.primitive_plane_add(size=120, location=(0, 30, 0))
    clothed(noise(1, 1.2, (0.05, 0.08, 0.03), (0.6, 0.55, 0.4)))
    colours = [
        ((0.1, 0.02, 0.02), (0.8, 0.4, 0.3)),
        ((0.02, 0.05, 0.15), (0.4, 0.6, 0.9)),
        ((0.1, 0.1, 0.1), (0.9, 0.9, 0.9)),
        ((0.05, 0.1, 0.05), (0.5, 0.8, 0.4)),
    ]
    for number in range(14):
        size = random.uniform(0.8, 3.0)
        location = (random.uniform(-9, 9), random.uniform(6, 34), size / 2)
        scale, turn = random.uniform(1.5, 4), random.uniform(0, 3)
        box((size, size, size), location, turn, noise(number + 2, scale, *colours[number % 4]))
    for number in range(5):
        bpy.ops.mesh.primitive_uv_sphere_add(radius=9, location=(-28 + 14 * number, 58, 0))
        clothed(noise(number + 16, 0.5, (0.1, 0.12, 0.08), (0.5, 0.5, 0.45)))
    bpy.ops.mesh.primitive_ico_sphere_add(radius=0.9, subdivisions=4)
    ball = clothed(noise(99, 5, (0.3, 0.0, 0.3), (1, 0.9, 0.2)))
    light("SUN", 3, (0, 0, 10), (0.7, 0.3, 0.4))
    for frame in range(1, FRAMES + 1):
        t = (frame - 1) / (FRAMES - 1)
        ball.location = (-2.2 + 3.2 * t, 7.5 - 0.8 * t, 1 + 0.5 * math.sin(3 * t))
        ball.keyframe_insert("location", frame=frame)
        camera.location = (-1.2 + 2.4 * t, -1 + 2 * t, 1.7 + 0.25 * math.sin(2.2 * t))
        turn = (88 - 3 * t, 1.5 * math.sin(3 * t), -4 + 9 * t)
        camera.rotation_euler = [math.radians(angle) for angle in turn]
        camera.keyframe_insert("location", frame=frame)
        camera.keyframe_insert("rotation_euler", frame=frame)


def interior() -> None:
    """A room of 6 × 7 × 2.7 m: smooth walls with a weak pattern, plain ceiling, wooden floor, furniture, pictures."""
    camera = start(24, (0.05, 0.05, 0.05))
    wall = noise(1, 2, (0.52, 0.5, 0.46), (0.62, 0.6, 0.55), 0.3)
    box((6, 0.1, 2.7), (0, 5, 1.35), 0, wall)
    box((0.1, 7, 2.7), (-3, 1.5, 1.35), 0, wall)
    box((0.1, 7, 2.7), (3, 1.5, 1.35), 0, wall)
    box((6, 7, 0.1), (0, 1.5, 2.75), 0, plain((0.7, 0.7, 0.68)))
    box((6, 7, 0.1), (0, 1.5, -0.05), 0, noise(2, 6, (0.18, 0.1, 0.05), (0.45, 0.28, 0.15)))
    box((2, 0.9, 0.45), (-1.2, 4.2, 0.225), 0, noise(3, 12, (0.1, 0.15, 0.3), (0.2, 0.3, 0.5), 0.2))
    box((1.2, 0.7, 0.4), (0.9, 2.6, 0.2), 0.4, noise(4, 9, (0.25, 0.15, 0.08), (0.5, 0.35, 0.2), 0.2))
    box((0.4, 1.4, 1.9), (2.7, 3, 0.95), 0, noise(5, 7, (0.3, 0.3, 0.3), (0.75, 0.75, 0.7), 0.2))
    for number, (x, z) in enumerate(((-1.9, 1.7), (-0.6, 1.8), (1.3, 1.6))):
        box((0.8, 0.04, 0.6), (x, 4.93, z), 0, noise(6 + number, 8, (0.05, 0.05, 0.1), (0.9, 0.8, 0.5)))
    light("AREA", 140, (0, 1.5, 2.6), size=2)
    for frame in range(1, FRAMES + 1):
        t = (frame - 1) / (FRAMES - 1)
        angle = math.radians(-14 + 28 * t)
        camera.location = (2.6 * math.sin(angle), 1.9 - 2.6 * math.cos(angle), 1.45 + 0.1 * t)
        camera.rotation_euler = (math.radians(84), 0, angle * 0.75)
        camera.keyframe_insert("location", frame=frame)
        camera.keyframe_insert("rotation_euler", frame=frame)


def aerial() -> None:
    """Hills of 400 × 400 m with 60 houses, from 45 m above, flying forward at 0.9 m a frame, looking 28° down."""
    camera = start(30, (0.55, 0.7, 0.95))
    random.seed(7)
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=120, y_subdivisions=120, size=400, location=(0, 150, 0))
    ground = clothed(noise(1, 0.12, (0.06, 0.1, 0.03), (0.45, 0.4, 0.25), 0.2))

    def height(x: float, y: float) -> float:
        return 5 * math.sin(x / 23) * math.cos(y / 31) + 2 * math.sin(x / 9 + y / 13)

    for vertex in ground.data.vertices:
        vertex.co.z = height(vertex.co.x, vertex.co.y + 150)
    for number in range(60):
        x, y = random.uniform(-70, 70), random.uniform(15, 190)
        size = (random.uniform(5, 11), random.uniform(5, 11), random.uniform(6, 14))
        colours = ((0.25, 0.1, 0.06), (0.8, 0.5, 0.4)) if number % 2 else ((0.2, 0.2, 0.22), (0.85, 0.85, 0.8))
        box(size, (x, y, height(x, y) + size[2] / 3), random.uniform(0, 3), noise(number + 2, 0.5, *colours))
    light("SUN", 3, (0, 0, 100), (0.6, 0.2, 0.8))
    for frame in range(1, FRAMES + 1):
        t = (frame - 1) / (FRAMES - 1)
        camera.location = (1.5 * math.sin(2 * t), -40 + 0.9 * (FRAMES - 1) * t, 45 + 0.8 * t)
        camera.rotation_euler = (math.radians(62), 0, math.radians(2 * t))
        camera.keyframe_insert("location", frame=frame)
        camera.keyframe_insert("rotation_euler", frame=frame)


SCENES = {"town": town, "interior": interior, "aerial": aerial}

if __name__ == "__main__":
    arguments = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:]
    SCENES[arguments[0]]()
    bpy.ops.wm.save_as_mainfile(filepath=arguments[1], copy=True)
