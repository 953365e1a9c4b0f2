# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut bench status`: how far a benchmark's run is."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from ..protocol.errors import ExitStatus
from ..protocol.messages import Reporter

DESCRIPTION = """Show for every configuration and stage what is done, runs and has failed, each failure with its cause,
what was handed in, how often a limit ended an agent, and what it cost. It looks at files only and changes nothing.

  matchcut bench status RESULTS
  matchcut bench status RESULTS --watch 5       again every 5 s, until nothing is missing or you end it
  matchcut bench status RESULTS --json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("results", type=Path, metavar="RESULTS", help="the folder of the records")
    parser.add_argument("--benchmark", type=Path, metavar="BENCH", help="where the benchmark is (default: as planned)")
    parser.add_argument("--watch", type=float, metavar="S", help="show it again every S seconds")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the table")


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Show it."""
    from ..benchmark.leases import LeaseFolder
    from ..benchmark.ledger import Ledger
    from ..benchmark.status import read_status, status_data, status_lines
    from ..checklist.benchmark import load_benchmark

    ledger = Ledger(args.results)
    plan = ledger.plan()
    benchmark = load_benchmark(args.benchmark or Path(plan.benchmark))
    leases = LeaseFolder(ledger.leases)
    try:
        while True:
            status = read_status(ledger.plan(), benchmark, ledger, leases)
            if args.messages:
                reporter.result(str(args.results), status_data(status))
            elif args.json:
                sys.stdout.write(json.dumps(status_data(status), indent=2, ensure_ascii=False) + "\n")
            else:
                clear = "\x1b[H\x1b[2J" if args.watch and sys.stdout.isatty() else ""
                sys.stdout.write(clear + "\n".join(status_lines(status)) + "\n")
            sys.stdout.flush()
            if args.watch is None or status.complete:
                return ExitStatus.DONE
            time.sleep(max(0.2, args.watch))
    finally:
        leases.close()
