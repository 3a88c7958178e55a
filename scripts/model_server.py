"""A model that follows a script, on the wires that command lines speak: it records every request."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from model_wires import WIRES, Action, Turn

# No request of a client is longer, in bytes.
MOST = 64 << 20


@dataclass
class Exchange:
    """A request to the model, and its answer; `turn` is None where it is no model's to answer."""

    path: str
    body: dict[str, Any]
    turn: Turn | None
    action: Action | None = None


@dataclass
class ModelServer:
    """A server on loopback for the length of a `with` block; `script` decides what the model says."""

    script: Callable[[Turn], Action]
    exchanges: list[Exchange] = field(default_factory=list)

    def __enter__(self) -> ModelServer:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                owner.exchanges.append(Exchange(self.path, {}, None))
                self.answer("application/json", json.dumps({"data": [], "models": []}))

            def do_HEAD(self) -> None:
                self.do_GET()

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                if length > MOST:
                    self.send_error(413)
                    return
                try:
                    body = json.loads(self.rfile.read(length) or b"{}")
                except ValueError:
                    body = {}
                self.answer(*owner.answer(self.path, body if isinstance(body, dict) else {}))

            def answer(self, media: str, text: str, code: int = 200) -> None:
                sent = text.encode()
                self.send_response(code)
                self.send_header("content-type", media)
                self.send_header("content-length", str(len(sent)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(sent)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def answer(self, path: str, body: dict[str, Any]) -> tuple[str, str]:
        """Records a request, and answers it by the script."""
        for wire in WIRES:
            if turn := wire.read(path, body):
                action = self.script(turn)
                self.exchanges.append(Exchange(path, body, turn, action))
                return wire.write(path, body, action)
        self.exchanges.append(Exchange(path, body, None))
        return "application/json", json.dumps({"totalTokens": 1, "input_tokens": 1})
