# SPDX-License-Identifier: GPL-3.0-or-later
"""The Evaluator panel and the preferences in a real window, from nothing to a whole environment and back."""

import hashlib
import os
import zipfile

from matchcut.evaluator.environment.create import EVALUATOR

PACKAGES = 14


def wheel(folder, name):
    """A package of one module, as a wheel; returns its line for a lock file."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.py", "")
        archive.writestr(f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(
            f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{name}-1.0.dist-info/RECORD", "")
    return f"{name}==1.0 --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


def test_the_evaluator_from_nothing_to_ready(run_scenario, profile, tmp_path):
    """Installed from a folder of small packages in the place of the package index, by the button."""
    index = tmp_path / "index"
    index.mkdir()
    lock = "".join(wheel(index, f"package{number:02}") for number in range(PACKAGES))
    facts, out = run_scenario(
        "evaluator",
        MATCHCUT_PYTHON="",
        MATCHCUT_TEST_LOCK=lock,
        MATCHCUT_CACHE_FOLDER=str(tmp_path / "cache"),
        XDG_DATA_HOME=str(tmp_path / "data"),
        PIP_NO_INDEX="1",
        PIP_FIND_LINKS=str(index),
        PIP_CONFIG_FILE=os.devnull,
        OPENAI_API_KEY="sk-never-shown",
        PYTHON_KEYRING_BACKEND="keyring.backends.null.Keyring",
    )
    assert facts["conditions"] == [
        "missing",
        "unfinished",
        "missing",
        "ready",
        "outdated",
        "ready",
        "broken",
        "ready",
        "missing",
    ]
    assert facts["offline"] == [False, True], "Install waits for online access"
    assert "screen.userpref_show" in facts["offline_buttons"]
    assert facts["cancelled"] == ["cancelled", []], "nothing half-made is left"
    assert 0 < facts["kept"] < PACKAGES, "whole downloads are kept"
    stages = facts["stages"]
    assert ["download_packages", PACKAGES, PACKAGES] in stages and ["install_packages", PACKAGES, PACKAGES] in stages
    assert facts["known"]["packages"] > PACKAGES and facts["known"]["bytes"] > 1e6 and facts["known"]["is_own"]
    assert "lacks" in facts["check"], "what the packages lack is told, as they are not the real ones"
    assert "no such program" in facts["chosen"][0] and "lacks" in facts["chosen"][1] and facts["chosen"][2] == ""
    assert facts["drawn"]["opened"] == [], "a file or the network was touched while drawing"
    assert "sk-never-shown" not in (out / "facts.json").read_text() + (out / "blender.log").read_text()
    assert facts["key"] == "environment"
    for name in facts["pictures"]:
        assert (out / f"{name}.png").stat().st_size > 2000
    assert EVALUATOR.lock.name == "evaluator.lock"
