# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut mcp doctor`: every hop between an agent and the scene, one line each, in the order a call takes them."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Final, Literal

from ..environment.blender import find_blender, run_child
from ..environment.mcp_clients import server_command
from ..protocol.bridge import Descriptor, descriptor_folder, private_folder, read_descriptors
from ..protocol.bridge_client import is_process
from ..protocol.errors import BadInputError, ExitStatus, MatchcutError
from ..protocol.messages import Reporter
from .mcp_doctor_bridge import BRIDGE_HOPS, SWITCH, bridge_hops
from .mcp_doctor_server import http_answer, stdio_answer

DESCRIPTION = """Go through every hop between an agent and the scene, and name the broken one.

Environment, MCP library, evaluator, Blender, the folder through which bridges are found, each open Blender's
connection, handshake, main thread, scene and Python switch, the allowed folders, the reference, and a server over
standard input and output as a client would start it. Nothing is changed in any scene. A hop that needs a broken one is
skipped. Exit status 3 where a hop failed.

examples:
  matchcut mcp doctor
  matchcut mcp doctor --instance 4711 --reference shot.mp4
  matchcut mcp doctor --http http://127.0.0.1:8765/mcp"""

COMMAND_SECONDS: Final = 120.0
LIBRARY: Final = (2, 3)  # mcp>=2.3,<3

State = Literal["ok", "failed", "skipped"]


@dataclass(frozen=True)
class Hop:
    """One step of the way; `mend` says what to do where it is not ok."""

    name: str
    state: State
    found: str
    mend: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `matchcut mcp doctor`."""
    parser.add_argument("--instance", type=int, metavar="PID", help="look at this open Blender alone")
    parser.add_argument("--http", metavar="URL", help="also ask a server that runs with --http")
    parser.add_argument("--reference", type=Path, metavar="FILE", help="the video that the agent is to read")
    parser.add_argument("--folder", type=Path, action="append", default=[], metavar="DIR", help="as for `matchcut mcp`")
    parser.add_argument("--json", action="store_true", help="print one JSON array")


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Print the hops; returns the exit status."""
    found = []
    for hop in examine(args):
        found.append(hop)
        if not args.json and not args.messages:
            _print(hop)
    if args.messages:
        reporter.result("", {"hops": [asdict(hop) for hop in found]})
    elif args.json:
        sys.stdout.write(json.dumps([asdict(hop) for hop in found], indent=2, ensure_ascii=False) + "\n")
    is_broken = any(hop.state == "failed" for hop in found)
    return ExitStatus.OPERATIONAL_FAILURE if is_broken else ExitStatus.DONE


def _print(hop: Hop) -> None:
    sys.stdout.write(f"{hop.state:<8} {hop.name:<14} {' '.join(hop.found.splitlines())}\n")
    if hop.mend and hop.state != "ok":
        sys.stdout.write(f"{'':<8} {'':<14} → {' '.join(hop.mend.splitlines())}\n")
    sys.stdout.flush()


def examine(args: argparse.Namespace) -> Iterator[Hop]:
    """Every hop, each looked at only when it is asked for."""
    yield _python()
    library = _library()
    yield library
    yield _evaluator()
    yield _blender()
    picked = ""
    folder = _folder()
    yield folder
    if folder.state == "failed":
        yield from (_skipped(name, folder.name) for name in ("descriptors", "instance", *BRIDGE_HOPS))
    else:
        descriptors = [one for one in read_descriptors() if not one.label]
        yield _descriptors(descriptors)
        live = [one for one in descriptors if is_process(one.pid)]
        chosen = [one for one in live if args.instance in (None, one.pid)]
        yield _instance(chosen, live, args.instance)
        for descriptor in chosen:
            suffix = f" {descriptor.pid}" if len(chosen) > 1 else ""
            left = list(BRIDGE_HOPS)
            for name, found, mend, data in bridge_hops(descriptor):
                left.remove(name)
                picked = str(data.get("reference", "")) or picked
                # Python is off until the artist allows it: nothing is broken
                state: State = "ok" if not mend else "skipped" if name == SWITCH else "failed"
                yield Hop(name + suffix, state, found, mend)
            yield from (_skipped(one + suffix, name) for one in left)
        if not chosen:
            yield from (_skipped(name, "instance") for name in BRIDGE_HOPS)
    yield _allowed(args.folder)
    yield _reference(str(args.reference) if args.reference is not None else picked)
    yield _skipped("server", library.name) if library.state == "failed" else _server()
    if args.http is not None:
        yield _http(args.http)


def _skipped(name: str, because: str) -> Hop:
    return Hop(name, "skipped", f"needs: {because}")


def _python() -> Hop:
    version = ".".join(map(str, sys.version_info[:3]))
    if not (3, 11) <= sys.version_info[:2] <= (3, 14):
        return Hop(
            "interpreter", "failed", f"{version} ({sys.executable})", "use Python 3.11 to 3.14; run: matchcut setup"
        )
    return Hop("interpreter", "ok", f"{version} ({sys.executable})")


def _library() -> Hop:
    mend = "run: matchcut setup (in a checkout ./run setup), or pip install 'mcp>=2.3,<3'"
    try:
        version = metadata.version("mcp")
    except metadata.PackageNotFoundError:
        return Hop("mcp library", "failed", f"{sys.executable} has no package mcp", mend)
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if numbers < LIBRARY or numbers[0] != LIBRARY[0]:
        return Hop("mcp library", "failed", f"mcp {version}; expected 2.3 or newer, and older than 3", mend)
    return Hop("mcp library", "ok", f"mcp {version}")


def _command(*arguments: str) -> tuple[str, str]:
    """What `matchcut ARGUMENTS` prints, and why it failed, empty where it has not."""
    command = [*server_command()[:-1], *arguments]
    try:
        answer = run_child(command, seconds=COMMAND_SECONDS)
    except subprocess.TimeoutExpired:
        return "", f"no answer within {COMMAND_SECONDS:.0f} s"
    except OSError as error:
        return "", f"{command[0]} does not start ({error})"
    last = (answer.stderr.strip().splitlines() or [f"ended with status {answer.returncode}"])[-1]
    return answer.stdout, "" if answer.returncode == 0 else last


def _evaluator() -> Hop:
    listed, why = _command("schemas")
    if why:
        return Hop("evaluator", "failed", why, "run: matchcut doctor")
    return Hop("evaluator", "ok", f"its commands run ({len(listed.splitlines())} schemas)")


def _blender() -> Hop:
    try:
        blender = find_blender()
    except MatchcutError as error:
        return Hop("blender", "failed", str(error), "set $BLENDER in the client's `env`: see matchcut mcp config")
    return Hop("blender", "ok", f"{blender.version}, {blender.kind} ({blender.path})")


def _folder() -> Hop:
    folder = descriptor_folder()
    if os.name == "posix" and folder.is_dir() and folder.stat().st_mode & 0o077:
        return Hop("folder", "failed", f"{folder}: others may look into it", f"chmod 700 {folder}")
    try:
        private_folder()
        writable = os.access(folder, os.W_OK | os.X_OK)
    except MatchcutError as error:
        return Hop("folder", "failed", str(error), "set MATCHCUT_BRIDGE_FOLDER for Blender and for the client")
    if not writable:
        return Hop("folder", "failed", f"{folder}: this user may not write there", f"chmod 700 {folder}")
    return Hop("folder", "ok", f"{folder}, this user's alone")


def _descriptors(found: list[Descriptor]) -> Hop:
    known = {one.path.name for one in read_descriptors()}
    passed_over = [path.name for path in sorted(descriptor_folder().glob("*.json")) if path.name not in known]
    stale = [str(one.pid) for one in found if not is_process(one.pid)]
    text = f"{len(found)} of open Blenders"
    if stale:
        text += f"; {len(stale)} of ended processes ({', '.join(stale)}), which the next call removes"
    if passed_over:
        return Hop(
            "descriptors", "failed",
            f"{text}; passed over, as they are not whole or others may read them: {', '.join(passed_over)}",
            "press Stop and then Start in the Matchcut tab (panel Agent), and remove what stays",
        )  # fmt: skip
    return Hop("descriptors", "ok", text)


def _instance(chosen: list[Descriptor], live: list[Descriptor], wanted: int | None) -> Hop:
    start = "press Start in the Matchcut tab (panel Agent)"
    if wanted is not None and not chosen:
        others = "; ".join(map(str, live)) or "none"
        return Hop("instance", "failed", f"process {wanted} lets no agent connect; open are: {others}", start)
    if not chosen:
        return Hop("instance", "skipped", "no open Blender lets agents connect; the server starts its own", start)
    several = "; each call has to name its `instance`" if len(chosen) > 1 else ""
    return Hop("instance", "ok", "; ".join(map(str, chosen)) + several)


def _allowed(named: list[Path]) -> Hop:
    from .mcp import _folders

    try:
        folders = _folders(named, None)
    except BadInputError as error:
        return Hop("folders", "failed", str(error), "give --folder an existing folder")
    if not folders:
        return Hop(
            "folders", "failed", "the server is started in the root folder, and no file may be named",
            "start it with --folder DIR: matchcut mcp config CLIENT --folder DIR",
        )  # fmt: skip
    return Hop("folders", "ok", f"files may be named below {', '.join(map(str, folders))}, and beside the open .blend")


def _reference(path: str) -> Hop:
    if not path:
        return Hop("reference", "skipped", "none is named or picked in Blender", "give --reference FILE")
    text, why = _command("probe", path, "--json")
    if why:
        return Hop("reference", "failed", why, "name a video that can be decoded: matchcut probe FILE")
    timeline = json.loads(text)["timeline"]
    size = f"{timeline['width']}x{timeline['height']}"
    return Hop("reference", "ok", f"{path}: {size}, {timeline['rate']} fps, {timeline['frames']} frames")


def _server() -> Hop:
    found, mend = stdio_answer(server_command())
    return Hop("server", "failed" if mend else "ok", found, mend)


def _http(address: str) -> Hop:
    found, mend = http_answer(address)
    return Hop("http", "failed" if mend else "ok", found, mend)
