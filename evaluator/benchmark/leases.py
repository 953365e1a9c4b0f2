# SPDX-License-Identifier: GPL-3.0-or-later
"""Leases on a shared folder: who works on a unit, without a server and without trusting anybody's clock.

A lease is a file `KEY.N`. Whoever creates `KEY.0` works on the unit; whoever finds that the holder of `KEY.N` has let
its term pass creates `KEY.(N+1)`, and the highest number holds. Creating a file that must not be there yet is the one
step that decides, and every file system decides it for all machines alike.

Times are those that the file system gives to files: a lease's is when it was last renewed, and "now" is that of a file
written for the purpose. So machines whose clocks differ agree on what is expired. A holder that slept past its term
finds that out when it next looks (`Lease.check`), whether or not somebody else has taken the unit over.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..protocol.errors import BadInputError

TERM_SECONDS: Final = 120.0
"""How long a lease holds without being renewed."""
RENEWALS: Final = 4
"""How often it is renewed within a term."""
GRACE: Final = 0.25
"""Share of a term that others wait beyond it: its holder has given it up by then."""
OLD_SECONDS: Final = 24 * 3600.0
_NAME: Final = re.compile(r"([0-9a-f]{64})\.([0-9]{1,6})")


class LeaseLostError(Exception):
    """The term has passed, or somebody else works on the unit: what was made of it is not to be published."""


@dataclass(frozen=True)
class Held:
    """A lease as others see it."""

    key: str
    number: int
    holder: str
    expired: bool
    """Whether anybody may take the unit."""
    given_back: bool


class LeaseFolder:
    """The leases of one run; several processes, threads and machines may use the folder at once."""

    def __init__(self, folder: Path, *, holder: str = "", term: float = TERM_SECONDS) -> None:
        """`holder` is how this process is called in what it writes. Raises BadInputError where it cannot write."""
        self.folder, self.term = folder, term
        self.holder = holder or uuid.uuid4().hex
        self._clock = folder / f".clock-{uuid.uuid4().hex}"
        self._lock = threading.Lock()
        self._kept: dict[Lease, Callable[[], None]] = {}
        self._keeper: threading.Thread | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._tidy(self.now())
        except OSError as error:
            raise BadInputError(
                f"{folder}: cannot be written ({error.strerror or error}); choose another folder"
            ) from error

    def close(self) -> None:
        """Remove what told the time."""
        self._clock.unlink(missing_ok=True)

    def _tidy(self, now: float) -> None:
        """Remove the clocks of processes that are long gone."""
        for clock in self.folder.glob(".clock-*"):
            with suppress(OSError):
                if now - clock.stat().st_mtime > OLD_SECONDS:
                    clock.unlink()

    def now(self) -> float:
        """The time of the file system that holds the folder (seconds)."""
        try:
            _touch(self._clock)
        except FileNotFoundError:  # the first time, or somebody has tidied up
            self._clock.touch()
        return self._clock.stat().st_mtime

    def take(self, key: str) -> Lease | None:
        """A lease on the unit `key`, or None where somebody else has it."""
        first = self._create(key, 0)  # mostly nobody was there before
        newest = self._newest(key) if first is None else None
        if newest is None:
            return first
        seen = self._read(key, newest)
        if seen is None or not seen.expired:
            return None
        return self._create(key, newest + 1, abandoned=not seen.given_back)

    def held(self) -> dict[str, Held]:
        """Every unit on which there is a lease, by key."""
        newest: dict[str, int] = {}
        with suppress(FileNotFoundError), os.scandir(self.folder) as entries:
            for entry in entries:
                found = _NAME.fullmatch(entry.name)
                if found is not None:
                    newest[found[1]] = max(newest.get(found[1], -1), int(found[2]))
        seen = (self._read(key, number) for key, number in newest.items())
        return {one.key: one for one in seen if one is not None}

    def keep(self, lease: Lease, on_loss: Callable[[], None]) -> None:
        """Renew a lease until `let_go`, or until it is lost, which calls `on_loss` once.

        One thread does that for all of them, since starting one for each costs more than a short unit; it ends where
        there is nothing to keep.
        """
        with self._lock:
            self._kept[lease] = on_loss
            if self._keeper is None:
                self._keeper = threading.Thread(target=self._renew, name="matchcut leases", daemon=True)
                self._keeper.start()

    def let_go(self, lease: Lease) -> None:
        """Renew it no more."""
        with self._lock:
            self._kept.pop(lease, None)

    def _renew(self) -> None:
        while True:
            time.sleep(self.term / RENEWALS)
            with self._lock:
                kept = list(self._kept)
                if not kept:
                    self._keeper = None
                    return
            for lease in kept:
                try:
                    lease.check()
                except LeaseLostError:
                    with self._lock:
                        on_loss = self._kept.pop(lease, None)
                    if on_loss is not None:  # else it was let go meanwhile
                        on_loss()

    def _newest(self, key: str) -> int | None:
        number = -1
        while _is_there(self.path(key, number + 1)):
            number += 1
        return number if number >= 0 else None

    def _create(self, key: str, number: int, *, abandoned: bool = False) -> Lease | None:
        path = self.path(key, number)
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        except (FileExistsError, PermissionError):  # the latter: Windows, while it is being removed
            return None
        try:
            os.write(handle, _words(self.holder, self.term))
        finally:
            os.close(handle)
        return Lease(self, key, number, abandoned=abandoned)

    def path(self, key: str, number: int) -> Path:
        """The file of a lease."""
        return self.folder / f"{key}.{number}"

    def _read(self, key: str, number: int) -> Held | None:
        """What a lease says; None where it is gone. One whose holder died before a word counts by its time alone."""
        try:
            with self.path(key, number).open(
                "rb"
            ) as file:  # opening asks the server anew, where looking might answer from a cache
                renewed, data = os.fstat(file.fileno()).st_mtime, file.read(4096)
        except (FileNotFoundError, PermissionError):
            return None
        try:
            said = json.loads(data)
            holder, term, free = str(said["holder"]), float(said["term"]), bool(said["given_back"])
        except (ValueError, TypeError, KeyError):
            holder, term, free = "", self.term, False
        return Held(key, number, holder, free or self.now() - renewed > term * (1 + GRACE), free)


class Lease:
    """One unit that this process works on, until it is given back."""

    def __init__(self, leases: LeaseFolder, key: str, number: int, *, abandoned: bool = False) -> None:
        """`abandoned` says that the one before was not given back: its holder died, or slept."""
        self._leases, self.key, self.number, self.abandoned = leases, key, number, abandoned
        self._path = leases.path(key, number)
        self._lock = threading.Lock()
        self._renewed = self._path.stat().st_mtime
        self._lost = ""

    @property
    def lost(self) -> bool:
        """Whether it was found lost."""
        return bool(self._lost)

    def check(self) -> None:
        """Renew it. Raises LeaseLostError where its term has passed, or somebody else holds the unit."""
        with self._lock:
            if not self._lost:
                self._lost = self._renew()
            if self._lost:
                raise LeaseLostError(self._lost)

    def _renew(self) -> str:
        """Why it is lost, empty where it is not."""
        if self._leases.now() - self._renewed > self._leases.term:
            return "the lease's term has passed"
        try:
            _touch(self._path)
            before, self._renewed = self._renewed, self._path.stat().st_mtime
        except OSError as error:
            return f"the lease cannot be renewed ({error.strerror or error})"
        if self._renewed - before > self._leases.term:  # this process was stopped between the two
            return "the lease's term has passed"
        if _is_there(self._leases.path(self.key, self.number + 1)):
            return "somebody else has taken the unit over"
        return ""

    def give_back(self) -> None:
        """Let anybody take the unit. A lost lease is left to whoever took it over."""
        with self._lock:
            if not self._lost:
                self._lost = "it was given back"
                # the file stays: a number that is used once never comes again
                with suppress(OSError), self._path.open("r+b") as file:
                    file.truncate()
                    file.write(_words(self._leases.holder, self._leases.term, given_back=True))

    def finish(self) -> None:
        """Remove what was kept of the unit, of which all is published: who takes it after that finds it."""
        with self._lock:
            self._lost = self._lost or "its unit is finished"
        for number in range(self.number + 1):
            with suppress(OSError):
                self._leases.path(self.key, number).unlink()

    @contextmanager
    def kept(self, on_loss: Callable[[], None] = lambda: None) -> Iterator[Lease]:
        """Renew it for as long as the block runs, then give it back; a loss calls `on_loss` once, from a thread."""
        self._leases.keep(self, on_loss)
        try:
            yield self
        finally:
            self._leases.let_go(self)
            self.give_back()


def _is_there(path: Path) -> bool:
    """Whether the file is there. It is opened, since a network's file system may answer a mere look from a cache."""
    try:
        os.close(os.open(path, os.O_RDONLY))
    except FileNotFoundError:
        return False
    except PermissionError:  # Windows, while it is being removed
        return True
    return True


def _words(holder: str, term: float, *, given_back: bool = False) -> bytes:
    return json.dumps({"holder": holder, "term": term, "given_back": given_back}).encode()


def _touch(path: Path) -> None:
    """Give a file the time of its file system, not of this machine."""
    if os.name == "posix":
        os.utime(path)
    else:  # there utime sends this machine's time; what is written gets the server's
        with path.open("r+b") as file:
            file.seek(0, os.SEEK_END)
            file.write(b" ")
            file.flush()
            os.fsync(file.fileno())
