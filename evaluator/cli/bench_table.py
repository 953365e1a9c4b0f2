# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut bench table`: the scores of a run, or of an exported one."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from ..protocol.messages import Reporter
from . import table

DESCRIPTION = """Print the scores of a benchmark's run, as matchcut table does (docs/scores.md).

  matchcut bench table RESULTS
  matchcut bench table RESULTS --kind categories
  matchcut bench table RESULTS --kind ablation --base claude-opus-5.5 --variant claude-opus-5.5-no-refine
  matchcut bench table RUN.json                 a file of bench export: no benchmark is needed"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments: those of `table`, whose benchmark is known here."""
    table.add_arguments(parser, benchmark_needed=False)


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Print or write the table."""
    from ..benchmark.export import unpack
    from ..benchmark.ledger import Ledger

    if args.results.is_file():
        with tempfile.TemporaryDirectory(prefix="matchcut-table-") as folder:
            args.benchmark, args.results = unpack(args.results, Path(folder))
            return table.run(args, reporter)
    if args.benchmark is None:
        args.benchmark = Path(Ledger(args.results).plan().benchmark)
    return table.run(args, reporter)
