# SPDX-License-Identifier: GPL-3.0-or-later
"""The Reference panel in all its states, its buttons pressed, and which frame the camera view really shows."""

import os
import shutil
from pathlib import Path

import bpy
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d
from drive import module, until, watch_drawing

BITS = 10
START = 11
"""The scene's first frame: not 1, so that a forgotten offset is seen."""


def look_through_camera(window, on=True):
    """Steps: the whole camera view without sidebar and overlays; or back to the sidebar beside another view."""
    space = window.area.spaces.active
    space.region_3d.view_perspective = "CAMERA" if on else "PERSP"
    space.show_region_ui = not on
    space.overlay.show_overlays = True  # the background belongs to them
    for name in ("show_text", "show_floor", "show_axis_x", "show_axis_y", "show_cursor", "show_outline_selected"):
        setattr(space.overlay, name, False)
    space.overlay.show_object_origins = space.show_gizmo = False
    yield 0.5
    if on:
        with bpy.context.temp_override(window=window.window, area=window.area, region=view_region(window)):
            bpy.ops.view3d.view_center_camera()
        yield 0.5


def view_region(window):
    return next(region for region in window.area.regions if region.type == "WINDOW")


def camera_frame(window, scene):
    """(left, top, right, bottom) of the camera's frame in pixels of a picture of the whole window."""
    region, rv3d = view_region(window), window.area.spaces.active.region_3d
    camera = scene.camera
    corners = [camera.matrix_world @ corner for corner in camera.data.view_frame(scene=scene)]
    places = np.array([location_3d_to_region_2d(region, rv3d, corner) for corner in corners])
    left, right = places[:, 0].min() + region.x, places[:, 0].max() + region.x
    bottom, top = places[:, 1].min() + region.y, places[:, 1].max() + region.y
    height = window.window.height
    return left, height - top, right, height - bottom


def seen(window, scene, name):
    """Steps: read the number that the camera view shows; it is in `seen.number`, with the colours of the foot."""
    view_region(window).tag_redraw()
    yield 0.4
    yield from window.whole_picture(name)
    image = bpy.data.images.load(str(window.out / f"{name}.png"))
    pixels = np.array(image.pixels[:]).reshape(image.size[1], image.size[0], 4)[::-1, :, :3]
    bpy.data.images.remove(image)
    left, top, right, bottom = camera_frame(window, scene)

    def colour(x, y):
        column, row = int(left + x * (right - left)), int(top + y * (bottom - top))
        return pixels[row - 2 : row + 3, column - 2 : column + 3].mean((0, 1))

    number = 0
    for bit in range(BITS):
        row, column = divmod(bit, 5)
        number |= int(colour((column + 0.5) / 5, (row + 0.5) / 3).mean() > 0.5) << bit
    seen.number = number
    seen.foot = [(colour(x, 5 / 6) * 255).round().tolist() for x in (0.25, 0.75)]


def press(window, operator):
    """Steps: click on a button of the panel, which is the topmost, once it is known to lie under the mouse."""
    for _ in range(4):
        region = view_region(window)
        # a busy machine takes its time: the button that was pressed last would be found wherever the mouse is
        window.window.event_simulate(type="MOUSEMOVE", value="NOTHING", x=region.x + 300, y=region.y + 300)
        yield 0.5
        yield from window.scan_buttons(operator)
        if operator in window.buttons:
            window.window.event_simulate(type="MOUSEMOVE", value="NOTHING", x=region.x + 300, y=region.y + 300)
            yield 0.3
            yield from window.click(*window.buttons[operator])
            return
    yield from window.whole_picture(f"without-{operator}")
    raise AssertionError(f"no button for {operator}; there are {sorted(window.buttons)}")


def pick(window, scene, path):
    """Steps: pick a video and wait until it has been read."""
    jobs = module("jobs")
    scene.matchcut.reference.path = str(path)
    yield from until(lambda: scene.matchcut.reference.known and jobs.running() is None, 60)
    with bpy.context.temp_override(window=window.window, area=window.area):
        bpy.ops.ed.undo_push(message="Pick Reference")  # as Blender does where the field is edited


def drawn_in_view(window, scene, name, frames):
    """Steps: note which numbers the camera view shows at these frames of the reference."""
    facts = window.facts.setdefault("shown", {})
    facts[name] = []
    yield from look_through_camera(window)
    for frame in frames:
        scene.frame_set(scene.frame_start + frame)
        yield from seen(window, scene, f"view-{name}-{frame}")
        facts[name].append([frame, seen.number, seen.foot])
    yield from look_through_camera(window, on=False)


def steps(window):
    jobs, watch, events = module("jobs"), module("sidebar.reference.watch"), module("sidebar.reference.events")
    picture = module("sidebar.reference.picture")
    videos = Path(os.environ["MATCHCUT_TEST_VIDEOS"])
    facts = window.facts
    watch_drawing(window)
    yield from window.open_sidebar()
    scene = bpy.context.scene
    scene.frame_start = START
    reference = scene.matchcut.reference
    yield from window.picture("01-empty")

    # read
    reference.path = str(videos / "coded.mp4")
    yield from until(lambda: jobs.running() is None or module("sidebar.reference.read").heard_of(reference), 30)
    yield from window.picture("02-reading")
    yield from until(lambda: reference.known, 60)
    yield from window.picture("03-read")
    facts["shots"] = [[shot.first, shot.last] for shot in reference.shots]
    facts["icon"] = picture.icon(watch.digest_in(reference.read_mark))
    yield from press(window, "matchcut.match_timeline")
    facts["timeline"] = [scene.render.resolution_x, scene.render.resolution_y, scene.frame_start, scene.frame_end]

    # show in the camera
    yield from press(window, "matchcut.show_in_camera")
    window.area.spaces.active.region_3d.view_perspective = "CAMERA"
    facts["backgrounds"] = len(scene.camera.data.background_images)
    yield from window.picture("04-shown")
    yield from window.whole_picture("05-shown-window")
    reference.opacity = 1.0
    yield from drawn_in_view(window, scene, "coded", (0, 1, 20, 47))
    yield from press(window, "matchcut.show_in_camera")
    yield from press(window, "matchcut.show_in_camera")
    facts["again"] = [len(scene.camera.data.background_images), len(bpy.data.movieclips)]
    scene.camera.data.shift_x, scene.camera.data.shift_y = 0.2, -0.1
    yield from drawn_in_view(window, scene, "shifted", (7,))
    scene.camera.data.shift_x = scene.camera.data.shift_y = 0.0

    # shot cameras
    yield from press(window, "matchcut.make_shot_cameras")
    facts["markers"] = {marker.name: marker.frame for marker in scene.timeline_markers}
    yield from window.picture("06-shot-cameras")
    x, y = window.buttons["matchcut.make_shot_cameras"]
    scene.frame_set(START)
    yield 0.3
    unit = 20 * bpy.context.preferences.system.ui_scale
    for row, name in ((4, "first"), (2, "last"), (3, "middle")):  # heights of a row above the button
        yield from window.click(x, int(y + unit * row))
        facts[f"clicked_{name}"] = scene.frame_current
    with bpy.context.temp_override(window=window.window, area=window.area, region=view_region(window)):
        bpy.ops.ed.undo()
    yield 0.3
    scene = bpy.context.scene
    facts["frame_after_undo"] = scene.frame_current
    reference = scene.matchcut.reference

    # other files: an edit list, a turn; the number shown is told beside the number that the evaluator counts
    for name in ("edit", "turned", "tall"):
        yield from pick(window, scene, videos / f"{name}.mp4")
        bpy.ops.matchcut.match_timeline()
        bpy.ops.matchcut.show_in_camera()
        yield from drawn_in_view(window, scene, name, (0, reference.frames - 1))
        yield from window.picture(f"07-{name}")

    # a rate that varies is conformed
    yield from pick(window, scene, videos / "varying.mp4")
    bpy.ops.matchcut.match_timeline()
    bpy.ops.matchcut.show_in_camera()
    yield from drawn_in_view(window, scene, "varying", (5, 30))
    yield from window.picture("08-varying")
    yield from press(window, "matchcut.conform_reference")
    yield from until(lambda: reference.path.endswith("varying-conformed.mp4") and reference.known, 60)
    bpy.ops.matchcut.match_timeline()
    bpy.ops.matchcut.show_in_camera()
    yield from window.picture("09-conformed")
    facts["original"] = reference.original
    yield from drawn_in_view(window, scene, "conformed", (5, 30))
    with bpy.context.temp_override(window=window.window, area=window.area):
        for _ in range(4):
            bpy.ops.ed.undo()
            if bpy.context.scene.matchcut.reference.path.endswith("varying.mp4"):
                break
    scene = bpy.context.scene
    reference = scene.matchcut.reference
    facts["undone"] = [reference.path, reference.known, len(reference.warnings)]

    # the file goes, another takes its place, it comes back
    place = window.out / "here.mp4"
    shutil.copy(videos / "coded.mp4", place)
    yield from pick(window, scene, place)
    place.rename(window.out / "there.mp4")
    yield from until(lambda: reference.state == "missing", 10)
    yield from window.picture("10-missing")
    shutil.copy(videos / "tall.mp4", place)
    yield from until(lambda: reference.state == "changed", 10)
    yield from window.picture("11-changed")
    yield from press(window, "matchcut.read_reference")
    yield from until(lambda: reference.known and jobs.running() is None, 60)
    facts["read_again"] = [reference.width, reference.height]
    yield from window.picture("12-read-again")
    (window.out / "there.mp4").replace(place)
    yield from until(lambda: reference.state == "changed", 10)
    yield from press(window, "matchcut.read_reference")
    yield from until(lambda: reference.known and jobs.running() is None, 60)

    # dropped on the view
    with bpy.context.temp_override(window=window.window, area=window.area, region=view_region(window)):
        bpy.ops.wm.drop_import_file("INVOKE_DEFAULT", directory=str(videos), files=[{"name": "coded.mp4"}])
    yield 0.5
    yield from window.whole_picture("13-dropped")
    facts["dropped"] = reference.path
    window.window.event_simulate(type="ESC", value="PRESS")
    yield 0.3

    # after a file was opened the picture comes from the cache, or is made again where that was cleared
    bpy.ops.matchcut.show_in_camera()
    before = watch.digest_in(reference.read_mark)
    bpy.ops.wm.save_as_mainfile(filepath=str(window.out / "shot.blend"))
    for name, spoil in (("cached", lambda: None), ("cleared", lambda: shutil.rmtree(picture.place(before).parent))):
        picture.forget()
        spoil()
        bpy.ops.wm.open_mainfile(filepath=str(window.out / "shot.blend"))
        yield 0.5
        yield from until(lambda: picture.icon(before) != 0, 30)
        facts[name] = picture.icon(before)
    scene = bpy.context.scene
    reference = scene.matchcut.reference
    facts["opened"] = [reference.path, reference.known, len(reference.shots)]
    background = module("sidebar.reference.background")
    facts["background_opened"] = [one.clip.filepath for one in scene.camera.data.background_images]
    facts["current"] = background.is_current(scene, background.shown(scene))
    yield from window.open_sidebar()
    yield from window.picture("14-opened")
    yield from window.scale(2.0)
    yield from window.picture("15-twice-the-scale")
    yield from window.scale(1.0)
    window.theme("Blender_Light")
    yield 0.5
    yield from window.picture("16-light")
    facts["looks"] = sorted(events.slices)
