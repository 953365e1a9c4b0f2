# SPDX-License-Identifier: GPL-3.0-or-later
"""Matchcut's commands without a window: `blender -b [FILE] --python addon/headless.py -- COMMAND ARGS`.

With the bpy wheel: `PYTHON addon/headless.py [--scene FILE] -- COMMAND ARGS`. The commands are in cli.py beside this.
"""

import importlib
import os
import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHILDREN = ("render-job", "audit-scene", "describe-scene", "scene-content", "sample")
"""Commands that the evaluator starts as its children. They write files whole or not at all: nothing needs tidying."""


def package_name() -> str:
    """Name under which this folder is imported: the running extension's, else `matchcut`, imported now."""
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) == str(ROOT / "__init__.py"):
            return name
    runpy.run_path(str(ROOT / "__main__.py"), run_name="matchcut_main")["load_package"]()
    return "matchcut"


def main() -> int | None:
    """Run the command behind `--`; returns the exit status, None where Blender is to go on."""
    before, arguments = sys.argv[1:], []
    if "--" in before:
        divider = before.index("--")
        before, arguments = before[:divider], before[divider + 1 :]
    package = package_name()
    if "--follow-parent" in arguments and arguments[0] in CHILDREN:
        # before the wheel is imported: that takes seconds on a busy machine, in which nobody would notice the end
        importlib.import_module(f"{package}.evaluator.protocol.children").follow_parent(lambda: os._exit(3))
        arguments.remove("--follow-parent")
    cli = importlib.import_module(f"{package}.addon.cli")
    scene = before[before.index("--scene") + 1 :][:1] if "--scene" in before else []
    status: int | None = cli.main(arguments, *scene)
    return status


if __name__ == "__main__":
    status = main()
    if status is not None:
        sys.exit(status)
