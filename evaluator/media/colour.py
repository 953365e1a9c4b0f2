# SPDX-License-Identifier: GPL-3.0-or-later
"""The colour tags of a frame by their names in ITU-T H.273, and what is assumed where there are none."""

from __future__ import annotations

from av.video.frame import VideoFrame

from .records import Colour

UNSPECIFIED = "unspecified"

# Names as FFmpeg writes them; `bt470bg` and `smpte170m` are the two sides of BT.601.
_RANGES = {0: UNSPECIFIED, 1: "limited", 2: "full"}
_PRIMARIES = {
    1: "bt709", 2: UNSPECIFIED, 4: "bt470m", 5: "bt470bg", 6: "smpte170m", 7: "smpte240m", 8: "film", 9: "bt2020",
    10: "smpte428", 11: "smpte431", 12: "smpte432", 22: "ebu3213",
}  # fmt: skip
_TRANSFERS = {
    1: "bt709", 2: UNSPECIFIED, 4: "bt470m", 5: "bt470bg", 6: "smpte170m", 7: "smpte240m", 8: "linear", 9: "log100",
    10: "log316", 11: "iec61966-2-4", 12: "bt1361e", 13: "iec61966-2-1", 14: "bt2020-10", 15: "bt2020-12",
    16: "smpte2084", 17: "smpte428", 18: "arib-std-b67",
}  # fmt: skip
_MATRICES = {
    0: "gbr", 1: "bt709", 2: UNSPECIFIED, 4: "fcc", 5: "bt470bg", 6: "smpte170m", 7: "smpte240m", 8: "ycgco",
    9: "bt2020nc", 10: "bt2020c", 11: "smpte2085", 12: "chroma-derived-nc", 13: "chroma-derived-c", 14: "ictcp",
    15: "ipt-c2", 16: "ycgco-re", 17: "ycgco-ro",
}  # fmt: skip

HIGH_DYNAMIC_RANGE = {"smpte2084": "PQ", "arib-std-b67": "HLG"}
WIDE_PRIMARIES = frozenset({"bt2020", "smpte428", "smpte431", "smpte432"})


def colour_of(frame: VideoFrame) -> Colour:
    """The tags of a frame, and what stands in for those that are missing when it is turned into RGB."""
    rgb = frame.format.is_rgb
    tags = {
        "range": _RANGES.get(frame.color_range, UNSPECIFIED),
        "primaries": _PRIMARIES.get(frame.color_primaries, UNSPECIFIED),
        "transfer": _TRANSFERS.get(frame.color_trc, UNSPECIFIED),
        "matrix": _MATRICES.get(frame.colorspace, UNSPECIFIED),
    }
    large = frame.width >= 1280 or frame.height > 576
    whole = rgb or frame.format.name.startswith("yuvj") or frame.format.name.startswith("gray")
    instead = {
        "range": "full" if whole else "limited",
        "primaries": "bt709",
        "transfer": "bt709",
        "matrix": "gbr" if rgb else "bt709" if large else "smpte170m",
    }
    return Colour(**tags, assumed={name: instead[name] for name, tag in tags.items() if tag == UNSPECIFIED})
