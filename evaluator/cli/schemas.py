# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut schemas`: the JSON Schemas of all files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from ..protocol.errors import ExitStatus
from ..protocol.messages import Reporter

DESCRIPTION = """Print or write the JSON Schemas (draft 2020-12) of the files that Matchcut reads and writes.

  matchcut schemas                    the formats, and where their schemas lie
  matchcut schemas clip               one of them
  matchcut schemas --out schemas      all of them as files

Every schema is generated from the record that the program itself uses. Rules between the fields of a file are not in
it: matchcut checklist validate knows those."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("format", nargs="?", metavar="FORMAT", help="such as clip, judgment or matchcut-benchmark/1")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write all of them there")


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """List, print or write."""
    from ..schemas.make import FOLDER, RECORDS, file_name, find_format, schema, schema_text, write_schemas

    data: dict[str, Any]
    if args.out is not None:
        data = {"files": [str(path) for path in write_schemas(args.out)]}
        text = f"{args.out}: {len(data['files'])} schemas\n"
    elif args.format is not None:
        form = find_format(args.format)
        data, text = schema(form), schema_text(form)
    else:
        data = {form: str(FOLDER / file_name(form)) for form in RECORDS}
        width = max(len(form) for form in RECORDS)
        text = "".join(f"{form:<{width}}  {path}\n" for form, path in data.items())
    if args.messages:
        reporter.result(str(args.out or ""), data)
    else:
        sys.stdout.write(text)
    return ExitStatus.DONE
