# SPDX-License-Identifier: GPL-3.0-or-later
"""Matchcut's commands without a window: `blender -b [FILE] --python addon/headless.py -- COMMAND ARGS`.

With the bpy wheel: `PYTHON addon/headless.py [--scene FILE] -- COMMAND ARGS`. The commands are in cli.py beside this.
"""

import importlib
import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def package_name() -> str:
    """Name under which this folder is imported: the running extension's, else `matchcut`, imported now."""
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) == str(ROOT / "__init__.py"):
            return name
    runpy.run_path(str(ROOT / "__main__.py"), run_name="matchcut_main")["load_package"]()
    return "matchcut"


def main() -> int:
    """Run the command behind `--`; returns the exit status."""
    before, arguments = sys.argv[1:], []
    if "--" in before:
        divider = before.index("--")
        before, arguments = before[:divider], before[divider + 1 :]
    cli = importlib.import_module(f"{package_name()}.addon.cli")
    scene = before[before.index("--scene") + 1 :][:1] if "--scene" in before else []
    status: int = cli.main(arguments, *scene)
    return status


if __name__ == "__main__":
    sys.exit(main())
