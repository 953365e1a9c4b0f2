# SPDX-License-Identifier: GPL-3.0-or-later
"""What a fair agent would do with the sample's reference: study, build in steps, look, compare, render, hand in.

The scene is its own reading of the two shots: plain materials, fewer parts, the same places, motions, cameras and cut.
`first` is the sample's frame that the reference begins with, for references that show a part of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import cos, radians, sin
from typing import Any

from scripted_agent import Answer, Memory, Step

# each call of run_python has a fresh namespace, so that what several need is sent with each
TOOLS = """
import bmesh
from math import atan2, radians, tau
from mathutils import Matrix, Vector
scene = bpy.context.scene
def paint(name, colour):
    made = bpy.data.materials.get(name) or bpy.data.materials.new(name)
    node = made.node_tree.nodes['Principled BSDF']
    node.inputs['Base Color'].default_value = (*colour, 1)
    node.inputs['Roughness'].default_value = 0.9
    return made
def put(name, kind, at, size, colour, parent=None, turn=0):
    mesh = bmesh.new()
    if kind == 'box':
        bmesh.ops.create_cube(mesh, size=1)
    elif kind == 'ball':
        bmesh.ops.create_uvsphere(mesh, u_segments=32, v_segments=16, radius=1)
        bmesh.ops.rotate(mesh, matrix=Matrix.Rotation(radians(90), 3, 'X'), verts=mesh.verts)
    else:
        top = 0.05 if kind == 'cone' else 1
        bmesh.ops.create_cone(mesh, cap_ends=True, segments=24, radius1=1, radius2=top, depth=1)
    bmesh.ops.scale(mesh, vec=size, verts=mesh.verts)
    data = bpy.data.meshes.new(name)
    for face in mesh.faces:
        face.smooth = kind != 'box' and len(face.verts) <= 4
    mesh.to_mesh(data); mesh.free()
    data.materials.append(paint(name, colour))
    return add(name, data, at, parent, turn)
def add(name, data, at, parent=None, turn=0):
    made = bpy.data.objects.new(name, data)
    made.location, made.parent, made.rotation_euler.z = at, parent, radians(turn)
    scene.collection.objects.link(made)
    return made
def frame(number):
    return scene.frame_start + number - FIRST
def key(owner, path, index, first, start, last, end, shape, easing='AUTO'):
    for number, value in ((first, start), (last, end)):
        if index < 0: setattr(owner, path, value)
        else: getattr(owner, path)[index] = value
        owner.keyframe_insert(path, index=index, frame=frame(number))
    animation = owner.animation_data
    bag = animation.action.layers[0].strips[0].channelbag(animation.action_slot)
    for point in bag.fcurves.find(path, index=max(index, 0)).keyframe_points:
        point.interpolation, point.easing = shape, easing
"""

TIMELINE = """
for made in list(bpy.data.objects):
    bpy.data.objects.remove(made)
render, cycles = scene.render, scene.cycles
for path, value in SCENE.items():
    setattr(render if path.startswith('render.') else scene, path.removeprefix('render.'), value)
scene.view_settings.view_transform = 'Standard'
render.engine, render.use_persistent_data = 'CYCLES', True
cycles.samples, cycles.use_denoising, cycles.max_bounces = 4, False, 0
world = bpy.data.worlds.new('Sky')
scene.world = world
nodes, links = world.node_tree.nodes, world.node_tree.links
position, ramp = nodes.new('ShaderNodeTexCoord'), nodes.new('ShaderNodeValToRGB')
split = nodes.new('ShaderNodeSeparateXYZ')
links.new(position.outputs['Generated'], split.inputs[0])
links.new(split.outputs['Z'], ramp.inputs[0])
links.new(ramp.outputs[0], nodes['Background'].inputs['Color'])
ramp.color_ramp.elements[0].color, ramp.color_ramp.elements[1].color = (0.55, 0.69, 0.84, 1), (0.14, 0.33, 0.68, 1)
ramp.color_ramp.elements[1].position = 0.6
nodes['Background'].inputs['Strength'].default_value = 0.5
light = bpy.data.lights.new('Sun', 'SUN')
light.energy, light.angle, light.color = 3.0, radians(1.5), (1.0, 0.87, 0.7)
sun = add('Sun', light, (0, 0, 8))
sun.rotation_euler = (radians(52), 0, radians(-38))
"""

SURROUNDINGS = """
put('Ground', 'box', (0, 3, -0.05), (60, 40, 0.1), (0.37, 0.29, 0.22))
put('Wall', 'box', (0.5, 5, 0.9), (26, 0.35, 1.8), (0.32, 0.12, 0.08))
put('Coping', 'box', (0.5, 5, 1.86), (26, 0.5, 0.12), (0.5, 0.45, 0.38))
for number, (x, y, wide, high) in enumerate(((-14, 34, 17, 5.5), (8, 42, 22, 7.5), (27, 32, 14, 4.5))):
    put(f'Hill {number}', 'ball', (x, y, -0.5), (wide, 8, high), (0.13, 0.25, 0.07))
put('Tree A Trunk', 'tube', (-2.7, 3.2, 0.65), (0.14, 0.14, 1.3), (0.14, 0.07, 0.035))
put('Tree A Crown', 'ball', (-2.7, 3.2, 2.1), (1, 1, 1.05), (0.14, 0.31, 0.045))
put('Tree B Trunk', 'tube', (5.4, 3.2, 0.3), (0.15, 0.15, 0.6), (0.14, 0.07, 0.035))
for number, (low, high, wide) in enumerate(((0.5, 1.3, 1.0), (1.2, 1.2, 0.8), (1.9, 1.2, 0.58))):
    put(f'Tree B Tier {number}', 'cone', (5.4, 3.2, low + high / 2), (wide, wide, high), (0.03, 0.15, 0.07))
put('Crate', 'box', (-0.75, 1.9, 0.47), (0.96, 0.96, 0.94), (0.4, 0.23, 0.09), turn=24)
put('Bench Seat', 'box', (1.6, 3.9, 0.48), (1.9, 0.5, 0.08), (0.36, 0.2, 0.09))
for side in (-1, 1):
    put(f'Bench Foot {side}', 'box', (1.6 + side * 0.7, 3.9, 0.22), (0.16, 0.4, 0.44), (0.36, 0.35, 0.33))
put('Pillar Foot', 'box', (3.35, 1.3, 0.1), (0.8, 0.8, 0.2), (0.4, 0.38, 0.35))
for ring in range(6):
    colour = ((0.04, 0.13, 0.42), (0.8, 0.77, 0.7))[ring % 2]
    put(f'Pillar Ring {ring}', 'tube', (3.35, 1.3, 0.35 + ring * 0.3), (0.27, 0.27, 0.3), colour)
put('Pillar Globe', 'ball', (3.35, 1.3, 2.22), (0.29, 0.29, 0.29), (0.75, 0.42, 0.05))
"""

SUBJECTS = """
figure = add('Figure', None, (1.15, 0.6, 0), turn=-6)
for side in (-1, 1):
    put(f'Leg {side}', 'tube', (side * 0.115, 0, 0.46), (0.1, 0.1, 0.84), (0.025, 0.035, 0.09), figure)
    put(f'Shoe {side}', 'ball', (side * 0.14, -0.06, 0.07), (0.1, 0.17, 0.08), (0.02, 0.017, 0.015), figure)
put('Hips', 'ball', (0, 0, 0.88), (0.21, 0.15, 0.14), (0.025, 0.035, 0.09), figure)
put('Torso', 'tube', (0, 0, 1.14), (0.22, 0.14, 0.5), (0.02, 0.3, 0.3), figure)
put('Stripe', 'tube', (0, 0, 1.14), (0.235, 0.155, 0.08), (0.75, 0.42, 0.05), figure)
put('Head', 'ball', (0, 0, 1.65), (0.155, 0.16, 0.18), (0.62, 0.33, 0.2), figure)
put('Cap', 'ball', (0, -0.01, 1.72), (0.168, 0.19, 0.14), (0.75, 0.2, 0.02), figure)
for side in (-1, 1):
    arm = add('Arm Right' if side == 1 else 'Arm Left', None, (side * 0.26, 0, 1.36), figure)
    put(f'Sleeve {side}', 'tube', (0, 0, -0.15), (0.08, 0.08, 0.3), (0.02, 0.3, 0.3), arm)
    put(f'Forearm {side}', 'tube', (0, 0, -0.43), (0.05, 0.05, 0.26), (0.62, 0.33, 0.2), arm)
    put(f'Hand {side}', 'ball', (0, 0, -0.62), (0.07, 0.05, 0.085), (0.62, 0.33, 0.2), arm)
    arm.rotation_euler.y = -side * radians(8)
    if side == 1:
        key(arm, 'rotation_euler', 1, 46, -radians(8), 60, -radians(158), 'SINE', 'EASE_IN_OUT')
ball = put('Ball', 'ball', (-3, -0.45, 0.38), (0.38, 0.38, 0.38), (0.62, 0.035, 0.03))
for name, colour in (('Ball White', (0.8, 0.77, 0.7)), ('Ball Blue', (0.04, 0.13, 0.42))):
    ball.data.materials.append(paint(name, colour))
for face in ball.data.polygons:
    turned = atan2(face.center.x, face.center.z) % tau
    face.material_index = (0, 1, 0, 1, 2, 1)[int(turned / tau * 6)]
key(ball, 'location', 0, 8, -3.0, 56, 2.0, 'QUAD', 'EASE_OUT')
key(ball, 'rotation_euler', 1, 8, 0.0, 56, 5 / 0.38, 'QUAD', 'EASE_OUT')
"""

CAMERAS = """
def camera(name, at, tilt, lens):
    data = bpy.data.cameras.new(name)
    data.lens, data.clip_start, data.clip_end = lens, 0.1, 200
    made = add(name, data, at)
    made.rotation_euler = (radians(90 + tilt), 0, 0)
    return made
first = camera('Camera 1', START, -4.5, LENS)
key(first, 'location', 0, 0, -0.9, 39, 0.5, 'LINEAR')
key(first, 'location', 1, 0, -8.4, 39, -6.8, 'LINEAR')
key(first, 'rotation_euler', 2, 0, radians(1), 39, radians(-4), 'LINEAR')
second = camera('Camera 2', (3.1, -6.4, 2.6), -11.5, 40)
key(second, 'rotation_euler', 2, 42, radians(16), 58, radians(4), 'SINE', 'EASE_IN_OUT')
key(second.data, 'lens', -1, 60, 40.0, 71, 46.0, 'SINE', 'EASE_IN_OUT')
scene.camera = first
scene.timeline_markers.clear()
for name, number, made in (('Shot 1', max(FIRST, 0), first), ('Shot 2', 40, second)):
    scene.timeline_markers.new(name, frame=frame(number)).camera = made
"""

BRIGHTER = """
scene.world.node_tree.nodes['Background'].inputs['Strength'].default_value = 0.9
scene.objects['Sun'].data.energy = 4.0
"""

REPORT = """\
The two shots are rebuilt from simple solids with plain materials. The ball, the arm, both cameras and the cut are
animated at the reference's frames. Bricks, paving and leaves have no pattern; the crate is one box.
"""

PICKED = (
    (2.95, 0.9, 0.0), (3.75, 0.9, 0.0), (2.95, 0.9, 0.2), (3.35, 1.3, 2.51), (-2.7, 3.06, 0.0), (0.65, 3.65, 0.52),
    (2.55, 3.65, 0.52), (-1.0, 1.25, 0.0), (-1.0, 1.25, 0.94), (-0.1, 1.65, 0.0), (-0.1, 1.65, 0.94),
)  # fmt: skip
"""Places that are easily told in the first shot: corners of the pillar's foot, the bench and the crate, a trunk."""


def pick(first: int, width: int, height: int) -> list[list[float]]:
    """What an agent reads off the reference's first frame, to half a pixel: rows [x, y, X, Y, Z].

    The sample's camera takes the place of eyes.
    """
    way = first / 39
    centre, turn, tilt = (-0.9 + 1.4 * way, -8.4 + 1.6 * way, 1.75), radians(1 - 5 * way), radians(-4.5)
    rows = []
    for x, y, z in PICKED:
        east, north, up = x - centre[0], y - centre[1], z - centre[2]
        right, ahead = east * cos(turn) + north * sin(turn), north * cos(turn) - east * sin(turn)
        high, depth = up * cos(tilt) - ahead * sin(tilt), ahead * cos(tilt) + up * sin(tilt)
        seen = [(width - 1) / 2 + 35 / 36 * width * right / depth, (height - 1) / 2 - 35 / 36 * width * high / depth]
        if 0 <= seen[0] <= width - 1 and 0 <= seen[1] <= height - 1:
            rows.append([*(round(2 * value) / 2 for value in seen), x, y, z])
    return rows


def rebuild(*, first: int = 0, samples: int = 4) -> list[Step]:
    """The steps."""

    def python(name: str, code: str, **values: Any) -> Step:
        named = "".join(f"{key} = {value!r}\n" for key, value in {"FIRST": first, **values}.items())
        return Step("run_python", {"code": f"{named}{TOOLS}\n{code}", "label": name}, name=name)

    def timeline(memory: Memory) -> Mapping[str, Any]:
        found = memory["reference_info"].data["scene"]
        return python("timeline, light and sky", TIMELINE, SCENE=found).arguments

    def cameras(memory: Memory) -> Mapping[str, Any]:
        # the fit is of the reference's first frame, the path begins at the sample's
        fitted, way = memory["fit_camera"].data, first / 39
        x, y, z = fitted["location"]
        start = (x - 1.4 * way, y - 1.6 * way, z)
        return python("cameras and cut", CAMERAS, START=start, LENS=fitted["lens_mm"]).arguments

    def spread(memory: Memory) -> dict[str, Any]:
        frames = memory["reference_info"].data["timeline"]["frames"]
        return {"frames": [0, frames // 3, 2 * frames // 3, frames - 1]}

    def few(memory: Memory) -> dict[str, Any]:
        # a comparison of the scene is rendered, a frame and its neighbour each
        return {"frames": spread(memory)["frames"][1:3], "samples": 2}

    def listed(memory: Memory) -> dict[str, Any]:
        return {"frames": ",".join(map(str, spread(memory)["frames"]))}

    def points(memory: Memory) -> dict[str, Any]:
        found = memory["reference_info"].data["timeline"]
        return {"points": pick(first, found["width"], found["height"])}

    return [
        Step("scene_summary"),
        Step("reference_info"),
        Step("reference_motion", again=is_at_work),
        Step("reference_frames", listed, shows=1),
        Step("api_help", {"query": "Camera.lens"}),
        Step("run_python", timeline, name="timeline"),
        python("surroundings", SURROUNDINGS),
        Step("run_python", {"code": "bpy.data.objects['Bal']"}, name="a slip", fails="KeyError"),
        Step("run_python", {"code": "bpy.data.objects.remove(bpy.data.objects['Crate'])"}, name="a mistake"),
        Step("undo"),
        python("figure and ball", SUBJECTS),
        Step("fit_camera", points),
        Step("run_python", cameras, name="cameras"),
        Step("inspect", {"kind": "object", "name": "Crate"}),
        Step("look", spread, shows=1),
        Step("compare", few, name="compare before", shows=1),
        python("brighter", BRIGHTER),
        Step("compare", few, name="compare after", shows=1),
        Step("render_start", {"samples": 64, "scale": 0.5}, name="a test that takes too long"),
        Step("render_status"),
        Step("render_cancel"),
        Step("render_start", {"samples": samples}),
        Step("render_wait", {"seconds": 20}, again=is_at_work),
        Step("check_timeline", again=is_at_work),
        Step("compare", lambda memory: {**spread(memory), "ours": "render"}, name="compare render", shows=1),
        Step("audit", again=is_at_work),
        Step("submit", {"report": REPORT}, again=is_at_work),
    ]


def is_at_work(answer: Answer) -> bool:
    """Whether what was asked for goes on, and is asked for again."""
    data = answer.data
    return data.get("state") == "running" or ("passed" in data and data["passed"] is None)
