# SPDX-License-Identifier: GPL-3.0-or-later
"""The Reference panel in a real window: every state as a picture, and the frame numbers that the camera view shows."""

import subprocess
from fractions import Fraction

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("av")
imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")

RED, BLUE = (200, 30, 30), (30, 30, 200)
FILM = Fraction(24000, 1001)


def coded(number, width=320, height=192):
    """(H, W, 3) uint8: ten blocks that are `number` in binary over a foot that is red on the left, blue on the right.

    The ground changes at frames 20 and 30, which are cuts.
    """
    image = np.empty((height, width, 3), np.uint8)
    image[:] = [(90, 60, 30), (20, 90, 110), (110, 30, 90)][(number >= 20) + (number >= 30)]
    wide, high = width // 5, height // 3
    for bit in range(10):
        row, column = divmod(bit, 5)
        top, left = row * high + high // 2 - 8, column * wide + wide // 2 - 8
        image[top : top + 16, left : left + 16] = 235 if number >> bit & 1 else 20
    image[2 * high + 8 :, : width // 2], image[2 * high + 8 :, width // 2 :] = RED, BLUE
    return image


@pytest.fixture(scope="module")
def videos(tmp_path_factory, root):
    """Videos whose frames show their numbers, with and without oddities."""
    import sys

    sys.path.insert(0, str(root / "tests" / "unit"))
    from media_samples import write_video

    folder = tmp_path_factory.mktemp("videos")
    options = {"g": "12", "bf": "2"}
    frames = [coded(number) for number in range(48)]
    write_video(folder / "coded.mp4", frames, rate=FILM, options=options)
    write_video(folder / "tall.mp4", [coded(n, 192, 320) for n in range(48)], rate=Fraction(30), options=options)
    times, time = [], 0
    for number in range(48):
        times.append(time)
        time += (1, 2, 4, 1)[number % 4]
    write_video(
        folder / "varying.mp4", frames, rate=Fraction(60), time_base=Fraction(1, 60), timestamps=times, options=options
    )
    sideways = [np.ascontiguousarray(np.rot90(frame)) for frame in frames]
    write_video(folder / "sideways.mp4", sideways, rate=FILM, options=options)
    for source, name, before in (
        ("coded", "edit", ("-ss", "0.7")),
        ("sideways", "turned", ("-display_rotation", "-90")),
    ):
        command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y", *before, "-i", folder / f"{source}.mp4"]
        subprocess.run([*map(str, command), "-c", "copy", str(folder / f"{name}.mp4")], check=True, timeout=60)
    return folder


def numbers(path):
    """The number that each frame shows as the evaluator decodes it."""
    from matchcut.evaluator.media.decode import stream

    found = []
    for frame in stream(path):
        height, width = frame.image.shape[:2]
        centres = [(bit // 5, bit % 5) for bit in range(10)]
        lit = [
            frame.image[int((row + 0.5) * height / 3), int((column + 0.5) * width / 5)].mean() > 127
            for row, column in centres
        ]
        found.append(sum(on << bit for bit, on in enumerate(lit)))
    return found


def test_the_reference_panel(run_scenario, videos, tmp_path):
    facts, out = run_scenario(
        "reference",
        seconds=1500,
        MATCHCUT_TEST_VIDEOS=str(videos),
        MATCHCUT_CACHE_FOLDER=str(tmp_path / "cache"),
    )
    assert facts["shots"] == [[0, 19], [20, 29], [30, 47]]
    assert facts["timeline"] == [320, 192, 11, 58]
    assert facts["icon"] and facts["cached"] and facts["cleared"], "no picture of the first frame"
    assert facts["backgrounds"] == 1 and facts["again"] == [1, 1]

    for name in ("coded", "edit", "turned", "tall"):
        expected = numbers(videos / f"{name}.mp4")
        shown = facts["shown"][name]
        assert [number for _, number, _ in shown] == [expected[frame] for frame, _, _ in shown], name
        for _, _, (left, right) in shown:  # upright, not mirrored, in its own colours
            assert np.abs(np.subtract(left, RED)).max() < 12 and np.abs(np.subtract(right, BLUE)).max() < 12, name
    assert facts["shown"]["shifted"][0][:2] == [7, 7], "it does not follow the camera's shift"
    assert [number for _, number, _ in facts["shown"]["varying"]] != [5, 30], "Blender counts as the evaluator does"
    conformed = numbers(videos / "varying-conformed.mp4")
    assert [number for _, number, _ in facts["shown"]["conformed"]] == [conformed[5], conformed[30]]

    assert facts["markers"] == {"Shot 01": 11, "Shot 02": 31, "Shot 03": 41}
    assert [facts[f"clicked_{name}"] for name in ("first", "middle", "last")] == [11, 31, 41]
    assert facts["frame_after_undo"] == 41, "a click on a shot is no step of its own"
    assert facts["original"].endswith("varying.mp4")
    assert facts["undone"][0].endswith("varying.mp4") and facts["undone"][1:] == [True, 1]
    assert facts["read_again"] == [192, 320]
    assert facts["opened"] == ["//here.mp4", True, 3] and facts["background_opened"] == ["//here.mp4"]
    assert facts["drawn"]["opened"] == [], "a file was touched while drawing"
    assert facts["current"]
    looks = facts["looks"]
    print(f"\nlooking at the files {looks[len(looks) // 2] * 1e3:.2f} ms, at most {looks[-1] * 1e3:.1f} ms;", end=" ")
    print(f"longest drawing of a panel {facts['drawn']['longest'] * 1e3:.1f} ms ({facts['drawn'].get('slowest')})")
    assert len(looks) > 10 and looks[len(looks) // 2] < 0.01
    for number in range(1, 17):
        assert list(out.glob(f"{number:02d}-*.png")), number
