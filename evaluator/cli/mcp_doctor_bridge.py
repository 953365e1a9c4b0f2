# SPDX-License-Identifier: GPL-3.0-or-later
"""The hops of `matchcut mcp doctor` that lie between the server and one open Blender."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from typing import Any, Final

from ..protocol.bridge import BridgeCallError, Descriptor
from ..protocol.bridge_client import BridgeClient, BridgeConnectError

SWITCH: Final = "python switch"  # off until the artist allows it: the only hop that may be no fault
BRIDGE_HOPS: Final = ("connection", "handshake", "main thread", "scene", SWITCH, "place")
CONNECT_SECONDS: Final = 3.0
CALL_SECONDS: Final = 10.0
RESTART: Final = "press Stop and then Start in the Matchcut tab (panel Agent)"

Found = tuple[str, str, str, dict[str, Any]]
"""Name of the hop, what was found, what mends it (empty where it is fine), and what Blender said."""


def bridge_hops(descriptor: Descriptor) -> Iterator[Found]:
    """BRIDGE_HOPS for one Blender, in order; the first that is broken is the last."""
    connection = _connection(descriptor)
    yield connection
    if connection[2]:
        return
    try:
        client = BridgeClient.connect(descriptor, name="matchcut mcp doctor", timeout=CONNECT_SECONDS)
    except BridgeConnectError as error:
        mend = "wait until Blender is free; else restart it" if error.reason == "silent" else RESTART
        yield ("handshake", str(error), mend, {})
        return
    try:
        yield ("handshake", "both sides know the token", "", {})
        for found in _calls(client):
            yield found
            if found[2] and found[0] != SWITCH:
                return
    finally:
        client.close()


def _connection(descriptor: Descriptor) -> Found:
    path = descriptor.socket_path
    where = str(path) if path is not None else f"127.0.0.1:{descriptor.port}"
    try:
        if path is None:
            socket.create_connection(("127.0.0.1", descriptor.port), CONNECT_SECONDS).close()
        else:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(CONNECT_SECONDS)
                connection.connect(os.fspath(path))
    except OSError as error:
        return ("connection", f"{where}: nobody takes connections ({error.strerror or error})", RESTART, {})
    return ("connection", f"{where} takes connections", "", {})


def _calls(client: BridgeClient) -> Iterator[Found]:
    waiting = "wait until Blender has done what it is at, or close the dialog that it shows; else restart it"
    hello, why = _call(client, "hello")
    yield ("main thread", why or f"Blender {hello.get('blender')} answers", waiting if why else "", {})
    summary, why = _call(client, "scene_summary", limit=0)
    objects = summary.get("counts", {}).get("objects")
    mend = "open a file or make a scene in Blender" if why else ""
    yield ("scene", why or f"{summary.get('scene')}, {objects} objects", mend, {})
    if hello.get("python", True):
        yield (SWITCH, "agents may run Python", "", {})
    else:
        yield (
            SWITCH, "agents may look, and not run Python",
            "press a button below Allow Python in the Matchcut tab (panel Agent)", {},
        )  # fmt: skip
    place, why = _call(client, "scene_place")
    file = place.get("file") or "the scene was never saved: files may be named below the server's folders alone"
    yield ("place", why or str(file), "update the extension in Blender" if why else "", place)


def _call(client: BridgeClient, method: str, **params: Any) -> tuple[dict[str, Any], str]:
    """The result, and why there is none."""
    try:
        return client.call(method, params, timeout=CALL_SECONDS, start_timeout=CONNECT_SECONDS), ""
    except (BridgeCallError, BridgeConnectError) as error:
        return {}, str(error)
