"""Who is told of a night: webhooks and a Pushgateway, on a server that the test runs."""

import html
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from gpubench_reports.nightly.commands.command_line import main
from gpubench_reports.nightly.reporting import posting
from gpubench_reports.nightly.reporting.webhooks import Message, Webhook
from gpubench_reports.nightly.store.store import Store

from .conftest import put_nights
from .nights import ROWS, opened

SECRET = "/services/T0/B0/secret"


@dataclass
class Server:
    """What was sent, and what is answered: the codes one after another, the last one for good."""

    address: str = ""
    codes: list[int] = field(default_factory=lambda: [200])
    seen: list[tuple[str, str, str, bytes]] = field(default_factory=list)  # method, path, type

    @property
    def documents(self) -> list[Any]:
        return [json.loads(body) for _, _, _, body in self.seen]

    def webhook(self, kind: str) -> str:
        return f"{kind}:{self.address}{SECRET}"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    found = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.seen.append((self.command, self.path, self.headers["Content-Type"], body))
            code = found.codes.pop(0) if len(found.codes) > 1 else found.codes[0]
            self.send_response(code)
            if code == 302:
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_PUT = do_GET = do_POST  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    monkeypatch.setattr(posting, "_WAITS", (0.0, 0.0))
    monkeypatch.setenv("no_proxy", "*")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        found.address = f"http://127.0.0.1:{http.server_address[1]}"
        threading.Thread(target=http.serve_forever, daemon=True).start()
        yield found
        http.shutdown()


def notify(store: Store, webhook: str) -> int:
    return main(["notify", f"--store={store.root}", webhook])


def test_slack_is_told_what_is_open(regressed: Store, server: Server, capsys) -> None:
    assert notify(regressed, server.webhook("slack")) == 0
    ((method, path, kind, _),) = server.seen
    assert (method, path) == ("POST", SECRET)
    assert kind.startswith("application/json")
    (document,) = server.documents
    assert document["text"] == "gpubench: regression on lab"
    header, section = document["blocks"]
    assert header == {
        "type": "header",
        "text": {"type": "plain_text", "text": "gpubench: regression on lab"},
    }
    assert "REGRESSION: 1" in section["text"]["text"]
    assert "120.0" in section["text"]["text"]
    assert "-&gt;" in section["text"]["text"]
    assert capsys.readouterr().out == "told: gpubench: regression on lab\n"


def test_teams_is_sent_an_adaptive_card(regressed: Store, server: Server) -> None:
    assert notify(regressed, server.webhook("teams")) == 0
    (attachment,) = server.documents[0]["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    card = attachment["content"]
    assert (card["type"], card["version"]) == ("AdaptiveCard", "1.4")
    runs = [run for block in card["body"] for run in block["inlines"]]
    assert runs[0]["text"] == "gpubench: regression on lab"
    assert any("+20.0 %  a/b/n:1" in run["text"] for run in runs)
    # Teams reads a TextBlock as Markdown, of which a row's name could make a link.
    assert {block["type"] for block in card["body"]} == {"RichTextBlock"}
    assert {run["type"] for run in runs} == {"TextRun"}


def test_programs_are_sent_what_status_json_prints(
    regressed: Store, server: Server, capsys
) -> None:
    assert main(["status", "--json", f"--store={regressed.root}"]) == 1
    shown = json.loads(capsys.readouterr().out)
    assert notify(regressed, server.webhook("json")) == 0
    sent = server.documents[0]
    assert sent["title"] == "gpubench: regression on lab"
    assert {key: sent[key] for key in shown} == shown
    (machine,) = shown["machines"]
    assert (machine["machine"], machine["night"], machine["exit_code"]) == ("lab", 14, 1)
    (series,) = machine["regressions"]
    assert (series["benchmark"], series["first_night"]) == ("a/b/n:1", 13)
    assert series["ratio"] == pytest.approx(1.2)
    assert series["level_seconds"] == pytest.approx(1.2e-4)
    assert series["reason"] is None


@pytest.mark.parametrize("kind", ["slack", "teams", "json"])
def test_a_message_of_any_length_fits(kind: str, server: Server) -> None:
    """Slack takes 3000 characters in a section, Teams 28 KB."""
    lines = tuple(f"&&&{'𝜇&' * 1000}``` {n}" for n in range(500))
    Webhook.parse(server.webhook(kind)).post(Message("t" * 500, lines, {"exit_code": 1}))
    ((_, _, _, body),) = server.seen
    if kind == "slack":
        header, section = server.documents[0]["blocks"]
        assert len(header["text"]["text"]) <= 150
        assert len(section["text"]["text"]) <= 3000
        assert html.unescape(section["text"]["text"]).count("&") == section["text"]["text"].count(
            ";"
        )
    if kind == "teams":
        assert len(body) < 28_000
        last = server.documents[0]["attachments"][0]["content"]["body"][-1]
        assert last["inlines"][0]["text"] == "and 470 more lines"


def test_a_night_tells_of_trouble_and_on_request_of_quiet(
    run, fake, server: Server, tmp_path: Path
) -> None:
    where = f"--webhook={server.webhook('json')}"
    assert run(fake(rows=ROWS), where)[0] == 0
    assert server.seen == []
    assert run(fake(rows=ROWS), where, "--webhook-always")[0] == 0
    assert server.documents[-1]["title"] == "gpubench: nothing open on lab"
    left = {name: seconds for name, seconds in ROWS.items() if name != "gather/n:4"}
    assert run(fake(rows=left, failed={"gather/n:4": "wrong sum"}), where)[0] == 2
    assert server.documents[-1]["title"] == "gpubench: could not judge on lab"
    # A night that never was is the one that nobody would hear of.
    assert run(fake(rows=ROWS, gpu=False), where)[0] == 2
    told = server.documents[-1]
    assert told["title"].startswith("gpubench: no night on ")
    assert "there is no such GPU here" in told["problem"]
    assert told["exit_code"] == 2
    assert len(server.seen) == 3


def test_an_internal_error_is_told_as_one(run, fake, server: Server, monkeypatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("units")

    monkeypatch.setattr("gpubench_reports.nightly.nights.running.NightRun.run", fail)
    assert run(fake(rows=ROWS), f"--webhook={server.webhook('json')}")[0] == 3
    assert server.documents[0]["problem"] == "internal error: KeyError: 'units'"
    assert server.documents[0]["exit_code"] == 3


def test_who_cannot_be_told_changes_no_verdict(run, fake, server: Server) -> None:
    server.codes = [404]
    flags = [f"--webhook={server.webhook('slack')}", "--webhook-always"]
    code, out, err = run(fake(rows=ROWS), *flags, f"--pushgateway={server.address}")
    assert code == 0
    assert "OK: nothing open" in out
    assert err.count("nightly: not told: 127.0.0.1: answered 404 Not Found\n") == 2
    assert len(server.seen) == 2  # what is refused is not tried again


def test_what_does_not_arrive_is_one_line_without_the_secret(
    store: Store, server: Server, capsys
) -> None:
    put_nights(store, 1)
    for code, tries in ((500, 3), (302, 1), (404, 1)):
        server.codes, server.seen = [code], []
        assert notify(store, server.webhook("slack")) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"nightly: 127.0.0.1: answered {code} ")
        assert len(error.splitlines()) == 1
        assert "secret" not in error
        assert [method for method, *_ in server.seen] == ["POST"] * tries
    server.codes, server.seen = [503, 200], []
    assert notify(store, server.webhook("slack")) == 0
    assert len(server.seen) == 2
    assert notify(store, f"slack:http://127.0.0.1:1{SECRET}") == 2
    assert capsys.readouterr().err == "nightly: 127.0.0.1: cannot be reached: Connection refused\n"


@pytest.mark.parametrize(
    ("webhook", "problem"),
    [
        ("irc:http://x/y", "a webhook begins with slack, teams, json and a colon"),
        ("slack:ftp://host/secret", "slack: takes an address"),
        ("slack:https://host:99999/secret", "slack: takes an address"),
        ("slack:https://ho st/secret", "slack: takes an address"),
        ("slack:file:///etc/secret", "slack: takes an address"),
        ("slack:@/no/such/file", "/no/such/file: No such file"),
    ],
)
def test_a_mistaken_webhook_is_refused_before_anything_runs(
    webhook: str, problem: str, tmp_path: Path, capsys
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["run", f"--store={tmp_path / 's'}", f"--webhook={webhook}"])
    error = capsys.readouterr().err
    assert problem in error
    assert "secret" not in error
    assert not (tmp_path / "s").exists()


def test_an_address_may_be_in_a_file(store: Store, server: Server, tmp_path: Path) -> None:
    put_nights(store, 1)
    (tmp_path / "url").write_text(f"{server.address}{SECRET}\n")
    assert notify(store, f"slack:@{tmp_path / 'url'}") == 0
    assert server.seen[0][1] == SECRET


def test_a_pushgateway_gets_each_machine_as_its_group(store: Store, server: Server, capsys) -> None:
    put_nights(store, 1)
    put_nights(store, 2, machine="other+1")
    arguments = ["export", "pushgateway", f"{server.address}/", f"--store={store.root}"]
    assert main(arguments) == 0
    assert capsys.readouterr().out == "pushed: lab\npushed: other+1\n"
    assert [(method, path) for method, path, *_ in server.seen] == [
        ("PUT", "/metrics/job/gpubench/machine/lab"),
        ("PUT", "/metrics/job/gpubench/machine/other%2B1"),
    ]
    first, second = (body.decode() for *_, body in server.seen)
    assert 'gpubench_night{machine="lab"} 1\n' in first
    assert "other" not in first
    assert 'gpubench_night{machine="other+1"} 2\n' in second
    assert 'machine="lab"' not in second
    assert main(["export", "pushgateway", "metrics.txt", f"--store={store.root}"]) == 2
    assert "metrics.txt: is no address like http://host:9091" in capsys.readouterr().err


def test_a_night_pushes_its_metrics(run, fake, server: Server) -> None:
    assert run(fake(rows=ROWS), f"--pushgateway={server.address}")[0] == 0
    ((method, path, kind, body),) = server.seen
    assert (method, path) == ("PUT", "/metrics/job/gpubench/machine/lab")
    assert kind.startswith("text/plain; version=0.0.4")
    assert b'benchmark="gather/n:4"} 0.0003\n' in body


def test_learning_measures_until_there_are_enough_nights(fake, tmp_path: Path, capsys) -> None:
    program = fake(rows=ROWS, noise=0.001)
    learn = [
        "learn",
        f"--store={tmp_path / 'nights'}",
        f"--program={program}",
        "--machine=lab",
        "--processes=3",
    ]
    assert main([*learn, "--nights=2"]) == 0
    captured = capsys.readouterr()
    assert "learning: 0 of 2 nights" in captured.err
    assert "lab, night 2 of " in captured.out
    # It goes on where it was stopped, and does not begin what is done.
    assert main([*learn, "--nights=3"]) == 0
    assert main([*learn, "--nights=3"]) == 0
    nights = opened(tmp_path).nights("lab")
    assert [night.has("verdict.json") for night in nights] == [True] * 3


def test_learning_ends_with_a_night_that_is_not_valid(run, fake, tmp_path: Path, capsys) -> None:
    program = fake(rows=ROWS, counters={"throttled": 1})
    arguments = [f"--store={tmp_path / 'nights'}", f"--program={program}", "--machine=lab"]
    assert main(["learn", *arguments, "--processes=3"]) == 2
    assert "lab: the last night was not valid: nightly status says why" in capsys.readouterr().err
    assert len(opened(tmp_path).nights("lab")) == 1
