# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of a render child's copy of the scene: engine, device, samples, and what comes out."""

from __future__ import annotations

from typing import Any

from ...evaluator.protocol.errors import BadInputError

ENGINES = {"CYCLES": "CYCLES", "EEVEE": "BLENDER_EEVEE", "WORKBENCH": "BLENDER_WORKBENCH"}
GPU_TYPES = ("OPTIX", "CUDA", "HIP", "METAL", "ONEAPI")  # in this order where the device is `auto`


def use_engine(scene: Any, engine: str | None) -> None:
    """Choose the engine, or see that the scene's own is there. Raises BadInputError where Blender lacks it."""
    wanted = scene.render.engine if engine is None else ENGINES.get(engine.upper(), engine.upper())
    try:
        scene.render.engine = wanted
    except TypeError:
        owner = "" if engine else f", which scene {scene.name!r} asks for"
        raise BadInputError(
            f"this Blender has no render engine {wanted or '(none)'}{owner}; choose --engine cycles, eevee or workbench"
        ) from None


def use_samples(scene: Any, samples: int | None) -> int | None:
    """Set the samples a pixel where `samples` is given; returns those in effect, None where the engine has none."""
    owner, name = {
        "CYCLES": (getattr(scene, "cycles", None), "samples"),
        "BLENDER_EEVEE": (scene.eevee, "taa_render_samples"),
    }.get(scene.render.engine, (None, ""))
    if owner is None:
        return None
    if samples is not None:
        setattr(owner, name, samples)
    effective: int = getattr(owner, name)
    return effective


def use_device(scene: Any, preferences: Any, device: str) -> str:
    """Choose what Cycles computes on and return its name; `preferences` are Blender's.

    `auto` takes the first GPU that Cycles can use, else the CPU. Raises BadInputError where the asked one is absent.
    """
    if scene.render.engine != "CYCLES":
        return "GPU (OpenGL, Vulkan or Metal)"
    wanted = device.upper()
    if wanted not in ("AUTO", "CPU", *GPU_TYPES):
        raise BadInputError(f"device {device!r}: choose auto, cpu, {', '.join(GPU_TYPES).lower()}")
    cycles = preferences.addons["cycles"].preferences
    for kind in GPU_TYPES if wanted == "AUTO" else (wanted,):
        found = cycles.get_devices_for_type(kind) if kind in GPU_TYPES else []
        chosen = [entry for entry in found or [] if entry.type == kind]
        if chosen:
            cycles.compute_device_type = kind
            for entry in found:
                entry.use = entry.type == kind
            scene.cycles.device = "GPU"
            return f"{kind} ({', '.join(entry.name for entry in chosen)})"
    if wanted in GPU_TYPES:
        raise BadInputError(f"there is no {wanted} device that Cycles can use; choose --device auto or cpu")
    scene.cycles.device = "CPU"
    return "CPU"


def denoiser_of(scene: Any) -> str:
    """The denoiser that will run, empty for none."""
    if scene.render.engine != "CYCLES" or not scene.cycles.use_denoising:
        return ""
    name: str = scene.cycles.denoiser
    return name


def write_png(scene: Any) -> None:
    """Save 8-bit RGB PNG: what an 8-bit video takes."""
    image = scene.render.image_settings
    image.media_type = "IMAGE"  # before the format: a scene saved for video knows no other
    image.file_format = "PNG"
    image.color_mode = "RGB"
    image.color_depth = "8"
    image.compression = 15


def write_passes(scene: Any) -> None:
    """Save all passes of a render as one plain float32 OpenEXR file, as exr.py reads it."""
    image = scene.render.image_settings
    image.media_type = "MULTI_LAYER_IMAGE"
    image.file_format = "OPEN_EXR_MULTILAYER"
    image.color_depth = "32"
    image.exr_codec = "NONE"
    image.use_exr_interleave = True


def render_geometry_only(scene: Any, layer: Any) -> None:
    """Turn the scene in memory into one whose Cycles render is exact geometry at pixel centres, for one view layer.

    The first sample of a pixel goes through its centre, and depth and object index come from it alone; the motion is a
    mean over samples, so one sample keeps the three about the same point. Lens and motion blur would smear them, and
    Cycles gives no motion while it blurs.
    """
    scene.render.engine = "CYCLES"
    scene.render.use_motion_blur = False
    scene.render.use_compositing = False
    scene.render.use_sequencer = False
    scene.render.use_multiview = False
    cycles = scene.cycles
    cycles.samples = 1
    cycles.use_adaptive_sampling = False
    cycles.use_denoising = False
    cycles.time_limit = 0
    cycles.max_bounces = 0
    layer.samples = 0  # no number of its own
    for other in scene.view_layers:
        other.use = other == layer
    layer.use_pass_z = True
    layer.use_pass_vector = True
    layer.use_pass_object_index = True
