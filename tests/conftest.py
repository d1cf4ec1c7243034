"""The order of the files: where several processes share them, the longest must not come last."""

from __future__ import annotations

import pytest

LONGEST = ("test_submissions", "test_offline", "test_audit", "test_concepts")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = {name: at for at, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))
