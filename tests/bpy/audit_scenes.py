# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes that cheat, scenes that are honest, and what an audit has to say of each; made by script.

Every builder gets the folder with the reference's files: `frame.png`, `frames/000000.png …`, `reference.mp4`. It leaves
its scene open, to be saved there. EXPECTED says which finding names what: (severity, kind, type of datablock, name).
"""

import math
from pathlib import Path

import bpy
import numpy as np

# --------------------------------------------------------------------------------------------------- what all have


def empty_scene():
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.frame_start, scene.frame_end = 1, 12
    scene.camera = add("Camera", bpy.data.cameras.new("Camera"), location=(0, -6, 1))
    scene.camera.rotation_euler.x = math.radians(90)
    return scene


def add(name, data, **properties):
    item = bpy.data.objects.new(name, data)
    for key, value in properties.items():
        setattr(item, key, value)
    bpy.context.scene.collection.objects.link(item)
    return item


def plane(name="Plane", material=None, columns=1, rows=1):
    """A sheet of quads in the xz plane, 1.6 by 0.9."""
    x, z = np.meshgrid(np.linspace(-0.8, 0.8, columns + 1), np.linspace(0.45, -0.45, rows + 1))
    corners = np.stack([x, 0 * x, z], -1).reshape(-1, 3)
    first = (np.arange(rows)[:, None] * (columns + 1) + np.arange(columns)).ravel()
    faces = np.stack([first, first + 1, first + columns + 2, first + columns + 1], -1)
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(corners.tolist(), [], faces.tolist())
    mesh.uv_layers.new(name="UVMap")
    if material is not None:
        mesh.materials.append(material)
    return add(name, mesh)


def material(name, **shader):
    """An emission of one colour, or of what `node` makes."""
    made = bpy.data.materials.new(name)
    tree = made.node_tree
    tree.nodes.clear()
    emission, output = tree.nodes.new("ShaderNodeEmission"), tree.nodes.new("ShaderNodeOutputMaterial")
    tree.links.new(emission.outputs[0], output.inputs["Surface"])
    if "node" in shader:
        node = tree.nodes.new(shader["node"])
        for key, value in shader.items():
            if key != "node":
                setattr(node, key, value)
        if shader.get("linked", True):
            tree.links.new(node.outputs["Color" if "Color" in node.outputs else 0], emission.inputs["Color"])
    return made


def image_material(name, image, connect=True):
    made = bpy.data.materials.new(name)
    node = made.node_tree.nodes.new("ShaderNodeTexImage")
    node.image = image
    if connect:
        made.node_tree.links.new(node.outputs["Color"], made.node_tree.nodes["Principled BSDF"].inputs["Base Color"])
    return made


def load(path):
    return bpy.data.images.load(str(path))


def packed(path):
    image = load(path)
    image.pack()
    return image


def compositor(scene, group=None):
    tree = group or bpy.data.node_groups.new("Compositing", "CompositorNodeTree")
    tree.interface.new_socket("Image", in_out="OUTPUT", socket_type="NodeSocketColor")
    if group is None and hasattr(scene, "compositor_effects"):  # since 5.3
        scene.compositor_effects.new("Compositing").node_group = tree
    elif group is None:
        scene.compositing_node_group = tree
    return tree, tree.nodes.new("NodeGroupOutput")


def pixels(folder, columns, rows):
    """(rows, columns, 3) sRGB values in 0 … 1 of `frame.png`, the top row first."""
    image = load(folder / "frame.png")
    width, height = image.size
    values = np.empty(width * height * 4, np.float32)
    image.pixels.foreach_get(values)
    values = values.reshape(height, width, 4)[::-1, :, :3]
    bpy.data.images.remove(image)
    blocks = values[: height // rows * rows, : width // columns * columns]
    return blocks.reshape(rows, height // rows, columns, width // columns, 3).mean((1, 3))


# --------------------------------------------------------------------------------------------------- scenes that cheat


def packed_texture(folder):
    empty_scene()
    plane("Screen", image_material("Screen", packed(folder / "frame.png")))


def changed_texture(folder):
    """A frame that was mirrored, cropped, darkened and tinted."""
    empty_scene()
    image = packed(folder / "changed.png")
    image.name = "wallpaper"
    plane("Wall", image_material("Wall", image))


def movie_texture(folder):
    empty_scene()
    plane("Screen", image_material("Screen", load(folder / "reference.mp4")))


def sequence_texture(folder):
    empty_scene()
    image = load(folder / "frames" / "000000.png")
    image.source = "SEQUENCE"
    plane("Screen", image_material("Screen", image))


def tiled_texture(folder):
    empty_scene()
    image = load(folder / "tile.1001.png")
    image.source = "TILED"
    plane("Wall", image_material("Wall", image))


def world_image(folder):
    scene = empty_scene()
    scene.world = bpy.data.worlds.new("World")
    node = scene.world.node_tree.nodes.new("ShaderNodeTexEnvironment")
    node.image = load(folder / "frame.png")
    background = next(node for node in scene.world.node_tree.nodes if node.type == "BACKGROUND")
    scene.world.node_tree.links.new(node.outputs[0], background.inputs["Color"])


def compositor_image(folder):
    """The image lies in a group within the compositor's tree."""
    scene = empty_scene()
    tree, output = compositor(scene)
    inner, inner_output = compositor(scene, bpy.data.node_groups.new("Grade", "CompositorNodeTree"))
    node = inner.nodes.new("CompositorNodeImage")
    node.image = load(folder / "frame.png")
    inner.links.new(node.outputs[0], inner_output.inputs[0])
    group = tree.nodes.new("CompositorNodeGroup")
    group.node_tree = inner
    tree.links.new(group.outputs[0], output.inputs[0])


def compositor_clip(folder):
    scene = empty_scene()
    tree, output = compositor(scene)
    node = tree.nodes.new("CompositorNodeMovieClip")
    node.clip = bpy.data.movieclips.load(str(folder / "reference.mp4"))
    tree.links.new(node.outputs[0], output.inputs[0])


def sequencer_movie(folder):
    scene = empty_scene()
    strips = scene.sequence_editor_create().strips
    strips.new_movie("footage", str(folder / "reference.mp4"), channel=1, frame_start=1)


def sequencer_pictures(folder):
    scene = empty_scene()
    strip = scene.sequence_editor_create().strips.new_image(
        "pictures", str(folder / "frames" / "000000.png"), channel=2, frame_start=1
    )
    for number in range(1, 6):
        strip.elements.append(f"{number:06d}.png")


def linked_library(folder):
    empty_scene()
    add("Car", bpy.data.meshes.new("Car body"))
    library = folder / "carpack.blend"
    bpy.data.libraries.write(str(library), {bpy.data.objects["Car"]})
    scene = empty_scene()
    with bpy.data.libraries.load(str(library), link=True) as (there, here):
        here.objects = there.objects
    scene.collection.objects.link(here.objects[0])


def geometry_image(folder):
    empty_scene()
    group = bpy.data.node_groups.new("Relief", "GeometryNodeTree")
    group.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    group.interface.new_socket("Picture", in_out="INPUT", socket_type="NodeSocketImage")
    group.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    source, target = group.nodes.new("NodeGroupInput"), group.nodes.new("NodeGroupOutput")
    texture, store = group.nodes.new("GeometryNodeImageTexture"), group.nodes.new("GeometryNodeStoreNamedAttribute")
    group.links.new(source.outputs["Picture"], texture.inputs["Image"])
    group.links.new(source.outputs["Geometry"], store.inputs["Geometry"])
    group.links.new(store.outputs["Geometry"], target.inputs["Geometry"])
    modifier = plane("Sheet").modifiers.new("Relief", "NODES")
    modifier.node_group = group
    modifier.properties.inputs.Socket_1.value = load(folder / "frame.png")


def lamp_image(folder):
    """A lamp that throws a picture, as a projector does."""
    empty_scene()
    light = bpy.data.lights.new("Projector", "SPOT")
    node = light.node_tree.nodes.new("ShaderNodeTexImage")
    node.image = load(folder / "frame.png")
    emission = next(node for node in light.node_tree.nodes if node.type == "EMISSION")
    light.node_tree.links.new(node.outputs[0], emission.inputs["Color"])
    add("Projector", light)


def displacement_image(folder):
    empty_scene()
    texture = bpy.data.textures.new("Heights", "IMAGE")
    texture.image = load(folder / "frame.png")
    plane("Terrain", columns=4, rows=4).modifiers.new("Displace", "DISPLACE").texture = texture


def volume_file(folder):
    empty_scene()
    volume = bpy.data.volumes.new("Smoke")
    volume.filepath = str(folder / "smoke.vdb")
    add("Smoke", volume)


def imported_geometry(folder):
    empty_scene()
    group = bpy.data.node_groups.new("Bring in", "GeometryNodeTree")
    group.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    node, target = group.nodes.new("GeometryNodeImportOBJ"), group.nodes.new("NodeGroupOutput")
    node.inputs[0].default_value = str(folder / "car.obj")
    group.links.new(node.outputs[0], target.inputs[0])
    plane("Holder").modifiers.new("Bring in", "NODES").node_group = group


def mesh_cache(folder):
    empty_scene()
    modifier = plane("Dancer").modifiers.new("Cache", "MESH_CACHE")
    modifier.filepath = str(folder / "dance.pc2")


def painted_vertices(folder):
    """A grid whose points have a frame's colours."""
    empty_scene()
    columns, rows = 64, 36
    sheet = plane("Painting", material("Painting", node="ShaderNodeVertexColor"), columns - 1, rows - 1)
    attribute = sheet.data.color_attributes.new("Paint", "FLOAT_COLOR", "POINT")
    colours = np.concatenate([pixels(folder, columns, rows) ** 2.2, np.ones((rows, columns, 1))], -1)
    attribute.data.foreach_set("color", colours.astype(np.float32).ravel())


def mosaic_of_faces(folder):
    """One mesh, a material for each of 64 colours."""
    empty_scene()
    colours = pixels(folder, 48, 27)
    sheet = plane("Mosaic", None, 48, 27)
    chosen = (colours.reshape(-1, 3) * 3.999).astype(int)
    numbers = chosen @ (16, 4, 1)
    for number in range(64):
        made = material(f"Colour {number}")
        shade = [((number // part % 4) / 3) ** 2.2 for part in (16, 4, 1)]
        made.node_tree.nodes["Emission"].inputs["Color"].default_value = (*shade, 1)
        sheet.data.materials.append(made)
    sheet.data.polygons.foreach_set("material_index", numbers.astype(np.int32))


def mosaic_of_objects(folder):
    """A crowd of quads that share a mesh; each has its object colour keyed."""
    empty_scene()
    columns, rows = 32, 18
    colours = pixels(folder, columns, rows) ** 2.2
    shared = material("Dots")
    info = shared.node_tree.nodes.new("ShaderNodeObjectInfo")
    shared.node_tree.links.new(info.outputs["Color"], shared.node_tree.nodes["Emission"].inputs["Color"])
    first = plane("Dot 0000", shared)
    for row in range(rows):
        for column in range(columns):
            number = row * columns + column
            dot = first if number == 0 else add(f"Dot {number:04d}", first.data)
            dot.location = (column, 0, -row)
            dot.color = (*colours[row, column], 1)
            if number < 40:
                dot.keyframe_insert("color", frame=1)
    bpy.context.view_layer.update()


def traced_drawing(folder):
    """A grease pencil stroke for each row, its points in a frame's colours."""
    empty_scene()
    columns, rows = 48, 27
    colours = pixels(folder, columns, rows) ** 2.2
    pencil = bpy.data.grease_pencils.new("Trace")
    drawing = pencil.layers.new("Lines").frames.new(1).drawing
    drawing.add_strokes([columns] * rows)
    for row, stroke in enumerate(drawing.strokes):
        for column, point in enumerate(stroke.points):
            point.position = (column, 0, -row)
            point.vertex_color = (*colours[row, column], 1)
    pencil.materials.append(bpy.data.materials.new("Ink"))
    bpy.data.materials.create_gpencil_data(pencil.materials[0])
    add("Trace", pencil)


CHEATING = {
    packed_texture: ("forbidden", "image_texture", "image", "frame.png"),
    changed_texture: ("forbidden", "image_texture", "image", "wallpaper"),
    movie_texture: ("forbidden", "image_texture", "image", "reference.mp4"),
    sequence_texture: ("forbidden", "image_texture", "image", "000000.png"),
    tiled_texture: ("forbidden", "image_texture", "image", "tile.1001.png"),
    world_image: ("forbidden", "world_image", "image", "frame.png"),
    compositor_image: ("forbidden", "compositor_image", "image", "frame.png"),
    compositor_clip: ("forbidden", "movie_clip", "movie clip", "reference.mp4"),
    sequencer_movie: ("forbidden", "sequencer_picture", "strip", "footage"),
    sequencer_pictures: ("forbidden", "sequencer_picture", "strip", "pictures"),
    linked_library: ("forbidden", "library", "library", "carpack.blend"),
    geometry_image: ("forbidden", "geometry_image", "image", "frame.png"),
    lamp_image: ("forbidden", "image_texture", "image", "frame.png"),
    displacement_image: ("forbidden", "geometry_image", "image", "frame.png"),
    volume_file: ("forbidden", "volume", "volume", "Smoke"),
    imported_geometry: ("forbidden", "import_node", "node", "Import OBJ"),
    mesh_cache: ("forbidden", "cache_file", "object", "Dancer"),
    painted_vertices: ("forbidden", "coloured_geometry", "mesh", "Painting"),
    mosaic_of_faces: ("forbidden", "mosaic", "mesh", "Mosaic"),
    mosaic_of_objects: ("forbidden", "mosaic", "object", "Dot 0000"),
    traced_drawing: ("forbidden", "traced_drawing", "grease pencil", "Trace"),
}
"""Builder → the finding that has to be there; the last four are forbidden since they match the reference."""

MATCHING = {
    packed_texture, changed_texture, movie_texture, sequence_texture, tiled_texture, world_image, compositor_image,
    compositor_clip, sequencer_movie, sequencer_pictures, geometry_image, lamp_image, displacement_image,
    painted_vertices, mosaic_of_faces, mosaic_of_objects, traced_drawing,
}  # fmt: skip
"""Those in which frames of the reference are called out."""

# --------------------------------------------------------------------------------------------- scenes that are honest


def procedural(folder):
    """Textures, letters, a sky, simple drivers, a compositor without pictures, a test pattern."""
    scene = empty_scene()
    for number, kind in enumerate(("Noise", "Voronoi", "Wave", "Gradient", "Magic", "Brick", "Checker", "WhiteNoise")):
        plane(kind, material(kind, node=f"ShaderNodeTex{kind}")).location.x = 2 * number
    add("Title", bpy.data.curves.new("Title", "FONT"))
    driver = bpy.data.objects["Title"].driver_add("location", 0).driver
    driver.expression = "sin(frame / 10) * 0.5"
    scene.world = bpy.data.worlds.new("World")
    sky = scene.world.node_tree.nodes.new("ShaderNodeTexSky")
    background = next(node for node in scene.world.node_tree.nodes if node.type == "BACKGROUND")
    scene.world.node_tree.links.new(sky.outputs[0], background.inputs["Color"])
    tree, output = compositor(scene)
    layers, glare = tree.nodes.new("CompositorNodeRLayers"), tree.nodes.new("CompositorNodeGlare")
    tree.links.new(layers.outputs[0], glare.inputs[0])
    tree.links.new(glare.outputs[0], output.inputs[0])
    grid = bpy.data.images.new("Pattern", 64, 64)
    grid.generated_type = "UV_GRID"
    plane("Chart", image_material("Chart", grid))


def kept_references(folder):
    """The reference where an artist keeps it: behind the camera's view, in an image empty, as a tracked clip."""
    scene = empty_scene()
    camera = scene.camera.data
    camera.show_background_images = True
    camera.background_images.new().image = load(folder / "frame.png")
    shown = camera.background_images.new()
    shown.source, shown.clip = "MOVIE_CLIP", bpy.data.movieclips.load(str(folder / "reference.mp4"))
    board = add("Board", None)
    board.empty_display_type = "IMAGE"
    board.data = load(folder / "frames" / "000003.png")
    scene.camera.constraints.new("CAMERA_SOLVER").clip = shown.clip
    scene.sequence_editor_create()


def switched_off(folder):
    """Pictures that do not reach the render now, one way each: a person is told, nothing is forbidden."""
    scene = empty_scene()
    image = packed(folder / "frame.png")
    plane("Hidden", image_material("Hidden", image)).hide_render = True
    away = bpy.data.collections.new("Away")
    scene.collection.children.link(away)
    board = plane("Excluded", image_material("Excluded", image))
    scene.collection.objects.unlink(board)
    away.objects.link(board)
    bpy.context.view_layer.layer_collection.children["Away"].exclude = True
    plane("Loose", image_material("Loose", image, connect=False))
    muted = image_material("Muted", image)
    muted.node_tree.nodes["Image Texture"].mute = True
    plane("Muted", muted)
    tree, _ = compositor(scene)
    tree.nodes.new("CompositorNodeImage").image = image
    strip = scene.sequence_editor_create().strips.new_image("old", str(folder / "frame.png"), channel=1, frame_start=1)
    strip.mute = True


def unread_colours(folder):
    """A grid of colours that no material reads, and one of a rainbow that one does."""
    empty_scene()
    for name, shader in (("Unread", material("Plain")), ("Rainbow", material("Rainbow", node="ShaderNodeVertexColor"))):
        sheet = plane(name, shader, 63, 35)
        attribute = sheet.data.color_attributes.new("Paint", "FLOAT_COLOR", "POINT")
        u, v = np.meshgrid(np.linspace(0, 1, 64), np.linspace(0, 1, 36))
        colours = np.stack([u, v, 1 - u, 0 * u + 1], -1).astype(np.float32)
        attribute.data.foreach_set("color", colours.ravel())


HONEST = {
    procedural: {("note", "generated_image", "image", "Pattern")},
    kept_references: {
        ("note", "viewport_image", "image", "frame.png"),
        ("note", "viewport_image", "image", "000003.png"),
        ("note", "viewport_image", "movie clip", "reference.mp4"),
    },
    switched_off: {
        ("suspicious", "compositor_image", "image", "frame.png"),
        ("suspicious", "sequencer_picture", "strip", "old"),
    },
    unread_colours: {("suspicious", "coloured_geometry", "mesh", "Rainbow")},
}
"""Builder → all that its audit says. Both variants of the sample, which say nothing at all, come on top."""

# -------------------------------------------------------------------------------------------- what a person looks at


def suspects(folder):
    """Scripts, Python drivers, data in odd places, files written and read while the scene renders."""
    scene = empty_scene()
    text = bpy.data.texts.new("rig_ui.py")
    text.write("import bpy\nbpy.app.handlers.frame_change_pre.append(print)\n")
    text.use_module = True
    bpy.data.texts.new("payload").write("iVBORw0KGgoAAAANSUhEUgAA" * 100)
    cube = plane("Cube")
    cube.driver_add("location", 2).driver.expression = "__import__('os').getpid()"
    cube["notes"] = "x" * 5000
    scene["table"] = [float(number) for number in range(5000)]
    cube["fine"] = "made by hand"
    tree, _ = compositor(scene)
    writer = tree.nodes.new("CompositorNodeOutputFile")
    writer.directory, writer.file_name = "//stolen/", "frame"
    shader = material("Coded")
    script = shader.node_tree.nodes.new("ShaderNodeScript")
    script.script = bpy.data.texts.new("shader.osl")
    shader.node_tree.links.new(
        script.outputs[0], shader.node_tree.nodes["Emission"].inputs[0]
    ) if script.outputs else None
    plane("Coded", shader)
    bpy.data.materials["Coded"].asset_mark()
    bpy.data.materials["Coded"].asset_data.author = "A Shop"
    for number in range(120):
        lamp = bpy.data.lights.new(f"Lamp {number}", "POINT")
        lamp.keyframe_insert("color", frame=1)
        add(lamp.name, lamp)
    scene.sequence_editor_create().strips.new_effect("title", "TEXT", channel=3, frame_start=1, length=5)


SUSPECTS = {
    ("suspicious", "script", "text", "rig_ui.py"),
    ("suspicious", "hidden_data", "text", "payload"),
    ("suspicious", "driver", "object", "Cube"),
    ("suspicious", "hidden_data", "object", "Cube"),
    ("suspicious", "hidden_data", "scene", "Scene"),
    ("suspicious", "file_output", "node", "File Output"),
    ("suspicious", "asset", "material", "Coded"),
    ("suspicious", "colour_curves", "animation", "colours"),
    ("suspicious", "sequencer_strip", "strip", "title"),
}


def build(builder, folder):
    """Build a scene with the reference's files in `folder`, and save it there under its name; returns the .blend."""
    builder(Path(folder))
    path = Path(folder) / f"{builder.__name__}.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True)
    return path
