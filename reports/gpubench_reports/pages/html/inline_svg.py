"""A matplotlib figure as SVG that may stand inside an HTML page: letters stay letters, colours
follow the page's theme, ids do not meet those of other figures, and nothing points outside."""

import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

import matplotlib as mpl
from matplotlib.figure import Figure

from gpubench_reports.charts import quick_ticks, style
from gpubench_reports.charts.points import named_points
from gpubench_reports.pages.html.markup import Markup

_SVG = "{http://www.w3.org/2000/svg}"
_XLINK = "{http://www.w3.org/1999/xlink}"
_REFERENCE = re.compile(r"url\(#([^)]*)\)")
_NUMBER = re.compile(r"-?\d+\.\d{2,}")
# Cells and bars with text in them keep their colours, and the text its own, in every theme.
_OWN_COLOURS = ("cell", "lane", "asked", "fetched", "idle")
_BETWEEN = re.compile(r"\s*([A-Za-z])\s*")  # commands of a path need no spaces
_FONT_FAMILY = re.compile(r"font-family:[^;]*;\s*")

# Colours of the charts, and the page's variables that stand for them.
NEUTRAL = {style.INK: "--ink", style.GREY: "--grey", style.LIGHT: "--line", "#ffffff": "--paper"}
LETTERS = {style.darker(colour): f"--letter-{n}" for n, colour in enumerate(style.COLOURS)}
LINES = {colour: f"--series-{n}" for n, colour in enumerate(style.COLOURS)}


# By a row's name: its number in the table, and what is said of it without a script.
Links = Mapping[str, tuple[int, str]]
_REACH = 6  # of a point [points of print]: as far from it the mouse is on it
_OF_CONCEPT = "concept "  # how ids begin of what a concept's rows are drawn with


def to_inline_svg(
    figure: Figure, prefix: str, title: str, description: str, links: Links = MappingProxyType({})
) -> Markup:
    """The figure as an <svg> element, whose points are links to their rows in the table. `prefix`
    must differ between the figures of a page; `title` and `description` are what a screen reader
    says of it."""
    stream = io.BytesIO()
    quick_ticks.draw_in(figure)
    with mpl.rc_context({"svg.fonttype": "none"}):
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    root = ET.fromstring(stream.getvalue())
    for metadata in root.findall(f"{_SVG}metadata"):
        root.remove(metadata)
    for defs in root.findall(f"{_SVG}defs"):
        for sheet in defs.findall(f"{_SVG}style"):
            defs.remove(sheet)  # it would rule the page; report.css has what it says
    used = _references(root)
    _rewrite(root, prefix, used, own=False)
    root.attrib.pop("version", None)
    width, height = (float(root.attrib.pop(n).removesuffix("pt")) for n in ("width", "height"))
    points = _points(figure, width, height, links)
    root.extend(points)
    _describe(root, prefix, title, description, bool(points))
    root.set("style", f"--width: {width * 4 / 3:.0f}px")
    return _text_of(root)


def _text_of(root: ET.Element) -> Markup:
    ET.register_namespace("", "http://www.w3.org/2000/svg")
    ET.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    return Markup(ET.tostring(root, encoding="unicode", short_empty_elements=True))


def _describe(root: ET.Element, prefix: str, title: str, description: str, has_links: bool) -> None:
    """What a screen reader says of the chart. An image hides what is in it, links too."""
    names = f"{prefix}-title {prefix}-text"
    root.attrib |= {"role": "group" if has_links else "img", "aria-labelledby": names}
    for place, (name, words) in enumerate((("title", title), ("desc", description))):
        element = ET.Element(f"{_SVG}{name}", {"id": names.split()[place]})
        element.text = words
        root.insert(place, element)


def _points(figure: Figure, width: float, height: float, links: Links) -> list[ET.Element]:
    """A link over every point that stands for a row of the table. The first of a chart is reached
    by the Tab key, the others from there by arrows."""
    found: list[ET.Element] = []
    has_concepts = any(
        str(line.get_gid()).startswith(_OF_CONCEPT) for axes in figure.axes for line in axes.lines
    )
    for point in named_points(figure):
        if point.name not in links:
            continue
        number, words = links[point.name]
        link = ET.Element(f"{_SVG}a", {"href": f"#row-{number}", "class": "point"})
        if has_concepts:
            link.set("data-of", point.name.partition("/")[0])
        if found:
            link.set("tabindex", "-1")
        place = {"cx": f"{point.x * width:.1f}", "cy": f"{point.y * height:.1f}"}
        circle = ET.SubElement(link, f"{_SVG}circle", place | {"r": str(_REACH)})
        ET.SubElement(circle, f"{_SVG}title").text = words
        found.append(link)
    return found


def png_element(
    figure: Figure,
    prefix: str,
    title: str,
    description: str,
    links: Links = MappingProxyType({}),
    dots_per_inch: int = 80,
) -> Markup:
    """The same with the figure as a picture inside: for charts too large as SVG."""
    import base64

    from PIL import Image

    stream = io.BytesIO()
    quick_ticks.draw_in(figure)
    figure.savefig(stream, format="png", dpi=dots_per_inch, metadata={"Software": None})
    small = io.BytesIO()
    # 64 colours are all that a chart has, and a quarter of the bytes.
    Image.open(stream).convert("RGB").quantize(64).save(small, "PNG", optimize=True)
    data = base64.b64encode(small.getvalue()).decode("ascii")
    width, height = (inches * 72 for inches in figure.get_size_inches())
    size = {"width": f"{width:.0f}", "height": f"{height:.0f}"}
    box = {"viewBox": f"0 0 {size['width']} {size['height']}", "class": "picture"}
    root = ET.Element(f"{_SVG}svg", box | {"style": f"--width: {width * 4 / 3:.0f}px"})
    ET.SubElement(root, f"{_SVG}image", size | {"href": f"data:image/png;base64,{data}"})
    points = _points(figure, width, height, links)
    root.extend(points)
    _describe(root, prefix, title, description, bool(points))
    return _text_of(root)


def _references(root: ET.Element) -> set[str]:
    found = set()
    for element in root.iter():
        for value in element.attrib.values():
            found |= set(_REFERENCE.findall(value))
        link = element.get(f"{_XLINK}href", "")
        if link.startswith("#"):
            found.add(link[1:])
    return found


def _rewrite(element: ET.Element, prefix: str, used: set[str], own: bool) -> None:
    """Ids that are referred to get the prefix, others go; colours become the page's variables."""
    identity = element.attrib.pop("id", None)
    if identity and identity.startswith(_OF_CONCEPT):
        element.set("data-of", identity.removeprefix(_OF_CONCEPT))
    own = own or identity in _OWN_COLOURS or (identity or "").startswith("bar ")
    if identity in used:
        element.set("id", f"{prefix}-{identity}")
    link = element.attrib.pop(f"{_XLINK}href", None)
    if link is not None and link.startswith(("#", "data:image/png;")):
        element.set("href", f"#{prefix}-{link[1:]}" if link.startswith("#") else link)
    is_text = element.tag == f"{_SVG}text"
    for key, value in element.attrib.items():
        if key in ("style", "clip-path"):
            value = _REFERENCE.sub(lambda m: f"url(#{prefix}-{m.group(1)})", value)
        if key == "style" and not own:
            value = _themed(value, is_text)
        if key == "d":
            value = _BETWEEN.sub(r"\1", value)
        if key in ("d", "x", "y", "transform"):
            value = _NUMBER.sub(lambda m: f"{float(m.group()):.1f}", value)
        element.set(key, value)
    if is_text:  # the page's own letters
        element.set("style", _FONT_FAMILY.sub("", element.get("style", "")))
    if element.text and not element.text.strip():
        element.text = None
    for child in element:
        child.tail = None if child.tail and not child.tail.strip() else child.tail
        _rewrite(child, prefix, used, own)


@lru_cache(maxsize=4096)  # a figure has thousands of styles, few of them different
def _themed(value: str, is_text: bool) -> str:
    colours = LETTERS | {c: v for c, v in NEUTRAL.items() if c != "#ffffff"} | LINES
    if not is_text:
        colours = NEUTRAL | LINES | LETTERS
    for colour, variable in colours.items():
        value = re.sub(f"{colour}(?![0-9a-f])", f"var({variable})", value, flags=re.IGNORECASE)
    return value
