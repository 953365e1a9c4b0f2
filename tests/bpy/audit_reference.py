# SPDX-License-Identifier: GPL-3.0-or-later
"""A small reference made by script inside Blender: pictures, and the video of them."""

from pathlib import Path

import bpy
import numpy as np

WIDTH, HEIGHT, FRAMES = 256, 144, 12
SHOWN = 7
"""Frame of the reference that `frame.png` holds."""


def pictures():
    """FRAMES pictures (H, W, 3) in 0 … 1: patches of many sizes on shaded ground, seen by a moving camera."""
    random = np.random.default_rng(7)
    count = 160
    centre = random.uniform((-0.3, -0.1), (1.5, 1.1), (count, 2)) * (WIDTH, HEIGHT)
    extent = random.uniform(3, 26, (count, 2)) * random.choice((0.4, 1), (count, 1))
    colour = random.uniform(0, 1, (count, 3))
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(float)
    for frame in range(FRAMES):
        image = 0.4 + 0.2 * np.sin(x / 60)[..., None] * (1, 0.8, 0.6) - 0.15 * (y / HEIGHT)[..., None]
        for number in range(count):
            u = (x - centre[number, 0] + 4 * frame) / extent[number, 0]
            v = (y - centre[number, 1] + frame) / extent[number, 1]
            inside = (u * u + v * v < 1) if number % 2 else (abs(u) < 1) & (abs(v) < 1)
            image[inside] = colour[number]
        yield image.clip(0, 1)


def save(image, path):
    """Write a picture (H, W, 3) of sRGB values as a PNG."""
    height, width = image.shape[:2]
    made = bpy.data.images.new("picture", width, height)
    values = np.ones((height, width, 4), np.float32)
    values[..., :3] = image[::-1]
    made.pixels.foreach_set(values.ravel())
    made.filepath_raw, made.file_format = str(path), "PNG"
    made.save()
    bpy.data.images.remove(made)


def prepare(folder: Path) -> Path:
    """Write frames/000000.png …, frame.png, changed.png, tile.1001.png and reference.mp4; returns the video."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    (folder / "frames").mkdir(parents=True)
    shown = list(pictures())
    for index, image in enumerate(shown):
        save(image, folder / "frames" / f"{index:06d}.png")
    save(shown[SHOWN], folder / "frame.png")
    save(shown[SHOWN], folder / "tile.1001.png")
    # mirrored, cropped to 60 % of each side, darker, tinted
    part = shown[SHOWN][HEIGHT // 5 : -HEIGHT // 5, WIDTH // 5 : -WIDTH // 5]
    save((1, 0.8, 0.6) * part[:, ::-1] ** 1.4, folder / "changed.png")
    return _video(folder)


def _video(folder):
    scene = bpy.context.scene
    strips = scene.sequence_editor_create().strips
    strip = strips.new_image("frames", str(folder / "frames" / "000000.png"), channel=1, frame_start=1)
    for index in range(1, FRAMES):
        strip.elements.append(f"{index:06d}.png")
    scene.frame_start, scene.frame_end = 1, FRAMES
    render = scene.render
    render.resolution_x, render.resolution_y, render.resolution_percentage = WIDTH, HEIGHT, 100
    render.fps = 24
    scene.view_settings.view_transform = "Standard"
    render.image_settings.media_type = "VIDEO"
    render.image_settings.file_format = "FFMPEG"
    render.ffmpeg.format, render.ffmpeg.codec, render.ffmpeg.constant_rate_factor = "MPEG4", "H264", "HIGH"
    render.use_file_extension = False
    render.filepath = str(folder / "reference.mp4")
    bpy.ops.render.render(animation=True)
    return folder / "reference.mp4"
