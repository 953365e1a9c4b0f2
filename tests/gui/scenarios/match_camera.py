# SPDX-License-Identifier: GPL-3.0-or-later
"""A camera is matched by the mouse: lines and points over a picture of a known camera, live, undone, and ended."""

import importlib
import itertools
import os
import time

import bpy
import numpy as np
from bpy_extras.object_utils import world_to_camera_view
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Vector

ADDON = f"{os.environ.get('MATCHCUT_TEST_PACKAGE', 'bl_ext.user_default.matchcut')}.addon"
PART = f"{ADDON}.sidebar.match_camera"
SIZE = (960, 540)
HOUSE = (3.0, 2.0, 2.2)
TRUTH = {"location": (-5.2, -7.4, 2.9), "target": (1.6, 1.0, 0.9), "lens": 32.0}
X_EDGES = (((0, 0, 0), (3, 0, 0)), ((0, 0, 2.2), (3, 0, 2.2)), ((0, 2, 2.2), (3, 2, 2.2)))
Y_EDGES = (((0, 0, 0), (0, 2, 0)), ((0, 0, 2.2), (0, 2, 2.2)), ((3, 0, 2.2), (3, 2, 2.2)))
CORNERS = ((0, 0, 0), (3, 0, 0), (0, 2, 0), (0, 0, 2.2), (3, 0, 2.2), (0, 2, 2.2))


def part(name):
    return importlib.import_module(f"{PART}.{name}")


class Hand:
    """The mouse and the keyboard over the 3D view."""

    def __init__(self, window):
        self.window = window
        self.at = (0, 0)

    @property
    def region(self):
        return next(region for region in self.window.area.regions if region.type == "WINDOW")

    def event(self, kind, value, **more):
        x, y = self.at
        self.window.window.event_simulate(type=kind, value=value, x=x, y=y, **more)

    def move(self, point, **more):
        """Steps: the mouse to a point of the region."""
        self.at = round(self.region.x + point[0] - 0.5), round(self.region.y + point[1] - 0.5)
        self.event("MOUSEMOVE", "NOTHING", **more)
        yield 0.03

    def drag(self, start, end, *, release=True, anew=False, **more):
        """Steps: press, move in steps, and let go; `anew` with Ctrl, which draws a line at the end of another."""
        yield from self.move(start)
        self.event("LEFTMOUSE", "PRESS", ctrl=anew)
        yield 0.03
        for share in (0.3, 0.7, 1.0):
            yield from self.move(tuple(a + share * (b - a) for a, b in zip(start, end, strict=True)), **more)
        if release:
            self.event("LEFTMOUSE", "RELEASE")
            yield 0.05

    def click(self, point):
        yield from self.drag(point, point)

    def key(self, kind, **more):
        self.event(kind, "PRESS", **more)
        yield 0.05
        self.event(kind, "RELEASE", **more)
        yield 0.1


def look(item, target):
    item.rotation_euler = (Vector(target) - item.location).to_track_quat("-Z", "Y").to_euler()


def build(window):
    """A house on the ground, a picture of it from a known camera, and a camera that knows nothing of it."""
    scene = bpy.context.scene
    for item in list(bpy.data.objects):
        bpy.data.objects.remove(item)
    scene.render.resolution_x, scene.render.resolution_y = SIZE
    mesh = bpy.data.meshes.new("House")
    corners = list(itertools.product(*((0, side) for side in HOUSE)))
    mesh.from_pydata(corners, [], [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (1, 5, 7, 3), (0, 2, 6, 4)])
    house = bpy.data.objects.new("House", mesh)
    ground = bpy.data.meshes.new("Ground")
    lines = np.linspace(-6, 9, 16)
    grid = [(x, y, 0) for y in lines for x in lines]
    faces = [(r * 16 + c, r * 16 + c + 1, r * 16 + c + 17, r * 16 + c + 16)
             for r in range(15) for c in range(15) if (r + c) % 2]  # fmt: skip
    ground.from_pydata(grid, [], faces)
    floor = bpy.data.objects.new("Ground", ground)
    for item in (house, floor):
        scene.collection.objects.link(item)
    camera = bpy.data.objects.new("Truth", bpy.data.cameras.new("Truth"))
    scene.collection.objects.link(camera)
    camera.location, camera.data.lens = TRUTH["location"], TRUTH["lens"]
    look(camera, TRUTH["target"])
    scene.camera = camera
    bpy.context.view_layer.update()
    window.truth = part("solve").pinhole_of(camera, SIZE)
    path = str(window.out / "reference.png")
    space = window.area.spaces.active
    space.overlay.show_overlays = False
    space.region_3d.view_perspective = "CAMERA"
    yield 0.5
    scene.render.filepath = path
    with bpy.context.temp_override(window=window.window, area=window.area):
        bpy.ops.render.opengl(write_still=True)
    space.overlay.show_overlays = True
    scene.camera = None
    for item in (camera, floor):
        bpy.data.objects.remove(item)
    house.hide_set(True)
    space.region_3d.view_perspective = "PERSP"
    yield 0.3
    window.picture_path = path


def show_picture(window):
    """Steps: the shot's camera shows the picture, as Show in Camera does."""
    data = bpy.context.scene.camera.data
    data.show_background_images = True
    background = data.background_images.new()
    background.image = bpy.data.images.load(window.picture_path)
    background.alpha = 0.8
    data.display_size = 0.2
    yield 0.3


def mapping(window):
    """Steps: the largest distance in pixels between Blender's own places in the region and ours."""
    scene, space, hand = bpy.context.scene, window.area.spaces.active, window.hand
    data, region_3d = scene.camera.data, space.region_3d
    cloud = np.random.default_rng(1).uniform(-1, 1, (30, 3)) * (2, 2, 1) + (1, 1, 1)
    worst, count = 0.0, 0
    cases = list(itertools.product(
        ((960, 540), (540, 960)), ("AUTO", "HORIZONTAL", "VERTICAL"),
        ((0.0, (0.0, 0.0)), (-12.5, (0.07, -0.11)), (31.0, (-0.2, 0.16))),
        ((0.0, 0.0), (0.13, -0.21)), ((1.0, 1.0), (1.6, 1.0), (1.0, 1.3)),
    ))  # fmt: skip
    for size, fit, (zoom, offset), shift, aspect in cases[:: 5 if "mapping" not in window.facts else 11]:
        scene.render.resolution_x, scene.render.resolution_y = size
        scene.render.pixel_aspect_x, scene.render.pixel_aspect_y = aspect
        data.sensor_fit, (data.shift_x, data.shift_y) = fit, shift
        region_3d.view_camera_zoom, region_3d.view_camera_offset = zoom, offset
        window.area.tag_redraw()
        yield 0.06
        bpy.context.view_layer.update()
        region_3d.update()
        view = part("view").camera_view(scene, space, hand.region, region_3d)
        for point in cloud:
            seen = world_to_camera_view(scene, scene.camera, Vector(point))
            theirs = location_3d_to_region_2d(hand.region, region_3d, Vector(point))
            place = (seen.x, 1 - seen.y)
            pixel = part("view").pixel_of(place, size)
            ours = part("view").region_of_pixel(view, pixel, size)
            back = part("view").pixel_of_region(view, ours, size)
            worst = max(worst, *np.abs(np.subtract(ours, theirs)), *np.abs(np.subtract(back, pixel)))
        count += 1
    window.facts.setdefault("mapping", []).append([float(worst), count])
    scene.render.resolution_x, scene.render.resolution_y = SIZE
    scene.render.pixel_aspect_x = scene.render.pixel_aspect_y = 1.0
    data.sensor_fit, (data.shift_x, data.shift_y) = "AUTO", (0.0, 0.0)
    region_3d.view_camera_zoom, region_3d.view_camera_offset = 20.0, (0.0, 0.0)
    window.area.tag_redraw()
    yield 0.3


def at_twice_the_scale(window):
    """Steps: the same mapping, and the panel, with an interface of twice the size in the light theme."""
    view = bpy.context.preferences.view
    window.theme("Blender_Light")
    view.ui_scale = 2.0
    yield 1.0
    yield from mapping(window)
    yield from whole_picture(window, "2-twice-the-scale-light")
    view.ui_scale = 1.0
    window.theme("Blender_Dark")
    yield 1.0


def in_region(window, world):
    """Where the picture shows a place of the world; the mouse can point to whole pixels of the screen alone."""
    (pixel,) = window.truth.project(np.array([world], float))
    scene, space = bpy.context.scene, window.area.spaces.active
    view = part("view").camera_view(scene, space, window.hand.region, space.region_3d)
    return part("view").region_of_pixel(view, tuple(pixel), SIZE)


def missed(window):
    """How far the shot's camera is off the known one: focal length in %, orientation in degrees, place in units."""
    camera = bpy.context.scene.camera
    bpy.context.view_layer.update()
    ours, truth = part("solve").pinhole_of(camera, SIZE), window.truth
    angle = np.degrees(np.arccos(np.clip((np.trace(ours.rotation @ truth.rotation.T) - 1) / 2, -1, 1)))
    away = np.linalg.norm(ours.centre - truth.centre)
    return [100 * abs(ours.focal / truth.focal - 1), float(angle), float(away)]


def pose():
    camera = bpy.context.scene.camera
    return [*camera.location, *camera.rotation_euler, camera.data.lens, camera.data.shift_x]


def drawn():
    match = part("shots").match_of(bpy.context.scene)
    return [] if match is None else [[line.axis, *line.start, *line.end] for line in match.lines]


def press(window, operator):
    """Steps: the button of an operator, once the panel is drawn as it is now."""
    yield from window.hand.move((420, 300))
    window.sidebar.tag_redraw()
    yield 0.6
    if operator == "matchcut.pick_points":  # to the right of the one that the search for buttons comes by
        yield from window.find("matchcut.edit_lines")
        x, y = window.buttons["matchcut.edit_lines"]
        yield from window.click(x + window.sidebar.width // 4, y)
    else:
        yield from window.press(operator)
    yield 0.2


def whole_picture(window, name):
    """Steps: a picture of the window as it is drawn now."""
    window.area.tag_redraw()
    yield 0.6
    yield from window.whole_picture(name)


def until(condition):
    """Steps: wait, at most 20 seconds, until something is so."""
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        yield 0.1


def undo(window):
    """Steps: Ctrl Z over the 3D view."""
    yield from window.hand.key("Z", ctrl=True)
    yield 0.3


def steps(window):
    scene = bpy.context.scene
    settings = scene.matchcut.match_camera
    window.hand = hand = Hand(window)
    only_match_camera(window)
    yield from window.open_sidebar()
    yield from build(window)
    yield from window.picture("1-no-camera")
    yield from press(window, "matchcut.add_camera")
    window.facts["added"] = scene.camera is not None
    yield from show_picture(window)
    yield from window.picture("2-not-in-camera-view")
    yield from press(window, "matchcut.view_camera")
    yield 0.3
    yield from mapping(window)
    yield from at_twice_the_scale(window)
    yield from lines(window, hand, settings)
    yield from points(window, hand)
    yield from endings(window, hand)


def only_match_camera(window):
    """Take the other panels of the tab away and open all of ours, so that they are on the screen."""
    panels = [cls for cls in importlib.import_module(f"{ADDON}.registration").CLASSES
              if issubclass(cls, bpy.types.Panel)]  # fmt: skip
    window.others = [cls for cls in panels if not cls.__name__.startswith("MATCHCUT_PT_match")]
    parts = [cls for cls in panels if getattr(cls, "bl_parent_id", "") == "MATCHCUT_PT_match_camera"]
    for cls in [*window.others, *parts][::-1]:
        bpy.utils.unregister_class(cls)
    for cls in parts:
        cls.bl_options = set()
        bpy.utils.register_class(cls)


def lines(window, hand, settings):
    scene, mode = bpy.context.scene, part("mode")
    yield from press(window, "matchcut.edit_lines")
    window.facts["editing"] = mode.current() is not None and mode.current().kind == "LINES"
    yield from whole_picture(window, "3-edit-lines-empty")
    for key, edges in (("ONE", X_EDGES), ("TWO", Y_EDGES)):
        if key == "ONE":
            yield from hand.move((400, 300))
        yield from hand.key(key)  # the second one with the mouse still over the end of the last line
        for start, end in edges:
            yield from hand.drag(in_region(window, start), in_region(window, end), anew=key == "TWO")
    window.facts["drawn"] = [line[0] for line in drawn()]
    match = part("shots").match_of(scene)
    # the origin, onto the corner of the house that stands at it
    view = part("view").camera_view(scene, window.area.spaces.active, hand.region, window.area.spaces.active.region_3d)
    yield from hand.drag(view.region_of(tuple(match.origin)), in_region(window, (0, 0, 0)))
    match = part("shots").match_of(scene)
    match.scale, match.height = "HEIGHT", TRUTH["location"][2]
    before = pose()
    yield from whole_picture(window, "4-lines")
    yield from press(window, "matchcut.apply_match")
    window.facts["lines_missed"] = missed(window)
    match = part("shots").match_of(scene)
    solution = part("finding").solution_of(scene, match)
    window.facts["residuals"] = solution.residuals
    for kind, world in (("PERSON", (4.5, 0, 0)), ("CUBE", (-1.5, 1.0, 0))):
        bpy.ops.matchcut.add_scale_shape(kind=kind)
        match = part("shots").match_of(scene)
        place = view.place_of(in_region(window, world))
        match.shapes[-1].place = place
    yield from hand.move((400, 300))
    yield from whole_picture(window, "5-applied-with-shapes")
    yield from window.picture("5-panel")
    yield from live(window, hand, settings, view, before)


def time_moves(window):
    """Note how long our part of every mouse move of a drag takes, and drawing over the view."""
    dragging, overlay = part("dragging"), part("overlay")

    def timed(name, function):
        taken = window.facts.setdefault(name, [])

        def call(*arguments):
            began = time.perf_counter()
            try:
                return function(*arguments)
            finally:
                taken.append(time.perf_counter() - began)

        return call

    dragging.Drag.move = timed("move_seconds", dragging.Drag.move)
    overlay._lines = timed("lines_seconds", overlay._lines)


def live(window, hand, settings, view, before):
    """One end is dragged with the camera following; precisely; cancelled; undone."""
    settings.live = True
    time_moves(window)
    bpy.ops.ed.undo_push(message="Live")
    was, lines_were = pose(), drawn()
    end = view.region_of(tuple(lines_were[1][3:5]))
    yield from hand.drag(end, (end[0] + 20, end[1] + 24), release=False)
    yield 0.2  # the camera is found between the window's other work
    window.facts["moved_while_dragging"] = pose() != was
    yield from whole_picture(window, "6-dragging-live")
    hand.event("ESC", "PRESS")
    yield 0.1
    hand.event("LEFTMOUSE", "RELEASE")
    yield 0.1
    window.facts["cancelled"] = bool(np.allclose(pose(), was, atol=1e-6)) and drawn() == lines_were
    yield from hand.drag(end, (end[0] + 20, end[1] + 24), shift=True)
    precise = view.region_of(tuple(drawn()[1][3:5]))
    window.facts["precise"] = [precise[0] - end[0], precise[1] - end[1]]
    yield from undo(window)
    window.facts["undone"] = bool(np.allclose(pose(), was, atol=1e-6)) and drawn() == lines_were
    window.facts["still_editing"] = part("mode").current() is not None
    yield from hand.move(view.region_of(tuple(drawn()[-1][1:3])))
    yield 0.1
    yield from hand.key("X")
    window.facts["deleted"] = len(lines_were) - len(drawn())
    yield from undo(window)
    window.facts["back"] = drawn() == lines_were
    bpy.context.scene.matchcut.match_camera.live = False
    yield from hand.key("RET")
    window.facts["ended_by_enter"] = part("mode").current() is None


def search(window, match):
    """Steps: the camera of the points is looked for from the beginning; how long its slices take."""
    finding, scene = part("finding"), bpy.context.scene
    plain, taken = finding._slice, window.facts.setdefault("slice_seconds", [])

    def timed(*arguments):
        began = time.thread_time()
        try:
            return plain(*arguments)
        finally:
            taken.append(time.thread_time() - began)

    finding._slice = timed
    for _ in range(3):
        finding.forget()
        window.area.tag_redraw()
        yield 0.1
        yield from until(lambda: not finding.is_searching(scene, match))
        yield 0.1
    window.facts["found_meanwhile"] = finding.solution_of(scene, match).fit is not None
    finding._slice = plain


def points(window, hand):
    """Corners in the picture, and the same ones of the house in the scene, picked in another view."""
    scene = bpy.context.scene
    bpy.data.objects["House"].hide_set(False)
    camera = scene.camera
    camera.location, camera.data.lens = (-9, -3, 6), 70
    look(camera, (1, 1, 1))
    bpy.ops.ed.undo_push(message="Another Camera")
    yield from press(window, "matchcut.pick_points")
    space = window.area.spaces.active
    for corner in CORNERS:
        yield from hand.click(in_region(window, corner))
        space.region_3d.view_perspective = "PERSP"
        space.region_3d.view_location, space.region_3d.view_distance = (1.5, 1, 1), 9
        space.region_3d.view_rotation = Vector((1.6, 2.2, -1.1)).to_track_quat("-Z", "Y")
        yield 0.3
        at = location_3d_to_region_2d(hand.region, space.region_3d, Vector(corner))
        yield from hand.move((at[0] + 3, at[1] - 2))
        yield 0.15
        if corner == CORNERS[4]:
            yield from whole_picture(window, "7-pick-in-the-scene")
        yield from hand.click((at[0] + 3, at[1] - 2))
        space.region_3d.view_perspective = "CAMERA"
        yield 0.2
    match = part("shots").match_of(scene)
    window.facts["points"] = [[point.name, *(round(value, 3) for value in point.world)] for point in match.points]
    yield from whole_picture(window, "8-points")
    yield from search(window, match)
    solution = part("finding").solution_of(scene, match)
    window.facts["points_residuals"] = solution.residuals
    yield from press(window, "matchcut.apply_match")
    window.facts["points_missed"] = missed(window)
    yield from hand.move((400, 300))
    yield from whole_picture(window, "9-points-applied")
    yield from undo(window)
    yield from until(lambda: round(bpy.context.scene.camera.data.lens) == 70)
    window.facts["apply_undone"] = round(bpy.context.scene.camera.data.lens)
    yield from press(window, "matchcut.pick_points")
    window.facts["ended_by_button"] = part("mode").current() is None
    measured = bpy.context.scene.matchcut.match_camera.measured.add()
    measured.first, measured.last, measured.kind = 0, 249, "pan right and tilt up, handheld"
    measured.unknown = (
        "the position is not known, so only the rotation is keyed: the camera only turns, or what is seen lies flat or "
        "far away: no parallax tells a path\nA turn; a move along something flat would look the same"
    )
    yield from window.scroll(14)
    yield from window.picture("10-motion-panel")


def endings(window, hand):
    """It ends with the file, and with the add-on."""
    mode = part("mode")
    bpy.context.preferences.system.use_region_overlap = True
    path = str(window.out / "kept.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    lines_were = drawn()
    yield from press(window, "matchcut.edit_lines")
    window.facts["begun_again"] = mode.current() is not None
    bpy.ops.wm.open_mainfile(filepath=path)
    yield 0.5
    window.facts["ended_by_file"] = mode.current() is None
    window.facts["kept"] = drawn() == lines_were and len(lines_were) > 0
    for fact in ("ended_by_editor", "begun_third"):
        with bpy.context.temp_override(window=window.window, area=window.area):
            bpy.ops.matchcut.edit_lines("INVOKE_DEFAULT")
        yield 0.2
        window.facts[fact] = mode.current() is not None
        if fact == "ended_by_editor":
            area = window.area
            area.type = "IMAGE_EDITOR"
            yield 0.3
            for x in (300, 330):
                window.window.event_simulate(type="MOUSEMOVE", value="NOTHING", x=x, y=300)
                yield 0.1
            window.facts[fact] = window.facts[fact] and mode.current() is None
            area.type = "VIEW_3D"
            yield 0.3
    for cls in window.others:
        bpy.utils.register_class(cls)
    module = ADDON.removesuffix(".addon")
    bpy.ops.preferences.addon_disable(module=module)
    yield 0.3
    yield from hand.move((300, 300))
    yield from hand.move((320, 300))
    window.facts["disabled"] = not hasattr(bpy.types.Scene, "matchcut")
