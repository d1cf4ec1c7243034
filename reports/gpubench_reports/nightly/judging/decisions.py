"""What people decided, under the names that the machines have now."""

from collections import defaultdict
from typing import Any

from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.store import Store


def present_decisions(store: Store, index: Index) -> list[dict[str, Any]]:
    """All decisions. Those about a machine whose folder was renamed are about the new name: the
    verdicts of its nights still say the old one."""
    decisions = store.decisions()
    machines = set(store.machines())
    if all(decision["machine"] in machines for decision in decisions):
        return decisions
    called_now: dict[str, list[str]] = defaultdict(list)
    for machine, before in index.rows(
        "select distinct machine, json_extract(verdict, '$.machine') from night"
        " where verdict is not null order by 1"
    ):
        if machine in machines and before not in machines:
            called_now[before].append(machine)
    return [
        decision | {"machine": name}
        for decision in decisions
        for name in called_now.get(decision["machine"], [decision["machine"]])
    ]


def machines_gone(store: Store, index: Index) -> list[str]:
    """The machines about which something was decided, and that have no nights here."""
    decided = {decision["machine"] for decision in present_decisions(store, index)}
    return sorted(decided - set(store.machines()))
