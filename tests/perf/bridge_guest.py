# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs inside the window that `./run perf mcp` measures: `blender FILE --python bridge_guest.py -- PORT [PEER_FOLDER]`.

It starts our bridge, watches what its ticks take of the main thread, and starts the peer's server beside it.
"""

import importlib.util
import runpy
import sys
import time
from pathlib import Path

import bpy


class Watch:
    """What the bridge's ticks took since `reset`: the longest one in seconds, the most
    processor seconds of one, and those of all."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.begun, self.longest, self.most, self.used = time.perf_counter(), 0.0, 0.0, 0.0

    def over(self, tick):
        def watched():
            begun, used = time.perf_counter(), time.thread_time()
            try:
                return tick()
            finally:
                self.longest = max(self.longest, time.perf_counter() - begun)
                taken = time.thread_time() - used
                self.most, self.used = max(self.most, taken), self.used + taken

        return watched

    def share(self):
        return self.used / (time.perf_counter() - self.begun)


def main(port, peer_folder=""):
    root = Path(__file__).resolve().parents[2]
    runpy.run_path(str(root / "__main__.py"), run_name="matchcut_main")["load_package"]()
    import matchcut

    matchcut.register()
    from matchcut.addon.bridge import window

    watch = Watch()
    bpy.app.driver_namespace["watch"] = watch
    window._tick = watch.over(window._tick)
    if peer_folder:
        spec = importlib.util.spec_from_file_location("peer", Path(peer_folder) / "addon.py")
        peer = importlib.util.module_from_spec(spec)
        sys.modules["peer"] = peer
        spec.loader.exec_module(peer)
        peer.register()
        bpy.types.blendermcp_server = peer.BlenderMCPServer(port=int(port))
        bpy.types.blendermcp_server.start()
    window.start().trust.allow()


if __name__ == "__main__":
    main(*sys.argv[sys.argv.index("--") + 1 :])
