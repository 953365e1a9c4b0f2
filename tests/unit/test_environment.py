# SPDX-License-Identifier: GPL-3.0-or-later
"""Interpreters, environments and the launcher."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from matchcut.evaluator.environment import create, doctor, interpreters
from matchcut.evaluator.environment.blender import blend_sha256
from matchcut.evaluator.protocol.errors import BadInputError, OperationalError
from matchcut.evaluator.protocol.version import VERSION

posix_only = pytest.mark.skipif(os.name != "posix", reason="the fake interpreters are shell scripts")


def fake_python(path: Path, version: str) -> None:
    """A program that answers the probe as a Python of that version would."""
    path.parent.mkdir(parents=True, exist_ok=True)
    answer = "\\n".join([*version.split("."), str(path)])
    path.write_text(f"#!/bin/sh\nprintf '{answer}\\n'\n")
    path.chmod(0o755)


@posix_only
def test_the_newest_supported_interpreter_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyenv = tmp_path / "pyenv"
    fake_python(tmp_path / "bin" / "python3", "3.11.7")
    fake_python(pyenv / "versions" / "3.14.1" / "bin" / "python3", "3.14.1")
    fake_python(pyenv / "versions" / "3.15.0" / "bin" / "python3", "3.15.0")
    broken = pyenv / "versions" / "3.14.9" / "bin" / "python3"
    broken.parent.mkdir(parents=True)
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PYENV_ROOT", raising=False)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python3"))
    found = interpreters.find_interpreter()
    assert found is not None and found.version == (3, 11, 7)
    monkeypatch.setenv("PYENV_ROOT", str(pyenv))
    found = interpreters.find_interpreter()
    assert found is not None and found.version == (3, 14, 1), "3.15 is not supported, 3.14.9 does not work"
    assert interpreters.find_interpreter((3, 13), (3, 13)) is None


@posix_only
def test_a_pyenv_is_found_by_its_shims_where_home_is_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_python(tmp_path / "pyenv" / "shims" / "python3", "3.11.7")
    fake_python(tmp_path / "pyenv" / "versions" / "3.13.0" / "bin" / "python3", "3.13.0")
    monkeypatch.setenv("PATH", str(tmp_path / "pyenv" / "shims"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PYENV_ROOT", raising=False)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "pyenv" / "shims" / "python3"))
    found = interpreters.find_interpreter()
    assert found is not None and found.version == (3, 13, 0)


def test_a_killed_installation_is_not_taken_for_complete(tmp_path: Path) -> None:
    lock = tmp_path / "evaluator.lock"
    lock.write_text("six==1.0\n")
    folder = tmp_path / "environment"
    python = create.python_of(folder)
    python.parent.mkdir(parents=True)
    python.touch()
    assert not create.is_complete(folder, lock)
    (folder / "installed-evaluator.lock").write_text("six==1.0\n")
    assert create.is_complete(folder, lock)
    lock.write_text("six==1.1\n")
    assert not create.is_complete(folder, lock), "another lock file is another environment"


def test_a_package_that_cannot_be_installed_leaves_no_stamp(tmp_path: Path) -> None:
    lock = tmp_path / "evaluator.lock"
    lock.write_text(f"{tmp_path / 'missing-1.0-py3-none-any.whl'} --hash=sha256:{'0' * 64}\n")
    kind = create.Kind("evaluator", lock, interpreters.OLDEST, interpreters.NEWEST)
    said: list[str] = []
    with pytest.raises(OperationalError, match=r"evaluator\.lock could not be installed"):
        create.install(kind, tmp_path / "environment", say=said.append, python=sys.executable)
    assert said and not create.is_complete(tmp_path / "environment", lock)


def test_no_fitting_interpreter_is_bad_input(tmp_path: Path) -> None:
    kind = create.Kind("bpy", create.BPY.lock, (3, 99), (3, 99))
    with pytest.raises(BadInputError, match=r"needs Python 3\.99"):
        create.install(kind, tmp_path / "environment", say=lambda text: None)


def test_lock_files_pin_and_hash_every_package_and_name_no_index() -> None:
    for lock in (create.EVALUATOR.lock, create.BPY.lock, create.TEST_TOOLS):
        text = lock.read_text()
        requirements = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
        assert requirements and all("==" in line for line in requirements)
        assert len(re.findall(r"--hash=sha256:[0-9a-f]{64}", text)) >= len(requirements)
        assert "://" not in text and "index" not in text
    names = {line.split("==")[0] for line in create.EVALUATOR.lock.read_text().splitlines() if "==" in line}
    assert "torch" not in names, "the base installation has no torch"
    assert "opencv-python" not in names, "it would need a window system"


def test_one_version_everywhere(root: Path) -> None:
    assert tomllib.loads((root / "blender_manifest.toml").read_text())["version"] == VERSION
    assert f"## {VERSION}" in (root / "CHANGELOG.md").read_text()


def launcher(root: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(root / "run"), *arguments],
        capture_output=True, text=True, env={**os.environ, **variables}, timeout=120, check=False,
    )  # fmt: skip


def test_help_needs_no_environment(root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "a checkout with spaces & ümlauts"
    for name in ("run", "__init__.py", "__main__.py"):
        copy.mkdir(exist_ok=True)
        shutil.copy(root / name, copy / name)
    shutil.copytree(root / "evaluator", copy / "evaluator", ignore=shutil.ignore_patterns("__pycache__"))
    answer = launcher(copy, "--help")
    assert answer.returncode == 0 and "demo" in answer.stdout and not (copy / ".venv").exists()
    assert launcher(copy, "--version").stdout == f"matchcut {VERSION}\n"


def test_doctor_names_keys_and_never_shows_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MATCHCUT_LOCAL_API_KEY", "canary-key")
    finding = doctor._judge_keys()
    assert finding.state == "ok" and "MATCHCUT_LOCAL_API_KEY is set" in finding.found and "canary" not in finding.found


def test_doctor_says_what_is_missing_and_what_mends_it() -> None:
    said: list[str] = []
    findings = [
        doctor.Finding("Python", "ok", "3.13"),
        doctor.Finding("Blender", "missing", "none", "./run setup --bpy"),
    ]
    assert not doctor.describe(iter(findings), said.append)
    assert said[1].startswith("missing   Blender") and said[2].strip() == "→ ./run setup --bpy"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a pipe as a file")
def test_what_is_no_blend_is_told_and_never_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.blend")
    (tmp_path / "text.blend").write_text("no scene")
    for name, said in (("pipe.blend", "not a file"), ("text.blend", "not a .blend"), ("gone.blend", "no such file")):
        with pytest.raises(BadInputError, match=said):
            blend_sha256(tmp_path / name)
