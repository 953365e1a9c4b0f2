# SPDX-License-Identifier: GPL-3.0-or-later
"""A Blender for scenes of strangers: offline, and on Linux without a network at all.

Scripts of the file never run in any child. What a scene reads from this machine's own files is not kept from it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .blender import Blender, run_child

_TRIAL_SECONDS = 20


@dataclass(frozen=True)
class SealedBlender(Blender):
    """A Blender whose children reach no network as far as this system can see to it."""

    prefix: tuple[str, ...] = ()
    """What the command line begins with: a program that takes the network away and then becomes the child."""

    @property
    def isolation(self) -> str:
        """How the children are kept apart, in words."""
        network = "no network (own network namespace)" if self.prefix else "Blender's offline mode"
        return f"no scripts of the file, {network}"

    def command(self, *arguments: str, scene: Path | None = None) -> list[str]:
        """As `Blender.command`, offline. The bpy wheel is offline by itself."""
        command = super().command(*arguments, scene=scene)
        offline = ["--offline-mode"] if self.kind == "program" else []
        return [*self.prefix, command[0], *offline, *command[1:]]


def sealed(blender: Blender) -> SealedBlender:
    """`blender` for the scenes of strangers."""
    return SealedBlender(blender.path, blender.kind, blender.version, without_network())


def without_network() -> tuple[str, ...]:
    """What to put before a command that shall have no network; empty where this system does not let us."""
    unshare = shutil.which("unshare") if sys.platform == "linux" else None
    if unshare is None:
        return ()
    prefix = (unshare, "--user", "--map-root-user", "--net", "--")
    try:  # containers and some distributions forbid it
        allowed = run_child([*prefix, sys.executable, "-c", "pass"], seconds=_TRIAL_SECONDS).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return prefix if allowed else ()
