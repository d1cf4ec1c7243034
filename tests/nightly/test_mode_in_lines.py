"""A row's hot nights are a series of their own, and what is told of them says so."""

from gpubench_reports.nightly.reporting.summary import lines
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.store import Store

from .conftest import judged, put_night, put_nights

NAME = "a/b/n:1"


def said(store: Store) -> str:
    return "\n".join(lines(judged(store), Settings(), rehearsal=False))


def test_a_line_names_the_mode_where_it_is_not_cold(store: Store) -> None:
    slow = {NAME: 1.05e-4}
    put_nights(store, 12, mode="hot")
    put_night(store, slow, rerun=slow, mode="hot")
    assert f"1 provisional: {NAME} (hot) (slower)" in said(store)
    put_night(store, slow, rerun=slow, mode="hot")
    assert f"{NAME} (hot)  100" in said(store)
    put_night(store, {"a/c/n:1": 1e-4}, mode="hot")
    assert f"{NAME} (hot): " in said(store)  # it is missing
