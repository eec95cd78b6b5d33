"""A service on loopback: JSON over HTTP, with faults by chance if wished, that can be stopped and started with its data."""

import json
import random
import socket
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

# What can go wrong with a request: refused, failed, lost before it was heard, or done with the answer lost.
FAULTS = (429, 500, "unheard", "unanswered")


class Refused(Exception):
    """An answer other than 200."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: dict[str, list[str]]
    headers: Mapping[str, str]
    raw: bytes
    target: str

    @cached_property
    def body(self) -> Any:
        return json.loads(self.raw) if self.raw else {}


class Loopback:
    """Override `answer`. failing: the share of requests that go wrong, by `seed`; only those whose path holds `on`."""

    def __init__(self, *, failing: float = 0, seed: int = 0, on: str = "") -> None:
        self.failing, self.on = failing, on
        self.asked: list[Request] = []
        self.broken: list[BaseException] = []
        self._chance = random.Random(seed)
        self._one_at_a_time = threading.Lock()
        self._port = 0
        self._server: _Server | None = None

    def answer(self, request: Request) -> tuple[Any, dict[str, str]]:
        """What is sent as JSON, and headers; runs for one request at a time."""
        raise NotImplementedError

    def refusal(self, status: int, message: str) -> Any:
        """The body of an answer that says no."""
        raise NotImplementedError

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """At the same port each time."""
        self._server = _Server(("127.0.0.1", self._port), _Endpoint, self)
        self._port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        """As if it were killed: connections end where they are."""
        if self._server is not None:
            self._server.shutdown()
            self._server.end_connections()
            self._server.server_close()
            self._server = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        assert not self.broken, self.broken

    def serve(self, request: Request) -> tuple[int, Any, dict[str, str]] | None:
        """Status, body and headers; None to break the connection off."""
        with self._one_at_a_time:
            self.asked.append(request)
            fault = None
            if self.on in request.path and self._chance.random() < self.failing:
                fault = self._chance.choice(FAULTS)
            if isinstance(fault, int):
                return fault, self.refusal(fault, "try again"), {"Retry-After": "0.001"}
            if fault == "unheard":
                return None
            try:
                body, headers = self.answer(request)
            except Refused as refused:
                return refused.status, self.refusal(refused.status, str(refused)), {}
            return None if fault else (200, body, headers)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], handler: type, service: Loopback) -> None:
        super().__init__(address, handler)
        self.service = service
        self.open: set[socket.socket] = set()

    def end_connections(self) -> None:
        for connection in list(self.open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def handle_error(self, *_: Any) -> None:
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, OSError):
            self.service.broken.append(error)


class _Endpoint(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def setup(self) -> None:
        super().setup()
        self.server.open.add(self.connection)

    def finish(self) -> None:
        self.server.open.discard(self.connection)
        super().finish()

    def handle_any(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        query = parse_qs(url.query, keep_blank_values=True)
        request = Request(self.command, unquote(url.path), query, headers, raw, self.path)
        answered = self.server.service.serve(request)
        if answered is None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        status, reply, more = answered
        sent = json.dumps(reply).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": len(sent), **more}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(sent)

    do_GET = do_POST = do_PUT = do_DELETE = handle_any

    def log_message(self, *_: object) -> None:
        """Quiet."""
