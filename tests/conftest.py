# SPDX-License-Identifier: GPL-3.0-or-later
"""What all levels of test share: the package under its name, real clips where they lie, a place for pictures."""

import functools
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def _repeat_the_same_examples() -> None:
    """A run says the same of the same code; `--hypothesis-profile=default` looks for new examples."""
    if importlib.util.find_spec("hypothesis"):
        from hypothesis import settings

        settings.register_profile("repeatable", derandomize=True, deadline=None)
        settings.load_profile("repeatable")


def _load_package() -> None:
    spec = importlib.util.spec_from_file_location("matchcut_main", ROOT / "__main__.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.load_package()


_repeat_the_same_examples()
_load_package()


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root."""
    return ROOT


@pytest.fixture(scope="session")
def media() -> Path:
    """The folder of real clips; the test is skipped where it is not there."""
    folder = ROOT.parent / "shared" / "media"
    if not folder.is_dir():
        pytest.skip("the real clips (../shared/media) are not on this machine")
    return folder


@pytest.fixture(scope="session")
def artifacts() -> Path:
    """Where pictures and logs are kept for people to look at."""
    folder = ROOT / "tests" / "artifacts"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def need_evaluator_inside():
    """A function that skips the test where this interpreter does not start inside a Blender, which may be a sandbox."""

    @functools.cache
    def starts(program: str) -> bool:
        code = f"import subprocess; subprocess.run([{sys.executable!r}, '-c', 'import av, pydantic'], check=True)"
        command = [program, "-b", "--factory-startup", "--python-exit-code", "1", "--python-expr", code]
        answer = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=300, check=False)
        return answer.returncode == 0

    def need(program: str) -> None:
        if not starts(program):
            pytest.skip(f"the evaluator's Python ({sys.executable}) does not run from inside {program}")

    return need
