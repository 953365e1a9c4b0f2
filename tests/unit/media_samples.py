# SPDX-License-Identifier: GPL-3.0-or-later
"""Small moving pictures and videos made by script, with the oddities that tests need."""

from fractions import Fraction
from pathlib import Path

import av
import numpy as np

WIDTH, HEIGHT = 96, 64


def pictures(count, *, seed=1, width=WIDTH, height=HEIGHT):
    """`count` (H, W, 3) uint8 pictures: two coloured discs that wander irregularly over a shaded ground."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width].astype(float)
    ground = random.uniform(40, 120, 3) + 40 * np.sin(x / 11 + seed)[..., None] + 30 * np.cos(y / 7)[..., None]
    where = random.uniform(0.3, 0.7, (2, 2)) * (width, height)
    speed = np.zeros((2, 2))
    colours = random.uniform(100, 255, (2, 3))
    made = []
    for _ in range(count):
        image = ground.copy()
        for disc in range(2):
            inside = np.hypot(x - where[disc, 0], y - where[disc, 1]) < height / 5
            image[inside] = colours[disc]
        made.append(image.clip(0, 255).astype(np.uint8))
        speed = 0.6 * speed + random.normal(0, 2.5, (2, 2))
        where = (where + speed).clip((10, 10), (width - 10, height - 10))
    return made


def write_video(
    path, images, *, rate=Fraction(25), timestamps=None, time_base=None, codec="libx264", pixels="yuv420p",
    options=None, aspect=None, matrix=None, full_range=None, rotation=None, display_matrix=None, container=None,
):  # fmt: skip
    """Write pictures with PyAV directly, so that what is wrong with the file is decided here; returns `path`."""
    with av.open(str(path), "w", options=container or {}) as out:
        stream = out.add_stream(codec, rate=rate, options={"crf": "10", **(options or {})})
        context = stream.codec_context
        context.height, context.width = images[0].shape[:2]
        context.pix_fmt = pixels
        context.time_base = time_base or 1 / rate
        if aspect is not None:
            context.sample_aspect_ratio = aspect
        if matrix is not None:
            context.colorspace = matrix
        if full_range is not None:
            context.color_range = 2 if full_range else 1
        if rotation is not None:
            stream.set_display_rotation(rotation)
        if display_matrix is not None:
            stream.set_display_matrix(display_matrix)
        for index, image in enumerate(images):
            frame = av.VideoFrame.from_ndarray(image, format="rgb24").reformat(
                format=pixels, dst_colorspace=matrix, dst_color_range=None if full_range is None else 1 + full_range
            )
            frame.pts = index if timestamps is None else timestamps[index]
            frame.time_base = context.time_base
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return Path(path)
