# SPDX-License-Identifier: GPL-3.0-or-later
"""The dependencies that docs/architecture.md allows are the ones that exist."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# every package may import those to its right, and itself
ORDER = [
    "cli",
    "schemas",
    "benchmark",
    "pipeline",
    "report",
    "results",
    "agreement",
    "reliability",
    "tables",
    "judge",
    "stills",
    "motion",
    "sgc",
    "audit",
    "deliver",
    "farm",
    "render",
    "scoring",
    "camera",
    "shots",
    "media",
    "checklist",
    "records",
    "environment",
    "protocol",
]
# judge's records are what scoring aggregates, checklist's what media selects frames for
EXCEPTIONS = {("scoring", "judge.records")}
# fits a camera while one drags, inside Blender, so it needs numpy alone
NUMPY_ONLY = "evaluator/camera/core"
SHARED = ("evaluator.protocol", "evaluator.environment", "evaluator.camera.core")
STANDARD_ONLY = ("addon", "evaluator/protocol", "evaluator/environment")
BLENDERS_OWN = {"bpy", "mathutils", "gpu", "gpu_extras", "bpy_extras", "blf", "imbuf", "addon_utils", "numpy"}


def sources(folder: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob("*.py"))


def imports(path: Path) -> list[tuple[int, str]]:
    """Every import of a file as (level, dotted name); level 0 is absolute."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(0, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            found += [(node.level, f"{module}.{alias.name}".strip(".")) for alias in node.names]
    return found


def absolute(path: Path, level: int, name: str) -> str:
    """A relative import's target below the package, as a dotted name."""
    if level == 0:
        return name
    package = path.relative_to(ROOT).parent.parts
    return ".".join([*package[: len(package) - level + 1], name])


def test_evaluator_packages_import_downwards_only() -> None:
    wrong = []
    for path in sources("evaluator"):
        own = path.relative_to(ROOT / "evaluator").parts[0].removesuffix(".py")
        if own == "__init__":
            continue
        assert own in ORDER, f"{path}: a package that ORDER does not know"
        for level, name in imports(path):
            target = absolute(path, level, name)
            if level == 0 or not target.startswith("evaluator."):
                continue
            rest = target.removeprefix("evaluator.")
            other = rest.split(".")[0]
            allowed = any(own == source and rest.startswith(goal) for source, goal in EXCEPTIONS)
            if not allowed and ORDER.index(other) < ORDER.index(own):
                wrong.append(f"{path.relative_to(ROOT)} imports {target}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("folder", ["addon", "mcp_server", "assets_ui"])
def test_other_parts_reach_the_evaluator_through_what_needs_no_packages(folder: str) -> None:
    wrong = []
    for path in sources(folder):
        for level, name in imports(path):
            target = absolute(path, level, name)
            if level and target.startswith("evaluator") and not target.startswith(SHARED):
                wrong.append(f"{path.relative_to(ROOT)} imports {target}")
    assert not wrong, "\n".join(wrong)


def test_the_evaluator_never_imports_blender() -> None:
    for path in [*sources("evaluator"), *sources("mcp_server")]:
        assert not {name.split(".")[0] for level, name in imports(path) if level == 0} & (BLENDERS_OWN - {"numpy"}), (
            path
        )


@pytest.mark.parametrize("folder", STANDARD_ONLY)
def test_what_runs_inside_blender_or_before_an_environment_needs_the_standard_library_alone(folder: str) -> None:
    allowed = set(sys.stdlib_module_names) | (BLENDERS_OWN if folder == "addon" else set())
    for path in sources(folder):
        foreign = {name.split(".")[0] for level, name in imports(path) if level == 0} - allowed
        assert not foreign, f"{path} imports {foreign}"


def test_what_fits_a_camera_inside_blender_needs_numpy_and_the_protocol_alone() -> None:
    allowed = set(sys.stdlib_module_names) | {"numpy"}
    for path in sources(NUMPY_ONLY):
        for level, name in imports(path):
            target = absolute(path, level, name)
            ours = target.startswith(("evaluator.camera.core", "evaluator.protocol"))
            assert ours if level else name.split(".")[0] in allowed, f"{path} imports {target}"


def test_no_file_is_longer_than_500_lines() -> None:
    for path in [
        *sources("addon"),
        *sources("evaluator"),
        *sources("mcp_server"),
        *sources("assets_ui"),
        *sources("tests"),
    ]:
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= 500, f"{path.relative_to(ROOT)} has {lines} lines"
