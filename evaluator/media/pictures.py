# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures in files: one read as 8-bit RGB, a folder of them read as a numbered sequence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError
from PIL.ImageFile import ImageFile

from ..protocol.errors import BadInputError

SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff")
"""Endings of the pictures that a folder is searched for, in either case."""

_SCENE_LINEAR = (".exr", ".hdr")
_DESKTOP_FILES = ("thumbs.db", "desktop.ini")  # put there by file managers, as hidden files are
_NUMBERED = re.compile(r"(?P<before>.*?)(?P<number>[0-9]+)(?P<after>[^0-9]*)")
_UNREADABLE = (UnidentifiedImageError, OSError, SyntaxError, Image.DecompressionBombError)


@dataclass(frozen=True)
class PictureSequence:
    """The numbered pictures of a folder, in the order of their numbers and without a gap."""

    files: tuple[Path, ...]
    first: int
    """Number of the first picture."""
    passed_over: tuple[str, ...]
    """Names of what else lies in the folder, without hidden files."""


def read_picture(path: Path) -> NDArray[np.uint8]:
    """An image file as (H, W, 3) uint8 RGB; 16 bits a channel are rounded to 8.

    Raises BadInputError where it is unreadable, holds other numbers than 8 or 16 bits, or is transparent anywhere.
    """
    try:
        with Image.open(path) as picture:
            if "16" in _raw_mode(picture):
                return _rounded(path)
            if picture.mode[0] in "IF":
                raise BadInputError(f"{path}: neither 8 nor 16 bits a channel; write PNG with 8-bit RGB")
            if picture.has_transparency_data:
                _require_opaque(path, np.asarray(picture.convert("RGBA"))[..., 3], 255)
            return np.asarray(picture.convert("RGB"))
    except FileNotFoundError:
        raise BadInputError(f"{path}: there is no such picture") from None
    except _UNREADABLE as error:
        raise BadInputError(f"{path}: cannot be read as a picture ({error})") from error


def _raw_mode(picture: ImageFile) -> str:
    """How the file stores a pixel: Pillow's own mode drops the lower half of 16 bits."""
    arguments = picture.tile[0].args if picture.tile else None
    found = arguments[0] if isinstance(arguments, tuple) else arguments
    return found if isinstance(found, str) else picture.mode


def _rounded(path: Path) -> NDArray[np.uint8]:
    # the bytes are read here, since OpenCV opens no path outside the system's code page
    image = cv2.imdecode(np.frombuffer(path.read_bytes(), np.uint8), cv2.IMREAD_UNCHANGED)
    if image is None or image.dtype != np.uint16:
        raise BadInputError(f"{path}: cannot be read as a picture of 16 bits; write PNG with 8-bit RGB")
    if image.ndim == 2:
        image = image[..., None]
    if image.shape[2] == 4:
        _require_opaque(path, image[..., 3], 65535)
    colours = image[..., 2::-1] if image.shape[2] >= 3 else np.repeat(image[..., :1], 3, axis=2)
    eight: NDArray[np.uint8] = ((colours.astype(np.uint32) + 128) // 257).astype(np.uint8)  # v · 255 / 65535, rounded
    return np.ascontiguousarray(eight)


def _require_opaque(path: Path, alpha: NDArray[np.generic], opaque: int) -> None:
    if (alpha != opaque).any():
        raise BadInputError(
            f"{path}: transparent pixels, which a video cannot hold; put the picture over a ground and write RGB"
        )


def picture_sequence(folder: Path, *, first: int | None = None) -> PictureSequence:
    """The pictures of `folder` in the order of the last number in their names; with `first`, from that number on.

    Raises BadInputError, naming the file, where there are no pictures, a name has no number, two sequences lie in the
    folder, numbers are missing or written in mixed widths.
    """
    if not folder.is_dir():
        raise BadInputError(f"{folder}: there is no such folder; give the folder that holds the pictures")
    names = [path for path in folder.iterdir() if not path.name.startswith(".")]
    pictures = sorted(path for path in names if path.suffix.lower() in SUFFIXES)
    others = sorted(
        path.name for path in names if path.suffix.lower() not in SUFFIXES and path.name.lower() not in _DESKTOP_FILES
    )
    linear = [name for name in others if Path(name).suffix.lower() in _SCENE_LINEAR]
    if linear:
        raise BadInputError(
            f"{folder / linear[0]}: scene-linear pictures have no look of their own; render or convert them to PNG"
        )
    if not pictures:
        raise BadInputError(f"{folder}: holds no pictures ({', '.join(SUFFIXES)})")
    numbered = _numbered(pictures)
    if first is not None:
        if first not in numbered:
            raise BadInputError(f"{folder}: there is no picture with the number {first}; its first is {min(numbered)}")
        numbered = {number: path for number, path in numbered.items() if number >= first}
    _require_no_gap(folder, numbered)
    return PictureSequence(tuple(numbered[number] for number in sorted(numbered)), min(numbered), tuple(others))


def _numbered(pictures: Sequence[Path]) -> dict[int, Path]:
    found: list[tuple[str, Path]] = []
    family: tuple[tuple[str, str, str], Path] | None = None
    for path in pictures:
        match = _NUMBERED.fullmatch(path.stem)
        if match is None:
            raise BadInputError(f"{path}: its name has no number, so its place is unknown; name it such as 000012.png")
        own = (match["before"], match["after"], path.suffix.lower())
        if family is not None and own != family[0]:
            raise BadInputError(f"{path}: of another sequence than {family[1].name}; leave one sequence in the folder")
        family = family or (own, path)
        found.append((match["number"], path))
    # as a counter of fixed width writes them: 0998, 0999, 1000 … 9999, 10000; or 1 … 9, 10
    width = min(len(text) for text, _ in found)
    example = next(path for text, path in found if len(text) == width)
    for text, path in found:
        if text != f"{int(text):0{width}d}":
            raise BadInputError(
                f"{path}: its number is wider than that of {example.name}; write all numbers with the same digits"
            )
    return {int(text): path for text, path in found}


def _require_no_gap(folder: Path, numbered: dict[int, Path]) -> None:
    numbers = sorted(numbered)
    missing = numbers[-1] - numbers[0] + 1 - len(numbers)
    if missing:
        before, after = next((a, b) for a, b in pairwise(numbers) if b != a + 1)
        raise BadInputError(
            f"{folder}: {missing} missing among its numbers, the first between {numbered[before].name} and"
            f" {numbered[after].name}; render what is missing, or start with --first {after}"
        )


def common_size(files: Sequence[Path]) -> tuple[int, int]:
    """(width, height) of all the pictures, by their headers. Raises BadInputError that names the first other one."""
    first: tuple[int, int] | None = None
    for path in files:
        try:
            with Image.open(path) as picture:
                size = picture.size
        except _UNREADABLE as error:
            raise BadInputError(f"{path}: cannot be read as a picture ({error})") from error
        if first is not None and size != first:
            raise BadInputError(
                f"{path}: {size[0]}x{size[1]}, but {files[0].name} is {first[0]}x{first[1]}; give pictures of one size"
            )
        first = first or size
    if first is None:
        raise BadInputError("there are no pictures to encode; render at least one frame")
    return first
