# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands in children that can be killed: everything is imported once, then each command runs in a fork of its own.

Each line on standard input is a JSON array of arguments. Answers are lines: the child's process id, then its exit
status (negative for a signal) once it has ended.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]
import conftest  # noqa: E402, F401 - loads the package


def main() -> None:
    import anthropic  # noqa: F401
    import openai  # noqa: F401
    from matchcut.evaluator.cli import judge  # noqa: F401
    from matchcut.evaluator.cli.main import main as command
    from matchcut.evaluator.judge import benchmark, work  # noqa: F401
    from matchcut.evaluator.judge.batch import run  # noqa: F401

    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, 0)
            os.dup2(nowhere, 1)
            status = command(json.loads(line))
            sys.stderr.flush()
            os._exit(status)
        answers.write(f"{child}\n")
        answers.flush()
        _, ended = os.waitpid(child, 0)
        answers.write(f"{os.waitstatus_to_exitcode(ended)}\n")
        answers.flush()


if __name__ == "__main__":
    main()
