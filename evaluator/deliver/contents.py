# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads single files of a stranger's package, each within bounds."""

from __future__ import annotations

import gzip
import re
import warnings
import zlib
from pathlib import Path
from typing import Final

from PIL import Image, UnidentifiedImageError

from ..protocol.errors import BadInputError

MOST_PIXELS: Final = 64_000_000
"""Of a contact sheet; one of ours has below 9,000,000."""
_ZSTANDARD: Final = b"\x28\xb5\x2f\xfd"
_GZIP: Final = b"\x1f\x8b"
# BLENDER-v502 of older versions; since 5.0 the header's size and version come before: BLENDER17-01v0502
_HEADER: Final = re.compile(rb"BLENDER(?:[-_][vV](?P<old>[0-9]{3})|[0-9]{2}-[0-9]{2}v(?P<new>[0-9]{4}))")
_NO_PICTURE: Final = (
    UnidentifiedImageError, OSError, SyntaxError, ValueError, EOFError, zlib.error, Image.DecompressionBombError,
)  # fmt: skip


def blend_version(path: Path) -> str:
    """What the first bytes of a .blend say, in words. Raises BadInputError where it is none."""
    with path.open("rb") as file:
        start = file.read(32)
    if start.startswith(_ZSTANDARD):
        return "a file that is compressed with Zstandard, as Blender does"
    if start.startswith(_GZIP):
        try:
            with gzip.open(path) as unpacked:
                start = unpacked.read(32)
        except (OSError, EOFError, zlib.error):
            start = b""
    found = _HEADER.match(start)
    if found is None:
        raise BadInputError(f"{path}: is no .blend file: it does not begin as one")
    digits = (found["old"] or found["new"]).decode()
    return f"saved by Blender {int(digits[:-2])}.{int(digits[-2:])}"


def picture_size(path: Path) -> tuple[int, int]:
    """(width, height) of a PNG that decodes fully. Raises BadInputError where it does not, or has too many pixels."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # our own limit is lower
            with Image.open(path, formats=["PNG"]) as picture:
                width, height = picture.size
                if width * height > MOST_PIXELS:
                    raise BadInputError(f"{path}: has {width}x{height} pixels; at most {MOST_PIXELS:,} are decoded")
                picture.load()
    except _NO_PICTURE as error:
        raise BadInputError(f"{path}: is no whole PNG picture ({error})") from error
    return width, height


def read_text(path: Path) -> str:
    """The text of a UTF-8 file. Raises BadInputError where it is none."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadInputError(f"{path}: is no text in UTF-8 (byte {error.start})") from None
