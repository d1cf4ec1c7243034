"""What somebody who opens the report has to see at once, in ten situations."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from gpubench_reports.commands.command_line import main
from gpubench_reports.pages.html import build as page_builder
from gpubench_reports.pages.html.answer_cards import answer_cards
from gpubench_reports.pages.html.drawing import Drawn
from gpubench_reports.pages.html.facts import gather
from gpubench_reports.pages.html.markup import Markup
from gpubench_reports.results.reader import ResultFile

from . import situations
from .html_pages import Elements, one_line
from .situations import SITUATIONS, files
from .situations import main as write_all

Results = Callable[[str], list[ResultFile]]
_FIRST_LINES = 8  # of a terminal
# One of each kind: healthy, of one cause with evidence, of a part, and of a change.
TELLING = ("healthy", "throttled", "one-gpu-of-eight", "after-a-driver-update")
names = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in TELLING else pytest.mark.release)
        for name in SITUATIONS
    ],
)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The files of a situation, made once for all tests."""
    folder = tmp_path_factory.mktemp("situations")
    return cache(lambda name: files(name, folder))


@names
def test_the_first_screen_says_it(name: str, results: Results) -> None:
    result, *others = results(name)
    text = one_line(Elements(answer_cards(gather(result, others))).text)
    for words in SITUATIONS[name].page:
        assert words in text


@names
def test_the_first_lines_of_the_terminal_say_it(
    name: str, results: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [str(result.path) for result in results(name)]
    assert main(["compare", *reversed(paths)] if len(paths) > 1 else ["table", *paths]) == 0
    lines = capsys.readouterr().out.splitlines()[:_FIRST_LINES]
    for words in SITUATIONS[name].console:
        assert any(line.strip("! ").startswith(words) for line in lines), lines


@names
def test_nothing_of_the_answers_lies_below_the_first_screen(
    browser, name: str, results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        page_builder, "draw", lambda *_: Drawn([], Markup(""))
    )  # charts come later on the page
    result, *others = results(name)
    page = tmp_path / "page.html"
    page.write_bytes(page_builder.build(result, others))
    browser.resize(1280, 800)
    browser.open(page.as_uri())
    bottom = "document.querySelector('.answers').getBoundingClientRect().bottom"
    assert 300 < browser.evaluate(bottom) <= 800


def test_one_command_writes_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(page_builder, "draw", lambda *_: Drawn([], Markup("")))
    few = {name: SITUATIONS[name] for name in ("healthy", "after-a-driver-update")}
    monkeypatch.setattr(situations, "SITUATIONS", few)
    assert write_all([str(tmp_path / "few")]) == 0
    pages = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert [page.stem for page in pages] == list(few)
    assert all(page.read_bytes().startswith(b"<!DOCTYPE html>") for page in pages)
    assert len(SITUATIONS) == 10
    assert write_all([]) == 2
