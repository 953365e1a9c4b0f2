# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line: `python -m matchcut CMD …`, or this file run by its path from a checkout or an installed zip."""

import importlib
import importlib.util
import sys
from pathlib import Path


def load_package() -> None:
    """Import this folder as the package `matchcut`, whatever the folder is called, unless it is imported already."""
    if "matchcut" in sys.modules:
        return
    root = Path(__file__).resolve().parent
    spec = importlib.util.spec_from_file_location(
        "matchcut", root / "__init__.py", submodule_search_locations=[str(root)]
    )
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["matchcut"] = package
    spec.loader.exec_module(package)


def main() -> int:
    """Run the command named by `sys.argv`; returns the exit status."""
    load_package()
    status: int = importlib.import_module("matchcut.evaluator.cli.main").main(sys.argv[1:])
    return status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # before the command line could listen for it
        sys.exit(130)
