# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds agents' definitions and configurations, the shipped ones and one's own."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from ...protocol.errors import BadInputError
from .records import AgentDefinition, Configuration, Configurations

FOLDER: Final = Path(__file__).resolve().parent
PAPER: Final = FOLDER.parent / "paper.toml"
"""The configurations of CineRecon's table 8 and its ablation."""
ARTIST: Final = "artist:"
PYTHON: Final = "python:"
_SECRET: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)


def shipped() -> list[str]:
    """The names of the definitions beside this."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_definition(agent: str) -> AgentDefinition:
    """The definition that a configuration's `agent` names. Raises BadInputError where there is none.

    `python:` is the shipped definition `python` with the module or file in its command.
    """
    if agent.startswith(ARTIST):
        raise BadInputError(f"{agent}: a person's results have no program")
    if agent.startswith(PYTHON):
        return _python(agent.removeprefix(PYTHON))
    path = FOLDER / f"{agent}.toml" if agent in shipped() else Path(agent)
    if path.suffix != ".toml" or not path.is_file():
        raise BadInputError(
            f"agent {agent!r}: there is no such agent; take {', '.join(shipped())}, a definition's FILE.toml, "
            "python:MODULE or artist:FOLDER"
        )
    return AgentDefinition.from_data(read_toml(path), str(path))


def _python(module: str) -> AgentDefinition:
    path = FOLDER / "python.toml"
    definition = AgentDefinition.from_data(read_toml(path), str(path))
    if not module:
        raise BadInputError("agent python: names no module; write it as python:MODULE or python:FILE.py")
    started = ["-m", module]
    if module.endswith(".py"):
        file = Path(module).absolute()
        if not file.is_file():
            raise BadInputError(f"{file}: there is no such file; name the agent as python:FILE.py")
        started = [str(file)]
    command = [part for word in definition.command for part in (started if word == "{module}" else [word])]
    return definition.model_copy(update={"command": command})


def load_configurations(path: Path, names: Sequence[str] = ()) -> list[Configuration]:
    """The configurations of a file, only those of `names` where there are some, in the file's order.

    Their agents' definitions are looked at as well; files that they name are relative to the file.

    Raises BadInputError.
    """
    found = Configurations.from_data(read_toml(path), str(path)).configuration
    twice = [name for name, count in Counter(one.name for one in found).items() if count > 1]
    if twice:
        raise BadInputError(f"{path}: the configuration {twice[0]!r} is there twice; name each once")
    for name in names:
        if name not in {one.name for one in found}:
            raise BadInputError(f"{path}: has no configuration {name!r}; it has {', '.join(one.name for one in found)}")
    wanted = [_placed(one, path.parent) for one in found if not names or one.name in names]
    for one in wanted:
        if not one.agent.startswith(ARTIST):
            _check(one, load_definition(one.agent))
    return wanted


def _placed(configuration: Configuration, beside: Path) -> Configuration:
    """The configuration with what it names beside its file by its whole path."""
    agent = configuration.agent
    for prefix in (ARTIST, PYTHON, ""):
        if not agent.startswith(prefix):
            continue
        rest = agent.removeprefix(prefix)
        if prefix == ARTIST or rest.endswith((".py", ".toml")):
            agent = prefix + str((beside / rest).absolute())
        break
    return configuration.model_copy(update={"agent": agent})


def _check(configuration: Configuration, definition: AgentDefinition) -> None:
    for name in configuration.environment:
        if name in definition.keys or _SECRET.search(name):
            raise BadInputError(
                f"configuration {configuration.name}: environment would keep {name} in the plan; set it in the "
                "environment that matchcut is started in"
            )
    efforts = definition.efforts
    if configuration.effort and efforts and configuration.effort not in efforts:
        raise BadInputError(
            f"configuration {configuration.name}: {definition.label} has no effort {configuration.effort!r}; "
            f"it has {', '.join(efforts)}"
        )


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file. Raises BadInputError where it is missing or none."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise BadInputError(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path}: cannot be read ({error})") from error
    except tomllib.TOMLDecodeError as error:
        raise BadInputError(f"{path}: not valid TOML: {error}") from error
