# SPDX-License-Identifier: GPL-3.0-or-later
"""The add-on inside Blender's Python: it registers and leaves nothing, its names keep Blender's conventions."""

import re
import string
import sys
import warnings

import bpy
import matchcut
import pytest
from matchcut.addon import jobs, registration
from matchcut.addon.sidebar.paths import absolute


def footprint():
    """Everything of ours that Blender knows of."""
    handlers = [
        f"{name}: {handler.__module__}"
        for name in dir(bpy.app.handlers)
        if isinstance(getattr(bpy.app.handlers, name), list)
        for handler in getattr(bpy.app.handlers, name)
        if handler.__module__.startswith("matchcut")
    ]
    classes = [
        cls.__name__
        for base in (bpy.types.Panel, bpy.types.Operator, bpy.types.PropertyGroup, bpy.types.AddonPreferences)
        for cls in base.__subclasses__()
        if cls.is_registered and cls.__module__.startswith("matchcut")
    ]
    operators = [name for name in dir(bpy.ops.matchcut) if not name.startswith("_")]
    timers = [bpy.app.timers.is_registered(jobs._tick)]
    return handlers, classes, timers, hasattr(bpy.types.Scene, "matchcut"), operators


@pytest.fixture
def registered():
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    matchcut.register()
    yield bpy.context.scene
    matchcut.unregister()


def test_twice_on_and_off_leaves_nothing():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        before = footprint()
        for _ in range(2):
            matchcut.register()
            handlers, classes, _, on_scene, operators = footprint()
            assert on_scene
            assert "score" in operators
            assert len(classes) == len(registration.CLASSES)
            assert handlers
            matchcut.unregister()
            assert footprint() == before
    assert before == ([], [], [False], False, [])
    assert [str(warning.message) for warning in caught] == []


def test_handlers_that_other_code_removed_do_not_stop_it():
    matchcut.register()
    for name in ("load_post", "undo_post", "redo_post"):
        getattr(bpy.app.handlers, name).clear()
    matchcut.unregister()
    assert footprint() == ([], [], [False], False, [])


def panels():
    return [cls for cls in registration.CLASSES if issubclass(cls, bpy.types.Panel)]


def is_title_case(label):
    small = {"a", "an", "the", "and", "or", "of", "in", "on", "to", "for"}
    return all(word in small or word[0] in string.ascii_uppercase for word in label.split())


def test_labels_and_tooltips_follow_the_conventions(registered):
    properties = [
        (f"{cls.__name__}.{prop.identifier}", prop.name, prop.description)
        for cls in registration.CLASSES
        if issubclass(cls, (bpy.types.PropertyGroup, bpy.types.AddonPreferences))
        for prop in cls.bl_rna.properties
        if prop.identifier in cls.__annotations__ and prop.description
    ]
    own = ("EEVEE", "CPU", "CUDA", "OptiX", "HIP", "Metal", "oneAPI")  # names that their makers write so
    operators = [
        (cls.bl_idname, cls.bl_label, cls.bl_description)
        for cls in registration.CLASSES
        if issubclass(cls, bpy.types.Operator) and not hasattr(cls, "description")  # those compose theirs
    ]
    assert len(operators) > 10
    choices = [registered.matchcut.bl_rna.properties["setting"]]
    choices += [registered.matchcut.render.bl_rna.properties[name] for name in ("frames", "engine", "device")]
    items = [
        (item.identifier, item.name if item.name not in own else "Own", item.description)
        for choice in choices
        for item in choice.enum_items
    ]
    assert len(properties) > 6
    for where, label, tooltip in properties + operators + items:
        assert is_title_case(label), f"{where}: {label!r} is not in Title Case"
        assert re.match(r"[A-Z].*[^.]$", tooltip), f"{where}: tooltip {tooltip!r}"
    for cls in panels():
        assert is_title_case(cls.bl_label)
        assert cls.bl_category == "Matchcut"


def test_the_panels_are_in_the_order_of_the_work():
    top = sorted((cls for cls in panels() if not hasattr(cls, "bl_parent_id")), key=lambda cls: cls.bl_order)
    labels = [cls.bl_label for cls in top]
    assert labels == ["Reference", "Setting", "Render", "Score", "Progress", "Results", "Agent", "Evaluator"]


def test_every_property_that_a_panel_shows_has_a_tooltip(registered):
    modules = {cls.__module__: sys.modules[cls.__module__] for cls in panels()}
    sources = [module.__spec__.loader.get_source(name) for name, module in modules.items()]
    shown = {name for source in sources for name in re.findall(r'\.prop\(\s*[\w.]+,\s*"(\w+)"', source)}
    assert {"path", "setting", "samples", "frames", "scale", "passes", "checklist", "judge", "output"} <= shown
    known = {
        prop.identifier: prop.description
        for cls in registration.CLASSES
        if issubclass(cls, bpy.types.PropertyGroup)
        for prop in cls.bl_rna.properties
        if prop.identifier in cls.__annotations__
    }
    assert [name for name in shown if not known[name]] == []


def test_settings_are_saved_with_the_file(registered, tmp_path):
    registered.matchcut.setting = "detailed"
    registered.matchcut.reference.path = "//reference.mp4"
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "saved.blend"))
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    assert bpy.context.scene.matchcut.setting == "proxy"
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "saved.blend"))
    state = bpy.context.scene.matchcut
    assert state.setting == "detailed"
    assert absolute(state.reference.path) == tmp_path / "reference.mp4"
