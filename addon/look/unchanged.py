# SPDX-License-Identifier: GPL-3.0-or-later
"""What a look has to change for a moment, and how every bit of it comes back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any, Final

import bpy

from ...evaluator.protocol.bridge import BridgeCallError
from ..agent.methods import plain_text

_DATA_WITH_ANIMATION: Final = (
    "objects", "cameras", "lights", "materials", "worlds", "meshes", "curves", "armatures", "shape_keys", "node_groups",
    "scenes", "collections", "lattices", "metaballs", "volumes", "speakers", "lightprobes",
)  # fmt: skip
_DATA_WITH_NODES: Final = ("materials", "worlds", "lights")


@contextlib.contextmanager
def settings(wanted: Iterable[tuple[Any, str, Any]]) -> Iterator[None]:
    """Set each (owner, name, value), and put the old values back in the reverse order, however this ends.

    Raises BridgeCallError `failed` where this Blender does not take a value.
    """
    before: list[tuple[Any, str, Any]] = []
    try:
        for owner, name, value in wanted:
            before.append((owner, name, getattr(owner, name)))
            try:
                setattr(owner, name, value)
            except TypeError as error:
                reason = plain_text(str(error).strip())
                raise BridgeCallError("failed", f"this Blender cannot set {name} to {value}: {reason}") from error
        yield
    finally:
        for owner, name, value in reversed(before):
            setattr(owner, name, value)


@contextlib.contextmanager
def at_frame(scene: Any, scene_frame: int) -> Iterator[None]:
    """Have the scene evaluated at a frame, then again at its own; nothing is evaluated where that is the one.

    The active camera, which a marker may switch on the way, and values without a key come back too.
    """
    frame, subframe = scene.frame_current, scene.frame_subframe
    if (frame, subframe) == (scene_frame, 0.0):
        yield
        return
    with restored_animation(), settings([(scene, "camera", scene.camera)]):
        scene.frame_set(scene_frame)
        try:
            yield
        finally:
            scene.frame_set(frame, subframe=subframe)


@contextlib.contextmanager
def restored_animation() -> Iterator[None]:
    """Keep values set on animated properties without a key, which evaluating a frame anew would replace."""
    before = [(owner, path, index, _value(owner, path, index)) for owner, path, index in _animated_properties()]
    try:
        yield
    finally:
        for owner, path, index, value in before:
            if value is not None and _value(owner, path, index) != value:
                _set_value(owner, path, index, value)


def _animated_properties() -> Iterator[tuple[Any, str, int]]:
    for owner in _animated_data():
        animation = owner.animation_data
        strips = (strip for track in animation.nla_tracks for strip in track.strips if strip.action is not None)
        used = [(animation.action, animation.action_slot), *((one.action, one.action_slot) for one in strips)]
        for action, slot in used:
            if action is None or slot is None:
                continue
            for layer in action.layers:
                for strip in layer.strips:
                    bag = strip.channelbag(slot)
                    for curve in bag.fcurves if bag is not None else ():
                        yield owner, curve.data_path, curve.array_index


def _animated_data() -> Iterator[Any]:
    for kind in _DATA_WITH_ANIMATION:
        for owner in getattr(bpy.data, kind):
            trees = (owner.node_tree,) if kind in _DATA_WITH_NODES else ()
            for one in (owner, *trees):
                if one is not None and not owner.library and getattr(one, "animation_data", None) is not None:
                    yield one


def _value(owner: Any, path: str, index: int) -> Any:
    """The property's value, or None where the curve leads nowhere."""
    try:
        value = owner.path_resolve(path)
        return value[index] if hasattr(value, "__getitem__") and not isinstance(value, str) else value
    except (ValueError, IndexError, KeyError):
        return None


def _set_value(owner: Any, path: str, index: int, value: Any) -> None:
    holder_path, _, name = path.rpartition(".")
    holder = owner.path_resolve(holder_path) if holder_path else owner
    if name.endswith("]"):  # a custom property: owner["name"]
        return
    current = getattr(holder, name)
    if hasattr(current, "__getitem__") and not isinstance(current, str):
        current[index] = value
    else:
        setattr(holder, name, value)
