# SPDX-License-Identifier: GPL-3.0-or-later
"""The reference over the view: where it lies, which pixels it has, how it follows playback, and what it survives."""

import importlib
import os
import shutil
import threading
import time
from pathlib import Path

import bpy
from bpy_extras.view3d_utils import location_3d_to_region_2d

PACKAGE = os.environ.get("MATCHCUT_TEST_PACKAGE", "bl_ext.user_default.matchcut")
CLIPS = Path(os.environ.get("MATCHCUT_TEST_CLIPS", ""))


def module(name):
    return importlib.import_module(f"{PACKAGE}.addon.sidebar.compare.{name}")


def scene_of(window):
    return window.window.scene


def compare_of(window):
    return scene_of(window).matchcut.compare


def until(told, seconds=40):
    """Steps: wait until `told()`."""
    end = time.monotonic() + seconds
    while not told():
        assert time.monotonic() < end, f"waited {seconds} s in vain: {module('feeds')._feeds}"
        yield 0.1


def decoded(window):
    """Whether every frame of what is shown is there, and nothing is waited for."""
    feeds, follow = module("feeds"), module("follow")
    shown = [feed for feed in feeds._feeds.values() if feed.wanted.size > 128]
    whole = all(feed.store and len(feed.reader.there) == feed.expected and not feed.running for feed in shown)
    return bool(shown) and whole and not follow.waiting


def reference(window, name):
    """Steps: another reference with its size, and all of its frames."""
    scene = scene_of(window)
    scene.matchcut.reference.path = str(CLIPS / name)
    portrait = name.startswith("portrait")
    scene.render.resolution_x, scene.render.resolution_y = (360, 640) if portrait else (640, 360)
    yield 0.5
    yield from until(lambda: decoded(window))
    yield 0.5


def edges(window):
    """The camera's frame in pixels of the window (left, bottom, right, top), by way of the world's coordinates."""
    region = next(one for one in window.area.regions if one.type == "WINDOW")
    view, scene = window.area.spaces.active.region_3d, scene_of(window)
    camera = scene.camera
    world = [camera.matrix_world @ corner for corner in camera.data.view_frame(scene=scene)]
    places = [location_3d_to_region_2d(region, view, corner) for corner in world]
    x, y = [place.x for place in places], [place.y for place in places]
    return [min(x) + region.x, min(y) + region.y, max(x) + region.x, max(y) + region.y]


def drawings():
    return module("timings").timings().get("draw", {}).get("count", 0)


def redrawn(window):
    """Steps: wait until the view has been drawn anew, and has reached the screen."""
    yield from until(lambda: not module("follow").waiting)
    for _ in range(2):
        module("timings").forget()
        module("follow").redraw()
        yield from until(drawings)
    yield 0.4


def placed(window):
    """Steps: the overlay over the camera's frame, in ways in which that can lie."""
    scene, compare, view = scene_of(window), compare_of(window), window.area.spaces.active.region_3d
    camera = scene.camera.data
    compare.mode, compare.opacity, compare.show = "ONION", 1.0, True
    view.view_perspective = "CAMERA"
    window.facts["placed"] = {}
    scene.frame_set(scene.frame_start + 9)
    for name, clip, zoom, offset, shift in (
        ("landscape", "landscape.mp4", 0.0, (0, 0), (0, 0)),
        ("zoomed-in", "landscape.mp4", 14.0, (0, 0), (0, 0)),
        ("zoomed-out", "landscape.mp4", -12.0, (0.1, -0.15), (0, 0)),
        ("shifted", "landscape.mp4", 0.0, (-0.07, 0.05), (0.2, -0.1)),
        ("portrait", "portrait.mp4", 0.0, (0, 0), (0, 0)),
        ("portrait-zoomed", "portrait.mp4", 3.0, (0.04, 0.02), (0.1, 0.05)),
    ):
        if scene.matchcut.reference.path != str(CLIPS / clip):
            yield from reference(window, clip)
        view.view_camera_zoom, view.view_camera_offset = zoom, offset
        camera.shift_x, camera.shift_y = shift
        yield from redrawn(window)
        yield from window.whole_picture(f"placed-{name}")
        window.facts["placed"][name] = edges(window)
    camera.shift_x = camera.shift_y = 0
    view.view_camera_zoom, view.view_camera_offset = 0, (0, 0)


def colors(window):
    """Steps: what each mode shows, against the view and against a render that is the reference itself."""
    scene, compare = scene_of(window), compare_of(window)
    yield from reference(window, "landscape.mp4")
    window.facts["frame"] = edges(window)
    compare.opacity = 0.0
    yield from redrawn(window)
    yield from window.whole_picture("view")
    compare.opacity = 0.5
    yield from redrawn(window)
    yield from window.whole_picture("onion-half")
    compare.opacity = 1.0
    scene.view_settings.exposure, scene.view_settings.view_transform = 2.0, "AgX"
    yield from redrawn(window)
    yield from window.whole_picture("exposed")
    scene.view_settings.exposure = 0.0
    compare.mode, compare.wipe = "WIPE", 0.25
    yield from redrawn(window)
    yield from window.whole_picture("wipe")
    compare.mode = "SIDE"
    yield from redrawn(window)
    yield from window.whole_picture("side")
    yield from kept(window)
    compare.mode = "DIFFERENCE"
    yield from redrawn(window)
    yield from window.whole_picture("difference-view")
    compare.mode, compare.interval = "FLICKER", 0.1
    follow = module("follow")
    turns, seen = follow.phase, set()

    def noted(interval):
        seen.add(turns(interval))
        return turns(interval)

    follow.phase = noted
    yield from until(lambda: len(seen) == 2 and drawings() > 4)
    for name, turn in (("flicker-reference", 0), ("flicker-view", 1)):  # held still for the picture
        follow.phase = lambda interval, turn=turn: turn
        yield from redrawn(window)
        yield from window.whole_picture(name)
    follow.phase = turns
    scene.matchcut.render.video = str(CLIPS / "landscape.mp4")
    compare.source, compare.mode = "RENDER", "DIFFERENCE"
    yield 0.5
    yield from until(lambda: decoded(window))
    yield from redrawn(window)
    yield from window.whole_picture("difference-same")
    scene.matchcut.render.video = str(CLIPS / "later.mp4")
    compare.mode = "WIPE"
    yield 0.5
    yield from until(lambda: decoded(window))
    yield from redrawn(window)
    yield from window.whole_picture("wipe-render")
    compare.source = "VIEWPORT"


def kept(window):
    """Steps: how often the view is drawn into its picture, where nothing has changed and at another frame."""
    scene, timings = scene_of(window), module("timings")
    window.facts["view drawn"] = []
    for frame in (scene.frame_current, scene.frame_current + 1, scene.frame_current):
        timings.forget()
        if frame == scene.frame_current:
            module("follow").redraw()
        else:
            scene.frame_set(frame)
        yield from until(drawings)
        yield 0.4
        window.facts["view drawn"].append(timings.timings().get("viewport", {}).get("count", 0))


def playback(window):
    """Steps: which color lies in the picture's middle at which frame while the timeline plays; how long we take."""
    import gpu

    scene, compare = scene_of(window), compare_of(window)
    seen = []

    def look():
        region = bpy.context.region
        if bpy.context.area == window.area and module("draw").rect_in(bpy.context) is not None:
            rect = module("draw").rect_in(bpy.context)
            x, y = int(rect.x + rect.width / 2), int(rect.y + rect.height / 2)
            if 0 <= x < region.width and 0 <= y < region.height:
                pixel = gpu.state.active_framebuffer_get().read_color(x, y, 1, 1, 4, 0, "UBYTE").to_list()
                seen.append([bpy.context.scene.frame_current, pixel[0][0][:3]])

    compare.mode, compare.opacity = "ONION", 1.0
    yield from reference(window, "landscape.mp4")
    for name, rate in (("same", 24), ("half", 12)):
        scene.render.fps, scene.render.fps_base = rate, 1.0
        scene.frame_start, scene.frame_end = 5, 5 + 48 * rate // 24 - 1
        scene.frame_set(5)
        yield 1.0
        handle = bpy.types.SpaceView3D.draw_handler_add(look, (), "WINDOW", "POST_PIXEL")
        with bpy.context.temp_override(window=window.window, area=window.area):
            bpy.ops.screen.animation_play()
        yield from until(lambda: len({frame for frame, _ in seen}) > 12, seconds=90)
        with bpy.context.temp_override(window=window.window, area=window.area):
            bpy.ops.screen.animation_cancel()
        bpy.types.SpaceView3D.draw_handler_remove(handle, "WINDOW")
        window.facts[f"played-{name}"], seen[:] = list(seen), []
    scene.render.fps, scene.frame_start, scene.frame_end = 24, 1, 48


def frame_times(window):
    """Steps: how long the main thread is held while the overlay plays, at two sizes of reference."""
    scene = scene_of(window)
    timings = module("timings")
    scene.matchcut.compare.mode = "WIPE"
    scene.matchcut.compare.filmstrip = True
    window.facts["times"] = {}
    for name in ("hd720.mp4", "hd1080.mp4"):
        yield from reference(window, name)
        timings.forget()
        window.measure()
        with bpy.context.temp_override(window=window.window, area=window.area):
            bpy.ops.screen.animation_play()
        end = time.monotonic() + 40  # a busy machine with software OpenGL plays a frame a second
        while drawings() < 100 and time.monotonic() < end:
            yield 0.2
        with bpy.context.temp_override(window=window.window, area=window.area):
            bpy.ops.screen.animation_cancel()
        window.facts["times"][name] = {**timings.timings(), "gaps": sorted(window.gaps())[-3:]}
    scene.matchcut.compare.filmstrip = False


def dragged(window):
    """Steps: the line is dragged, taken back, and in nobody's way."""
    compare, view = compare_of(window), window.area.spaces.active.region_3d
    yield from reference(window, "landscape.mp4")
    compare.mode, compare.wipe = "WIPE", 0.5
    bpy.ops.ed.undo_push(message="Before the drag")
    yield from redrawn(window)
    left, bottom, right, top = edges(window)
    x, y = int((left + right) / 2), int((bottom + top) / 2)
    send = window.window.event_simulate

    def move(to_x, to_y):
        send(type="MOUSEMOVE", value="NOTHING", x=int(to_x), y=int(to_y))

    move(x - 60, y)
    yield 0.3
    for step in range(5, -1, -1):
        move(x - step, y)
        yield 0.2
    yield from redrawn(window)
    yield from window.whole_picture("wipe-lit")
    send(type="LEFTMOUSE", value="PRESS", x=x, y=y)
    yield 0.2
    for step in range(1, 11):
        move(x + step * (right - left) * 0.025, y)
        yield 0.05
    target = int(x + (right - left) * 0.25)
    move(target, y)
    yield 0.2
    send(type="LEFTMOUSE", value="RELEASE", x=target, y=y)
    yield 0.4
    window.facts["dragged"] = compare_of(window).wipe
    yield from window.whole_picture("wipe-dragged")
    with bpy.context.temp_override(window=window.window, area=window.area):
        bpy.ops.ed.undo()
    yield 0.5
    window.facts["undone"] = compare_of(window).wipe
    before = window.area.spaces.active.region_3d.view_camera_zoom
    move(left + 30, y)
    yield 0.2
    send(type="WHEELUPMOUSE", value="PRESS", x=int(left + 30), y=y)
    yield 0.4
    view = window.area.spaces.active.region_3d
    window.facts["zoomed"] = [before, view.view_camera_zoom]
    view.view_camera_zoom = 0
    view.view_perspective = "PERSP"
    yield from redrawn(window)
    yield from window.whole_picture("fitted")
    view.view_perspective = "CAMERA"


def strip(window):
    """Steps: the filmstrip at the bottom of the view, then in a timeline that is dragged higher."""
    scene, compare = scene_of(window), compare_of(window)
    compare.filmstrip = True
    yield from reference(window, "landscape.mp4")
    yield from until(lambda: len(scene.matchcut.reference.shots) > 1)
    yield from redrawn(window)
    yield from until(lambda: not module("follow").waiting)
    yield 0.5
    yield from window.whole_picture("strip-in-view")
    timeline = next(area for area in window.window.screen.areas if area.type == "DOPESHEET_EDITOR")
    send, x, y = window.window.event_simulate, timeline.x + timeline.width // 2, timeline.y + timeline.height + 1
    send(type="MOUSEMOVE", value="NOTHING", x=x, y=y)
    yield 0.3
    send(type="LEFTMOUSE", value="PRESS", x=x, y=y)
    for step in range(1, 8):
        yield 0.1
        send(type="MOUSEMOVE", value="NOTHING", x=x, y=y + 20 * step)
    yield 0.2
    send(type="LEFTMOUSE", value="RELEASE", x=x, y=y + 140)
    yield 1.0
    timeline = next(area for area in window.window.screen.areas if area.type == "DOPESHEET_EDITOR")
    assert timeline.height > 150, "the timeline was not made higher"
    yield from until(lambda: not module("follow").waiting)
    yield from redrawn(window)
    yield from window.whole_picture("strip-in-timeline")
    region = next(one for one in timeline.regions if one.type == "WINDOW")
    frames = next(iter(module("follow").strip_frames.values()))
    window.facts["strip"] = {
        "x": {frame: region.x + region.view2d.view_to_region(frame + scene.frame_start, 0, clip=False)[0]
              for frame in range(48)},
        "bottom": region.y + module("filmstrip").BOTTOM, "height": module("filmstrip").HEIGHT, "frames": frames,
        "cuts": [shot.first for shot in scene.matchcut.reference.shots if shot.first],
    }  # fmt: skip
    compare.filmstrip = False


def panels(window):
    """Steps: pictures of the panel as it is for each mode and source."""
    compare = compare_of(window)
    yield from window.scroll(12)
    for mode in ("WIPE", "ONION", "SIDE", "DIFFERENCE", "FLICKER"):
        compare.mode = mode
        yield from window.picture(f"panel-{mode.lower()}")
    compare.source = "RENDER"
    yield 1.0
    yield from window.picture("panel-render")
    compare.source, compare.mode = "VIEWPORT", "WIPE"


def scenes_and_windows(window):
    """Steps: quad view, a second window, another scene, a larger interface, a light theme."""
    compare = compare_of(window)
    compare.mode = "WIPE"
    region = next(one for one in window.area.regions if one.type == "WINDOW")
    with bpy.context.temp_override(window=window.window, area=window.area, region=region):
        bpy.ops.screen.region_quadview()
    yield 1.0
    yield from window.whole_picture("quad")
    region = next(one for one in window.area.regions if one.type == "WINDOW")
    with bpy.context.temp_override(window=window.window, area=window.area, region=region):
        bpy.ops.screen.region_quadview()
    yield 0.5
    window.area.spaces.active.region_3d.view_perspective = "CAMERA"
    with bpy.context.temp_override(window=window.window, area=window.area):
        bpy.ops.wm.window_new()
    yield 1.5
    count = len(bpy.context.window_manager.windows)
    window.facts["windows"] = count
    module("follow").redraw()
    yield 1.0
    with bpy.context.temp_override(window=bpy.context.window_manager.windows[-1]):
        bpy.ops.wm.window_close()
    yield 0.5
    scene = scene_of(window)
    other = bpy.data.scenes.new("Another")
    window.window.scene = other
    yield 1.0
    window.facts["in another scene"] = [other.matchcut.compare.show, len(module("feeds")._feeds)]
    window.window.scene = scene
    bpy.data.scenes.remove(other)
    yield 1.0
    yield from until(lambda: decoded(window))
    preferences = bpy.context.preferences
    preferences.view.ui_scale = 2.0
    yield 1.0
    yield from window.whole_picture("large-interface")
    preferences.view.ui_scale = 1.0
    themes = Path(bpy.utils.preset_paths("interface_theme")[0])
    bpy.ops.script.execute_preset(
        filepath=str(themes / "Blender_Light.xml"), menu_idname="USERPREF_MT_interface_theme_presets"
    )
    yield 0.6
    yield from window.whole_picture("light-theme")
    bpy.ops.preferences.reset_default_theme()
    yield 0.5


def mishaps(window):
    """Steps: the reference is moved, replaced by another, and back; the panel says so in a line."""
    feeds, follow = module("feeds"), module("follow")
    scene, compare = scene_of(window), compare_of(window)
    file = window.out / "moving.mp4"
    shutil.copy(CLIPS / "landscape.mp4", file)
    compare.mode, compare.opacity = "ONION", 1.0
    scene.matchcut.reference.path = str(file)
    yield 0.5
    yield from until(lambda: decoded(window))
    file.rename(window.out / "elsewhere.mp4")
    feed = feeds.find(follow.reference_wanted(scene))
    yield from until(lambda: feed.missing)
    scene.frame_set(scene.frame_start + 30)
    yield 1.0
    window.facts["moved"] = follow.problem(feed, "Reference")
    window.facts["moved frame"] = feed.texture(30)[0]
    yield from window.whole_picture("moved")
    shutil.copy(CLIPS / "short.mp4", file)
    yield from until(lambda: feed.store is not None and feed.store.frames == 12 and decoded(window))
    window.facts["replaced"] = [feed.store.frames, follow.problem(feed, "Reference")]
    scene.matchcut.reference.path = str(window.out / "never.mp4")
    yield 0.5
    gone = follow.reference_wanted(scene)
    yield from until(lambda: feeds.find(gone) and feeds.find(gone).error)
    window.facts["never there"] = feeds.find(gone).error
    yield from window.whole_picture("never-there")


def switched_off(window):
    """Steps: nothing is left by the add-on, by a reload of all scripts, by a new file."""
    import addon_utils

    scene = scene_of(window)
    scene.matchcut.reference.path = str(CLIPS / "landscape.mp4")
    scene.matchcut.compare.show = scene.matchcut.compare.filmstrip = True
    yield 0.5
    yield from until(lambda: decoded(window))

    def left():
        return [thread.name for thread in threading.enumerate() if thread.name == "matchcut frames"]

    window.facts["threads while shown"] = len(left())
    bpy.ops.script.reload()
    yield 2.0
    yield from until(lambda: decoded(window))
    window.facts["threads after reload"] = len(left())
    yield from window.whole_picture("reloaded")
    bpy.ops.wm.read_homefile(use_empty=False)
    yield 1.0
    window.facts["feeds after a new file"] = len(module("feeds")._feeds)
    compare_of(window).show = True
    scene_of(window).matchcut.reference.path = str(CLIPS / "landscape.mp4")
    yield 0.5
    yield from until(lambda: decoded(window))
    draw, tick = module("draw"), module("follow")._tick
    addon_utils.disable(PACKAGE, default_set=False)
    yield 1.0
    window.facts["left"] = [left(), draw._handle is None, bpy.app.timers.is_registered(tick)]
    addon_utils.enable(PACKAGE, default_set=False)
    yield 0.5


def steps(window):
    """See the module."""
    scene = scene_of(window)
    scene.render.fps, scene.frame_start, scene.frame_end = 24, 1, 48
    space = window.area.spaces.active
    space.shading.background_type = "VIEWPORT"
    space.shading.background_color = (0.1, 0.2, 0.3)
    yield 0.5
    space.overlay.show_overlays = False
    space.shading.light, space.shading.color_type = "FLAT", "SINGLE"
    space.shading.single_color = (0.5, 0.3, 0.1)
    yield from placed(window)
    yield from colors(window)
    yield from playback(window)
    space.overlay.show_overlays = True
    space.shading.light = "STUDIO"
    space.shading.background_type = "THEME"
    space.show_region_ui = True
    yield 0.5
    window.sidebar.active_panel_category = "Matchcut"
    yield from dragged(window)
    yield from strip(window)
    yield from panels(window)
    yield from frame_times(window)
    yield from scenes_and_windows(window)
    yield from mishaps(window)
    yield from switched_off(window)
