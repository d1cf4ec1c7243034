"""Nothing from a file becomes part of the page's own code."""

import html
import json

from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpubench_reports.pages.html import markup
from gpubench_reports.pages.html.build import build as build_page
from gpubench_reports.results.reader import read

from .factory import (
    make_document,
    make_row,
)
from .html_pages import EVIL, Elements


def check_harmless(page: str, evil: str) -> None:
    """Only the page's own script runs, and nothing points outside."""
    parsed = Elements(page)
    scripts = parsed.of("script")
    assert [script.get("type") for script in scripts] == ["application/json", None]
    for name, attributes in parsed.elements:
        assert name not in ("iframe", "object", "embed", "link", "base", "form")
        for key, value in attributes.items():
            assert not key.startswith("on"), (name, key)
            if key in ("href", "src", "action", "xlink:href"):
                assert (value or "").startswith(("#", "data:image/png;base64,")), (key, value)
    policy = parsed.of("meta")[1]["content"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")


@settings(max_examples=2)
@given(st.text(min_size=1, max_size=40))
@example(EVIL)
@example("]]>{{7*7}}`${alert(1)}`\u202e\x00\ud800")
def test_nothing_from_a_file_becomes_markup(tmp_path_factory, evil):
    evil_text = evil.encode("utf-8", "replace").decode()
    rows = [
        make_row(f"c/k/n:{n}")
        | {
            "concept": evil_text,
            "kernel": evil_text,
            "label": evil_text,
            "rule": evil_text,
            "note": evil_text,
            "assuming": evil_text,
            evil_text + "_own": 3,
            "arguments": {evil_text: n},
        }
        for n in (1, 2)
    ]
    rows.append(make_row("c/k/n:3") | {"skipped": True, "skip_reason": evil_text})
    document = make_document(
        rows,
        device=evil_text,
        device_title=evil_text,
        driver_version=evil_text,
        git_commit=evil_text,
        mode=evil_text,
        compiler=evil_text,
    )
    path = tmp_path_factory.mktemp("evil") / "run.json"
    path.write_text(json.dumps(document))
    page = build_page(read(path)).decode()
    check_harmless(page, evil_text)


@given(st.text(max_size=60))
def test_text_comes_out_of_markup_as_it_went_in(text):
    element = markup.tag("p", text, title=text)
    parsed = Elements(str(element))
    assert [name for name, _ in parsed.elements] == ["p"]
    assert html.unescape(str(markup.text(text))) == text


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(max_size=30) | st.integers(),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=20), inner, max_size=3)
        ),
    )
)
@example({EVIL: [EVIL, "<!--", "]]>"]})
def test_a_data_block_is_json_and_cannot_be_left(value):
    block = str(markup.data_block("raw", value))
    content = block.partition(">")[2].removesuffix("</script>")
    assert not set("<>&") & set(content)
    assert json.loads(content) == value


def test_a_command_to_copy_is_quoted(write):
    path = write(make_document(), "my run; id.json")
    page = html.unescape(build_page(read(path)).decode())
    assert "gpubench-report html 'my run; id.json' EARLIER.json" in page
