# SPDX-License-Identifier: GPL-3.0-or-later
"""What docs/agents.md shows is what the server has: tools, arguments, clients, command lines, limits."""

import argparse
import asyncio
import re
import shlex

import pytest
from matchcut.evaluator.cli import mcp, mcp_config, mcp_doctor
from matchcut.evaluator.environment import mcp_clients
from matchcut.evaluator.protocol.errors import OperationalError
from matchcut.mcp_server import render_tools, scene_tools, serve_http, study_tools
from matchcut.mcp_server.renders import Renders
from matchcut.mcp_server.server import make_server
from matchcut.mcp_server.session import Session
from matchcut.mcp_server.workplace import Workplace
from mcp import Client

MODULES = {"config": mcp_config, "doctor": mcp_doctor}


@pytest.fixture(scope="module")
def page(root):
    return (root / "docs" / "agents.md").read_text(encoding="utf-8")


def listed(kind):
    def no_launch(label, given_up):
        raise OperationalError("no Blender here")

    async def ask():
        async with Client(make_server(Session(no_launch), Renders(Workplace([])))) as client:
            return await getattr(client, f"list_{kind}")()

    return getattr(asyncio.run(ask()), kind)


def section(page, title):
    return re.split(r"^## ", page.split(f"\n## {title}\n")[1], maxsplit=1, flags=re.MULTILINE)[0]


def test_every_tool_stands_in_the_table_with_arguments_that_it_has(page):
    rows = re.findall(r"^\| (`.*?`) \|", section(page, "The flow"), re.MULTILINE)
    shown = dict(re.findall(r"`([a-z_]+)(?:\(([^)]*)\))?`", "\n".join(rows)))
    tools = {one.name: one.input_schema["properties"] for one in listed("tools")}
    assert list(shown) == list(tools) and f"has {len(tools)} tools" in page
    for name, words in shown.items():
        assert set(filter(None, words.split(", "))) <= set(tools[name]), name


def test_prompts_and_resources_stand_there(page):
    (prompt,) = listed("prompts")
    assert f"`{prompt.name}({', '.join(one.name for one in prompt.arguments)})`" in page
    assert all(f"`{one.uri}`" in page for one in listed("resources"))


def test_every_command_line_is_one_that_is_read(page, root):
    lines = [line for block in re.findall(r"```\n(.*?)```", page, re.DOTALL) for line in block.splitlines()]
    lines += re.findall(r"^  (matchcut mcp .*?)(?: \\)?$", mcp.DESCRIPTION, re.MULTILINE)
    commands = [shlex.split(line)[2:] for line in lines if line.startswith("matchcut mcp")]
    assert len(commands) > 8
    for words in commands:
        module = MODULES.get(words[0] if words else "", mcp)
        parser = argparse.ArgumentParser(exit_on_error=False)
        module.add_arguments(parser)
        parser.parse_args(words[1:] if module is not mcp else words)


def test_every_client_has_its_row_and_its_file(page):
    rows = re.findall(r"^\| `([a-z-]+)` \| (.*?) \|", section(page, "Connect a client"), re.MULTILINE)
    assert [name for name, _ in rows] == list(mcp_clients.CLIENTS)
    for name, place in rows:
        path = mcp_clients.config_file(name)
        assert path is None or path.name in place


def test_limits_are_the_program_s(page):
    longest = max(scene_tools.PYTHON_SECONDS_LIMIT, study_tools.INFO_SECONDS, study_tools.FRAMES_SECONDS)
    assert f"with its {scene_tools.PYTHON_SECONDS_LIMIT:.0f} s; what" in page
    assert f"allows {mcp_clients.CALL_SECONDS} s" in page and longest < mcp_clients.CALL_SECONDS
    assert f"at most {render_tools.WAIT_SECONDS} s a call" in page
    assert f"above {serve_http.BODY_BYTES // 2**20} MiB" in page and f"at least {serve_http.TOKEN_LENGTH} char" in page
    assert f"not whole within {serve_http.REQUEST_SECONDS:.0f} s" in page
