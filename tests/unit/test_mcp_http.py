# SPDX-License-Identifier: GPL-3.0-or-later
"""Streamable HTTP: the SDK's client through it, and whatever else may knock at a port of this machine."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from bridge_stub import BridgeStub
from matchcut.evaluator.cli import mcp_doctor_server
from matchcut.evaluator.protocol.errors import BadInputError, OperationalError
from matchcut.mcp_server import serve_http as module
from matchcut.mcp_server.renders import Renders
from matchcut.mcp_server.serve_http import given_token, serve_http, web_server, write_token
from matchcut.mcp_server.server import make_server
from matchcut.mcp_server.session import Session
from matchcut.mcp_server.workplace import Workplace
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

TOKEN = "t" * 40
INITIALIZE = json.dumps(mcp_doctor_server.HELLO)


def no_launch(label, given_up):
    raise OperationalError("no Blender here; run: matchcut doctor")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MATCHCUT_BRIDGE_FOLDER", str(tmp_path / "bridge"))
    monkeypatch.delenv("MATCHCUT_MCP_TOKEN", raising=False)
    return tmp_path / "bridge"


@contextmanager
def serving():
    """The port of a server that runs in a thread."""
    session = Session(no_launch)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        web = web_server(make_server(session, Renders(Workplace([]))), f"127.0.0.1:{port}", TOKEN)
        thread = threading.Thread(target=web.run, args=([listening],))
        thread.start()
        try:
            yield port
        finally:
            web.should_exit = True
            thread.join(15)
            session.close()
        assert not thread.is_alive(), "it ends although clients were connected"


@pytest.fixture(scope="module")
def port():
    with serving() as found:
        yield found


def ask(port, method="POST", path="/mcp", body=INITIALIZE, **headers):
    """Status and text of one request; a header that is None is left out, a tuple gives it twice."""
    given = {
        "Host": f"127.0.0.1:{port}", "Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    } | {name.replace("_", "-"): value for name, value in headers.items()}  # fmt: skip
    lines = [f"{method} {path} HTTP/1.1"]
    for name, value in given.items():
        lines += [f"{name}: {one}" for one in (value if isinstance(value, tuple) else (value,)) if one is not None]
    lines += ["Connection: close"] + ([f"Content-Length: {len(body)}"] if body is not None else [])
    return raw(port, "\r\n".join([*lines, "", body or ""]).encode())


def raw(port, data, seconds=10):
    """What a connection answers to these bytes until it is closed."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        connection.sendall(data)
        found = b""
        while True:
            try:
                more = connection.recv(65536)
            except ConnectionError:
                break
            if not more:
                break
            found += more
    head = found.partition(b"\r\n")[0].split()
    return (int(head[1]) if len(head) > 1 else 0), found.decode("utf-8", "replace")


async def connected(port, work, mode="legacy"):
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as web,
        Client(streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=web), mode=mode) as client,
    ):
        return await work(client)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_sdk_s_client_lists_and_calls(port, mode):
    stub = BridgeStub()

    async def work(client):
        tools = (await client.list_tools()).tools
        summary = await client.call_tool("scene_summary", {"limit": 1})
        return len(tools), summary, (await client.read_resource("matchcut://task")).contents[0].text

    try:
        count, summary, task = asyncio.run(connected(port, work, mode))
    finally:
        stub.stop()
    assert count <= 20 and summary.structured_content["scene"] == "Scene"
    assert task.startswith("# Rebuild a film shot")


def test_many_clients_work_at_once_and_one_that_leaves_disturbs_nobody(port):
    stub = BridgeStub()

    async def one(client):
        for _ in range(3):
            result = await client.call_tool("scene_summary", {"limit": 1})
            assert not result.is_error, result.content
        return True

    async def leaves(client):
        await client.list_tools()
        raise ZeroDivisionError

    async def all_of_them():
        crowd = [connected(port, one, mode) for mode in ("legacy", "auto") for _ in range(4)]
        return await asyncio.gather(connected(port, leaves), *crowd, return_exceptions=True)

    try:
        left, *others = asyncio.run(all_of_them())
    finally:
        stub.stop()
    assert isinstance(left, BaseException) and others == [True] * 8
    assert stub.ran == ["scene_summary"] * 24


def test_a_session_ends_when_its_client_says_so(port):
    status, text = ask(port)
    session = next(line.partition(": ")[2] for line in text.splitlines() if line.lower().startswith("mcp-session-id"))
    assert status == 200 and session
    assert ask(port, "DELETE", body=None, Mcp_Session_Id=session)[0] == 200
    assert ask(port, body=json.dumps(mcp_doctor_server.LIST), Mcp_Session_Id=session)[0] == 404
    assert ask(port, Authorization=f"bearer {TOKEN}")[0] == 200, "the scheme's case does not matter"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": None}, 401),
        ({"Authorization": "Bearer " + "u" * 40}, 401),
        ({"Authorization": "Bearer " + "t" * 41}, 401),
        ({"Authorization": TOKEN}, 401),
        ({"Authorization": "Bearer  " + TOKEN}, 401),
        ({"Authorization": "Basic " + TOKEN}, 401),
        ({"Authorization": ("Bearer " + TOKEN, "Bearer x")}, 401),
        ({"Authorization": "Bearer \xe4"}, 401),
        ({"Host": "localhost:1"}, 421),
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Host": None}, 400),  # no HTTP/1.1
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:5000"}, 403),
        ({"Origin": "http://localhost"}, 403),
        ({"Origin": ""}, 403),
        ({"Content-Type": "text/plain"}, 400),  # what a form can send without asking before
    ],
)
def test_who_is_not_meant_is_refused(port, headers, status):
    found, text = ask(port, **headers)
    assert found == status and "serverInfo" not in text
    assert TOKEN not in text


def test_a_name_rebound_to_this_machine_is_another_host(port):
    assert ask(port, Host=f"rebound.example:{port}", Origin=f"http://rebound.example:{port}")[0] == 421
    assert ask(port, Host=f"localhost:{port}")[0] == 421, "one name is enough"


def test_a_page_s_preflight_is_refused_before_it_could_send_anything(port):
    status, text = ask(
        port, "OPTIONS", body=None, Authorization=None, Origin="https://page.example",
        Access_Control_Request_Method="POST", Access_Control_Request_Headers="authorization",
    )  # fmt: skip
    assert status == 403 and "access-control-allow" not in text.lower()


def test_only_the_one_address_exists(port):
    assert ask(port, "GET", "/", body=None)[0] == 404
    assert ask(port, path="/mcp/../etc/passwd")[0] == 404
    assert ask(port, "GET", "/", body=None, Authorization=None)[0] == 401, "a stranger does not learn what there is"


def test_a_huge_body_is_refused_while_it_is_sent(port, monkeypatch):
    monkeypatch.setattr(module, "BODY_BYTES", 100_000)
    assert ask(port, body="x" * 150_000)[0] == 413
    chunk = b"10000\r\n" + b"y" * 0x10000 + b"\r\n"
    head = ask_head(port) + "Transfer-Encoding: chunked\r\n\r\n"
    assert raw(port, head.encode() + chunk * 2)[0] == 413
    assert ask(port)[0] == 200


def ask_head(port):
    return (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {TOKEN}\r\n"
        "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
    )


def test_half_a_request_and_then_silence_is_let_go_and_holds_nobody_up(monkeypatch):
    monkeypatch.setattr(module, "REQUEST_SECONDS", 4.0)
    with serving() as port:
        begun = time.monotonic()
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
        silent[1].sendall(b"POST /mcp HT")
        silent[2].sendall((ask_head(port) + "Content-Length: 5000\r\n\r\n{").encode())
        assert ask(port)[0] == 200 and time.monotonic() - begun < 4.0, "others are served meanwhile"
        for connection in silent:
            connection.settimeout(15)
            answer = connection.recv(1000)
            assert answer == b"" or b" 408 " in answer
            connection.close()
        assert time.monotonic() - begun < 20


@pytest.mark.parametrize(
    "data", [b"\x16\x03\x01\x02\x00\x01\x00\x01", b"GET /\r\n\r\n", b"\x00" * 5000, b"PRI * HTTP/2.0\r\n"]
)
def test_what_is_no_http_is_let_go(port, data):
    assert raw(port, data + b"\r\n\r\n")[0] in (0, 400, 421)
    assert ask(port)[0] == 200


@pytest.mark.parametrize("token", ["short", "x" * 20 + " " + "y" * 20, "ä" * 40])
def test_a_weak_token_is_refused(monkeypatch, token):
    monkeypatch.setenv("MATCHCUT_MCP_TOKEN", token)
    with pytest.raises(BadInputError, match="at least 32 ASCII characters") as failure:
        given_token()
    assert token not in str(failure.value)


def test_a_taken_port_is_one_line():
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OperationalError, match="--port 0"):
        serve_http(None, taken.getsockname()[1], lambda address, token: None)


@pytest.mark.skipif(os.name != "posix", reason="permissions")
def test_a_token_s_file_is_this_user_s_alone_and_new_each_time(folder):
    token, path = write_token(1)
    assert path.read_text() == token and path.stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    victim = folder.parent / "victim"
    victim.write_text("as before")
    path.unlink()
    path.symlink_to(victim)
    again, _ = write_token(1)
    assert again != token and victim.read_text() == "as before", "a link that lies there is not followed"


def open_stream(port, token):
    """A client that has opened the stream on which a server may speak of its own accord, and waits there."""
    head = ask_head(port).replace(TOKEN, token)
    body = INITIALIZE.encode()
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        session = re.search(rb"mcp-session-id: (\w+)", connection.recv(4096), re.IGNORECASE)[1].decode()
    stream = socket.create_connection(("127.0.0.1", port), timeout=10)
    stream.sendall(f"{head}Mcp-Session-Id: {session}\r\n\r\n".replace("POST", "GET").encode())
    assert b" 200 " in stream.recv(4096)
    return stream


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_until_it_is_told_to_end(root, tmp_path, folder, number):
    command = [sys.executable, str(root / "__main__.py"), "mcp", "--http", "--messages"]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    try:
        said = json.loads(process.stdout.readline())
        token = Path(said["path"]).read_text()
        assert mcp_doctor_server.http_answer(said["data"]["url"])[1] == ""
        listening = open_stream(int(said["data"]["url"].split(":")[2].split("/")[0]), token)
        process.send_signal(number)
        assert process.wait(10) == 130
        err = process.stderr.read()
        listening.close()
    finally:
        process.kill()
        process.communicate()
    assert said["path"] in err and token not in err and said["data"]["url"] in err
    assert list(folder.glob("*.token")) == [], "the token ends with the server"


@pytest.mark.parametrize("arguments", [["--port", "5"], ["--http", "--port", "70000"]])
def test_a_port_without_http_or_out_of_range_is_one_line(root, arguments):
    done = subprocess.run(
        [sys.executable, str(root / "__main__.py"), "mcp", *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "--port" in done.stderr and len(done.stderr.splitlines()) == 1
