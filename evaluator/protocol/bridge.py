# SPDX-License-Identifier: GPL-3.0-or-later
"""The bridge between Blender and other processes: frames, handshake, and the files that say where a bridge listens.

A frame is a length (4 bytes, big endian) and that many bytes of JSON, one object. Both sides first prove that they
hold the token of the descriptor file, which itself never crosses the socket:

    client  {"bridge": 1, "nonce": N_C}
    server  {"nonce": N_S, "proof": HMAC-SHA256(token, "server" N_C N_S)}
    client  {"proof": HMAC-SHA256(token, "client" N_C N_S), "name": what the panel calls this client}
    server  {"ready": true}

Then the client sends `{"id": n, "method": name, "params": {…}}` and gets `{"id": n, "result": {…}}` or
`{"id": n, "error": {"code": …, "message": …}}`. `{"withdraw": n}` takes a request back that has not begun; the answer
`{"id": n, "withdrawn": true|false, "running": text}` says whether it had. Whatever breaks this protocol is dropped
without an answer.

Where the system has them, a bridge listens on a Unix socket beside its descriptor, which other users cannot reach;
else, and where the folder's path is too long for one, on a loopback port that the system picks.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import re
import secrets
import stat
import struct
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_args

from .errors import OperationalError

DESCRIPTOR_FORMAT: Final = "matchcut-bridge/1"
PROTOCOL: Final = 1
FRAME_LIMIT: Final = 64 * 1024 * 1024
HANDSHAKE_LIMIT: Final = 1024  # bytes of a frame before the other side has proved itself
NONCE_BYTES: Final = 32
CLIENT_LIMIT: Final = 64  # authenticated connections that one bridge serves
NAME_LIMIT: Final = 64  # characters of a client's name
SOCKET_PATH_LIMIT: Final = 100  # bytes; the systems' own limits are 108 (Linux) and 104 (macOS), one for the end
SOCKET_SUFFIX: Final = ".sock"
_SOCKET_NAME: Final = re.compile(r"[0-9]+-[0-9a-f]+\.sock")
_HEADER: Final = struct.Struct(">I")

BridgeKind = Literal["window", "background", "wheel"]
ErrorCode = Literal["busy", "bad_params", "not_allowed", "failed", "lost", "unfinished", "cancelled"]


class FrameError(Exception):
    """The other side does not speak the protocol; the connection is dropped."""


class BridgeCallError(OperationalError):
    """A request was not answered with a result: `code` says which way, the text says what and what to do next.

    From Blender: bad_params, not_allowed, failed, and busy, where it never began. From the client: lost (the connection
    ended in mid-call), unfinished (begun, no answer in time; it may still finish), cancelled (the caller gave up).
    """

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code: ErrorCode = code


# --- frames -----------------------------------------------------------------------------------------------------------


def encode_frame(message: dict[str, Any]) -> bytes:
    """One message as a frame. Raises FrameError where it is no JSON (NaN included) or above FRAME_LIMIT bytes."""
    try:
        body = json.dumps(message, allow_nan=False, separators=(",", ":")).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise FrameError(f"not JSON: {error}") from error
    if len(body) > FRAME_LIMIT:
        raise FrameError(f"{len(body)} bytes; a frame holds at most {FRAME_LIMIT}")
    return _HEADER.pack(len(body)) + body


def frame_length(header: bytes, limit: int = FRAME_LIMIT) -> int:
    """Length of the body that follows a 4-byte header. Raises FrameError where it is 0 or above `limit`."""
    length: int = _HEADER.unpack(header)[0]
    if not 0 < length <= limit:
        raise FrameError(f"a frame of {length} bytes; expected 1 to {limit}")
    return length


def decode_body(body: bytes) -> dict[str, Any]:
    """The message in a frame's body. Raises FrameError where it is not one JSON object."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"not JSON: {error}") from error
    if not isinstance(message, dict):
        raise FrameError(f"a JSON {type(message).__name__}; expected an object")
    return message


class FrameBuffer:
    """Collects bytes as they arrive and gives back whole messages."""

    def __init__(self, limit: int = FRAME_LIMIT) -> None:
        self.limit = limit
        self._bytes = bytearray()

    def feed(self, data: bytes) -> None:
        """Add what arrived."""
        self._bytes += data

    def next(self) -> dict[str, Any] | None:
        """The next whole message, or None until more bytes arrive. Raises FrameError."""
        if len(self._bytes) < _HEADER.size:
            return None
        end = _HEADER.size + frame_length(bytes(self._bytes[: _HEADER.size]), self.limit)
        if len(self._bytes) < end:
            return None
        body = bytes(self._bytes[_HEADER.size : end])
        del self._bytes[:end]
        return decode_body(body)


# --- handshake --------------------------------------------------------------------------------------------------------


def new_nonce() -> str:
    """32 random bytes as 64 hexadecimal digits: a nonce, or a token."""
    return secrets.token_hex(NONCE_BYTES)


def proof(token: str, role: Literal["server", "client"], client_nonce: str, server_nonce: str) -> str:
    """What only a holder of the token can compute for these two nonces, as 64 hexadecimal digits.

    The role is part of it, so that one side's proof cannot be sent back as the other's.
    """
    text = f"{DESCRIPTOR_FORMAT} {role} {client_nonce} {server_nonce}"
    return hmac.new(token.encode(), text.encode(), hashlib.sha256).hexdigest()


def is_nonce(value: object) -> bool:
    """Whether `value` is a nonce or a proof: 64 lower-case hexadecimal digits."""
    return isinstance(value, str) and len(value) == 2 * NONCE_BYTES and set(value) <= set("0123456789abcdef")


def client_name(value: object) -> str:
    """A client's name as it may be shown: printable, on one line, at most NAME_LIMIT characters; else empty."""
    return "".join(one for one in value if one.isprintable())[:NAME_LIMIT] if isinstance(value, str) else ""


def proves(message: dict[str, Any], expected: str) -> bool:
    """Whether the message's `proof` is the expected one, compared in constant time."""
    given = message.get("proof")
    return is_nonce(given) and hmac.compare_digest(str(given), expected)


# --- descriptors ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Descriptor:
    """Where one bridge listens: at `socket`, a file beside this one, or where that is empty at the loopback `port`.

    `label` is set by a process that started this Blender for itself, else empty.
    """

    pid: int
    port: int
    token: str
    blender: str
    scene: str
    kind: BridgeKind
    label: str = ""
    socket: str = ""

    @property
    def path(self) -> Path:
        """The descriptor's file."""
        name = self.socket.removesuffix(SOCKET_SUFFIX) or f"{self.pid}-{self.port}"
        return descriptor_folder() / f"{name}.json"

    @property
    def socket_path(self) -> Path | None:
        """The Unix socket, or None where it listens at a port."""
        return descriptor_folder() / self.socket if self.socket else None

    def __str__(self) -> str:
        places = {"window": "with a window", "background": "in the background", "wheel": "as a Python module"}
        return f"Blender {self.blender} {places[self.kind]}, process {self.pid}, {self.scene or 'no file yet'}"


def descriptor_folder() -> Path:
    """Where this user's bridges leave their descriptors; `$MATCHCUT_BRIDGE_FOLDER` overrides it.

    It depends on the home folder alone: agents start their servers with few environment variables, and both sides
    have to arrive at the same place.
    """
    override = os.environ.get("MATCHCUT_BRIDGE_FOLDER")
    if override:
        return Path(override)
    if sys.platform == "win32":
        return Path.home() / "AppData" / "Local" / "matchcut" / "bridge"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "matchcut" / "bridge"
    return Path.home() / ".cache" / "matchcut" / "bridge"


def private_folder() -> Path:
    """The folder of descriptors, made where it is missing, and this user's alone (0700; on Windows the user profile).

    Raises OperationalError where it cannot be used or belongs to somebody else.
    """
    folder = descriptor_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not folder.is_symlink():  # chmod would change the folder that a link leads to, whosever it is
            folder.chmod(0o700)
        if _is_private(folder, is_folder=True):
            return folder
    except OSError as error:
        raise OperationalError(f"{folder}: cannot be used ({error}); set MATCHCUT_BRIDGE_FOLDER") from error
    raise OperationalError(f"{folder}: is a link or belongs to another user; remove it, or set MATCHCUT_BRIDGE_FOLDER")


def new_socket_path() -> Path | None:
    """Where a new bridge of this process may put its Unix socket; None where it has to take a port.

    Raises OperationalError as `private_folder` does.
    """
    path = private_folder() / f"{os.getpid()}-{secrets.token_hex(4)}{SOCKET_SUFFIX}"
    return path if sys.platform != "win32" and len(os.fsencode(path)) <= SOCKET_PATH_LIMIT else None


def write_descriptor(descriptor: Descriptor) -> None:
    """Write the descriptor whole, readable by its owner alone (0600).

    Raises OperationalError where its folder cannot be used or belongs to somebody else.
    """
    folder = private_folder()
    try:
        handle, name = tempfile.mkstemp(prefix=".partial-", dir=folder)  # mkstemp makes it 0600
        temporary = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({"format": DESCRIPTOR_FORMAT, **asdict(descriptor)}, file)
            temporary.replace(descriptor.path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise OperationalError(
            f"{folder}: the bridge's descriptor cannot be written ({error}); set MATCHCUT_BRIDGE_FOLDER"
        ) from error


def remove_descriptor(descriptor: Descriptor) -> None:
    """Remove a descriptor's file, and its socket's, where they are there.

    One that cannot be removed (on Windows while another process reads it) stays: clients find nobody behind it.
    """
    with contextlib.suppress(OSError):
        descriptor.path.unlink(missing_ok=True)
        if descriptor.socket_path is not None:
            descriptor.socket_path.unlink(missing_ok=True)


def read_descriptors() -> list[Descriptor]:
    """Every well-formed descriptor of this user, by process id; others' files and broken ones are passed over."""
    found = []
    folder = descriptor_folder()
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else []:
        try:
            if not _is_private(path):
                continue
            fields = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(fields, dict) or fields.pop("format", None) != DESCRIPTOR_FORMAT:
                continue
            descriptor = Descriptor(**fields)
            if _is_well_formed(descriptor):
                found.append(descriptor)
        except (OSError, ValueError, TypeError, RecursionError):
            continue
    return sorted(found, key=lambda one: one.pid)


def _is_well_formed(descriptor: Descriptor) -> bool:
    texts = (descriptor.blender, descriptor.scene, descriptor.label, descriptor.socket)
    return (
        isinstance(descriptor.pid, int)
        and isinstance(descriptor.port, int)
        and all(isinstance(text, str) for text in texts)
        and 0 < descriptor.pid < 2**31
        and (0 < descriptor.port < 2**16 if not descriptor.socket else _is_socket_name(descriptor.socket))
        and not (descriptor.socket and descriptor.port)
        and is_nonce(descriptor.token)
        and descriptor.kind in get_args(BridgeKind)
    )


def _is_socket_name(name: str) -> bool:
    # a name alone: a broken descriptor must not lead to, nor remove, a file elsewhere
    return sys.platform != "win32" and _SOCKET_NAME.fullmatch(name) is not None


def _is_private(path: Path, *, is_folder: bool = False) -> bool:
    """Whether only this user reaches it, and it is no link. Windows keeps a user's profile to that user."""
    if sys.platform == "win32":
        return path.is_dir() if is_folder else path.is_file()
    status = path.lstat()
    expected = stat.S_ISDIR if is_folder else stat.S_ISREG
    return expected(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077
