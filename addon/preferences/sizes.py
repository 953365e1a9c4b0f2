# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers of bytes as people read them. No bpy."""


def size_text(size: int) -> str:
    """`0`, `12 KB`, `3.4 MB`, `627 MB`, `1.2 GB`; a thousand bytes are a kilobyte, as on disks."""
    if size < 1000:
        return "0" if size == 0 else "1 KB"
    for unit, factor in (("KB", 1e3), ("MB", 1e6), ("GB", 1e9)):
        value = size / factor
        if value < 999.5 or unit == "GB":
            return f"{value:.1f} {unit}" if value < 9.95 and unit != "KB" else f"{value:.0f} {unit}"
    raise AssertionError("a gigabyte holds everything")
