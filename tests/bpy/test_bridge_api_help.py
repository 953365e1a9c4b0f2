# SPDX-License-Identifier: GPL-3.0-or-later
"""The search in Blender's own API: a path gives all of one thing, words find what is meant."""

import json
import time

import bpy
import pytest
from matchcut.addon.agent.api_help import api_help
from matchcut.addon.agent.api_index import INDEX
from matchcut.evaluator.protocol.bridge import BridgeCallError, encode_frame

TOKENS = 4000


@pytest.fixture(autouse=True)
def scene():
    bpy.ops.wm.read_factory_settings()


def refused(function, *arguments, **options):
    with pytest.raises(BridgeCallError) as caught:
        function(*arguments, **options)
    assert len(str(caught.value).splitlines()) == 1 and len(str(caught.value)) < 1000
    return f"{caught.value.code}: {caught.value}"


def text_of(query, **options):
    answer = api_help(query, **options)
    encode_frame(answer)
    assert len(json.dumps(answer, ensure_ascii=False)) / 4 < TOKENS
    return "\n".join(answer["lines"])


@pytest.mark.parametrize(
    ("query", "path", "expected"),
    [
        ("Object.location", "Object.location", "float[3] = (0, 0, 0)"),
        ("bpy.types.Object.location", "Object.location", "length"),
        ("bpy.ops.mesh.primitive_cube_add", "bpy.ops.mesh.primitive_cube_add", "size: float = 2"),
        ("bpy.ops.mesh.primitive_cube_add(size=2)", "bpy.ops.mesh.primitive_cube_add", "'WORLD'"),
        ("ShaderNodeBsdfPrincipled", "ShaderNodeBsdfPrincipled", 'inputs["Roughness"]: NodeSocketFloatFactor = 0.5'),
        ("shadernodemath", "ShaderNodeMath", "MULTIPLY"),
        ("GeometryNodeMeshCube", "GeometryNodeMeshCube", 'inputs["Size"]'),
        ("CompositorNodeBlur", "CompositorNodeBlur", "inputs"),
        ("Object.modifiers.new", "Object.modifiers.new", "'BEVEL'"),
        ("bpy.data.objects.new", "BlendData.objects.new", "object_data"),
        ("RenderSettings.engine", "RenderSettings.engine", "CYCLES"),
        ("scene.view_settings.view_transform", "Scene.view_settings.view_transform", "'AgX'"),
        ("Scene.cycles.samples", "Scene.cycles.samples", "int = 4096"),
        ("Object.keyframe_insert", "Object.keyframe_insert", "data_path"),
        ("SunLight.angle", "SunLight.angle", "radians"),
    ],
)  # fmt: skip
def test_a_path_tells_all_of_one_thing(query, path, expected):
    assert expected in text_of(query)
    assert api_help(query)["path"] == path


@pytest.mark.parametrize(
    ("query", "among"),
    [
        ("focal length", "Camera.lens: float = 50"),
        ("bevel width", "BevelModifier.width: float"),
        ("modifiers.new type enum", "ObjectModifiers.new(name, type)"),
        ("obj.location", "Object.location"),
        ("keyframe_insert", "bpy_struct.keyframe_insert"),
        ("denoising", "Scene.cycles.use_denoising"),
        ("add sphere", "bpy.ops.mesh.primitive_uv_sphere_add"),
        ("Principled BSDF", "ShaderNodeBsdfPrincipled"),
        ("depth of field focus distance", "CameraDOFSettings.focus_distance"),
    ],
)
def test_words_find_what_is_meant_near_the_top(query, among):
    assert among in "\n".join(text_of(query).splitlines()[:6])


def test_searches_are_paged_and_bad_ones_refused():
    seen, offset = [], 0
    while offset is not None:
        answer = api_help("color", offset=offset)
        seen += answer["lines"]
        offset = answer["next_offset"]
    assert len(seen) == len(set(seen)) == 201
    for wrong in ("", "  ", 5, "x" * 301, None, "a", "🎬", "zzzqq", "\ud800"):
        assert "bad_params" in refused(api_help, wrong)
    assert "bad_params" in refused(api_help, "color", offset=-1)
    assert not [one.name for one in bpy.data.all_ids if one.name.startswith(".matchcut")]


def test_a_search_is_quick_and_its_index_is_built_in_slices():
    index = type(INDEX)()
    longest = begun = 0.0
    total = time.perf_counter()
    while True:
        begun = time.perf_counter()
        done = index.step(0.005)
        longest = max(longest, time.perf_counter() - begun)
        if done:
            break
    total = time.perf_counter() - total
    assert total < 5 and longest < 0.5  # bounds for a busy machine; about 0.5 s and 0.05 s on an idle one
    times = []
    for query in ("focal length", "bevel width", "scene color", "no such thing here at all"):
        begun = time.perf_counter()
        index.search(query)
        times.append(time.perf_counter() - begun)
    print(f"index {total:.2f} s, longest slice {longest * 1000:.0f} ms, searches {[round(t * 1000) for t in times]} ms")
    assert min(times) < 0.1
