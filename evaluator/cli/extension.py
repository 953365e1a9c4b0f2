# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut extension`: the zip that Blender installs. Needs nothing but the standard library."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from ..environment.blender import find_blender
from ..environment.create import PACKAGE_ROOT
from ..protocol.children import child_environment
from ..protocol.errors import BadInputError, ExitStatus, OperationalError
from ..protocol.files import atomic_path
from ..protocol.messages import Reporter

DESCRIPTION = """Build the Blender extension's zip from this checkout.

A Blender program builds and validates it; without one the same files are packed here, by the manifest's own pattern."""

CONTENTS = (
    "__init__.py", "__main__.py", "blender_manifest.toml", "LICENSE", "README.md",
    "addon", "assets_ui", "evaluator", "mcp_server",
)  # fmt: skip
TIME_OF_EVERY_ENTRY = (1980, 1, 1, 0, 0, 0)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `matchcut extension`."""
    parser.add_argument(
        "--out", type=Path, default=Path("dist"), metavar="DIR", help="folder for the zip (default: dist)"
    )
    parser.add_argument(
        "--without-blender", action="store_true", help="pack the files here even where there is a Blender"
    )
    parser.add_argument("--json", action="store_true", help="print path, bytes and number of files as JSON")


def run(arguments: argparse.Namespace, reporter: Reporter) -> int:
    """Build the zip; returns the exit status."""
    program = None if arguments.without_blender else _blender_program(reporter)
    path = build(PACKAGE_ROOT, arguments.out.absolute(), blender=program)
    with zipfile.ZipFile(path) as archive:
        files = len(archive.namelist())
    size = path.stat().st_size
    facts = {"path": str(path), "bytes": size, "files": files}
    reporter.result(str(path), facts)
    if not arguments.messages:
        text = json.dumps(facts) if arguments.json else f"{path} ({files} files, {size / 1e6:.2f} MB)"
        sys.stdout.write(text + "\n")
    return ExitStatus.DONE


def build(root: Path, folder: Path, *, blender: str | None) -> Path:
    """Build the extension in `root` into `folder`, through the program `blender` where one is given; returns the zip.

    Raises BadInputError where `root` is no extension, OperationalError with Blender's reason where it refuses it.
    """
    manifest = read_manifest(root)
    target = folder / f"{manifest['id']}-{manifest['version']}.zip"
    folder.mkdir(parents=True, exist_ok=True)
    # beside the target, so that the finished zip is moved and not copied over it
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=folder) as scratch:
        source = _stage(root, Path(scratch) / "source")
        if blender is None:
            _pack(source, manifest, target)
        else:
            _extension_command(blender, "build", "--source-dir", str(source), "--output-dir", scratch)
            built = Path(scratch) / target.name
            _extension_command(blender, "validate", str(built))
            built.replace(target)
    return target


def _stage(root: Path, source: Path) -> Path:
    """Copy what belongs into the zip: whatever else lies in a checkout (results, videos, notes) stays out of it."""
    source.mkdir()
    for name in CONTENTS:
        if (root / name).is_dir():
            shutil.copytree(root / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif (root / name).is_file():
            shutil.copy2(root / name, source / name)
    return source


def read_manifest(root: Path) -> dict[str, object]:
    """The extension's manifest. Raises BadInputError where it is missing or no TOML."""
    path = root / "blender_manifest.toml"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise BadInputError(f"{path}: cannot be read ({error}); run this from a checkout") from error


def packed_files(root: Path, patterns: list[str]) -> list[str]:
    """The files below `root` that no pattern excludes, as sorted paths with forward slashes.

    Patterns are those of `paths_exclude_pattern` that the manifest uses: `/name` at the root only, `name` anywhere, a
    last `/` for folders, `*` within one name.
    """
    return sorted(_walk(root, "", patterns))


def _walk(folder: Path, prefix: str, patterns: list[str]) -> Iterator[str]:
    for entry in sorted(folder.iterdir()):
        path = prefix + entry.name
        is_folder = entry.is_dir()
        if any(_matches(pattern, path, is_folder) for pattern in patterns):
            continue
        if is_folder:
            yield from _walk(entry, path + "/", patterns)
        else:
            yield path


def _matches(pattern: str, path: str, is_folder: bool) -> bool:
    if pattern.endswith("/") and not is_folder:
        return False
    name = pattern.rstrip("/")
    if name.startswith("/"):
        return fnmatchcase(path, name[1:]) and path.count("/") == name[1:].count("/")
    return fnmatchcase(path.rpartition("/")[2], name)


def _pack(root: Path, manifest: dict[str, object], target: Path) -> None:
    settings = manifest.get("build")
    patterns = settings.get("paths_exclude_pattern", []) if isinstance(settings, dict) else []
    with (
        atomic_path(target) as temporary,
        zipfile.ZipFile(temporary, "w", compression=zipfile.ZIP_DEFLATED, compresslevel=9) as archive,
    ):
        for path in packed_files(root, patterns):
            entry = zipfile.ZipInfo(path, TIME_OF_EVERY_ENTRY)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, (root / path).read_bytes())


def _blender_program(reporter: Reporter) -> str | None:
    try:
        blender = find_blender()
    except BadInputError as error:
        reporter.status(f"packing without Blender: {error}")
        return None
    return blender.path if blender.kind == "program" else None


def _extension_command(blender: str, *arguments: str) -> None:
    command = [blender, "--factory-startup", "--command", "extension", *arguments]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=300, stdin=subprocess.DEVNULL,
            env=child_environment(), check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise OperationalError(f"{blender}: extension {arguments[0]} did not run ({error})") from error
    if answer.returncode != 0:
        said = (answer.stdout + answer.stderr).strip().splitlines()
        faults = [line.strip() for line in said if re.match(r"(FATAL_)?ERROR\b", line)]
        reason = (faults or said or ["no reason given"])[-1]
        raise OperationalError(f"{blender}: extension {arguments[0]} failed: {reason}")
