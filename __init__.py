# SPDX-License-Identifier: GPL-3.0-or-later
"""Matchcut: rebuild a reference shot in Blender, and score the match.

This folder is one package in three homes: Blender imports it as an extension, pip installs it as `matchcut`, and a
checkout runs it by `./run`. Importing it needs neither Blender nor any other package.
"""


def register() -> None:
    """Register the extension with Blender."""
    from .addon.registration import register as register_all

    register_all()


def unregister() -> None:
    """Remove from Blender all that `register` added."""
    from .addon.registration import unregister as unregister_all

    unregister_all()
