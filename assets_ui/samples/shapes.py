# SPDX-License-Identifier: GPL-3.0-or-later
"""Simple solids and keyframes for the samples, made without operators, so that no context is needed (Blender only)."""

from __future__ import annotations

from collections.abc import Sequence
from math import radians
from typing import Any

Point = tuple[float, float, float]
"""Metres; relative to the parent where there is one."""


def add_empty(name: str, at: Point, parent: Any = None, turn_deg: float = 0.0) -> Any:
    """A point that other objects hang from, turned by `turn_deg` about the vertical."""
    empty = _link(name, None, at, parent)
    empty.rotation_euler.z = radians(turn_deg)
    empty.empty_display_size = 0.2
    return empty


def add_box(name: str, centre: Point, size: Point, material: Any, parent: Any = None) -> Any:
    """A box with its edges along the axes."""
    import bmesh

    mesh = bmesh.new()
    bmesh.ops.create_cube(mesh, size=1.0)
    bmesh.ops.scale(mesh, vec=size, verts=mesh.verts)
    return _link(name, _finish(mesh, name, material, smooth=False), centre, parent)


def add_ball(name: str, centre: Point, radii: Point, material: Any, parent: Any = None) -> Any:
    """An ellipsoid with its poles on the y axis."""
    import bmesh
    from mathutils import Matrix

    mesh = bmesh.new()
    bmesh.ops.create_uvsphere(mesh, u_segments=48, v_segments=24, radius=1.0)
    bmesh.ops.rotate(mesh, matrix=Matrix.Rotation(radians(90), 3, "X"), verts=mesh.verts)
    bmesh.ops.scale(mesh, vec=radii, verts=mesh.verts)
    return _link(name, _finish(mesh, name, material, smooth=True), centre, parent)


def add_round(
    name: str, start: Point, end: Point, start_radius: float, end_radius: float, material: Any, parent: Any = None,
    *, flatten: float = 1.0,
) -> Any:  # fmt: skip
    """A cylinder or cone from `start` to `end`; `flatten` scales its depth (y)."""
    import bmesh
    from mathutils import Vector

    axis = Vector(end) - Vector(start)
    mesh = bmesh.new()
    bmesh.ops.create_cone(mesh, cap_ends=True, segments=32, radius1=start_radius, radius2=end_radius, depth=axis.length)
    bmesh.ops.scale(mesh, vec=(1.0, flatten, 1.0), verts=mesh.verts)
    middle = tuple((Vector(start) + Vector(end)) / 2)
    solid = _link(name, _finish(mesh, name, material, smooth=True), middle, parent)
    solid.rotation_euler = Vector((0, 0, 1)).rotation_difference(axis).to_euler()
    return solid


def animate(
    owner: Any, path: str, index: int, keys: Sequence[tuple[int, float]], interpolation: str, easing: str
) -> None:
    """Keyframe one component of a property (index −1: a single value); `keys` are (scene frame, value)."""
    for frame, value in keys:
        if index < 0:
            setattr(owner, path, value)
        else:
            getattr(owner, path)[index] = value
        owner.keyframe_insert(path, index=index, frame=frame)
    curve = _curve(owner.animation_data, path, max(index, 0))
    for key in curve.keyframe_points:
        key.interpolation, key.easing = interpolation, easing


def _curve(animation: Any, path: str, index: int) -> Any:
    for layer in animation.action.layers:
        for strip in layer.strips:
            found = strip.channelbag(animation.action_slot).fcurves.find(path, index=index)
            if found is not None:
                return found
    raise LookupError(f"no curve of {path}[{index}]")


def _finish(mesh: Any, name: str, material: Any, *, smooth: bool) -> Any:
    import bpy

    data = bpy.data.meshes.new(name)
    # flat caps keep their edges although the sides are smooth
    for face in mesh.faces:
        face.smooth = smooth and len(face.verts) <= 4
    mesh.to_mesh(data)
    mesh.free()
    data.materials.append(material)
    return data


def _link(name: str, data: Any, at: Point, parent: Any) -> Any:
    import bpy

    made = bpy.data.objects.new(name, data)
    made.location = at
    made.parent = parent
    bpy.context.scene.collection.objects.link(made)
    return made
