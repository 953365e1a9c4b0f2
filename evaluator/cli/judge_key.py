# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut judge key`: where the judges' keys are found, and how one is put into the system's keyring."""

from __future__ import annotations

import argparse
import getpass
import json
import sys
from typing import Final

from ..protocol.errors import ExitStatus
from ..protocol.messages import Reporter

VARIABLES: Final = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "local": "MATCHCUT_LOCAL_API_KEY",
}

DESCRIPTION = """Show where the key of each judge is found, or keep one in the system's keyring. No key is ever shown.

  matchcut judge key                     environment, keyring or nowhere, for each
  matchcut judge key openai --store      read a key (typed, or a line of standard input) and keep it
  matchcut judge key openai --forget     remove it from the keyring

A key in the environment goes before one in the keyring (docs/judge.md)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `matchcut judge key`."""
    parser.add_argument("judge", nargs="?", choices=list(VARIABLES), help="whose key")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--store", action="store_true", help="keep a key in the keyring")
    what.add_argument("--forget", action="store_true", help="remove it from the keyring")
    parser.add_argument("--json", action="store_true", help="print the answer as one JSON document")


def read_input(arguments: argparse.Namespace) -> None:
    """Take in the key before anything else reads standard input."""
    if arguments.store and arguments.judge:
        typed = sys.stdin is not None and sys.stdin.isatty()
        arguments.key = (getpass.getpass("key: ") if typed else sys.stdin.readline()).strip()


def run(arguments: argparse.Namespace, reporter: Reporter) -> int:
    """Store or forget what was asked for, and tell what is there; returns the exit status."""
    from ..judge.providers.keys import keyring_problem, place_of, store_key
    from ..protocol.errors import BadInputError

    if arguments.store or arguments.forget:
        if arguments.judge is None:
            raise BadInputError(f"whose key? name one of {', '.join(VARIABLES)}")
        key = arguments.key if arguments.store else ""
        if arguments.store and not key:
            raise BadInputError("no key came; paste it, and try again")
        store_key(VARIABLES[arguments.judge], key)
    keys = {
        name: {"variable": variable, "place": place_of(variable)}
        for name, variable in VARIABLES.items()
        if arguments.judge in (None, name)
    }
    data = {"keys": keys, "keyring_problem": keyring_problem()}
    if arguments.messages:
        reporter.result("", data)
    elif arguments.json:
        sys.stdout.write(json.dumps(data, indent=2) + "\n")
    else:
        lines = [f"{name:<10} {key['place']:<12} {key['variable']}" for name, key in keys.items()]
        lines.append(f"keyring    {data['keyring_problem'] or 'can be used'}")
        sys.stdout.write("\n".join(lines) + "\n")
    return ExitStatus.DONE
