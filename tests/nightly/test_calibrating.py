"""The judge's calibration, and the speed benchmark, in small."""

from pathlib import Path

import numpy as np
import pytest

from gpubench_reports.nightly.commands.command_line import main
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.store import Store, publish
from gpubench_reports.nightly.trials import ugly
from gpubench_reports.nightly.trials.false_alerts import run
from gpubench_reports.nightly.trials.noise import Noise, noise_of
from gpubench_reports.nightly.trials.simulation import KINDS, Task, simulate

from .conftest import WOBBLE, process_file, put_night

S = Settings()


def alerts(levels: list[float], noise: Noise, seed: int):
    return [a for a in simulate(Task(seed, tuple(levels), 60, noise, S)) if a.slower]


def test_steps_are_found_and_quiet_is_quiet() -> None:
    noise = Noise()
    steps = [alerts([1.0] * 60 + [1.05] * 7, noise, seed) for seed in range(12)]
    assert all(steps)
    assert sum(len(alerts([1.0] * 90, noise, seed)) for seed in range(12)) <= 1
    assert alerts([1.0] * 60 + [1.05] * 7, noise, 3) == steps[3]  # repeatable


def test_a_judge_without_the_rule_would_cry_wolf() -> None:
    """The control: with limits of one sigma and no floor, quiet series are not quiet."""
    loose = Settings(
        floor=1e-9, sigmas=0.5, change_p=0.04, change_floor=1e-9, change_sigmas=0.5, window=10
    )
    found = [
        alert
        for seed in range(6)
        for alert in simulate(Task(seed, (1.0,) * 90, 60, Noise(), loose))
    ]
    assert len(found) > 6


def test_the_noise_of_a_store_is_read_back(store: Store) -> None:
    """Outliers are measured again, as a night does it, and count all the same."""
    chance = np.random.default_rng(5)
    names = [f"a/b/n:{n}" for n in range(15)]
    for number in range(1, 61):
        night = np.exp(0.006 * chance.standard_normal(15))
        outlier = chance.random(15) < 0.04
        again = outlier & (chance.random(15) < 0.25)
        made = store.begin("lab", {"began": f"2026-01-01, {number}", "units": []}, {})
        for stage, far in (("first", outlier), ("rerun", again)):
            for process in range(1, 6):
                times = 1e-4 * night * np.where(far, 1.06, 1.0)
                times *= np.exp(0.004 * chance.standard_normal(15))
                rows = {
                    name: {
                        "seconds": seconds,
                        "ci_low_seconds": seconds * 0.998,
                        "ci_high_seconds": seconds * 1.002,
                    }
                    for name, seconds, is_far in zip(names, times, outlier, strict=True)
                    if stage == "first" or is_far
                }
                if rows:
                    publish(made.path / f"{stage}-{process}-a.json", process_file(rows))
        made.close({})
    with Index(store) as index:
        index.update(S)
        noise = noise_of(index, S)
    assert noise is not None
    assert noise.within == pytest.approx(0.004 / 3.92, rel=0.05)  # of the files' own intervals
    assert noise.process == pytest.approx(0.004, rel=0.2)
    assert noise.night == pytest.approx(0.006, rel=0.3)
    assert noise.outliers == pytest.approx(0.04, abs=0.015)
    assert noise.persist == pytest.approx(0.25, abs=0.2)


def test_a_step_is_no_outlier(store: Store) -> None:
    for number in range(40):
        level = (1e-4 if number < 20 else 1.2e-4) * (1 + WOBBLE[number % 10])
        put_night(store, {"a/b/n:1": level})
    with Index(store) as index:
        index.update(S)
        noise = noise_of(index, S)
    assert noise is not None
    assert noise.outliers == 0


def in_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ugly, "KINDS", KINDS[-1:])
    monkeypatch.setattr(ugly, "_QUIET", 1)


def test_the_command_prints_the_table_and_draws(
    tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_small(monkeypatch)
    code = main(
        [
            "calibrate-judge",
            f"--store={tmp_path / 'none'}",
            "--series=2",
            "--nights=20",
            f"--out={tmp_path / 'out'}",
            "--workers=1",
        ]
    )
    assert code == 0
    out = capsys.readouterr().out
    assert "| false alerts per night |" in out
    assert f"| {KINDS[-1].title} | " in out
    assert "| 40 of 200, in a store or segment of 12 nights: found within 7 nights |" in out
    assert "| quiet nights with such an alert, in a young store or segment |" in out
    assert "| labelled series: precision, recall" in out
    assert "Noise (assumed)" in out
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "calibration.md",
        "detection.png",
        "detection.svg",
    }
    assert main(["calibrate-judge", f"--store={tmp_path / 'none'}", "--night=7"]) == 2
    assert "must be a fraction" in capsys.readouterr().err


@pytest.mark.release
def test_the_outcome_does_not_depend_on_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    in_small(monkeypatch)
    few = [run(Noise(), S, 2, 30, 1, workers, lambda _: None) for workers in (1, 2)]
    assert few[0].false_slow == few[1].false_slow
    assert few[0].ugly == few[1].ugly
    assert all((few[0].found[s] == few[1].found[s]).all() for s in few[0].found)


def test_the_speed_benchmark(capsys, tmp_path: Path) -> None:
    assert main(["benchmark", "--series=20", "--nights=12", f"--folder={tmp_path}"]) == 0
    assert "20 series x 12 nights: 240 values from 1200 rows" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
