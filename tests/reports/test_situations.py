"""What somebody who opens the report has to see at once, in ten situations."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpubench_reports.commands.command_line import main
from gpubench_reports.pages.html import build as page_builder
from gpubench_reports.pages.html.answer_cards import answer_cards
from gpubench_reports.pages.html.drawing import Drawn
from gpubench_reports.pages.html.facts import gather
from gpubench_reports.pages.html.markup import Markup

from .html_pages import Elements, one_line
from .situations import SITUATIONS, files
from .situations import main as write_all

_FIRST_LINES = 8  # of a terminal


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_first_screen_says_it(name: str, tmp_path: Path) -> None:
    result, *others = files(name, tmp_path)
    text = one_line(Elements(answer_cards(gather(result, others))).text)
    for words in SITUATIONS[name].page:
        assert words in text


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_first_lines_of_the_terminal_say_it(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [str(result.path) for result in files(name, tmp_path)]
    assert main(["compare", *reversed(paths)] if len(paths) > 1 else ["table", *paths]) == 0
    lines = capsys.readouterr().out.splitlines()[:_FIRST_LINES]
    for words in SITUATIONS[name].console:
        assert any(line.strip("! ").startswith(words) for line in lines), lines


@pytest.mark.parametrize("name", SITUATIONS)
def test_nothing_of_the_answers_lies_below_the_first_screen(
    browser, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        page_builder, "draw", lambda *_: Drawn([], Markup(""))
    )  # charts come later on the page
    result, *others = files(name, tmp_path)
    page = tmp_path / "page.html"
    page.write_bytes(page_builder.build(result, others))
    browser.resize(1280, 800)
    browser.open(page.as_uri())
    bottom = "document.querySelector('.answers').getBoundingClientRect().bottom"
    assert 300 < browser.evaluate(bottom) <= 800


def test_one_command_writes_all_ten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(page_builder, "draw", lambda *_: Drawn([], Markup("")))
    assert write_all([str(tmp_path / "ten")]) == 0
    pages = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert [page.stem for page in pages] == list(SITUATIONS)
    assert all(page.read_bytes().startswith(b"<!DOCTYPE html>") for page in pages)
    assert len(SITUATIONS) == 10
    assert write_all([]) == 2
