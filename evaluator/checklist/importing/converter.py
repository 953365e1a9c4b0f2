# SPDX-License-Identifier: GPL-3.0-or-later
"""What a converter of foreign annotations is, and which there are.

A converter is a function that takes a Request and returns an Imported: clips as records, and everything of the source
that they do not hold, each with its file, its place and a reason. It drops nothing in silence and reads no video.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

from ...protocol.errors import BadInputError
from ...protocol.timeline import Timeline
from ..records import Category, Clip
from ..validate import Fault

PYTHON: Final = "python:"
BUILT_IN: Final = {"cinerecon": "cinerecon", "questions": "questions"}
"""Name → module beside this one, whose function `convert` it is."""

# what code of somebody else may raise on data that it did not expect
_FAILURES: Final = (
    ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, NameError, OSError, RuntimeError,
    SyntaxError, TypeError, ValueError,
)  # fmt: skip


@dataclass(frozen=True)
class Request:
    """What is to be converted: a file or a folder, and what is known besides.

    `timelines` are those of the references that were given, by the videos' ids. `categories` says which of ours a
    category of the source is, where the user had to say so.
    """

    path: Path
    timelines: Mapping[str, Timeline] = field(default_factory=dict)
    categories: Mapping[str, Category] = field(default_factory=dict)


@dataclass(frozen=True)
class Imported:
    """The clips of all videos, and what of the source they do not hold; `path` of a Fault is its place in the file."""

    clips: list[Clip]
    lost: list[Fault]


Converter = Callable[[Request], Imported]


def find_converter(name: str) -> Converter:
    """The converter of that name: a built-in one, `python:MODULE:FUNCTION` or `python:FILE.py:FUNCTION`.

    Raises BadInputError where there is none.
    """
    if name in BUILT_IN:
        module = importlib.import_module(f".{BUILT_IN[name]}", __package__)
        return cast("Converter", module.convert)
    where, _, function = name.removeprefix(PYTHON).rpartition(":")
    if not name.startswith(PYTHON) or not where or not function.isidentifier():
        raise BadInputError(
            f"--converter {name!r}: is none; there are {', '.join(BUILT_IN)} and python:MODULE:FUNCTION or "
            "python:FILE.py:FUNCTION"
        )
    try:
        found = getattr(_module(where), function, None)
    except _FAILURES as error:
        raise BadInputError(f"--converter {name}: cannot be loaded ({_reason(error)})") from error
    if not callable(found):
        raise BadInputError(f"--converter {name}: {where} has no function {function}")
    return _guarded(name, cast("Converter", found))


def _module(where: str) -> object:
    if not where.endswith(".py"):
        return importlib.import_module(where)
    path = Path(where).resolve()
    spec = importlib.util.spec_from_file_location(f"matchcut_converter_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _guarded(name: str, convert: Converter) -> Converter:
    """The converter with its failures told in one line."""

    def guarded(request: Request) -> Imported:
        try:
            made = convert(request)
        except _FAILURES as error:
            trace = error.__traceback__
            while trace is not None and trace.tb_next is not None:
                trace = trace.tb_next
            where = f"{Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno}" if trace else name
            raise BadInputError(f"--converter {name}: failed at {where} ({_reason(error)})") from error
        if not isinstance(made, Imported) or not all(isinstance(clip, Clip) for clip in made.clips):
            raise BadInputError(f"--converter {name}: has to return an Imported with Clip records (docs/import.md)")
        return made

    return guarded


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
