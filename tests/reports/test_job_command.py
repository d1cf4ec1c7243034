"""gpubench-report job as a user meets it: tables, chart, JSON, one line for what is wrong."""

import json

import pytest

from gpubench_reports.charts import job_chart
from gpubench_reports.commands.command_line import main
from gpubench_reports.jobs.forecast import PARTS, Forecast
from gpubench_reports.jobs.job import FILTER
from gpubench_reports.jobs.machine import SUSTAINED, machine_of
from gpubench_reports.jobs.model_files import shipped_models
from gpubench_reports.jobs.ranges import known_ranges
from gpubench_reports.jobs.search import plans
from gpubench_reports.results.device_files import DEVICES

from .factory import make_document, make_row
from .jobs import rows


@pytest.fixture
def path(write):
    return write(make_document(rows(), device="h100-sxm", device_kind="model"))


def test_it_prints_a_line_per_model_and_number_of_gpus(path, capsys):
    assert main(["job", str(path), "--gpus", "1,64"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if " B " in line]
    assert [(line[0], line[2]) for line in lines] == [
        (name, gpus) for name in ("1.3", "7", "70") for gpus in ("1", "64")
    ]
    for line in (lines[2], lines[4]):  # 7 and 70 B on one GPU
        assert " ".join(line).endswith("GiB does not fit into 75 GiB")
    assert "dp 64 x tp 1 x pp 1" in " ".join(lines[1])


def test_a_job_takes_no_rows_of_hot_caches(write, capsys):
    hot = write(make_document(rows(), device="h100-sxm", device_kind="model", mode="hot"))
    assert main(["job", str(hot)]) == 2
    assert "was measured with hot caches: a job needs --mode=cold" in capsys.readouterr().err


def test_a_job_takes_no_rows_of_a_device_file_of_ones_own(write, capsys):
    own = make_document(rows(), device="h100-sxm", device_kind="model", own_device_file=True)
    assert main(["job", str(write(own))]) == 2
    assert "a custom device file called 'h100-sxm'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("concept", "counter"),
    [
        ("gemm_ladder", "flops_per_second"),
        ("attention", "flops_per_second"),
        ("stream", "useful_bytes_per_second"),
    ],
)
def test_a_rate_that_no_such_gpu_has_makes_no_forecast(write, capsys, concept, counter):
    wrong = rows()
    row = next(one for one in wrong if one["name"].startswith(f"{concept}/"))
    row[counter] *= 1000
    assert main(["job", str(write(make_document(wrong, device="h100-sxm")))]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{row['name']}: '{counter}' is " in line
    assert line.endswith(" times what the data sheet of h100-sxm states")


def test_json_says_what_to_know_of_the_run(write, capsys):
    shared = make_document(rows(), device="h100-sxm", caveats=["this GPU is shared"])
    assert main(["job", str(write(shared)), "--gpus=8", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["reservations"] == ["this GPU is shared"]


def test_json_has_the_same_figures(path, capsys):
    assert main(["job", str(path), "--gpus", "8", "--batch", "1048576", "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)
    assert found["device"] == "h100-sxm"
    assert found["modelled"] is True
    first, _, last = found["plans"]
    assert first["batch"] * 2048 == 1048576
    assert first["data"] * first["tensor"] * first["pipeline"] == 8
    seconds = sum(first[f"{part}_seconds"] for part in PARTS)
    assert first["step_seconds"] == pytest.approx(seconds)
    assert first["tokens_per_second"] == pytest.approx(1048576 / seconds)
    assert last["why"].startswith("does not fit")
    assert "mfu" not in last


def test_the_bars_are_the_shares_of_the_step(load):
    result = load(rows(), device="h100-sxm", device_kind="model")
    forecast = Forecast(
        result.context, plans(machine_of(result), shipped_models(), (1, 8), 1 << 20), 1 << 20
    )
    figure = job_chart.build([forecast, forecast])
    assert len(figure.axes) == 2
    bars = figure.axes[0].patches
    drawn = [plan for plan in forecast.plans if plan.choice]
    assert len(bars) == len(PARTS) * len(drawn)
    first = drawn[0].choice.step
    widths = [getattr(first, part) / first.seconds for part in PARTS]
    assert [bar.get_width() for bar in bars[:4]] == pytest.approx(widths)
    assert [bar.get_x() for bar in bars[:4]] == pytest.approx([sum(widths[:n]) for n in range(4)])
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert "does not fit into 75 GiB" in texts
    assert f"{first.mfu * 100:.1f} %" in texts
    assert sum(" to " in text for text in texts) == len(drawn) - 1  # none on one GPU
    assert any(text.get_gid() == "watermark" for text in figure.texts)


def test_the_chart_is_written_where_it_is_asked_for(path, tmp_path, capsys):
    assert main(["job", str(path), "--gpus=1", "--out", str(tmp_path / "charts")]) == 0
    assert sorted(p.name for p in (tmp_path / "charts").iterdir()) == ["job.png", "job.svg"]


def test_rates_are_those_of_the_rows(load):
    machine = machine_of(load(rows(), device="h100-sxm"))
    assert machine.product_seconds(2e12, 1) == pytest.approx(2e12 / (SUSTAINED * 7e14))
    assert machine.product_seconds(2e6, 3e12) == pytest.approx(1.0)
    assert machine.attention_rate("tiled", 96, 4096) == pytest.approx(SUSTAINED * 3e14)
    assert machine.attention_rate("standard", 64, 2048) == pytest.approx(SUSTAINED * 1e14)
    assert machine.peak == 989.4e12


def test_a_rate_between_two_rows_is_between_theirs(load):
    found = rows()
    small = found[0]
    small["flops_per_second"], small["real_time"] = 3.5e14, 2 * small["real_time"]
    machine = machine_of(load(found, device="h100-sxm"))
    flops = 2 * 4096**3  # half-way between 2048 and 8192, by its logarithm
    rate = flops / machine.product_seconds(flops, 1) / SUSTAINED
    assert rate == pytest.approx((3.5e14 * 7e14) ** 0.5, rel=1e-3)


@pytest.mark.parametrize("concept", ["gemm_ladder", "attention", "stream"])
def test_what_a_file_lacks_is_named(write, capsys, concept):
    kept = [row for row in rows() if row["concept"] != concept]
    path = write(make_document(kept, device="h100-sxm"))
    assert main(["job", str(path)]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    assert f"needs rows of the concept {concept}" in error


def test_without_all_reduce_only_one_gpu_has_figures(write, capsys):
    kept = [row for row in rows() if row["concept"] != "all_reduce"]
    path = write(make_document(kept, device="h100-sxm"))
    assert main(["job", str(path), "--gpus", "1,8"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if " B " in line]
    assert [line.rstrip().endswith("no all_reduce rows") for line in lines] == [False, True] * 3


# A result file must not say which file is read next.
@pytest.mark.parametrize("device", ["rtx-9090", str(DEVICES / "h100-sxm.json"), "mi300x"])
def test_a_device_that_nobody_describes_is_one_line(write, capsys, device):
    path = write(make_document(rows(), device=device))
    assert main(["job", str(path)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        ["--gpus=0"],
        ["--gpus=1,"],
        ["--gpus=1e3"],
        ["--batch=-1"],
        ["--batch=99999999999999"],
        ["--tokens=0"],
        ["--tokens=" + "9" * 20],
    ],
    ids=" ".join,
)
def test_wrong_options_are_two(path, wrong):
    with pytest.raises(SystemExit) as ended:
        main(["job", str(path), *wrong])
    assert ended.value.code == 2


@pytest.mark.parametrize("option", ["--pages", "--ranges"])
def test_pages_and_ranges_need_trainings(path, tmp_path, capsys, option):
    assert main(["job", str(path), option, str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(f"gpubench-report: {option}: needs --published")


@pytest.mark.parametrize("option", ["--gpus=8", "--batch=8192", "--tokens=8", "--models=m"])
def test_pages_show_the_usual_plans_only(path, tmp_path, capsys, option):
    command = ["job", str(path), "--pages", str(tmp_path), "--published", str(tmp_path), option]
    assert main(command) == 2
    assert "--pages: goes without --gpus, --batch, --models and --tokens" in capsys.readouterr().err


def test_two_files_of_one_device_are_refused(path, capsys):
    assert main(["job", str(path), str(path)]) == 2
    assert "is a second file of h100-sxm" in capsys.readouterr().err


LITTLE = """
[[models]]
name = "little"
layers = 4
hidden = 512
feed_forward = 2048
heads = 8
kv_heads = 4
vocabulary = 1000
gated = false
tied = true
sequence = 1024
"""


def test_models_may_come_from_a_file(path, tmp_path, capsys):
    (tmp_path / "models.toml").write_text(LITTLE)
    command = ["job", str(path), "--gpus=8", "--models", str(tmp_path / "models.toml")]
    assert main([*command, "--batch=16384", "--json"]) == 0
    [plan] = json.loads(capsys.readouterr().out)[0]["plans"]
    assert plan["model"] == "little"
    assert plan["batch"] == 16


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (LITTLE, "", "must have one or more [[models]]"),
        ("layers = 4", "layers = 0", "model 'little': 'layers' must be positive"),
        ("layers = 4\n", "", "must be an object with layers"),
        ("sequence = 1024", "", "'sequence' is missing"),
        ("heads = 8", "heads = 7", "'hidden' must be a multiple of 'heads'"),
        ("kv_heads = 4", "kv_heads = 3", "and that of 'kv_heads'"),
    ],
)
def test_a_wrong_model_is_one_line(path, tmp_path, capsys, old, new, words):
    (tmp_path / "models.toml").write_text(LITTLE.replace(old, new, 1))
    assert main(["job", str(path), "--models", str(tmp_path / "models.toml")]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert words in lines[0]


def test_a_number_of_gpus_is_shown_once(path, capsys):
    assert main(["job", str(path), "--gpus=8,8"]) == 0
    assert capsys.readouterr().out.count("70 B") == 1


def test_the_batch_is_shown_and_is_never_changed(path, capsys):
    assert main(["job", str(path), "--gpus=8", "--batch=1048576"]) == 0
    assert "1048576 tokens per step" in capsys.readouterr().out
    assert main(["job", str(path), "--gpus=8", "--batch=1048577"]) == 2
    assert "--batch: must be a multiple of 4096 tokens" in capsys.readouterr().err


def test_each_forecast_has_the_range_of_its_kind(path, capsys):
    assert main(["job", str(path), "--gpus=1,8", "--json"]) == 0
    alone, eight = json.loads(capsys.readouterr().out)[0]["plans"][:2]
    assert alone["sharding"] == "none"
    assert ("h100-sxm", "none") not in known_ranges()
    assert "tokens_per_second_least" not in alone
    seen = known_ranges()["h100-sxm", eight["sharding"]]
    rate = eight["tokens_per_second"]
    assert eight["tokens_per_second_least"] == pytest.approx(seen.least * rate)
    assert eight["tokens_per_second_most"] == pytest.approx(seen.most * rate)
    assert eight["range_trainings"] == seen.trainings


def test_a_training_of_so_many_tokens_takes_days_and_gpu_hours(path, capsys):
    command = ["job", str(path), "--gpus=8", "--tokens=1000000000"]
    assert main([*command, "--json"]) == 0
    first = json.loads(capsys.readouterr().out)[0]["plans"][0]
    seconds = 1e9 / first["tokens_per_second"]
    assert first["training_seconds"] == pytest.approx(seconds)
    assert first["training_seconds_most"] == pytest.approx(1e9 / first["tokens_per_second_least"])
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "GPU-hours" in printed
    assert f" {seconds / 86400:.3g} (" in printed
    assert f" {8 * seconds / 3600:.3g} (" in printed


def test_rows_of_other_concepts_change_nothing(load):
    wave = make_row("tile_alignment/waves/dtype:bf16/m:256", 1e-4, flops_per_second=1e14)
    with_waves, without = (
        machine_of(load([*rows(), *more], device="h100-sxm")) for more in ([wave], [])
    )
    assert with_waves.product_seconds(1e10, 1) == without.product_seconds(1e10, 1)


def test_the_help_has_the_filter(capsys):
    with pytest.raises(SystemExit):
        main(["job", "--help"])
    printed = capsys.readouterr().out
    assert f"'{FILTER}'" in printed
    assert "common splits" in printed


def test_a_number_of_gpus_that_splits_nothing_is_said(path, capsys):
    assert main(["job", str(path), "--gpus=3"]) == 0
    assert capsys.readouterr().out.count("cannot be split evenly") == 3


THROTTLED, SHAKY = (
    "gemm_ladder/library/dtype:bf16/n:8192",
    "stream/copy/dtype:fp32/bytes:16/unroll:4",
)


def spoilt(name, **counters):
    """The rows of a job, that of this name with these counters."""
    return [row | counters if row["name"] == name else row for row in rows()]


@pytest.mark.parametrize(
    ("name", "counters", "words"),
    [
        (THROTTLED, {"throttled": 1}, "throttled"),
        (SHAKY, {"converged": 0}, "not converged"),
        (THROTTLED, {"note": "software power cap in 9 of 9 samples"}, "power limit"),
        (
            THROTTLED,
            {"paused_seconds": 1.0, "sm_clock_hz": 1.44e9},
            "clock fell to 1.44 GHz",
        ),
    ],
)
def test_a_job_says_which_of_its_rows_were_held_back(write, capsys, name, counters, words):
    path = write(make_document(spoilt(name, **counters), device="h100-sxm"))
    assert main(["job", str(path)]) == 0
    [line] = [line for line in capsys.readouterr().out.splitlines() if name in line]
    assert line == f"!  of the 13 rows used, 1 was held back or did not converge: {name} ({words})"
    assert main(["job", str(path), "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["doubtful_rows"]) == (13, {name: [words]})


def test_a_job_of_sound_rows_has_nothing_to_say(path, capsys):
    assert main(["job", str(path), "--gpus=1"]) == 0
    assert "converge" not in capsys.readouterr().out


def test_a_row_that_a_job_does_not_use_is_not_named(write, capsys):
    others = [make_row("transpose/tiled/n:4096", throttled=1), make_row("a/b", converged=0)]
    path = write(make_document([*rows(), *others], device="h100-sxm"))
    assert main(["job", str(path), "--gpus=1"]) == 0
    assert "converge" not in capsys.readouterr().out


@pytest.mark.parametrize("first", [True, False])
def test_a_sound_row_counts_before_a_throttled_one_of_the_same_settings(load, first):
    name = "attention/tiled/seq:2048/head_dim:128/causal:1"
    twin = make_row(f"{name}/page:0", 2e-3, flops_per_second=1e13, throttled=1)
    found = [twin, *rows()] if first else [*rows(), twin]
    machine = machine_of(load(found, device="h100-sxm"))
    assert machine.attention_rate("tiled", 128, 2048) == pytest.approx(SUSTAINED * 3e14)
    assert machine.doubts == {}


def test_a_throttled_copy_counts_only_where_there_is_no_other(load):
    slow = make_row("stream/copy/dtype:fp64", 1e-3, useful_bytes_per_second=2e12)
    fast = spoilt(SHAKY, throttled=1)
    assert machine_of(load(fast, device="h100-sxm")).bandwidth == 3e12
    assert machine_of(load([*fast, slow], device="h100-sxm")).bandwidth == 2e12
