# SPDX-License-Identifier: GPL-3.0-or-later
"""The first process of an agent's task, started as a script: hides folders, sets limits, starts the agent, and reaps.

`python inside.py SPEC.json`, where SPEC has `hide` (folders), `limits` (names of RLIMIT_ to values), `enter` (what the
command begins with) and `command`. Where it is the first process of a namespace, nothing that the agent started is left
when it ends. It ends, and all with it, when its standard input does: whoever started it holds the other end.

Needs the standard library alone, and nothing of this package: it runs by itself.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import FrameType

FAILED = 70
"""Exit status where the agent could not be started as asked."""


def main() -> int:
    """Do what the spec says; returns the agent's exit status, 128 + N where a signal N ended it."""
    spec = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    for folder in spec["hide"]:
        if not hide(folder):
            return FAILED
    if spec["limits"]:
        import resource

        for name, value in spec["limits"].items():
            limit = getattr(resource, f"RLIMIT_{name.upper()}")
            already = resource.getrlimit(limit)[1]  # above which nobody gets but root
            held = value if already == resource.RLIM_INFINITY else min(value, already)
            resource.setrlimit(limit, (held, held))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, pass_by)  # they are the agent's, which is in the same group
    try:
        agent = subprocess.Popen([*spec["enter"], *spec["command"]], stdin=subprocess.DEVNULL)
    except OSError as error:
        sys.stderr.write(f"{spec['command'][0]} does not start: {error}\n")
        return FAILED
    threading.Thread(target=end_with_input, daemon=True).start()
    status = reap(agent.pid)
    end_all()
    return status


def hide(folder: str) -> bool:
    """Lay an empty folder over one."""
    command = ["mount", "-t", "tmpfs", "-o", "size=4k,mode=0555", "none", folder]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode:
        sys.stderr.write(f"{folder} cannot be hidden: {done.stderr.decode('utf-8', 'replace').strip()}\n")
    return done.returncode == 0


def pass_by(number: int, frame: FrameType | None) -> None:
    """A signal that this process survives; a handler, as what is ignored would be ignored by the agent too."""


def reap(agent: int) -> int:
    """Wait for the agent, and meanwhile for everything that was left to this process."""
    while True:
        try:
            pid, status = os.wait()
        except InterruptedError:
            continue
        except ChildProcessError:
            return FAILED
        if pid == agent:
            return os.waitstatus_to_exitcode(status) % 256 if not os.WIFSIGNALED(status) else 128 + os.WTERMSIG(status)


def end_with_input() -> None:
    """End everything once whoever started this is gone."""
    while os.read(0, 4096):
        pass
    end_all()
    os._exit(FAILED)


def end_all() -> None:
    """Kill what is left: all other processes of the namespace, or of the group where there is none."""
    try:
        if os.getpid() == 1:
            os.kill(-1, signal.SIGKILL)
        else:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.killpg(0, signal.SIGTERM)
    except OSError:
        pass  # there is nothing left


if __name__ == "__main__":
    sys.exit(main())
