# SPDX-License-Identifier: GPL-3.0-or-later
"""Calibration: the published weights come out of the published table, and what cannot be calibrated is refused."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.sgc.aggregate import PUBLISHED, sgc_score
from matchcut.evaluator.sgc.calibrate import Calibration, Sample, calibrate, pearson, read_samples, spearman
from matchcut.evaluator.sgc.records import COMPONENTS

# the detailed results table of the authors' repository: means of 13 data sets, four digits after the point
TABLE = {
    "nuscenes": (6.5223, 0.0182, 2.0900, 0.0220, 0.0331),
    "OpenVid": (33.8086, 0.1063, 1.5784, 0.1196, 0.0089),
    "rtx": (16.2475, 0.0132, 3.2045, 0.0157, 0.0273),
    "opensora-t": (10.9143, 0.5431, 2.5246, 0.6043, 0.0353),
    "videocrafter": (19.1510, 0.0199, 1.8622, 0.0231, 0.0456),
    "lavie": (13.6334, 0.1062, 4.0182, 0.1217, 0.0543),
    "hotshot": (28.4705, 0.0245, 4.2799, 0.0292, 0.0517),
    "cosmos": (57.1804, 0.0524, 27.6862, 0.0591, 0.0219),
    "zeroscope": (24.1181, 0.3708, 56.9313, 0.4241, 0.0299),
    "opensora-i": (25.3921, 1.2944, 31.0265, 1.4864, 0.0487),
    "latte": (67.8256, 0.0906, 141.8779, 0.1423, 0.1211),
    "seine": (18.7023, 1395.6600, 29.0294, 1550.7947, 0.1126),
    "modelscope": (65.6855, 585.2632, 24.2648, 877.8452, 0.1189),
}
# what the authors' functions give for that table
WEIGHTS = (0.11668074921356249, 0.24027293513392387, 0.16650587004194803, 0.24587493829799664, 0.23066550731256896)
SCORES = {"nuscenes": 0.057629040183600225, "latte": 0.5202383426339607, "modelscope": 0.8740364562711749}


def sample(name, values):
    return Sample(name, dict(zip(COMPONENTS, values, strict=True)))


def table():
    return [sample(name, values) for name, values in TABLE.items()]


def test_the_published_constants_come_out_of_the_published_table():
    found = calibrate(table(), by="folder")
    assert [found.components[name].weight for name in COMPONENTS] == pytest.approx(WEIGHTS, rel=1e-9)
    assert found.explained == pytest.approx(0.6401, abs=5e-5)
    for name in COMPONENTS:  # the constants come from unrounded means
        published, one = PUBLISHED[name], found.components[name]
        assert one.weight == pytest.approx(published.weight, abs=2e-5)
        assert one.mean == pytest.approx(published.mean, abs=2e-5)
        assert one.deviation == pytest.approx(published.deviation, abs=2e-5)
        assert (one.lowest, one.highest) == pytest.approx((published.lowest, published.highest), abs=2e-3)
    assert {name: found.scores[name] for name in SCORES} == pytest.approx(SCORES, rel=1e-9)
    assert found.folds == 10 and 0.9 < found.rank_correlation <= 1
    assert sum(one.fold_weight for one in found.components.values()) == pytest.approx(1)


def test_the_calibration_is_a_scale_for_scores():
    found = calibrate(table())
    for one in table():
        assert sgc_score(one.components, found.scale()) == pytest.approx(found.scores[one.name], abs=1e-12)


def test_missing_values_count_with_the_mean_for_the_weights_and_not_in_the_scores():
    rows = table()
    rows[3] = Sample("without", rows[3].components | {COMPONENTS[2]: None})
    found = calibrate(rows)
    assert found.components[COMPONENTS[2]].samples == 12
    assert found.scores["without"] == pytest.approx(sgc_score(rows[3].components, found.scale()), abs=1e-12)


def test_a_component_that_never_changes_has_no_weight():
    rows = [sample(str(number), (number, 2 * number % 5, 1.0, number**2 % 7, 0.1)) for number in range(8)]
    found = calibrate(rows)
    assert found.components[COMPONENTS[2]].weight == 0 and len(found.notes) == 2
    assert sum(one.weight for one in found.components.values()) == pytest.approx(1)


def test_too_few_samples_are_refused():
    with pytest.raises(BadInputError, match="2 samples are too few"):
        calibrate(table()[:2])
    assert calibrate(table()[:3]).folds == 0


values = st.one_of(st.none(), st.floats(0, 1e100), st.floats(0, 10))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(*[values] * 5), min_size=3, max_size=15))
def test_any_components_give_finite_constants(rows):
    found = calibrate([sample(str(number), row) for number, row in enumerate(rows)])
    weights = [one.weight for one in found.components.values()]
    assert sum(weights) == pytest.approx(1) and min(weights) >= 0
    assert all(-1e-9 <= score <= 1 + 1e-9 for score in found.scores.values())
    assert Calibration.from_data(json.loads(found.model_dump_json()), "again") == found


def test_correlations():
    x = np.array([1.0, 2, 3, 10])
    assert pearson(x, -2 * x + 1) == pytest.approx(-1) and pearson(x, np.ones(4)) is None
    assert spearman(x, np.exp(x)) == pytest.approx(1) and spearman(x[:1], x[:1]) is None
    assert spearman(np.array([1.0, 2, 2, 3]), np.array([1.0, 2, 3, 4])) == pytest.approx(3 / np.sqrt(10))


# ---- files -----------------------------------------------------------------------------------------------------------


def put(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))


def test_samples_are_read_from_results_and_from_the_authors_files(tmp_path):
    components = table()[0].components
    put(tmp_path / "set" / "mine.json", {"format": "x", "result": {"score": 0.1, "components": components}})
    put(tmp_path / "set" / "theirs.json", components | {"average_reprojection_error": 1.0, "num_frames": 9})
    put(tmp_path / "set" / "table.json", {"videos": []})
    put(tmp_path / "other" / "one.json", components | {COMPONENTS[0]: None})
    put(tmp_path / ".hidden" / "one.json", components)
    by_video = read_samples(tmp_path, "video")
    assert [one.name.replace("\\", "/") for one in by_video] == ["other/one.json", "set/mine.json", "set/theirs.json"]
    assert by_video[0].components[COMPONENTS[0]] is None
    by_folder = read_samples(tmp_path, "folder")
    assert [one.name for one in by_folder] == ["other", "set"]
    assert by_folder[1].components == pytest.approx(components)


@pytest.mark.parametrize("value", ["much", True, 1e300, [1]])
def test_components_that_are_no_numbers_are_named(tmp_path, value):
    put(tmp_path / "one.json", table()[0].components | {COMPONENTS[1]: value})
    with pytest.raises(BadInputError, match=rf"one\.json: {COMPONENTS[1]} is"):
        read_samples(tmp_path, "video")


def test_a_folder_without_results_is_refused(tmp_path):
    put(tmp_path / "one.json", {"score": 1})
    with pytest.raises(BadInputError, match="no JSON file in it"):
        read_samples(tmp_path, "video")
    with pytest.raises(BadInputError, match="no such folder"):
        read_samples(tmp_path / "nothing", "video")
