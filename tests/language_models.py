"""A server on loopback that speaks as OpenAI, Anthropic and Ollama do, follows a script, and misbehaves if told to."""

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Says:
    """A reply in the service's own form: `text` is what the model says, `stop` why it stopped, by OpenAI's names."""

    text: str | None
    stop: str = "stop"
    thinking: str = ""
    refusal: str | None = None
    usage: bool = True


@dataclass(frozen=True)
class Fails:
    """An HTTP status with a body, after `wait` seconds; status 0 closes the connection in the middle of the reply."""

    status: int
    body: Any = field(default_factory=lambda: {"error": {"message": "try again"}})
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0


class Service(ThreadingHTTPServer):
    """`script` is used up one entry a request; afterwards, or instead, `always` counts."""

    daemon_threads = True

    def __init__(self, script: list[Any], always: Any = None, refuses: dict[str, Any] | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Endpoint)
        self.script = list(script)
        self.always = always
        # Parameters this service does not take, with the body of its 400.
        self.refuses = refuses or {}
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.broken: list[BaseException | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: Any) -> None:
        """Keeps what was wrong with a request; quiet about clients that went away."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            self.broken.append(error)


class Endpoint(BaseHTTPRequestHandler):
    server: Service

    def do_GET(self) -> None:
        assert self.path == "/api/tags"
        self.answer(200, {"models": [{"model": "one"}, {"model": "two"}]})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(asked)
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        for name, body in self.server.refuses.items():
            if self.holds(asked, name):
                return self.answer(400, body)
        reply = self.server.script.pop(0) if self.server.script else self.server.always
        assert reply is not None, "the script has ended"
        if isinstance(reply, Fails):
            time.sleep(reply.wait)
            return (
                self.break_off()
                if reply.status == 0
                else self.answer(reply.status, reply.body, reply.headers)
            )
        said = Says(reply) if isinstance(reply, str) else reply
        return self.answer(200, FORMS[self.path](asked, said) if isinstance(said, Says) else said)

    @staticmethod
    def holds(asked: dict[str, Any], name: str) -> bool:
        """Whether the request has the parameter at the dotted `name`; "a=b" wants the value b too."""
        path, _, value = name.partition("=")
        held: Any = asked
        for step in path.split("."):
            held = held.get(step) if isinstance(held, dict) else None
        return held is not None and (not value or held == value)

    def break_off(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b'{"id": "x", "choices": [')
        self.wfile.flush()
        self.close_connection = True

    def answer(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        sent = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        given = {
            "Content-Type": "application/json",
            "retry-after-ms": "1",
            "Connection": "close",
            **(headers or {}),
        }
        for name, value in {**given, "Content-Length": str(len(sent))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: object) -> None:
        """Quiet."""


def _openai(asked: dict[str, Any], said: Says) -> dict[str, Any]:
    assert asked["messages"][-1]["role"] == "user"
    shape = asked.get("response_format") or {}
    if shape.get("type") == "json_object":
        assert any("JSON" in message["content"] for message in asked["messages"]), (
            "OpenAI insists on the word"
        )
    if shape.get("type") == "json_schema":
        assert {"name", "schema", "strict"} <= set(shape["json_schema"])
    message = {"role": "assistant", "content": said.text, "refusal": said.refusal}
    if said.thinking:
        message["reasoning_content"] = said.thinking
    reply = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": f"{asked['model']}-2026",
        "choices": [{"index": 0, "message": message, "finish_reason": said.stop, "logprobs": None}],
    }
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    return {**reply, "usage": usage} if said.usage else reply


def _anthropic(asked: dict[str, Any], said: Says) -> dict[str, Any]:
    assert asked["max_tokens"] > 0
    stops = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
    thoughts = [{"type": "thinking", "thinking": said.thinking, "signature": "s"}] if said.thinking else []
    text = said.refusal or said.text
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": f"{asked['model']}-2026",
        "content": [*thoughts, *([{"type": "text", "text": text}] if text is not None else [])],
        "stop_reason": "refusal" if said.refusal else stops[said.stop],
        "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 7},
    }


def _ollama(asked: dict[str, Any], said: Says) -> dict[str, Any]:
    assert asked["stream"] is False
    message = {"role": "assistant", "content": said.text or "", "thinking": said.thinking}
    counts = {"prompt_eval_count": 11, "eval_count": 7} if said.usage else {}
    about = {"model": f"{asked['model']}-2026", "created_at": "2026-01-01T00:00:00Z", "done": True}
    return {**about, "message": message, "done_reason": said.stop, **counts}


FORMS = {"/v1/chat/completions": _openai, "/v1/messages": _anthropic, "/api/chat": _ollama}


@contextmanager
def served(script: list[Any], always: Any = None, refuses: dict[str, Any] | None = None) -> Iterator[Service]:
    """A Service that runs as long as the block."""
    server = Service(script, always, refuses)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert not server.broken, server.broken
