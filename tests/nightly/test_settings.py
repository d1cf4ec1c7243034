"""A store's own figures for the rule: they do what is said of them, or are refused."""

from pathlib import Path

import numpy as np
import pytest

from gpubench_reports.common.errors import ReportError
from gpubench_reports.nightly.commands.command_line import main
from gpubench_reports.nightly.rule.baseline import Baseline
from gpubench_reports.nightly.rule.regression import judge
from gpubench_reports.nightly.rule.settings import Settings, load
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.store import Store

from .conftest import MACHINE, WOBBLE, put_night, put_nights

THREE = {f"a/b/n:{n}": 1e-4 for n in (1, 2, 3)}
QUIET = np.array([1 + w for w in WOBBLE * 50])


def settings_of(folder: Path, text: str) -> Settings:
    (folder / "settings.toml").write_text(text)
    return load(folder)


def is_found(settings: Settings, factor: float, before: int, measured_again: bool) -> bool:
    """Whether a step to `factor` is, in the weeks that follow `before` nights."""
    for after in range(1, 61):
        nights = QUIET[: before + after] * 1e-4
        nights[before:] *= factor
        again = nights if measured_again else np.full(len(nights), np.nan)
        if judge(nights, again, settings) is not None:
            return True
    return False


@pytest.mark.parametrize("measured_again", [True, False])
def test_no_change_below_the_floor_is_found(tmp_path: Path, measured_again: bool) -> None:
    for floor, found in ((0.05, True), (0.3, False), (5.0, False)):
        settings = settings_of(tmp_path, f"floor = {floor}")
        assert is_found(settings, 1.1, 20, measured_again) is found, floor
        assert Baseline.of(QUIET[:30], settings).why_blind == ""
    assert not is_found(settings_of(tmp_path, "floor = 0.3"), 1 / 1.1, 20, measured_again)


def test_the_floor_of_change_points_may_be_its_own(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, "floor = 0.3\nchange_floor = 0.05")
    assert is_found(settings, 1.1, 20, measured_again=False)
    assert load(tmp_path / "none") == Settings()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("confirm_nights = 9", "'confirm_nights' must be above 0 and at most 7, not 9"),
        ("points_after = 46", "'points_before' + 'points_after' is above 'change_window'"),
        ("min_nights = 51\nwindow = 60", "'min_nights' is above 'change_window'"),
        ("min_nights = 31", "'min_nights' is above 'window'"),
        ("min_processes = 6", "'min_processes' is above 'processes'"),
        ("window = 401", "'window' must be above 0 and at most 400, not 401"),
        ("max_throttled = 3.0", "'max_throttled' must be above 0 and at most 1, not 3.0"),
        ("change_p = 2.0", "'change_p' must be above 0 and at most 0.5, not 2.0"),
        ("sigmas = 1e6", "'sigmas' must be above 0 and at most 100, not 1000000.0"),
        ("floor = nan", "'floor' must be above 0 and at most 100, not nan"),
    ],
)
def test_settings_with_which_nothing_could_be_found_are_refused(
    tmp_path: Path, text: str, problem: str
) -> None:
    with pytest.raises(ReportError) as error:
        settings_of(tmp_path, text)
    assert error.value.problem == problem


@pytest.mark.parametrize(
    "text",
    [
        "confirm_nights = 7",
        "points_before = 25\npoints_after = 25",
        "min_nights = 50\nwindow = 50",
        "sigmas = 100\nchange_sigmas = 100",
        "floor = 100",
    ],
)
def test_with_settings_that_are_taken_a_step_is_found(tmp_path: Path, text: str) -> None:
    settings = settings_of(tmp_path, text)
    for measured_again in (True, False):
        assert is_found(settings, 1000.0, 60, measured_again)


def test_changed_settings_apply_to_earlier_nights_as_the_page_says(store: Store, capsys) -> None:
    def status() -> int:
        assert main(["index", "--rebuild", f"--store={store.root}"]) == 0
        code = main(["status", f"--store={store.root}"])
        capsys.readouterr()
        return code

    put_nights(store, 14)
    put_nights(store, 10, level=1.014e-4)
    assert status() == 0
    verdicts = [night.document("verdict.json") for night in store.nights(MACHINE)]
    (store.root / "settings.toml").write_text("floor = 0.008\n")
    assert status() == 0
    assert [night.document("verdict.json") for night in store.nights(MACHINE)] == verdicts
    put_nights(store, 1, level=1.014e-4)
    assert status() == 1
    put_night(store, {**THREE, "a/hot/n:1": {"seconds": 1e-4, "throttled": 1}})
    for most, timed in ((0.2, 0), (0.3, 3)):
        (store.root / "settings.toml").write_text(f"max_throttled = {most}\n")
        status()
        with Index(store) as index:
            assert index.rows("select count(*) from value where night = 26") == [(timed,)]
