# SPDX-License-Identifier: GPL-3.0-or-later
"""How an agent's program is started, told of the MCP server and read, as a small file; and which of them take part."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from ...checklist.records import Identifier
from ...records import Record

Option = Literal["model", "effort", "turns", "usd", "output_tokens"]


class McpWiring(Record):
    """The file that tells the program of our server: `entry` becomes its object `key`.matchcut.

    In `entry` the text `{server_program}` becomes our server's program, `{server_arguments}` the list of its arguments,
    `{server_command}` both in one list, and `{server_environment}` an object.
    """

    file: str
    form: Literal["json", "toml"]
    key: str
    entry: dict[str, Any]


class UsageRule(Record):
    """What lines of JSON say about usage: those in which every path of `when` has its value.

    Paths are names with dots between them. Several paths of one figure are added up.
    """

    when: Annotated[dict[str, str], Field(min_length=1)]
    total: bool = False
    """Whether the line tells everything so far, and not what was added."""
    once: str = ""
    """Path of an id: lines with the same one tell of the same response, and the last of them counts."""
    turn: bool = False
    """Whether each is a response of the model."""
    turns: list[str] = []
    input_tokens: list[str] = []
    cached_input_tokens: list[str] = []
    cache_write_tokens: list[str] = []
    output_tokens: list[str] = []
    usd: list[str] = []


class UsageReading(Record):
    """Where a program tells what it uses up: on its standard output, or in files of its home folder."""

    files: str = ""
    """Pattern of the files below {home}; empty for standard output."""
    rules: list[UsageRule] = []
    at_end: bool = False
    """Whether it tells nothing before it ends, so that it cannot be held to a limit while it runs."""
    note: str = ""
    """What cannot be read, and why."""


class AgentDefinition(Record):
    """One agent's program. Texts may hold {prompt} {prompt_file} {task_file} {task} {reference} {output} {home} {model}
    {effort} {turns} {usd} {output_tokens} {setting} {mcp_file} {python}; braces around anything else stay.
    """  # noqa: D205

    format: Literal["matchcut-agent/1"]
    label: str
    command: Annotated[list[str], Field(min_length=1)]
    """`{options}` alone stands for `options` of what is given."""
    options: dict[Option, list[str]] = {}
    version: list[str] = []
    efforts: list[str] = []
    """Those that it knows; empty for any."""
    provider: str = ""
    """Whose prices its models have, as `anthropic`."""
    keys: list[str] = []
    """Variables of the caller's environment that it gets, as those with keys; at least one has to be set."""
    optional_keys: list[str] = []
    logins: dict[str, str] = {}
    """Files of the caller's home that it gets copies of, where they are there: `~/FILE` → `{home}/FILE`."""
    environment: dict[str, str] = {}
    files: dict[str, str] = {}
    """Files that are written for it, by their places in {home} or {task}."""
    mcp: McpWiring | None = None
    usage: UsageReading = UsageReading()
    note: str = ""
    """What whoever runs it should know, for people."""


class Configuration(Record):
    """One row of a table: an agent with a model and an effort."""

    name: Identifier
    label: str = ""
    agent: str
    """The name of a shipped definition, a definition's file, `python:MODULE`, `python:FILE.py` or `artist:FOLDER`."""
    model: str = ""
    effort: str = ""
    no_refine: bool = False
    """Whether the server ends rendering and comparing after the first full render."""
    output_tokens: Annotated[int, Field(ge=1)] | None = None
    """Most tokens of one response, where the program lets that be set."""
    network: Literal["open", "none"] = "open"
    """Whether its program reaches a network. Its Blender never does."""
    blender: Literal["background", "window"] = "background"
    """Whether its Blender has a window, on a virtual screen."""
    environment: dict[str, str] = {}


class Configurations(Record):
    """A file of configurations."""

    format: Literal["matchcut-configurations/1"]
    configuration: Annotated[list[Configuration], Field(min_length=1)]
