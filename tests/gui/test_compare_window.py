# SPDX-License-Identifier: GPL-3.0-or-later
"""The overlay in a real window, pixel by pixel: its place, its colours, its frames, and how long the window is held."""

from fractions import Fraction

import pytest
from matchcut.evaluator.protocol.messages import SilentReporter

BORDER = (230, 30, 40)
VIEW_TOLERANCE = 2
"""Of 255, between a picture and what the screen shows of it."""


def number_color(frame):
    """The middle of a frame tells its number."""
    return (40 + frame % 8 * 25, 40 + frame // 8 * 25, 128)


def picture(frame, width, height):
    """A red border around the number's color."""
    import numpy as np

    image = np.full((height, width, 3), BORDER, np.uint8)
    edge = min(width, height) // 6
    image[edge:-edge, edge:-edge] = number_color(frame)
    return image


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    """Videos made by script: landscape, portrait, one that is 16 frames later, a short one, and two of full size."""
    np = pytest.importorskip("numpy")
    pytest.importorskip("av")
    from matchcut.evaluator.media.encode import encode

    folder = tmp_path_factory.mktemp("clips")
    noise = np.random.default_rng(4).integers(0, 255, (27, 48, 3), np.uint8)
    made = {
        "landscape": [picture(frame, 640, 360) for frame in range(48)],
        "portrait": [picture(frame, 360, 640) for frame in range(48)],
        "later": [picture(frame, 640, 360) for frame in range(16, 64)],
        "short": [picture(frame, 640, 360) for frame in range(12)],
    }
    for height in (720, 1080):
        scale = height // 27 + 1
        large = noise.repeat(scale, 0).repeat(scale, 1)[:height, : height * 16 // 9]
        made[f"hd{height}"] = [np.roll(large, 8 * frame, 1) for frame in range(48)]
    for name, images in made.items():
        encode(images, Fraction(24), folder / f"{name}.mp4", reporter=SilentReporter(), total=len(images))
    return folder


@pytest.fixture(scope="module")
def decoded(clips):
    """The middle's color of each frame of the landscape clip as the evaluator decodes it, and frame 9 from below."""
    import numpy as np
    from matchcut.evaluator.media.decode import stream

    frames = [frame.image for frame in stream(clips / "landscape.mp4")]
    return np.array([frame[180, 320] for frame in frames], float), frames[9][::-1].astype(float)


_runs = []


@pytest.fixture
def shown(run_scenario, clips):
    """The scenario's facts and its pictures' folder; all tests read the same run."""
    if not _runs:
        _runs.append(None)
        _runs[0] = run_scenario("compare", seconds=1500, MATCHCUT_TEST_CLIPS=str(clips))
    if _runs[0] is None:
        pytest.fail("the scenario did not come to its end")
    return _runs[0]


@pytest.fixture
def screen(shown):
    """A function that reads a picture of the window: (H, W, 3) RGB as float, rows from the bottom."""
    cv2 = pytest.importorskip("cv2")

    def read(name):
        return cv2.imread(str(shown[1] / f"{name}.png"))[::-1, :, ::-1].astype(float)

    return read


def middle(image, box, across=0.5, up=0.5):
    """The mean color around a place of a box (left, bottom, right, top), over five pixels."""
    x, y = (round(low + share * (high - low)) for low, high, share in zip(box[:2], box[2:], (across, up), strict=True))
    return image[y - 2 : y + 3, x - 2 : x + 3].reshape(-1, 3).mean(axis=0)


def apart(one, other):
    return float(abs(one - other).max())


def bounds(image, color):
    """(left, bottom, right, top) of the pixels of a color, as edges between pixels."""
    import numpy as np

    there = (abs(image - color) < 12).all(axis=2)
    rows, columns = np.flatnonzero(there.any(axis=1)), np.flatnonzero(there.any(axis=0))
    return columns[0], rows[0], columns[-1] + 1, rows[-1] + 1


def test_the_picture_lies_exactly_over_the_camera_frame(shown, screen, decoded):
    border = decoded[1][2, 320]
    for name, expected in shown[0]["placed"].items():
        found = bounds(screen(f"placed-{name}"), border)
        print(name, [round(value, 2) for value in expected], found)
        off = max(abs(a - b) for a, b in zip(found, expected, strict=True))
        assert off <= 1.0, f"{name}: {found} instead of {expected}"
        width, height = expected[2] - expected[0], expected[3] - expected[1]
        assert (width > height) == (not name.startswith("portrait"))


def test_colors_are_the_files_whatever_the_scene_does_to_its_own(shown, screen, decoded):
    numbers, whole = decoded
    for name in ("placed-landscape", "exposed"):
        box = shown[0]["placed"]["landscape"] if name != "exposed" else shown[0]["frame"]
        assert apart(middle(screen(name), box), numbers[9]) <= VIEW_TOLERANCE
        assert apart(middle(screen(name), box, 0.5, 0.05), whole[18, 320]) <= VIEW_TOLERANCE
        assert apart(middle(screen(name), box, 0.95, 0.9), whole[324, 608]) <= VIEW_TOLERANCE


def test_onion_skin_mixes_what_the_screen_shows(shown, screen, decoded):
    box = shown[0]["frame"]
    view, half = middle(screen("view"), box), middle(screen("onion-half"), box)
    assert apart(view, decoded[0][9]) > 30
    light = ((view / 255) ** 2.2 + (decoded[0][9] / 255) ** 2.2) / 2
    assert apart(half, light ** (1 / 2.2) * 255) <= VIEW_TOLERANCE


def test_the_wipe_has_the_reference_on_its_left(shown, screen, decoded):
    box, view = shown[0]["frame"], middle(screen("view"), shown[0]["frame"], 0.28)
    image = screen("wipe")
    assert apart(middle(image, box, 0.22), decoded[0][9]) <= VIEW_TOLERANCE
    assert apart(middle(image, box, 0.28), view) <= VIEW_TOLERANCE
    image = screen("wipe-render")  # of a video that begins with frame 16
    assert apart(middle(image, box, 0.22), decoded[0][9]) <= VIEW_TOLERANCE
    assert apart(middle(image, box, 0.28), decoded[0][25]) <= VIEW_TOLERANCE + 1


def test_side_by_side_shows_both_pictures_whole(shown, screen, decoded):
    box, image, view = shown[0]["frame"], screen("side"), middle(screen("view"), shown[0]["frame"])
    numbers, whole = decoded
    assert apart(middle(image, box, 0.25), numbers[9]) <= VIEW_TOLERANCE
    assert apart(middle(image, box, 0.02), whole[180, 26]) <= VIEW_TOLERANCE
    assert apart(middle(image, box, 0.48), whole[180, 614]) <= VIEW_TOLERANCE
    assert apart(middle(image, box, 0.75), view) <= VIEW_TOLERANCE
    assert middle(image, box, 0.25, 0.05).max() < 40, "above and below there is nothing"


def test_the_difference_is_black_where_both_are_the_same(shown, screen, decoded):
    box, view = shown[0]["frame"], middle(screen("view"), shown[0]["frame"])
    same = screen("difference-same")
    inner = same[round(box[1]) + 45 : round(box[3]) - 3, round(box[0]) + 3 : round(box[2]) - 3]
    assert inner.max() <= 1
    against_view = screen("difference-view")
    assert apart(middle(against_view, box), abs(view - decoded[0][9])) <= VIEW_TOLERANCE


def test_flicker_shows_them_in_turns(shown, screen, decoded):
    box, view = shown[0]["frame"], middle(screen("view"), shown[0]["frame"])
    assert apart(middle(screen("flicker-reference"), box), decoded[0][9]) <= VIEW_TOLERANCE
    assert apart(middle(screen("flicker-view"), box), view) <= VIEW_TOLERANCE


@pytest.mark.parametrize(("name", "times"), [("same", 1), ("half", 2)])
def test_playback_shows_the_frame_that_is_due(shown, decoded, name, times):
    played = shown[0][f"played-{name}"]
    assert len({frame for frame, _ in played}) > 6, "it did not play"
    wrong = []
    for frame, color in played:
        distance = abs(decoded[0] - color).max(axis=1)
        if distance.argmin() != (frame - 5) * times:
            wrong.append((frame, int(distance.argmin())))
    print(f"{name}: {len(played)} drawings, {len(wrong)} of them of another frame {wrong[:5]}")
    assert not wrong


def test_the_line_is_dragged_and_nothing_else_is_blocked(shown):
    facts = shown[0]
    assert abs(facts["dragged"] - 0.75) < 0.01
    assert facts["undone"] == 0.5
    assert facts["zoomed"][1] > facts["zoomed"][0]


def test_the_window_is_not_held(shown):
    for name, kinds in shown[0]["times"].items():
        for kind in ("draw", "upload", "tick", "filmstrip", "viewport"):
            if kind in kinds:
                times = kinds[kind]
                print(
                    f"{name} {kind}: {times['count']:.0f} times, median {times['median'] * 1e3:.2f} ms, "
                    f"p99 {times['p99'] * 1e3:.2f} ms, longest {times['longest'] * 1e3:.2f} ms; "
                    f"of the processor p99 {times['cpu_p99'] * 1e3:.2f} ms, longest {times['cpu_longest'] * 1e3:.2f} ms"
                )
        print(f"{name} longest gaps of a 10 ms timer: {kinds['gaps']}")
        assert {"draw", "tick", "upload"} <= set(kinds)
        for kind in set(kinds) - {"gaps", "viewport"}:  # of this thread alone, however busy the machine is
            assert kinds[kind]["cpu_median"] < 0.010, f"{name} {kind}: {kinds[kind]}"
            assert kinds[kind]["cpu_p99"] < 0.010, f"{name} {kind}: {kinds[kind]}"


def test_the_filmstrip_stands_at_its_frames(shown, screen, decoded):
    strip, image = shown[0]["strip"], screen("strip-in-timeline")
    width = strip["height"] * 640 / 360
    whole = [frame for frame in strip["frames"] if strip["x"][str(min(47, frame))] + width < strip["x"]["47"]]
    assert len(whole) >= 2
    y = round(strip["bottom"] + strip["height"] / 2)
    for frame in whole:
        x = round(strip["x"][str(frame)] + width * 0.4)  # in its middle there may be a cut's mark
        color = image[y - 2 : y + 3, x - 2 : x + 3].reshape(-1, 3).mean(axis=0)
        assert apart(color, decoded[0][frame]) <= 4, f"{frame}: {color}"
    assert strip["cuts"], "the reference has cuts"
    for cut in strip["cuts"]:
        x = round(strip["x"][str(cut)])
        assert (abs(image[y, x - 3 : x + 4] - (255, 140, 38)).max(axis=1) < 12).any(), f"no mark at {cut}"


def test_the_view_is_drawn_into_its_picture_only_where_it_looks_otherwise(shown):
    same, moved, back = shown[0]["view drawn"]
    assert same == 0 and moved >= 1 and back >= 1


def test_other_windows_and_scenes_are_let_be(shown):
    facts = shown[0]
    assert facts["windows"] == 2
    assert facts["in another scene"][0] is False


def test_mishaps_with_the_file_are_told_in_a_line(shown):
    facts = shown[0]
    assert "not where it was" in facts["moved"]
    assert facts["moved frame"] == 30, "what is decoded is shown still"
    assert facts["replaced"] == [12, ""]
    assert "never.mp4" in facts["never there"] and "\n" not in facts["never there"]


def test_nothing_is_left_behind(shown):
    facts = shown[0]
    assert facts["threads while shown"] == facts["threads after reload"] == 2
    assert facts["feeds after a new file"] == 0
    assert facts["left"] == [[], True, False]
