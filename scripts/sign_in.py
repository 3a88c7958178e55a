#!/usr/bin/env python3
"""Lets real OAuth clients sign in to a server with accounts.

    sign_in.py [--gongfu BIN] [--refreshes NUMBER] [--restarts NUMBER]

The clients are those of the Python package `mcp` and of both TypeScript SDKs, and the authorization scenarios of the
official conformance suite; `scripts/test --install` installs them. Each has the bare URL alone, and gets from its 401
to the answer of a tool. The person is `browser.py`: it fills in the forms and follows redirects.

Prints one table. Exits 1 on any failure and when nothing ran; 77 when nothing failed and a client is not installed.
"""

from __future__ import annotations

import argparse
import asyncio
import http.server
import json
import logging
import os
import secrets
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from browser import Browser
from clients import NODE, NOT_INSTALLED, REPOSITORY, Failure, Row, Table, binary, described, expect, print_table
from server import Server

try:
    import httpx2
    from mcp import Client
    from mcp.client.auth import OAuthClientProvider
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata
except ImportError:
    Client = None
try:
    import trustme
except ImportError:
    trustme = None

PASSWORD = "four unrelated words"
REDIRECT = "http://127.0.0.1:33417/callback"
# A name that a client's document may have; the server's own hosts file says that it is this machine.
HOST = "clients.example.com"
TIMEOUT = 120.0
# The server looks a credential up twice a second at most, so a revocation counts within half a second.
FRESH = 0.6
RESOURCE_METADATA = "GET /.well-known/oauth-protected-resource/mcp 200"
SERVER_METADATA = "GET /.well-known/oauth-authorization-server 200"
REGISTERED = "POST /register 201"
REFRESHED = "POST /token 200"


@dataclass
class Site:
    """A home with the user `ann`, who has one skill, and the server in it; it keeps its port when it restarts."""

    gongfu: Path
    folder: Path
    port: int
    skill: str = ""
    hosts: list[str] = field(default_factory=list)
    certificates: Path | None = None

    def make(self) -> None:
        home = self.folder / "home"
        home.mkdir(mode=0o700)
        named = f"client_hosts = {json.dumps(self.hosts)}\n" if self.hosts else ""
        (home / "config.toml").write_text(f"[accounts]\nrequest_limits = false\n{named}")
        self.command("user", "add", "ann", "--email", "ann@example.com", "--password-stdin", text=PASSWORD)

    @property
    def variables(self) -> dict[str, str]:
        more = {"SSL_CERT_FILE": str(self.certificates)} if self.certificates else {}
        return {"GONGFU_HOME": str(self.folder / "home"), "HOME": str(self.folder)} | more

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.issuer}/mcp"

    def command(self, *arguments: str, text: str = "") -> str:
        command = [str(self.gongfu), *arguments]
        environment = os.environ | self.variables
        done = subprocess.run(command, input=text, capture_output=True, text=True, env=environment, timeout=TIMEOUT)
        expect(done.returncode == 0, f"{arguments[:2]}: {done.stderr.strip()}")
        return done.stdout.strip()

    def server(self) -> Server:
        program: list[str] = [str(self.gongfu)]
        if self.certificates:
            # A view of the files in which the name leads to this machine, for this process alone.
            hosts = self.folder / "hosts"
            hosts.write_text(f"127.0.0.1 localhost {HOST}\n")
            mount = 'mount --bind "$0" /etc/hosts && exec "$@"'
            program = ["unshare", "--mount", "--map-root-user", "sh", "-c", mount, str(hosts), *program]
        first, *rest = program
        arguments = [*rest, "serve", "--accounts"]
        return Server(Path(first), *arguments, variables=self.variables, folder=self.folder, port=self.port)

    def make_skill(self) -> None:
        """Gives the user a skill that nobody can guess."""
        token = self.command("token", "create", "--user", "ann", "--name", "checks", "--quiet")
        self.skill = f"notes-{secrets.token_hex(6)}"
        skill = {"name": self.skill, "description": "Keeps notes. Use it for notes.", "instructions": "Write."}
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        request = urllib.request.Request(f"{self.issuer}/api/v1/skills", json.dumps(skill).encode(), headers)
        with urllib.request.urlopen(request, timeout=TIMEOUT):
            pass

    def post(self, path: str, body: bytes, kind: str) -> tuple[int, Any]:
        request = urllib.request.Request(self.issuer + path, body, {"content-type": kind})
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def refresh(self, token: str, client: str) -> tuple[int, Any]:
        fields = {"grant_type": "refresh_token", "refresh_token": token, "client_id": client}
        form = urllib.parse.urlencode(fields).encode()
        return self.post("/token", form, "application/x-www-form-urlencoded")

    def mcp_status(self, access: str) -> int:
        """How the endpoint answers a credential: with 401, or with a complaint about the empty request."""
        headers = {"authorization": f"Bearer {access}", "content-type": "application/json"}
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url, b"{}", headers), timeout=TIMEOUT) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code


def free_port() -> int:
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


# The Python client.


class Storage:
    """What a client keeps between its runs, and every refresh token that it had."""

    def __init__(self) -> None:
        self.tokens: Any = None
        self.client: Any = None
        self.refresh_tokens: list[str] = []

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens
        self.refresh_tokens.append(tokens.refresh_token)

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client: Any) -> None:
        self.client = client


@dataclass
class PythonClient:
    """The client of the Python SDK; `trace` has each of its requests."""

    site: Site
    browser: Browser
    decision: str = "allow"
    document: str | None = None
    storage: Storage = field(default_factory=Storage)
    trace: list[str] = field(default_factory=list)

    async def session(self, use: Callable[[Any, Any], Any]) -> None:
        """Connects as a program that was just started does, and uses the connection."""
        redirects: list[str] = []

        async def open_browser(url: str) -> None:
            redirects.append(await asyncio.to_thread(self.browser.authorize, url, self.decision))

        async def come_back() -> AuthorizationCodeResult:
            back = urllib.parse.parse_qs(urllib.parse.urlsplit(redirects[-1]).query)
            expect(redirects[-1].startswith(REDIRECT), redirects[-1])
            expect("code" in back, f"the client gets {back.get('error')}")
            return AuthorizationCodeResult(**{name: back[name][0] for name in ("code", "state", "iss")})

        metadata = OAuthClientMetadata(
            client_name="Python", redirect_uris=[REDIRECT], token_endpoint_auth_method="none"
        )
        provider = OAuthClientProvider(
            self.site.url, metadata, self.storage, open_browser, come_back, client_metadata_url=self.document
        )

        async def traced(response: Any) -> None:
            request = response.request
            self.trace.append(f"{request.method} {request.url.path} {response.status_code}")

        hooks = {"response": [traced]}
        async with httpx2.AsyncClient(auth=provider, event_hooks=hooks, timeout=TIMEOUT, trust_env=False) as http_client:
            async with Client(streamable_http_client(self.site.url, http_client=http_client)) as client:
                await use(client, provider)

    async def list_skills(self, client: Any, _: Any = None) -> None:
        result = await client.call_tool("skill_list", {})
        text = "".join(part.text for part in result.content if part.type == "text")
        expect(not result.is_error and self.site.skill in text, f"the tool answers {text[:200]}")

    def run(self, use: Callable[[Any, Any], Any] | None = None) -> None:
        asyncio.run(asyncio.wait_for(self.session(use or self.list_skills), TIMEOUT * 5))


def check_trace(trace: list[str], registers: bool) -> None:
    """Fails unless the requests are those of a whole sign-in, in their order."""
    wanted = ["POST /mcp 401", RESOURCE_METADATA, SERVER_METADATA, *([REGISTERED] if registers else []), REFRESHED]
    rest = iter(trace)
    expect(all(line in rest for line in wanted), f"its requests are {trace[:12]}")
    expect(registers or REGISTERED not in trace, "it registers itself")
    expect(trace[-1].startswith("POST /mcp 2") or "POST /mcp 200" in trace, f"its last requests are {trace[-3:]}")


def python_signs_in(client: PythonClient, registers: bool = True) -> str:
    client.run()
    check_trace(client.trace, registers)
    browser = client.browser
    expect((browser.logins, browser.consents) == (1, 1), f"{browser.logins} logins, {browser.consents} consents")
    expect(client.document is None or client.storage.client.client_id == client.document, client.storage.client)
    return f"{len(client.trace)} requests, 1 login, 1 consent"


def is_denied(site: Site) -> str:
    client = PythonClient(site, Browser("ann", PASSWORD), "deny")
    try:
        client.run()
    except Exception as error:
        expect("access_denied" in described(error), described(error))
    else:
        raise Failure("a client that the user denied gets in")
    expect(client.storage.tokens is None, "it has tokens")
    return "access_denied"


def python_refreshes(client: PythonClient, count: int, restarts: int) -> str:
    """Refreshes before each of many calls, while the server and the client restart in between."""
    browser, storage, site = client.browser, client.storage, client.site
    logins, consents = browser.logins, browser.consents
    client.trace.clear()
    done = 0

    async def use(mcp: Any, provider: Any) -> None:
        nonlocal done
        for _ in range(stretch):
            provider.context.token_expiry_time = 1.0
            await client.list_skills(mcp)
            done += 1

    parts = restarts + 1
    for part in range(parts):
        stretch = count // parts + (1 if part < count % parts else 0)
        with site.server():
            client.run(use)
    refreshed = client.trace.count(REFRESHED)
    expect(done == refreshed == count, f"{done} calls, {refreshed} refreshes of {count}")
    expect((browser.logins, browser.consents) == (logins, consents), "the user had to sign in again")
    known = len(set(storage.refresh_tokens))
    expect(known == count + 1, f"{known} different refresh tokens")
    return f"{refreshed} refreshes, {restarts} restarts, 0 logins"


def reuse_ends_the_family(client: PythonClient, other: PythonClient) -> str:
    site, storage = client.site, client.storage
    name, access = storage.client.client_id, storage.tokens.access_token
    expect(site.mcp_status(access) != 401, "the access token is not good before")
    status, answer = site.refresh(storage.refresh_tokens[0], name)
    expect((status, answer.get("error")) == (400, "invalid_grant"), f"the old token: {status} {answer}")
    status, answer = site.refresh(storage.refresh_tokens[-1], name)
    expect((status, answer.get("error")) == (400, "invalid_grant"), f"the newest token: {status} {answer}")
    time.sleep(FRESH)
    expect(site.mcp_status(access) == 401, "the access token is good afterwards")
    # The control: another sign-in of the same user goes on.
    status, answer = site.refresh(other.storage.refresh_tokens[-1], other.storage.client.client_id)
    expect(status == 200, f"the other sign-in: {status} {answer}")
    expect(site.mcp_status(answer["access_token"]) != 401, "the other sign-in has ended, too")
    return "newest token and access token refused"


def signs_in_again(client: PythonClient) -> str:
    """A client whose family has ended begins a sign-in; the user is still signed in at the server."""
    logins, consents = client.browser.logins, client.browser.consents
    client.run()
    expect(client.browser.logins == logins, "the user had to log in")
    expect(client.browser.consents == consents + 1, "the user was not asked")
    return "0 logins, 1 consent"


# The TypeScript clients.


def type_script_signs_in(site: Site, version: str, refreshes: int, document: str = "") -> str:
    browser = Browser("ann", PASSWORD)
    script = REPOSITORY / "scripts" / "node" / "sign_in.mjs"
    command = [str(NODE / "node"), str(script), str(NODE.parent.parent), version, site.url, str(refreshes)]
    command += [document] if document else []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        limit = threading.Timer(TIMEOUT, process.kill)
        limit.start()
        try:
            answer: dict[str, Any] = {}
            for line in process.stdout or ():
                answer = json.loads(line)
                if "open" not in answer:
                    break
                back = {"redirect": browser.authorize(answer["open"])}
                process.stdin.write(json.dumps(back) + "\n")
                process.stdin.flush()
        finally:
            limit.cancel()
            process.kill()
    expect("result" in answer, answer.get("error", "it ends without an answer") + f" after {answer.get('trace')}")
    result = answer["result"]
    expect(site.skill in result["text"], f"the tool answers {result['text'][:200]}")
    check_trace(result["sign_in"], not document)
    expect(not document or result["client"] == document, f"it is {result['client']}")
    expect(result["rotated"] == refreshes, f"{result['rotated']} refreshes of {refreshes}")
    expect((browser.logins, browser.consents) == (1, 1), f"{browser.logins} logins, {browser.consents} consents")
    return f"{len(result['sign_in'])} requests, 1 login, 1 consent, refreshes: {refreshes}"


# Documents of clients.


class Documents:
    """A server with the document of a client, over TLS, and how often it was asked for."""

    def __init__(self, folder: Path) -> None:
        self.hits = 0
        authority = trustme.CA()
        self.authority = folder / "authority.pem"
        authority.cert_pem.write_to_path(str(self.authority))
        certificate = authority.issue_cert(HOST)
        documents = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                documents.hits += 1
                body = json.dumps(documents.document).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(context)
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        self.url = f"https://{HOST}:{self.http.server_address[1]}/client.json"
        redirects = [REDIRECT, "http://127.0.0.1:33418/callback"]
        self.document = {"client_id": self.url, "client_name": "With a document", "redirect_uris": redirects}
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


def is_refused_elsewhere(site: Site, documents: Documents) -> str:
    """The same document, certificate and name, at a server that doesn't name the host."""
    hits = documents.hits
    expect(hits > 0, "the document was never fetched")
    client = PythonClient(site, Browser("ann", PASSWORD), document=documents.url)
    try:
        client.run()
    except Exception as error:
        said = described(error)
        expect("no public address" in said, said)
    else:
        raise Failure("it signs in")
    expect(documents.hits == hits, "the document is fetched all the same")
    return "no public address; 0 requests to the host"


# The conformance suite.


def conformance(site: Site, folder: Path) -> str:
    port = free_port()
    redirect = f"http://127.0.0.1:{port}/callback"
    registration = json.dumps({"client_name": "Conformance", "redirect_uris": [redirect]}).encode()
    status, client = site.post("/register", registration, "application/json")
    expect(status == 201, client)
    command = [str(NODE / "node"), str((NODE / "conformance").resolve()), "authorization", "--url", site.issuer]
    command += ["--client-id", client["client_id"], "--resource", site.url, "-p", str(port), "-o", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder) as process:
        limit = threading.Timer(TIMEOUT, process.kill)
        limit.start()
        said = []
        try:
            for line in process.stdout or ():
                said.append(line.rstrip())
                if line.startswith(f"{site.issuer}/authorize?"):
                    to = Browser("ann", PASSWORD).authorize(line.strip())
                    expect(to.startswith(redirect), to)
                    with urllib.request.urlopen(to, timeout=TIMEOUT):
                        pass
            process.wait(TIMEOUT)
        finally:
            limit.cancel()
            process.kill()
    checks = [check for path in sorted(folder.rglob("checks.json")) for check in json.loads(path.read_text())]
    counts = {status: sum(check["status"] == status for check in checks) for status in ("SUCCESS", "WARNING", "FAILURE")}
    bad = [f"{check['id']}: {check['status']}: {check.get('errorMessage')}" for check in checks if check["status"] != "SUCCESS"]
    expect(process.returncode == 0, f"it ends with {process.returncode}: {' | '.join(said[-8:])}")
    expect(not bad, "; ".join(bad))
    ids = {check["id"] for check in checks}
    expect({"authorization-server-metadata", "authorization-code-grant"} <= ids, f"its checks are {sorted(ids)}")
    return f"{counts['SUCCESS']} checks passed, {counts['WARNING']} warnings, {counts['FAILURE']} failures"


# The run.


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path, help="the binary (default: what cargo built)")
    parser.add_argument("--refreshes", type=int, default=200, help="refreshes in a row (default: 200)")
    parser.add_argument("--restarts", type=int, default=4, help="restarts of the server among them (default: 4)")
    options = parser.parse_args()
    if options.refreshes < 2 or options.restarts < 0:
        parser.error("a family ends when the token before the last is used, so refresh twice at least")
    gongfu = binary(options.gongfu)
    # What a client logs about a refusal that a step asks for would hide the table.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    table: Table = []
    notes: list[str] = []
    missing: list[str] = []

    def step(what: str, client: str, run: Callable[[], str]) -> None:
        started, problem = time.monotonic(), ""
        try:
            notes.append(f"{client}: {what}: {run()}")
        except Exception as error:
            problem = described(error)
        table.append(Row(what, client, problem, round((time.monotonic() - started) * 1000)))

    node = (NODE / "node").exists()
    modules = NODE.parent / "@modelcontextprotocol"
    sdks = [
        (version, name)
        for version, package, name in [("v1", "sdk", "TypeScript sdk"), ("v2", "client", "TypeScript client")]
        if (node and (modules / package).is_dir()) or missing.append(f"the package of the {name}")
    ]
    if Client is None:
        missing.append("the Python package mcp")
    if not (node and (NODE / "conformance").exists()):
        missing.append("the conformance suite")
    if trustme is None:
        missing.append("the Python package trustme")

    with tempfile.TemporaryDirectory(prefix="gongfu-sign-in-") as name:
        root = Path(name).resolve()

        def site(called: str, **more: Any) -> Site:
            (root / called).mkdir()
            made = Site(gongfu, root / called, free_port(), **more)
            made.make()
            return made

        plain = site("plain")
        python, other = (PythonClient(plain, Browser("ann", PASSWORD)) for _ in range(2))
        with plain.server():
            plain.make_skill()
            if Client is not None:
                step("sign in and call a tool", "Python mcp", lambda: python_signs_in(python))
                step("sign in once more", "Python mcp", lambda: python_signs_in(other))
                step("be denied", "Python mcp", lambda: is_denied(plain))
            for version, client in sdks:
                step("sign in, call and refresh", client, lambda: type_script_signs_in(plain, version, 20))
            if "the conformance suite" not in missing:
                (root / "results").mkdir()
                step("authorization scenarios", "conformance", lambda: conformance(plain, root / "results"))
        if Client is not None:
            refresh = lambda: python_refreshes(python, options.refreshes, options.restarts)  # noqa: E731
            step(f"refresh {options.refreshes} times", "Python mcp", refresh)
            with plain.server():
                step("use an old refresh token", "by hand", lambda: reuse_ends_the_family(python, other))
                step("sign in after that", "Python mcp", lambda: signs_in_again(python))
        if trustme is not None and Client is not None:
            documents = Documents(root)
            named = site("named", hosts=[HOST], certificates=documents.authority)
            with named.server():
                named.make_skill()
                client = PythonClient(named, Browser("ann", PASSWORD), document=documents.url)
                step("sign in with a document", "Python mcp", lambda: python_signs_in(client, registers=False))
                for version, name in sdks:
                    run = lambda: type_script_signs_in(named, version, 1, documents.url)  # noqa: E731
                    step("sign in with a document", name, run)
            unnamed = site("unnamed", certificates=documents.authority)
            with unnamed.server():
                step("a host that isn't named", "Python mcp", lambda: is_refused_elsewhere(unnamed, documents))
    print_table(table)
    for note in notes:
        print(note)
    for name in missing:
        print(f"error: {name} is not installed", file=sys.stderr)
        print("  hint: run `scripts/test --install`, and this with .tools/venv/bin/python", file=sys.stderr)
    failed = sum(bool(row.problem) for row in table)
    print(f"sign-in: {len(table) - failed} ok, {failed} failed, {len(missing)} clients missing")
    if failed or not (table or missing):
        return 1
    return NOT_INSTALLED if missing else 0


if __name__ == "__main__":
    sys.exit(main())
