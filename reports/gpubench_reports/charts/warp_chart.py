"""Draws one warp's requests: which words of which sectors, or which banks, its lanes ask for."""

from collections import defaultdict

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from gpubench_reports.charts import style
from gpubench_reports.results.explanations import BANKS, LANES, Access, Explanation

WORD, SECTOR, LINE = 4, 32, 128  # bytes
MOST_ROWS = 32  # of a panel: lines of 128 bytes, or wavefronts
_CELL = 0.27  # inches
_LEFT, _RIGHT, _TOP, _BOTTOM, _GAP = 1.35, 0.25, 0.4, 0.55, 0.95
_ASKED, _FETCHED, _AT_REST = style.COLOURS[0], "#F3D3BD", "#FFFFFF"


def build(explanation: Explanation) -> Figure | None:
    """A panel per access; None when the warp accesses nothing."""
    if not explanation.accesses:
        return None
    tables = [_wavefronts(a) if a.shared else _lines(a) for a in explanation.accesses]
    depths = [min(len(table), MOST_ROWS) for table in tables]
    width = _LEFT + LANES * _CELL + _RIGHT
    height = _TOP + sum(depth * _CELL + _GAP for depth in depths) + _BOTTOM
    figure = style.new_figure(width, height)
    style.heading(figure, explanation.name, explanation.context)
    top = height - _TOP
    for access, table, depth in zip(explanation.accesses, tables, depths, strict=True):
        top -= _GAP - 0.1
        bottom = top - depth * _CELL
        axes = figure.add_axes(
            (_LEFT / width, bottom / height, LANES * _CELL / width, depth * _CELL / height)
        )
        _panel(axes, access, table, depth)
        top = bottom - 0.1
    block = ",".join(map(str, explanation.block))
    style.footnote(
        figure,
        f"{explanation.kernel}, warp {explanation.warp} of block ({block}): the first request of "
        "each line of source. Numbers are lanes. Of global memory a row is 128 bytes, in words of "
        "4: blue is asked for, orange fetched beside it, as sectors of 32 bytes are. Of shared "
        "memory a row is a wavefront and a column a bank.",
        width=140,
    )
    if explanation.context.modelled:
        style.watermark(figure)
    return figure


# A row's name, and for each of its 32 columns: lanes that ask for it, or None where nothing moves.
Row = tuple[str, list[list[int] | None]]


def _lines(access: Access) -> list[Row]:
    """The 128-byte lines of global memory that the request touches, word by word."""
    lanes_of_word: dict[int, list[int]] = defaultdict(list)
    for lane, offset in sorted(access.lanes.items()):
        for word in range(offset // WORD, (offset + access.bytes - 1) // WORD + 1):
            lanes_of_word[word].append(lane)
    sectors = {word * WORD // SECTOR for word in lanes_of_word}
    words_a_line = LINE // WORD
    rows: list[Row] = []
    for line in sorted({sector * SECTOR // LINE for sector in sectors}):
        words = range(line * words_a_line, (line + 1) * words_a_line)
        cells = [
            lanes_of_word.get(word, []) if word * WORD // SECTOR in sectors else None
            for word in words
        ]
        rows.append((f"byte {line * LINE}", cells))
    return rows


def _wavefronts(access: Access) -> list[Row]:
    return [
        (f"wavefront {number}", [None if lane is None else [lane] for lane in banks])
        for number, banks in enumerate(access.wavefronts, start=1)
    ]


def _panel(axes: Axes, access: Access, table: list[Row], depth: int) -> None:
    axes.set_xlim(0, BANKS)
    axes.set_ylim(depth, 0)
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    for y, (_, cells) in enumerate(table[:depth]):
        for x, lanes in enumerate(cells):
            _cell(axes, x, y, lanes)
    if not access.shared:  # the sectors
        for x in range(0, BANKS + 1, SECTOR // WORD):
            axes.axvline(x, color=style.INK, lw=0.9, clip_on=False)
    axes.tick_params(length=0)
    axes.set_yticks([y + 0.5 for y in range(depth)], [name for name, _ in table[:depth]])
    axes.xaxis.tick_top()
    axes.set_xticks(
        [x + 0.5 for x in range(BANKS)], [str(x) for x in range(BANKS)], size=6.5, color=style.GREY
    )
    unit = "wavefronts" if access.shared else "sectors"
    axes.set_title(
        f"{access.where}: {access.kind} of {access.bytes} B a lane, {access.space}. "
        f"{access.moved:.4g} {unit} per request, ideal {access.ideal:.4g}",
        pad=16,
        gid="access",
    )
    if len(table) > depth:
        axes.text(
            BANKS,
            depth + 0.15,
            f"and {len(table) - depth} more rows",
            ha="right",
            va="top",
            size=7,
            color=style.GREY,
            gid="more",
        )


def _cell(axes: Axes, x: int, y: int, lanes: list[int] | None) -> None:
    colour = _AT_REST if lanes is None else _ASKED if lanes else _FETCHED
    gid = "idle" if lanes is None else "asked" if lanes else "fetched"
    axes.add_patch(
        Rectangle((x, y), 1, 1, facecolor=colour, edgecolor=style.LIGHT, lw=0.6, gid=gid)
    )
    if lanes:
        # A broadcast is told by its first lane and how many more there are.
        text = str(lanes[0]) + (f"+{len(lanes) - 1}" if len(lanes) > 1 else "")
        axes.text(
            x + 0.5,
            y + 0.52,
            text,
            ha="center",
            va="center",
            color="white",
            gid="lane",
            size=7.5 if len(text) < 3 else 5,
        )
