"""Small scenes for the tests of the render child, made by script."""

import math
from pathlib import Path

import bpy


def _material(name, first, second):
    material = bpy.data.materials.new(name)
    nodes = material.node_tree
    noise = nodes.nodes.new("ShaderNodeTexNoise")
    noise.inputs["Scale"].default_value = 3.0
    ramp = nodes.nodes.new("ShaderNodeValToRGB")
    ramp.color_ramp.elements[0].color = (*first, 1)
    ramp.color_ramp.elements[1].color = (*second, 1)
    nodes.links.new(noise.outputs[0], ramp.inputs[0])
    nodes.links.new(ramp.outputs[0], nodes.nodes["Principled BSDF"].inputs["Base Color"])
    return material


def _mesh(operator, material, name, **arguments):
    operator(**arguments)
    item = bpy.context.object
    item.name = name
    item.data.materials.append(material)
    return item


def _camera(name, frames, start):
    item = bpy.data.objects.new(name, bpy.data.cameras.new(name))
    bpy.context.scene.collection.objects.link(item)
    for frame in range(1, frames + 1):
        t = (frame - 1) / max(1, frames - 1)
        item.location = (start + 1.5 * t, -7 + 0.8 * t, 1.7 + 0.2 * t)
        item.rotation_euler = (math.radians(84 - 2 * t), math.radians(2 * t), math.radians(-3 + 6 * t))
        item.keyframe_insert("location", frame=frame)
        item.keyframe_insert("rotation_euler", frame=frame)
    return item


def build(frames=6, two_shots=False):
    """Ground, boxes, a parented pair, a moving ball, sky; a moving camera, or two with a cut in the middle."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.cycles.device = "CPU"
    scene.cycles.samples = 2
    scene.cycles.use_denoising = False
    scene.frame_start, scene.frame_end = 1, frames
    grey = _material("grey", (0.1, 0.1, 0.1), (0.8, 0.8, 0.8))
    red = _material("red", (0.2, 0.0, 0.0), (0.9, 0.4, 0.3))
    _mesh(bpy.ops.mesh.primitive_plane_add, grey, "ground", size=60)
    for index in range(5):
        place = (-4 + 2 * index, 1.5 + (index % 3) * 2, 0.5)
        _mesh(bpy.ops.mesh.primitive_cube_add, grey, f"box {index}", size=1.0, location=place, rotation=(0, 0, index))
    ball = _mesh(bpy.ops.mesh.primitive_ico_sphere_add, red, "ball", subdivisions=3, radius=0.6, location=(-2, -1, 0.6))
    ball.keyframe_insert("location", frame=1)
    ball.location.x = 2.0
    ball.keyframe_insert("location", frame=frames)
    rider = _mesh(bpy.ops.mesh.primitive_cube_add, red, "rider", size=0.4, location=(0, 0, 0.8))
    rider.parent = ball
    light = bpy.data.objects.new("sun", bpy.data.lights.new("sun", "SUN"))
    light.data.energy = 3
    light.rotation_euler = (0.6, 0.3, 0.2)
    scene.collection.objects.link(light)
    scene.camera = _camera("camera", frames, -1.0)
    if two_shots:
        scene.timeline_markers.new("a", frame=1).camera = scene.camera
        scene.timeline_markers.new("b", frame=1 + frames // 2).camera = _camera("second", frames, 3.0)
    return scene


def save(path: Path) -> Path:
    """Save what is open as `path`."""
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True)
    return path
