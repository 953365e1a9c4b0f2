# SPDX-License-Identifier: GPL-3.0-or-later
"""What the agent programs work with: themselves, a home folder, our server, and the sample's reference."""

import os
import shutil
import socket
import struct
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from matchcut.assets_ui.samples import find_sample
from matchcut.evaluator.environment.blender import find_blender
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.render.job import render_scene
from matchcut.evaluator.render.sample import build_scene
from model_server import RefusingProxy
from programs import Workshop

LOOPBACK_UP = 0x8914, b"lo", 0x1 | 0x8 | 0x40
"""SIOCSIFFLAGS, the device, and up, loopback, running."""


@pytest.fixture(scope="session", autouse=True)
def loopback():
    """In a network of its own the loopback is down at first. Returns whether there is nothing but it."""
    if not sys.platform.startswith("linux"):
        return False
    alone = [name for _, name in socket.if_nameindex()] == ["lo"]
    if alone:
        import fcntl

        request, device, flags = LOOPBACK_UP
        with socket.socket() as one:
            fcntl.ioctl(one.fileno(), request, struct.pack("16sh14x", device, flags))
    return alone


@pytest.fixture(scope="session")
def installed() -> Path:
    """Where npm has put the programs."""
    folder = Path(os.environ.get("MATCHCUT_CLIENTS", ""))
    if not (folder / "node_modules").is_dir():
        pytest.skip("the agent programs are not there; run: ./run test clients")
    return folder


@pytest.fixture
def shop(installed, root, tmp_path):
    """A program's workshop, whose model is yet to come; afterwards nothing has asked for another address."""
    home = tmp_path / "home"
    home.mkdir()
    arguments = ["--headless", "--folder", str(tmp_path)]
    with RefusingProxy() as proxy:
        yield Workshop(installed, home, root, arguments, proxy.url, proxy.url)
        assert proxy.refused == [], "the program wanted to reach an address beyond this machine"


@pytest.fixture(scope="session")
def reference(tmp_path_factory) -> Path:
    """The sample's reference as `matchcut demo` makes it, but small."""
    folder, sample, blender = tmp_path_factory.mktemp("sample"), find_sample("two_shots"), find_blender()
    scene = build_scene(sample.name, "reference", sample.sources, folder / "scenes", blender, SilentReporter())
    timeline = replace(sample.timeline, width=256, height=144)
    made = render_scene(scene, folder / "render", timeline, blender=blender, reporter=SilentReporter(), samples=2)
    return Path(shutil.copyfile(made.video, folder / "reference.mp4"))


@pytest.fixture(autouse=True)
def nothing_is_left_running(tmp_path):
    """No process that was started with the test's folder in its command line outlives the test for long."""
    yield
    end = time.monotonic() + 20
    while shutil.which("pgrep"):
        left = subprocess.run(["pgrep", "-af", str(tmp_path)], capture_output=True, text=True, check=False).stdout
        if not left:
            return
        assert time.monotonic() < end, left
        time.sleep(0.5)
