# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes that cheat in roundabout ways, and honest ones that look a little like them; see audit_scenes.py."""

import math

import bpy
import numpy as np
from audit_scenes import add, compositor, empty_scene, image_material, material, packed, pixels, plane
from mathutils import Vector

COLUMNS, ROWS = 64, 36


def linear(folder, columns=COLUMNS, rows=ROWS):
    """(rows, columns, 3) linear colours of the frame, the top row first."""
    return pixels(folder, columns, rows).astype(np.float32) ** 2.2


def sheet(name, shader=None):
    """A grid of COLUMNS by ROWS points."""
    return plane(name, shader, COLUMNS - 1, ROWS - 1)


def new_scene(name):
    """A second scene, with a camera of its own."""
    made = bpy.data.scenes.new(name)
    camera = bpy.data.objects.new(f"{name} camera", bpy.data.cameras.new(name))
    camera.location, camera.rotation_euler = (0, -2, 0), (math.radians(90), 0, 0)
    made.collection.objects.link(camera)
    made.camera = camera
    return made


def move_to(item, scene):
    """Take an object out of the rendered scene and into another."""
    bpy.context.scene.collection.objects.unlink(item)
    scene.collection.objects.link(item)


# --------------------------------------------------------------------------------------------------- scenes that cheat


def layers_of_another_scene(folder):
    """The compositor shows the render of a scene that nobody opens."""
    scene, other = empty_scene(), new_scene("Other")
    move_to(plane("Screen", image_material("Screen", packed(folder / "frame.png"))), other)
    tree, output = compositor(scene)
    node = tree.nodes.new("CompositorNodeRLayers")
    node.scene = other
    tree.links.new(node.outputs[0], output.inputs[0])


def strip_after_the_range(folder):
    """The scene's own range ends before the strip begins; the reference is longer."""
    scene = empty_scene()
    scene.frame_end = 2
    strips = scene.sequence_editor_create().strips
    strips.new_movie("footage", str(folder / "reference.mp4"), channel=1, frame_start=5)


def strips_of_another_scene(folder):
    """A scene strip shows the sequencer of a scene that does not render by its own sequencer."""
    scene, other = empty_scene(), new_scene("Other")
    other.render.use_sequencer = False
    other.sequence_editor_create().strips.new_movie("footage", str(folder / "reference.mp4"), channel=1, frame_start=1)
    strip = scene.sequence_editor_create().strips.new_scene("shot", other, channel=1, frame_start=1)
    strip.scene_input = "SEQUENCER"


def strip_that_is_unmuted(folder):
    scene = empty_scene()
    strips = scene.sequence_editor_create().strips
    strip = strips.new_movie("footage", str(folder / "reference.mp4"), channel=1, frame_start=1)
    strip.mute = False
    strip.keyframe_insert("mute", frame=2)
    strip.mute = True
    strip.keyframe_insert("mute", frame=1)


def shown_by_a_strip_of_actions(folder):
    """The switch of the object is animated by an action that was pushed down."""
    empty_scene()
    screen = plane("Screen", image_material("Screen", packed(folder / "frame.png")))
    for frame, hidden in ((2, False), (1, True)):
        screen.hide_render = hidden
        screen.keyframe_insert("hide_render", frame=frame)
    data = screen.animation_data
    action, slot = data.action, data.action_slot
    data.action = None
    strip = data.nla_tracks.new().strips.new("pushed", 1, action)
    strip.action_slot = slot


def texture_of_workbench(folder):
    """Workbench shows the image that is chosen in the node editor, connected or not."""
    scene = empty_scene()
    scene.render.engine, scene.display.shading.color_type = "BLENDER_WORKBENCH", "TEXTURE"
    shader = image_material("Screen", packed(folder / "frame.png"), connect=False)
    shader.node_tree.nodes.active = shader.node_tree.nodes["Image Texture"]
    plane("Screen", shader)


def objects_of_workbench(folder):
    """A crowd whose object colours Workbench shows, whatever its material is."""
    scene = empty_scene()
    scene.render.engine, scene.display.shading.color_type = "BLENDER_WORKBENCH", "OBJECT"
    colours = linear(folder, 32, 18)
    first = plane("Dot 0000", material("Plain"))
    for number, colour in enumerate(colours.reshape(-1, 3)):
        dot = first if number == 0 else add(f"Dot {number:04d}", first.data)
        dot.location = (number % 32, 0, -(number // 32))
        dot.color = (*colour, 1)
    bpy.context.view_layer.update()


def colours_after_the_range(folder):
    """Lamps that take on a frame's colours after the scene's own range has ended."""
    scene = empty_scene()
    scene.frame_end = 2
    for number, colour in enumerate(linear(folder, 32, 18).reshape(-1, 3)):
        lamp = bpy.data.lights.new(f"Lamp {number:04d}", "POINT")
        lamp.keyframe_insert("color", frame=2)
        lamp.color = colour
        lamp.keyframe_insert("color", frame=3)
        add(lamp.name, lamp, location=(number % 32, 0, -(number // 32)))
    scene.frame_set(1)


def colours_in_uv_maps(folder):
    empty_scene()
    colours = linear(folder)
    shader = material("Painting")
    tree = shader.node_tree
    first, second = tree.nodes.new("ShaderNodeUVMap"), tree.nodes.new("ShaderNodeUVMap")
    first.uv_map, second.uv_map = "Lightmap", "Detail"
    mixed = tree.nodes.new("ShaderNodeCombineColor")
    for node, outputs in ((first, ((0, 0), (1, 1))), (second, ((0, 2),))):
        parts = tree.nodes.new("ShaderNodeSeparateXYZ")
        tree.links.new(node.outputs[0], parts.inputs[0])
        for here, there in outputs:
            tree.links.new(parts.outputs[here], mixed.inputs[there])
    tree.links.new(mixed.outputs[0], tree.nodes["Emission"].inputs["Color"])
    item = sheet("Painting", shader)
    corners = np.array([loop.vertex_index for loop in item.data.loops])
    for name, channels in (("Lightmap", (0, 1)), ("Detail", (2, 2))):
        layer = item.data.uv_layers.new(name=name)
        layer.uv.foreach_set("vector", colours.reshape(-1, 3)[corners][:, channels].astype(np.float32).ravel())


def colours_in_numbers(folder):
    """Whole numbers on the points, one attribute for each channel."""
    empty_scene()
    colours = linear(folder)
    shader = material("Painting", node="ShaderNodeCombineColor")
    tree = shader.node_tree
    item = sheet("Painting", shader)
    for channel, name in enumerate(("alpha", "beta", "gamma")):
        attribute = item.data.attributes.new(name, "INT", "POINT")
        attribute.data.foreach_set("value", (colours[..., channel] * 1000).astype(np.int32).ravel())
        node = tree.nodes.new("ShaderNodeAttribute")
        node.attribute_name = name
        tree.links.new(node.outputs["Fac"], tree.nodes["Combine Color"].inputs[channel])


def relief(folder):
    """A sheet that is a little raised where the frame is light, and shows its height as a colour."""
    empty_scene()
    shader = material("Relief")
    tree = shader.node_tree
    place, parts = tree.nodes.new("ShaderNodeNewGeometry"), tree.nodes.new("ShaderNodeSeparateXYZ")
    brighter = tree.nodes.new("ShaderNodeMath")
    brighter.operation = "MULTIPLY"
    brighter.inputs[1].default_value = 100
    tree.links.new(place.outputs["Position"], parts.inputs[0])
    tree.links.new(parts.outputs["Y"], brighter.inputs[0])
    tree.links.new(brighter.outputs[0], tree.nodes["Emission"].inputs["Color"])
    item = sheet("Relief", shader)
    luma = linear(folder).mean(2).ravel()
    for vertex, height in zip(item.data.vertices, luma, strict=True):
        vertex.co.y = 0.01 * height


def projected_colours(folder):
    """Uneven ground whose points have the colours that the camera sees there in the frame."""
    scene = empty_scene()
    scene.render.resolution_x, scene.render.resolution_y = 256, 144
    scene.camera.location, scene.camera.rotation_euler = (0, 0, 3), (math.radians(50), 0, math.radians(20))
    bpy.context.view_layer.update()
    item = plane("Ground", material("Ground", node="ShaderNodeVertexColor"), 159, 159)
    camera, random = scene.camera.matrix_world, np.random.default_rng(2)
    focal, half = 50 / 36 * 2, 144 / 256
    places, colours = [], []
    frame = linear(folder)
    for index in range(len(item.data.vertices)):
        x, y = (index % 160 / 159 * 2 - 1) * 1.2, (1 - index // 160 / 159 * 2) * half * 1.2
        # where the ray of a picture's point meets ground of its own height
        ray = (camera.to_3x3() @ Vector((x / focal, y / focal, -1))).normalized()
        reach = (camera.translation.z - random.uniform(0, 0.3)) / max(-ray.z, 0.2)
        places.append(camera.translation + reach * ray)
        row, column = (min(ROWS - 1, max(0, int((1 - y / half) / 2 * ROWS))), int((x + 1) / 2 * COLUMNS))
        colours.append((*frame[row, min(COLUMNS - 1, max(0, column))], 1))
    item.data.vertices.foreach_set("co", np.array(places, np.float32).ravel())
    attribute = item.data.color_attributes.new("Paint", "FLOAT_COLOR", "POINT")
    attribute.data.foreach_set("color", np.array(colours, np.float32).ravel())


def drawing_of_fills(folder):
    """Grease pencil squares, each filled by one of 64 materials."""
    empty_scene()
    columns, rows = 48, 27
    chosen = (pixels(folder, columns, rows).reshape(-1, 3) * 3.999).astype(int) @ (16, 4, 1)
    pencil = bpy.data.grease_pencils.new("Tiles")
    for number in range(64):
        ink = bpy.data.materials.new(f"Ink {number}")
        bpy.data.materials.create_gpencil_data(ink)
        ink.grease_pencil.fill_color = (*(((number // part % 4) / 3) ** 2.2 for part in (16, 4, 1)), 1)
        pencil.materials.append(ink)
    drawing = pencil.layers.new("Lines").frames.new(1).drawing
    drawing.add_strokes([4] * (columns * rows))
    for index, stroke in enumerate(drawing.strokes):
        stroke.material_index = int(chosen[index])
        for point, (x, z) in zip(stroke.points, ((0, 0), (1, 0), (1, 1), (0, 1)), strict=True):
            point.position = (index % columns + x, 0, -(index // columns) - z)
    add("Tiles", pencil)


def letters_of_many_colours(folder):
    """A text of blocks, each letter with a material of its own."""
    empty_scene()
    columns, rows = 48, 27
    chosen = (pixels(folder, columns, rows).reshape(-1, 3) * 2.999).astype(int) @ (9, 3, 1)
    text = bpy.data.curves.new("Blocks", "FONT")
    for number in range(27):
        made = material(f"Letter {number}")
        shade = [((number // part % 3) / 2) ** 2.2 for part in (9, 3, 1)]
        made.node_tree.nodes["Emission"].inputs["Color"].default_value = (*shade, 1)
        text.materials.append(made)
    text.body = "\n".join("M" * columns for _ in range(rows))
    for index, letter in enumerate(text.body_format):
        text_row, column = divmod(index, columns + 1)
        if column < columns:
            letter.material_index = int(chosen[text_row * columns + column])
    add("Blocks", text)


def material_of_a_layer(folder):
    """A view layer overrides all materials by one with an image."""
    scene = empty_scene()
    plane("Wall", material("Plain"))
    scene.view_layers[0].material_override = image_material("Cover", packed(folder / "frame.png"))


def image_of_a_socket(folder):
    """The image is what the socket of a node group holds where nobody chooses another."""
    empty_scene()
    group = bpy.data.node_groups.new("Paper", "GeometryNodeTree")
    group.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    socket = group.interface.new_socket("Picture", in_out="INPUT", socket_type="NodeSocketImage")
    socket.default_value = packed(folder / "frame.png")
    group.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    source, target = group.nodes.new("NodeGroupInput"), group.nodes.new("NodeGroupOutput")
    texture, store = group.nodes.new("GeometryNodeImageTexture"), group.nodes.new("GeometryNodeStoreNamedAttribute")
    store.data_type = "FLOAT_COLOR"
    store.inputs["Name"].default_value = "Paint"
    group.links.new(source.outputs["Picture"], texture.inputs["Image"])
    group.links.new(texture.outputs["Color"], store.inputs["Value"])
    group.links.new(source.outputs["Geometry"], store.inputs["Geometry"])
    group.links.new(store.outputs["Geometry"], target.inputs["Geometry"])
    outer = bpy.data.node_groups.new("Outer", "GeometryNodeTree")
    outer.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    outer.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    source, target = outer.nodes.new("NodeGroupInput"), outer.nodes.new("NodeGroupOutput")
    node = outer.nodes.new("GeometryNodeGroup")
    node.node_tree = group
    outer.links.new(source.outputs[0], node.inputs[0])
    outer.links.new(node.outputs[0], target.inputs[0])
    sheet("Sheet", material("Paper", node="ShaderNodeAttribute", attribute_name="Paint")).modifiers.new(
        "Paper", "NODES"
    ).node_group = outer


def coloured_points(folder):
    """A point cloud in a frame's colours."""
    empty_scene()
    cloud = bpy.data.pointclouds.new("Cloud")
    cloud.resize(COLUMNS * ROWS)
    x, z = np.meshgrid(np.linspace(-0.8, 0.8, COLUMNS), np.linspace(0.45, -0.45, ROWS))
    cloud.points.foreach_set("co", np.stack([x, 0 * x, z], -1).astype(np.float32).ravel())
    attribute = cloud.attributes.new("Paint", "FLOAT_COLOR", "POINT")
    colours = np.concatenate([linear(folder), np.ones((ROWS, COLUMNS, 1), np.float32)], -1)
    attribute.data.foreach_set("color", colours.ravel())
    cloud.materials.append(material("Dots", node="ShaderNodeAttribute", attribute_name="Paint"))
    add("Cloud", cloud)


CHEATING = {
    layers_of_another_scene: ("forbidden", "image_texture", "image", "frame.png"),
    strip_after_the_range: ("forbidden", "sequencer_picture", "strip", "footage"),
    strips_of_another_scene: ("forbidden", "sequencer_picture", "strip", "footage"),
    strip_that_is_unmuted: ("forbidden", "sequencer_picture", "strip", "footage"),
    shown_by_a_strip_of_actions: ("forbidden", "image_texture", "image", "frame.png"),
    texture_of_workbench: ("forbidden", "image_texture", "image", "frame.png"),
    objects_of_workbench: ("forbidden", "mosaic", "object", "Dot 0000"),
    colours_after_the_range: ("forbidden", "mosaic", "object", "Lamp 0000"),
    colours_in_uv_maps: ("forbidden", "coloured_geometry", "mesh", "Painting"),
    colours_in_numbers: ("forbidden", "coloured_geometry", "mesh", "Painting"),
    relief: ("forbidden", "coloured_geometry", "mesh", "Relief"),
    projected_colours: ("forbidden", "coloured_geometry", "mesh", "Ground"),
    drawing_of_fills: ("forbidden", "traced_drawing", "grease pencil", "Tiles"),
    letters_of_many_colours: ("forbidden", "mosaic", "curve", "Blocks"),
    material_of_a_layer: ("forbidden", "image_texture", "image", "frame.png"),
    image_of_a_socket: ("forbidden", "geometry_image", "image", "frame.png"),
    coloured_points: ("forbidden", "coloured_geometry", "pointcloud", "Cloud"),
}
"""Builder → the finding that has to be there."""

# --------------------------------------------------------------------------------------------- scenes that are honest


def painted_model(folder):
    """Uneven ground painted by hand: colours by height, on points that no plane holds."""
    empty_scene()
    ground = plane("Ground", material("Ground", node="ShaderNodeVertexColor"), 79, 79)
    random = np.random.default_rng(1)
    x, y = np.meshgrid(np.linspace(-3, 3, 80), np.linspace(-3, 3, 80))
    height = sum(np.sin(random.uniform(1, 4) * x + random.uniform(1, 4) * y + random.uniform(0, 6)) for _ in range(6))
    ground.data.vertices.foreach_set("co", np.stack([x, y, height / 3], -1).astype(np.float32).ravel())
    colours = np.stack([0.3 + height / 9, 0.4 + x / 9, 0.2 + y / 12, 0 * x + 1], -1)
    ground.data.color_attributes.new("Paint", "BYTE_COLOR", "POINT").data.foreach_set(
        "color", colours.astype(np.float32).ravel()
    )


def city_of_lamps(folder):
    """Windows and lamps by the hundred, in a few colours, in depth."""
    empty_scene()
    random = np.random.default_rng(3)
    shades = [material(f"Window {number}") for number in range(20)]
    for number, made in enumerate(shades):
        made.node_tree.nodes["Emission"].inputs["Color"].default_value = (1, 0.5 + number / 40, 0.1 + number / 30, 1)
        made.node_tree.nodes["Emission"].inputs["Strength"].default_value = 1 + number / 4
    window = plane("Window", shades[0])
    for number in range(600):
        item = add(f"Window {number}", window.data.copy() if number < 20 else bpy.data.meshes[f"Glass {number % 20}"])
        if number < 20:
            item.data.name = f"Glass {number}"
            item.data.materials[0] = shades[number]
        item.location = random.uniform((-20, 5, 0), (20, 40, 15))
    for number in range(300):
        lamp = bpy.data.lights.new("Street", "POINT")
        lamp.energy, lamp.color = 50 + 5 * (number % 30), (1, 0.8, 0.5 + number % 4 / 10)
        add(f"Street {number}", lamp, location=random.uniform((-20, 0, 0), (20, 40, 3)))
    bpy.context.view_layer.update()


def two_scenes(folder):
    """A second scene composited behind, strips of it, a title, a sound track, a mask: all of the maker's own."""
    scene, other = empty_scene(), new_scene("Backdrop")
    plane("Front", material("Front", node="ShaderNodeTexNoise"))
    move_to(plane("Back", material("Back", node="ShaderNodeTexVoronoi")), other)
    tree, output = compositor(scene)
    front, back = (tree.nodes.new("CompositorNodeRLayers") for _ in range(2))
    back.scene = other
    over, mask = tree.nodes.new("CompositorNodeAlphaOver"), tree.nodes.new("CompositorNodeMask")
    mask.mask = bpy.data.masks.new("Vignette")
    tree.links.new(back.outputs[0], over.inputs[1])
    tree.links.new(front.outputs[0], over.inputs[2])
    tree.links.new(over.outputs[0], output.inputs[0])
    for number, item in enumerate((scene.camera, add("Second", bpy.data.cameras.new("Second")))):
        scene.timeline_markers.new(f"shot {number}", frame=1 + 6 * number).camera = item


def rigged_figure(folder):
    """Bones, shape keys, weights, simple drivers, a cloth, hair: data by the thousand, and no picture."""
    empty_scene()
    body = plane("Body", material("Skin", node="ShaderNodeTexNoise"), 39, 39)
    body.shape_key_add(name="Basis")
    key = body.shape_key_add(name="Breath")
    for number, point in enumerate(key.data):
        point.co.y += 0.1 * math.sin(number / 50)
    curve = key.driver_add("value")
    curve.driver.expression = "sin(frame / 8)"
    weights = body.vertex_groups.new(name="Spine")
    weights.add(list(range(0, 1600, 2)), 0.5, "REPLACE")
    body.modifiers.new("Cloth", "CLOTH")
    body.modifiers.new("Hair", "PARTICLE_SYSTEM")
    body["height"] = 1.8
    add("Rig", bpy.data.armatures.new("Rig"))


def scattered_points(folder):
    """Geometry nodes that scatter points and give them colours and numbers of their own."""
    empty_scene()
    group = bpy.data.node_groups.new("Scatter", "GeometryNodeTree")
    group.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    group.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    source, target = group.nodes.new("NodeGroupInput"), group.nodes.new("NodeGroupOutput")
    points, store = (
        group.nodes.new(f"GeometryNode{kind}") for kind in ("DistributePointsOnFaces", "StoreNamedAttribute")
    )
    group.links.new(source.outputs[0], points.inputs[0])
    group.links.new(points.outputs[0], store.inputs[0])
    group.links.new(store.outputs[0], target.inputs[0])
    meadow = plane("Meadow", material("Grass", node="ShaderNodeAttribute", attribute_name="shade"), 39, 39)
    meadow.modifiers.new("Scatter", "NODES").node_group = group
    random = np.random.default_rng(4)
    for name, kind, values in (
        ("seed", "INT", random.integers(0, 1000, 1600).astype(np.int32)),
        ("age", "FLOAT", random.random(1600).astype(np.float32)),
    ):
        meadow.data.attributes.new(name, kind, "POINT").data.foreach_set("value", values)


def unwrapped_model(folder):
    """A sphere with UV maps, one of them a light map, and bevelled, smoothed and displaced by noise."""
    empty_scene()
    bpy.ops.mesh.primitive_uv_sphere_add(segments=64, ring_count=32)
    ball = bpy.context.object
    ball.data.uv_layers.new(name="Second")
    ball.data.materials.append(material("Marble", node="ShaderNodeTexWave"))
    clouds = bpy.data.textures.new("Clouds", "CLOUDS")
    ball.modifiers.new("Displace", "DISPLACE").texture = clouds
    ball.modifiers.new("Subdivision", "SUBSURF")


def hand_drawing(folder):
    """Grease pencil strokes in a few inks, with tinted points."""
    empty_scene()
    pencil = bpy.data.grease_pencils.new("Sketch")
    for number in range(3):
        ink = bpy.data.materials.new(f"Ink {number}")
        bpy.data.materials.create_gpencil_data(ink)
        pencil.materials.append(ink)
    drawing = pencil.layers.new("Lines").frames.new(1).drawing
    drawing.add_strokes([40] * 30)
    random = np.random.default_rng(5)
    for stroke in drawing.strokes:
        stroke.material_index = int(random.integers(3))
        start, way = random.uniform(-1, 1, 3), random.normal(0, 0.05, 3)
        for number, point in enumerate(stroke.points):
            point.position = start + number * way
            point.vertex_color = (number / 40, 0.2, 0.5, 0.5)
    add("Sketch", pencil)


def rolling_titles(folder):
    """A long text in three materials, and one in twenty that is short."""
    empty_scene()
    for name, body, count in (("Roll", "LOREM IPSUM DOLOR SIT AMET\n" * 40, 3), ("Title", "MATCH CUT " * 4, 20)):
        text = bpy.data.curves.new(name, "FONT")
        text.body = body
        for number in range(count):
            text.materials.append(material(f"{name} {number}"))
        for number, letter in enumerate(text.body_format):
            letter.material_index = number % count
        add(name, text)


HONEST = {
    painted_model: set(),
    city_of_lamps: set(),
    two_scenes: set(),
    rigged_figure: set(),
    scattered_points: set(),
    unwrapped_model: set(),
    hand_drawing: {("suspicious", "traced_drawing", "grease pencil", "Sketch")},
    rolling_titles: set(),
}
"""Builder → all that its audit says."""
