"""The dashboard and the alert rules ask only for what the store really exports."""

import importlib
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpubench_reports.nightly.reporting.metrics import metrics
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.store import Store

from .conftest import judged, put_night

FOLDER = Path(__file__).resolve().parents[2] / "packaging/monitoring"
DASHBOARD = json.loads((FOLDER / "grafana-dashboard.json").read_text())
RULES = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"][0]["rules"]
VARIABLES = {entry["name"]: entry for entry in DASHBOARD["templating"]["list"]}
QUERIES = [
    *(target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]),
    *(entry["query"]["query"] for entry in VARIABLES.values() if entry["type"] == "query"),
    *(rule["expr"] for rule in RULES),
]
FUNCTIONS = {"time", "avg", "max", "absent", "label_values", "by", "offset", "d"}


@pytest.fixture
def exported(tmp_path: Path) -> dict[str, set[str]]:
    """Every metric that a store of measured, or of modelled nights exports, with its labels."""
    state = {"sm_clock_hz": 1.9e9, "power_w": 500.0, "temperature_c": 60.0, "throttled": 0}
    found: dict[str, set[str]] = {}
    for rehearsal in (False, True):
        store = Store.open(tmp_path / str(rehearsal), rehearsal=rehearsal, create=True)
        kind = {"device_kind": "model"} if rehearsal else {}
        put_night(store, {"a/b/n:1": {"seconds": 1e-4, **state}}, **kind)
        judged(store)
        with Index(store) as index:
            text = metrics(store, index, Settings())
        for name, labels in re.findall(r"^(gpubench_\w+)\{(.*)\} \S+$", text, re.MULTILINE):
            found.setdefault(name, set()).update(re.findall(r'(\w+)="', labels))
    return found


def asked(query: str) -> list[tuple[str, set[str]]]:
    """The metrics of a query, with the labels that it selects by."""
    found = re.findall(r"\b(gpubench_\w+)(?:\{([^}]*)\})?", query)
    return [(name, set(re.findall(r'(\w+)\s*=?~?"', labels))) for name, labels in found]


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_asks_for_metrics_and_labels_that_there_are(query: str, exported) -> None:
    assert asked(query)
    for name, labels in asked(query):
        assert name in exported
        assert labels <= exported[name]
    grouped = {
        label.strip() for by in re.findall(r"by \(([^)]*)\)", query) for label in by.split(",")
    }
    bare = re.sub(r'\{[^}]*\}|by \([^)]*\)|gpubench_\w+|"[^"]*"', "", query)
    if query.startswith("label_values"):
        grouped |= {re.findall(r", (\w+)\)$", query)[0]}
        bare = bare.rpartition(",")[0]
    for name, _ in asked(query):
        assert grouped <= exported[name]
    assert set(re.findall(r"[A-Za-z_]\w*", bare)) <= FUNCTIONS
    assert set(re.findall(r"\$(\w+)", query)) <= set(VARIABLES)


def test_every_metric_is_on_the_dashboard(exported) -> None:
    shown = {
        name
        for panel in DASHBOARD["panels"]
        for target in panel["targets"]
        for name, _ in asked(target["expr"])
    }
    assert shown == set(exported)


def test_panels_have_a_place_and_a_name_of_their_own() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken
        taken |= cells
    for key in ("id", "title"):
        values = [panel[key] for panel in DASHBOARD["panels"]]
        assert len(set(values)) == len(values)


def data_sources(part: Any) -> list[str]:
    """Every data source's name, wherever it stands in the document."""
    if isinstance(part, list):
        return [name for entry in part for name in data_sources(entry)]
    if not isinstance(part, dict):
        return []
    own = [part["datasource"]["uid"]] if isinstance(part.get("datasource"), dict) else []
    return own + [name for entry in part.values() for name in data_sources(entry)]


def test_the_dashboard_takes_any_prometheus() -> None:
    """A name of our own data source would leave everybody else's panels empty."""
    assert set(data_sources(DASHBOARD)) == {"${datasource}"}
    assert VARIABLES["datasource"]["query"] == "prometheus"
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            labels = re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])
            assert set(labels) <= {"machine", "benchmark"}
            assert ("benchmark" in labels) == (panel["title"].endswith(("week", "Time")))


def places_lost(given: Any, kept: Any, place: str = "") -> set[str]:
    """The places of `given` that `kept` does not have, or has otherwise."""
    if isinstance(given, dict) and isinstance(kept, dict):
        pairs = [(f"{place}/{key}", one, kept.get(key)) for key, one in given.items()]
    elif isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        pairs = [(place, one, other) for one, other in zip(given, kept, strict=True)]
    else:
        return set() if given == kept else {place}
    return {lost for where, one, other in pairs for lost in places_lost(one, other, where)}


def test_every_key_of_the_dashboard_is_one_of_grafanas() -> None:
    """Grafana ignores what it does not know. Its SDK keeps only what its schemas have."""
    models = pytest.importorskip(
        "grafana_foundation_sdk.models.dashboard",
        reason="no grafana-foundation-sdk, a PyPI package",
    )
    cog = importlib.import_module("grafana_foundation_sdk.cog.encoder")
    importlib.import_module("grafana_foundation_sdk.cog.plugins").register_default_plugins()
    kept = json.loads(cog.JSONEncoder().encode(models.Dashboard.from_json(DASHBOARD)))
    # A variable's text as its editor shows it, which Grafana writes and the schema leaves out.
    assert places_lost(DASHBOARD, kept) == {"/templating/list/definition"}


def test_alerts_say_what_and_where() -> None:
    assert {rule["alert"] for rule in RULES} == {
        "GpubenchRegression",
        "GpubenchNotJudged",
        "GpubenchNoNight",
        "GpubenchGone",
        "GpubenchThrottled",
    }
    for rule in RULES:
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert 'rehearsal=""' in rule["expr"]  # modelled nights wake nobody
        assert rule["labels"] == {"severity": "warning"}
        assert set(rule["annotations"]) == {"summary", "description"}
        if not rule["expr"].startswith("absent"):
            assert "{{ $labels.machine }}" in rule["annotations"]["summary"]


def test_prometheus_takes_the_rules_and_the_metrics(store: Store, tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("no promtool: apt-get install prometheus")
    panels = [
        {"record": f"panel:{number}", "expr": re.sub(r"\$(\w+)", ".*", expr)}
        for number, expr in enumerate(QUERIES)
        if not expr.startswith("label_values")
    ]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": panels}]}))
    put_night(store, {"a/b/n:1": {"seconds": 1e-4, "sm_clock_hz": 1.9e9}})
    judged(store)
    with Index(store) as index:
        text = metrics(store, index, Settings())
    for command, given in (
        (["check", "rules", str(FOLDER / "alerts.yaml"), str(file)], ""),
        (["check", "metrics"], text),
    ):
        done = subprocess.run(
            [promtool, *command], input=given, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
