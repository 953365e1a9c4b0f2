# SPDX-License-Identifier: GPL-3.0-or-later
"""Each real agent program finds our server, connects and lists the tools, without a network and without Blender."""

import json
import socket
from dataclasses import replace

import pytest
from model_server import DONE, ModelServer
from model_wires import AnthropicMessages, OpenaiResponses
from programs import claude, codex, codex_exec, inspector, tell_claude, tell_codex
from scripted_agent import Script, Step

TOOLS = {
    "reference_info", "reference_frames", "reference_motion", "scene_summary", "inspect", "run_python", "undo",
    "api_help", "look", "compare", "render_start", "render_wait", "render_status", "render_cancel", "fit_camera",
    "check_timeline", "audit", "submit", "score",
}  # fmt: skip


def test_there_is_no_network_but_the_loopback(loopback):
    if not loopback:
        pytest.skip("this system or user cannot make a network of its own; the refusing proxy alone stands guard")
    with pytest.raises(OSError, match="unreachable"):
        socket.create_connection(("192.0.2.1", 443), timeout=5)


def test_the_inspector_lists_the_tools_and_finds_no_fault_in_what_a_model_must_send(shop):
    ended = inspector(shop, "--method", "tools/list", "--strict")
    assert ended.status == 0, ended.errors
    assert {tool["name"] for tool in json.loads(ended.output)["tools"]} == TOOLS
    # nullable fields of results are its only remark: no provider is sent the schema of a result
    assert "Path: inputSchema" not in ended.errors and ended.errors.splitlines()[-1].startswith("0 errors"), (
        ended.errors
    )


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_speaks_both_protocols_to_it(shop, era):
    def ask(*arguments):
        ended = inspector(shop, "--protocol-era", era, *arguments, "--quiet")
        assert ended.status == 0, ended.errors
        return json.loads(ended.output)

    assert [one["name"] for one in ask("--method", "prompts/list")["prompts"]] == ["reconstruct"]
    (task,) = ask("--method", "resources/read", "--uri", "matchcut://task")["contents"]
    assert task["text"].startswith("# ")
    assert {one["uri"] for one in ask("--method", "resources/list")["resources"]} >= {task["uri"]}


def test_claude_code_says_that_the_server_is_healthy(shop):
    with ModelServer(AnthropicMessages(), Script([])) as model:
        shop = replace(shop, model=model.url)
        tell_claude(shop)
        ended = claude(shop, "mcp", "list")
    assert ended.status == 0 and "matchcut" in ended.output and "Connected" in ended.output, ended
    assert model.requests == [], "no model is asked for that"
    assert not (shop.home / "bridge").exists(), "no Blender is started for that"


def test_claude_code_shows_its_model_every_tool_in_the_first_request(shop):
    with ModelServer(AnthropicMessages(), Script([])) as model:
        shop = replace(shop, model=model.url)
        tell_claude(shop)
        ended = claude(shop, "-p", "Which tools are there?")
    first = model.turns()[0]
    assert ended.status == 0 and DONE in ended.output, ended
    assert set(model.wire.tools(first.body)) == TOOLS
    assert "## matchcut" in json.dumps(first.body), "the server's instructions reach the model"


def test_codex_lists_the_server_and_gives_its_model_every_tool(shop):
    script = Script([])
    script.need(TOOLS)
    with ModelServer(OpenaiResponses(), script) as model:
        shop = replace(shop, model=model.url)
        tell_codex(shop)
        assert "matchcut" in codex(shop, "mcp", "list").output
        ended = codex_exec(shop, "Which tools are there?")
    assert ended.status == 0 and DONE in ended.output, ended
    assert set(model.wire.tools(model.turns()[-1].body)) == TOOLS


def test_codex_alone_lets_its_model_read_but_not_change_what_nobody_has_allowed(shop):
    """What docs/agents.md says of `codex exec`; our hints of what a tool does are what it decides by."""
    refused = Step("run_python", {"code": "1"}, fails="requires approval")
    with ModelServer(OpenaiResponses(), Script([Step("render_status", fails="bad_params"), refused])) as model:
        shop = replace(shop, model=model.url)
        tell_codex(shop)
        ended = codex_exec(shop, "Try it.", allowed=False)
    assert ended.status == 0 and model.failure == "", ended
