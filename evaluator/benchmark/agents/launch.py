# SPDX-License-Identifier: GPL-3.0-or-later
"""From a definition and a task to a command line, an environment and the files that the program reads."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ...environment.mcp_clients import merged
from ...protocol.errors import BadInputError
from ...protocol.files import write_text
from .records import AgentDefinition, Configuration

_KEPT: Final = (
    "PATH", "LANG", "LANGUAGE", "TZ", "USER", "LOGNAME", "SHELL", "TERM", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC",
    "PATHEXT", "PROGRAMDATA", "PROGRAMFILES", "NUMBER_OF_PROCESSORS",
)  # fmt: skip
"""What of the caller's environment every program gets. What leads into a home folder leads into the agent's own."""
_PLACEHOLDER: Final = re.compile(r"\{([a-z_]+)\}")
_HOME: Final = re.compile(r"\{(home|task)\}/")


@dataclass(frozen=True)
class Server:
    """Our MCP server as the agent's program has to start it."""

    command: Sequence[str]
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Launch:
    """What is started, in which environment; nothing of it is written into a record, as it holds keys."""

    command: list[str]
    environment: dict[str, str]


def launch(
    definition: AgentDefinition, configuration: Configuration, values: Mapping[str, str], server: Server
) -> Launch:
    """Write the program's files, and say how it is started.

    `values` are the placeholders' texts; those of an option that is not given are empty. Raises BadInputError where a
    key is not set, or the program is not there.
    """
    home = Path(values["home"])
    words = dict(values)
    for place, text in definition.files.items():
        write_text(_place(place, words), _filled(text, words))
    if definition.mcp is not None:
        path = _place(definition.mcp.file, words)
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        entry = _entry(definition.mcp.entry, server, words)
        write_text(path, merged(path, before, definition.mcp.form, definition.mcp.key, entry))
        words["mcp_file"] = str(path)
    for source, goal in definition.logins.items():
        _copy(Path(source).expanduser(), _place(goal, words))
    command = [part for word in definition.command for part in _parts(word, definition, words)]
    environment = _environment(home)
    environment |= {name: _filled(text, words) for name, text in definition.environment.items()}
    environment = {name: text for name, text in environment.items() if text}
    environment |= _keys(definition)
    environment |= configuration.environment
    return Launch([find_program(command[0], environment), *command[1:]], environment)


def check_ready(definition: AgentDefinition) -> None:
    """Raise BadInputError where the agent cannot be started on this machine: its program or its key is missing."""
    find_program(_filled(definition.command[0], {"python": sys.executable}), os.environ)
    _keys(definition)


def find_program(name: str, environment: Mapping[str, str]) -> str:
    """The whole path of a program. Raises BadInputError where it is not there."""
    found = shutil.which(name, path=environment.get("PATH"))
    if found is None:
        raise BadInputError(f"{name}: there is no such program on PATH; install it")
    return found


def version_command(definition: AgentDefinition) -> list[str]:
    """What prints the program's version; empty where nothing does."""
    return [_filled(word, {"python": sys.executable}) for word in definition.version]


def unenforced(
    definition: AgentDefinition, configuration: Configuration, *, turns: bool, usd: bool, priced: bool
) -> list[str]:
    """What is asked for and this agent cannot be held to; `priced` says whether the price of its tokens is known."""
    rules = definition.usage.rules
    found = []
    if turns and "turns" not in definition.options and not any(rule.turn or rule.turns for rule in rules):
        found.append(f"turns: {definition.label} does not tell them")
    if usd and "usd" not in definition.options and not any(rule.usd for rule in rules):
        if not any(rule.output_tokens for rule in rules):
            found.append(f"money: {definition.label} does not tell what it uses up")
        elif not priced:
            found.append(f"money: no price of {configuration.model or 'its model'} is known; give it with --prices")
        elif definition.usage.at_end:
            found.append(f"money: checked at the end, as {definition.label} tells no tokens before")
    uses = [*definition.options, *_PLACEHOLDER.findall(json.dumps([definition.environment, definition.files]))]
    if configuration.output_tokens is not None and "output_tokens" not in uses:
        found.append(f"tokens of a response: {definition.label} has no setting for them")
    if configuration.effort and "effort" not in uses:
        found.append(f"effort: {definition.label} has no setting for it")
    return found


def _parts(word: str, definition: AgentDefinition, words: Mapping[str, str]) -> list[str]:
    if word != "{options}":
        return [_filled(word, words)]
    given = (name for name in definition.options if words.get(name))
    return [_filled(part, words) for name in given for part in definition.options[name]]


def _filled(text: str, words: Mapping[str, str]) -> str:
    """The text with its placeholders filled in; braces around anything else stay, as in JSON."""
    return _PLACEHOLDER.sub(lambda found: words.get(found[1], found[0]), text)


def _place(text: str, words: Mapping[str, str]) -> Path:
    if _HOME.match(text) is None or ".." in Path(text).parts:
        raise BadInputError(f"{text}: an agent's files lie in {{home}}/ or {{task}}/")
    return Path(_filled(text, words))


def _entry(template: Any, server: Server, words: Mapping[str, str]) -> Any:
    if isinstance(template, dict):
        found = {name: _entry(value, server, words) for name, value in template.items()}
        return {name: value for name, value in found.items() if value != {}}
    if isinstance(template, list):
        return [_entry(value, server, words) for value in template]
    whole: dict[str, Any] = {
        "{server_program}": server.command[0],
        "{server_arguments}": list(server.command[1:]),
        "{server_command}": list(server.command),
        "{server_environment}": dict(server.environment),
    }
    if isinstance(template, str):
        return whole.get(template, _filled(template, words))
    return template


def _environment(home: Path) -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if name.upper() in _KEPT or name.upper().startswith("LC_")}
    temporary = home / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    own = {"HOME": home, "TMPDIR": temporary}
    if os.name == "nt":
        own = {
            "USERPROFILE": home, "APPDATA": home / "AppData" / "Roaming", "LOCALAPPDATA": home / "AppData" / "Local",
            "TEMP": temporary, "TMP": temporary,
        }  # fmt: skip
    return {**kept, **{name: str(path) for name, path in own.items()}}


def _keys(definition: AgentDefinition) -> dict[str, str]:
    names = [*definition.keys, *definition.optional_keys]
    found = {name: os.environ[name] for name in names if os.environ.get(name)}
    logged_in = any(Path(source).expanduser().is_file() for source in definition.logins)
    if definition.keys and not found.keys() & set(definition.keys) and not logged_in:
        logins = "".join(f", or log in ({source})" for source in definition.logins)
        raise BadInputError(f"{definition.label} needs a key: set {' or '.join(definition.keys)}{logins}")
    return found


def _copy(source: Path, goal: Path) -> None:
    if source.is_file():
        goal.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, goal)
        goal.chmod(0o600)


__all__ = ["Launch", "Server", "find_program", "launch", "unenforced", "version_command"]
