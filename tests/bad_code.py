# SPDX-License-Identifier: GPL-3.0-or-later
"""Code that an agent may send and that must not harm the bridge, with what the answer has to hold."""

CASES = {
    "huge prints": ("for _ in range(3000): print('x' * 1000)", "output", "more characters left out"),
    "a result of 100 MB": ("'x' * (100 << 20)", "result", "characters left out"),
    "a print of 100 MB": ("print('x' * (100 << 20))", "output", "more characters left out"),
    "causes in a circle": (
        "a, b = ValueError('a'), ValueError('b')\na.__cause__, b.__cause__ = b, a\nraise a", "error", "ValueError: a",
    ),
    "an exception whose text cannot be made": (
        "class A(Exception):\n    def __str__(self): raise RuntimeError\nraise A", "error", "A",
    ),
    "the end of the interpreter": ("import sys; sys.exit(3)", "error", "SystemExit: 3"),
    "an interruption": ("raise KeyboardInterrupt", "error", "KeyboardInterrupt"),
    "endless recursion": ("def f(): f()\nf()", "error", "RecursionError"),
    "text of many kinds": ("print('Grüße 猫 \\U0001f600 \\ud800 \\0')", "output", "Grüße 猫 \U0001f600 ? \0"),
    "no number": (
        "bpy.ops.object.empty_add()\nbpy.context.object.location.x = float('nan')\nbpy.context.object.location.x",
        "result", "nan",
    ),
    "the scene deleted": (
        "old = bpy.context.scene\nbpy.data.scenes.new('next')\nbpy.data.scenes.remove(old)\nlen(bpy.data.scenes)",
        "result", "1",
    ),
    "the last scene deleted": ("bpy.data.scenes.remove(bpy.data.scenes[0])", "error", "last"),
    "another file opened": (
        "bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)\nlen(bpy.data.objects)", "result", "0",
    ),
    "standard output closed": ("import sys; sys.stdout.close()\n'on'", "result", "on"),
}  # fmt: skip
"""What it is: the code, the answer's field, a text in that field."""

WRONG_TYPES = [
    ("run_python", {"code": 5}), ("run_python", {}), ("run_python", {"code": "1", "label": []}),
    ("run_python", {"code": "1", "more": 1}), ("scene_summary", {"offset": "0"}), ("scene_summary", {"limit": -1}),
    ("scene_summary", {"limit": 1e400}), ("nothing", {}),
]  # fmt: skip
"""Calls that are refused as `bad_params` and run nothing."""
