# SPDX-License-Identifier: GPL-3.0-or-later
"""The mode in which lines are dragged and points picked: a modal operator over every 3D view of the window.

It holds no reference to data: undo and other files may take them away at any time. What it does not use passes through,
so one navigates, and presses the panel's buttons, as always.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

import bpy

from . import apply, finding, mode, scene_points
from .dragging import Drag, Target, begin, push, target_of
from .handles import Handle, handle_at, owner_of, remove
from .shots import camera_of, frame_of, match_of, new_match

REACH: Final = 12.0
"""Pixels at resolution scale 1 within which a handle is grabbed."""
MOVES: Final = {"MOUSEMOVE", "INBETWEEN_MOUSEMOVE", "TIMER"}
KEYS: Final = {"ONE": "X", "TWO": "Y", "THREE": "Z", "FOUR": "HORIZON"}


class EditMode:
    """What Edit Lines and Pick Points share."""

    kind: ClassVar[Any]
    _now: Any = None  # a Mode once it has begun
    _drag: Drag | None = None
    _step: str = ""
    """Name of a step of undo that waits for the camera that follows."""

    @classmethod
    def poll(cls, context: Any) -> bool:
        """There is a camera to match, and a window."""
        if camera_of(context.scene) is None:
            cls.poll_message_set("This shot has no camera; use Add Camera")  # type: ignore[attr-defined]
            return False
        return bool(context.area is not None and context.area.type == "VIEW_3D")

    def invoke(self, context: Any, event: Any) -> set[str]:
        """Called by Blender: begin, or end where it is on."""
        was = mode.current()
        if was is not None:
            mode.end()
            apply.redraw()
            if was.kind == self.kind:
                return {"FINISHED"}
        scene = context.scene
        match = match_of(scene) or new_match(scene)
        match.mode = self.kind
        if match.frame != frame_of(scene):
            scene.frame_set(scene.frame_start + match.frame)
        space = context.area.spaces.active
        if space.region_3d is not None:
            space.region_3d.view_perspective = "CAMERA"
        self._now = mode.begin(self.kind)
        self._told(context)
        context.window_manager.modal_handler_add(self)
        apply.redraw()
        return {"RUNNING_MODAL"}

    def execute(self, context: Any) -> set[str]:
        """Called by Blender where there is no mouse."""
        self.report({"ERROR"}, "lines and points are drawn with the mouse; press the button in a window")  # type: ignore[attr-defined]
        return {"CANCELLED"}

    def modal(self, context: Any, event: Any) -> set[str]:
        """Called by Blender with every event."""
        now = self._now
        if self._step and not (event.type in MOVES and finding.is_searching(context.scene, match_of(context.scene))):
            push(self._step)
            self._step = ""
        if now is None or mode.current() != now:
            return {"FINISHED", "PASS_THROUGH"}
        if not any(area.type == "VIEW_3D" for area in context.window.screen.areas):
            return self._end(context)
        target = target_of(context, event)
        if now.dragged is not None:
            return self._dragged(context, event)
        if event.type in {"MOUSEMOVE", "INBETWEEN_MOUSEMOVE"}:
            self._hover(context, target)
            return {"PASS_THROUGH"}
        if target is None or event.value not in {"PRESS", "DOUBLE_CLICK"} or event.alt or event.oskey:
            return {"PASS_THROUGH"}
        anew = event.ctrl and event.type == "LEFTMOUSE" and now.kind == "LINES"
        if event.ctrl and not anew:
            return {"PASS_THROUGH"}
        if event.type in {"RET", "NUMPAD_ENTER", "ESC"}:
            return self._end(context)
        now.problem = ""
        if event.type in {"X", "DEL"}:
            return self._delete(context)
        done = self._press(context, target, anew=anew) if event.type == "LEFTMOUSE" else self._key(context, event.type)
        self._told(context)
        return {"RUNNING_MODAL"} if done else {"PASS_THROUGH"}

    def cancel(self, context: Any) -> None:
        """Called by Blender when it ends the operator by itself: another file, the window closed."""
        finding.end_near()
        if mode.current() is self._now:
            mode.end()

    def _end(self, context: Any) -> set[str]:
        finding.end_near()
        mode.end()
        apply.redraw()
        return {"FINISHED"}

    def _told(self, context: Any) -> None:
        context.workspace.status_text_set(self._now.text(match_of(context.scene)))

    # --- the mouse ---

    def _hover(self, context: Any, target: Target | None) -> None:
        """Note what is under the mouse."""
        now, match = self._now, match_of(context.scene)
        before = (now.hover, now.place, now.region)
        now.hover, now.place, now.region = None, None, 0
        if target is not None:
            now.cursor, now.region = target.point, target.region.as_pointer()
            if target.view is not None and _is_here(context.scene, match):
                now.hover = handle_at(match, target.view, target.point, _reach(context))
            if now.hover is None and now.kind == "POINTS":
                now.place = self._place_under(context, target, scene_points.HOVER_LIMIT)
        if now.hover is None or now.hover[:2] != ("line", now.drawn):
            now.drawn = None
        if before != (now.hover, now.place, now.region):
            self._told(context)
            apply.redraw()

    def _place_under(self, context: Any, target: Target, limit: float) -> int | None:
        now = self._now
        if mode.waiting_point(match_of(context.scene)) is None:
            now.places = None
            return None
        if now.places is None:
            now.places = scene_points.gather(context)
        if len(now.places.world) > limit:
            return None
        size = target.region.width, target.region.height
        found: int | None = scene_points.place_at(
            now.places, target.region_3d.perspective_matrix, size, target.point, _reach(context)
        )
        return found

    def _press(self, context: Any, target: Target, *, anew: bool) -> bool:
        """A press of the left button; whether it was for us. `anew` draws a line whatever is there."""
        now, scene = self._now, context.scene
        match = match_of(scene)
        handle = None
        if target.view is not None and match is not None and not _is_here(scene, match):
            now.problem = "Drawn on Another Frame: Press Go to Frame or Match This Too in the Panel"
            return True
        if target.view is not None and match is not None and not anew:
            handle = handle_at(match, target.view, target.point, _reach(context))
        if handle is not None:
            self._begin(context, target, handle, made=False)
            return True
        if now.kind == "POINTS" and mode.waiting_point(match) is not None:
            return self._pick_place(context, target)
        if target.view is None:
            return False
        place = target.view.place_of(target.point)
        if not (0 <= place[0] <= 1 and 0 <= place[1] <= 1):
            return False
        match = match or self._new(scene)
        if now.kind == "LINES":
            line = match.lines.add()
            line.axis = scene.matchcut.match_camera.axis
            line.start = line.end = place
            handle = Handle("line", len(match.lines) - 1, "end")
        else:
            point = match.points.add()
            point.name, point.place = f"Point {len(match.points)}", place
            handle = Handle("point", len(match.points) - 1, "place")
        self._begin(context, target, handle, made=True)
        return True

    def _new(self, scene: Any) -> Any:
        match = new_match(scene)
        match.mode = self.kind
        return match

    def _pick_place(self, context: Any, target: Target) -> bool:
        """The active point takes the place in the scene that is under the mouse."""
        now = self._now
        index = self._place_under(context, target, float("inf"))
        if index is None:
            now.problem = (
                "Nothing There: Click a Vertex or the Origin of an Object, O for the Active Object, C for the "
            )
            now.problem += "3D Cursor, X to Delete the Point"
            return True
        self._take(context, tuple(now.places.world[index]), now.places.name_of(index))
        return True

    def _take(self, context: Any, world: tuple[float, ...], name: str) -> None:
        point = mode.waiting_point(match_of(context.scene))
        point.has_world, point.name = True, name
        point.world = world
        self._now.places = self._now.place = None
        self._changed(context, "Pick Point in Scene")

    def _changed(self, context: Any, step: str) -> None:
        """Something was done that is a step of undo: at once, or where the camera follows once that is found."""
        scene = context.scene
        apply.changed(scene)
        if finding.is_searching(scene, match_of(scene)) and not apply.why_not_live(scene):
            self._step = step
        else:
            push(step)

    # --- a drag ---

    def _begin(self, context: Any, target: Target, handle: Handle, *, made: bool) -> None:
        self._drag = begin(context, self._now, target, handle, made=made)

    def _dragged(self, context: Any, event: Any) -> set[str]:
        """An event while something is dragged."""
        now, drag = self._now, self._drag
        match = match_of(context.scene)
        if drag is None or match is None or owner_of(match, now.dragged) is None:  # undone, or another scene is shown
            now.dragged = None
            finding.end_near()
            return {"PASS_THROUGH"}
        if event.type in {"ESC", "RIGHTMOUSE"} and event.value == "PRESS":
            drag.cancel(now, match)
        elif event.type == "LEFTMOUSE" and event.value == "RELEASE":
            step = drag.drop(now, match)
            if step:
                now.drawn = drag.handle.number if drag.made and drag.handle.kind == "line" else None
                self._changed(context, step)
            else:
                apply.changed(context.scene)
        elif event.type == "MOUSEMOVE":
            drag.move(context, event, now, match)
        elif event.type == "TIMER":
            return {"PASS_THROUGH"}
        self._told(context)
        return {"RUNNING_MODAL"}

    # --- keys ---

    def _key(self, context: Any, key: str) -> bool:
        """A key; whether it was for us."""
        now, scene = self._now, context.scene
        match = match_of(scene)
        if now.kind == "LINES" and key in KEYS:
            scene.matchcut.match_camera.axis = KEYS[key]
            if match is not None and now.line is not None and now.line < len(match.lines):
                match.lines[now.line].axis = KEYS[key]
                push("Axis of Line")
            apply.redraw()
            return True
        if now.kind == "POINTS" and key in {"O", "C"} and mode.waiting_point(match) is not None:
            if key == "C":
                self._take(context, tuple(scene.cursor.location), "3D cursor")
            elif context.active_object is not None:
                item = context.active_object
                self._take(context, tuple(item.matrix_world.translation), f"{item.name} origin")
            return True
        return False

    def _delete(self, context: Any) -> set[str]:
        """Take away what is under the mouse, else what the list has chosen."""
        now, match = self._now, match_of(context.scene)
        if match is None:
            return {"RUNNING_MODAL"}
        kind, index = ("line", match.active_line) if now.kind == "LINES" else ("point", match.active_point)
        handle = now.hover or Handle(kind, index, "place")
        now.hover, now.places, now.drawn = None, None, None
        if remove(match, handle):
            self._changed(context, f"Delete {handle.kind.title()}")
        self._told(context)
        return {"RUNNING_MODAL"}


def _is_here(scene: Any, match: Any) -> bool:
    """Whether what is drawn belongs to the picture of the present frame."""
    return match is not None and match.frame == frame_of(scene)


def _reach(context: Any) -> float:
    return REACH * float(context.preferences.system.ui_scale)


class MATCHCUT_OT_edit_lines(EditMode, bpy.types.Operator):
    """Edit Lines."""

    bl_idname = "matchcut.edit_lines"
    bl_label = "Edit Lines"
    bl_description = (
        "Drag lines along edges of the picture that run along the axes of the world: two or more along each of two "
        "axes tell the camera"
    )
    kind = "LINES"


class MATCHCUT_OT_pick_points(EditMode, bpy.types.Operator):
    """Pick Points."""

    bl_idname = "matchcut.pick_points"
    bl_label = "Pick Points"
    bl_description = "Click points of the picture, and for each the same place in the scene; six tell the camera best"
    kind = "POINTS"


CLASSES = (MATCHCUT_OT_edit_lines, MATCHCUT_OT_pick_points)
