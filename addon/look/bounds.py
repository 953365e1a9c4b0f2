# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the things of a scene are: the boxes around all that is drawn, and what a view of them can tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..agent.methods import plain_text

GEOMETRY: Final = frozenset(
    {"MESH", "CURVE", "CURVES", "SURFACE", "FONT", "META", "VOLUME", "POINTCLOUD", "GREASEPENCIL"}
)
LIGHTS: Final = frozenset({"LIGHT"})
MOST_POLYGONS: Final = 200_000
"""Of a mesh that is searched for its nearest point; larger ones take too long."""


@dataclass(frozen=True)
class Boxes:
    """The corners (N, 8, 3) in world space of what is drawn, and the object that each belongs to."""

    corners: NDArray[np.float64]
    owners: tuple[frozenset[str], ...]
    """For each the full names of its object, its instancer and their parents."""

    @classmethod
    def around(cls, place: NDArray[np.float64], half: float) -> Boxes:
        """One box about a place."""
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], np.float64)
        return cls((place + half * signs)[None], (frozenset(),))

    @property
    def points(self) -> NDArray[np.float64]:
        """All corners (8 N, 3)."""
        return self.corners.reshape(-1, 3)

    def below(self, target: Any) -> Boxes:
        """Those of an object, its children and its instances."""
        kept = [place for place, names in enumerate(self.owners) if target.name_full in names]
        return Boxes(self.corners[kept], tuple(self.owners[place] for place in kept))


def boxes_of(depsgraph: Any) -> Boxes:
    """The boxes of everything that is evaluated with a surface, instances included; broken matrices are left out."""
    corners, owners = [], []
    for instance in depsgraph.object_instances:
        one = instance.object
        if one.type not in GEOMETRY or (one.type == "MESH" and not one.data.vertices):
            continue
        box = np.array(one.bound_box, np.float64)
        matrix = np.array(instance.matrix_world, np.float64)
        if np.isfinite(matrix).all() and np.isfinite(box).all():
            corners.append(box @ matrix[:3, :3].T + matrix[:3, 3])
            owners.append(_family(one) | (_family(instance.parent) if instance.parent is not None else frozenset()))
    return Boxes(np.array(corners, np.float64).reshape(-1, 8, 3), tuple(owners))


def _family(one: Any) -> frozenset[str]:
    names = []
    while one is not None:
        names.append(one.name_full)
        one = one.parent
    return frozenset(names)


def nothing_in_view(boxes: Boxes, matrices: tuple[Any, Any]) -> bool:
    """Whether every box lies wholly outside the view (world to view, view to clip)."""
    if not len(boxes.corners):
        return True
    clip = np.array(matrices[1], np.float64) @ np.array(matrices[0], np.float64)
    points = np.concatenate([boxes.points, np.ones((len(boxes.points), 1))], axis=1) @ clip.T
    places, reach = points[:, :3].reshape(-1, 8, 3), points[:, 3].reshape(-1, 8, 1)
    beyond = np.all(places > reach, axis=1) | np.all(places < -reach, axis=1)  # (N, 3), of one side each
    return bool(np.all(np.any(beyond, axis=1)))


def object_around(scene: Any, depsgraph: Any, place: Any) -> str:
    """The name of a mesh whose inside `place` is in, empty for none: its nearest face is seen from behind there."""
    objects = scene.objects
    count = len(objects)
    boxes, matrices = np.zeros(count * 24, np.float32), np.zeros(count * 16, np.float32)
    objects.foreach_get("bound_box", boxes)
    objects.foreach_get("matrix_world", matrices)
    box, matrix = boxes.reshape(count, 8, 3), matrices.reshape(count, 4, 4).transpose(0, 2, 1)
    with np.errstate(all="ignore"):
        world = np.einsum("nij,nkj->nki", matrix[:, :3, :3], box) + matrix[:, None, :3, 3]
        point = np.array(place)
        within = ((world.min(axis=1) <= point) & (point <= world.max(axis=1))).all(axis=1)
    for index in np.flatnonzero(within):
        one = objects[int(index)]
        if one.type == "MESH" and one.visible_get() and _is_inside(one.evaluated_get(depsgraph), place):
            return plain_text(one.name)
    return ""


def _is_inside(one: Any, place: Any) -> bool:
    if not 0 < len(one.data.polygons) <= MOST_POLYGONS or abs(one.matrix_world.determinant()) < 1e-12:
        return False
    local = one.matrix_world.inverted() @ place
    try:
        found, nearest, normal, _ = one.closest_point_on_mesh(local)
    except RuntimeError:  # no data of its own, such as an object in edit mode
        return False
    return bool(found and (nearest - local).dot(normal) > 0)


def has_light(scene: Any, depsgraph: Any) -> bool:
    """Whether anything may shine: a light that renders, a world that is not black, or a material that emits."""
    if any(one.type in LIGHTS and not one.hide_render for one in scene.objects):
        return True
    world = scene.world
    if world is not None and (_shines(world.node_tree) if world.node_tree else any(world.color)):
        return True
    materials = {slot.material for one in scene.objects for slot in one.material_slots if slot.material is not None}
    return any(material.node_tree is not None and _shines(material.node_tree) for material in materials)


def _shines(tree: Any) -> bool:
    """Whether a node of the tree may emit: one whose strength and colour are not zero, or come from elsewhere."""
    for node in tree.nodes:
        names = {"BACKGROUND": ("Strength", "Color"), "EMISSION": ("Strength", "Color")}.get(node.type)
        names = ("Emission Strength", "Emission Color") if node.type == "BSDF_PRINCIPLED" else names
        if node.type == "GROUP" or node.type == "TEX_SKY":
            return True
        if names and all(name in node.inputs and _is_on(node.inputs[name]) for name in names):
            return True
    return False


def _is_on(socket: Any) -> bool:
    if socket.is_linked:
        return True
    value = socket.default_value
    return any(value[:3]) if hasattr(value, "__getitem__") else value != 0
