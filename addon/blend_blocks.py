# SPDX-License-Identifier: GPL-3.0-or-later
"""The blocks of a .blend that is not compressed, and a hash of those that hold what a scene is.

A block is a C struct, or several, under a number by which others point to it. What the structs are, the file says in
its block DNA1. Blender gives the numbers anew each time that it saves: here they are counted in the file's order.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO, Final

import numpy as np

MAGIC: Final = b"BLENDER17-01v"
"""File format 1, the one of Blender 5, whose blocks have headers of 32 bytes; no other is read."""
_HEADER: Final = struct.Struct("<4siQqq")
"""Code, number of the struct, the block's own number, length in bytes, how many structs."""
_POINTER: Final = 8
_TABLE_BITS: Final = 16


class FormatError(Exception):
    """The file is not of the format that is known."""


@dataclass(frozen=True)
class Block:
    """One block: its code, such as `OB` for an object or `DATA` for what belongs to the datablock before it."""

    code: str
    struct: int
    number: int
    count: int
    owner: str
    """Code of the datablock that it belongs to."""
    place: int
    """Of its data in the file."""
    length: int


def read_blocks(file: BinaryIO) -> list[Block]:
    """All blocks in the file's order, without their data. Raises FormatError."""
    file.seek(0)
    if not file.read(17).startswith(MAGIC):
        raise FormatError
    blocks: list[Block] = []
    owner = ""
    while header := file.read(_HEADER.size):
        if len(header) < _HEADER.size:
            break
        code, index, number, length, count = _HEADER.unpack(header)
        name = code.rstrip(b"\0").decode("latin1")
        if name == "ENDB":
            return blocks
        if name != "DATA":
            owner = name
        blocks.append(Block(name, index, number, count, owner, file.tell(), length))
        file.seek(length, 1)
    raise FormatError


def read_structs(file: BinaryIO, blocks: list[Block]) -> dict[int, tuple[str, dict[str, tuple[int, int]]]]:
    """By its number in the file each struct's name and fields: name to (place, length) in bytes. Raises FormatError."""
    block = next((one for one in blocks if one.code == "DNA1"), None)
    if block is None:
        raise FormatError
    file.seek(block.place)
    data = file.read(block.length)
    at = 4  # behind SDNA

    def part(name: bytes, size: int) -> int:
        nonlocal at
        at = (at + 3) & ~3
        if data[at : at + 4] != name:
            raise FormatError
        at += 4 + size
        return int(struct.unpack_from("<i", data, at - size)[0]) if size else 0

    def texts(count: int) -> list[str]:
        nonlocal at
        found = []
        for _ in range(count):
            end = data.index(b"\0", at)
            found.append(data[at:end].decode("latin1"))
            at = end + 1
        return found

    try:
        names = texts(part(b"NAME", 4))
        types = texts(part(b"TYPE", 4))
        part(b"TLEN", 0)
        lengths = struct.unpack_from(f"<{len(types)}h", data, at)
        at += 2 * len(types)
        structs: dict[int, tuple[str, dict[str, tuple[int, int]]]] = {}
        for number in range(part(b"STRC", 4)):
            kind, count = struct.unpack_from("<hh", data, at)
            at += 4
            fields, place = {}, 0
            for _ in range(count):
                of, name = struct.unpack_from("<hh", data, at)
                at += 4
                text = names[name]
                size = _POINTER if text.startswith(("*", "(")) else lengths[of]
                for times in re.findall(r"\[(\d+)\]", text):
                    size *= int(times)
                fields[text.partition("[")[0]] = (place, size)
                place += size
            structs[number] = (types[kind], fields)
    except (struct.error, ValueError, IndexError) as error:
        raise FormatError from error
    return structs


def hash_blocks(
    file: BinaryIO,
    update: Callable[[bytes], None],
    *,
    without_owners: Collection[str],
    without_structs: Collection[str],
    without_fields: Mapping[str, Collection[str]],
) -> None:
    """Give `update` every block but those of these datablocks and structs, with these fields of structs set to 0.

    `without_fields` has names of fields by that of their struct; those of `ID` are of every datablock. Raises
    FormatError.
    """
    blocks = read_blocks(file)
    structs = read_structs(file, blocks)
    kept = [
        block
        for block in blocks
        if block.owner not in without_owners and structs[block.struct][0] not in without_structs
    ]
    # datablocks have numbers of their own in the file, what belongs to one has them within it; who points to what is
    # left out points nowhere
    shown = {block.number: index for index, block in enumerate(kept, 1) if block.code != "DATA"}
    datablocks = _Renumber({one.number: shown.get(one.number, 0) for one in blocks if one.code != "DATA"})
    inside = {one.place for one in kept}
    identity = next((fields for name, fields in structs.values() if name == "ID"), {})
    whole = max((place + size for place, size in identity.values()), default=0)
    for owned in _by_datablock(blocks):
        parts = [one for one in owned if one.place in inside]
        order = {one.number: index for index, one in enumerate(parts, 1)}
        data_blocks = _Renumber({one.number: order.get(one.number, 0) for one in owned[1:]})
        for block in parts:
            name, fields = structs[block.struct]
            update(f"{block.code} {block.struct} {block.count} {block.length}\n".encode())
            file.seek(block.place)
            data = bytearray(file.read(block.length))
            if len(data) < block.length:
                raise FormatError
            gone = [fields[field] for field in without_fields.get(name, ()) if field in fields]
            if fields.get("id") == (0, whole):
                gone += [identity[field] for field in without_fields.get("ID", ()) if field in identity]
            for place, size in gone:
                for start in range(place, block.length, block.length // max(1, block.count)):
                    data[start : start + size] = bytes(size)
            data_blocks(data)
            datablocks(data)
            update(bytes(data))


def _by_datablock(blocks: list[Block]) -> Iterator[list[Block]]:
    """Each datablock with the blocks that belong to it."""
    owned: list[Block] = []
    for block in blocks:
        if block.code != "DATA" and owned:
            yield owned
            owned = []
        owned.append(block)
    if owned:
        yield owned


class _Renumber:
    """Puts numbers of the file's order in the place of blocks' own numbers, wherever these stand in data."""

    def __init__(self, numbers: Mapping[int, int]) -> None:
        numbers = {number: new for number, new in numbers.items() if number}
        self._known = np.array(sorted(numbers), np.uint64)
        self._new = np.array([numbers[int(number)] for number in self._known], np.uint64)
        self._table = np.zeros(1 << _TABLE_BITS, bool)  # most words are none: one look tells
        self._table[self._bits(self._known)] = True

    @staticmethod
    def _bits(words: np.ndarray) -> np.ndarray:
        mask = np.uint64((1 << _TABLE_BITS) - 1)
        return ((words >> np.uint64(4)) & mask).astype(np.int64)

    def __call__(self, data: bytearray) -> None:
        words = np.frombuffer(data, np.uint64, len(data) // _POINTER)  # a view: data is changed
        if len(words) and len(self._known):
            at = np.flatnonzero(self._table[self._bits(words)])
            found = np.searchsorted(self._known, words[at]).clip(max=len(self._known) - 1)
            right = self._known[found] == words[at]
            words[at[right]] = self._new[found[right]]
