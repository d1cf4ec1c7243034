"""What a concept's page in docs/ says about its chart, so that the report says the same."""

from functools import cache
from importlib.resources import files

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from gpubench_reports.pages.html.markup import Markup, joined, tag

_TAGS = {
    "paragraph": "p",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    "em": "em",
    "strong": "strong",
    **{name: name for name in ("table", "thead", "tbody", "tr", "th", "td")},
}


@cache
def sections_of(concept: str) -> dict[str, Markup]:
    """The sections of the concept's page by title; none for a concept without a page, such as one
    of another build. Pictures and links, which lead into the repository, stay behind."""
    page = files("gpubench_reports").joinpath("concepts", f"{concept}.md")
    if not page.is_file():
        return {}
    found: dict[str, list[Markup]] = {}
    title = ""
    parser = MarkdownIt().enable("table")
    for node in SyntaxTreeNode(parser.parse(page.read_text(encoding="utf-8"))).children:
        if node.type == "heading":
            title = node.children[0].content if node.tag == "h2" else ""
        elif title:
            found.setdefault(title, []).append(_element(node))
    return {title: joined(parts) for title, parts in found.items()}


def _element(node: SyntaxTreeNode) -> Markup:
    if node.type == "text":
        return joined(node.content)
    if node.type == "softbreak":
        return joined(" ")
    if node.type == "code_inline":
        return tag("code", node.content)
    if node.type in ("image", "html_block"):
        return joined()
    inside = joined([_element(child) for child in node.children])
    if node.type not in _TAGS or not (inside or node.type in ("th", "td")):
        return inside
    element = tag(_TAGS[node.type], inside)
    return tag("div", element, class_="scroll") if node.type == "table" else element
