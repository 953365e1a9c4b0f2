# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the evaluator's environment from the button."""

from __future__ import annotations

import sys

import bpy

from ....evaluator.protocol.errors import BadInputError
from ... import jobs, preferences
from ...evaluator_process import PACKAGE_ROOT


def install_evaluator() -> jobs.Job:
    """Start making the evaluator's environment with Blender's own Python, below the extension's user folder."""
    if not bpy.app.online_access:
        raise BadInputError("online access is off; allow it in Preferences > System > Network, then install again")
    folder = preferences.evaluator_folder(create=True)
    if folder is None:
        raise BadInputError("Matchcut is not installed as an extension here; run ./run setup in the checkout")
    prefix = [sys.executable, str(PACKAGE_ROOT / "__main__.py")]
    arguments = ["setup", "--evaluator", "--into", str(folder), "--python", sys.executable]
    return jobs.start("Installing the evaluator", arguments, lambda messages: None, prefix=prefix)
