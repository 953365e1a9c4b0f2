# SPDX-License-Identifier: GPL-3.0-or-later
"""The zip as it is packed without Blender: what is in it, and the manifest it is packed by."""

import json
import shutil
import subprocess
import sys
import zipfile

import pytest
from matchcut.evaluator.cli.extension import build, packed_files, read_manifest
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.version import VERSION


def test_manifest(root):
    manifest = read_manifest(root)
    assert manifest["version"] == VERSION
    assert "blender" not in manifest["name"].lower()
    assert len(manifest["tagline"]) <= 64
    assert not manifest["tagline"].endswith(".")
    assert all(len(reason) <= 64 and not reason.endswith(".") for reason in manifest["permissions"].values())


def test_zip(root, tmp_path):
    path = build(root, tmp_path, blender=None)
    assert path.stat().st_size < 2_000_000
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    assert {"blender_manifest.toml", "__init__.py", "__main__.py", "LICENSE", "addon/registration.py"} <= set(names)
    assert "evaluator/environment/evaluator.lock" in names
    unwanted = ("tests/", "docs/", ".", "shared/", "demo/", "dist/", "build/", "run")
    assert [name for name in names if name.startswith(unwanted) or "__pycache__" in name] == []
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name], "something was left beside the zip"
    assert build(root, tmp_path / "again", blender=None).read_bytes() == path.read_bytes()


def test_patterns(tmp_path):
    for name in (
        "a.py",
        "tests/t.py",
        "sub/tests/t.py",
        "sub/__pycache__/a.pyc",
        "sub/b.pyc",
        ".git/c",
        "sub/.keep",
        "run",
        "sub/run",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    kept = packed_files(tmp_path, ["/.*", "__pycache__/", "*.pyc", "/tests/", "/run"])
    assert kept == ["a.py", "sub/.keep", "sub/run", "sub/tests/t.py"]


def test_what_else_lies_in_a_checkout_stays_out(root, tmp_path):
    checkout = tmp_path / "checkout"
    (checkout / "addon").mkdir(parents=True)
    shutil.copy(root / "blender_manifest.toml", checkout)
    for name in ("__init__.py", "addon/cli.py", "scored.json", "private.mp4"):
        (checkout / name).touch()
    with zipfile.ZipFile(build(checkout, tmp_path / "dist", blender=None)) as archive:
        assert archive.namelist() == ["__init__.py", "addon/cli.py", "blender_manifest.toml"]


def test_a_folder_that_is_no_extension(tmp_path):
    with pytest.raises(BadInputError, match=r"blender_manifest\.toml"):
        build(tmp_path, tmp_path / "out", blender=None)


def test_the_command(root, tmp_path):
    command = [
        sys.executable,
        str(root / "__main__.py"),
        "extension",
        "--without-blender",
        "--out",
        str(tmp_path),
        "--json",
    ]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    facts = json.loads(answer.stdout)
    assert facts["path"] == str(tmp_path / f"matchcut-{VERSION}.zip")
    assert facts["files"] > 50
