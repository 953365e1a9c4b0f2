# SPDX-License-Identifier: GPL-3.0-or-later
"""The evaluator installed by the real program from a clean profile: cut off, gone on with, broken, mended, removed.

It is the real lock file, from the package index that this machine's pip is set to; without one these are skipped.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from matchcut.evaluator.cli.extension import build
from matchcut.evaluator.environment.blender import find_blender
from matchcut.evaluator.environment.condition import condition, facts, fresh_of, python_of
from matchcut.evaluator.environment.create import EVALUATOR
from matchcut.evaluator.protocol.children import child_environment, kill_group, own_group

MODULE = "bl_ext.user_default.matchcut"
INSTALL = "import bpy; bpy.ops.matchcut.install_evaluator()"
STATE = f"""
import json, sys
state = sys.modules["{MODULE}.addon.jobs"].evaluator()
known = sys.modules["{MODULE}.addon.sidebar.evaluator.environment"].known()
print("STATE", json.dumps([state.condition, state.python, known.packages, known.bytes]))
"""
posix_only = pytest.mark.skipif(os.name != "posix", reason="processes are found and ended by POSIX means")


@pytest.fixture(scope="module")
def program():
    """The Blender program; the bpy wheel cannot install extensions."""
    blender = find_blender()
    if blender.kind != "program":
        pytest.skip("needs the Blender program; set $BLENDER to one")
    return blender.path


@pytest.fixture(scope="module")
def package(root, program, tmp_path_factory):
    """The extension's zip."""
    return build(root, tmp_path_factory.mktemp("dist"), blender=program)


@pytest.fixture
def profile(program, package, tmp_path):
    """Environment of a clean profile with the zip installed, and caches of its own."""
    environment = {
        **child_environment(),
        "BLENDER_USER_RESOURCES": str(tmp_path / "profile"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "MATCHCUT_CACHE_FOLDER": str(tmp_path / "cache"),
    }
    environment.pop("MATCHCUT_PYTHON", None)
    for name in ("PIP_CERT", "SSL_CERT_FILE"):  # the program may see other system folders than we do
        if os.environ.get(name) and Path(os.environ[name]).is_file():
            environment[name] = shutil.copy(os.environ[name], tmp_path / f"{name}.pem")
    install = [program, "--command", "extension", "install-file", "-r", "user_default", "--enable", str(package)]
    subprocess.run(install, env=environment, capture_output=True, timeout=300, check=True)
    return environment


@pytest.fixture
def index(program, profile, tmp_path):
    """Skips where no package can be had."""
    environment = tmp_path / "trial"
    code = (
        "import subprocess, sys; "
        f"subprocess.run([sys.executable, '-m', 'venv', {str(environment)!r}], check=True); "
        f"subprocess.run([{str(python_of(environment))!r}, '-m', 'pip', 'download', '--no-deps', '--retries', '0',"
        f" '-d', {str(environment)!r}, 'mdurl==0.1.2'], check=True)"
    )
    answer = blender(program, profile, code, status=None)
    if answer.returncode != 0:
        pytest.skip(f"no package index answers here: {answer.stderr[-300:]}")


def command_of(program, code):
    return [program, "-b", "--online-mode", "--python-exit-code", "1", "--python-expr", code]


def blender(program, environment, code, status=0, seconds=900):
    answer = subprocess.run(
        command_of(program, code),
        env=environment, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    assert status is None or answer.returncode == status, answer.stdout[-3000:] + answer.stderr[-3000:]
    return answer


def state_of(program, environment):
    answer = blender(program, environment, STATE)
    return json.loads(answer.stdout.partition("STATE ")[2].splitlines()[0])


def evaluator_folder(environment):
    return (
        Path(environment["BLENDER_USER_RESOURCES"]) / "extensions" / ".user" / "user_default" / "matchcut" / "evaluator"
    )


def downloaded(environment):
    return sorted((Path(environment["MATCHCUT_CACHE_FOLDER"]) / "downloads" / "evaluator").glob("*.whl"))


def at_work(folder):
    """Ids of processes that were given this folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(folder).encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def wait_for(condition, seconds):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, condition
        time.sleep(0.05)


def started(program, environment):
    return subprocess.Popen(
        command_of(program, INSTALL),
        env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **own_group(),
    )  # fmt: skip


@posix_only
def test_cut_off_twice_gone_on_with_broken_and_mended(program, profile, index):
    folder = evaluator_folder(profile)
    assert state_of(program, profile)[0] == "missing"

    # Blender is killed while packages are downloaded: what it started tidies up and ends
    process = started(program, profile)
    wait_for(lambda: len(downloaded(profile)) >= 5, 300)
    kill_group(process)
    wait_for(lambda: not at_work(folder.parent), 30)
    assert not folder.exists() and not fresh_of(folder).exists(), "nothing half-made is left"
    kept = downloaded(profile)
    assert len(kept) >= 5

    # everything is killed at once while packages are put in
    process = started(program, profile)
    wait_for(lambda: len(list(fresh_of(folder).glob("lib/python*/site-packages/*.dist-info"))) > 12, 600)
    for pid in at_work(folder.parent):
        os.kill(pid, signal.SIGKILL)
    kill_group(process)
    wait_for(lambda: not at_work(folder.parent), 10)
    assert state_of(program, profile)[0] == "unfinished", "a half environment is not taken for a whole one"
    assert set(kept) <= set(downloaded(profile))

    # the rest needs no index: all that is wanted was downloaded
    offline = {**profile, "PIP_NO_INDEX": "1"}
    blender(program, offline, INSTALL)
    state, python, packages, size = state_of(program, profile)
    assert state == "ready" and Path(python) == python_of(folder) and packages > 40 and size > 300e6
    check = (
        f"import subprocess; subprocess.run([{python!r}, {str(extension(profile))!r}, 'setup', '--check'], check=True)"
    )
    said = blender(program, profile, check).stdout
    assert '"missing": {}' in said and '"differing": {}' in said
    command = [program, "--command", "matchcut", "probe", "/no/such/video.mp4"]
    answer = subprocess.run(command, env=profile, capture_output=True, text=True, timeout=300, check=False)
    assert answer.returncode == 2 and "no/such/video.mp4" in answer.stdout + answer.stderr

    # the Python that it borrows from goes away, as after an update of Blender
    python_of(folder).unlink()
    python_of(folder).symlink_to(folder.parent / "gone" / "python")
    assert state_of(program, profile)[0] == "broken"
    blender(program, offline, INSTALL)
    assert state_of(program, profile)[0] == "ready"
    assert facts(folder)["packages"] == packages

    # an update of the extension brings another lock file
    lock = extension(profile).parent / "evaluator" / "environment" / EVALUATOR.lock.name
    lock.write_bytes(lock.read_bytes() + b"# another version\n")
    assert state_of(program, profile)[0] == "outdated"

    blender(program, profile, "import bpy; bpy.ops.matchcut.remove_evaluator()")
    assert not folder.exists() and [path.name for path in folder.parent.iterdir() if "evaluator" in path.name] == []
    assert state_of(program, profile)[0] == "missing"


def extension(environment):
    return Path(environment["BLENDER_USER_RESOURCES"]) / "extensions" / "user_default" / "matchcut" / "__main__.py"


def test_without_a_network_it_is_one_line_and_nothing_is_left(program, profile):
    environment = {**profile, "PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_CONFIG_FILE": os.devnull}
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
        environment.pop(name, None)
    answer = blender(program, environment, INSTALL, status=1)
    said = [line for line in (answer.stdout + answer.stderr).splitlines() if "could not be downloaded" in line]
    assert said and "the package index does not answer; see to the network" in said[-1], answer.stdout + answer.stderr
    assert condition(evaluator_folder(profile), EVALUATOR.lock) == "missing"
    assert not evaluator_folder(profile).exists()


def test_nothing_is_downloaded_where_blender_may_not_go_online(program, profile):
    command = [program, "-b", "--offline-mode", "--python-exit-code", "1", "--python-expr", INSTALL]
    answer = subprocess.run(command, env=profile, capture_output=True, text=True, timeout=300, check=False)
    assert answer.returncode == 1 and "poll" in answer.stdout + answer.stderr
    assert not evaluator_folder(profile).exists()


@posix_only
def test_a_full_disk_is_one_line_and_nothing_half_made_is_left(program, profile, index, tmp_path):
    small = tmp_path / "cache"
    small.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(small)]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"no small disk can be made here: {mounted.stderr.strip()}")
    try:
        answer = blender(program, profile, INSTALL, status=1)
        said = [line for line in (answer.stdout + answer.stderr).splitlines() if "disk is full" in line]
        assert said and said[-1].endswith("the disk is full; free some space, then install again"), answer.stdout
        assert not evaluator_folder(profile).exists()
        left = list((small / "downloads" / "evaluator").iterdir())
        assert left and all(path.suffix == ".whl" for path in left), "whole downloads alone are kept"
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_the_evaluators_python_is_blenders_own(program, profile):
    """The builds of blender.org bring 3.13, distributions their own."""
    code = "import sys; print('PYTHON', *sys.version_info[:2])"
    version = tuple(map(int, blender(program, profile, code).stdout.partition("PYTHON ")[2].split()[:2]))
    assert EVALUATOR.oldest <= version <= EVALUATOR.newest
    assert sys.version_info[:2] >= EVALUATOR.oldest
