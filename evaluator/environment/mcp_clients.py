# SPDX-License-Identifier: GPL-3.0-or-later
"""How agents' programs are told of `matchcut mcp`: each one's form, the file where it goes, its timeouts for renders.

Needs the standard library alone: the Agent panel offers the same texts.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from ..protocol.errors import BadInputError
from ..protocol.files import read_json
from .create import PACKAGE_ROOT

NAME: Final = "matchcut"
START_SECONDS: Final = 30
CALL_SECONDS: Final = 660  # the longest calls are run_python and the sheets of a long video, with 600 s

Form = Literal["json", "toml", "none"]


@dataclass(frozen=True)
class McpClient:
    """One program: `key` is the object that holds the servers, `note` what its user should know."""

    label: str
    form: Form
    key: str
    fields: Mapping[str, Any]
    note: str


_TOLD: Final = "progress is told at least every 5 s"
CLIENTS: Final[Mapping[str, McpClient]] = {
    "claude-code": McpClient(
        "Claude Code", "json", "mcpServers", {"timeout": CALL_SECONDS * 1000, "alwaysLoad": True},
        "Run the command, or put the entry into the file; then `claude mcp list`. `timeout` (milliseconds) goes before "
        "MCP_TOOL_TIMEOUT; `alwaysLoad` gives the model the tools at once, without a search for them.",
    ),
    "codex": McpClient(
        "Codex CLI", "toml", "mcp_servers",
        {"required": True, "startup_timeout_sec": START_SECONDS, "tool_timeout_sec": CALL_SECONDS},
        "Append it to the file; then `codex mcp list`. Without `required` the first turn does not wait for the server, "
        "without tool_timeout_sec a call ends after 300 s. `codex exec` asks nobody and refuses tools that change "
        'something: for it add default_tools_approval_mode = "approve".',
    ),
    "antigravity": McpClient(
        "Antigravity", "json", "mcpServers", {},
        "Merge it into the file, which has to be strict JSON: Antigravity does not start with a syntax error there. It "
        f"has no setting for a call's time; {_TOLD}.",
    ),
    "gemini": McpClient(
        "Gemini CLI", "json", "mcpServers", {"timeout": CALL_SECONDS * 1000},
        "Merge it into the file; then `gemini mcp list`. `timeout` is in milliseconds.",
    ),
    "vscode": McpClient(
        "VS Code", "json", "servers", {},
        "Merge it into the file (command MCP: Open User Configuration). It sets no limit to a call's time.",
    ),
    "generic": McpClient(
        "Another Client", "none", "mcpServers", {},
        f"Most clients read an object like this one. Give a call at least {CALL_SECONDS} s where that can be set; "
        f"{_TOLD}.",
    ),
}  # fmt: skip


def server_command(*arguments: str) -> list[str]:
    """`matchcut mcp ARGUMENTS` in the interpreter that runs this, by absolute paths."""
    return [sys.executable, str(PACKAGE_ROOT / "__main__.py"), "mcp", *arguments]


def config_text(client: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """What a person runs or pastes so that `client` (a name in CLIENTS) starts `command`, without a last line feed."""
    known, entry = CLIENTS[client], _entry(client, command, environment or {})
    if known.form == "toml":
        return _toml(known.key, entry)
    if client == "claude-code" and os.name != "nt":  # the shells of Windows take quotes apart in ways of their own
        return shlex.join(["claude", "mcp", "add-json", "--scope", "user", NAME, json.dumps(entry, ensure_ascii=False)])
    return json.dumps({known.key: {NAME: entry}}, indent=2, ensure_ascii=False)


def config_file(client: str) -> Path | None:
    """The file of this user that `client` reads, on this system; None for `generic`."""
    home = Path.home()
    if client == "claude-code":
        return Path(os.environ.get("CLAUDE_CONFIG_DIR") or home) / ".claude.json"
    if client == "codex":
        return Path(os.environ.get("CODEX_HOME") or home / ".codex") / "config.toml"
    if client == "antigravity":
        return home / ".gemini" / "config" / "mcp_config.json"
    if client == "gemini":
        return home / ".gemini" / "settings.json"
    if client == "vscode":
        return _vscode_folder(home) / "Code" / "User" / "mcp.json"
    return None


def _vscode_folder(home: Path) -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming")
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    return Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")


def write_config(client: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> Path | None:
    """Merge the entry into the client's file, which stays whole whatever happens; other entries stay as they are.

    Returns the copy of the file as it was before; None where there was none, or nothing was to be changed. Raises
    BadInputError where the file is not what its client can read, or can only be changed by hand.
    """
    path = config_file(client)
    if path is None:
        raise BadInputError(f"{client}: this client's file is not known; paste what is printed without --write")
    path = path.resolve()  # a link is kept
    known, entry = CLIENTS[client], _entry(client, command, environment or {})
    try:
        before = path.read_text(encoding="utf-8-sig") if path.exists() else ""
        after = merged(path, before, known.form, known.key, entry)
        return _replace(path, after) if after != before else None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path}: cannot be changed ({error}); paste what is printed without --write") from error


def merged(path: Path, text: str, form: Form, key: str, entry: dict[str, Any]) -> str:
    """`text`, which `path` holds, with our entry among the servers in `key`. Raises BadInputError where it has no room.

    Where nothing is to be changed it is the same text.
    """
    return (_merged_toml if form == "toml" else _merged_json)(path, text, key, entry)


def _entry(client: str, command: Sequence[str], environment: Mapping[str, str]) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "stdio"} if client in ("claude-code", "vscode") else {}
    entry |= {"command": command[0], "args": list(command[1:])}
    return {**entry, **({"env": dict(environment)} if environment else {}), **CLIENTS[client].fields}


def _toml(key: str, entry: Mapping[str, Any]) -> str:
    def value(data: Any) -> str:
        if isinstance(data, Mapping):
            return "{ " + ", ".join(f"{name} = {value(one)}" for name, one in data.items()) + " }"
        # a JSON string is a TOML string
        return json.dumps(data, ensure_ascii=False)

    return "\n".join([f"[{key}.{NAME}]", *(f"{name} = {value(data)}" for name, data in entry.items())])


def _merged_toml(path: Path, text: str, key: str, entry: dict[str, Any]) -> str:
    by_hand = "nothing was written; put it in by hand: it is printed without --write"
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInputError(f"{path}: not valid TOML ({error}); {by_hand}") from error
    servers = before.get(key, {})
    there = servers.get(NAME) if isinstance(servers, dict) else servers
    if there == entry:
        return text
    if there is not None:
        raise BadInputError(f"{path}: has another [{key}.{NAME}] already; {by_hand}")
    merged = f"{text.rstrip()}\n\n{_toml(key, entry)}\n".lstrip()
    try:
        after = tomllib.loads(merged)
    except tomllib.TOMLDecodeError:
        after = {}
    if after != {**before, key: {**servers, NAME: entry}}:
        raise BadInputError(f"{path}: a table cannot be appended to this file; {by_hand}")
    return merged


def _merged_json(path: Path, text: str, key: str, entry: dict[str, Any]) -> str:
    by_hand = "nothing was written; put it in by hand: it is printed without --write"
    data: Any = {}
    if text.strip():
        try:
            data = read_json(path)
        except BadInputError as error:
            raise BadInputError(f"{error} (comments are no JSON either); {by_hand}") from error
    servers = data.get(key, {}) if isinstance(data, dict) else None
    if not isinstance(servers, dict) or not isinstance(servers.get(NAME, {}), dict):
        raise BadInputError(f"{path}: {key!r} is not the object that its client expects; {by_hand}")
    there = servers.get(NAME, {})
    merged = {**there, **entry}
    if isinstance(there.get("env"), dict):
        merged["env"] = {**there["env"], **entry.get("env", {})}
    if servers.get(NAME) == merged:
        return text
    after = {**data, key: {**servers, NAME: merged}}
    indent = re.search(r"^\{\r?\n([ \t]+)\"", text)
    return json.dumps(after, indent=indent[1] if indent else 2, ensure_ascii=False) + "\n"


def _replace(path: Path, text: str) -> Path | None:
    """Write `text` over `path` at once, with the file's own permissions; returns the copy of what was there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    backup = _copy(path) if path.exists() else None
    handle, name = tempfile.mkstemp(prefix=".partial-", dir=path.parent)  # 0600: such files hold keys
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if backup is not None:
            shutil.copymode(path, temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return backup


def _copy(path: Path) -> Path:
    for number in range(1, 1000):
        backup = path.with_name(f"{path.name}.before-{NAME}-{number}")
        try:
            handle = os.open(backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(handle, "wb") as file:
            file.write(path.read_bytes())
        shutil.copymode(path, backup)
        return backup
    raise BadInputError(f"{path}: has a thousand copies of its former self beside it; remove some")
