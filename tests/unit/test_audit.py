# SPDX-License-Identifier: GPL-3.0-or-later
"""Which pictures count as the reference's frames and which do not, how they are read, and what the report says."""

import functools
import json
import struct
import sys
import zlib
from fractions import Fraction

import av
import cv2
import numpy as np
import pytest
from matchcut.evaluator.audit import audit as audit_module
from matchcut.evaluator.audit.audit import audit
from matchcut.evaluator.audit.candidates import UnreadableError, read_candidates
from matchcut.evaluator.audit.match import ReferenceFrames
from matchcut.evaluator.audit.reasons import WHY
from matchcut.evaluator.audit.records import AuditReport
from matchcut.evaluator.audit.text import report_lines
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.environment.blender import Blender
from matchcut.evaluator.media.encode import encode
from matchcut.evaluator.media.probe import probe
from matchcut.evaluator.protocol.errors import BadInputError, OperationalError
from matchcut.evaluator.protocol.messages import SilentReporter
from PIL import Image

WIDTH, HEIGHT, FRAMES = 320, 180, 16


@functools.cache
def shot(seed, count=FRAMES):
    """Pictures (H, W, 3): patches of many sizes over a sky and a ground, seen by a moving camera."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(float)
    centre = random.uniform((-0.3, 0.1), (1.5, 1.1), (150, 2)) * (WIDTH, HEIGHT)
    extent = random.uniform(3, 30, (150, 2))
    colour = random.uniform(0, 255, (150, 3))
    made = []
    for frame in range(count):
        image = (220 - y)[..., None] * (0.8, 0.9, 1.0)  # every shot is light above and dark below
        for number in range(150):
            u = (x - centre[number, 0] + 3 * frame) / extent[number, 0]
            v = (y - centre[number, 1]) / extent[number, 1]
            image[(u * u + v * v < 1) if number % 2 else (abs(u) < 1) & (abs(v) < 1)] = colour[number]
        made.append(image.clip(0, 255).astype(np.uint8))
    return made


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    path = tmp_path_factory.mktemp("audit") / "reference.mp4"
    encode(shot(1), Fraction(24), path, reporter=SilentReporter(), total=FRAMES)
    return path


@pytest.fixture(scope="module")
def frames(reference):
    return ReferenceFrames(probe(reference), SilentReporter())


def resized(image, width, height):
    return cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)


def hue_turned(image):
    hsv = cv2.cvtColor(image, cv2.COLOR_RGB2HSV)
    hsv[..., 0] = (hsv[..., 0].astype(int) + 25) % 180
    return cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB)


WHOLE = {
    "as it is": lambda image: image,
    "darker": lambda image: (255 * (image / 255) ** 1.8).astype(np.uint8),
    "low contrast": lambda image: (image // 4 + 90).astype(np.uint8),
    "inverted": lambda image: 255 - image,
    "mirrored": lambda image: image[:, ::-1],
    "upside down": lambda image: image[::-1],
    "turned": lambda image: np.rot90(image),
    "square": lambda image: resized(image, 256, 256),
    "dots": lambda image: resized(image, 48, 27),
    "few colours": lambda image: resized(image, 64, 36) // 64 * 64,
    "channels swapped": lambda image: image[..., ::-1],
    "hue": hue_turned,
    "grey": lambda image: np.repeat(image.mean(2, keepdims=True), 3, 2).astype(np.uint8),
    "one channel": lambda image: np.dstack([image[..., 1], np.full_like(image[..., 1], 90), 0 * image[..., 1]]),
    "noise": lambda image: (image + np.random.default_rng(0).normal(0, 15, image.shape)).clip(0, 255).astype(np.uint8),
}
PART = {
    "crop": lambda image: image[40:150, 60:260],
    "dark mirrored crop": lambda image: (image[30:160, 40:240, :][:, ::-1] * 0.6).astype(np.uint8),
    "turned crop": lambda image: np.rot90(image[20:160, 40:300]),
    "within a larger picture": lambda image: np.pad(image, ((150, 30), (40, 200), (0, 0)), constant_values=120),
    "warped": lambda image: cv2.warpPerspective(
        image, cv2.getPerspectiveTransform(np.float32([[0, 0], [320, 0], [320, 180], [0, 180]]),
                                           np.float32([[30, 20], [300, 0], [320, 180], [0, 160]])), (320, 180),
    ),
}  # fmt: skip


@pytest.mark.parametrize("change", WHOLE)
def test_a_changed_frame_is_found(frames, change):
    image = shot(1)[9]
    found = frames.match(np.ascontiguousarray(WHOLE[change](image)), "name")
    assert found is not None and found.how == "whole" and found.picture == "name"
    assert abs(found.frame - 9) <= 1 and 0.55 <= found.score <= 1


@pytest.mark.parametrize("change", PART)
def test_a_part_of_a_frame_is_found(frames, change):
    found = frames.match(np.ascontiguousarray(PART[change](shot(1)[9])))
    assert found is not None and found.how == "part"
    assert abs(found.frame - 9) <= 6  # the camera moves by three pixels a frame: its neighbours show the same


def unrelated():
    """(name, picture) of what is no frame of the reference."""
    random = np.random.default_rng(5)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH] / HEIGHT
    for seed in range(2, 8):
        yield f"another shot {seed}", shot(seed, 1)[0]
    yield "noise", random.integers(0, 255, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    yield "grey", np.full((HEIGHT, WIDTH, 3), 128, np.uint8)
    yield "sky and ground", np.repeat((230 - 200 * y)[..., None], 3, 2).astype(np.uint8)
    yield "vignette", (255 * np.exp(-3 * ((x - 0.9) ** 2 + (y - 0.5) ** 2)))[..., None].repeat(3, 2).astype(np.uint8)
    checks = ((x * 8).astype(int) + (y * 8).astype(int)) % 2 * 255
    yield "checks", np.repeat(checks[..., None], 3, 2).astype(np.uint8)
    planks = (128 + 60 * np.sin(40 * y) + 20 * cv2.GaussianBlur(random.normal(size=y.shape), (0, 0), 3))[..., None]
    yield "planks", planks.repeat(3, 2).clip(0, 255).astype(np.uint8)
    letters = np.full((HEIGHT, WIDTH, 3), 255, np.uint8)
    for row in range(6):
        cv2.putText(letters, "MATCHCUT 0123456789", (4, 28 * row + 25), cv2.FONT_HERSHEY_SIMPLEX, 0.8, (0, 0, 0), 2)
    yield "letters", letters


@pytest.mark.parametrize(("name", "image"), list(unrelated()))
def test_other_pictures_are_not_called_frames(frames, name, image):
    assert frames.match(image) is None


def test_frames_of_other_footage_are_not_called_frames(media):
    names = ("carphone_pristine.mp4", "nasa_13013.mp4", "sample_portrait.mp4")
    shown = {}
    for name in names:
        shown[name] = [candidate.image for candidate in read_candidates(entry(media / name, "movie"))]
        assert 6 <= len(shown[name]) <= 12
    reference = ReferenceFrames(probe(media / names[1]), SilentReporter())
    for name in names:
        found = [reference.match(image) for image in shown[name][1::5]]
        if name == names[1]:
            assert any(found)  # a black frame shows nothing to compare
        else:
            assert found == [None] * len(found), name


# -------------------------------------------------------------------------------------------------- reading pictures


def entry(path, kind="image", name=""):
    return {"path": str(path), "kind": kind, "name": name}


@pytest.fixture(scope="module")
def picture():
    return shot(1)[0]


def bomb():
    """A PNG whose header says 50000x50000."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 50000, 50000, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(
    "ending", ["png", "jpg", "webp", "tif", "bmp", "tga", "gif", "jp2", "hdr", "16.png", "rgba.png", "exr"]
)
def test_pictures_of_every_usual_format_are_read(tmp_path, picture, frames, ending):
    path = tmp_path / f"a.{ending}"
    if ending == "hdr":
        assert cv2.imwrite(str(path), (picture[..., ::-1] / np.float32(255)) ** np.float32(2.2))
    elif ending == "16.png":
        grey = picture.mean(2)
        Image.fromarray((grey * 257).astype(np.uint16)).save(path)
    elif ending == "rgba.png":  # all of it transparent
        Image.fromarray(np.dstack([picture, 0 * picture[..., :1]])).save(path)
    elif ending == "exr":
        write_exr(path, picture)
    else:
        Image.fromarray(picture).save(path)
    (tmp_path / "1.packed").write_bytes(path.read_bytes())  # as the child hands them on: without an ending
    (found,) = read_candidates(entry(tmp_path / "1.packed", name="one"))
    assert found.name == "one" and found.image.shape == picture.shape
    assert frames.match(found.image).frame in (0, 1)


def write_exr(path, picture):
    with av.open(str(path), "w", format="image2") as out:
        stream = out.add_stream("exr", rate=1)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "gbrpf32le"
        out.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(format="gbrpf32le")))
        out.mux(stream.encode(None))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (bomb(), "too large"),
        (b"\x89PNG\r\n\x1a\n" + bytes(200), "does not decode"),
        (b"", "does not decode"),
        (b"just text, no picture at all", "does not decode"),
        (None, "not there"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_few_words(tmp_path, content, reason):
    if content is not None:
        (tmp_path / "1.packed").write_bytes(content)
    for kind in ("image", "movie"):
        if content is not None and kind == "movie" and reason == "too large":
            continue
        with pytest.raises(UnreadableError, match=reason):
            list(read_candidates(entry(tmp_path / "1.packed", kind)))


def test_an_array_from_the_child_is_no_place_for_code(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    np.save(tmp_path / "b.npy", np.zeros((4, 4)))
    for name in ("a.npy", "b.npy"):
        with pytest.raises(UnreadableError):
            list(read_candidates(entry(tmp_path / name, "array")))


def test_movies_are_sampled(reference):
    found = list(read_candidates(entry(reference, "movie", "clip")))
    assert 8 <= len(found) <= 12 and {candidate.image.shape for candidate in found} == {(HEIGHT, WIDTH, 3)}
    assert found[-1].name.startswith("clip frame ")


# ----------------------------------------------------------------------------------------------------------- the whole

NOBODY = Blender("nowhere", "program", "5.2.0")


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "scene.blend"
    path.write_bytes(b"BLENDER17-01v0502")
    return path


def told(reference, scene, monkeypatch, entries, notes=()):
    """The report of a scene in which the child found `entries`."""
    data = {"blender": "5.2.2", "scene": "Scene", "findings": entries, "notes": list(notes)}
    monkeypatch.setattr(audit_module, "find_in_scene", lambda *given: data)
    return audit(scene, reference, blender=NOBODY, reporter=SilentReporter())


def found(kind, severity, pictures=(), **more):
    return {
        "kind": kind, "severity": severity, "type": "image", "name": "wall.png", "what": "file //wall.png",
        "where": ["material 'Wall', node 'Image'"], "pictures": list(pictures), "only_if_matched": False,
        "matched_severity": None, **more,
    }  # fmt: skip


def test_a_report_is_written_read_and_the_same_again(reference, scene, monkeypatch, tmp_path, picture):
    Image.fromarray(picture).save(tmp_path / "wall.png")
    entries = [found("viewport_image", "note"), found("image_texture", "forbidden", [entry(tmp_path / "wall.png")])]
    first, second = (told(reference, scene, monkeypatch, entries) for _ in range(2))
    first.write(tmp_path / "a.json"), second.write(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert AuditReport.read(tmp_path / "a.json") == first
    assert str(tmp_path) not in (tmp_path / "a.json").read_text()
    assert not first.passed and [item.severity for item in first.findings] == ["forbidden", "note"]
    assert first.findings[0].matches[0].frame in (0, 1) and first.pictures_compared == 1
    lines = list(report_lines(first))
    assert lines[0] == "forbidden:" and lines[-1] == "NOT PASSED: 1 forbidden, 0 to be looked at, 1 notes"
    assert "MATCHES THE REFERENCE: frame" in lines[1] and WHY["image_texture"][1:] in lines[1]
    changed = json.loads((tmp_path / "a.json").read_text()) | {"passed": True}
    with pytest.raises(BadInputError, match="contradicts"):
        AuditReport.from_data(changed, "changed")


def test_what_only_a_match_makes_grave(reference, scene, monkeypatch, tmp_path, picture):
    np.save(tmp_path / "same.npy", resized(picture, 64, 36))
    np.save(tmp_path / "other.npy", resized(shot(4, 1)[0], 64, 36))
    made = [
        found("coloured_geometry", "note", [entry(tmp_path / f"{name}.npy", "array", name)], name=name,
              only_if_matched=True, matched_severity="forbidden")
        for name in ("same", "other")
    ]  # fmt: skip
    report = told(reference, scene, monkeypatch, made, ["something was left out"])
    assert [(item.severity, item.name) for item in report.findings] == [("forbidden", "same")]
    assert report.notes == ["something was left out"]


def test_pictures_that_cannot_be_read_or_are_too_many_are_told(reference, scene, monkeypatch, tmp_path, picture):
    monkeypatch.setattr(audit_module, "MOST_COMPARED", 2)
    (tmp_path / "bad.png").write_bytes(b"nothing")
    np.save(tmp_path / "same.npy", resized(picture, 64, 36))
    pictures = [
        entry(tmp_path / "bad.png", name="bad.png"),
        *[entry(tmp_path / "same.npy", "array", str(n)) for n in range(5)],
    ]
    report = told(reference, scene, monkeypatch, [found("image_texture", "forbidden", pictures)])
    assert "not compared: bad.png: it does not decode" in report.findings[0].what
    assert len(report.findings[0].matches) == 2 and report.notes == [
        "3 pictures were not compared with the reference: 2 are"
    ]


def test_a_scene_without_pictures_decodes_the_reference_once(reference, scene, monkeypatch):
    monkeypatch.setattr(audit_module, "ReferenceFrames", None)
    report = told(reference, scene, monkeypatch, [])
    assert report.passed and list(report_lines(report)) == ["passed: 0 forbidden, 0 to be looked at, 0 notes"]


@pytest.mark.parametrize(
    ("content", "text"),
    [(None, "no such file"), (b"", "not a .blend"), (b"\x89PNG", "not a .blend"), ("folder", "not a file")],
)
def test_what_is_no_scene(reference, tmp_path, content, text):
    path = tmp_path / "scene.blend"
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(BadInputError, match=text):
        audit(path, reference, blender=NOBODY, reporter=SilentReporter())


def test_a_blender_that_does_not_start_or_says_nothing(reference, scene, tmp_path):
    with pytest.raises(BadInputError, match="does not start"):
        audit(scene, reference, blender=NOBODY, reporter=SilentReporter())
    silent = Blender(sys.executable, "wheel", "5.2.0")  # a Python without bpy: it ends with an error
    with pytest.raises(OperationalError, match=r"ended with status 1 .*bpy"):
        audit(scene, reference, blender=silent, reporter=SilentReporter())


def test_what_was_found_is_told_also_where_the_report_cannot_be_written(
    reference, scene, monkeypatch, tmp_path, capsys
):
    data = {"blender": "5.2.2", "scene": "Scene", "findings": [found("viewport_image", "note")], "notes": []}
    monkeypatch.setattr(audit_module, "find_in_scene", lambda *given: data)
    monkeypatch.setattr("matchcut.evaluator.environment.blender.find_blender", lambda say=None: NOBODY)
    (tmp_path / "file").write_text("in the way")
    out = tmp_path / "file" / "report.json"
    status = main(["audit", str(scene), "--reference", str(reference), "--out", str(out)])
    told = capsys.readouterr()
    assert status == 2 and told.out.splitlines()[-1] == "passed: 0 forbidden, 0 to be looked at, 1 notes"
    assert f"{out}: " in told.err
