# SPDX-License-Identifier: GPL-3.0-or-later
"""How a cached frame becomes a picture on the screen, and how far two pictures are apart.

What is drawn over a 3D view goes into a texture of linear light that is laid over the view after the scene's view
transform, so nothing of the scene's color management touches it. On the way to the screen Blender raises it to 1 / 2.2
(measured: the same for every display device): a frame's bytes are raised to 2.2 before, and reach the screen as they
are. Other editors have no such texture and take the bytes as they are.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import gpu
from gpu_extras.batch import batch_for_shader

from . import lacking
from .placement import Rect

VIEW_GAMMA: Final = 2.2

_VERTEX: Final = """
void main()
{
    place = uv;
    gl_Position = ModelViewProjectionMatrix * vec4(pos, 0.0, 1.0);
}
"""
_SAMPLES: Final = """
vec3 bytes_at(sampler2D picture, ivec2 at)
{
    uint whole = uint(texelFetch(picture, clamp(at, ivec2(0), textureSize(picture, 0) - 1), 0).r);
    return vec3(float(whole >> 16u), float((whole >> 8u) & 255u), float(whole & 255u)) / 255.0;
}
vec3 frame_at(sampler2D picture, vec2 uv)
{
    /* rows lie from the top, and packed bytes cannot be mixed by the texture unit */
    vec2 at = vec2(uv.x, 1.0 - uv.y) * vec2(textureSize(picture, 0)) - 0.5;
    ivec2 corner = ivec2(floor(at));
    vec2 share = at - vec2(corner);
    vec3 upper = mix(bytes_at(picture, corner), bytes_at(picture, corner + ivec2(1, 0)), share.x);
    vec3 lower = mix(bytes_at(picture, corner + ivec2(0, 1)), bytes_at(picture, corner + ivec2(1, 1)), share.x);
    return mix(upper, lower, share.y);
}
vec3 view_at(sampler2D picture, vec2 uv)
{
    return texture(picture, uv).rgb;
}
"""
_PICTURE: Final = """
void main()
{
    vec3 shown = SAMPLE(first, place);
    color = vec4(pow(shown, vec3(gamma)) * opacity, opacity);
}
"""
_DIFFERENCE: Final = """
void main()
{
    vec3 apart = abs(SAMPLE(second, other) - frame_at(first, place)) * opacity;
    color = vec4(pow(min(apart, 1.0), vec3(gamma)), 1.0);
}
"""

_made: dict[tuple[bool, bool], Any] = {}


def _shader(area: str, *, difference: bool, of_view: bool) -> Any:
    """A shader; None where it is not there yet, and areas of that type are drawn again once it is.

    `of_view`: the picture beside the frame is one of Blender's own.
    """
    key = (difference, of_view)
    if key not in _made:
        lacking.ask(("shader", key), area, partial(_make, key))
    return _made.get(key)


def _make(key: tuple[bool, bool]) -> None:
    """Make a shader, and draw a dot with it into memory: drivers compile it by then."""
    difference, of_view = key
    info = gpu.types.GPUShaderCreateInfo()
    between = gpu.types.GPUStageInterfaceInfo("matchcut_compare")
    between.smooth("VEC2", "place")
    vertex = _VERTEX
    info.vertex_in(0, "VEC2", "pos")
    info.vertex_in(1, "VEC2", "uv")
    info.sampler(0, "FLOAT_2D", "first")
    if difference:
        between.smooth("VEC2", "other")
        info.vertex_in(2, "VEC2", "uv2")
        info.sampler(1, "FLOAT_2D", "second")
        vertex = vertex.replace("place = uv;", "place = uv;\n    other = uv2;")
    info.vertex_out(between)
    info.push_constant("MAT4", "ModelViewProjectionMatrix")
    info.push_constant("FLOAT", "opacity")
    info.push_constant("FLOAT", "gamma")
    info.fragment_out(0, "VEC4", "color")
    info.vertex_source(vertex)
    sample = "view_at" if of_view else "frame_at"
    info.fragment_source(_SAMPLES + (_DIFFERENCE if difference else _PICTURE).replace("SAMPLE", sample))
    _made[key] = gpu.shader.create_from_info(info)
    frame = gpu.types.GPUTexture((1, 1), format="R32F")
    other = gpu.types.GPUTexture((1, 1), format="RGBA8") if of_view else frame
    dot = Rect(0, 0, 1, 1)
    with gpu.types.GPUFrameBuffer(color_slots=gpu.types.GPUTexture((1, 1), format="SRGB8_A8")).bind():
        if difference:
            draw_difference(dot, frame, other, WHOLE, gain=1.0, of_view=of_view)
        else:
            draw_picture(dot, other, of_view=of_view)


WHOLE: Final = (0.0, 0.0, 1.0, 1.0)
"""(left, bottom, right, top) of a picture as shares of it."""

Part = tuple[float, float, float, float]


def draw_picture(
    rect: Rect, picture: Any, part: Part = WHOLE, *, opacity: float = 1.0, of_view: bool = False, in_view: bool = True
) -> None:
    """Draw a part of a picture into a rectangle of the region, which is a 3D view's if it is `in_view`.

    `of_view` where the picture is `view_picture`'s. Nothing is drawn while the shader is made.
    """
    shader = _shader("VIEW_3D" if in_view else "DOPESHEET_EDITOR", difference=False, of_view=of_view)
    if shader is None:
        return
    batch = _batch(shader, rect, uv=part)
    gpu.state.blend_set("ALPHA_PREMULT")
    shader.bind()
    shader.uniform_sampler("first", picture)
    shader.uniform_float("opacity", opacity)
    shader.uniform_float("gamma", VIEW_GAMMA if in_view else 1.0)
    batch.draw(shader)
    gpu.state.blend_set("NONE")


def draw_difference(rect: Rect, frame: Any, other: Any, part: Part, *, gain: float, of_view: bool) -> None:
    """Draw |frame - other| * gain; `part` is of the frame, and of `other` too where that is a frame."""
    shader = _shader("VIEW_3D", difference=True, of_view=of_view)
    if shader is None:
        return
    batch = _batch(shader, rect, uv=part, uv2=WHOLE if of_view else part)
    gpu.state.blend_set("NONE")
    shader.bind()
    shader.uniform_sampler("first", frame)
    shader.uniform_sampler("second", other)
    shader.uniform_float("opacity", gain)
    shader.uniform_float("gamma", VIEW_GAMMA)
    batch.draw(shader)


def _batch(shader: Any, rect: Rect, **parts: Part) -> Any:
    content = {"pos": _corners((rect.x, rect.y, rect.right, rect.top))}
    content |= {name: _corners(part) for name, part in parts.items()}
    return batch_for_shader(shader, "TRI_STRIP", content)


def _corners(box: Part) -> list[tuple[float, float]]:
    left, bottom, right, top = box
    return [(left, bottom), (right, bottom), (left, top), (right, top)]


def forget() -> None:
    """Give back what the graphics card holds for drawing."""
    _made.clear()
