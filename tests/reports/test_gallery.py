"""The pages' pictures: listed, drawn from files that lie beside them, and all shown."""

import json
import re
import stat
from pathlib import Path

import pytest

from gpubench_reports.charts import gallery
from gpubench_reports.commands.command_line import main
from gpubench_reports.common.errors import ReportError
from gpubench_reports.results.reader import read

from .factory import make_document, roofline_rows

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "reports" / "gallery"


def test_every_picture_can_be_drawn_from_a_committed_result():
    sources, pictures = gallery.read_list(COMMITTED)
    for source in sources:
        assert (COMMITTED / source.file).is_file()
    for picture in pictures:
        result = read(COMMITTED / picture.result)
        assert picture.chart in gallery.builders_of(result)
        context = json.loads((COMMITTED / picture.result).read_text())["context"]
        # Nobody's machine is in a committed file, and no code that was never committed.
        assert "host_name" not in context
        assert context["git_dirty"] is False


def test_the_pages_show_the_listed_pictures_and_no_other():
    text = "".join(p.read_text() for p in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")))
    shown = set(re.findall(r"reports/gallery/([^)]+\.png)\)", text))
    _, pictures = gallery.read_list(COMMITTED)
    assert sorted(shown) == sorted(picture.file for picture in pictures)
    assert sorted(path.name for path in COMMITTED.glob("*.png")) == sorted(shown)


def test_the_pictures_of_the_repository_are_small():
    assert sum(path.stat().st_size for path in COMMITTED.glob("*.png")) < 2e6


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "pictures.toml").write_text(
        '[[results]]\nfile = "r.json"\narguments = ["--device=model:x"]\ntrace = false\n'
        '[[pictures]]\nfile = "p.png"\nresult = "r.json"\nchart = "roofline"\n'
    )
    return tmp_path


def program_that_writes(folder, document):
    """A stand-in for gpubench, which writes `document` to --benchmark_out."""
    (folder / "document.json").write_text(json.dumps(document))
    program = folder / "stand-in"
    program.write_text(
        '#!/bin/sh\nfor a in "$@"; do case "$a" in --benchmark_out=*) '
        f'cp {folder}/document.json "${{a#*=}}";; esac; done\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def test_the_command_makes_results_and_pictures(folder, capsys, monkeypatch):
    program_that_writes(folder, make_document(roofline_rows(), host_name="secret"))
    monkeypatch.chdir(folder)
    assert main(["gallery", str(folder), "--program", "./stand-in"]) == 0
    assert capsys.readouterr().out.splitlines() == [str(folder / "r.json"), str(folder / "p.png")]
    assert "secret" not in (folder / "r.json").read_text()
    assert len(read(folder / "r.json").rows) == len(roofline_rows())
    first = (folder / "p.png").read_bytes()
    assert main(["gallery", str(folder)]) == 0  # and again without the program
    assert (folder / "p.png").read_bytes() == first


def test_what_is_wrong_is_one_line(folder, capsys):
    assert main(["gallery", str(folder)]) == 2  # no result yet
    assert main(["gallery", str(folder), "--program", "./absent"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2
    (folder / "pictures.toml").write_text('[[pictures]]\nfile = "p.png"\n')
    with pytest.raises(ReportError, match="an entry is not as it must be"):
        gallery.read_list(folder)
    (folder / "r.json").write_text(json.dumps(make_document()))
    with pytest.raises(ReportError, match="gives no chart called nothing"):
        gallery.draw(folder, [gallery.Picture("p.png", "r.json", "nothing")])
