# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Blender runs the children: `$BLENDER`, else a `blender` on PATH, else the bpy wheel in its own environment."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..protocol.children import child_environment, kill_group, own_group
from ..protocol.errors import BadInputError, OperationalError
from ..protocol.files import sha256_of
from .create import BPY, PACKAGE_ROOT, bpy_python, default_folder, install

MINIMUM = (5, 2)
START_SECONDS = 120
"""A first start from a cold disk takes the bpy wheel half a minute."""
# a .blend as it is, compressed with Zstandard, or with gzip by an older Blender
BLEND_MAGIC = (b"BLENDER", b"\x28\xb5\x2f\xfd", b"\x1f\x8b")
HEADLESS = PACKAGE_ROOT / "addon" / "headless.py"


@dataclass(frozen=True)
class Blender:
    """A Blender that can run `addon/headless.py`: the program, or a Python interpreter that has the bpy wheel."""

    path: str
    kind: Literal["program", "wheel"]
    version: str

    def command(self, *arguments: str, scene: Path | None = None) -> list[str]:
        """Command line that runs `addon/headless.py -- ARGUMENTS`, with `scene` opened first where one is given.

        The child starts from factory settings, without the scripts of the .blend, and ends with a status that is not 0
        where the script raises.
        """
        if self.kind == "wheel":
            opened = ["--scene", str(scene)] if scene is not None else []
            return [self.path, str(HEADLESS), *opened, "--", *arguments]
        opened = [str(scene)] if scene is not None else []
        options = ["-b", "--factory-startup", "--disable-autoexec", *opened, "--python-exit-code", "1"]
        return [self.path, *options, "--python", str(HEADLESS), "--", *arguments]


def find_blender(say: Callable[[str], None] | None = None) -> Blender:
    """The Blender that children run in; where there is none and `say` is given, the bpy wheel is installed first.

    Raises BadInputError where none is found, the one asked for is too old, or the wheel has no Python 3.13 to live in.
    """
    wanted = os.environ.get("BLENDER")
    if wanted:
        return identify(wanted, "$BLENDER")
    on_path = shutil.which("blender")
    too_old: BadInputError | None = None
    if on_path is not None:
        try:
            return identify(on_path, "blender on PATH")
        except BadInputError as error:
            too_old = error
    python = bpy_python()
    if python is None and say is not None:
        say(f"{too_old or 'no Blender was found'}; the bpy wheel is used in its place")
        try:
            python = install(BPY, default_folder(BPY), say=say)
        except BadInputError as error:
            raise BadInputError(
                f"no Blender 5.2 or newer: set $BLENDER to its program, or mend this: {error}"
            ) from error
    if python is None:
        raise too_old or BadInputError(
            "no Blender 5.2 or newer was found; set $BLENDER to its program, or run: matchcut setup --bpy"
        )
    return identify(str(python), "the bpy wheel")


def run_child(
    command: list[str], *, seconds: float, stdin: int = subprocess.DEVNULL
) -> subprocess.CompletedProcess[str]:
    """Run a child of `child_environment` to its end and return what it printed.

    It is ended with all that it started where this process is interrupted or `seconds` have passed. Raises
    subprocess.TimeoutExpired, or OSError where it does not start.
    """
    with subprocess.Popen(
        command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=child_environment(), **own_group()
    ) as process:
        try:
            printed, told = process.communicate(timeout=seconds)
        except BaseException:
            kill_group(process)
            raise
    return subprocess.CompletedProcess(
        command, process.returncode, printed.decode("utf-8", "replace"), told.decode("utf-8", "replace")
    )


def run_headless(
    blender: Blender, command: str, *arguments: str, seconds: float, where: str
) -> subprocess.CompletedProcess[str]:
    """Run a short command of `addon/headless.py` in a child that ends itself when this process does.

    `where` names in an error what it was for. Raises BadInputError where Blender does not start, OperationalError where
    `seconds` have passed.
    """
    followed, held = os.pipe()  # the child ends itself when this process does, and with it the held end
    try:
        return run_child(blender.command(command, *arguments, "--follow-parent"), seconds=seconds, stdin=followed)
    except OSError as error:
        raise BadInputError(f"{blender.path}: Blender does not start ({error}); run: matchcut doctor") from error
    except subprocess.TimeoutExpired:
        raise OperationalError(f"{where}: Blender took more than {seconds:g} s; try again") from None
    finally:
        os.close(followed)
        os.close(held)


def blend_sha256(scene: Path) -> str:
    """Hash of a .blend. Raises BadInputError where it is none, or cannot be read."""
    try:
        if scene.exists() and not scene.is_file():  # a pipe would be waited for
            raise BadInputError(f"{scene}: not a file; name a .blend")
        with scene.open("rb") as file:
            magic = file.read(7)
        if not magic.startswith(BLEND_MAGIC):
            raise BadInputError(f"{scene}: not a .blend file; save the scene in Blender and name that file")
        return sha256_of(scene)
    except FileNotFoundError:
        raise BadInputError(f"{scene}: there is no such file; name a .blend") from None
    except OSError as error:
        raise BadInputError(f"{scene}: cannot be read ({error})") from error


def identify(path: str, source: str) -> Blender:
    """Ask the program or interpreter at `path` for its version; `source` says in an error where the path came from.

    Raises BadInputError where it does not start, has no bpy, or is older than 5.2.
    """
    is_python = re.match(r"(python|pypy)", Path(path).name.lower()) is not None
    question = ["-c", "import bpy; print('Blender', bpy.app.version_string)"] if is_python else ["--version"]
    try:
        answer = run_child([path, *question], seconds=START_SECONDS)
    except subprocess.TimeoutExpired:
        raise BadInputError(
            f"{source} ({path}) told no version within {START_SECONDS} s; set $BLENDER to a Blender 5.2 or newer"
        ) from None
    except (OSError, ValueError) as error:
        raise BadInputError(
            f"{source} ({path}) does not start: {error}; set $BLENDER to a Blender 5.2 or newer"
        ) from error
    found = re.search(r"Blender (\d+)\.(\d+)(\.\d+)?", answer.stdout)
    if found is None:
        reason = (answer.stderr.strip().splitlines() or ["it printed no version"])[-1]
        raise BadInputError(f"{source} ({path}) does not run: {reason}; run: matchcut doctor")
    version = found.group(0).removeprefix("Blender ")
    if (int(found.group(1)), int(found.group(2))) < MINIMUM:
        raise BadInputError(f"{source} ({path}) is Blender {version}; 5.2 or newer is needed; set $BLENDER to one")
    return Blender(path, "wheel" if is_python else "program", version)
