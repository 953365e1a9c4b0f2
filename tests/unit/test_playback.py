# SPDX-License-Identifier: GPL-3.0-or-later
"""Videos beside the report: a preview is made once for the same content, and again where anything differs."""

import json
from fractions import Fraction

import pytest
from matchcut.evaluator.media.probe import probe
from matchcut.evaluator.pipeline import playback
from matchcut.evaluator.pipeline.playback import Preview, place_video
from matchcut.evaluator.protocol.messages import SilentReporter
from media_samples import pictures, write_video


@pytest.fixture
def made(monkeypatch):
    """Names of the previews that were encoded."""
    names, encode = [], playback.encode

    def counting(images, rate, out, **more):
        names.append(out.name)
        return encode(images, rate, out, **more)

    monkeypatch.setattr(playback, "encode", counting)
    return names


def place(info, out):
    return place_video(info, "reference", out, inputs=[], reporter=SilentReporter())


def source(folder, name="odd.mkv", seed=1):
    return probe(write_video(folder / name, pictures(4, seed=seed), rate=Fraction(24)))


def test_the_same_content_is_made_once_whatever_the_file_is_called(tmp_path, made):
    out = tmp_path / "out"
    info = source(tmp_path)
    assert place(info, out).preview and made == ["reference.mp4"]
    before = (out / "reference.mp4").stat().st_mtime_ns
    moved = tmp_path / "moved.mkv"
    (tmp_path / "odd.mkv").rename(moved)
    assert place(info.model_copy(update={"path": str(moved)}), out).preview
    assert made == ["reference.mp4"] and (out / "reference.mp4").stat().st_mtime_ns == before
    record = Preview.read(out / "reference.preview.json")
    assert record.sha256 == probe(out / "reference.mp4").sha256 and str(tmp_path) not in json.dumps(record.model_dump())


@pytest.mark.parametrize(
    "change",
    [
        lambda out: (out / "reference.mp4").write_bytes(b"cut off"),
        lambda out: (out / "reference.mp4").unlink(),
        lambda out: (out / "reference.preview.json").unlink(),
        lambda out: (out / "reference.preview.json").write_text("{"),
        lambda out: (out / "reference.preview.json").write_text('{"format": "matchcut-preview/0"}'),
    ],
)
def test_what_is_damaged_is_made_again(tmp_path, made, change):
    out, info = tmp_path / "out", source(tmp_path)
    place(info, out)
    whole = (out / "reference.mp4").read_bytes()
    change(out)
    place(info, out)
    assert len(made) == 2 and (out / "reference.mp4").read_bytes() == whole
    assert Preview.read(out / "reference.preview.json").sha256 == probe(out / "reference.mp4").sha256


def test_another_video_or_another_encoder_is_made_anew(tmp_path, made, monkeypatch):
    out = tmp_path / "out"
    place(source(tmp_path), out)
    place(source(tmp_path, "other.mkv", seed=2), out)
    assert len(made) == 2
    monkeypatch.setattr(playback, "QUANTISER", 20)
    place(source(tmp_path, "other.mkv", seed=2), out)
    assert len(made) == 3


def test_a_failure_leaves_no_key_to_what_is_not_there(tmp_path, monkeypatch):
    out, info = tmp_path / "out", source(tmp_path)
    place(info, out)

    def failing(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(playback, "encode", failing)
    with pytest.raises(KeyboardInterrupt):
        place(source(tmp_path, "other.mkv", seed=2), out)
    assert not (out / "reference.preview.json").exists()


def test_what_browsers_play_is_copied_without_a_key(tmp_path, made):
    info = probe(write_video(tmp_path / "v.mp4", pictures(4), rate=Fraction(24), options={"bf": "0"}))
    placed = place(info, tmp_path / "out")
    assert placed.preview is False and made == []
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["reference.mp4"]
