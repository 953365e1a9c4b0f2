# SPDX-License-Identifier: GPL-3.0-or-later
"""A 3D view drawn into memory by Blender's own drawing code, at any size, whatever the window shows.

It works in a window that is covered, unfocused or minimised, and without a window where there is OpenGL or Vulkan.
`draw` is the bare work that every look is measured against.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Final, Literal

import bpy
import gpu
import numpy as np
from numpy.typing import NDArray

from ...evaluator.protocol.bridge import BridgeCallError
from ...evaluator.protocol.children import child_environment
from .unchanged import settings

DrawnShading = Literal["own", "solid", "material"]
PROBE_SECONDS: Final = 60.0
PROBE: Final = "import bpy, gpu; gpu.init(); gpu.types.GPUOffScreen(8, 8)"

_found: bool | None = None


@dataclass(frozen=True)
class Space:
    """A 3D view whose settings a drawing takes: its space and its main region."""

    space: Any
    region: Any


def available() -> bool:
    """Whether this Blender can draw: always with a window, else where a graphics driver works.

    In the background a missing driver would end Blender when it is started, so another Blender tries it first; that is
    done once and takes a second or two.
    """
    global _found  # noqa: PLW0603
    if _found is None:
        _found = not bpy.app.background or _probe()
        if _found and bpy.app.background:
            gpu.init()
    return _found


def is_software() -> bool:
    """Whether the processor does a graphics card's work; EEVEE then takes a minute for its first picture."""
    return bool(gpu.platform.device_type_get() == "SOFTWARE")


def _probe() -> bool:
    start = [bpy.app.binary_path, "-b", "--factory-startup", "--python-exit-code", "1", "--python-expr", PROBE]
    command = [sys.executable, "-c", PROBE] if bpy.app.module else start
    try:
        done = subprocess.run(
            command, env=child_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, timeout=PROBE_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def shown_space() -> Space | None:
    """The largest 3D view of the open windows; in the background of the file's first window. None without one."""
    manager = bpy.context.window_manager
    areas = [area for window in manager.windows for area in window.screen.areas if area.type == "VIEW_3D"]
    return _space(max(areas, key=lambda area: int(area.width * area.height), default=None))


def hidden_space() -> Space | None:
    """A 3D view that nobody sees at present, so that changing it disturbs nobody; else the one that is shown."""
    shown = {window.screen for window in bpy.context.window_manager.windows}
    for screen in bpy.data.screens:
        for area in screen.areas if screen not in shown else ():
            # in local view only a few objects are drawn
            if area.type == "VIEW_3D" and area.spaces.active.local_view is None:
                return _space(area)
    return shown_space()


def _space(area: Any) -> Space | None:
    region = next((one for one in area.regions if one.type == "WINDOW"), None) if area is not None else None
    return Space(area.spaces.active, region) if region is not None else None


def draw_view(
    space: Space,
    scene: Any,
    layer: Any,
    matrices: tuple[Any, Any],
    size: tuple[int, int],
    shading: DrawnShading,
    *,
    overlays: bool = False,
) -> NDArray[np.uint8]:
    """`draw` with a shading, and without overlays unless they are asked for; the space is afterwards as it was."""
    view = space.space
    wanted: list[tuple[Any, str, Any]] = []
    if shading != "own":
        wanted.append((view.shading, "type", shading.upper()))
    if shading == "solid":
        wanted += [(view.shading, "light", "STUDIO"), (view.shading, "color_type", "MATERIAL")]
        wanted += [(view.shading, "background_type", "THEME"), (view.shading, "show_xray", False)]
    if view.overlay.show_overlays and not overlays:
        wanted.append((view.overlay, "show_overlays", False))
    with settings(one for one in wanted if getattr(one[0], one[1]) != one[2]):
        return draw(space, scene, layer, matrices, size)


def draw(space: Space, scene: Any, layer: Any, matrices: tuple[Any, Any], size: tuple[int, int]) -> NDArray[np.uint8]:
    """Draw the scene as it is evaluated: (H, W, 4) uint8, rows from the top, in display colours.

    `matrices` are world to view and view to clip (OpenGL); `size` is (width, height). Raises BridgeCallError `failed`
    where the graphics driver refuses.
    """
    width, height = size
    try:
        target = gpu.types.GPUOffScreen(width, height)
    except RuntimeError as error:
        raise BridgeCallError("failed", f"the graphics driver gives no picture of {width}x{height}: {error}") from error
    try:
        target.draw_view3d(
            scene, layer, space.space, space.region, matrices[0], matrices[1], do_color_management=True,
            draw_background=True,
        )  # fmt: skip
        with target.bind():
            pixels = gpu.state.active_framebuffer_get().read_color(0, 0, width, height, 4, 0, "UBYTE")
    finally:
        target.free()
    pixels.dimensions = width * height * 4
    flat: NDArray[np.uint8] = np.array(pixels, np.uint8)
    return flat.reshape(height, width, 4)[::-1]
