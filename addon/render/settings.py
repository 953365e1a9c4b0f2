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
    """Set the samples a pixel where `samples` is given; returns those in effect, None where the engine has none.

    Of view layers with numbers of their own, which Cycles may prefer to the scene's, the largest is returned.
    """
    owner, name = {
        "CYCLES": (getattr(scene, "cycles", None), "samples"),
        "BLENDER_EEVEE": (scene.eevee, "taa_render_samples"),
    }.get(scene.render.engine, (None, ""))
    if owner is None:
        return None
    if samples is not None:
        setattr(owner, name, samples)
    effective: int = getattr(owner, name)
    if scene.render.engine != "CYCLES":
        return effective
    if samples is not None:
        owner.use_layer_samples = "IGNORE"
    return max(_layer_samples(layer.samples, effective, owner.use_layer_samples) for layer in layers_in_picture(scene))


def _layer_samples(own: int, samples: int, mode: str) -> int:
    """The samples of a view layer, 0 for none of its own, in a scene of `samples` that treats it by `mode`."""
    if own == 0 or mode == "IGNORE":
        return samples
    return min(own, samples) if mode == "BOUNDED" else own


def use_device(scene: Any, preferences: Any, device: str) -> str:
    """Choose what Cycles computes on and return its name; `preferences` are Blender's.

    `auto` takes the first GPU that Cycles can use, else the CPU. Raises BadInputError where the asked one is absent.
    """
    if scene.render.engine != "CYCLES":
        import gpu

        gpu.init()  # without a driver Blender ends here; the parent knows by the state that its child is in
        return f"{gpu.platform.renderer_get()} ({gpu.platform.backend_type_get()})"
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


def use_denoiser(scene: Any) -> tuple[str, list[str]]:
    """The denoiser that will run, empty for none, and a note where it is not the one that the scene asks for."""
    if scene.render.engine != "CYCLES" or not scene.cycles.use_denoising:
        return "", []
    if not scene.cycles.denoiser:  # what was saved is not among those of this machine
        try:
            scene.cycles.denoiser = "OPENIMAGEDENOISE"
        except TypeError:
            scene.cycles.use_denoising = False
            return "", ["the scene asks for denoising; this Blender has no denoiser, so the pictures keep their noise"]
        return "OPENIMAGEDENOISE", ["the scene's denoiser is not on this machine; OpenImageDenoise is used"]
    name: str = scene.cycles.denoiser
    return name, []


def use_view(scene: Any, view_transform: str | None) -> tuple[str, str]:
    """Choose the view transform where one is given; returns the view transform and the display in effect.

    Raises BadInputError where this Blender lacks it.
    """
    image = scene.render.image_settings
    if view_transform is not None:
        image.color_management = "FOLLOW_SCENE"  # else saved pictures have a view of their own
        try:
            scene.view_settings.view_transform = view_transform
        except TypeError as error:
            known = str(error).partition(" in ")[2].strip("()") or "none"
            raise BadInputError(f"this Blender has no view transform {view_transform!r}; it has {known}") from None
    owner = image if image.color_management == "OVERRIDE" else scene
    return owner.view_settings.view_transform, owner.display_settings.display_device


def compositor_trees(scene: Any) -> list[Any]:
    """The node trees that composite the scene's render: one in Blender 5.2, a list of effects since 5.3."""
    effects = getattr(scene, "compositor_effects", None)
    if effects is None:
        trees = [scene.compositing_node_group]
    else:
        trees = [effect.node_group for effect in effects if effect.enable_for_render]
    return [tree for tree in trees if tree is not None and scene.render.use_compositing]


def mute_file_outputs(scene: Any) -> list[str]:
    """Mute what the compositor would write elsewhere, groups within groups included; returns a note for each."""
    notes: list[str] = []
    waiting, seen = compositor_trees(scene), set()
    while waiting:
        tree = waiting.pop()
        if tree is None or tree.name_full in seen:
            continue
        seen.add(tree.name_full)
        for node in tree.nodes:
            if node.type == "OUTPUT_FILE" and not node.mute:
                node.mute = True
                notes.append(f"the compositor's file output {node.name!r} is muted: a job writes its own folder alone")
            waiting.append(getattr(node, "node_tree", None))
    return notes


def write_png(scene: Any) -> None:
    """Save 8-bit RGB PNG: what an 8-bit video takes."""
    image = scene.render.image_settings
    image.media_type = "IMAGE"  # before the format: a scene saved for video knows no other
    image.file_format = "PNG"
    image.color_mode = "RGB"
    image.color_depth = "8"
    image.compression = 15
    scene.render.save_output = True  # an artist may save by the compositor's nodes alone
    scene.render.use_file_extension = True
    scene.render.use_overwrite = True
    scene.render.use_placeholder = False
    scene.render.use_multiview = False


def write_passes(scene: Any) -> None:
    """Save all passes of a render as one plain float32 OpenEXR file, as exr.py reads it."""
    image = scene.render.image_settings
    image.media_type = "MULTI_LAYER_IMAGE"
    image.file_format = "OPEN_EXR_MULTILAYER"
    image.color_depth = "32"
    image.exr_codec = "NONE"
    image.use_exr_interleave = True


def layers_in_picture(scene: Any) -> list[Any]:
    """The view layers that the picture is made of: without a compositor Blender shows the first one alone."""
    layers = [layer for layer in scene.view_layers if layer.use] or [scene.view_layers[0]]
    return layers if compositor_trees(scene) else layers[:1]


def render_geometry_only(scene: Any, layers: list[Any], lights: list[Any]) -> str:
    """Turn the scene in memory into one whose render is exact geometry at pixel centres; returns the engine.

    The first sample of a pixel goes through its centre, and depth and object index come from it alone; the motion is a
    mean over samples, so one sample keeps the three about the same point. Lens and motion blur would smear them, and
    Cycles gives no motion while it blurs. `lights` are the lamps, which only cost time. Where Blender was built without
    Cycles, EEVEE gives depth, and motion in half precision, but no object index.
    """
    render = scene.render
    render.use_motion_blur = False
    render.use_compositing = False
    render.use_sequencer = False
    render.use_multiview = False
    render.use_freestyle = False
    render.use_persistent_data = True
    render.filter_size = 0.0
    for other in scene.view_layers:
        other.use = other in layers
    for layer in layers:
        layer.use_pass_z = True
        layer.use_pass_vector = True
        # below the threshold a surface is passed by chance: this takes all but what is fully transparent
        layer.pass_alpha_threshold = 0.001
    try:
        render.engine = "CYCLES"
    except TypeError:
        render.engine = "BLENDER_EEVEE"
        scene.eevee.taa_render_samples = 1
        return "BLENDER_EEVEE"
    cycles = scene.cycles
    cycles.samples = 1
    cycles.use_sample_subset = False
    cycles.use_adaptive_sampling = False
    cycles.use_denoising = False
    cycles.use_guiding = False
    cycles.time_limit = 0
    cycles.max_bounces = 0
    for layer in layers:
        layer.samples = 0  # no number of its own
        layer.use_pass_object_index = True
    for light in lights:
        light.hide_render = True
    if scene.world:
        scene.world.cycles.sampling_method = "NONE"
    return "CYCLES"
