# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut doctor`: what was found, what is missing, and what mends it. Needs nothing but the standard library."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from ..environment.doctor import describe, examine
from ..protocol.errors import ExitStatus
from ..protocol.messages import Reporter

DESCRIPTION = """Show what was found, what is missing, and the one command that mends it.

Keys are shown by name only. Exit status 2 where something is missing that every command needs."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `matchcut doctor`."""
    parser.add_argument("--json", action="store_true", help="print the findings as one JSON array")


def run(arguments: argparse.Namespace, reporter: Reporter) -> int:
    """Print the findings; returns the exit status."""
    if arguments.json or arguments.messages:
        findings = list(examine())
        fine = all(finding.state != "missing" for finding in findings)
        rows = [asdict(finding) for finding in findings]
        if arguments.messages:
            reporter.result("", {"findings": rows})
        else:
            sys.stdout.write(json.dumps(rows, indent=2) + "\n")
    else:
        fine = describe(examine(), lambda line: print(line, flush=True))
    return ExitStatus.DONE if fine else ExitStatus.BAD_INPUT
