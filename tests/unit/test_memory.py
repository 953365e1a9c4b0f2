# SPDX-License-Identifier: GPL-3.0-or-later
"""The most memory that a process has held is its own, not its parent's."""

import subprocess
import sys
from pathlib import Path

import pytest
from matchcut.evaluator.protocol.memory import peak_memory_bytes

ROOT = Path(__file__).resolve().parents[2]
CHILD = """
import runpy, sys
print(runpy.run_path(sys.argv[1])["peak_memory_bytes"]())
"""


def test_what_was_held_and_let_go_counts():
    before = peak_memory_bytes()
    held = bytearray(b"x") * (before + 50_000_000)
    del held
    assert peak_memory_bytes() > before + 40_000_000


@pytest.mark.skipif(sys.platform == "darwin", reason="this system tells getrusage's figure alone")
def test_a_large_parent_does_not_count():
    held = bytearray(b"x") * 400_000_000
    module = ROOT / "evaluator" / "protocol" / "memory.py"
    child = subprocess.run([sys.executable, "-c", CHILD, str(module)], capture_output=True, text=True, check=True)
    assert len(held) == 400_000_000
    assert 1_000_000 < int(child.stdout) < 200_000_000
