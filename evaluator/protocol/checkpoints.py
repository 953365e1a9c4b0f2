# SPDX-License-Identifier: GPL-3.0-or-later
"""Where copies of a scene are kept that were saved before risky calls, and which of a Blender's is the newest."""

from __future__ import annotations

import hashlib
from pathlib import Path

from .bridge import Descriptor, descriptor_folder


def checkpoint_folder() -> Path:
    """The folder of every Blender's checkpoints, beside the bridges' descriptors; it need not be there yet."""
    return descriptor_folder() / "checkpoints"


def checkpoint_owner(descriptor: Descriptor) -> str:
    """How the names of one bridge's checkpoints start. Process ids come again, tokens do not."""
    return f"{descriptor.pid}-{hashlib.sha256(descriptor.token.encode()).hexdigest()[:8]}"


def checkpoints(owner: str) -> list[Path]:
    """The whole checkpoints of one bridge, oldest first; `OWNER-NUMBER.blend` each."""
    return sorted(checkpoint_folder().glob(f"{owner}-[0-9]*.blend"))
