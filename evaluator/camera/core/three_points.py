# SPDX-License-Identifier: GPL-3.0-or-later
"""The poses from which three points are seen where they are: up to four, by Grunert's equations.

Haralick, Lee, Ottenberg and Nölle, "Review and analysis of solutions of the three point perspective pose estimation
problem", IJCV 1994, section 2.1.
"""

from __future__ import annotations

import numpy as np

from .pinhole import Array, cross_matrix


def poses_of_three(points: Array, rays: Array) -> list[tuple[Array, Array]]:
    """Candidates (R (3, 3), c (3,)) of a camera that sees three world points (3, 3) along unit rays (3, 3).

    Nearly double roots count too, so a candidate may be off by some pixels; refine and compare them.
    """
    a, b, c = (float(((points[i] - points[j]) ** 2).sum()) for i, j in ((1, 2), (0, 2), (0, 1)))
    cos_a, cos_b, cos_c = (float(rays[i] @ rays[j]) for i, j in ((1, 2), (0, 2), (0, 1)))
    if min(a, b, c) <= 0:
        return []
    minus, plus = (a - c) / b, (a + c) / b
    quartic = [
        (minus - 1) ** 2 - 4 * c / b * cos_a**2,
        4 * (minus * (1 - minus) * cos_b - (1 - plus) * cos_a * cos_c + 2 * c / b * cos_a**2 * cos_b),
        2
        * (
            minus**2 - 1 + 2 * minus**2 * cos_b**2 + 2 * (b - c) / b * cos_a**2
            - 4 * plus * cos_a * cos_b * cos_c + 2 * (b - a) / b * cos_c**2
        ),
        4 * (-minus * (1 + minus) * cos_b + 2 * a / b * cos_c**2 * cos_b - (1 - plus) * cos_a * cos_c),
        (1 + minus) ** 2 - 4 * a / b * cos_c**2,
    ]  # fmt: skip
    if not np.isfinite(quartic).all() or not np.any(np.abs(quartic[:-1]) > 1e-14):
        return []
    found = []
    for root in np.roots(quartic):
        v = float(root.real)
        square = 1 + v * v - 2 * v * cos_b
        if abs(root.imag) > 0.1 * abs(root) or v <= 1e-9 or square <= 1e-15:
            continue
        first = np.sqrt(b / square)
        # u from c alone, both of its roots: Grunert's quotient is 0/0 where the triangle is seen symmetrically
        spread = np.sqrt(max(cos_c**2 - 1 + c / first**2, 0.0))
        both = [u for u in (cos_c + spread, cos_c - spread) if u > 1e-9]
        misfit = [abs((u * u + v * v - 2 * u * v * cos_a) * first**2 - a) / a for u in both]
        for u, miss in zip(both, misfit, strict=True):
            if miss <= min(misfit) + 0.02:
                found.append(_pose(points, rays * (first * np.array([1, u, v]))[:, None]))
    return found


def _pose(world: Array, camera: Array) -> tuple[Array, Array]:
    """R and c that carry three world points onto three points in the camera's axes."""
    base, frame = _axes(world), _axes(camera)
    rotation = frame @ base.T
    return rotation, world.mean(axis=0) - rotation.T @ camera.mean(axis=0)


def _axes(triangle: Array) -> Array:
    """(3, 3) an orthonormal frame in columns that a triangle carries."""
    first = triangle[1] - triangle[0]
    normal = cross_matrix(first) @ (triangle[2] - triangle[0])
    first = first / max(float(np.linalg.norm(first)), 1e-300)
    normal = normal / max(float(np.linalg.norm(normal)), 1e-300)
    return np.column_stack([first, cross_matrix(normal) @ first, normal])
