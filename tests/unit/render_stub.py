"""A program that stands in for Blender: it draws grey pictures, and fails where and how it is told to."""

import sys
from pathlib import Path

from matchcut.evaluator.environment.blender import Blender

CHILD = """#!{python}
import json, os, pathlib, signal, struct, sys, time, zlib
arguments = sys.argv[sys.argv.index("render-job") + 1:]
JOB = pathlib.Path(arguments[0])
FIRST, LAST = map(int, arguments[arguments.index("--frames") + 1].split("-"))
SKIP = [int(frame) for frame in arguments[arguments.index("--skip") + 1].split(",")] if "--skip" in arguments else []
told = dict(state="starting", done=0, total=LAST - FIRST + 1, engine="CYCLES", device="CPU", samples=4)
def status(**values):
    told.update(values)
    path = JOB / "parts" / f"{{FIRST:06d}}-{{LAST:06d}}.json"
    new = path.with_name(f".partial-{{os.getpid()}}")
    new.write_text(json.dumps({{"format": "matchcut-render-status/1", **told}}))
    new.replace(path)
def there(frame):
    return (JOB / "frames" / f"{{frame:06d}}.png").exists()
def picture(frame, width=64, height=36):
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\\0" + bytes([60 * frame % 256]) * (3 * width) for _ in range(height))
    (JOB / "frames").mkdir(exist_ok=True)
    new = JOB / "frames" / f".partial-{{frame}}-{{os.getpid()}}.png"
    new.write_bytes(
        b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
    new.replace(JOB / "frames" / f"{{frame:06d}}.png")
def die(number=signal.SIGSEGV):
    os.kill(os.getpid(), number)
def render(before=lambda frame: None):
    status(state="rendering")
    for frame in range(FIRST, LAST + 1):
        if frame in SKIP or there(frame):
            status(done=told["done"] + there(frame))
            continue
        status(frame=frame)
        before(frame)
        picture(frame)
        status(done=told["done"] + 1, rendered=told.get("rendered", 0) + 1, seconds_per_frame=0.1)
    status(state="done")
with (JOB / "starts.txt").open("a") as starts:
    print(FIRST, LAST, *SKIP, file=starts)
{do}
"""


def stand_in(folder: Path, do: str) -> Blender:
    """A Blender whose children run `do`, lines of Python over the names of CHILD."""
    path = folder / "fake-blender"
    path.write_text(CHILD.format(python=sys.executable, do=do))
    path.chmod(0o755)
    return Blender(str(path), "program", "5.2.0")


def starts(job: Path) -> list[str]:
    """What each child was started with: first and last frame, and those that it skips."""
    return (job / "starts.txt").read_text().splitlines()
