# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks in a Blender with a window: nothing that the artist sees changes, and they cost little above the drawing."""

import os
import statistics

import numpy as np
import pytest


@pytest.mark.skipif(os.name != "posix", reason="the virtual screen")
def test_looks_in_the_window(run_scenario):
    from PIL import Image

    facts, out = run_scenario("look", 500)
    assert facts["changed"] == []
    shown = facts["shown"]
    pictures = {name: np.asarray(Image.open(out / f"{name}.jpg").convert("RGB")).astype(float) for name in shown}
    assert all(max(one.shape) == 256 and one.std() > 2 for one in pictures.values())
    assert shown["camera"]["engine"] == "3D view, solid" and shown["camera-later"]["frame"] == 5
    assert shown["rendered"]["engine"] == "Cycles"
    apart = np.abs(pictures["overlays"] - pictures["viewport"]).mean()
    assert apart > 0.5, "the grid is drawn only where it is asked for"
    assert facts["hidden"], "a 3D view that nobody sees lends its settings"
    assert facts["without_view"] == "3D view, solid" and "no 3D view is open" in facts["no_viewport"]
    print(f"look at {facts['size']} pixels over bare drawing: median {statistics.median(facts['ratios']):.2f}")
    assert facts["size"] == 1024 and min(facts["ratios"]) < 1.3
