# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut audit` from a .blend to its verdict, in the real Blenders: scenes that cheat, honest ones, hostile ones."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from matchcut.evaluator.audit.audit import audit
from matchcut.evaluator.protocol.children import child_environment
from matchcut.evaluator.protocol.messages import SilentReporter

SCRIPTS = Path(__file__).resolve().parents[1] / "bpy"
BUILD = """
import importlib.util, pathlib, sys
sys.path.append({scripts!r})
main = importlib.util.spec_from_file_location("matchcut_main", {root!r} + "/__main__.py")
module = importlib.util.module_from_spec(main); main.loader.exec_module(module); module.load_package()
import audit_reference, audit_scenes, audit_tricks
from matchcut.assets_ui.samples import build_sample
folder = pathlib.Path({folder!r})
audit_reference.prepare(folder)
for module in (audit_scenes, audit_tricks):
    for builder in (*module.CHEATING, *module.HONEST):
        audit_scenes.build(builder, folder)
audit_scenes.build(audit_scenes.suspects, folder)
for variant in ("reference", "reconstruction"):
    build_sample("two_shots", variant, folder / f"sample_{{variant}}.blend")
cheating = audit_scenes.CHEATING | audit_tricks.CHEATING
expected = {{builder.__name__: wanted for builder, wanted in cheating.items()}}
(folder / "expected.json").write_text(__import__("json").dumps(
    {{"cheating": expected,
      "matching": [builder.__name__ for builder in (*audit_scenes.MATCHING, *audit_tricks.CHEATING)],
      "shown": audit_reference.SHOWN}}))
"""

CHEATING = (
    "packed_texture", "changed_texture", "movie_texture", "sequence_texture", "tiled_texture", "world_image",
    "compositor_image", "compositor_clip", "sequencer_movie", "sequencer_pictures", "linked_library", "geometry_image",
    "lamp_image", "displacement_image", "volume_file", "imported_geometry", "mesh_cache", "painted_vertices",
    "mosaic_of_faces", "mosaic_of_objects", "traced_drawing", "layers_of_another_scene", "strip_after_the_range",
    "strips_of_another_scene", "strip_that_is_unmuted", "shown_by_a_strip_of_actions", "texture_of_workbench",
    "objects_of_workbench", "colours_after_the_range", "colours_in_uv_maps", "colours_in_numbers", "relief",
    "projected_colours", "drawing_of_fills", "letters_of_many_colours", "material_of_a_layer", "image_of_a_socket",
    "coloured_points",
)  # fmt: skip
HONEST = (
    "sample_reference",
    "sample_reconstruction",
    "procedural",
    "kept_references",
    "switched_off",
    "unread_colours",
    "painted_model",
    "city_of_lamps",
    "two_scenes",
    "rigged_figure",
    "scattered_points",
    "unwrapped_model",
    "hand_drawing",
    "rolling_titles",
)
WITH_THE_WHEEL = ("packed_texture", "procedural")
"""What is also audited by the second Blender of this machine: the collectors' own tests run in the wheel anyway."""
FRAME = {
    "movie_texture", "compositor_clip", "sequence_texture", "sequencer_movie", "sequencer_pictures",
    "strip_after_the_range", "strips_of_another_scene", "strip_that_is_unmuted",
}  # fmt: skip
"""Scenes whose pictures are all the frames, in order; the others show frame SHOWN."""


@pytest.fixture(scope="module")
def made(blender, root, tmp_path_factory):
    """The folder with the reference and all scenes, built in one session of Blender."""
    folder = tmp_path_factory.mktemp("audit")
    script = folder / "build.py"
    script.write_text(BUILD.format(scripts=str(SCRIPTS), root=str(root), folder=str(folder)))
    start = [blender.path] if blender.kind == "wheel" else [
        blender.path, "-b", "--factory-startup", "--python-exit-code", "1", "--python",
    ]  # fmt: skip
    built = subprocess.run([*start, str(script)], capture_output=True, text=True, env=child_environment(), check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


@pytest.fixture
def look(blender, made):
    """A function that audits a scene by its name."""

    def report(name):
        if blender.kind == "wheel" and name not in WITH_THE_WHEEL:
            pytest.skip("audited with the program")
        return audit(made / f"{name}.blend", made / "reference.mp4", blender=blender, reporter=SilentReporter())

    return report


@pytest.mark.parametrize("name", CHEATING)
def test_cheating_scenes_do_not_pass(made, look, name):
    report = look(name)
    expected = json.loads((made / "expected.json").read_text())
    found = [
        item
        for item in report.findings
        if [item.severity, item.kind, item.type, item.name] == expected["cheating"][name]
    ]
    assert found and not report.passed, report.findings
    assert bool(found[0].matches) == (name in expected["matching"])
    frames = [match.frame for match in found[0].matches]
    if name in FRAME:
        assert frames == list(range(len(frames))) and len(frames) >= 6
    elif name == "changed_texture":  # what a crop shows is in every frame of this shot
        assert [match.how for match in found[0].matches] == ["part"]
    else:  # a coarse mosaic also looks like the neighbours of its frame
        assert all(abs(frame - expected["shown"]) <= 4 for frame in frames)


@pytest.mark.parametrize("name", HONEST)
def test_honest_scenes_pass(look, name):
    report = look(name)
    assert report.passed and not any(item.severity == "forbidden" for item in report.findings)
    if name.startswith("sample"):
        assert report.findings == []


def test_what_a_person_should_look_at_does_not_fail(made, look):
    report = look("suspects")
    assert report.passed and {item.kind for item in report.findings} >= {
        "script",
        "driver",
        "hidden_data",
        "file_output",
    }


@pytest.fixture
def program(blender):
    """The Blender that the command line is tried with; the command does not depend on which one it is."""
    if blender.kind == "wheel":
        pytest.skip("tried with the program")
    return blender


def command(blender, root, *arguments):
    environment = {**child_environment(), "BLENDER": blender.path}
    return subprocess.run(
        [sys.executable, str(root / "__main__.py"), "audit", *map(str, arguments)],
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip


def test_command_line(program, made, root, tmp_path):
    out = tmp_path / "audit.json"
    before = (made / "packed_texture.blend").read_bytes()
    done = command(
        program, root, made / "packed_texture.blend", "--reference", made / "reference.mp4", "--out", out, "--json"
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(out.read_text()) and json.loads(done.stdout)["passed"] is False
    assert str(made) not in done.stdout and (made / "packed_texture.blend").read_bytes() == before
    told = command(program, root, "--scene", made / "procedural.blend", "--reference", made / "reference.mp4")
    assert told.returncode == 0 and told.stdout.splitlines()[-1] == "passed: 0 forbidden, 0 to be looked at, 1 notes"


def test_bad_input_is_one_line(program, made, root, tmp_path):
    corrupt = tmp_path / "corrupt.blend"
    corrupt.write_bytes((made / "procedural.blend").read_bytes()[:20_000])
    for arguments, text in (
        ((corrupt, "--reference", made / "reference.mp4"), "cannot open"),
        ((made / "frame.png", "--reference", made / "reference.mp4"), "not a .blend"),
        ((made / "procedural.blend", "--reference", tmp_path / "none.mp4"), "none.mp4"),
        ((made / "procedural.blend", "--reference", made / "reference.mp4", "--out", tmp_path), "ends with .json"),
    ):
        done = command(program, root, *arguments)
        assert done.returncode == 2 and done.stdout == "", done.stderr
        told = [line for line in done.stderr.splitlines() if line.startswith("matchcut:")]
        assert len(told) == 1 and text in told[0]


def test_audit_of_the_opened_scene(program, made, need_evaluator_inside):
    need_evaluator_inside(program.path)
    scene = made / "sequencer_movie.blend"
    done = subprocess.run(
        program.command("audit", "--reference", str(made / "reference.mp4"), "--json", scene=scene),
        capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
        env={**child_environment(program.path), "MATCHCUT_PYTHON": sys.executable},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    assert '"kind": "sequencer_picture"' in done.stdout
