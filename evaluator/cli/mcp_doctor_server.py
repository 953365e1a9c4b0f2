# SPDX-License-Identifier: GPL-3.0-or-later
"""The hop of `matchcut mcp doctor` between a client and the server, over both transports, in plain JSON-RPC."""

from __future__ import annotations

import http.client
import json
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlsplit

from ..protocol.children import child_environment, kill_group, own_group
from ..protocol.errors import MatchcutError
from ..protocol.version import VERSION

ANSWER_SECONDS: Final = 60.0
PROTOCOL: Final = "2025-06-18"
CLIENT: Final = {"name": "matchcut mcp doctor", "version": VERSION}
HELLO: Final = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": CLIENT},
}  # fmt: skip
READY: Final = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST: Final = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


def stdio_answer(command: Sequence[str]) -> tuple[str, str]:
    """What a server started by `command` says of itself, and what mends it, empty where it answers."""
    begun = time.monotonic()
    with tempfile.TemporaryFile() as log:
        try:
            process = subprocess.Popen(
                list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=child_environment(),
                **own_group(),
            )  # fmt: skip
        except OSError as error:
            return f"{command[0]} does not start ({error})", "run: matchcut doctor"
        watch = threading.Timer(ANSWER_SECONDS, kill_group, [process])
        watch.start()
        try:
            assert process.stdin is not None and process.stdout is not None
            seconds, tools = 0.0, None
            for message in (HELLO, READY, LIST):
                process.stdin.write(json.dumps(message).encode() + b"\n")
                process.stdin.flush()
                if "id" in message:
                    tools = json.loads(process.stdout.readline())["result"].get("tools")
                    seconds = seconds or time.monotonic() - begun
        except (OSError, ValueError, KeyError):
            log.seek(0)
            last = (log.read().decode("utf-8", "replace").strip().splitlines() or ["it said nothing"])[-1]
            return f"no answer to initialize and tools/list: {last[:300]}", f"run it by hand: {' '.join(command)}"
        finally:
            watch.cancel()
            kill_group(process)
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with suppress(OSError):  # what it did not take is written again, and refused again
                        stream.close()
    return f"answers over standard input and output in {seconds:.1f} s, {len(tools or [])} tools", ""


def http_answer(address: str) -> tuple[str, str]:
    """As `stdio_answer`, for the server at an address like http://127.0.0.1:8765/mcp."""
    from ...mcp_server.serve_http import given_token, token_file

    parts = urlsplit(address)
    if parts.scheme != "http" or parts.hostname != "127.0.0.1" or parts.port is None:
        return f"{address}: no address of a server of ours", "give the one that `matchcut mcp --http` has printed"
    try:
        token = given_token() or token_file(parts.port).read_text(encoding="ascii").strip()
    except (OSError, MatchcutError) as error:
        return f"no token: {error}", "set $MATCHCUT_MCP_TOKEN as for the server, or ask as the user who runs it"
    try:
        stranger, _, _ = _post(parts.port, parts.path, "", HELLO, "")
        if stranger != 401:
            return f"{address}: lets strangers in (status {stranger})", "that is no server of ours: end it"
        status, session, _ = _post(parts.port, parts.path, token, HELLO, "")
        if status == 200:
            _post(parts.port, parts.path, token, READY, session)
            status, _, answer = _post(parts.port, parts.path, token, LIST, session)
            _request(parts.port, parts.path, token, "DELETE", None, session)
    except (OSError, ValueError, http.client.HTTPException) as error:
        return f"{address}: no answer ({error})", "start it: matchcut mcp --http --port N"
    if status != 200:
        mend = "the token is another one: see where the server has left it" if status == 401 else "restart the server"
        return f"{address}: refused with status {status}", mend
    return f"{address} answers, {len(answer['result']['tools'])} tools; strangers are refused", ""


def _post(port: int, path: str, token: str, message: Any, session: str) -> tuple[int, str, Any]:
    return _request(port, path, token, "POST", message, session)


def _request(port: int, path: str, token: str, method: str, message: Any, session: str) -> tuple[int, str, Any]:
    """Status, session id, and the first JSON message of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_SECONDS)
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    headers |= {"Mcp-Session-Id": session, "Mcp-Protocol-Version": PROTOCOL} if session else {}
    try:
        connection.request(method, path, json.dumps(message) if message is not None else None, headers)
        answer = connection.getresponse()
        text = answer.read().decode("utf-8", "replace")
    finally:
        connection.close()
    data = next((line.removeprefix("data:") for line in text.splitlines() if line.startswith("data:")), "null")
    return answer.status, answer.headers.get("Mcp-Session-Id") or session, json.loads(data)
