# SPDX-License-Identifier: GPL-3.0-or-later
"""Interpreters, environments and the launcher."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from matchcut.evaluator.environment import caches, condition, create, doctor, downloads, interpreters, packages
from matchcut.evaluator.environment.blender import blend_sha256
from matchcut.evaluator.protocol.errors import BadInputError, OperationalError
from matchcut.evaluator.protocol.lock import sole_user
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


def make_environment(folder: Path, lock: Path, stamp: str, version: str = "3.13.1") -> Path:
    """A folder that looks like an environment, stamped as made from a lock file with this text."""
    base = folder.parent / "base" / f"python{version.rpartition('.')[0]}"
    base.parent.mkdir(exist_ok=True)
    base.touch()
    python = condition.python_of(folder)
    python.parent.mkdir(parents=True)
    python.symlink_to(base)
    (folder / "pyvenv.cfg").write_text(f"home = {base.parent}\nversion = {version}\n")
    if stamp:
        (folder / f"installed-{lock.name}").write_text(stamp)
    return base


@posix_only
def test_what_a_folder_holds_is_told_apart(tmp_path: Path) -> None:
    lock = tmp_path / "evaluator.lock"
    lock.write_text("six==1.0\n")
    folder = tmp_path / "environment"
    assert condition.condition(folder, lock) == "missing"
    base = make_environment(folder, lock, "")
    assert condition.condition(folder, lock) == "unfinished", "a killed installation is not taken for complete"
    (folder / "installed-evaluator.lock").write_text("six==1.0\n")
    assert condition.condition(folder, lock) == "ready" and condition.is_complete(folder, lock)
    lock.write_text("six==1.1\n")
    assert condition.condition(folder, lock) == "outdated", "another lock file is another environment"
    lock.write_text("six==1.0\n")
    base.unlink()
    assert condition.condition(folder, lock) == "broken", "the Python that it borrows from is gone"


@posix_only
def test_a_system_python_that_became_another_version_breaks_the_environment(tmp_path: Path) -> None:
    lock = tmp_path / "evaluator.lock"
    lock.write_text("six==1.0\n")
    folder = tmp_path / "environment"
    base = make_environment(folder, lock, "six==1.0\n", "3.14.10")
    link = base.with_name("python3")
    base.rename(base.with_name("python3.15"))
    link.symlink_to("python3.15")
    python = condition.python_of(folder)
    python.unlink()
    python.symlink_to(link)  # as `python -> /usr/bin/python3` after an update of the system
    assert condition.condition(folder, lock) == "broken"


def wheel(folder: Path, name: str, text: str = "") -> str:
    """A package of one module, as a wheel; returns its line for a lock file."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.py", text)
        archive.writestr(f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(
            f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{name}-1.0.dist-info/RECORD", "")
    return f"{name}==1.0 --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels in the place of the package index, and a cache folder of the test's own."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.setenv("MATCHCUT_CACHE_FOLDER", str(tmp_path / "cache"))
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_CONFIG_FILE"):
        monkeypatch.setenv(name, os.devnull if name == "PIP_CONFIG_FILE" else "")
    return tmp_path / "index"


def small_kind(tmp_path: Path, *lines: str) -> create.Kind:
    lock = tmp_path / "evaluator.lock"
    lock.write_text("".join(lines))
    return create.Kind("evaluator", lock, interpreters.OLDEST, interpreters.NEWEST)


def test_an_installation_goes_on_from_what_was_downloaded(tmp_path: Path, index: Path) -> None:
    lines = [
        wheel(index, "first"),
        wheel(index, "second"),
        'other==1.0 ; sys_platform == "none" --hash=sha256:' + "0" * 64,
    ]
    kind, folder = small_kind(tmp_path, *lines), tmp_path / "environment"
    (index / "second-1.0-py3-none-any.whl").rename(tmp_path / "away.whl")
    with pytest.raises(OperationalError, match="second could not be downloaded"):
        create.install(kind, folder, say=lambda text: None, python=sys.executable)
    assert not folder.exists(), "nothing half-made is left"
    kept = tmp_path / "cache" / "downloads" / "evaluator"
    assert [path.name for path in kept.iterdir()] == ["first-1.0-py3-none-any.whl"]
    assert "second" in create.log_of(folder).read_text()

    (tmp_path / "away.whl").rename(index / "second-1.0-py3-none-any.whl")
    (index / "first-1.0-py3-none-any.whl").unlink()  # it is not asked for again
    told: list[tuple[str, int, int]] = []
    python = create.install(
        kind, folder, say=lambda text: None, tell=lambda *told_now: told.append(told_now[:3]), python=sys.executable
    )
    subprocess.run([str(python), "-c", "import first, second"], check=True)
    assert condition.condition(folder, kind.lock) == "ready"
    noted = condition.facts(folder)
    assert noted["packages"] >= 3 and noted["bytes"] > 1_000_000 and noted["python"].startswith("3.")
    assert ("download_packages", 1, 3) in told and told[-1] == ("install_packages", 2, 2)

    freed = create.remove(folder, say=lambda text: None)
    assert freed == pytest.approx(noted["bytes"], rel=0.2) and not folder.exists()


def test_an_update_that_fails_leaves_the_environment_that_works(tmp_path: Path, index: Path) -> None:
    kind, folder = small_kind(tmp_path, wheel(index, "first")), tmp_path / "environment"
    python = create.install(kind, folder, say=quiet, python=sys.executable)
    updated = small_kind(tmp_path, wheel(index, "first"), wheel(index, "second"))
    (index / "second-1.0-py3-none-any.whl").rename(tmp_path / "away.whl")
    with pytest.raises(OperationalError, match="second could not be downloaded"):
        create.install(updated, folder, say=quiet, python=sys.executable)
    subprocess.run([str(python), "-c", "import first"], check=True)
    assert condition.condition(folder, updated.lock) == "outdated"
    assert "second" in create.log_of(folder).read_text()
    assert not condition.fresh_of(folder).exists()

    (tmp_path / "away.whl").rename(index / "second-1.0-py3-none-any.whl")
    condition.fresh_of(folder).mkdir()  # as a run that was killed leaves it
    (condition.fresh_of(folder) / "pyvenv.cfg").write_text("")
    assert create.install(updated, folder, say=quiet, python=sys.executable) == python
    subprocess.run([str(python), "-c", "import first, second"], check=True)
    assert [path.name for path in tmp_path.glob(".*environment*")] == [], "nothing is left beside it"


def test_a_first_run_that_was_killed_is_unfinished_and_can_be_removed(tmp_path: Path) -> None:
    folder, lock = tmp_path / "environment", create.EVALUATOR.lock
    assert condition.condition(folder, lock) == "missing"
    condition.fresh_of(folder).mkdir()
    (condition.fresh_of(folder) / "pyvenv.cfg").write_text("")
    assert condition.condition(folder, lock) == "unfinished"
    create.remove(folder, say=quiet)
    assert condition.condition(folder, lock) == "missing" and not condition.fresh_of(folder).exists()


def test_what_was_cut_off_in_its_place_does_not_outlive_a_run_that_fails(tmp_path: Path, index: Path) -> None:
    kind, folder = small_kind(tmp_path, wheel(index, "first")), tmp_path / "environment"
    folder.mkdir()
    (folder / "pyvenv.cfg").touch()  # as a power cut leaves it
    (index / "first-1.0-py3-none-any.whl").unlink()
    with pytest.raises(OperationalError, match="first could not be downloaded"):
        create.install(kind, folder, say=quiet, python=sys.executable)
    assert condition.condition(folder, kind.lock) == "missing"


def quiet(*_: object) -> None:
    """Takes progress and log lines."""


def test_a_package_that_is_not_the_one_of_the_lock_is_refused(tmp_path: Path, index: Path) -> None:
    lock = tmp_path / "evaluator.lock"
    lock.write_text(wheel(index, "first"))
    wheel(index, "first", "import os  # something else")
    with pytest.raises(OperationalError, match="not the one that was tested"):
        downloads.fetch(Path(sys.executable), lock, tmp_path / "kept", quiet, quiet)
    assert list((tmp_path / "kept").iterdir()) == []


def test_a_half_file_among_the_downloads_is_fetched_again(tmp_path: Path, index: Path) -> None:
    lock, kept = tmp_path / "evaluator.lock", tmp_path / "kept"
    lock.write_text(wheel(index, "first"))
    kept.mkdir()
    (kept / "first-1.0-py3-none-any.whl").write_bytes(b"PK")
    (kept / "old-1.0-py3-none-any.whl").write_bytes(b"of another lock file")
    assert downloads.fetch(Path(sys.executable), lock, kept, quiet, quiet) == 1
    downloads.forget_others(lock, kept)
    assert [path.name for path in kept.iterdir()] == ["first-1.0-py3-none-any.whl"]
    assert (kept / "first-1.0-py3-none-any.whl").read_bytes() == (index / "first-1.0-py3-none-any.whl").read_bytes()


def test_a_wheel_for_another_python_among_the_downloads_is_not_taken_for_this_one(tmp_path: Path, index: Path) -> None:
    lock, kept = tmp_path / "evaluator.lock", tmp_path / "kept"
    line = wheel(index, "first")
    kept.mkdir()
    other = kept / "first-1.0-cp39-cp39-manylinux_2_17_x86_64.whl"
    other.write_bytes(b"for an older Python")
    lock.write_text(f"{line.rstrip()} --hash=sha256:{hashlib.sha256(other.read_bytes()).hexdigest()}\n")
    assert downloads.fetch(Path(sys.executable), lock, kept, quiet, quiet) == 1
    assert (kept / "first-1.0-py3-none-any.whl").is_file()
    assert downloads.fetch(Path(sys.executable), lock, kept, quiet, quiet) == 1  # nothing anew, and the other stays
    assert other.is_file()


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("first-1.0-py3-none-any", True),
        ("first-1.0-py2.py3-none-any", True),
        ("cffi-2.1.1-cp314-cp314-manylinux_2_17_x86_64", True),
        ("cffi-2.1.1-cp313-cp313-manylinux_2_17_x86_64", False),
        ("av-19.0.2-cp312-abi3-win_amd64", True),
        ("av-19.0.2-cp315-abi3-win_amd64", False),
        ("more-1.0-2-cp314-cp314-macosx_14_0_arm64", True),
        ("no wheel's name", False),
    ],
)
def test_the_tags_in_a_wheels_name_tell_whether_it_is_for_a_python(name: str, fits: bool) -> None:
    assert downloads._is_for((3, 14), name) is fits


def test_too_little_space_is_told_before_anything_is_made(tmp_path: Path) -> None:
    kind = create.Kind("evaluator", create.EVALUATOR.lock, interpreters.OLDEST, interpreters.NEWEST, 10**18)
    with pytest.raises(OperationalError, match="GB are free, and the evaluator needs") as caught:
        create.install(kind, tmp_path / "environment", say=lambda text: None, python=sys.executable)
    assert "\n" not in str(caught.value) and list(tmp_path.iterdir()) == []


def test_only_one_installation_works_in_a_folder(tmp_path: Path, index: Path) -> None:
    kind, folder = small_kind(tmp_path, wheel(index, "first")), tmp_path / "environment"
    with create._at_work(folder), pytest.raises(BadInputError, match="another run works in this folder"):
        create.install(kind, folder, say=lambda text: None, python=sys.executable)


def test_a_folder_that_is_no_environment_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "text.txt").write_text("years of work")
    with pytest.raises(BadInputError, match="no environment"):
        create.remove(tmp_path / "thesis", say=lambda text: None)
    assert (tmp_path / "thesis" / "text.txt").is_file()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
        ("NewConnectionError: Failed to establish: [Errno -2] Name or service not known", "does not answer"),
        ("URLError: [Errno 11001] getaddrinfo failed", "does not answer"),
        ("SSLError: certificate verify failed: self-signed certificate", "certificate is not trusted"),
        ("ProxyError('Cannot connect to proxy.')", "look at HTTPS_PROXY"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE", "not the one that was tested"),
        ("ERROR: No matching distribution found for numpy==9", "No matching distribution found for numpy==9"),
    ],
)
def test_pips_failures_are_one_line_that_says_what_to_do(line: str, said: str) -> None:
    text = downloads.reason(["Collecting numpy", line, "ERROR: later words" if "ERROR" not in line else ""])
    assert said in text and "\n" not in text and ("again" in text)


@posix_only
def test_a_python_without_ensurepip_is_named_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "python3.14"
    python.write_text("#!/bin/sh\nprintf '3 14\\nensurepip\\n'\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "platform", "linux")
    why = interpreters.obstacle(str(python))
    assert "has no ensurepip" in why and "sudo apt install python3-venv" in why and "\n" not in why
    monkeypatch.setattr(create, "find_interpreter", lambda *_: None)
    with pytest.raises(BadInputError, match="has no ensurepip"):
        create.install(create.EVALUATOR, tmp_path / "environment", say=lambda text: None, python=str(python))


@posix_only
def test_another_python_is_taken_where_the_named_one_cannot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python3.14"
    python.write_text("#!/bin/sh\nprintf '3 14\\nensurepip\\n'\n")
    python.chmod(0o755)
    said: list[str] = []
    made: list[interpreters.Interpreter] = []
    monkeypatch.setattr(create, "_make", lambda chosen, *_: made.append(chosen))
    kind = create.Kind("evaluator", create.EVALUATOR.lock, interpreters.OLDEST, interpreters.NEWEST)
    create.install(kind, tmp_path / "environment", say=said.append, python=str(python))
    assert made == [interpreters.find_interpreter()]
    assert "has no ensurepip" in said[0] and said[0].endswith("is used in its place")


def test_a_python_that_is_too_new_is_refused(tmp_path: Path) -> None:
    assert interpreters.obstacle(sys.executable, (3, 99), (3, 99)).startswith(f"{sys.executable} is Python")
    assert "does not run as a Python" in interpreters.obstacle(str(tmp_path / "none"))


def test_what_is_needed_is_what_the_package_asks_for(root: Path) -> None:
    wanted = tomllib.loads((root / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {re.split(r"[<>=]", one)[0] for one in wanted} == set(packages.MODULES)


def test_a_python_without_the_packages_says_which(root: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    answer = subprocess.run(
        [str(condition.python_of(tmp_path / "bare")), str(root / "__main__.py"), "setup", "--check"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert answer.returncode == 2 and answer.stderr.count("\n") == 1
    assert "lacks 12 of the packages: anthropic, av" in answer.stderr


class TestCaches:
    """Sizes and clearing, without touching anything that is no cache."""

    @pytest.fixture(autouse=True)
    def folders(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.temporary = tmp_path / "cache", tmp_path / "temporary"
        self.root.mkdir(), self.temporary.mkdir()
        monkeypatch.setenv("MATCHCUT_CACHE_FOLDER", str(self.root))
        monkeypatch.setenv("MATCHCUT_BRIDGE_FOLDER", str(self.root / "bridge"))
        monkeypatch.setattr(tempfile, "tempdir", str(self.temporary))

    def test_each_is_counted_and_cleared_alone(self) -> None:
        for name, size in (("frames", 1000), ("motion", 20), ("bridge", 7)):
            (self.root / name / "deep").mkdir(parents=True)
            (self.root / name / "deep" / "file").write_bytes(b"x" * size)
        found = {one.name: (one.bytes, one.files) for one in caches.caches()}
        assert found == {"frames": (1000, 1), "motion": (20, 1)}, "running bridges are no cache"
        assert caches.clear("frames") == 1000
        assert [one.name for one in caches.caches()] == ["motion"]
        for name in ("bridge", "..", "frames", "no/such"):
            with pytest.raises(BadInputError, match="no such cache"):
                caches.clear(name)
        assert (self.root / "bridge" / "deep" / "file").is_file()

    def test_what_killed_runs_left_goes_and_what_is_at_work_stays(self) -> None:
        for name in ("matchcut-audit-abcd1234", "matchcut-rerender-abcd1234", "matchcut-mine", "other"):
            (self.temporary / name).mkdir()
            (self.temporary / name / "file").write_bytes(b"x" * 10)
            os.utime(self.temporary / name, (0, 0))
        held = self.temporary / "matchcut-rerender-abcd1234"
        with sole_user(held):
            os.utime(held, (0, 0))
            assert [one.name for one in caches.caches()] == ["scratch"]
            assert caches.clear("scratch") == 10
        left = sorted(path.name for path in self.temporary.iterdir())
        assert left == ["matchcut-mine", "matchcut-rerender-abcd1234", "other"]


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
