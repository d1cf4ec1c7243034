"""Sends something to an address that the user named. Nothing else here uses the network."""

import time
import urllib.error
import urllib.request
from http.client import HTTPException, HTTPMessage
from typing import IO
from urllib.parse import urlsplit

from gpubench_reports import __version__
from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import reason

_SECONDS = 10.0  # that one answer may take
_WAITS = (1.0, 3.0)  # before another try [s]
_LATER = {429, 500, 502, 503, 504}  # answers that may change


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirected POST would become a GET, and say nothing to anybody."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> None:
        return None


def is_url(text: str) -> bool:
    """Whether `send` can send to this address."""
    try:
        parts = urlsplit(text)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a bad port, or half of an IPv6 address
        return False
    return known and text.isascii() and text.isprintable() and " " not in text


def send(url: str, body: bytes, content_type: str, method: str = "POST") -> None:
    """Sends `body`; tries again if the other side is out of breath. Raises ReportError, which names
    the host alone: the rest of a webhook's address is a secret."""
    request = urllib.request.Request(url, body, method=method)
    request.add_header("Content-Type", content_type)
    request.add_header("User-Agent", f"gpubench-nightly/{__version__}")
    opener = urllib.request.build_opener(_NoRedirect)
    for wait in (*_WAITS, None):
        try:
            with opener.open(request, timeout=_SECONDS):
                return
        except urllib.error.HTTPError as error:
            problem, final = f"answered {error.code} {error.reason}", error.code not in _LATER
            error.close()
        except (OSError, HTTPException) as error:
            inner = getattr(error, "reason", error)
            why = reason(inner) if isinstance(inner, OSError) else inner
            problem, final = f"cannot be reached: {why}", False
        if final or wait is None:
            raise ReportError(urlsplit(url).hostname, problem) from None
        time.sleep(wait)
