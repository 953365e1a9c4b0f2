# SPDX-License-Identifier: GPL-3.0-or-later
"""A bridge without Blender: the real listener and dispatcher, and a thread in place of Blender's main thread."""

import os
import threading

from matchcut.addon.bridge.dispatcher import Dispatcher
from matchcut.addon.bridge.listener import Listener
from matchcut.evaluator.protocol.bridge import (
    Descriptor,
    new_nonce,
    new_socket_path,
    remove_descriptor,
    write_descriptor,
)

JPEG = "/9j/2Q=="


def summary(offset=0, limit=50):
    cube = {"name": "Cube", "type": "MESH", "location": [0.0] * 3, "parent": None, "visible": True, "renders": True}
    return {
        "blender": "5.2.0", "background": True, "file": "", "scene": "Scene", "engine": "CYCLES",
        "timeline": {"width": 8, "height": 4, "rate": "24/1", "frames": 3, "current_frame": 0, "first_scene_frame": 1},
        "active_camera": None, "cameras": [], "markers": [], "counts": {"objects": 1},
        "objects": {"total": 1, "offset": offset, "items": [{**cube, "animated": False}], "next_offset": None},
    }  # fmt: skip


def picture(
    view="camera", frame=None, size=512, shading="auto", samples=16, target="", overlays=False, cells=1, data=True
):
    frame = frame or 0
    return {
        "path": f"/tmp/frame-{frame}.jpg", "width": size, "height": size // 2, "frame": frame, "rate": "24",
        "view": view, "lens": "50.0 mm", "engine": "Cycles", "samples": samples, "seconds": 0.1, "notes": ["a note"],
        "frames": 3, "jpeg": JPEG if data else "",
    }  # fmt: skip


def sheet(paths, labels):
    return {"path": "/tmp/sheet.jpg", "width": 1024, "height": 600, "jpeg": JPEG}


def python(code, label=""):
    fields = {"result": repr(code), "output": "printed\n", "changed": ["Object Cube"], "changed_total": 1}
    failed = {"error": "ValueError: no", "traceback": "line 7\n"} if code == "fail" else {}
    return {**fields, "error": None, "traceback": None, "undo_step": label, "seconds": 0.0, **failed}


class BridgeStub:
    """Listens until `stop`; `hold` keeps the main thread from taking requests, as a long operation would."""

    def __init__(self, methods=None, *, label="", pid=None, at_port=False):
        self.ran = []
        methods = {
            "scene_summary": summary,
            "look": picture,
            "look_sheet": sheet,
            "run_python": python,
            **(methods or {}),
        }
        self.dispatcher = Dispatcher({name: self._noted(name, method) for name, method in methods.items()})
        self.token = new_nonce()
        self.listener = Listener(self.token, self.dispatcher, None if at_port else new_socket_path())
        self.listener.start()
        place = self.listener.socket_path.name if self.listener.socket_path is not None else ""
        self.descriptor = Descriptor(
            pid or os.getpid(), self.listener.port, self.token, "5.2.0", "", "background", label, place
        )
        write_descriptor(self.descriptor)
        self.hold = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._thread.start()

    def _noted(self, name, method):
        def run(**params):
            self.ran.append(name)
            return method(**params)

        run.__signature__ = __import__("inspect").signature(method)
        return run

    def _loop(self):
        while not self._ended.is_set():
            if self.hold.is_set() or not self.dispatcher.run_next():
                self._ended.wait(0.01)

    def stop(self):
        self._ended.set()
        self.listener.stop()
        remove_descriptor(self.descriptor)
