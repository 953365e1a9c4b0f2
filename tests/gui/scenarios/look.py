# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks are taken in a Blender with a window: of every kind, beside the bare drawing, and with no 3D view open."""

import importlib
import shutil
import time

import bpy

PACKAGE = "bl_ext.user_default.matchcut"
ROUNDS = 5


def module(name):
    return importlib.import_module(f"{PACKAGE}.addon.{name}")


def values(owner):
    names = [one.identifier for one in owner.bl_rna.properties if one.type not in ("COLLECTION", "POINTER")]
    return {name: str(list(value) if hasattr(value := getattr(owner, name), "__len__") else value) for name in names}


def state(area):
    """What the window shows and the scene holds, as text."""
    space, scene = area.spaces.active, bpy.context.window_manager.windows[0].scene
    parts = {
        "space": space, "shading": space.shading, "overlay": space.overlay, "view": space.region_3d, "scene": scene,
        "render": scene.render, "image": scene.render.image_settings,
    }  # fmt: skip
    found = {name: values(part) for name, part in parts.items()}
    found["camera"] = scene.camera.name
    found["data"] = {
        kind: len(getattr(bpy.data, kind)) for kind in ("objects", "cameras", "materials", "worlds", "images")
    }
    found["dirty"] = bpy.data.is_dirty
    return found


def seconds(work):
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def steps(window):
    """Look, measure, close the 3D view, look again."""
    look, offscreen, pictures = module("look.look"), module("look.offscreen"), module("look.pictures")
    scene = window.window.scene
    scene.frame_end = 10
    yield 0.5
    area = window.area
    before = state(area)
    shown = {}
    for name, arguments in {
        "camera": {}, "camera-later": {"frame": 5}, "front": {"view": "front"}, "orbit": {"view": "orbit:45,30"},
        "viewport": {"view": "viewport"}, "overlays": {"view": "viewport", "overlays": True},
        "rendered": {"shading": "rendered", "samples": 1}, "material": {"shading": "material", "samples": 1},
    }.items():  # fmt: skip
        result = look.look(size=256, **arguments)
        result.pop("jpeg")
        shutil.copy(result["path"], window.out / f"{name}.jpg")
        shown[name] = result
        yield 0.2
    window.facts["shown"] = shown
    after = state(area)
    window.facts["changed"] = [(name, before[name], after[name]) for name in before if before[name] != after[name]]
    yield from window.whole_picture("window")

    layer = window.window.view_layer
    seen = look._sight(scene, "camera", "", scene.frame_current, layer.depsgraph)
    size, space = pictures.cell_size(1, seen.aspect, 1024), offscreen.hidden_space()
    window.facts["hidden"] = space.space != area.spaces.active

    def bare():
        pictures.write_jpeg(offscreen.draw(space, scene, layer, seen.matrices, size), "bare").read_bytes()

    def ours():
        window.facts["size"] = look.look(size=1024)["width"]

    bare(), ours()
    ratios = []
    for _ in range(ROUNDS):
        ratios.append(seconds(ours) / seconds(bare))
        yield 0.05
    window.facts["ratios"] = ratios

    for one in window.window.screen.areas:
        if one.type == "VIEW_3D":
            one.type = "TEXT_EDITOR"
    yield 0.3
    window.facts["without_view"] = look.look(size=128)["engine"]
    try:
        look.look(view="viewport")
    except module("bridge.server").OperationalError as error:
        window.facts["no_viewport"] = str(error)
