# SPDX-License-Identifier: GPL-3.0-or-later
"""Claude Code and Codex CLI rebuild the sample's reference, as a scripted model on the loopback tells them.

Everything but the model is real: the programs, their wire formats and limits, our server, Blender, what is handed in.
"""

import io
import json
import subprocess
import sys
from dataclasses import replace

import pytest
from matchcut.evaluator.protocol.children import child_environment
from matchcut.evaluator.protocol.transcript import read_transcript
from model_server import DONE, ModelServer
from model_wires import AnthropicMessages, OpenaiResponses
from PIL import Image
from programs import claude, codex_exec, tell_claude, tell_codex, versions
from rebuild import rebuild
from scripted_agent import Script

TASK = "Rebuild the reference as the server's prompt says, with its tools alone."
CLAUDE_TOKENS = 25_000
CHARACTERS_PER_TOKEN = 4
SECONDS = 1200


def run_claude(shop):
    tell_claude(shop)
    # a person allows the server's tools once; nothing else is allowed here
    return claude(shop, "-p", "--allowedTools", "mcp__matchcut", "--", TASK, seconds=SECONDS)


def run_codex(shop):
    tell_codex(shop)
    return codex_exec(shop, TASK, seconds=SECONDS)


@pytest.mark.parametrize(("wire", "run"), [(AnthropicMessages, run_claude), (OpenaiResponses, run_codex)])
def test_an_agent_program_studies_builds_looks_renders_and_submits(
    wire, run, shop, reference, root, tmp_path, artifacts
):
    steps, out = rebuild(), tmp_path / "out"
    transcript = tmp_path / "transcript.jsonl"
    arguments = [
        *shop.arguments, "--reference", str(reference), "--setting", "simplified", "--output", str(out), "--transcript",
        str(transcript),
    ]  # fmt: skip
    with ModelServer(wire(), Script(steps)) as model:
        ended = run(replace(shop, arguments=arguments, model=model.url))
    keep(model, versions(shop.installed), artifacts / f"clients-{run.__name__.removeprefix('run_')}.json")
    assert model.failure == "", model.failure
    assert ended.status == 0 and DONE in ended.output, ended
    assert {one.call.tool for one in model.made} == {step.tool for step in steps}

    seen = [picture for one in model.made for picture in one.answer.pictures]
    assert len(seen) >= sum(step.shows for step in steps)
    for picture in seen:
        image = Image.open(io.BytesIO(picture))
        image.load()
        assert max(image.size) <= 1024 and len(picture) < 700_000
    sent = [one for one in read_transcript(transcript) if one.get("method") == "tools/call"]
    assert [one["name"] for one in sent] == [one.call.tool for one in model.made]
    assert [one["result"]["images"] for one in sent] == [len(one.answer.pictures) for one in model.made]
    longest = max(model.made, key=lambda one: len(one.answer.text))
    assert len(longest.answer.text) / CHARACTERS_PER_TOKEN < CLAUDE_TOKENS, longest.call

    validate = [sys.executable, str(root / "__main__.py"), "validate", str(out / "submission")]
    told = subprocess.run(
        [*validate, "--reference", str(reference)], capture_output=True, text=True, env=child_environment(), check=False
    )
    assert told.returncode == 0, told.stdout + told.stderr


def keep(model, programs, path):
    """Write what was called, how long each took and how much the model was given, for people to read."""
    made = [
        {"tool": one.call.tool, "seconds": round(one.seconds, 2), "characters": len(one.answer.text),
         "pictures": [len(picture) for picture in one.answer.pictures]}
        for one in model.made
    ]  # fmt: skip
    path.write_text(json.dumps({"programs": programs, "made": made}, indent=1), "utf-8")
