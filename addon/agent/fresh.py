# SPDX-License-Identifier: GPL-3.0-or-later
"""New things of a kind, for a moment: many defaults that Blender's property descriptions give are not the real ones.

What a new data-block, modifier, constraint or node has at first is read off one that is made beside the scene and
removed again.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import bpy

from .methods import current_scene

NAME: Final = ".matchcut"
_PLAIN: Final = {
    "Material": "materials", "Mesh": "meshes", "Camera": "cameras", "World": "worlds", "Armature": "armatures",
    "Collection": "collections", "Lattice": "lattices", "MetaBall": "metaballs", "Speaker": "speakers",
}  # fmt: skip


_unsettled = False


def fresh_key(struct: Any) -> str:
    """What tells kinds of things that start alike apart; empty for what is not compared with a new one."""
    kind = type(struct).__name__
    if isinstance(struct, bpy.types.Node):
        return f"{struct.id_data.bl_idname} {struct.bl_idname}"
    if isinstance(struct, bpy.types.Object):
        return f"{kind} {struct.type == 'MESH'}"
    is_part = isinstance(struct, bpy.types.Modifier | bpy.types.Constraint | bpy.types.Light)
    return kind if is_part or kind in _PLAIN else ""


@contextmanager
def fresh(struct: Any) -> Iterator[Any]:
    """A new one of the kind of `struct`, or None where none can be made; it is gone afterwards."""
    global _unsettled  # noqa: PLW0603
    _unsettled = True
    with _of_kind(struct) as made:
        yield made


def settle() -> None:
    """Evaluate what the new ones' coming and going has touched: now, and not later, when it looks like a change."""
    global _unsettled  # noqa: PLW0603
    if _unsettled:
        _unsettled = False
        update_view_layers()


def update_view_layers() -> None:
    """Evaluate what has changed, in every view layer of the scene."""
    scene = current_scene()
    for layer in scene.view_layers if scene is not None else ():
        layer.update()


@contextmanager
def _of_kind(struct: Any) -> Iterator[Any]:
    if isinstance(struct, bpy.types.Node):
        with _new_tree(struct.id_data.bl_idname) as tree:
            yield _made(tree.nodes.new, struct.bl_idname)
    elif isinstance(struct, bpy.types.Modifier | bpy.types.Constraint | bpy.types.Object):
        mesh = bpy.data.meshes.new(NAME)
        owner = bpy.data.objects.new(NAME, None if getattr(struct, "type", "MESH") == "EMPTY" else mesh)
        try:
            if isinstance(struct, bpy.types.Modifier):
                yield _made(owner.modifiers.new, NAME, struct.type)
            elif isinstance(struct, bpy.types.Constraint):
                yield _made(owner.constraints.new, struct.type)
            else:
                yield owner
        finally:
            bpy.data.objects.remove(owner)
            bpy.data.meshes.remove(mesh)
    elif isinstance(struct, bpy.types.Light):
        with _new(bpy.data.lights, struct.type) as made:
            yield made
    elif type(struct).__name__ in _PLAIN:
        with _new(getattr(bpy.data, _PLAIN[type(struct).__name__])) as made:
            yield made
    else:
        yield None


@functools.lru_cache(maxsize=512)
def node_sockets(node: str, tree: str) -> tuple[tuple[str, str, str, bool, Any], ...]:
    """Name, identifier, type, whether it is an output, and default of each socket of a new `node` in a `tree`.

    Empty where such a tree takes no such node. An array's default is a tuple; None where a socket has none.
    """
    global _unsettled  # noqa: PLW0603
    _unsettled = True
    with _new_tree(tree) as made:
        new = _made(made.nodes.new, node)
        if new is None:
            return ()
        return tuple(
            (one.name, one.identifier, one.bl_idname, one.is_output, socket_value(one))
            for one in [*new.inputs, *new.outputs]
        )


def socket_value(socket: Any) -> Any:
    """A socket's own value, an array as a tuple; None where it has none."""
    value: Any = getattr(socket, "default_value", None)
    return tuple(value) if hasattr(value, "__len__") and not isinstance(value, str) else value


def tree_of_node(node: str) -> str:
    """The kind of tree that a kind of node belongs in, as far as its name tells."""
    for start, tree in (
        ("Compositor", "CompositorNodeTree"), ("Geometry", "GeometryNodeTree"), ("Function", "GeometryNodeTree"),
        ("Texture", "TextureNodeTree"),
    ):  # fmt: skip
        if node.startswith(start):
            return tree
    return "ShaderNodeTree"


def _made(make: Any, *arguments: str) -> Any:
    try:
        return make(*arguments)
    except (RuntimeError, TypeError):  # a kind that goes on other objects, or in other trees, only
        return None


@contextmanager
def _new(collection: Any, *arguments: str) -> Iterator[Any]:
    made = collection.new(NAME, *arguments)
    try:
        yield made
    finally:
        collection.remove(made)


@contextmanager
def _new_tree(kind: str) -> Iterator[Any]:
    with _new(bpy.data.node_groups, kind) as tree:
        yield tree
