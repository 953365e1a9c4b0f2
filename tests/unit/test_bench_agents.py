# SPDX-License-Identifier: GPL-3.0-or-later
"""The shipped agents: how each is started, told of the server and read; the paper's configurations."""

import json
import os
import tomllib
from pathlib import Path

import pytest
from matchcut.evaluator.benchmark.agents.launch import Server, launch, unenforced, version_command
from matchcut.evaluator.benchmark.agents.load import PAPER, load_configurations, load_definition, shipped
from matchcut.evaluator.benchmark.agents.records import AgentDefinition, Configuration, UsageReading
from matchcut.evaluator.benchmark.usage import UsageReader
from matchcut.evaluator.judge.prices import Price
from matchcut.evaluator.protocol.errors import BadInputError

PROGRAMS = [name for name in shipped() if name != "python"]
SERVER = Server(["/opt/python", "/opt/matchcut/__main__.py", "mcp", "--benchmark"], {"BLENDER": "/opt/blender"})
PROMPT = 'Rebuild it: "quoted", $HOME {home} {"json": 1}\nsecond line'


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Programs of every name on PATH, a home for the agent, and the caller's own home with nothing in it."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in PROGRAMS:
        path = programs / load_definition(name).command[0]
        path.write_text("#!/bin/sh\necho a program 1.2.3\n")
        path.chmod(0o755)
    (tmp_path / "caller").mkdir()
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path / "caller"))
    for name in PROGRAMS:
        for key in (*load_definition(name).keys, *load_definition(name).optional_keys):
            monkeypatch.setenv(key, "")  # so that it is as before afterwards
    return tmp_path


def start(place, name, *, key=True, monkeypatch=None, **fields):
    definition = load_definition(name)
    configuration = Configuration(name="c", agent=name, **fields)
    if key:
        os.environ[[*definition.keys, *definition.optional_keys][0]] = "not-a-key"
    home, task = place / "home", place / "task"
    values = {
        "prompt": PROMPT, "prompt_file": "p", "task_file": "t", "task": str(task), "reference": "r", "output": "o",
        "home": str(home), "setting": "proxy", "python": "/opt/python", "model": fields.get("model", ""),
        "effort": fields.get("effort", ""), "turns": "7", "usd": "2.5",
        "output_tokens": str(fields.get("output_tokens") or ""),
    }  # fmt: skip
    return launch(definition, configuration, values, SERVER), home


def test_the_programs_that_are_shipped():
    assert PROGRAMS == ["antigravity", "claude-code", "codex", "gemini", "grok", "kimi", "opencode", "qwen-code"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_program_gets_prompt_model_and_server_in_a_home_of_its_own(place, name):
    made, home = start(place, name, model="a-model", effort="high")
    assert Path(made.command[0]).is_absolute() and PROMPT in made.command, "the prompt is one argument as it stands"
    assert made.environment["HOME"] == str(home) and "not-a-key" in made.environment.values()
    texts = [path.read_text() for path in home.rglob("*") if path.is_file()]
    assert any("a-model" in text for text in [*made.command, *texts])
    assert sum("/opt/matchcut/__main__.py" in text and "/opt/blender" in text for text in texts) == 1
    assert not any("{" + word + "}" in text for word in ("model", "effort", "server_command") for text in texts)
    assert "not-a-key" not in "".join(texts)
    for path in home.rglob("*.json"):
        json.loads(path.read_text())
    for path in home.rglob("*.toml"):
        tomllib.loads(path.read_text())


def test_how_each_is_told_of_the_server(place):
    _, home = start(place, "claude-code")
    entry = json.loads((home / "mcp.json").read_text())["mcpServers"]["matchcut"]
    assert entry["command"] == "/opt/python" and entry["args"] == list(SERVER.command[1:]) and entry["alwaysLoad"]
    _, home = start(place, "codex")
    entry = tomllib.loads((home / ".codex" / "config.toml").read_text())["mcp_servers"]["matchcut"]
    assert entry["env"] == {"BLENDER": "/opt/blender"} and entry["default_tools_approval_mode"] == "approve"
    _, home = start(place, "opencode")
    entry = json.loads((home / "opencode.json").read_text())["mcp"]["matchcut"]
    assert entry["command"] == SERVER.command and entry["environment"] == {"BLENDER": "/opt/blender"}
    _, home = start(place, "grok")
    assert tomllib.loads((home / ".grok" / "config.toml").read_text())["mcp_servers"]["matchcut"]["tool_timeout_sec"]


def test_options_are_there_only_where_they_are_given(place):
    made, _ = start(place, "claude-code", model="m", effort="low", output_tokens=32768)
    line = " ".join(made.command)
    assert "--model m --effort low --max-turns 7 --max-budget-usd 2.5 --" in line
    assert made.environment["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] == "32768"
    made, _ = start(place, "claude-code")
    assert "--model" not in made.command and "CLAUDE_CODE_MAX_OUTPUT_TOKENS" not in made.environment


def test_a_key_is_needed_from_the_environment_or_a_login(place, monkeypatch):
    with pytest.raises(BadInputError, match="Codex CLI needs a key: set OPENAI_API_KEY or CODEX_API_KEY"):
        start(place, "codex", key=False)
    monkeypatch.setenv("CODEX_API_KEY", "from-the-caller")
    made, _ = start(place, "codex", key=False)
    assert made.environment["CODEX_API_KEY"] == "from-the-caller"
    monkeypatch.setenv("CODEX_API_KEY", "")
    (place / "caller" / ".codex").mkdir()
    (place / "caller" / ".codex" / "auth.json").write_text("a login")
    _, home = start(place, "codex", key=False)
    assert (home / ".codex" / "auth.json").read_text() == "a login"


def test_a_program_that_is_not_there_is_said(place, monkeypatch):
    monkeypatch.setenv("PATH", str(place / "nothing"))
    with pytest.raises(BadInputError, match="grok: there is no such program"):
        start(place, "grok")


@pytest.mark.parametrize("where", ["/etc/x", "{home}/../x", "x", "{reference}/x"])
def test_files_of_an_agent_lie_in_its_home_or_task(place, where):
    definition = load_definition("python").model_copy(update={"files": {where: "x"}})
    with pytest.raises(BadInputError, match="an agent's files lie in"):
        launch(definition, Configuration(name="c", agent="python"), {"home": str(place), "task": str(place)}, SERVER)


def test_what_an_agent_cannot_be_held_to_is_said():
    grok, kimi, antigravity = (load_definition(name) for name in ("grok", "kimi", "antigravity"))
    wanted = Configuration(name="c", agent="x", effort="high", output_tokens=10)
    assert unenforced(grok, wanted, turns=True, usd=True, priced=True) == [
        "tokens of a response: Grok Build has no setting for them"
    ]
    silent = antigravity.model_copy(update={"usage": UsageReading()})
    told = unenforced(silent, wanted, turns=True, usd=True, priced=True)
    assert told[:2] == ["turns: Antigravity CLI does not tell them",
        "money: Antigravity CLI does not tell what it uses up"]  # fmt: skip
    (told,) = unenforced(antigravity, Configuration(name="c", agent="x"), turns=False, usd=True, priced=True)
    assert told == "money: checked at the end, as Antigravity CLI tells no tokens before"
    assert "turns" not in " ".join(unenforced(kimi, wanted, turns=True, usd=False, priced=True))
    assert unenforced(load_definition("claude-code"), wanted, turns=True, usd=True, priced=True) == []
    assert any(
        "effort" in one for one in unenforced(load_definition("gemini"), wanted, turns=False, usd=False, priced=True)
    )
    codex = load_definition("codex")
    (told,) = unenforced(codex, Configuration(name="c", agent="codex", model="m"), turns=True, usd=True, priced=False)
    assert told == "money: no price of m is known; give it with --prices"
    assert version_command(kimi) == ["kimi", "--version"]


# --- configurations


def test_the_paper_s_configurations_and_its_ablation():
    found = {one.name: one for one in load_configurations(PAPER)}
    table = [one for one in found.values() if not one.no_refine]
    assert len(table) == 13
    efforts = {effort: sum(one.effort == effort for one in table) for effort in ("xhigh", "high", "low")}
    assert efforts == {"xhigh": 2, "high": 10, "low": 1}
    assert {one.name for one in table if one.effort == "xhigh"} == {"qwen3.8-max", "qwen3.8-flash"}
    assert all(one.output_tokens == 32768 for one in table)
    full, no_refine, low = (found[f"claude-opus-5.5{rest}"] for rest in ("", "-no-refine", "-low"))
    assert (full.model, full.effort) == (no_refine.model, no_refine.effort) and no_refine.no_refine
    assert low.model == full.model and low.effort == "low" and not low.no_refine
    by_agent = {one.agent: one.label for one in table}
    assert set(by_agent) == {"codex", "claude-code", "antigravity", "qwen-code", "kimi", "grok", "opencode"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("format = 1", "format"),
        ("[[configuration]]\nname = 'a b'\nagent = 'codex'", "configuration/0/name"),
        ("[[configuration]]\nname = 'a'\nagent = 'nobody'", "there is no such agent; take antigravity"),
        ("[[configuration]]\nname = 'a'\nagent = 'codex'\neffort = 'much'", "Codex CLI has no effort 'much'"),
        ("[[configuration]]\nname = 'a'\nagent = 'codex'\n" * 2, "'a' is there twice"),
        ("[[configuration]]\nname = 'a'\nagent = 'python:'", "names no module"),
        ("[[configuration]]\nname = 'a'\nagent = 'python:gone.py'", "there is no such file"),
        (
            "[[configuration]]\nname = 'a'\nagent = 'grok'\nenvironment = { XAI_API_KEY = 'x' }",
            "would keep XAI_API_KEY in",
        ),
        ("[[configuration]]\nname = 'a'\nagent = 'grok'\nenvironment = { My_Token = 'x' }", "would keep My_Token in"),
        ("[[configuration]\n", "not valid TOML"),
    ],
)
def test_faults_of_a_file_are_said_in_one_line(tmp_path, text, said):
    path = tmp_path / "mine.toml"
    path.write_text(text if text.startswith("format") else f'format = "matchcut-configurations/1"\n{text}')
    with pytest.raises(BadInputError) as caught:
        load_configurations(path)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_one_s_own_agents_lie_beside_the_file(tmp_path):
    (tmp_path / "mine.py").touch()
    (tmp_path / "mine.toml").write_text('format = "matchcut-agent/1"\nlabel = "Mine"\ncommand = ["mine"]\n')
    (tmp_path / "c.toml").write_text(
        'format = "matchcut-configurations/1"\n'
        + "".join(
            f'[[configuration]]\nname = "{name}"\nagent = "{agent}"\n'
            for name, agent in (
                ("a", "python:mine.py"),
                ("b", "mine.toml"),
                ("c", "artist:results"),
                ("d", "python:json.tool"),
            )
        )
    )
    a, b, c, d = load_configurations(tmp_path / "c.toml")
    assert load_definition(a.agent).command == ["{python}", str(tmp_path / "mine.py"), "{task_file}"]
    assert load_definition(b.agent).label == "Mine" and c.agent == f"artist:{tmp_path / 'results'}"
    assert load_definition(d.agent).command == ["{python}", "-m", "json.tool", "{task_file}"]
    assert [one.name for one in load_configurations(tmp_path / "c.toml", ["d", "a"])] == ["a", "d"]
    with pytest.raises(BadInputError, match="has no configuration 'x'"):
        load_configurations(tmp_path / "c.toml", ["x"])


# --- usage


SESSIONS = {
    "codex": ".codex/sessions/2026/rollout.jsonl",
    "gemini": ".gemini/tmp/task/chats/session-2026.jsonl",
    "kimi": ".kimi-code/sessions/wd_task/session_1/agents/main/wire.jsonl",
}


def read(name, lines, place, *, price=None, split=1):
    definition = load_definition(name)
    output = place / "agent.out"
    target = output
    if definition.usage.files:
        target = place / "home" / SESSIONS[name]
        target.parent.mkdir(parents=True, exist_ok=True)
    reader = UsageReader(definition.usage, output, place / "home", price)
    data = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines).encode()
    found = [reader.read()]
    for at in range(0, len(data), max(1, len(data) // split)):
        with target.open("ab") as file:
            file.write(data[at : at + max(1, len(data) // split)])
        found.append(reader.read())
    return found


def claude_message(number, output):
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 1000,
        "cache_creation_input_tokens": 100,
        "output_tokens": output,
    }
    return {"type": "assistant", "message": {"id": f"m{number}", "usage": usage}}


def test_claude_code_tells_responses_as_they_come_and_its_cost_at_the_end(tmp_path):
    price = Price(input=4, cached_input=0.2, cache_write=8, output=20)
    lines = [claude_message(1, 5), claude_message(1, 5), {"type": "user"}, "no JSON", "{torn", claude_message(2, 7)]
    during = read("claude-code", lines, tmp_path, price=price, split=9)
    assert during[0].turns is None and during[0].usd is None and during[0].note
    last = during[-1]
    assert (last.turns, last.output_tokens, last.input_tokens, last.cached_input_tokens) == (2, 12, 2220, 2000)
    assert last.usd_source == "prices" and last.usd == pytest.approx((20 * 4 + 2000 * 0.2 + 200 * 8 + 12 * 20) / 1e6)
    total = {
        "input_tokens": 20,
        "cache_read_input_tokens": 2000,
        "cache_creation_input_tokens": 200,
        "output_tokens": 15,
    }
    (tmp_path / "agent.out").unlink()
    done = read(
        "claude-code", [*lines, {"type": "result", "num_turns": 2, "total_cost_usd": 0.0123, "usage": total}], tmp_path
    )[-1]
    assert (done.usd, done.usd_source, done.output_tokens, done.turns, done.note) == (0.0123, "agent", 15, 2, "")


def test_codex_tells_totals_in_its_session_file(tmp_path):
    def count(total, out):
        info = {
            "total_token_usage": {
                "input_tokens": total,
                "cached_input_tokens": total // 2,
                "output_tokens": out,
                "total_tokens": total + out,
            }
        }
        return {"type": "event_msg", "payload": {"type": "token_count", "info": info}}

    empty = {"type": "event_msg", "payload": {"type": "token_count", "info": None}}
    lines = [empty, count(100, 10), count(100, 10), count(300, 25), {"type": "response_item"}]
    last = read("codex", lines, tmp_path)[-1]
    assert (last.input_tokens, last.cached_input_tokens, last.output_tokens, last.turns) == (300, 150, 25, 2)
    assert last.usd is None and "price" in last.note


def test_opencode_tells_cost_and_tokens_of_every_step(tmp_path):
    def step(number):
        tokens = {"input": 11087, "output": 145, "reasoning": 5, "cache": {"write": 3, "read": 10}}
        return {
            "type": "step_finish",
            "part": {"id": f"prt_{number}", "type": "step-finish", "tokens": tokens, "cost": 0.007},
        }

    last = read("opencode", [{"type": "step_start"}, step(1), step(2)], tmp_path)[-1]
    assert (last.turns, last.input_tokens, last.output_tokens) == (2, 22200, 300) and last.usd == pytest.approx(0.014)


def test_gemini_and_kimi_tell_every_response_in_their_session_files(tmp_path):
    def response(name, **more):
        tokens = {"input": 50, "output": 7, "cached": 20, "thoughts": 3, "tool": 2, "total": 62}
        return {"id": name, "type": "gemini", "content": "", "tokens": tokens, "model": "m", **more}

    # a response is written once more with what its calls gave
    lines = [{"$set": {}}, {"id": "u", "type": "user"}, response("a"), response("a", toolCalls=[]), response("b")]
    last = read("gemini", lines, tmp_path)[-1]
    assert (last.input_tokens, last.output_tokens, last.cached_input_tokens, last.turns) == (104, 20, 40, 2)
    usage = {"inputOther": 7, "output": 3, "inputCacheRead": 5, "inputCacheCreation": 1}
    lines = [{"type": "usage.record", "usage": usage, "usageScope": "turn"}, {"type": "step.end"}]
    last = read("kimi", lines * 2, tmp_path)[-1]
    assert (last.input_tokens, last.output_tokens, last.cached_input_tokens, last.turns) == (26, 6, 10, 2)


def test_antigravity_tells_at_the_end_alone(tmp_path):
    result = {"type": "result", "usage": {"input_tokens": 50, "output_tokens": 7, "cache_read_tokens": 20}}
    last = read("antigravity", [{"type": "init"}, result], tmp_path)[-1]
    assert (last.input_tokens, last.output_tokens, last.cached_input_tokens, last.turns) == (50, 7, 20, None)


@pytest.mark.parametrize("value", ["7", None, True, -1, 1e300, {"a": 1}, [1], float("nan")])
def test_a_figure_that_is_none_is_not_known(tmp_path, value):
    line = json.dumps({"type": "usage", "turns": value, "output_tokens": 3})
    last = read("python", [line, "[" * 100_000, "{" * 5], tmp_path)[-1]
    assert last.turns is None and last.output_tokens == 3


def test_a_line_without_end_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("matchcut.evaluator.benchmark.usage.LONGEST_LINE", 1000)
    output = tmp_path / "out"
    reader = UsageReader(UsageReading(rules=load_definition("python").usage.rules), output, tmp_path)
    output.write_bytes(b"{" + b"x" * 5000)
    reader.read()
    with output.open("ab") as file:
        file.write(b'}\n{"type": "usage", "turns": 1, "output_tokens": 2}\n')
    assert reader.read().turns == 1


def test_every_shipped_definition_says_from_what_it_is():
    for name in PROGRAMS:
        text = (PAPER.parent / "agents" / f"{name}.toml").read_text().splitlines()[0]
        assert text.startswith("# ") and ("run with" in text or "not run here" in text) and "https://" in text
        assert isinstance(load_definition(name), AgentDefinition)
