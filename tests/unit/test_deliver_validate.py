# SPDX-License-Identifier: GPL-3.0-or-later
"""A package that was tampered with, or made to harm, is told for what it is; nothing of it is trusted."""

import gzip
import json
import os
import struct
import time
import zlib
from fractions import Fraction

import numpy as np
import pytest
from deliver_samples import FRAMES, RATE, copy_of, make_job, rebuilt_pictures, reference_pictures, write
from matchcut.evaluator.cli.validate import text as table
from matchcut.evaluator.deliver.package import package_job
from matchcut.evaluator.deliver.records import FILES, SUBMISSION
from matchcut.evaluator.deliver.validate import MOST_BYTES, MOST_TOLD, Validation, validate_folder
from matchcut.evaluator.media.compare import side_by_side
from matchcut.evaluator.media.probe import probe
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.files import sha256_of, write_json
from matchcut.evaluator.protocol.messages import SilentReporter


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    job, reference = make_job(folder)
    package_job(job, reference, folder / "out", blender=None, reporter=SilentReporter())
    return folder / "out", reference


@pytest.fixture
def package(made, tmp_path):
    return copy_of(made[0], tmp_path / "out")


def validate(folder, reference=None):
    began = time.monotonic()
    found = validate_folder(folder, reference=reference, reporter=SilentReporter())
    assert time.monotonic() - began < 60
    printed = table(found)
    assert str(folder) not in printed and all("\n" not in finding.what for finding in found.findings)
    assert printed.splitlines()[-1].startswith("the package is" if found.passed else "NOT PASSED")
    return found


def faults(found, where=None):
    return [f.what for f in found.findings if f.severity == "fault" and where in (None, f.where)]


def forge(package, name, data=None):
    """Change a file and let submission.json agree with it, as a forger would."""
    path = package / name
    if data is not None:
        path.write_bytes(data)
    submission = json.loads((package / SUBMISSION).read_text())
    for entry in submission["files"]:
        if entry["name"] == name:
            entry.update(bytes=path.stat().st_size, sha256=sha256_of(path))
    write_json(package / SUBMISSION, submission)


def say(package, **changes):
    write_json(package / SUBMISSION, {**json.loads((package / SUBMISSION).read_text()), **changes})


def test_an_honest_package_passes(made):
    out, reference = made
    found = validate(out, reference)
    assert found.passed and [f.severity for f in found.findings] == ["note"]  # the scene was not opened
    assert {file.name for file in found.files} == {*FILES, SUBMISSION}
    assert found.files[0].what == "saved by Blender 5.2" and "24 frames" in found.files[1].what
    assert Validation.from_data(found.model_dump(mode="json"), "x") == found == validate(out, reference)
    alone = validate(out)
    assert alone.passed and any("submission.json alone" in f.what for f in alone.findings)


@pytest.mark.parametrize("name", [*FILES, SUBMISSION])
def test_each_file_has_to_be_there_and_a_file(package, tmp_path, name):
    whole = (package / name).read_bytes()
    for change, told in (
        (lambda path: None, "is missing"),
        (lambda path: path.touch(), "is empty"),
        (lambda path: path.mkdir(), "no regular file"),
    ):
        (package / name).unlink()
        change(package / name)
        found = validate(package)
        assert not found.passed and any(told in what for what in faults(found, name)), told
        if (package / name).is_dir():
            (package / name).rmdir()
        (package / name).write_bytes(whole)
    if hasattr(os, "mkfifo"):
        outside = tmp_path / "outside"
        outside.write_bytes(whole)
        (package / name).unlink()
        (package / name).symlink_to(outside)
        assert any("is a link" in what for what in faults(validate(package), name))
        (package / name).unlink()
        os.mkfifo(package / name)
        assert any("no regular file" in what for what in faults(validate(package), name))


@pytest.mark.parametrize("name", FILES)
def test_a_changed_byte_is_seen(package, name):
    data = bytearray((package / name).read_bytes())
    data[-20] ^= 1
    (package / name).write_bytes(bytes(data))
    assert any("was changed" in what for what in faults(validate(package), name))
    (package / name).write_bytes(bytes(data) + b"x")
    assert any("submission.json says" in what for what in faults(validate(package), name))


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("scene.blend", b"PK\x03\x04 this is an archive", "does not begin as one"),
        ("scene.blend", b"\x1f\x8b garbage", "does not begin as one"),
        ("scene.blend", gzip.compress(bytes(10_000_000)), "does not begin as one"),
        ("reconstruction.mp4", b"no video at all" * 50, "reconstruction.mp4"),
        ("comparison.mp4", b"#EXTM3U\nhttp://127.0.0.1:9/a.ts\n", "comparison.mp4"),
        ("contact_sheet.png", b"\x89PNG\r\n\x1a\n" + bytes(100), "no whole PNG"),
        ("contact_sheet.png", b"GIF89a" + bytes(100), "no whole PNG"),
        ("report.md", b"\xff\xfe\x00", "no text in UTF-8"),
        ("report.md", b"# all is well\n", "does not say the verdict"),
    ],
)
def test_content_that_is_not_what_it_should_be(package, name, data, told):
    forge(package, name, data)
    assert any(told in what for what in faults(validate(package), name)), faults(validate(package))


def test_videos_that_do_not_decode_fully(package):
    for name in ("reconstruction.mp4", "comparison.mp4"):
        data = (package / name).read_bytes()
        forge(package, name, data[: len(data) * 2 // 3])
        assert faults(validate(package), name), name


def png(width, height, rows=b""):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def test_a_picture_that_would_fill_the_memory(package):
    for size in ((60_000, 60_000), (9_000, 9_000), (2**31 - 1, 2**31 - 1)):
        forge(package, "contact_sheet.png", png(*size, bytes(1000)))
        assert faults(validate(package), "contact_sheet.png"), size
    text = b"\x89PNG\r\n\x1a\n" + png(8, 8, bytes(200))[8:33]
    bomb = zlib.compress(bytes(100_000_000))
    data = b"a\0\0" + bomb
    text += struct.pack(">I", len(data)) + b"zTXt" + data + struct.pack(">I", zlib.crc32(b"zTXt" + data))
    forge(package, "contact_sheet.png", text + png(8, 8, bytes(200))[33:])
    assert faults(validate(package), "contact_sheet.png")


def test_huge_files_are_not_read(package):
    for name in ("report.md", SUBMISSION, "scene.blend"):
        whole = (package / name).read_bytes()
        with (package / name).open("r+b") as file:
            file.truncate(MOST_BYTES[name] + 1)  # sparse
        assert any("are read" in what for what in faults(validate(package), name))
        (package / name).write_bytes(whole)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.replace('"scale": 1.0', '"scale": NaN'),
        lambda data: data.replace('"scale": 1.0', '"scale": 1e999'),
        lambda data: data.replace('"scale": 1.0', '"scale": 1.0, "scale": 2.0'),
        lambda data: data.replace('"frames": 24', '"frames": 1' + "0" * 5000),
        lambda data: data.replace('"frames": 24', '"frames": 1' + "0" * 400),
        lambda data: data.replace('"rate": "24000/1001"', '"rate": "1e999999999"'),
        lambda data: data.replace('"rate": "24000/1001"', '"rate": "1/0"'),
        lambda data: data.replace('"scene.blend",', '"../../scene.blend",', 1),
        lambda data: data.replace('"name": "scene.blend"', '"name": "/etc/passwd"'),
        lambda data: data.replace('"passed": true', '"passed": false'),
        lambda data: data.replace("matchcut-submission/1", "matchcut-submission/9"),
        lambda data: "[" * 100_000 + "]" * 100_000,
        lambda data: '{"a":' * 100_000 + "1" + "}" * 100_000,
        lambda data: "[]",
        lambda data: data[:-50],
        lambda data: "\ud800".encode("utf-8", "surrogatepass").decode("latin-1") + data,
    ],
)
def test_a_record_that_is_none(package, change):
    before = (package / SUBMISSION).read_text(encoding="utf-8")
    changed = change(before)
    assert changed != before
    (package / SUBMISSION).write_text(changed, encoding="utf-8")
    if '"../../scene.blend"' in changed:
        return  # a name of the artist's file, never opened
    assert faults(validate(package), SUBMISSION)


def test_strange_files_are_told(package):
    for index in range(MOST_TOLD + 5):
        (package / f"extra {index:02d}").write_bytes(b"")
    if os.name == "posix":
        (package / "a\nfault: scene.blend: \x1b[31m\u202e").write_bytes(b"")
    found = validate(package)
    told = [finding for finding in found.findings if finding.severity == "warning"]
    assert found.passed and len(told) == MOST_TOLD + 1 and "more strange files" in told[-1].what
    assert "\x1b" not in table(found) and "\u202e" not in table(found)


def test_figures_of_the_page_are_held_against_the_record(package):
    text = (package / "report.md").read_text(encoding="utf-8")
    changed = text.replace("16 a pixel", "4096 a pixel").replace("](contact_sheet.png)", "](http://somewhere/a.png)")
    forge(package, "report.md", changed.encode())
    assert faults(validate(package), "report.md") == [
        "does not show contact_sheet.png", "does not say the samples as submission.json has it",
    ]  # fmt: skip


def test_a_reconstruction_that_is_not_on_the_timeline(package, made, tmp_path):
    _, reference = made
    images = rebuilt_pictures()
    for changed, rate, told in (
        (images[:20], RATE, "its frames is 20"),
        (images, Fraction(24), "its rate is 24/1"),
        ([image[:32] for image in images], RATE, "its resolution is 96x32"),
    ):
        video = write(tmp_path / "changed.mp4", changed, rate)
        forge(package, "reconstruction.mp4", video.read_bytes())
        for given in (None, reference):
            found = faults(validate(package, given), "reconstruction.mp4")
            assert any(told in what for what in found), found
            assert any("submission.json says" in what for what in found)
    shifted = write(tmp_path / "shifted.mp4", [*images[2:], images[-1], images[-1]])
    forge(package, "reconstruction.mp4", shifted.read_bytes())
    found = validate(package, reference)
    assert any("shifted by -2 frames" in what for what in faults(found, "reconstruction.mp4"))
    assert faults(found, SUBMISSION) == ["its timeline_check is not what the videos show"]


def test_a_comparison_of_another_length(package):
    images = list(reference_pictures()[:10])
    write(package / "comparison.mp4", images)
    forge(package, "comparison.mp4")
    found = faults(validate(package), "comparison.mp4")
    assert any(f"and not {FRAMES} frames" in what for what in found) and len(found) == 2


def test_a_comparison_of_other_videos(package, made, tmp_path):
    """It has the right size, rate and length; what it shows is not what lies beside it."""
    given, rebuilt = probe(made[1]), probe(package / "reconstruction.mp4")
    other = probe(write(tmp_path / "other.mp4", [picture[::-1] for picture in reference_pictures()]))
    stopped = [*rebuilt_pictures()[:6], *[rebuilt_pictures()[0] // 2] * (FRAMES - 6)]
    halting = probe(write(tmp_path / "halting.mp4", stopped))
    left, right = "does not show the reference at the left", "does not show the reconstruction at the right"
    for pair, told, alone in (
        ((other, rebuilt), [left], []),
        ((given, other), [right], [right]),
        ((given, halting), [f"{right} (18 of 24 frames, the first is 6)"], [right]),
    ):
        side_by_side(*pair, package / "comparison.mp4", reporter=SilentReporter())
        forge(package, "comparison.mp4")
        for reference, expected in ((made[1], told), (None, alone)):
            found = faults(validate(package, reference), "comparison.mp4")
            assert len(found) == len(expected), found
            assert all(what.startswith(begin) for what, begin in zip(found, expected, strict=True)), found


def test_a_comparison_of_another_size(package, made):
    images = [np.zeros((396, 900, 3), np.uint8)] * FRAMES
    write(package / "comparison.mp4", images)
    forge(package, "comparison.mp4")
    found = faults(validate(package, made[1]), "comparison.mp4")
    assert len(found) == 2 and any("is 900x396; of these two videos it would be" in what for what in found)


def test_another_reference(package, tmp_path):
    other = write(tmp_path / "other.mp4", reference_pictures()[::-1])
    assert any("another reference" in what for what in faults(validate(package, other), SUBMISSION))
    with pytest.raises(BadInputError):
        validate(package, tmp_path / "none.mp4")


def test_a_scale_that_is_not_the_one_of_the_videos(package):
    asked = json.loads((package / SUBMISSION).read_text())["asked"]
    say(package, asked={**asked, "scale": 0.02})
    assert any("rendered at 0.02 times" in what for what in faults(validate(package), SUBMISSION))


def test_what_submission_says_of_sizes(package):
    say(package, contact_sheet={"width": 10, "height": 10, "moments": []})
    assert any("submission.json says 10x10" in what for what in faults(validate(package), "contact_sheet.png"))


def test_no_folder(tmp_path):
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "none", tmp_path / "file"):
        with pytest.raises(BadInputError, match="no folder"):
            validate(path)
