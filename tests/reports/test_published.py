"""Points files, their comparison with modelled rows, and the block in the README."""

import json

import pytest

from gpubench_reports.common.errors import ReportError
from gpubench_reports.comparisons.points import read_points
from gpubench_reports.comparisons.published import (
    BEGIN,
    END,
    compare_points,
    markdown,
    rewrite_block,
    run_model,
    write_page,
)

from .factory import bandwidth_row, make_row

RATE = "useful_bytes_per_second"


def points_file(**changes):
    return {
        "schema": 1,
        "device": "h200-sxm",
        "source": "somebody/benches run.txt",
        "url": "https://example.org/run.txt",
        "measured_on": "NVIDIA H200",
        "unlike": "Larger arrays.",
        "points": [
            {"what": "read", "value": 2e12, "row": "a/read", "quantity": RATE, "fitted": False},
            {
                "what": "small",
                "value": 2e-6,
                "row": "a/small",
                "quantity": "seconds",
                "fitted": True,
            },
            {"what": "L1", "value": 33, "unit": "cycles", "waits_for": "a chase"},
        ],
        **changes,
    }


@pytest.fixture
def points(tmp_path):
    def read_document(document):
        folder = tmp_path / "points"
        folder.mkdir(exist_ok=True)
        (folder / "one.json").write_text(json.dumps(document))
        return read_points(folder)

    return read_document


def modelled(load):
    rows = [bandwidth_row("a/read", 4e12), make_row("a/small", 3e-6)]
    return load(rows, device_kind="model")


def test_errors_are_of_time_for_rates_and_for_times(points, load):
    rows = compare_points(points(points_file()), [modelled(load)])
    assert list(rows["error"]) == pytest.approx([-0.5, 0.5])  # too fast; too slow
    assert list(rows["fitted"]) == [False, True]
    assert list(rows["unit"]) == ["B/s", "s"]


def test_markdown_holds_every_point_and_says_what_is_missing(points, load):
    found = points(points_file())
    text = markdown(found, compare_points(found, [modelled(load)]))
    assert "| h200-sxm | [read](https://example.org/run.txt) | 2.00 TB/s | 4.00 TB/s |" in text
    assert "| -50.0 % | predicted |" in text
    assert "| +50.0 % | fitted |" in text
    assert "- a chase: 1 points (h200-sxm)" in text
    # By class: what was fitted does not count.
    assert "| a | 1 | 50.0 % | -50.0 % | 0 | -50.0 % | 0.69 |" in text
    assert "| all | 1 | 50.0 % | -50.0 % | 0 | -50.0 % | 0.69 |" in text


def test_an_all_reduce_is_compared_by_its_bus_bandwidth(points, load):
    point = {"what": "8 GPUs", "value": 2e11, "row": "a/ring", "quantity": "bus_bytes_per_second"}
    found = points(points_file(points=[{**point, "fitted": False}]))
    ring = load([make_row("a/ring", 1e-3, bus_bytes_per_second=4e11)], device_kind="model")
    assert "| 200 GB/s | 400 GB/s |" in markdown(found, compare_points(found, [ring]))


def test_what_a_publication_does_besides_comes_on_top(points, load):
    beside = {"besides": [{"row": "a/small", "times": 0.5}, {"row": "a/other", "times": 2}]}
    rate = {"what": "r", "value": 1e12, "row": "a/read", "quantity": RATE, "fitted": False}
    time = {"what": "t", "value": 1e-3, "row": "a/read", "quantity": "seconds", "fitted": False}
    found = points(points_file(points=[{**rate, **beside}, {**time, **beside}]))
    rows = [bandwidth_row("a/read", 4e12), make_row("a/small", 3e-6), make_row("a/other", 1e-3)]
    result = load(rows, device_kind="model")
    alone = float(result.ok.set_index("name").loc["a/read", "seconds"])
    total = alone + 0.5 * 3e-6 + 2 * 1e-3
    compared = compare_points(found, [result])
    assert list(compared["modelled"]) == pytest.approx([4e12 * alone / total, total])
    assert found[0].rows == ["a/read", "a/small", "a/other"]
    with pytest.raises(ReportError, match="has no seconds of row a/other"):
        compare_points(found, [load(rows[:2], device_kind="model")])


def test_a_row_that_the_model_lacks_is_named(points, load):
    only_one = load([bandwidth_row("a/read", 4e12)], device_kind="model")
    with pytest.raises(ReportError, match="has no seconds of row a/small"):
        compare_points(points(points_file()), [only_one])
    with pytest.raises(ReportError, match="no file is of it"):
        compare_points(points(points_file()), [])


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"schema": 2}, "'schema' 1"),
        ({"url": ""}, "'url' must be a non-empty string"),
        ({"points": []}, "'points' must be a list"),
        ({"points": [{"what": "x", "value": 0}]}, "'value' must be a number above 0"),
        ({"points": [{"what": "x", "value": True}]}, "'value' must be a number above 0"),
        ({"points": [{"what": "x", "value": 1}]}, "'unit' must be a non-empty string"),
        (
            {"points": [{"what": "x", "value": 1, "row": "a/b", "quantity": "speed"}]},
            "no counter is called 'speed'",
        ),
        (
            {"points": [{"what": "x", "value": 1, "row": "a/b", "quantity": RATE}]},
            "'fitted' must be true or false",
        ),
        *(
            (
                {
                    "points": [
                        {
                            "what": "x",
                            "value": 1,
                            "row": "a/b",
                            "quantity": RATE,
                            "fitted": False,
                            "besides": besides,
                        }
                    ]
                },
                "'besides' must be a list of objects with 'row' and 'times' above 0",
            )
            for besides in (
                [],
                "a/c",
                [{"row": "a/c"}],
                [{"row": "a/c", "times": 0}],
                [{"row": "a/c", "times": True}],
                [{"row": "a/c", "times": 1, "of": "x"}],
            )
        ),
        (
            {
                "points": [
                    {
                        "what": "x",
                        "value": 1,
                        "row": "a/b",
                        "quantity": "latency_cycles",
                        "fitted": False,
                        "besides": [{"row": "a/c", "times": 1}],
                    }
                ]
            },
            "'besides' needs a rate or seconds",
        ),
        *(
            (
                {
                    "points": [
                        {
                            "what": "x",
                            "value": 1,
                            "row": "a/b/size:4",
                            "quantity": RATE,
                            "fitted": False,
                            "own_axes": own_axes,
                        }
                    ]
                },
                "'own_axes' must be a list of axes of its row",
            )
            for own_axes in ([], "size", ["width"], [4])
        ),
        (
            {"points": [{"what": "x", "value": 1, "unit": "s", "waits_for": "y", "rwo": "a"}]},
            "unknown key 'rwo'",
        ),
    ],
)
def test_a_bad_points_file_is_one_clear_line(points, change, complaint):
    with pytest.raises(ReportError) as caught:
        points(points_file(**change))
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def own_point(row, **more):
    return {"what": row, "value": 2e12, "row": row, "quantity": RATE, "fitted": False, **more}


def test_a_value_of_no_suite_is_asked_of_its_kernel_in_a_run_of_its_own(
    points, tmp_path, monkeypatch
):
    asked = []

    def run(program, arguments, name):
        asked.append(set(arguments))
        if len(asked) == 2:
            raise ReportError(name, "stop")

    monkeypatch.setattr("gpubench_reports.comparisons.published.programs.run", run)
    monkeypatch.setattr("gpubench_reports.comparisons.published.read", lambda path: path)
    found = points(
        points_file(
            points=[
                own_point("a/read"),
                own_point("a/fill/dtype:fp32/n:3/k:8", own_axes=["n", "k"]),
                own_point("a/fill/dtype:fp32/n:5/k:8", own_axes=["n", "k"]),
                own_point("b/chase/n:7", own_axes=["n"]),
            ]
        )
    )
    with pytest.raises(ReportError, match="stop"):
        run_model(found, tmp_path / "gpubench")
    suite, own = asked
    assert "--benchmark_filter=^a/read$" in suite
    assert not [flag for flag in suite if flag.startswith("--axis")]
    assert {"--axis=a/fill/n=3,5", "--axis=a/fill/k=8", "--axis=b/chase/n=7"} <= own
    assert (
        "--benchmark_filter=^a/fill/dtype:fp32/n:3/k:8$|^a/fill/dtype:fp32/n:5/k:8$|^b/chase/n:7$"
    ) in own


def test_a_row_may_come_from_any_file_of_its_device(points, load):
    found = points(points_file(points=[own_point("a/read"), own_point("a/fill")]))
    files = [
        load([bandwidth_row(name, rate)], device_kind="model")
        for name, rate in (("a/read", 4e12), ("a/fill", 1e12))
    ]
    assert list(compare_points(found, files)["modelled"]) == pytest.approx([4e12, 1e12])


def test_a_page_may_show_the_errors_before_the_points(points, load, tmp_path):
    found = points(points_file())
    rows = compare_points(found, [modelled(load)])
    page = tmp_path / "page.md"
    page.write_text(f"{BEGIN}\n{END}\n")
    write_page(page, found, rows)
    assert page.read_text() == f"{BEGIN}\n{markdown(found, rows)}{END}\n"

    page.write_text(f"<!-- errors: begin -->\n<!-- errors: end -->\nwhy\n{BEGIN}\n{END}\n")
    write_page(page, found, rows)
    errors, published = page.read_text().split("why")
    assert "| a | 1 | 50.0 % |" in errors
    assert "example.org" not in errors
    assert "| a | 1 | 50.0 % |" not in published
    assert "[read](https://example.org/run.txt)" in published
    assert "- a chase: 1 points" in published


def test_an_empty_folder_is_an_error(tmp_path):
    with pytest.raises(ReportError, match="holds no points"):
        read_points(tmp_path)


def test_the_block_is_replaced_and_nothing_else(tmp_path):
    path = tmp_path / "README.md"
    path.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    rewrite_block(path, "new\n")
    assert path.read_text() == f"before\n{BEGIN}\nnew\n{END}\nafter\n"
    path.write_text("no markers\n")
    with pytest.raises(ReportError, match="has no block between"):
        rewrite_block(path, "new\n")


def test_a_program_that_is_missing_or_fails_is_named(points, tmp_path):
    found = points(points_file())
    with pytest.raises(ReportError, match="cannot be run: No such file"):
        run_model(found, tmp_path / "gpubench")
    failing = tmp_path / "failing"
    failing.write_text("#!/bin/sh\necho no such row >&2\nexit 2\n")
    failing.chmod(0o755)
    with pytest.raises(ReportError, match="failed for model:h200-sxm: no such row"):
        run_model(found, failing)
