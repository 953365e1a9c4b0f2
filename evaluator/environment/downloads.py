# SPDX-License-Identifier: GPL-3.0-or-later
"""The packages that a lock file lists, fetched one by one into a folder where each is kept once it is whole.

pip finds, downloads and checks them, with this machine's own settings (index, proxy, certificates); a run that was
interrupted fetches only what is not there yet. Standard library only: this runs before any package is installed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from ..protocol.children import child_environment
from ..protocol.errors import OperationalError
from ..protocol.files import sha256_of

Progress = Callable[[str, int, int, str], None]
"""Told the stage (`download_packages`, `install_packages`), how many of how many are done, and what is at work."""
Note = Callable[[list[str]], None]
"""Takes lines for the log."""

AT_ONCE: Final = 3
"""Starting pip costs more than a small package's download; more at once would only fight for the line."""
_OLD: Final = 3600.0
"""Seconds after which nobody works in a folder of unfinished downloads any more."""
_PARTIAL: Final = ".partial-"
_HASH: Final = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_BYTES: Final = re.compile(rb"Progress (\d+) of (\d+)")


@dataclass(frozen=True)
class Requirement:
    """One entry of a lock file: the package's name, its lines as they are, and the hashes it may have."""

    name: str
    lines: str
    hashes: frozenset[str]


@dataclass
class _Download:
    requirement: Requirement
    folder: Path
    log: IO[bytes]
    process: subprocess.Popen[bytes]
    bytes: tuple[int, int] = field(default=(0, 0))

    def look(self) -> None:
        """Take in how many bytes have come, which pip writes to its log."""
        size = self.log.seek(0, os.SEEK_END)
        self.log.seek(max(0, size - 400))
        found = _BYTES.findall(self.log.read())
        if found:
            self.bytes = int(found[-1][0]), int(found[-1][1])

    def text(self) -> str:
        done, total = self.bytes
        return f"{self.requirement.name}, {_mb(done)} of {_mb(total)} MB" if done < total else self.requirement.name

    def output(self) -> list[str]:
        self.log.seek(0)
        return [line.strip() for line in self.log.read().decode("utf-8", "replace").splitlines()]


def requirements(lock: Path) -> list[Requirement]:
    """The entries of a lock file in its order, each with the hashes that pip accepts."""
    entries: list[list[str]] = []
    for line in lock.read_text(encoding="utf-8").splitlines():
        if line[:1].isspace() and entries:
            entries[-1].append(line)
        elif line.strip() and not line.startswith("#"):
            entries.append([line])
    return [
        Requirement(
            re.split(r"[=<>;\[ ]", lines[0], maxsplit=1)[0],
            "\n".join(lines),
            frozenset(_HASH.findall("\n".join(lines))),
        )
        for lines in entries
    ]


def fetch(python: Path, lock: Path, folder: Path, tell: Progress, note: Note) -> int:
    """Download for `python`, which has pip, what `lock` lists and `folder` does not hold yet.

    Returns how many packages there are for this system; `note` gets what pip writes. Raises OperationalError with
    pip's reason; what was whole by then is kept.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _tidy(folder)
    wanted = requirements(lock)
    version, options = _asked(python)
    kept = {sha256_of(path) for path in _files(folder) if _is_for(version, path.stem)}
    waiting = [one for one in wanted if not one.hashes & kept]
    done, running, told = len(wanted) - len(waiting), list[_Download](), ""
    fetched, failure = done, None
    try:
        while waiting or running:
            while waiting and len(running) < AT_ONCE:
                running.append(_start(python, waiting.pop(0), folder, options))
            text = max(running, key=lambda one: one.bytes[1]).text()
            if text != told:
                tell("download_packages", done, len(wanted), text)
                told = text
            time.sleep(0.1)
            for one in list(running):
                one.look()
                if one.process.poll() is not None:
                    note(one.output())
                    try:
                        fetched += _keep(one, folder)
                    except OperationalError as error:  # those on their way may still come
                        waiting, failure = [], failure or error
                    running.remove(one)
                    _close(one)
                    done += 1
    finally:
        for one in running:
            one.process.kill()
            one.process.wait()
            _close(one)
    if failure is not None:
        raise failure
    tell("download_packages", len(wanted), len(wanted), "")
    return fetched


def forget_others(lock: Path, folder: Path) -> None:
    """Remove from `folder` what this lock file does not list."""
    listed = frozenset[str]().union(*(one.hashes for one in requirements(lock)))
    for path in _files(folder):
        with suppress(OSError):
            if sha256_of(path) not in listed:
                path.unlink()


def reason(lines: Iterable[str]) -> str:
    """Why pip failed, in one line that says what to do: the cause of a failed connection, else its last error."""
    lines = [line for line in lines if line]
    for words, meaning in _MEANINGS:
        for line in lines:
            if any(word in line for word in words):
                return meaning
    errors = [line for line in lines if line.startswith("ERROR")] or lines or ["it gave no reason"]
    return f"{errors[-1].removeprefix('ERROR: ')}; try again"


_UNTRUSTED: Final = (
    "the package index's certificate is not trusted here; where a proxy of your network reads along, name its"
    " certificates in the environment variable PIP_CERT, then install again"
)
_MEANINGS: Final = (
    (("No space left", "Errno 28", "Disk quota"), "the disk is full; free some space, then install again"),
    (("certificate verify failed", "CERTIFICATE_"), _UNTRUSTED),
    (
        ("ProxyError", "Cannot connect to proxy", "407 Proxy"),
        "the proxy does not let packages through; look at HTTPS_PROXY, then install again",
    ),
    (
        ("Name or service", "Temporary failure", "getaddrinfo failed", "nodename nor servname", "NameResolution",
         "Network is unreachable", "No route to host", "Connection refused", "actively refused", "timed out",
         "NewConnectionError", "Connection aborted", "Connection reset", "Read timed out"),
        "the package index does not answer; see to the network, then install again: what has come is kept",
    ),
    (
        ("DO NOT MATCH THE HASHES", "HASHES DIFFER"),
        "a package that came is not the one that was tested; try another network, then install again",
    ),
)  # fmt: skip


def _start(python: Path, requirement: Requirement, folder: Path, options: list[str]) -> _Download:
    own = Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=folder))
    (own / "lock.txt").write_text(requirement.lines + "\n", encoding="utf-8")
    command = [str(python), "-m", "pip", "download", "--no-input", "--no-deps", "--require-hashes"]
    command += ["--only-binary", ":all:", "--no-cache-dir", "--disable-pip-version-check", "--retries", "2", *options]
    command += ["-d", str(own), "-r", str(own / "lock.txt")]
    # half a file is left where it can be found again, not among the system's temporary ones
    environment = {**child_environment(), **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(own))}
    log = (own / "pip.log").open("wb+")
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=environment)
    return _Download(requirement, own, log, process)


def _keep(one: _Download, folder: Path) -> int:
    """Move over what a finished pip has fetched; returns how many files. Raises OperationalError where it failed."""
    if one.process.returncode != 0:
        raise OperationalError(f"{one.requirement.name} could not be downloaded: {reason(one.output())}")
    found = list(one.folder.glob("*.whl"))  # none where the requirement is for another system
    for path in found:
        path.replace(folder / path.name)
    return len(found)


def _close(one: _Download) -> None:
    one.log.close()
    shutil.rmtree(one.folder, ignore_errors=True)


def _asked(python: Path) -> tuple[tuple[int, int], list[str]]:
    """A Python's version, and the option that has its pip write bytes line by line, which came with pip 24.1."""
    ask = [str(python), "-I", "-c", "import sys, pip; print(*sys.version_info[:2], *pip.__version__.split('.')[:2])"]
    try:
        answer = subprocess.run(ask, capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=True).stdout
        major, minor, *pip = map(int, answer.split())
    except (OSError, subprocess.SubprocessError, ValueError):
        return (0, 0), ["--progress-bar", "off"]
    return (major, minor), ["--progress-bar", "raw" if pip >= [24, 1] else "off"]


def _is_for(version: tuple[int, int], wheel: str) -> bool:
    """Whether the tags in a wheel's name are of this Python: what another one downloaded lies in the same folder."""
    major, minor = version
    _, pythons, abi, _ = ["", "", "", *wheel.rsplit("-", 3)][-4:]
    if abi == "abi3":
        return any(tag[:2] == "cp" and int(tag[3:] or 0) <= minor for tag in pythons.split("."))
    return bool({f"py{major}", f"cp{major}{minor}"} & set(pythons.split(".")))


def _tidy(folder: Path) -> None:
    """Remove what killed runs have left."""
    for left in folder.glob(f"{_PARTIAL}*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _OLD:
                shutil.rmtree(left, ignore_errors=True)


def _files(folder: Path) -> list[Path]:
    """A whole file is checked by what it holds, not by its name."""
    return [path for path in folder.glob("*.whl") if path.is_file()] if folder.is_dir() else []


def _mb(size: int) -> str:
    return f"{size / 1e6:.1f}"
