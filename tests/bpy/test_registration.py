# SPDX-License-Identifier: GPL-3.0-or-later
"""The add-on inside Blender's Python: it registers and leaves nothing, its names keep Blender's conventions."""

import importlib.util
import re
import string
import sys
import warnings
from pathlib import Path

import bpy
import matchcut
import numpy as np
import pytest
from matchcut.addon import jobs, registration
from matchcut.addon.sidebar import icons, keymap, menu
from matchcut.addon.sidebar.paths import absolute
from matchcut.assets_ui.icons import make


def footprint():
    """Everything of ours that Blender knows of."""
    handlers = [
        f"{name}: {handler.__module__}"
        for name in dir(bpy.app.handlers)
        if isinstance(getattr(bpy.app.handlers, name), list)
        for handler in getattr(bpy.app.handlers, name)
        if handler.__module__.startswith("matchcut")
    ]
    kinds = (
        "Panel",
        "Operator",
        "PropertyGroup",
        "AddonPreferences",
        "UIList",
        "Menu",
        "Gizmo",
        "GizmoGroup",
        "FileHandler",
    )
    classes = [
        cls.__name__
        for base in (getattr(bpy.types, kind) for kind in kinds)
        for cls in base.__subclasses__()
        if "bl_rna" in vars(cls) and cls.__module__.startswith("matchcut")
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
            assert {cls.__name__ for cls in registration.CLASSES} <= set(classes)
            assert len(handlers) == 22
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
    """Those of the 3D view; the other editors show some of the same."""
    every = [cls for cls in registration.CLASSES if issubclass(cls, bpy.types.Panel)]
    return [cls for cls in every if cls.bl_space_type == "VIEW_3D"]


def is_title_case(label):
    small = {"a", "an", "the", "and", "or", "of", "in", "on", "to", "for", "with", "by"}
    return all(word in small or word[0] in string.ascii_uppercase + string.digits for word in label.split())


def operators():
    """Every operator with what Blender knows of it."""
    found = [cls for cls in registration.CLASSES if issubclass(cls, bpy.types.Operator)]
    return {cls: getattr(bpy.ops.matchcut, cls.bl_idname.partition(".")[2]).get_rna_type() for cls in found}


def own_properties(rna, cls):
    return [prop for prop in rna.properties if prop.identifier in getattr(cls, "__annotations__", {})]


def test_labels_and_tooltips_follow_the_conventions(registered):
    groups = [
        cls for cls in registration.CLASSES if issubclass(cls, (bpy.types.PropertyGroup, bpy.types.AddonPreferences))
    ]
    properties = [
        (cls.__name__, prop) for cls in groups for prop in own_properties(cls.bl_rna, cls) if prop.description
    ]
    properties += [(cls.bl_idname, prop) for cls, rna in operators().items() for prop in own_properties(rna, cls)]
    own = ("EEVEE", "CPU", "CUDA", "OptiX", "HIP", "Metal", "oneAPI")  # names that their makers write so
    told = [
        (cls.bl_idname, cls.bl_label, rna.description)
        for cls, rna in operators().items()
        if rna.description or not hasattr(cls, "description")  # those may compose theirs
    ]
    assert len(told) > 30 and len(properties) > 30
    told += [(f"{owner}.{one.identifier}", one.name, one.description) for owner, one in properties if not one.is_hidden]
    items = [(owner, one, item) for owner, one in properties if one.type == "ENUM" for item in one.enum_items]
    assert len(items) > 30
    for owner, one, item in items:
        if one.identifier == "client":  # their names are their makers', their notes are instructions
            continue
        label = item.name if item.name not in own else "Own"
        told.append((f"{owner}.{one.identifier}.{item.identifier}", label, item.description))
    for where, label, tooltip in told:
        assert is_title_case(label), f"{where}: {label!r} is not in Title Case"
        assert re.match(r"[A-Z0-9].*[^.]$", tooltip), f"{where}: tooltip {tooltip!r}"
    for cls in panels():
        assert is_title_case(cls.bl_label)
        assert cls.bl_category == "Matchcut"


def test_operators_that_need_to_be_told_something_are_not_found_by_search(registered):
    for cls, rna in operators().items():
        needs = [prop.identifier for prop in own_properties(rna, cls) if prop.is_hidden]
        assert not needs or hasattr(cls, "invoke") or "INTERNAL" in getattr(cls, "bl_options", ()), (
            f"{cls.bl_idname} needs {needs}"
        )
        assert rna.name, f"{cls.bl_idname} has no label"


def test_the_menu_holds_commands_that_make_sense_by_themselves(registered):
    named = [f"matchcut.{name}" for group in menu.COMMANDS for name in group]
    found = {cls.bl_idname: cls for cls in operators()}
    assert len(set(named)) == len(named) > 15
    assert [name for name in named if name not in found] == []
    assert [name for name in named if "INTERNAL" in getattr(found[name], "bl_options", ())] == []
    labels = [found[name].bl_label for name in named]
    assert len(set(labels)) == len(labels), "two commands cannot be told apart"
    assert {operator for operator, _, _ in keymap.SHORTCUTS} <= set(named)


def test_shortcuts_clash_with_none_of_blenders(registered):
    scripts = [Path(folder) / "presets" / "keyconfig" / "keymap_data" for folder in bpy.utils.script_paths()]
    files = [path for folder in scripts for path in folder.glob("*.py")]
    assert {path.stem for path in files} >= {"blender_default", "industry_compatible_data"}
    ours = {(key, ("alt", "shift")) for _, key, _ in keymap.SHORTCUTS}
    assert len(ours) == len(keymap.SHORTCUTS)
    for path in files:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module  # its dataclass looks itself up there
        spec.loader.exec_module(module)
        keymaps = module.generate_keymaps(module.Params()) if hasattr(module, "Params") else module.generate_keymaps()
        count = 0
        for name, _, content in keymaps:
            for operator, event, _ in content["items"]:
                count += 1
                held = tuple(one for one in ("alt", "ctrl", "oskey", "shift") if event.get(one))
                assert (event["type"], held) not in ours or event.get("any"), (
                    f"{path.stem}: {name}: {operator} has {event}"
                )
        assert count > 1000


def test_shortcuts_call_operators_that_are_there(registered):
    for operator, _, options in keymap.SHORTCUTS:
        rna = getattr(bpy.ops.matchcut, operator.partition(".")[2]).get_rna_type()
        assert set(options) <= {prop.identifier for prop in rna.properties}, operator


def test_icons_are_read_and_are_those_that_the_script_draws(registered):
    assert make.ICONS.keys() == {path.stem for path in icons.FOLDER.glob("*.png")}
    for name, draw in make.ICONS.items():
        assert (icons.FOLDER / f"{name}.png").read_bytes() == make.png(draw()), f"{name}: run the script again"
        small, large = icons._masks[name]
        assert small.shape == (32, 32) and large.shape == (128, 128)
        assert 0.05 < large.mean() < 0.7 and abs(small.mean() - large.mean()) < 0.01
    icons.icon_id("score")
    theme = bpy.context.preferences.themes[0].user_interface.wcol_regular
    before = tuple(theme.text)
    theme.text = (1.0, 0.0, 0.5)
    icons.icon_id("score")
    color = np.array(icons._previews["score"].icon_pixels_float).reshape(32, 32, 4)
    expected = color[..., 3:] * (1.0, 0.0, 0.5)
    assert np.allclose(color[..., :3], expected, atol=0.01), "the icons have not followed the theme"
    theme.text = before
    assert icons.icon_id("no such icon") == 0


def test_the_panels_are_in_the_order_of_the_work():
    top = [
        cls
        for cls in panels()
        if not hasattr(cls, "bl_parent_id") and "INSTANCED" not in getattr(cls, "bl_options", ())
    ]
    labels = [cls.bl_label for cls in sorted(top, key=lambda cls: cls.bl_order)]
    assert labels == [
        "Reference", "Setting", "Match Camera", "Compare", "Render", "Score", "Progress", "Results", "Agent",
        "Evaluator",
    ]  # fmt: skip


def test_every_property_that_a_panel_shows_has_a_tooltip(registered):
    modules = {cls.__module__: sys.modules[cls.__module__] for cls in panels()}
    sources = [module.__spec__.loader.get_source(name) for name, module in modules.items()]
    shown = {name for source in sources for name in re.findall(r'\.prop\(\s*[\w.]+,\s*"(\w+)"', source)}
    assert {"setting", "samples", "frames", "scale", "passes", "checklist", "judge", "output"} <= shown
    known = {
        prop.identifier: prop.description
        for cls in registration.CLASSES
        if issubclass(cls, bpy.types.PropertyGroup)
        for prop in own_properties(cls.bl_rna, cls)
    }
    assert [name for name in shown if name in known and not known[name]] == []


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


def test_what_is_of_use_beside_a_video_is_in_its_editors_too(registered):
    for editor, name in (("SEQUENCE_EDITOR", "sequencer"), ("CLIP_EDITOR", "clip_editor")):
        found = {cls.__name__: cls for cls in registration.CLASSES if getattr(cls, "bl_space_type", "") == editor}
        for panel in ("reference", "shots", "render", "score", "progress", "results", "results_checks"):
            assert f"MATCHCUT_PT_{panel}__{name}" in found
            assert hasattr(bpy.types, f"MATCHCUT_PT_{panel}__{name}")
        for cls in found.values():
            assert getattr(cls, "bl_parent_id", f"__{name}").endswith(f"__{name}")
            assert cls.bl_category == "Matchcut" and is_title_case(cls.bl_label)
