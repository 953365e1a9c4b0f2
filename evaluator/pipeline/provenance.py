# SPDX-License-Identifier: GPL-3.0-or-later
"""What a result was made with: versions, Blender and its settings; no date and no path."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Final

import av

from ..protocol.render_job import RenderStatus
from ..protocol.version import VERSION
from ..results import Provenance

PACKAGES: Final = (
    "av", "numpy", "opencv-python-headless", "openai", "pillow", "pydantic", "scenedetect-headless", "scipy",
)  # fmt: skip
"""Those on which a number in a result depends."""
LIBRARIES: Final = ("libavcodec", "libavformat", "libswscale")
SEED: Final = 0


def provenance(status: RenderStatus | None) -> Provenance:
    """Of this process and, where a render took part, of the Blender that made it."""
    packages = {name: found for name in PACKAGES if (found := _version(name)) is not None}
    packages |= {name: ".".join(map(str, av.library_versions[name])) for name in LIBRARIES}
    return Provenance(
        matchcut=VERSION,
        python=platform.python_version(),
        packages=packages,
        blender=status.blender or None if status is not None else None,
        engine=status.engine or None if status is not None else None,
        device=status.device or None if status is not None else None,
        samples=status.samples if status is not None else None,
        seed=SEED,
    )


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
