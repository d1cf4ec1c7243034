"""The pages' pictures, drawn from result files that lie beside them (reports/gallery)."""

import io
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from gpubench_reports.charts import job_chart, style
from gpubench_reports.charts.render import Builder, charts_of
from gpubench_reports.common import programs
from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import write_atomically
from gpubench_reports.results.checking import parse, parse_toml
from gpubench_reports.results.reader import ResultFile, read
from gpubench_reports.results.traces import path_beside

LIST = "pictures.toml"
_COLOURS = 256  # the most that a palette holds
# What a context says of the machine that ran the model: nothing that a modelled figure depends on.
_OF_THE_MACHINE = (
    "host_name",
    "executable",
    "num_cpus",
    "mhz_per_cpu",
    "cpu_scaling_enabled",
    "caches",
    "load_avg",
)


@dataclass(frozen=True)
class Source:
    """A result file of the gallery and the command line that makes it."""

    file: str
    arguments: list[str]
    trace: bool


@dataclass(frozen=True)
class Picture:
    file: str
    result: str
    chart: str


def read_list(directory: Path) -> tuple[list[Source], list[Picture]]:
    """The gallery's list. Raises ReportError for whatever is wrong with it."""
    path = directory / LIST
    document = parse_toml(path)
    try:
        sources = [Source(**entry) for entry in document["results"]]
        pictures = [Picture(**entry) for entry in document["pictures"]]
    except (KeyError, TypeError) as error:
        raise ReportError(path, f"an entry is not as it must be: {error}") from None
    texts = [source.file for source in sources]
    texts += [text for p in pictures for text in (p.file, p.result, p.chart)]
    if not all(isinstance(text, str) for text in texts):
        raise ReportError(path, "the name of a file or a chart is no text")
    known = {source.file for source in sources}
    for picture in pictures:
        if picture.result not in known:
            raise ReportError(path, f"{picture.file} is of {picture.result}, which is not listed")
    return sources, pictures


def run_model(directory: Path, sources: list[Source], program: Path) -> list[Path]:
    """Has `program` make the result files anew; returns the paths. Raises ReportError."""
    written = []
    for source in sources:
        target = directory / source.file
        with tempfile.TemporaryDirectory(prefix="gpubench-") as folder:
            out = Path(folder) / source.file
            arguments = [*source.arguments, f"--benchmark_out={out}"]
            if source.trace:
                arguments.append(f"--trace={path_beside(out)}")
            programs.run(program, arguments, source.file)
            write_atomically(target, _lines(parse(out), "context", "benchmarks"))
            written.append(target)
            if source.trace:
                trace = _shown_only(parse(path_beside(out)))
                write_atomically(path_beside(target), _lines(trace, "otherData", "traceEvents"))
                written.append(path_beside(target))
    return written


def builders_of(result: ResultFile) -> dict[str, Builder]:
    """What may be drawn: as `gpubench-report render` does, and the chart of `job`."""
    return charts_of(result) | {"job": job_chart.of_result}


def draw(directory: Path, pictures: list[Picture]) -> list[Path]:
    """Draws the pictures; returns the paths. Raises ReportError when a file does not have one."""
    written = []
    for picture in pictures:
        result = read(directory / picture.result)
        build = builders_of(result).get(picture.chart)
        figure = build(result) if build else None
        if figure is None:
            raise ReportError(result.path, f"gives no chart called {picture.chart}")
        path = directory / picture.file
        write_atomically(path, _small(style.to_files(figure)["png"]))
        written.append(path)
    return written


def _small(png: bytes) -> bytes:
    """The picture with a palette: a third of the bytes, and charts have few colours."""
    small = io.BytesIO()
    with Image.open(io.BytesIO(png)) as picture:
        palette = picture.convert("RGB").quantize(_COLOURS, Image.Quantize.FASTOCTREE)
        palette.save(small, format="png", optimize=True)
    return small.getvalue()


def _lines(document: dict[str, Any], context: str, content: str) -> bytes:
    """The document with one entry per line, so that a difference shows which rows changed."""
    kept = {k: v for k, v in document[context].items() if k not in _OF_THE_MACHINE}
    rest = {k: v for k, v in document.items() if k not in (context, content)}
    lines = [json.dumps(entry, separators=(",", ":")) for entry in document[content]]
    parts = [f'"{context}": {json.dumps(kept, indent=1)}']
    parts += [f'"{key}": {json.dumps(value)}' for key, value in rest.items()]
    parts.append(f'"{content}": [\n' + ",\n".join(lines) + "\n]")
    return ("{" + ",\n".join(parts) + "}\n").encode()


def _shown_only(trace: dict[str, Any]) -> dict[str, Any]:
    """The trace of the rows that a timeline shows; the others are not drawn."""
    shown = set(trace["otherData"].get("shown", []))
    processes = {
        event["pid"]
        for event in trace["traceEvents"]
        if event.get("name") == "process_name" and event["args"]["name"] in shown
    }
    return trace | {"traceEvents": [e for e in trace["traceEvents"] if e.get("pid") in processes]}
