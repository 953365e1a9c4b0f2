# SPDX-License-Identifier: GPL-3.0-or-later
"""The tab looks right: no text is cut off, every button and field has a tooltip, drawing touches no file."""

import os

from score_samples import results_data, write_score


def test_no_text_is_cut_off_and_no_tooltip_is_missing(run_scenario, tmp_path):
    for number, sgc in ((1, 0.0345), (2, 0.051)):
        folder = write_score(tmp_path / f"score-{number:03d}", results_data(sgc=sgc))
        os.utime(folder / "results.json", (1_790_000_000 + 600 * number,) * 2)
    facts, _ = run_scenario("look_panels", seconds=1200, MATCHCUT_TEST_SCORES=str(tmp_path))
    found = [number for number, _needed, _given in facts["proof"]]
    assert {7, 8, 11} <= set(found) and not {0, 6} & set(found), (
        "texts that are cut off were not told from those that fit"
    )
    faults = {(state, panel, text): (needed, given) for state, panel, text, needed, given in facts["faults"]}
    assert not faults, "\n".join(
        f"{state}: {panel}: {text!r} needs {needed:.0f} of {given:.0f} pixels"
        for (state, panel, text), (needed, given) in faults.items()
    )
    assert facts["tooltips"] == []
    assert facts["drawn"]["opened"] == [], "a file or the network was touched while drawing"
    assert len(facts["drawn"]["names"]) >= 10
    assert "matchcut.score" in facts["operators"]
    assert facts["shortcut"], "the shortcut did nothing"
    assert facts["searched"], "the menu search did not find the command"
    if facts.get("language") == "de_DE":
        assert facts["german"] == "Mit Referenz vergleichen"
