# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the Python that runs this has what the evaluator needs. Standard library only, since it may have nothing."""

from __future__ import annotations

import importlib
import importlib.metadata
import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .caches import bytes_below
from .create import EVALUATOR
from .downloads import requirements

MODULES: Final = {
    "anthropic": "anthropic",
    "av": "av",
    "jinja2": "jinja2",
    "keyring": "keyring",
    "mcp": "mcp",
    "numpy": "numpy",
    "openai": "openai",
    "opencv-python-headless": "cv2",
    "pillow": "PIL",
    "pydantic": "pydantic",
    "rich": "rich",
    "scenedetect-headless": "scenedetect",
    "scipy": "scipy",
}
"""What pyproject.toml asks for → the module that shows that it is there, whichever package brought it."""
OPTIONAL: Final = frozenset({"keyring"})
"""Without it keys come from the environment alone."""


@dataclass(frozen=True)
class Packages:
    """What an interpreter has: `missing` names with the reason, `differing` names with version here and in the lock."""

    executable: str
    python: str
    packages: int
    missing: dict[str, str]
    differing: dict[str, tuple[str, str]]
    bytes: int | None
    """Of its environment; None where it is none: a system's Python holds more than ours."""


def examine_packages() -> Packages:
    """Import everything that is needed, which takes a second or two, and compare the versions with the lock file's."""
    missing = {name: why for name, module in MODULES.items() if (why := _why_not(module))}
    return Packages(
        executable=sys.executable,
        python=platform.python_version(),
        packages=len({entry.metadata["Name"] for entry in importlib.metadata.distributions()}),
        missing=missing,
        differing={name: pair for name in MODULES if name not in missing and (pair := _differs(name))},
        bytes=bytes_below(Path(sys.prefix)) if sys.prefix != sys.base_prefix else None,
    )


def _why_not(module: str) -> str:
    """Why a module cannot be imported, in a few words; empty where it can."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError:
        return "not installed"
    except (ImportError, OSError, AttributeError, SyntaxError) as error:  # built for another Python, or half there
        return " ".join(str(error).split())[:200] or type(error).__name__
    return ""


def _differs(name: str) -> tuple[str, str] | None:
    """Version here and in the lock; None where they agree, or where it came in another package."""
    try:
        here = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
    locked = [one.lines.split("==", 1)[1].split()[0] for one in requirements(EVALUATOR.lock) if one.name == name]
    return None if here in locked or not locked else (here, " or ".join(locked))
