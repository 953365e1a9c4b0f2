# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a file reaches its render: scenes, the datablocks below them, and the nodes that an output depends on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Final, Literal

import bpy

from .findings import kind_of, label

State = Literal["rendered", "off", "viewport", "unused"]
STATES: Final[tuple[State, ...]] = ("rendered", "off", "viewport", "unused")
"""How a use reaches the picture, the strongest first: it does; it is switched off; it never does; nothing uses it."""

# a scene's tools lead to these, its picture does not
_TOOLS: Final = frozenset({"BRUSH", "PALETTE", "PAINTCURVE", "SCREEN", "WORKSPACE", "WINDOWMANAGER"})
_SINKS: Final = frozenset(
    {
        "GROUP_OUTPUT", "OUTPUT_MATERIAL", "OUTPUT_WORLD", "OUTPUT_LIGHT", "OUTPUT_LINESTYLE", "OUTPUT_AOV",
        "OUTPUT_FILE",
    }
)  # fmt: skip

Visit = Callable[[Any, str, State, Any], None]
"""Called with (node, where it is in words, state, datablock that holds the node)."""


class Reach:
    """The datablocks that the open file's render reads, starting from the scene that is rendered.

    `frames` says how many are rendered from the scene's first one on; None stands for the scene's own range.
    """

    def __init__(self, scene: Any, frames: int | None = None) -> None:
        self.first = scene.frame_start
        self.last = scene.frame_end if frames is None else scene.frame_start + frames - 1
        self.users: dict[Any, set[Any]] = bpy.data.user_map()
        self._uses: dict[Any, set[Any]] = defaultdict(set)
        for used, users in self.users.items():
            for user in users:
                self._uses[user].add(used)
        self.scenes, self.sequenced = _rendered_scenes(scene)
        self.rendered: set[Any] = set()
        for rendered in self.scenes:
            self._add_scene(rendered)

    def state(self, block: Any) -> State:
        """Of a datablock as a whole."""
        if block in self.rendered:
            return "rendered"
        return "off" if self.users.get(block) else "unused"

    def _add_scene(self, scene: Any) -> None:
        self.rendered.add(scene)
        objects = {
            item
            for layer in scene.view_layers
            if layer.use or is_animated(scene, layer.path_from_id("use"))
            for item in _shown(layer.layer_collection or _Whole(scene.collection))
        }
        others = (used for used in self._uses[scene] if used.id_type not in ("OBJECT", "COLLECTION", "SCENE"))
        cameras = {scene.camera, *(marker.camera for marker in scene.timeline_markers)} - {None}
        self._add([*objects, *cameras, *others])

    def _add(self, blocks: list[Any]) -> None:
        waiting = blocks
        while waiting:
            block = waiting.pop()
            if block in self.rendered or block.id_type in _TOOLS or block.id_type == "SCENE":
                continue
            self.rendered.add(block)
            # a hidden object of an instanced collection stays hidden; one that a modifier or node names does not
            hidden = block.id_type == "COLLECTION"
            waiting += [used for used in self._uses[block] if not (hidden and used.id_type == "OBJECT" and _off(used))]


def _rendered_scenes(scene: Any) -> tuple[list[Any], set[Any]]:
    """The scene, its background sets, and those that its compositor and sequencer show, from each of them on.

    Also those among them whose sequencer is in the output: a scene strip shows it whatever that scene's setting is.
    """
    found: list[Any] = []
    sequenced: set[Any] = set()
    waiting = [(scene, scene.render.use_sequencer)]
    while waiting:
        item, by_sequencer = waiting.pop()
        if item is None or (item in found and (item in sequenced or not by_sequencer)):
            continue
        found += [] if item in found else [item]
        sequenced |= {item} if by_sequencer else set()
        waiting += [(other, False) for other in (item.background_set, *_composited(item))]
        if by_sequencer and item.sequence_editor is not None:
            strips = [strip for strip in item.sequence_editor.strips_all if strip.type == "SCENE" and strip.scene]
            waiting += [
                (strip.scene, strip.scene_input == "SEQUENCER")
                for strip in strips
                if not strip.mute or is_animated(item, f"{strip.path_from_id()}.mute")
            ]
    return found, sequenced


def _composited(scene: Any) -> Iterator[Any]:
    """The other scenes whose layers the nodes of a scene's compositor show, groups within groups included."""
    waiting = [tree for tree, enabled in _compositors(scene) if enabled and scene.render.use_compositing]
    seen: set[Any] = set()
    while waiting:
        tree = waiting.pop()
        if tree is None or tree in seen:
            continue
        seen.add(tree)
        for node in live_nodes(tree):
            other = getattr(node, "scene", None)
            if isinstance(other, bpy.types.Scene) and other != scene:
                yield other
            waiting.append(getattr(node, "node_tree", None))


class _Whole:
    """Stands in for the layer collection of a scene that was never evaluated: nothing in it is excluded."""

    exclude = False

    def __init__(self, collection: Any) -> None:
        self.collection = collection

    @property
    def children(self) -> list[_Whole]:
        return [_Whole(child) for child in self.collection.children]


def _shown(root: Any) -> Iterator[Any]:
    """The objects of a view layer's collections that render.

    `root` is its layer collection, or a stand-in where Blender has not made that yet.
    """
    waiting = [root]
    while waiting:
        item = waiting.pop()
        if item.collection.hide_render:
            continue
        waiting += list(item.children)
        if not item.exclude:
            yield from (found for found in item.collection.objects if not _off(found))


def _off(item: Any) -> bool:
    """Whether an object never renders; where its switch is animated or driven it may."""
    return item.hide_render and not is_animated(item, "hide_render")


def is_animated(block: Any, path: str) -> bool:
    """Whether a keyframe curve or a driver of the datablock sets `path`."""
    data = block.animation_data
    if data is None:
        return False
    driven = any(curve.data_path == path for curve in data.drivers)
    return driven or any(curve.data_path == path for curve in curves_of(data))


def curves_of(data: Any) -> Iterator[Any]:
    """The F-curves of a datablock's animation data, of its NLA strips too; none for None."""
    actions = [data.action] if data is not None else []
    strips = [strip for track in data.nla_tracks for strip in track.strips] if data is not None else []
    while strips:
        strip = strips.pop()
        actions.append(strip.action)
        strips += list(strip.strips)
    for action in dict.fromkeys(actions):
        for layer in action.layers if action is not None else ():
            for part in layer.strips:
                for bag in part.channelbags:
                    yield from bag.fcurves


class TreeWalk:
    """Visits the nodes of node trees and of the groups within, each tree at most once for each better state."""

    def __init__(self, visit: Visit, *, only_rendered: bool = False) -> None:
        self._visit, self._only_rendered = visit, only_rendered
        self._seen: dict[Any, int] = {}

    def walk(self, tree: Any, holder: Any, where: str, state: State) -> None:
        """Visit `tree`, which lies in the datablock `holder` or is it, at the place `where`."""
        waiting = [(tree, holder, where, state)]
        while waiting:
            tree, holder, where, state = waiting.pop()
            rank = STATES.index(state)
            if self._seen.get(tree, len(STATES)) <= rank:
                continue
            self._seen[tree] = rank
            live = live_nodes(tree)
            for node in tree.nodes:
                # a muted node passes its input on: what it holds itself shows nothing
                off = "muted" if node.mute else "" if node in live else "not connected to an output"
                place = f"{where}, node '{node.name}'" + (f" ({off})" if off else "")
                own = STATES[max(rank, STATES.index("off"))] if off else state
                if self._only_rendered and own != "rendered":
                    continue
                self._visit(node, place, own, holder)
                group = getattr(node, "node_tree", None)
                if group is not None:
                    waiting.append((group, group, f"{where}, group '{group.name}'", own))


def live_nodes(tree: Any) -> set[Any]:
    """The nodes whose values an output of the tree depends on; a muted node hands on what its internal links say."""
    sources: dict[Any, list[tuple[Any, Any]]] = defaultdict(list)
    for link in tree.links:
        if not link.is_muted:
            sources[link.to_node].append((link.to_socket, link.from_node))
    live: set[Any] = set()
    waiting = [node for node in tree.nodes if node.type in _SINKS and not node.mute]
    while waiting:
        node = waiting.pop()
        if node in live:
            continue
        live.add(node)
        passed = [link.from_socket for link in node.internal_links] if node.mute else None
        waiting += [source for socket, source in sources[node] if passed is None or socket in passed]
        # the inner end of a zone is evaluated with its outer end
        paired = getattr(node, "paired_output_node", None)
        waiting += [paired] if paired is not None else []
    return live


def rooted_trees(reach: Reach) -> Iterator[tuple[Any, Any, str, State]]:
    """Every node tree from where it is used: (tree, holder, where, state); groups that nothing uses come last."""
    for blocks in (bpy.data.materials, bpy.data.worlds, bpy.data.lights, bpy.data.linestyles):
        for block in blocks:
            if block.node_tree is not None:
                yield block.node_tree, block, _used_by(block, reach), reach.state(block)
    for scene in bpy.data.scenes:
        on = scene in reach.rendered and scene.render.use_compositing
        for tree, enabled in _compositors(scene):
            yield tree, tree, f"compositor of scene '{scene.name}'", "rendered" if on and enabled else "off"
        for strip, shown in strips_of(scene, reach):
            for modifier in strip.modifiers:
                group = getattr(modifier, "node_group", None)
                if group is not None:
                    place = f"sequencer of scene '{scene.name}', strip '{strip.name}', modifier '{modifier.name}'"
                    yield group, group, place, "rendered" if shown and modifier.enable else "off"
    for item in bpy.data.objects:
        for modifier in item.modifiers:
            if modifier.type == "NODES" and modifier.node_group is not None:
                place = f"{label(item)}, modifier '{modifier.name}'"
                yield modifier.node_group, modifier.node_group, place, modifier_state(item, modifier, reach)
    for tree in bpy.data.node_groups:
        yield tree, tree, label(tree), "unused"


def _compositors(scene: Any) -> list[tuple[Any, bool]]:
    """(node tree, whether it is switched on) of the scene's compositing: one in Blender 5.2, a list since 5.3."""
    effects = getattr(scene, "compositor_effects", None)
    if effects is None:
        found = [(scene.compositing_node_group, True)]
    else:
        found = [
            (
                effect.node_group,
                effect.enable_for_render or is_animated(scene, effect.path_from_id("enable_for_render")),
            )
            for effect in effects
        ]
    return [(tree, enabled) for tree, enabled in found if tree is not None]


def modifier_state(item: Any, modifier: Any, reach: Reach) -> State:
    """Whether an object's modifier takes part in the render; a switch that is animated may be on."""
    on = modifier.show_render or is_animated(item, f'modifiers["{modifier.name}"].show_render')
    return "rendered" if item in reach.rendered and on else "off"


def strips_of(scene: Any, reach: Reach) -> Iterator[tuple[Any, bool]]:
    """The sequencer's strips, each with whether it is in the output; a switch that is animated may be on."""
    editor = scene.sequence_editor
    if editor is None:
        return

    def off(item: Any) -> bool:
        return item.mute and not is_animated(scene, f"{item.path_from_id()}.mute")

    muted = {index for index, channel in enumerate(editor.channels) if off(channel)}
    for strip in editor.strips_all:
        # another scene is shown at any of its frames
        outside = strip.left_handle > reach.last or strip.right_handle <= reach.first
        within = scene != reach.scenes[0] or not outside
        yield strip, scene in reach.sequenced and within and not off(strip) and strip.channel not in muted


def _used_by(block: Any, reach: Reach) -> str:
    """`material 'Wall' of object 'Plane'`: with the first object, by name, that shows it."""
    holders = reach.users.get(block, set())
    objects = [user for user in holders if user.id_type == "OBJECT"]
    data = [user for user in holders if user.id_type not in ("OBJECT", "SCENE")]
    objects += [user for item in data for user in reach.users.get(item, ()) if user.id_type == "OBJECT"]
    objects = sorted(set(objects), key=lambda item: (item not in reach.rendered, item.name))
    if not objects:
        return label(block)
    more = f" and {len(objects) - 1} more" if len(objects) > 1 else ""
    hidden = " (hidden from render)" if objects[0] not in reach.rendered else ""
    return f"{label(block)} of {kind_of(objects[0])} '{objects[0].name}'{hidden}{more}"
