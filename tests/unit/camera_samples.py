# SPDX-License-Identifier: GPL-3.0-or-later
"""Cameras of any kind, and what they see, for the tests of fits."""

import numpy as np
from hypothesis import strategies as st
from matchcut.evaluator.camera.core.pinhole import Pinhole, half_diagonal, picture_centre, rotation_of
from matchcut.evaluator.camera.core.vanishing import AXES, Lines

SIZES = ((1920, 1080), (1080, 1920), (640, 640), (4096, 1716))


def camera(size=(1920, 1080), focal=1500.0, principal=None, yaw=35.0, pitch=-20.0, roll=3.0, centre=(3.0, -8.0, 4.0)):
    """A camera that looks along +y turned by `yaw` to the right, up by `pitch`, and rolled; degrees."""
    yaw, pitch, roll = np.radians([yaw, pitch, roll])
    forward = np.array([np.sin(yaw) * np.cos(pitch), np.cos(yaw) * np.cos(pitch), np.sin(pitch)])
    right = np.array([np.cos(yaw), -np.sin(yaw), 0.0])
    rotation = rotation_of(np.array([0, 0, roll])) @ np.array([right, np.cross(forward, right), forward])
    return Pinhole(size, focal, principal or picture_centre(size), rotation, np.array(centre, dtype=float))


def vanishing_point(seen, axis):
    """Where lines along an axis meet, as (3,) homogeneous pixels."""
    return seen.intrinsics @ seen.rotation[:, AXES.index(axis)]


def drawn(seen, axis, count=4, seed=0, length=0.3, noise=0.0):
    """Segments (n, 4) along an axis, spread over the picture; `noise` pixels at each end."""
    rng, unit, point = np.random.default_rng(seed), half_diagonal(seen.size), vanishing_point(seen, axis[-1])
    places = np.array([(0.15, 0.2), (0.8, 0.75), (0.2, 0.8), (0.7, 0.25), (0.45, 0.6), (0.5, 0.1)])
    result = []
    for index in range(count):
        middle = (places[index % 6] + rng.uniform(-0.08, 0.08, 2)) * seen.size
        towards = point[:2] - point[2] * middle
        if np.hypot(*towards) < 0.1 * unit * abs(point[2]):
            middle = middle + 0.2 * unit
            towards = point[:2] - point[2] * middle
        step = towards / np.hypot(*towards) * unit * length / 2
        result.append([*(middle - step), *(middle + step)])
    return np.array(result) + rng.normal(size=(count, 4)) * noise


def signed(seen, axis):
    """The axis with the sign with which it recedes."""
    return ("+" if seen.rotation[2, AXES.index(axis)] > 0 else "-") + axis


def sets_of(seen, axes, **options):
    """Sets with signs, each with lines of its own."""
    return [Lines(signed(seen, axis), drawn(seen, axis, seed=index, **options)) for index, axis in enumerate(axes)]


def segment(seen, start, end):
    """Where two world points are seen, as two pairs of pixels."""
    return [tuple(pixel) for pixel in seen.project([start, end]).tolist()]


@st.composite
def cameras(draw, *, off_centre=False, level=60.0):
    """Cameras that see both horizontal axes at an angle, upright, up to `level` degrees up and down."""
    size = draw(st.sampled_from(SIZES))
    principal = None
    if off_centre:
        principal = tuple((side - 1) / 2 + draw(st.floats(-0.3, 0.3)) * side for side in size)
    return camera(
        size,
        half_diagonal(size) * 2 ** draw(st.floats(-1, 2.5)),
        principal,
        draw(st.sampled_from((0, 90, 180, 270))) + draw(st.floats(15, 75)),
        draw(st.floats(-level, level)),
        draw(st.floats(-30, 30)),
        [draw(st.floats(-10, 10)) for _ in range(3)],
    )
