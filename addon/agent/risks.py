# SPDX-License-Identifier: GPL-3.0-or-later
"""What in an agent's code could lose the scene, found without running it. Needs no Blender.

A name that is put together at run time (`getattr(bpy.ops.wm, "quit" + …)`) is not seen through; that code fetches names
in such a way is itself reported.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Final

# operators that put another scene in this one's place
LOADS: Final = {
    "wm.open_mainfile", "wm.read_homefile", "wm.read_factory_settings", "wm.recover_auto_save",
    "wm.recover_last_session", "wm.revert_mainfile",
}  # fmt: skip
# operators that end Blender, delete much, or compute in ways that have crashed it
RISKY: Final = {
    "wm.quit_blender", "wm.append", "wm.link", "wm.lib_reload", "wm.batch_rename", "object.delete",
    "outliner.orphans_purge", "outliner.delete", "scene.delete", "render.render", "render.opengl", "object.bake",
    "object.quadriflow_remesh", "object.voxel_remesh", "ptcache.bake", "ptcache.bake_all", "fluid.bake_all",
    "fluid.bake_data", "object.simulation_nodes_cache_bake", "object.geometry_node_bake_single",
    "object.multires_subdivide", "uv.smart_project", "preferences.addon_enable", "preferences.addon_disable",
    "extensions.package_install", "script.reload",
}  # fmt: skip
IMPORT_MODULES: Final = {"import_scene", "import_mesh", "import_anim", "import_curve", "wm"}
METHODS: Final = {"batch_remove", "orphans_purge", "user_remap", "remap_users", "libraries.load"}
MODULES: Final = {"ctypes", "threading", "multiprocessing", "signal", "faulthandler", "gpu", "subprocess"}
EXITS: Final = {"os._exit", "os.abort", "os.kill", "os.killpg"}
HIDDEN: Final = {"exec", "eval", "compile", "__import__", "importlib.import_module", "runpy.run_path"}


@dataclass(frozen=True)
class Risks:
    """`found`: what the code holds that a copy of the scene should be saved before, in its own words.

    `loads`: it opens another file. `moves_history`: it steps through Blender's undo history or adds steps to it.
    """

    found: tuple[str, ...] = ()
    loads: bool = False
    moves_history: bool = False


def scan(code: str) -> Risks:
    """The risks of `code`; none where it does not parse, as nothing of it will run."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Risks()
    names = _imported(tree)
    found: dict[str, None] = {}
    loads = moves = False
    for node in ast.walk(tree):
        if isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and node.test.value:
            found["an endless loop"] = None
        elif isinstance(node, ast.Import | ast.ImportFrom):
            modules = [one.name for one in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            found.update(dict.fromkeys(f"import {one}" for one in modules if one.split(".")[0] in MODULES))
        elif isinstance(node, ast.Call):
            name = _dotted(node.func, names)
            loads = loads or _operator(name) in LOADS
            moves = moves or _operator(name).startswith("ed.") or _pushes_step(node, name)
            if _is_risky(name, node, names):
                found[name] = None
        elif isinstance(node, ast.For) and _removes(node, names):
            found["removing in a loop"] = None
    return Risks(tuple(found), loads, moves)


def _imported(tree: ast.AST) -> dict[str, str]:
    """What names of imports and plain assignments (`ops = bpy.ops`) stand for."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
        elif isinstance(node, ast.Import):
            names |= {one.asname: one.name for one in node.names if one.asname}
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute):
            targets = [one.id for one in node.targets if isinstance(one, ast.Name)]
            names |= dict.fromkeys(targets, _dotted(node.value, names))
    return names


def _dotted(node: ast.expr, names: dict[str, str]) -> str:
    """`bpy.ops.wm.append` of such an expression; what is no name in it becomes `?`."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    parts.append(names.get(node.id, node.id) if isinstance(node, ast.Name) else "?")
    return ".".join(reversed(parts))


def _operator(name: str) -> str:
    return name.removeprefix("bpy.ops.") if name.startswith("bpy.ops.") else ""


def _pushes_step(node: ast.Call, name: str) -> bool:
    """`bpy.ops.x.y('EXEC_DEFAULT', True)`: an operator that is told to make an undo step of its own."""
    return bool(_operator(name)) and any(isinstance(one, ast.Constant) and one.value is True for one in node.args)


def _is_risky(name: str, node: ast.Call, names: dict[str, str]) -> bool:
    operator = _operator(name)
    if operator:
        module, _, function = operator.partition(".")
        imports = module in IMPORT_MODULES and ("import" in function or module != "wm")
        return operator in LOADS or operator in RISKY or imports
    if name == "getattr":
        return (
            len(node.args) > 1 and not isinstance(node.args[1], ast.Constant) and _leads_to_risks(node.args[0], names)
        )
    return name in EXITS or name in HIDDEN or any(name.endswith(f".{one}") for one in METHODS)


def _leads_to_risks(owner: ast.expr, names: dict[str, str]) -> bool:
    """Whether operators or the system may be reached through it; `getattr(light.data, name)` is everyday code."""
    if isinstance(owner, ast.Call) and owner.args:  # getattr(getattr(bpy.ops, module), name)
        return _leads_to_risks(owner.args[0], names)
    name = _dotted(owner, names)
    return name in ("bpy", "os", "sys", "builtins") or name.startswith("bpy.ops")


def _removes(loop: ast.For, names: dict[str, str]) -> bool:
    calls = (node for node in ast.walk(loop) if isinstance(node, ast.Call))
    return any(_dotted(one.func, names).endswith(".remove") and len(one.args) == 1 for one in calls)
