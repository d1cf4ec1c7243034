"""The folders of the Python package lean on each other in one direction."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from .layers import Arrow, arrows_back

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "gpubench_reports"
# The lowest first: a folder leans on itself and on those before it. The empty name is the package's
# own modules, of which only the entry point leans on anything.
LAYERS = {
    "": (
        "common",
        "results",
        "comparisons",
        "rules",
        "jobs",
        "charts",
        "pages",
        "nightly",
        "fleet",
        "commands",
        "",
    ),
    "nightly": (
        "rule",
        "store",
        "judging",
        "nights",
        "reporting",
        "gate",
        "trials",
        "commands",
        "",
    ),
}


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, module) of every import of the package's own, wherever it stands in the file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
            names = [f"{PACKAGE}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        yield from ((node.lineno, name) for name in names if name.split(".")[0] == PACKAGE)


def arrows_of(reports: Path, above: str) -> Iterator[Arrow]:
    """Every import between folders of the package's folder `above`, in the folder `reports`."""
    prefix = ".".join(filter(None, (PACKAGE, above))) + "."
    parent = reports / prefix.replace(".", "/")
    for path in sorted(parent.rglob("*.py")):
        own = path.relative_to(parent).parts
        source = own[0] if len(own) > 1 else ""
        for line, module in imported(ast.parse(path.read_text("utf-8"))):
            target = module.removeprefix(prefix).split(".")[0]
            if module.startswith(prefix) and (parent / target).is_dir() and target != source:
                yield Arrow(path.relative_to(reports), line, source, target)


@pytest.mark.parametrize("above", LAYERS)
def test_no_import_points_back(above):
    back = arrows_back(arrows_of(ROOT / "reports", above), LAYERS[above])
    assert not back, "\n".join(back)


@pytest.mark.parametrize("above", LAYERS)
def test_every_folder_has_a_place(above):
    package = ROOT / "reports" / PACKAGE / above
    assert {path.parent.name for path in package.glob("*/__init__.py")} == set(LAYERS[above]) - {""}


def test_imports_are_absolute():
    """A relative import would be seen by no rule here."""
    relative = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted((ROOT / "reports").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.level > 0
    ]
    assert not relative, "\n".join(relative)


def test_an_arrow_back_is_named_with_its_line(tmp_path):
    for folder in ("common", "results", "charts"):
        (tmp_path / PACKAGE / folder).mkdir(parents=True)
    (tmp_path / PACKAGE / "charts/bars.py").write_text(f"from {PACKAGE}.results import reader\n")
    (tmp_path / PACKAGE / "results/reader.py").write_text(
        f"from {PACKAGE} import __version__\n\n\ndef draw():\n    import {PACKAGE}.charts.bars\n"
    )
    arrows = list(arrows_of(tmp_path, ""))
    assert arrows_back(arrows, ("common", "results", "charts")) == [
        f"{PACKAGE}/results/reader.py:5: results -> charts"
    ]
    assert arrows_back(arrows, ("common", "results"))[0].endswith("charts is in no layer")
