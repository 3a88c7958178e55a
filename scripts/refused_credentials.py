"""Credentials that a server with accounts has to refuse, each of which was good once or is nearly good."""

from __future__ import annotations

import base64
import datetime
import hashlib
import hmac
import json
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

from account_site import Answer, Home, Probe, Site, User, sign_in

# The scopes that a token may lack.
SCOPES = ["skills:read", "skills:write", "skills:run"]
PURPOSE = b"access token"
ELSEWHERE = "https://elsewhere.example/mcp"


@dataclass(frozen=True)
class Credential:
    """A credential that is refused: for requests over REST, and for those over MCP."""

    name: str
    rest: str | None
    codes: frozenset[str]
    status: int = 401
    mcp: str | None = None

    def of(self, probe: Probe) -> str | None:
        return self.mcp if self.mcp is not None and probe.path.startswith("/mcp") else self.rest


@dataclass
class Cast:
    """The users of the proof."""

    owner: User = field(default_factory=lambda: User("ann"))
    other: User = field(default_factory=lambda: User("bob"))
    disabled: User = field(default_factory=lambda: User("dora"))
    deleted: User = field(default_factory=lambda: User("emil"))
    admin: User = field(default_factory=lambda: User("zed"))

    def make(self, home: Home) -> Cast:
        for user in (self.owner, self.admin):
            home.add_user(user, "--admin")
        for user in (self.other, self.disabled, self.deleted):
            user.ids["self"] = home.add_user(user)
        return self


def unpadded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Forge:
    """Signs access tokens with the key of the server, as nobody else can."""

    def __init__(self, home: Home, token: str) -> None:
        self.key = (home.path / "server.key").read_bytes()
        self.header, claims, _ = token.split(".")
        self.claims = json.loads(base64.urlsafe_b64decode(claims + "=="))
        assert self.token() == token, "a token that is signed again differs"

    def token(self, **changes: object) -> str:
        claims = json.dumps(self.claims | changes, separators=(",", ":")).encode()
        signed = f"{self.header}.{unpadded(claims)}"
        message = len(PURPOSE).to_bytes(8, "big") + PURPOSE + signed.encode()
        return f"{signed}.{unpadded(hmac.new(self.key, message, hashlib.sha256).digest())}"

    def unsigned(self) -> str:
        header = unpadded(b'{"alg":"none","typ":"at+jwt"}')
        return f"{header}.{unpadded(json.dumps(self.claims).encode())}."


def api_token(digits: str) -> str:
    """A text with the form and the check sum of an API token."""
    return f"ask_live_{digits}{zlib.crc32(digits.encode()):08x}"


def works(site: Site, token: str) -> bool:
    """Whether a credential is good for anything at all."""
    probe = Probe("tools", "tools", "GET", "/api/v1/tools")
    return site.send(probe, User("", token=token)).is_good


def code_of(answer: Answer) -> str:
    """The code of a refusal, wherever its surface has it."""
    body = answer.body
    if body.startswith(("event:", "data:", ":")):
        lines = [line[5:].strip() for line in body.splitlines() if line.startswith("data:")]
        body = next((line for line in reversed(lines) if line), "{}")
    try:
        value = json.loads(body)
    except ValueError:
        return ""
    if not isinstance(value, dict):
        return ""
    places = [value, (value.get("error") or {}), (value.get("error") or {}).get("data") or {}]
    result = value.get("result") or {}
    if result.get("isError"):
        structured = result.get("structuredContent") or {}
        places += [structured, structured.get("error") or {}]
        places += [{"code": "TOOL_ERROR"}]
    return next((str(place["code"]) for place in places if isinstance(place, dict) and "code" in place), "")


def make(site: Site, home: Home, cast: Cast) -> tuple[list[Credential], list[str]]:
    """The credentials, and those of them that were not good before they were spoiled."""
    dead: list[str] = []

    def alive(name: str, token: str) -> str:
        if not works(site, token):
            dead.append(name)
        return token

    soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=2)
    short = cast.other
    short.access = sign_in(site, short)["access_token"]
    made = site.send(
        Probe("", "", "POST", "/api/v1/tokens", {"name": "short", "expires_at": soon.isoformat()}, is_person=True), short
    )
    expired = alive("expired token", json.loads(made.body)["token"])
    revoked = alive("revoked token", home.token(cast.other, "revoked"))
    listed = home.command("token", "list", "--user", cast.other.name, "--json")
    at = next(one["id"] for one in json.loads(listed)["tokens"] if one["name"] == "revoked")
    home.command("token", "revoke", "--user", cast.other.name, at)
    session = sign_in(site, cast.other)
    signed_out = alive("signed-out access token", session["access_token"])
    refresh = session["refresh_token"]
    out = site.send(Probe("", "", "POST", "/api/v1/auth/logout", {"refresh_token": refresh}), None)
    assert out.is_good, out
    living = sign_in(site, cast.other)
    forge = Forge(home, living["access_token"])
    alive("forged access token", forge.token(iat=forge.claims["iat"] - 1))
    audience, elsewhere = forge.token(aud=site.url + "/mcp"), forge.token(aud=ELSEWHERE)
    last = "A" if living["access_token"][-5] != "A" else "B"
    damaged = living["access_token"][:-5] + last + living["access_token"][-4:]
    credentials = {}
    for user, end in ((cast.disabled, "disable"), (cast.deleted, "delete")):
        token, access = home.token(user, "one"), sign_in(site, user)["access_token"]
        credentials[end] = alive(f"{end}d user's token", token), alive(f"{end}d user's access token", access)
        home.command("user", end, user.name, *(["--yes"] if end == "delete" else []))
    good = cast.other.token or home.token(cast.other, "good")
    typo = good[:20] + ("0" if good[20] != "0" else "1") + good[21:]
    time.sleep(2.5)

    def of(name: str, token: str | None, *codes: str, mcp: str | None = None) -> Credential:
        return Credential(name, token, frozenset(codes), mcp=mcp)

    return [
        of("none", None, "UNAUTHORIZED"),
        of("malformed", "not-a-token", "INVALID_TOKEN_FORMAT"),
        of("typo in check sum", typo, "INVALID_TOKEN_FORMAT"),
        of("unknown token", api_token("0123456789abcdef" * 3 + "01234567"), "TOKEN_NOT_FOUND"),
        of("expired token", expired, "TOKEN_EXPIRED"),
        of("expired access token", forge.token(exp=int(time.time()) - 1), "TOKEN_EXPIRED"),
        of("revoked token", revoked, "TOKEN_REVOKED"),
        of("signed-out access token", signed_out, "TOKEN_REVOKED"),
        of("refresh token", living["refresh_token"], "INVALID_TOKEN_TYPE"),
        of("damaged signature", damaged, "INVALID_TOKEN"),
        of("no algorithm", forge.unsigned(), "INVALID_TOKEN"),
        of("wrong audience", audience, "INVALID_TOKEN", mcp=elsewhere),
        of("audience elsewhere", elsewhere, "INVALID_TOKEN"),
        of("disabled user's token", credentials["disable"][0], "TOKEN_REVOKED"),
        of("disabled user's access token", credentials["disable"][1], "TOKEN_REVOKED"),
        of("deleted user's token", credentials["delete"][0], "TOKEN_REVOKED", "TOKEN_NOT_FOUND"),
        of("deleted user's access token", credentials["delete"][1], "TOKEN_REVOKED"),
    ], dead


def refusal_time(site: Site, token: str, path: str, end: Callable[[], object]) -> float:
    """Seconds from the moment when a credential was ended until it is refused, with a request under way all the time."""
    import threading

    last_good, stop = [0.0], threading.Event()
    user = User("", token=token)
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"} if path == "/mcp" else None
    headers = {"accept": "application/json, text/event-stream"} if body else {}
    probe = Probe("", "", "POST" if body else "GET", path, body, headers=headers)

    def ask() -> None:
        while not stop.is_set():
            started = time.monotonic()
            if site.send(probe, user).status not in (401, 403):
                last_good[0] = max(last_good[0], started)
            time.sleep(0.002)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    assert last_good[0], f"{path}: the credential is refused before it ends"
    end()
    ended = time.monotonic()
    time.sleep(2)
    stop.set()
    for thread in threads:
        thread.join()
    return max(0.0, last_good[0] - ended)
