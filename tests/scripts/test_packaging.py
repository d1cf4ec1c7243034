"""The recipes in packaging/, by the tools that read them, where these are installed."""

from __future__ import annotations

import re
import subprocess
import tomllib

import pytest

from .conftest import ROOT

PACKAGING = ROOT / "packaging"
STEP = PACKAGING / "containers/step"


def test_conda_recipe_gives_the_programs_and_the_reports() -> None:
    rattler = pytest.importorskip("rattler_build", reason="no py-rattler-build (PyPI)")
    recipe = rattler.Stage0Recipe.from_file(str(PACKAGING / "conda/recipe.yaml"))
    rendered = recipe.render(rattler.VariantConfig())
    assert [one.recipe.package.name for one in rendered] == ["gpubench", "gpubench-reports"]


def test_conda_recipe_needs_what_the_reports_need() -> None:
    project = tomllib.loads((ROOT / "reports/pyproject.toml").read_text())["project"]
    recipe = (PACKAGING / "conda/recipe.yaml").read_text()
    run = recipe.split("name: gpubench-reports")[1].split("run:")[1].split("tests:")[0]
    needed = {line.strip(" -").replace(" ", "") for line in run.strip().splitlines()}
    conda_names = {"matplotlib": "matplotlib-base"}  # without the windows that nobody opens
    wanted = {
        re.sub(r"^[\w-]+", lambda name: conda_names.get(name[0], name[0]), one)
        for one in project["dependencies"]
    }
    assert needed == wanted | {f"python{project['requires-python']}"}


def test_an_image_copies_what_there_is() -> None:
    text = (PACKAGING / "containers/Containerfile").read_text()
    copied = re.findall(r"^COPY (?!--from)(\S+) \S+$", text, re.MULTILINE)
    assert "reports" in copied
    for path in copied:
        assert (ROOT / path).exists(), path
    ignored = (ROOT / ".containerignore").read_text().splitlines()
    assert not {f"/{path}" for path in copied} & set(ignored)
    assert (ROOT / ".dockerignore").read_text().splitlines() == ignored
    assert set(re.findall(r"containers/step (\w+)", text)) == {"build", "reports"}


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "'': takes build or reports"),
        (["builds"], "'builds': takes build or reports"),
        (["build", "rocm"], "build 'rocm': takes model or cuda"),
    ],
)
def test_an_unknown_step_is_one_line(words: list[str], problem: str) -> None:
    done = subprocess.run([STEP, *words], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"packaging/containers/step: {problem}\n"
