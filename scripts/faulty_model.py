#!/usr/bin/env python3
"""A model that follows a scenario, on the wires of OpenAI and Anthropic over HTTP, and fails as it is told.

    faulty_model.py SCENARIO.json [--port N] [--fence] [--value NAME=VALUE]…     serves it until it is interrupted

A scenario is a JSON object; {{NAME}} in it stands for a value.

    prompt    what the person asks
    skills    {name: {path: text}}, for whoever prepares the library
    turns     what the model answers, in order; the number of its answers in the conversation decides which is next
    repeats   true where the last turn is said for ever; {n} in its calls is the number of the answer
    reply     what the person is told in the end

    turn      {text, times, calls, stop, is_interleaved, faults, expect}
    calls     [{tool, params}], or [{tool, arguments}] with the arguments as a text; all in `action` blocks with --fence
    stop      `length` where a limit of length ends the answer; else by the calls
    faults    of the first requests for this turn, one each; `none` answers
    expect    {system, prompt, tools, answer, last}: texts that the request must hold, or with `not_` must not; `answer`
              is the model's last answer as it is told again, `last` what came after it, such as results of tools

The faults:

    429[:SECONDS] 500 503 529 404 401 400 413   an error whose body repeats the key; 429 has a Retry-After (1)
    reset, close          the connection is reset, or closed, before the answer
    reset-middle          reset in the middle
    stall, stall-start, stall-middle            nothing more comes: at all, after the headers, after half
    pings                 signs of life for ever, but no answer
    slow                  each piece a tenth of a second after the last one
    truncated             closed in the middle of a chunk
    cut                   half the pieces, then a proper end of the response
    no-end, no-ends       the last event is missing, or all that say that the answer is over
    bytes                 each byte is a chunk, so that characters come in parts
    error-event           an error after half the answer, in a response with status 200
    garbage               an event in the middle that isn't JSON
    html                  a page of a proxy, with status 200
    empty                 an answer without anything in it

The server is as strict as the real ones about calls without results and the like. It listens on loopback only.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import select
import socket
import struct
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scripted_wires import WIRES, Call, Json, Reply, Sent

SCENARIOS = Path(__file__).resolve().parent / "scenarios"
# The longest request, in bytes, and the longest that a stall takes, in seconds.
MAX_REQUEST, MAX_STALL = 64 << 20, 60.0
ERRORS = {
    "400": ("invalid_request_error", "This model's maximum context length is 8192 tokens, but the prompt is too long: 90210 tokens."),
    "401": ("authentication_error", "Incorrect API key provided: {key}."),
    "404": ("not_found_error", "The model `{model}` does not exist or you do not have access to it."),
    "413": ("request_too_large", "Request exceeds the maximum size."),
    "429": ("rate_limit_error", "Rate limit reached for the key {key}."),
    "500": ("api_error", "Internal server error at {key}."),
    "503": ("overloaded_error", "The engine is currently overloaded, {key}."),
    "529": ("overloaded_error", "Overloaded, {key}."),
}
FAULTS = [
    *ERRORS, "reset", "close", "reset-middle", "stall", "stall-start", "stall-middle", "pings", "slow", "truncated", "cut",
    "no-end", "no-ends", "bytes", "error-event", "garbage", "html", "empty",
]  # fmt: skip


@dataclass
class Turn:
    """What the model answers once."""

    text: str = ""
    times: int = 1
    calls: list[Json] = field(default_factory=list)
    stop: str = ""
    is_interleaved: bool = False
    faults: list[str] = field(default_factory=list)
    expect: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if unknown := [fault for fault in self.faults if fault.split(":")[0] not in [*FAULTS, "none"]]:
            raise ValueError(f"there is no fault {unknown[0]!r}")
        if unknown := {name.removeprefix("not_") for name in self.expect} - {"system", "prompt", "tools", "answer", "last"}:
            raise ValueError(f"there is nothing called {unknown} in a request")

    def reply(self, number: int, is_fenced: bool) -> Reply:
        calls = []
        for call in self.calls:
            written = call["arguments"] if "arguments" in call else json.dumps(call.get("params", {}), ensure_ascii=False)
            calls.append(Call(call["tool"], written.replace("{n}", str(number))))
        text = self.text * self.times
        if is_fenced and calls:
            blocks = ['```action\n{"tool": %s, "params": %s}\n```' % (json.dumps(call.tool), call.arguments) for call in calls]
            return Reply("\n".join([text, *blocks] if text else blocks), [], self.stop or "end")
        return Reply(text, calls, self.stop or ("calls" if calls else "end"), self.is_interleaved)


@dataclass
class Scenario:
    """A conversation from the model's side."""

    turns: list[Turn]
    prompt: str = "Hello!"
    skills: dict[str, dict[str, str]] = field(default_factory=dict)
    repeats: bool = False
    reply: str = ""

    @classmethod
    def load(cls, path: Path, **values: str) -> Scenario:
        text = path.read_text()
        for name, value in values.items():
            text = text.replace("{{%s}}" % name, json.dumps(value)[1:-1])
        if "{{" in text:
            raise ValueError(f"{path.name}: no value is given for {text.split('{{')[1].split('}}')[0]}")
        data = json.loads(text)
        return cls(**{**data, "turns": [Turn(**turn) for turn in data["turns"]]})


@dataclass
class Request:
    """A request that the model got, and what happened with it."""

    wire: str
    body: Json
    key: str
    sent: Sent
    fault: str
    at: float
    # The time after its last piece.
    ended: float = 0.0
    # True once an answer went out whole.
    is_answered: bool = False


@dataclass
class Run:
    """A scenario at an address of its own, with its requests and the expectations that weren't met."""

    url: str
    scenario: Scenario
    is_fenced: bool = False
    requests: list[Request] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    seen: Counter[int] = field(default_factory=Counter)
    lock: Any = field(default_factory=threading.Lock)

    def decide(self, sent: Sent) -> tuple[str, Reply]:
        """The fault of a request, and the answer."""
        scenario, at = self.scenario, sent.answers
        if at >= len(scenario.turns) and not scenario.repeats:
            self.problems.append(f"the model is asked again after {at} answers")
            return "none", Reply("The scenario is over.")
        turn = scenario.turns[min(at, len(scenario.turns) - 1)]
        held = {name: getattr(sent, name.removeprefix("not_")) for name in turn.expect}
        for name, wanted in turn.expect.items():
            for text in wanted:
                if (text in held[name]) == name.startswith("not_"):
                    self.problems.append(f"answer {at + 1}: {text!r} is {'' if text in held[name] else 'not '}in {name}: {held[name][-300:]!r}")
        self.seen[at] += 1
        fault = turn.faults[self.seen[at] - 1] if self.seen[at] <= len(turn.faults) else "none"
        return fault, turn.reply(at + 1, self.is_fenced)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    model: FaultyModel

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.answer(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})

    def do_POST(self) -> None:
        arrived = time.monotonic()
        data = self.rfile.read(min(int(self.headers.get("content-length") or 0), MAX_REQUEST))
        path = urlsplit(self.path).path
        wire = next((wire for wire in WIRES if path.endswith(wire.path)), None)
        run = self.model.runs.get(path.removesuffix(wire.path)) if wire else None
        if wire is None or run is None:
            self.answer(404, {"error": {"message": f"no such path: {path}", "type": "not_found_error"}})
            return
        key, body, sent = wire.key(self.headers), {}, Sent()
        try:
            body = json.loads(data)
            sent = wire.read(body)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            sent.problem = f"the request can't be read: {error!r}"
        with run.lock:
            fault, reply = ("none", Reply()) if sent.problem else run.decide(sent)
            request = Request(wire.name, body, key, sent, fault, arrived)
            run.requests.append(request)
            number = len(run.requests)
            if sent.problem:
                run.problems.append(f"the provider would refuse request {number}: {sent.problem}")
        try:
            if sent.problem:
                self.answer(400, wire.error("invalid_request_error", sent.problem))
            else:
                self.play(wire, request, number, reply)
        except OSError:
            self.close_connection = True

    def answer(self, status: int, data: Json, **headers: str) -> None:
        self.body(status, "application/json", json.dumps(data).encode(), headers)

    def body(self, status: int, media: str, data: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": media, "content-length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def play(self, wire: Any, request: Request, number: int, reply: Reply) -> None:
        """Answers, with the fault of the request."""
        body, (fault, _, given) = request.body, request.fault.partition(":")
        if fault in ERRORS:
            kind, message = ERRORS[fault]
            headers = {"retry-after": given or "1"} if fault == "429" or given else {}
            self.answer(int(fault), wire.error(kind, message.format(key=request.key, model=body.get("model"))), **headers)
            return
        if fault == "html":
            self.body(200, "text/html", b"<!doctype html><title>Sign in</title><p>Sign in to the network first.", {})
            return
        if fault in ("reset", "close", "stall"):
            self.leave(fault)
            return
        reply = Reply() if fault == "empty" else reply
        if is_stream := bool(body.get("stream")):
            pieces, ends = wire.pieces(number, body, reply), wire.ends
        else:
            data = json.dumps(wire.whole(number, body, reply), ensure_ascii=False).encode()
            pieces, ends = [data[at : at + 64] for at in range(0, len(data), 64)], 1
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8" if is_stream else "application/json")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        # The half of what comes before the end, and at least the first piece.
        half = max(1, (len(pieces) - ends + 1) // 2)
        if fault in ("stall-start", "pings"):
            started = time.monotonic()
            while fault == "pings" and not self.is_left(0.2) and time.monotonic() - started < MAX_STALL:
                self.chunk(b": ping\n\n" if is_stream else b" ")
            self.leave("stall")
            return
        if fault in ("reset-middle", "stall-middle", "truncated", "cut", "error-event", "garbage"):
            for piece in pieces[:half]:
                self.chunk(piece)
            # What was sent is read before a reset takes it away.
            time.sleep(0.05)
            if fault == "truncated":
                self.wfile.write(b"%x\r\n" % len(pieces[half]) + pieces[half][: len(pieces[half]) // 2])
            if fault in ("reset-middle", "stall-middle", "truncated"):
                self.leave(fault.removesuffix("-middle"))
                return
            if fault in ("error-event", "garbage"):
                self.chunk(wire.error_piece() if fault == "error-event" else b'data: {"choices": [{"delta": oops\n\n')
            pieces = pieces[half:] if fault == "garbage" else []
        elif fault in ("no-end", "no-ends"):
            pieces = pieces[: -1 if fault == "no-end" else -ends]
        for at, piece in enumerate(pieces):
            if fault == "slow":
                time.sleep(0.1)
            # A client may leave as soon as it has the last piece.
            request.is_answered = at == len(pieces) - 1 and fault in ("none", "slow", "bytes")
            for part in [bytes([byte]) for byte in piece] if fault == "bytes" else [piece]:
                self.chunk(part)
        self.wfile.write(b"0\r\n\r\n")
        request.ended = time.monotonic()

    def chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def leave(self, how: str) -> None:
        """Ends the connection: after a stall, by a reset, or else by closing it."""
        self.close_connection = True
        if how == "stall":
            started = time.monotonic()
            while not self.is_left(0.1) and time.monotonic() - started < MAX_STALL:
                pass
        elif how == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            os.close(self.connection.detach())

    def is_left(self, seconds: float) -> bool:
        """Waits; true if the client closed the connection, or the server ends."""
        if select.select([self.connection], [], [], seconds)[0]:
            try:
                return not self.connection.recv(1, socket.MSG_PEEK)
            except OSError:
                return True
        return self.model.is_over.is_set()


class FaultyModel(ThreadingHTTPServer):
    """The server, for the length of a `with` block."""

    daemon_threads, request_queue_size, block_on_close = True, 512, False

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), type("Bound", (Handler,), {"model": self}))
        self.runs: dict[str, Run] = {}
        self.numbers, self.is_over = itertools.count(1), threading.Event()

    def __enter__(self) -> FaultyModel:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, *_: object) -> None:
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(*_)

    def add(self, scenario: Scenario, is_fenced: bool = False, at: str | None = None) -> Run:
        """A scenario at an address of its own: the base of Anthropic's, and with `/v1` of OpenAI's."""
        prefix = f"/{next(self.numbers)}" if at is None else at
        self.runs[prefix] = Run(f"http://127.0.0.1:{self.server_address[1]}{prefix}", scenario, is_fenced)
        return self.runs[prefix]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--fence", action="store_true", help="make calls in `action` blocks")
    parser.add_argument("--value", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args()
    scenario = Scenario.load(options.scenario, **dict(value.split("=", 1) for value in options.value))
    with FaultyModel(options.port) as model:
        run = model.add(scenario, options.fence, "")
        print(f"OPENAI_BASE_URL={run.url}/v1\nANTHROPIC_BASE_URL={run.url}", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass
    print(f"{len(run.requests)} requests", *run.problems, sep="\n")
    return 1 if run.problems else 0


if __name__ == "__main__":
    sys.exit(main())
