# SPDX-License-Identifier: GPL-3.0-or-later
"""The bridge's frames, handshake and descriptors, and what it does with those who do not speak its protocol."""

import json
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
from dataclasses import asdict, replace

import pytest
from bridge_stub import BridgeStub
from hypothesis import given
from hypothesis import strategies as st
from matchcut.addon.bridge import listener as listener_module
from matchcut.addon.bridge.dispatcher import Dispatcher
from matchcut.addon.bridge.listener import Listener
from matchcut.evaluator.protocol import bridge_client
from matchcut.evaluator.protocol.bridge import (
    FRAME_LIMIT,
    BridgeCallError,
    FrameBuffer,
    FrameError,
    decode_body,
    descriptor_folder,
    encode_frame,
    frame_length,
    is_nonce,
    new_nonce,
    proof,
    proves,
    read_descriptors,
    write_descriptor,
)
from matchcut.evaluator.protocol.bridge_client import BridgeClient, BridgeConnectError, live_descriptors
from matchcut.evaluator.protocol.errors import OperationalError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
MESSAGES = st.lists(st.dictionaries(st.text(), VALUES, max_size=4), min_size=1, max_size=5)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MATCHCUT_BRIDGE_FOLDER", str(tmp_path / "bridge"))
    return tmp_path / "bridge"


METHODS = {
    "sleep": lambda seconds: time.sleep(seconds) or {},
    "nan": lambda: {"x": float("nan")},
    "large": lambda: {"x": "x" * (100 << 20)},
}


@pytest.fixture
def stub():
    stub = BridgeStub(METHODS)
    yield stub
    stub.stop()


@pytest.fixture(params=["socket", "port"])
def either(request):
    """A bridge at a Unix socket, where the system has them, and one at a port."""
    if request.param == "socket" and sys.platform == "win32":
        pytest.skip("Windows has no Unix sockets in Python")
    stub = BridgeStub(METHODS, at_port=request.param == "port")
    yield stub
    stub.stop()


def at_port(stub, server):
    """The bridge's descriptor, as if it listened where `server` does."""
    return replace(stub.descriptor, socket="", port=server.getsockname()[1])


# --- frames


@given(MESSAGES, st.integers(1, 7))
def test_messages_survive_any_cutting_of_the_stream(messages, step):
    stream = b"".join(encode_frame(one) for one in messages)
    buffer, found = FrameBuffer(), []
    for start in range(0, len(stream), step):
        buffer.feed(stream[start : start + step])
        while (message := buffer.next()) is not None:
            found.append(message)
    assert found == messages


@given(st.binary(max_size=64))
def test_any_bytes_are_a_message_or_a_frame_error(data):
    buffer = FrameBuffer(limit=1024)
    buffer.feed(data)
    try:
        message = buffer.next()
    except FrameError:
        return
    assert message is None or isinstance(message, dict)


@pytest.mark.parametrize("length", [0, FRAME_LIMIT + 1, 2**32 - 1])
def test_impossible_lengths_are_refused_before_anything_is_read(length):
    with pytest.raises(FrameError):
        frame_length(struct.pack(">I", length))


def test_bodies_that_are_no_object_are_refused():
    for body in (b"[]", b"1", b"{", b"\xff", b"[" * 100_000):
        with pytest.raises(FrameError):
            decode_body(body)
    with pytest.raises(FrameError):
        encode_frame({"x": float("inf")})


def test_a_proof_depends_on_token_role_and_both_nonces():
    token, client, server = new_nonce(), new_nonce(), new_nonce()
    right = proof(token, "server", client, server)
    assert proves({"proof": right}, right)
    others = [
        proof(new_nonce(), "server", client, server), proof(token, "client", client, server),
        proof(token, "server", server, client), proof(token, "server", client, new_nonce()),
    ]  # fmt: skip
    assert not any(proves({"proof": one}, right) for one in [*others, "", None, 1, "é" * 64])
    assert is_nonce(token) and not is_nonce(token.upper() + "F") and not is_nonce(None)


# --- descriptors


@pytest.mark.skipif(sys.platform == "win32", reason="a Windows profile is private by itself")
def test_descriptors_are_private_and_others_are_passed_over(stub, folder):
    assert descriptor_folder() == folder
    assert stub.descriptor.path.stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    assert read_descriptors() == [stub.descriptor]
    text = stub.descriptor.path.read_text()
    assert stub.token in text and "matchcut-bridge/1" in text
    for name, content in {"a": "{", "b": "[]", "c": text.replace("bridge/1", "bridge/9"), "d": "{}"}.items():
        (folder / f"{name}.json").write_text(content)
        (folder / f"{name}.json").chmod(0o600)
    assert read_descriptors() == [stub.descriptor]
    stub.descriptor.path.chmod(0o644)
    assert read_descriptors() == [], "a file that others could have read is not trusted"


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "hologram"}, {"port": 0, "socket": ""}, {"port": 99999, "socket": ""}, {"port": "80", "socket": ""},
        {"pid": -1}, {"pid": None}, {"label": None}, {"token": "short"}, {"scene": 1}, {"socket": None},
        {"socket": "../1-ab.sock"}, {"socket": "/tmp/1-ab.sock"}, {"port": 80, "socket": "1-ab.sock"},
    ],
)  # fmt: skip
def test_a_descriptor_with_a_field_that_cannot_be_is_passed_over(stub, wrong):
    path = stub.descriptor.path.with_name("wrong.json")
    path.touch(0o600)
    path.write_text(json.dumps({"format": "matchcut-bridge/1", **asdict(stub.descriptor), **wrong}))
    assert live_descriptors() == [stub.descriptor]


@pytest.mark.skipif(sys.platform == "win32", reason="a link needs a right of its own on Windows")
def test_a_folder_that_is_a_link_is_refused_and_what_it_leads_to_left_alone(stub, folder, tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    (tmp_path / "link").symlink_to(elsewhere)
    monkeypatch.setenv("MATCHCUT_BRIDGE_FOLDER", str(tmp_path / "link"))
    with pytest.raises(OperationalError, match="is a link"):
        write_descriptor(stub.descriptor)
    assert elsewhere.stat().st_mode & 0o777 == 0o755 and not list(elsewhere.iterdir())
    folder.chmod(0o777)
    monkeypatch.setenv("MATCHCUT_BRIDGE_FOLDER", str(folder))
    write_descriptor(stub.descriptor)
    assert folder.stat().st_mode & 0o777 == 0o700, "a folder of one's own that was open is closed"


def ended_pid():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_descriptors_of_processes_that_have_ended_are_removed(folder):
    stub = BridgeStub(at_port=True)
    ended = ended_pid()
    with socket.create_server(("127.0.0.1", 0)) as closed:
        left = [replace(at_port(stub, closed), pid=ended)]
    with socket.create_server(("127.0.0.1", 0)) as silent:  # another program has taken over its port, and waits
        left += [
            replace(stub.descriptor, pid=ended, token=new_nonce()),  # another bridge has taken over its port
            replace(at_port(stub, silent), pid=ended),
        ]
        if sys.platform != "win32":
            with socket.socket(socket.AF_UNIX) as killed:
                killed.bind(str(folder / f"{ended}-0a.sock"))
            left.append(replace(stub.descriptor, pid=ended, port=0, socket=f"{ended}-0a.sock"))
        for one in left:
            write_descriptor(one)
        assert len(read_descriptors()) == len(left) + 1
        assert live_descriptors(timeout=0.3) == [stub.descriptor]
    assert read_descriptors() == [stub.descriptor]
    assert list(folder.iterdir()) == [stub.descriptor.path], "a socket that nobody listens at goes with its descriptor"
    stub.stop()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no Unix sockets in Python")
def test_a_bridge_listens_at_a_socket_of_its_user_s_own_or_where_the_path_is_too_long_at_a_port(folder, monkeypatch):
    stub = BridgeStub()
    path = stub.descriptor.socket_path
    assert path.parent == folder and path.is_socket() and stub.descriptor.port == 0
    assert BridgeClient.connect(stub.descriptor).call("scene_summary")
    stub.stop()
    assert list(folder.iterdir()) == [], "neither the socket nor the descriptor stays"

    monkeypatch.setenv("MATCHCUT_BRIDGE_FOLDER", str(folder / ("long" * 30)))
    stub = BridgeStub()
    assert stub.descriptor.socket == "" and stub.descriptor.port
    assert BridgeClient.connect(stub.descriptor).call("scene_summary") and live_descriptors() == [stub.descriptor]
    stub.stop()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no Unix sockets in Python")
def test_a_folder_that_can_hold_no_socket_gets_a_port(folder, tmp_path):
    listener = Listener(new_nonce(), Dispatcher({}), tmp_path / "missing" / "1-ab.sock")
    listener.start()
    assert listener.socket_path is None and listener.port
    listener.stop()


def test_a_bridge_that_cannot_be_reached_keeps_its_descriptor(stub, monkeypatch):
    """A sandbox that forbids sockets must not make a running Blender unfindable for everybody else."""

    def forbidden(*arguments, **options):
        raise PermissionError("not permitted")

    with monkeypatch.context() as patch:
        patch.setattr(bridge_client, "_open", forbidden)
        assert live_descriptors() == []
    assert live_descriptors() == [stub.descriptor]


# --- calls


def test_calls_answer_with_results_and_errors(either):
    stub = either
    client = BridgeClient.connect(stub.descriptor)
    assert client.call("scene_summary", {"offset": 3})["objects"]["offset"] == 3
    for method, params, code, text in [
        ("nothing", {}, "bad_params", "no method"),
        ("scene_summary", {"wrong": 1}, "bad_params", "wrong"),
        ("sleep", {"seconds": "x"}, "failed", "TypeError"),
        ("nan", {}, "failed", "cannot be sent"),
        ("large", {}, "failed", "cannot be sent.*at most 67108864"),
    ]:
        with pytest.raises(BridgeCallError, match=text) as caught:
            client.call(method, params)
        assert caught.value.code == code
    assert client.is_open()


def test_a_request_that_does_not_begin_is_taken_back_and_never_runs(stub):
    client = BridgeClient.connect(stub.descriptor)
    stub.hold.set()
    stub.dispatcher.hold = "a render in the window"
    begun = time.monotonic()
    with pytest.raises(BridgeCallError, match=r"did not run.*a render in the window") as caught:
        client.call("scene_summary", timeout=30, start_timeout=0.3)
    assert caught.value.code == "busy" and time.monotonic() - begun < 2
    stub.hold.clear()
    client.call("run_python", {"code": "1"})
    assert stub.ran == ["run_python"]


def test_a_request_that_runs_too_long_has_an_unknown_outcome_and_its_late_answer_is_no_other_s(stub):
    client = BridgeClient.connect(stub.descriptor)
    with pytest.raises(BridgeCallError, match="outcome is unknown") as caught:
        client.call("sleep", {"seconds": 0.8}, timeout=0.3)
    assert caught.value.code == "unfinished"
    assert client.call("run_python", {"code": "after"})["result"] == "'after'"
    assert stub.ran == ["sleep", "run_python"]


def test_a_caller_that_gives_up_and_a_client_that_leaves_take_their_requests_with_them(stub):
    stub.hold.set()
    client = BridgeClient.connect(stub.descriptor)
    with pytest.raises(BridgeCallError) as caught:
        client.call("run_python", {"code": "1"}, cancelled=lambda: True)
    assert caught.value.code == "cancelled"
    client._socket.sendall(encode_frame({"id": 99, "method": "run_python", "params": {"code": "2"}}))
    time.sleep(0.2)
    client.close()
    time.sleep(0.2)
    stub.hold.clear()
    assert BridgeClient.connect(stub.descriptor).call("scene_summary")
    assert stub.ran == ["scene_summary"]


def test_a_bridge_that_stops_in_mid_call_is_told_as_lost(stub):
    client = BridgeClient.connect(stub.descriptor)
    threading.Timer(0.3, stub.listener.stop).start()
    with pytest.raises(BridgeCallError) as caught:
        client.call("sleep", {"seconds": 1.0}, timeout=20)
    assert caught.value.code == "lost"
    assert not client.is_open()
    with pytest.raises(BridgeConnectError) as refused:
        BridgeClient.connect(stub.descriptor)
    assert refused.value.reason == "gone"


def test_many_clients_each_get_their_own_answers(stub):
    def work(number, answers):
        client = BridgeClient.connect(stub.descriptor)
        answers[number] = [client.call("run_python", {"code": f"{number}-{one}"})["result"] for one in range(10)]

    answers: dict[int, list[str]] = {}
    threads = [threading.Thread(target=work, args=(number, answers)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert answers == {number: [repr(f"{number}-{one}") for one in range(10)] for number in range(12)}


# --- strangers


def raw(stub):
    return bridge_client._open(stub.descriptor, 5)


def assert_dropped_without_a_word(connection):
    try:
        assert connection.recv(100) == b""
    except ConnectionError:
        pass  # closed with our bytes unread: the system says so by a reset


@pytest.mark.parametrize(
    "first",
    [
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        encode_frame({"id": 1, "method": "run_python", "params": {"code": "1"}}),
        encode_frame({"bridge": 1, "nonce": "short"}),
        encode_frame({"bridge": 2, "nonce": "0" * 64}),
        struct.pack(">I", 4) + b"[12]",
        struct.pack(">I", 0),
        struct.pack(">I", 2000) + b"x" * 2000,
    ],
)
def test_a_wrong_first_frame_is_dropped_silently_and_the_bridge_goes_on(either, first):
    stub = either
    with raw(stub) as connection:
        connection.sendall(first)
        assert_dropped_without_a_word(connection)
    assert BridgeClient.connect(stub.descriptor).call("scene_summary")
    assert stub.ran == ["scene_summary"]


def test_a_tls_client_fails_its_handshake(either):
    stub = either
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with raw(stub) as connection, pytest.raises((ssl.SSLError, OSError)):
        context.wrap_socket(connection)
    assert BridgeClient.connect(stub.descriptor).call("scene_summary")


def test_a_wrong_token_is_noticed_by_the_client_and_dropped_by_the_bridge(stub):
    with pytest.raises(BridgeConnectError, match="token"):
        BridgeClient.connect(replace(stub.descriptor, token=new_nonce()))
    nonce = new_nonce()
    with raw(stub) as connection:
        connection.sendall(encode_frame({"bridge": 1, "nonce": nonce}))
        buffer = FrameBuffer()
        while (challenge := buffer.next()) is None:
            buffer.feed(connection.recv(1000))
        assert stub.token not in json.dumps(challenge)
        # the bridge's own proof, sent back to it, proves nothing
        connection.sendall(encode_frame({"proof": challenge["proof"]}))
        assert_dropped_without_a_word(connection)


def test_half_a_frame_and_silence_end_after_a_while(either, monkeypatch):
    stub = either
    monkeypatch.setattr(listener_module, "HANDSHAKE_SECONDS", 0.5)
    with raw(stub) as connection:
        connection.sendall(struct.pack(">I", 90) + b'{"bri')
        assert BridgeClient.connect(stub.descriptor).call("scene_summary")
        assert_dropped_without_a_word(connection)


@pytest.mark.parametrize("half", [b"\0\0", struct.pack(">I", 90) + b'{"id'])
def test_a_client_that_stops_within_a_frame_is_dropped_after_a_while_and_one_that_idles_is_not(stub, monkeypatch, half):
    monkeypatch.setattr(listener_module, "FRAME_SECONDS", 0.3)
    idle, broken = (BridgeClient.connect(stub.descriptor) for _ in range(2))
    broken._socket.sendall(half)
    broken._socket.settimeout(5)
    assert broken._socket.recv(1) == b""
    assert idle.call("scene_summary") and stub.ran == ["scene_summary"]


def test_a_flood_of_silent_clients_does_not_keep_a_real_one_out(either):
    stub = either
    flood = [raw(stub) for _ in range(3 * listener_module.STRANGER_LIMIT)]
    try:
        for _ in range(5):
            assert BridgeClient.connect(stub.descriptor, timeout=3).call("scene_summary")
    finally:
        for connection in flood:
            connection.close()


def test_a_client_too_many_is_refused_before_it_sends_a_request(stub, monkeypatch):
    monkeypatch.setattr(listener_module, "CLIENT_LIMIT", 1)
    first = BridgeClient.connect(stub.descriptor)
    with pytest.raises(BridgeConnectError) as caught:
        BridgeClient.connect(stub.descriptor)
    assert caught.value.reason == "closed" and first.is_open()


def test_two_requests_of_one_id_end_the_connection(stub):
    client = BridgeClient.connect(stub.descriptor)
    stub.hold.set()
    with pytest.raises(BridgeCallError):
        client.call("scene_summary", start_timeout=0.1)  # taken back: its id is free again
    client._socket.sendall(2 * encode_frame({"id": 7, "method": "scene_summary"}))
    assert client._socket.recv(1) == b""
    assert not stub.ran


def test_a_stranger_at_the_port_cannot_fill_the_client_s_memory(stub):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            connection, _ = server.accept()
            with connection:
                connection.sendall(struct.pack(">I", FRAME_LIMIT))
                connection.recv(1000), connection.recv(1000)

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(BridgeConnectError, match="1024"):
            BridgeClient.connect(at_port(stub, server))
        thread.join(5)


def test_a_stranger_at_the_port_gets_no_proof_of_the_token(stub):
    """A program that took over the port of a bridge that is gone learns nothing that it could replay."""
    heard = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            connection, _ = server.accept()
            with connection:
                heard.append(connection.recv(1000))
                connection.sendall(encode_frame({"nonce": new_nonce(), "proof": new_nonce()}))
                heard.append(connection.recv(1000))

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(BridgeConnectError) as caught:
            BridgeClient.connect(at_port(stub, server))
        thread.join(5)
    assert caught.value.reason == "gone"
    assert heard[1] == b"" and stub.token.encode() not in heard[0]
