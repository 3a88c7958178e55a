"""A provider of sign-ins with short tokens that rotate, an MCP server behind it, and a network that can be cut, for `prove_sign_ins.py`."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import socket
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

ECHO = {
    "name": "echo",
    "description": "Answers its message.",
    "inputSchema": {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]},
}


@dataclass
class Family:
    """The tokens that came from one sign-in. The refresh tokens are in their order; the last one is good."""

    refresh: list[str] = field(default_factory=list)
    # True once a token that came with the last refresh token was used: from then on the one before is void.
    is_received: bool = True
    is_ended: bool = False


class Provider:
    """Tokens live for so many seconds. A refresh token is good once, and its second use ends the family.

    As providers do it, one may be used again as long as nothing that it was exchanged for has been used: the answer may
    have been lost on its way.
    """

    def __init__(self, life: float) -> None:
        self.life = life
        self.counts: Counter[str] = Counter()
        self.lock = threading.Lock()
        self.codes: dict[str, str] = {}
        self.families: list[Family] = []
        # The tokens: their family and their end.
        self.access: dict[str, tuple[Family, float, str]] = {}
        self.server = _Server(("127.0.0.1", 0), _Handler)
        self.server.provider = self
        self.is_cut = False
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def cut(self, is_cut: bool) -> None:
        """Cuts the network, or mends it."""
        self.is_cut = is_cut
        if is_cut:
            self.server.break_all()

    def code(self, challenge: str) -> str:
        """Somebody signs in."""
        with self.lock:
            self.counts["sign-ins"] += 1
            code = secrets.token_hex(8)
            self.codes[code] = challenge
            return code

    def exchange(self, form: dict[str, str]) -> dict[str, Any] | None:
        """Tokens for a code or a refresh token."""
        with self.lock:
            if form.get("grant_type") == "authorization_code":
                challenge = self.codes.pop(form.get("code", ""), "")
                made = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest()).rstrip(b"=")
                if challenge != made.decode():
                    return None
                self.families.append(Family())
                return self._issue(self.families[-1])
            given = form.get("refresh_token", "")
            family = next((family for family in self.families if given in family.refresh), None)
            if family is None:
                self.counts["unknown refresh tokens"] += 1
                return None
            if family.is_ended:
                self.counts["refreshes of an ended family"] += 1
                return None
            is_last = given == family.refresh[-1]
            is_again = len(family.refresh) > 1 and given == family.refresh[-2] and not family.is_received
            if not is_last and not is_again:
                self.counts["families ended by reuse"] += 1
                family.is_ended = True
                return None
            if is_again:
                self.counts["refreshes whose answer was lost"] += 1
                family.refresh.pop()
            self.counts["refreshes"] += 1
            return self._issue(family)

    def _issue(self, family: Family) -> dict[str, Any]:
        access, refresh = secrets.token_hex(16), secrets.token_hex(16)
        family.refresh.append(refresh)
        family.is_received = False
        self.access[access] = (family, time.monotonic() + self.life, refresh)
        return {"access_token": access, "token_type": "Bearer", "expires_in": int(self.life), "refresh_token": refresh, "scope": "mcp"}

    def is_good(self, token: str) -> bool:
        with self.lock:
            family, end, refresh = self.access.get(token, (Family(is_ended=True), 0.0, ""))
            if family.is_ended or time.monotonic() > end:
                self.counts["refused tokens"] += 1
                return False
            if refresh == family.refresh[-1]:
                family.is_received = True
            return True


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    provider: Provider

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.open: set[socket.socket] = set()

    def process_request(self, request: Any, address: Any) -> None:
        if self.provider.is_cut:
            request.close()
            return
        self.open.add(request)
        super().process_request(request, address)

    def shutdown_request(self, request: Any) -> None:
        self.open.discard(request)
        super().shutdown_request(request)

    def break_all(self) -> None:
        for request in list(self.open):
            try:
                request.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # It has just ended.

    def handle_error(self, *_: Any) -> None:
        pass  # A client that is gone, or a cut.


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: Any) -> None:
        pass

    def answer(self, status: int, body: Any = None, **headers: str) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if data:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        provider, path = self.server.provider, urlsplit(self.path)
        if path.path.startswith("/.well-known/oauth-protected-resource"):
            self.answer(200, {"resource": f"{provider.url}/mcp", "authorization_servers": [provider.url], "scopes_supported": ["mcp"]})
        elif path.path.startswith(("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")):
            self.answer(200, {
                "issuer": provider.url,
                "authorization_endpoint": f"{provider.url}/authorize",
                "token_endpoint": f"{provider.url}/token",
                "registration_endpoint": f"{provider.url}/register",
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
            })
        elif path.path == "/authorize":
            asked = {name: values[0] for name, values in parse_qs(path.query).items()}
            code = provider.code(asked["code_challenge"])
            self.answer(302, location=f"{asked['redirect_uri']}?code={code}&state={asked['state']}")
        else:
            self.answer(405)

    def do_POST(self) -> None:
        provider, path = self.server.provider, urlsplit(self.path).path
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if path == "/register":
            asked = json.loads(body)
            self.answer(201, {**asked, "client_id": "client-1", "token_endpoint_auth_method": "none"})
        elif path == "/token":
            form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
            tokens = provider.exchange(form)
            # The network takes its time, so a cut may hit the answer.
            time.sleep(0.02)
            self.answer(200 if tokens else 400, tokens or {"error": "invalid_grant"}, cache_control="no-store")
        elif path == "/mcp":
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            if not provider.is_good(token):
                self.answer(401, www_authenticate=f'Bearer resource_metadata="{provider.url}/.well-known/oauth-protected-resource/mcp"')
                return
            self.mcp(json.loads(body))
        else:
            self.answer(404)

    def do_DELETE(self) -> None:
        self.answer(200)

    def mcp(self, message: dict[str, Any]) -> None:
        if "id" not in message:
            self.answer(202)
            return
        params = message.get("params") or {}
        results = {
            "initialize": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "provider", "version": "1"},
            },
            "tools/list": {"tools": [ECHO]},
            "ping": {},
        }
        if message["method"] == "tools/call":
            self.server.provider.counts["calls"] += 1
            results["tools/call"] = {"content": [{"type": "text", "text": f"Echo: {params['arguments']['message']}"}]}
        found = results.get(message["method"])
        kind = {"error": {"code": -32601, "message": "no such method"}} if found is None else {"result": found}
        self.answer(200, {"jsonrpc": "2.0", "id": message["id"], **kind})
