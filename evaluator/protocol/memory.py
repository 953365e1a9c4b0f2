# SPDX-License-Identifier: GPL-3.0-or-later
"""How much memory this process has held."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any


def peak_memory_bytes() -> int:
    """The most memory that this process has had resident so far."""
    if sys.platform == "win32":
        import ctypes
        from ctypes import wintypes

        class Counters(ctypes.Structure):
            """PROCESS_MEMORY_COUNTERS of psapi.h."""

            _fields_ = [("cb", wintypes.DWORD), ("faults", wintypes.DWORD), ("peak", ctypes.c_size_t)] + [
                (f"other{index}", ctypes.c_size_t) for index in range(7)
            ]

        counters = Counters(cb=ctypes.sizeof(Counters))
        ctypes.windll.kernel32.GetCurrentProcess.restype = wintypes.HANDLE
        process = wintypes.HANDLE(ctypes.windll.kernel32.GetCurrentProcess())
        ctypes.windll.psapi.GetProcessMemoryInfo(process, ctypes.byref(counters), counters.cb)
        return int(counters.peak)
    status = Path("/proc/self/status")
    if status.exists():  # getrusage's figure counts what the parent had when it started us
        for line in status.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import resource

    usage: Any = resource.getrusage(resource.RUSAGE_SELF)
    return int(usage.ru_maxrss) * (1 if sys.platform == "darwin" else 1024)
