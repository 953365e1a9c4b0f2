# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Blender the tools work in, and every way in which a call to it can end.

It attaches to a bridge that runs, or starts a Blender in the background of its own. No request is ever sent twice.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from ..evaluator.protocol.bridge import BridgeCallError, Descriptor
from ..evaluator.protocol.bridge_client import BridgeClient, BridgeConnectError, live_descriptors
from ..evaluator.protocol.checkpoints import checkpoint_owner, checkpoints
from ..evaluator.protocol.errors import OperationalError
from .child import Child

START_TIMEOUT: Final = 30.0  # seconds that a request waits for its turn before it is taken back

Launch = Callable[[str, threading.Event], Child]
"""Starts a Blender in the background whose bridge has the given label; called at most once at a time.

It gives up with an OperationalError once the event is set: the server ends.
"""


class SessionError(OperationalError):
    """A call that gave no result, with what became of it and what to do, for the agent to read."""


class Session:
    """The tools' Blender. Methods may be called from several threads; Blender runs one request at a time."""

    def __init__(self, launch: Launch, *, own: bool = False, instance: int | None = None) -> None:
        """`own`: always a Blender of our own; `instance`: the process id of the only one to attach to."""
        self.client_name = ""  # what Blender's panel shows a connection as that is made from now on
        self._launch = launch
        self._own = own
        self._pinned = instance
        self._wanted = instance
        self._child: Child | None = None
        self._attached: Descriptor | None = None
        self._told_gone = False  # that the attached one is not there any more
        self._idle: BridgeClient | None = None  # the connection of the last call, for the next one
        self._lock = threading.Lock()  # guards the choice of a Blender, not the calls
        self._ending = threading.Event()

    def call(
        self,
        method: str,
        params: dict[str, Any],
        *,
        timeout: float,
        instance: int | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> tuple[dict[str, Any], str]:
        """Run one method; returns its result and a note on which Blender that was, empty where it is the one before.

        Raises SessionError: busy, deadline, outcome unknown, Blender ended, no or several Blenders, refused by Blender.
        """
        with self._lock:
            if self._ending.is_set():
                raise SessionError("the server is ending")
            self._choose(instance)
            try:
                client, note = self._connect()
            except BridgeConnectError as error:
                raise SessionError(f"{'busy' if error.reason == 'silent' else 'blender_gone'}: {error}") from error
            child = self._child if self._child is not None and self._child.descriptor is client.descriptor else None
        try:
            result = client.call(
                method, params, timeout=timeout, start_timeout=min(timeout, START_TIMEOUT), cancelled=cancelled,
                # of our own one it is still seen to that what has begun ends in time
                leave=child is None,
            )  # fmt: skip
        except BridgeConnectError as error:
            raise SessionError(f"blender_gone: {error}; nothing ran, call again") from error
        except BridgeCallError as error:
            if error.code in ("lost", "unfinished", "cancelled"):
                client.close()
            else:
                self._keep(client)
            raise _explained(error, client.descriptor, child, method, timeout) from error
        self._keep(client)
        return result, note

    def close(self) -> None:
        """Disconnect, and end the Blender of our own, also one that is just starting."""
        self._ending.set()
        with self._lock:
            self._drop_idle()
            if self._child is not None:
                self._child.close()
                self._child = None

    def _choose(self, instance: int | None) -> None:
        if instance is None or instance == self._wanted:
            return
        if self._own or self._pinned is not None:
            raise SessionError(
                "bad_params: this server was started for one Blender and stays with it; call without `instance`"
            )
        self._drop_idle()
        is_child = self._child is not None and self._child.descriptor.pid == instance
        self._wanted, self._attached = None if is_child else instance, None

    def _connect(self) -> tuple[BridgeClient, str]:
        client, self._idle = self._idle, None
        if client is not None:
            if client.is_open():
                return client, ""
            client.close()
        if self._own or (self._child is not None and self._wanted is None):
            return self._connect_own()
        candidates = [one for one in live_descriptors() if not one.label]
        self._tell_once_that_it_is_gone(candidates)
        if self._wanted is not None:
            candidates = [one for one in candidates if one.pid == self._wanted] or self._refuse_choice(candidates)
        if len(candidates) > 1:
            raise SessionError(
                f"bad_params: several Blenders are open: {_listed(candidates)}; call again with `instance` "
                "set to the process id of the one that the user means"
            )
        if candidates:
            return self._attach(candidates[0])
        if self._attached is not None:
            raise self._gone(self._attached, "")
        return self._connect_own()

    def _tell_once_that_it_is_gone(self, candidates: list[Descriptor]) -> None:
        """Raise where the Blender of the last call is not among those that are open, before another takes its place.

        What the agent sends next is meant for the scene that it knows.
        """
        gone = self._attached
        if gone is None or self._told_gone or any(one.pid == gone.pid for one in candidates):
            return
        self._told_gone = True
        raise self._gone(gone, f", or call again to work in {candidates[0]}" if len(candidates) == 1 else "")

    def _gone(self, descriptor: Descriptor, choice: str) -> SessionError:
        return SessionError(
            f"blender_gone: {descriptor} has ended or its bridge was stopped, and nothing ran; ask the user to press "
            f"Start in the Matchcut tab (panel Agent), and call again{choice}"
        )

    def _refuse_choice(self, candidates: list[Descriptor]) -> list[Descriptor]:
        others = f"open are: {_listed(candidates)}" if candidates else "none is open"
        raise SessionError(
            f"bad_params: no Blender with process id {self._wanted} lets agents connect; {others}. Press Start in its "
            "Matchcut tab (panel Agent), or set `instance` to another process id"
        )

    def _attach(self, descriptor: Descriptor) -> tuple[BridgeClient, str]:
        client = BridgeClient.connect(descriptor, name=self.client_name)
        is_new = self._attached is None or self._attached.token != descriptor.token
        self._attached, self._told_gone = descriptor, False
        return client, f"Connected to {descriptor}." if is_new else ""

    def _connect_own(self) -> tuple[BridgeClient, str]:
        lost = ""
        if self._child is not None and self._child.ended() is not None:
            self._child.close()
            self._child = None
            lost = " The one before has ended; what was not saved there is lost."
        note = ""
        if self._child is None:
            self._child = self._launch(f"mcp-{secrets.token_hex(8)}", self._ending)
            note = f"Started {self._child.descriptor}.{lost}"
        return BridgeClient.connect(self._child.descriptor, name=self.client_name), note

    def _keep(self, client: BridgeClient) -> None:
        with self._lock:
            child = self._child.descriptor if self._child is not None else None
            current = client.descriptor is (self._attached or child)
            if current and self._idle is None and not self._ending.is_set():
                self._idle = client
            else:
                client.close()

    def _drop_idle(self) -> None:
        if self._idle is not None:
            self._idle.close()
            self._idle = None


def _explained(
    error: BridgeCallError, descriptor: Descriptor, child: Child | None, method: str, timeout: float
) -> SessionError:
    """How a call ended, in words; a Blender of our own that hangs is ended. `child` is None where we are attached."""
    if error.code == "lost" and child is None:
        return SessionError(
            f"outcome_unknown: the connection to Blender ended during {method}: Blender was closed or has crashed, or "
            "its bridge was stopped. It is not sent again; look at the scene before you repeat anything"
            f"{_newest_checkpoint(descriptor)}"
        )
    if error.code == "lost" and child is not None:
        status = child.wait(2.0)
        if status is None:
            child.kill()
        ended = "hung and was ended" if status is None else f"ended with status {status}"
        last = child.last_words()
        return SessionError(
            f"blender_ended: Blender {ended} during {method}; what was not saved is lost, and the next call starts a "
            f"new Blender{f'. Its last words: {last}' if last else ''}{_newest_checkpoint(descriptor)}"
        )
    if error.code == "unfinished" and child is not None:
        child.kill()
        return SessionError(
            f"deadline: {method} did not end within {timeout:.0f} s, so its Blender was ended; what was not saved is "
            "lost, and the next call starts a new Blender. Ask for less at a time, or for a longer timeout"
            f"{_newest_checkpoint(descriptor)}"
        )
    if error.code == "unfinished":
        return SessionError(
            f"outcome_unknown: {error}; look at the scene once Blender answers again before you repeat anything"
        )
    return SessionError(f"{error.code}: {error}")


def _newest_checkpoint(descriptor: Descriptor) -> str:
    """Where the newest copy of its scene lies, and how old it is; empty where there is none."""
    found = checkpoints(checkpoint_owner(descriptor))
    with suppress(OSError, IndexError):
        age = max(0.0, time.time() - found[-1].stat().st_mtime)
        return (
            f". The scene as it was {age:.0f} s ago: {found[-1]}; to go on from it run "
            "bpy.ops.wm.open_mainfile(filepath=…, load_ui=False), then save it under a name of its own"
        )
    return ""


def _listed(descriptors: list[Descriptor]) -> str:
    return "; ".join(str(one) for one in descriptors)
