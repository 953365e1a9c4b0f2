# SPDX-License-Identifier: GPL-3.0-or-later
"""What tells agents' programs of the server, and `mcp doctor`, which names the hop that is broken."""

import json
import os
import shlex
import socket
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

import pytest
from bridge_stub import BridgeStub, summary
from matchcut.evaluator.cli import mcp_doctor, mcp_doctor_bridge, mcp_doctor_server
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.environment import mcp_clients
from matchcut.evaluator.environment.mcp_clients import (
    CLIENTS,
    config_file,
    config_text,
    server_command,
    write_config,
)
from matchcut.evaluator.protocol.bridge import BridgeCallError
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.messages import SilentReporter

COMMAND = ["/opt/a b/python", "/opt/matchcut/__main__.py", "mcp"]
ENVIRONMENT = {"BLENDER": '/opt/blender "5"\\x'}
JSON_CLIENTS = {"claude-code": "mcpServers", "antigravity": "mcpServers", "gemini": "mcpServers", "vscode": "servers"}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    monkeypatch.setenv("APPDATA", str(tmp_path / "home" / "Roaming"))
    monkeypatch.setenv("MATCHCUT_BRIDGE_FOLDER", str(tmp_path / "bridge"))
    monkeypatch.setenv("BLENDER", str(tmp_path / "no blender"))
    return tmp_path / "home"


def entry_in(client, text):
    """The entry that `client` would read from what is printed."""
    if client == "codex":
        return tomllib.loads(text)["mcp_servers"]["matchcut"]
    if text.startswith("claude "):
        *words, name, data = shlex.split(text)
        assert words == ["claude", "mcp", "add-json", "--scope", "user"] and name == "matchcut"
        return json.loads(data)
    return json.loads(text)[CLIENTS[client].key]["matchcut"]


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_gets_the_command_in_its_own_form(client):
    entry = entry_in(client, config_text(client, COMMAND, ENVIRONMENT))
    assert [entry["command"], *entry["args"]] == COMMAND and entry["env"] == ENVIRONMENT
    assert "env" not in entry_in(client, config_text(client, COMMAND))


def test_timeouts_suit_the_longest_call():
    codex = entry_in("codex", config_text("codex", COMMAND))
    assert codex["tool_timeout_sec"] > 600 and codex["startup_timeout_sec"] >= 20
    for client in ("claude-code", "gemini"):
        assert entry_in(client, config_text(client, COMMAND))["timeout"] == codex["tool_timeout_sec"] * 1000


def test_each_system_has_its_own_place(home, monkeypatch):
    assert config_file("claude-code") == home / ".claude.json" and config_file("generic") is None
    assert config_file("codex") == home / ".codex" / "config.toml"
    assert config_file("gemini") == home / ".gemini" / "settings.json"
    assert config_file("antigravity") == home / ".gemini" / "config" / "mcp_config.json"
    places = {"linux": ".config", "darwin": "Library/Application Support", "win32": "Roaming"}
    for system, folder in places.items():
        monkeypatch.setattr(mcp_clients.sys, "platform", system)
        assert config_file("vscode") == home / folder / "Code" / "User" / "mcp.json"
    monkeypatch.setenv("CODEX_HOME", str(home / "c"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "d"))
    assert config_file("codex") == home / "c" / "config.toml"
    assert config_file("claude-code") == home / "d" / ".claude.json"


@pytest.mark.parametrize("client", [*JSON_CLIENTS, "codex"])
def test_a_file_that_is_missing_is_made_and_a_second_time_changes_nothing(client):
    path = config_file(client)
    assert write_config(client, COMMAND, ENVIRONMENT) is None
    text = path.read_text(encoding="utf-8")
    entry = entry_in(client, text)
    assert [entry["command"], *entry["args"]] == COMMAND and entry["env"] == ENVIRONMENT
    before = path.stat().st_mtime_ns
    assert write_config(client, COMMAND, ENVIRONMENT) is None and path.stat().st_mtime_ns == before
    assert [one.name for one in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(("client", "key"), JSON_CLIENTS.items())
def test_other_entries_of_a_json_file_stay_as_they_are(client, key):
    path = config_file(client)
    path.parent.mkdir(parents=True)
    other = {"command": "ünï", "args": ["😀", "\u2028"], "big": 12345678901234567890, "rate": 0.1, "none": None}
    mine = {"command": "old", "trust": True, "env": {"KEEP": "1", "BLENDER": "old"}}
    before = {"theme": "dark", key: {"other": other, "matchcut": mine}, "z": [1, {"a": []}]}
    path.write_text(json.dumps(before, indent="\t", ensure_ascii=False), encoding="utf-8")
    backup = write_config(client, COMMAND, ENVIRONMENT)
    after = json.loads(path.read_text(encoding="utf-8"))
    assert json.loads(backup.read_text(encoding="utf-8")) == before
    entry = after[key]["matchcut"]
    assert entry["trust"] is True and entry["env"] == {"KEEP": "1", **ENVIRONMENT} and entry["command"] == COMMAND[0]
    after[key]["matchcut"] = mine
    assert after == before and list(after) == list(before)
    assert path.read_text(encoding="utf-8").startswith('{\n\t"theme"'), "its own indent"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{\n  // mine\n  "mcpServers": {}\n}', "comments"),
        ('{"mcpServers": {},}', "not valid JSON"),
        ('{"mcpServers": {}, "mcpServers": {"other": {}}}', "twice"),
        ('{"a": NaN}', "not valid JSON"),
        ("[]", "not the object"),
        ('{"mcpServers": []}', "not the object"),
        ('{"mcpServers": {"matchcut": "x"}}', "not the object"),
    ],
)
def test_a_json_file_that_cannot_be_kept_exactly_is_left_alone(text, said):
    path = config_file("gemini")
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(BadInputError, match=said) as failure:
        write_config("gemini", COMMAND)
    assert "by hand" in str(failure.value) and len(str(failure.value).splitlines()) == 1
    assert path.read_text() == text and len(list(path.parent.iterdir())) == 1


TOML = """# mine
model = "gpt"   # the best

[mcp_servers.other]
command = 'x'

[profiles."a.b"]
when = 1979-05-27T07:32:00Z"""


def test_a_toml_file_keeps_every_character_and_gets_a_table():
    path = config_file("codex")
    path.parent.mkdir(parents=True)
    path.write_text(TOML)
    backup = write_config("codex", COMMAND, ENVIRONMENT)
    text = path.read_text()
    assert text.startswith(TOML) and backup.read_text() == TOML
    assert entry_in("codex", text)["env"] == ENVIRONMENT and "other" in tomllib.loads(text)["mcp_servers"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = ", "not valid TOML"),
        ('[mcp_servers.matchcut]\ncommand = "other"\n', "another"),
        ('mcp_servers = { other = { command = "x" } }\n', "cannot be appended"),
        ("mcp_servers = 3\n", "another"),
    ],
)
def test_a_toml_file_that_cannot_be_appended_to_is_left_alone(text, said):
    path = config_file("codex")
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(BadInputError, match=said) as failure:
        write_config("codex", COMMAND)
    assert "by hand" in str(failure.value) and path.read_text() == text


@pytest.mark.skipif(os.name != "posix", reason="permissions and links")
def test_permissions_and_links_are_kept(home):
    real = home / "dotfiles" / "claude.json"
    real.parent.mkdir(parents=True)
    real.write_text('{"secret": "k"}')
    real.chmod(0o600)
    (home / ".claude.json").symlink_to(real)
    backup = write_config("claude-code", COMMAND)
    assert (home / ".claude.json").is_symlink() and json.loads(real.read_text())["secret"] == "k"
    assert [one.stat().st_mode & 0o777 for one in (real, backup)] == [0o600, 0o600]
    again = write_config("claude-code", [*COMMAND, "--headless"])
    assert again != backup and json.loads(backup.read_text()) == {"secret": "k"}, "no copy is written over"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_to_is_one_line(home):
    (home / ".gemini").mkdir(parents=True)
    (home / ".gemini").chmod(0o500)
    with pytest.raises(BadInputError, match="cannot be changed"):
        write_config("gemini", COMMAND)


def test_the_command_prints_what_to_paste_and_where(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shot.blend").touch()
    assert main(["mcp", "config", "codex", "--scene", "shot.blend", "--setting", "proxy", "--headless"]) == 0
    out, err = capsys.readouterr()
    entry = entry_in("codex", out)
    assert entry["args"][-3:] == [f"--scene={tmp_path / 'shot.blend'}", "--setting=proxy", "--headless"]
    assert entry["env"]["BLENDER"] == os.environ["BLENDER"]
    assert str(config_file("codex")) in err and [entry["command"], *entry["args"]][:3] == server_command()
    assert all(Path(one).is_absolute() for one in server_command()[:2])
    assert main(["mcp", "config", "codex", "--write"]) == 0
    assert str(config_file("codex")) in capsys.readouterr().out
    assert main(["mcp", "config", "generic", "--write"]) == 2


# --- doctor


@pytest.fixture
def quick(monkeypatch):
    """A doctor whose children answer at once; each test breaks one of them."""
    monkeypatch.setattr(mcp_doctor, "_command", lambda *arguments: (_said(arguments), ""))
    monkeypatch.setattr(mcp_doctor, "stdio_answer", lambda command: ("answers", ""))
    blender = mcp_doctor.Hop("blender", "ok", "5.2.0")
    monkeypatch.setattr(mcp_doctor, "_blender", lambda: blender)
    monkeypatch.setattr(mcp_doctor_bridge, "CONNECT_SECONDS", 0.5)
    monkeypatch.setattr(mcp_doctor_bridge, "CALL_SECONDS", 1.0)


def _said(arguments):
    timeline = {"width": 8, "height": 4, "rate": "24/1", "frames": 3}
    return json.dumps({"timeline": timeline}) if arguments[0] == "probe" else "a\nb\n"


@pytest.fixture
def bridge():
    started = []

    def start(methods=None, **options):
        hello = {"blender": "5.2.0", "python": True}
        place = {"file": "/a/shot.blend", "reference": "/a/shot.mp4", "blender": ""}
        given = {"hello": lambda: hello, "scene_place": lambda: place, **(methods or {})}
        started.append(BridgeStub(given, **options))
        return started[-1]

    yield start
    for stub in started:
        stub.stop()


def hops(*arguments):
    """Name → hop, and the exit status."""
    import argparse

    parser = argparse.ArgumentParser()
    mcp_doctor.add_arguments(parser)
    args = parser.parse_args(list(arguments))
    args.messages = True
    said = {}

    class Reporter(SilentReporter):
        def result(self, path, data):
            said.update({one["name"]: one for one in data["hops"]})

    status = mcp_doctor.run(args, Reporter())
    for hop in said.values():
        assert hop["state"] != "failed" or hop["mend"], f"{hop['name']} does not say what to do"
    return said, status


def broken(*arguments):
    """The names of the hops that failed, and of those that were skipped for them."""
    said, status = hops(*arguments)
    failed = [name for name, hop in said.items() if hop["state"] == "failed"]
    assert status == (3 if failed else 0)
    return failed, [name for name, hop in said.items() if hop["found"] in [f"needs: {one}" for one in failed]], said


def test_all_is_well(quick, bridge):
    bridge()
    failed, skipped, said = broken()
    assert failed == skipped == [] and all(hop["state"] == "ok" for hop in said.values())
    assert list(said) == [
        "interpreter", "mcp library", "evaluator", "blender", "folder", "descriptors", "instance", "connection",
        "handshake", "main thread", "scene", "python switch", "place", "folders", "reference", "server",
    ]  # fmt: skip
    assert "3 frames" in said["reference"]["found"]


def test_without_an_open_blender_nothing_is_broken(quick):
    failed, _, said = broken()
    assert failed == [] and said["instance"]["state"] == "skipped" and "press Start" in said["instance"]["mend"]


def test_an_old_python_and_a_wrong_library_are_named(quick, monkeypatch):
    monkeypatch.setattr(mcp_doctor.sys, "version_info", (3, 9, 1))
    monkeypatch.setattr(mcp_doctor.metadata, "version", lambda name: "3.0.1")
    failed, skipped, _ = broken()
    assert failed == ["interpreter", "mcp library"] and skipped == ["server"]


def test_a_missing_library_is_named(quick, monkeypatch):
    def missing(name):
        raise mcp_doctor.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(mcp_doctor.metadata, "version", missing)
    assert broken()[0] == ["mcp library"]


def test_an_evaluator_that_does_not_run_and_a_missing_blender_are_named(monkeypatch):
    monkeypatch.setattr(mcp_doctor, "_command", lambda *arguments: ("", "has no package numpy"))
    monkeypatch.setattr(mcp_doctor, "stdio_answer", lambda command: ("answers", ""))
    failed, _, said = broken("--reference", "shot.mp4")
    assert failed == ["evaluator", "blender", "reference"] and "$BLENDER" in said["blender"]["mend"]


@pytest.mark.skipif(os.name != "posix", reason="permissions")
def test_a_folder_that_others_read_is_named(quick, bridge, tmp_path):
    bridge()
    (tmp_path / "bridge").chmod(0o755)
    failed, skipped, said = broken()
    assert failed == ["folder"] and "chmod 700" in said["folder"]["mend"] and "handshake" in skipped


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_a_folder_that_is_a_link_is_named(quick, tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "bridge").symlink_to(tmp_path / "elsewhere")
    assert broken()[0] == ["folder"]


@pytest.mark.skipif(os.name != "posix", reason="permissions")
def test_a_descriptor_that_others_read_is_named(quick, bridge):
    stub = bridge()
    stub.descriptor.path.chmod(0o644)
    failed, _, said = broken()
    assert failed == ["descriptors"] and stub.descriptor.path.name in said["descriptors"]["found"]


def test_the_file_of_an_ended_process_is_told_and_no_fault(quick, bridge):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    bridge(pid=ended.pid)
    failed, _, said = broken()
    assert failed == [] and str(ended.pid) in said["descriptors"]["found"] and said["instance"]["state"] == "skipped"
    assert broken("--instance", str(ended.pid))[0] == ["instance"]


def test_a_bridge_that_is_gone_while_its_process_lives_is_named(quick, bridge):
    stub = bridge()
    stub.listener.stop()
    failed, skipped, said = broken()
    assert failed == ["connection"] and "Start" in said["connection"]["mend"] and "handshake" in skipped


def test_another_program_in_the_bridge_s_place_is_named(quick, bridge):
    stub = bridge()
    stub.listener.stop()
    where = stub.descriptor.socket_path
    with socket.socket(socket.AF_UNIX if where else socket.AF_INET) as other:
        other.bind(str(where) if where else ("127.0.0.1", stub.descriptor.port))
        other.listen()
        threading.Thread(target=lambda: [other.accept()[0].close() for _ in range(2)], daemon=True).start()
        assert broken()[0] == ["handshake"]


def test_a_main_thread_that_does_not_answer_is_named_with_what_it_does(quick, bridge):
    stub = bridge()
    stub.hold.set()
    stub.dispatcher.hold = "a render in the window"
    failed, skipped, said = broken()
    assert failed == ["main thread"] and "a render in the window" in said["main thread"]["found"]
    assert "scene" in skipped and said["handshake"]["state"] == "ok"


def test_a_scene_that_cannot_be_read_is_named(quick, bridge):
    def nothing(offset=0, limit=50):
        raise BridgeCallError("failed", "this Blender has no scene")

    bridge({"scene_summary": nothing})
    failed, skipped, _ = broken()
    assert failed == ["scene"] and skipped == ["python switch", "place"]


def test_python_that_is_off_is_told_and_no_fault(quick, bridge):
    bridge({"hello": lambda: {"blender": "5.2.0", "python": False}})
    failed, _, said = broken()
    assert failed == [] and said["python switch"]["state"] == "skipped" and "Allow" in said["python switch"]["mend"]


def test_of_several_blenders_each_is_looked_at(quick, bridge):
    sleepers = [subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) for _ in range(2)]
    try:
        first, second = (bridge({"scene_summary": summary}, pid=one.pid) for one in sleepers)
        second.hold.set()
        failed, _, said = broken()
        assert failed == [f"main thread {sleepers[1].pid}"] and said[f"place {sleepers[0].pid}"]["state"] == "ok"
        assert "has to name its `instance`" in said["instance"]["found"]
        assert broken("--instance", str(sleepers[0].pid))[0] == []
        assert first.ran and not second.ran
    finally:
        for one in sleepers:
            one.kill()
            one.wait()


def test_a_server_in_the_root_folder_and_a_missing_folder_are_named(quick, monkeypatch, tmp_path):
    assert broken("--folder", str(tmp_path / "none"))[0] == ["folders"]
    monkeypatch.chdir(tmp_path.anchor)
    assert broken()[0] == ["folders"] and broken("--folder", str(tmp_path))[0] == []


def test_a_server_that_does_not_start_is_named_with_its_last_words(quick, monkeypatch):
    monkeypatch.undo()
    found, mend = mcp_doctor_server.stdio_answer(
        [sys.executable, "-c", "import sys; sys.exit('matchcut: no such folder')"]
    )
    assert "no such folder" in found and "by hand" in mend
    assert mcp_doctor_server.stdio_answer(["/no/such/python"])[1]
    monkeypatch.setattr(mcp_doctor_server, "ANSWER_SECONDS", 0.5)
    silent = [sys.executable, "-c", "import time; time.sleep(60)"]
    assert "no answer" in mcp_doctor_server.stdio_answer(silent)[0]


@pytest.mark.parametrize("address", ["https://127.0.0.1:1/mcp", "http://localhost:1/mcp", "http://127.0.0.1/mcp", "x"])
def test_an_address_that_is_none_of_ours_is_named(quick, address):
    assert broken("--http", address)[0] == ["http"]


def test_an_http_server_that_is_not_there_is_named(quick, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert "no token" in hops("--http", f"http://127.0.0.1:{port}/mcp")[0]["http"]["found"]
    monkeypatch.setenv("MATCHCUT_MCP_TOKEN", "t" * 40)
    assert "no answer" in hops("--http", f"http://127.0.0.1:{port}/mcp")[0]["http"]["found"]


def test_the_real_command_line_and_server_answer(root, tmp_path):
    answer = subprocess.run(
        [sys.executable, str(root / "__main__.py"), "mcp", "doctor", "--json"], capture_output=True, text=True,
        cwd=tmp_path, check=False,
    )  # fmt: skip
    said = {hop["name"]: hop for hop in json.loads(answer.stdout)}
    assert answer.returncode == 3 and said["blender"]["state"] == "failed"
    assert said["server"]["state"] == said["evaluator"]["state"] == "ok", said
