"""Claims: every verdict, what stands behind it, and what the command and the page make of it."""

import pytest

from gpubench_reports.rules.claims import (
    FAILS,
    HOLDS,
    PARTLY,
    UNTESTED,
    Finding,
    claims_of,
    judge_claims,
)
from gpubench_reports.rules.rule_rows import figure_text

from .factory import DRAM, make_row

RULES = """
[[claim]]
number = 4
says = "Twice the size takes twice the time"
note = "Of a copy."
modelled = "By construction."

[[claim.case]]
where = "{size} bytes in {dtype}"
rows = "copy/twice/size:[0-9]+/dtype:[a-z0-9]+"
with = {once = "copy/once/size:{size}/dtype:{dtype}"}
value = "row.seconds / once.seconds"
unit = "times"
least = 1.9
most = 2.1
"""


SHOWN_ONLY = """
[[claim.case]]
where = "thrice"
rows = "copy/thrice/.*"
value = "row.seconds"
unit = "s"
"""


ROOFS = """
[[claim]]
number = 9
says = "The ridge of an H200 is at 200 FLOP/byte"
note = ""

[[claim.case]]
where = "as found"
devices = ["h200-sxm"]
value = "roof.tensor_bf16 / roof.dram"
unit = "FLOP/byte"
most = 200

[[claim.case]]
where = "as its file has it"
devices = ["h200-sxm"]
value = "known.tensor_bf16 / known.dram"
unit = "FLOP/byte"
least = 200
"""


def pairs(ratios: dict[int, float], **more) -> list[dict]:
    """Rows of the rule's two kernels: of each size one, and one that takes ratio as long."""
    rows = []
    for size, ratio in ratios.items():
        rows.append(make_row(f"copy/once/size:{size}/dtype:fp32", 1e-3))
        rows.append(make_row(f"copy/twice/size:{size}/dtype:fp32", ratio * 1e-3, **more))
    return rows


@pytest.fixture
def judged(load):
    """judged(rows, text=RULES, **context) -> the only finding."""

    def judge(rows: list[dict], text: str = RULES, **context) -> Finding:
        (finding,) = judge_claims(load(rows, **context), claims_of(text))
        return finding

    return judge


def test_a_claim_holds_where_all_cases_lie_in_its_range(judged):
    finding = judged(pairs({1024: 1.9, 20: 2.1}))
    assert (finding.word, finding.verdict, finding.conditions) == (HOLDS, HOLDS, "")
    assert [one.figure for one in finding.tried] == pytest.approx([1.9, 2.1])
    assert [one.where for one in finding.tried] == ["1 Ki bytes in fp32", "20 bytes in fp32"]
    assert finding.tried[0].rows == (
        "copy/twice/size:1024/dtype:fp32",
        "copy/once/size:1024/dtype:fp32",
    )
    assert finding.tried[0].case.claimed == "1.9 times to 2.1 times"
    assert finding.notes == "Of a copy."


@pytest.mark.parametrize("ratio", [1.89, 2.11])
def test_a_claim_does_not_hold_on_either_side_of_its_range(judged, ratio):
    finding = judged(pairs({1: ratio}))
    assert (finding.verdict, finding.conditions) == (FAILS, "")


def test_partly_says_where_it_holds_and_where_not(judged):
    finding = judged(pairs({1: 2.0, 2: 3.0, 4: 2.0}))
    assert finding.verdict == PARTLY
    assert finding.conditions == (
        "holds for 1 bytes in fp32, 4 bytes in fp32; not for 2 bytes in fp32"
    )


def test_a_case_that_could_not_be_tried_leaves_no_more_than_partly(judged):
    lost = "copy/twice/size:2/dtype:fp32"
    rows = [*pairs({1: 2.0}), {"name": lost, "skipped": True, "skip_reason": "needs a GPU"}]
    finding = judged(rows)
    assert finding.verdict == PARTLY
    assert finding.conditions == (
        f"holds for 1 bytes in fp32; not tested: 2 bytes in fp32: {lost} skipped: needs a GPU"
    )
    assert judged([*pairs({1: 3.0}), rows[-1]]).verdict == FAILS


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([make_row("a/b")], "any bytes in any: no row of copy in the file"),
        (
            pairs({1: 2.0})[:1],
            "any bytes in any: no row copy/twice/size:[0-9]+/dtype:[a-z0-9]+ in the file",
        ),
        (pairs({1: 2.0})[1:], "1 bytes in fp32: no row copy/once/size:1/dtype:fp32 in the file"),
        (
            [
                {
                    "name": "copy/twice/size:1/dtype:fp32",
                    "error_occurred": True,
                    "error_message": "element 7 is 3",
                }
            ],
            "1 bytes in fp32: copy/twice/size:1/dtype:fp32 failed: element 7 is 3",
        ),
        (
            pairs({1: 2.0}, throttled=1),
            "1 bytes in fp32: copy/twice/size:1/dtype:fp32 ran throttled",
        ),
        (
            pairs({1: 2.0}, converged=0),
            "1 bytes in fp32: copy/twice/size:1/dtype:fp32 did not converge",
        ),
        (
            [make_row("copy/twice/size:1/dtype:fp32", arguments={})],
            "any bytes in any: copy/twice/size:1/dtype:fp32 has no size",
        ),
    ],
)
def test_without_its_rows_a_claim_is_not_tested_and_says_why(judged, rows, why):
    finding = judged([make_row("x/y"), *rows])
    assert (finding.verdict, finding.conditions) == (UNTESTED, why)


def test_modelled_verdicts_say_so_and_what_they_are_worth(judged):
    assert judged(pairs({1: 2.0}), device_kind="model").verdict == "modelled: holds"
    finding = judged(pairs({1: 3.0}), device_kind="model")
    assert finding.verdict == "modelled: does not hold"
    assert finding.notes.endswith("By construction.")
    # What was not tested was not modelled either.
    finding = judged([make_row("a/b")], device_kind="model")
    assert finding.verdict == UNTESTED
    assert "By construction" not in finding.notes


def test_roofs_of_the_run_and_of_the_device_file_are_told_apart(judged):
    finding = judged([make_row("a/b")], ROOFS)
    assert [one.figure for one in finding.tried] == pytest.approx(
        [8.0e14 / 4.4e12, 9.9e14 / 4.8e12]
    )
    assert [one.text for one in finding.tried] == ["182 FLOP/byte", "206 FLOP/byte"]
    assert finding.word == HOLDS
    assert [one.case.claimed for one in finding.tried] == [
        "at most 200 FLOP/byte",
        "at least 200 FLOP/byte",
    ]


def test_a_claim_about_other_devices_is_not_tested_here(judged):
    finding = judged([make_row("a/b")], ROOFS, device="l40s")
    assert (finding.word, finding.conditions) == (
        UNTESTED,
        "here: the claim is about h200-sxm, and this is l40s",
    )


def test_claims_are_not_tested_with_hot_caches(judged):
    finding = judged(pairs({1: 2.0}), mode="hot")
    assert finding.word == UNTESTED
    assert "hot caches" in finding.untested[0][1]


def test_a_roof_that_is_not_there_is_named(judged):
    finding = judged([make_row("a/b")], ROOFS, roofs=[])
    assert finding.word == UNTESTED
    assert "as found: this run found no roof tensor_bf16" in finding.conditions
    assert "as its file has it: the device file has no roof tensor_bf16" in finding.conditions


def test_a_case_without_a_range_is_shown_and_decides_nothing(judged):
    more = f"{RULES}{SHOWN_ONLY}"
    both = judged([*pairs({1: 2.0}), make_row("copy/thrice/n:1")], more)
    assert (both.word, len(both.tried)) == (HOLDS, 2)
    alone = judged([make_row("copy/thrice/n:1", 5.0)], more, device_kind="model")
    assert (alone.verdict, len(alone.untested)) == (UNTESTED, 1)
    assert [(one.text, one.holds, one.case.claimed) for one in alone.tried] == [
        ("5.00 s", None, "")
    ]
    lost = judged(pairs({1: 2.0}), more)
    assert (lost.word, len(lost.tried), lost.untested) == (HOLDS, 1, ())


def test_the_wrong_figure_stands_beside_the_right_one(judged):
    text = RULES.replace(
        "least = 1.9",
        'least = 1.9\nbeside = "{wrong} claimed, {right} done"\n'
        'shows = {wrong = "row.claimed", right = "once.done"}',
    )
    rows = pairs({1: 2.0}, claimed=3000.0)
    rows[0] |= {"done": 20}
    assert judged(rows, text).tried[0].beside == "3.00 k claimed, 20.0 done"


def test_figures_without_a_result_are_no_verdict(judged):
    text = RULES.replace("row.seconds / once.seconds", "row.a / once.b")
    for a, b in ((1, 0), ("word", 1), (10**400, 1)):
        rows = pairs({1: 2.0}, a=a)
        rows[0] |= {"b": b}
        finding = judged(rows, text)
        assert finding.word == UNTESTED
        assert finding.conditions.endswith("its figures have no result")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("row.seconds", "rwo.seconds", "claim 4: nothing is called 'rwo'"),
        ("once.seconds", "seconds", "claim 4: nothing is called 'seconds'"),
        ("row.seconds", "row.seconds ** 2", "is not allowed in an expression"),
        ("most = 2.1", "most = 1.1", "claim 4: no range in which it holds"),
        ("least = 1.9\nmost = 2.1", "", "claim 4: no case has a range"),
        ("most = 2.1", "msot = 2.1", "claim 4: .*msot"),
        ("number = 4", "number = 4\nnmae = 1", "claim 4: .*nmae"),
        ('note = "Of a copy."', "", "claim 4: .*note"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(old, new, why):
    assert old in RULES
    with pytest.raises(ValueError, match=why):
        claims_of(RULES.replace(old, new))


def test_claims_are_numbered_upwards():
    with pytest.raises(ValueError, match="not numbered upwards"):
        claims_of(RULES + RULES)


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [(0.276, "fraction", "27.6 %"), (3.1, "times", "3.1 times"), (2.43e-6, "s", "2.43 µs")],
)
def test_figures_are_shown_in_their_unit(value, unit, words):
    assert figure_text(value, unit) == words


def of_claim(number: int, result) -> Finding:
    """The finding of one of the claims that come with the program."""
    return next(one for one in judge_claims(result) if one.claim.number == number)


@pytest.mark.parametrize(("ratio", "word"), [(1.9, FAILS), (2, HOLDS), (7.5, HOLDS), (7.7, FAILS)])
def test_long_attention_may_be_2_to_7_6_times_faster(load, ratio, word):
    # 1 Ki tokens are no long sequence, whatever they show.
    times = {(kernel, seq): 1e-3 for kernel in ("standard", "tiled") for seq in (512, 1024, 4096)}
    times["standard", 4096] = ratio * 1e-3
    rows = [
        make_row(f"attention/{kernel}/seq:{seq}/head_dim:128/causal:0", seconds, memory_bytes=1e6)
        for (kernel, seq), seconds in times.items()
    ]
    finding = of_claim(4, load(rows))
    by_time = [one for one in finding.tried if one.case.least == 2]
    assert [one.where for one in by_time] == ["4 Ki tokens, head_dim 128, causal 0"]
    assert by_time[0].holds == (word == HOLDS)


def test_intensity_without_the_matrix_is_over_useful_bytes(load):
    # 1024 FLOP a useful byte, whatever the row's bytes passed through shared memory.
    row = make_row(
        "attention/tiled/seq:2048/head_dim:128/causal:0",
        label="shared",
        flops_per_second=6.8e14,
        useful_bytes_per_second=6.8e14 / 1024,
        arithmetic_intensity=21.0,
    )
    (shown,) = of_claim(13, load([row])).tried
    assert shown.figure == pytest.approx(1024 / (8.0e14 / DRAM))
    assert shown.holds is None
