"""Web servers that attack what imports from them, each with what an import has to make of it."""

from __future__ import annotations

import gzip
import hashlib
import json
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hostile_archives import Entry, build
from import_world import Skills, document

SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
INDEX = "/.well-known/agent-skills/index.json"
OLD_INDEX = "/.well-known/skills/index.json"
MIB = 1024 * 1024


class Exchange:
    """One request, and the connection that it came on."""

    def __init__(self, connection: socket.socket, head: bytes, body: bytes = b"") -> None:
        self.connection, self.head, self.body = connection, head, body
        words = head.split(b"\r\n")[0].split(b" ")
        self.method, self.path = words[0].decode(), words[1].decode() if len(words) > 1 else "/"

    def header(self, name: str) -> str:
        for line in self.head.decode(errors="replace").split("\r\n")[1:]:
            key, _, value = line.partition(":")
            if key.lower() == name:
                return value.strip()
        return ""

    def raw(self, content: bytes) -> None:
        self.connection.sendall(content)

    def respond(self, body: bytes = b"", status: str = "200 OK", headers: str = "", length: str | None = None) -> None:
        size = str(len(body)) if length is None else length
        self.raw(f"HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {size}\r\n{headers}\r\n".encode("latin-1") + body)

    def redirect(self, location: str, status: str = "302 Found") -> None:
        self.respond(b"", status, f"location: {location}\r\n")

    def endless(self, chunk: bytes, seconds: float = 30.0, most: int = 1 << 34) -> None:
        """Writes as long as the other side reads, but not for ever."""
        end, sent = time.monotonic() + seconds, 0
        while time.monotonic() < end and sent < most:
            self.connection.sendall(chunk)
            sent += len(chunk)

    def trickle(self, seconds: float, content: bytes = b"x") -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.connection.sendall(content)
            time.sleep(0.2)


Answer = Callable[[Exchange], None]


class SocketServer:
    """A server on a port of its own that runs for the length of a `with` block, and lists the paths that it was asked for."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.paths: list[str] = []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> SocketServer:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                connection.settimeout(150)
                head = b""
                while b"\r\n\r\n" not in head:
                    chunk = connection.recv(65_536)
                    if not chunk:
                        return
                    head += chunk
                head, _, body = head.partition(b"\r\n\r\n")
                exchange = Exchange(connection, head, body)
                length = int(exchange.header("content-length") or 0)
                while len(exchange.body) < length:
                    exchange.body += connection.recv(65_536)
                self.paths.append(exchange.path)
                self.answer(exchange)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65_536):
                    pass
            except OSError:
                pass


@dataclass
class Site:
    """A site, the address on it that is typed, and the skills that come of it; none where it has to be refused."""

    name: str
    answer: Answer
    path: str = "/"
    expected: Skills | None = None
    words: list[str] = field(default_factory=list)
    is_slow: bool = False


def skill(name: str) -> Skills:
    return {name: {"SKILL.md": (document(name), False)}}


GOOD = build([Entry(b"SKILL.md", document("good"))])


def pages(table: dict[str, bytes | Answer]) -> Answer:
    """A site that has these, and answers 404 for all others."""

    def answer(exchange: Exchange) -> None:
        page = table.get(exchange.path)
        if page is None:
            exchange.respond(b"nothing", "404 Not Found")
        elif isinstance(page, bytes):
            exchange.respond(page)
        else:
            page(exchange)

    return answer


def file(answer: bytes | Answer, **more: Any) -> dict[str, Any]:
    """A site whose archive is the answer."""
    return {"answer": pages({"/a.zip": answer}), "path": "/a.zip", **more}


def second(name: str = "good", url: str = "good.md", content: bytes = document("good"), **changes: Any) -> dict[str, Any]:
    entry = {"name": name, "description": "d", "type": "skill-md", "url": url, "digest": f"sha256:{hashlib.sha256(content).hexdigest()}", **changes}
    return {key: value for key, value in entry.items() if value is not None}


def index(*skills: Any, **more: Any) -> bytes:
    return json.dumps({"$schema": SCHEMA, "skills": list(skills), **more}).encode()


def first(*skills: Any) -> bytes:
    return json.dumps({"skills": list(skills)}).encode()


def redirects(private: str) -> Iterator[Site]:
    port = private.rpartition(":")[2]
    targets = [
        f"{private}/r", f"http://localhost:{port}/r", f"https://127.0.0.1:{port}/r", f"https://localhost:{port}/r", f"https://[::1]:{port}/r",
        f"http://0.0.0.0:{port}/r", f"https://0:{port}/r", f"https://127.1:{port}/r", f"https://2130706433:{port}/r", f"https://0x7f000001:{port}/r",
        f"https://[::ffff:127.0.0.1]:{port}/r", "https://10.0.0.1/r", "https://192.168.0.1/r", "https://169.254.169.254/latest/meta-data", "http://169.254.169.254/",
        "https://100.64.0.1/", "https://[fd00::1]/", "https://[fe80::1]/", f"http://user:pass@127.0.0.1:{port}/r", f"//127.0.0.1:{port}/r",
        "file:///etc/passwd", "file://localhost/etc/passwd", "gopher://127.0.0.1/x", "ftp://127.0.0.1/x", "data:text/plain,---", "javascript:1", "ext::sh -c id", "http://", "http://[", "https://exa mple/", "\\\\host\\share", "/" + "x" * 20_000,
    ]  # fmt: skip
    for target in targets:
        yield Site(f"redirect to {target[:40]}", **file(lambda exchange, target=target: exchange.redirect(target)))
    for target in targets[:4] + ["file:///etc/passwd"]:
        yield Site(f"index redirects to {target[:40]}", lambda exchange, target=target: exchange.redirect(target))
        yield Site(f"artifact at {target[:40]}", pages({INDEX: index(second(url=target))}))
    yield Site("redirect to itself", **file(lambda exchange: exchange.redirect("/a.zip")))
    yield Site("redirect without end", lambda exchange: exchange.redirect(exchange.path + "x"), "/a.zip")
    yield Site("redirect without a place", **file(lambda exchange: exchange.respond(b"", "302 Found")))
    yield Site("redirect to the same place, once", pages({"/a.zip": lambda exchange: exchange.redirect("/b", "308 Permanent Redirect"), "/b": GOOD}), "/a.zip", skill("good"))


def bodies() -> Iterator[Site]:
    head = b"HTTP/1.1 200 OK\r\n"
    chunked = head + b"transfer-encoding: chunked\r\n\r\n"
    whole = b"%x\r\n%s\r\n" % (len(GOOD), GOOD)
    for name, content in [
        ("shorter length", head + b"content-length: %d\r\n\r\n" % (len(GOOD) - 9) + GOOD), ("longer length", head + b"content-length: %d\r\n\r\n" % (len(GOOD) + 9) + GOOD),
        ("negative length", head + b"content-length: -1\r\n\r\n" + GOOD), ("huge length", head + b"content-length: 9223372036854775807\r\n\r\n" + GOOD),
        ("overflowing length", head + b"content-length: 99999999999999999999999\r\n\r\n" + GOOD), ("length that is no number", head + b"content-length: x\r\n\r\n" + GOOD),
        ("two lengths", head + b"content-length: 5\r\ncontent-length: 7\r\n\r\n" + GOOD), ("length of 65 MiB", head + b"content-length: 68157440\r\n\r\n" + GOOD),
        ("bad chunk size", chunked + b"zz\r\n" + GOOD), ("huge chunk size", chunked + b"ffffffffffffffff\r\n" + GOOD), ("overflowing chunk size", chunked + b"f" * 40 + b"\r\n" + GOOD),
        ("negative chunk size", chunked + b"-1\r\n" + GOOD), ("chunk without an end", chunked + whole), ("chunk shorter than it says", chunked + b"%x\r\n%s\r\n0\r\n\r\n" % (len(GOOD) + 5, GOOD)),
        ("chunk longer than it says", chunked + b"5\r\n%s\r\n0\r\n\r\n" % GOOD), ("chunk extension without end", chunked + b"5;" + b"x" * 200_000 + b"\r\n" + GOOD),
        ("no status", b"garbage\r\n\r\n"), ("no version", b"HTTP/9.9 200 OK\r\n\r\n" + GOOD), ("status 99", b"HTTP/1.1 99 x\r\n\r\n"), ("status 1000", b"HTTP/1.1 1000 x\r\n\r\n"),
        ("nothing", b""), ("half a head", b"HTTP/1.1 200 OK\r\ncontent-"), ("NUL in a header", head + b"a: b\0c\r\n\r\n" + GOOD), ("header of 1 MiB", head + b"a: " + b"x" * MIB + b"\r\n\r\n" + GOOD),
        ("100,000 headers", head + b"a: b\r\n" * 100_000 + b"\r\n" + GOOD), ("header without a colon", head + b"nonsense\r\n\r\n" + GOOD), ("TLS", b"\x16\x03\x01\x02\0\1\0\1\xfc\3\3" + bytes(100)),
        ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(100)), ("SSH", b"SSH-2.0-OpenSSH_9\r\n"), ("unknown transfer coding", head + b"transfer-encoding: gzip\r\n\r\n" + gzip.compress(GOOD)),
    ]:  # fmt: skip
        # A length that is shorter cuts the archive; one more byte than it says is another answer, which nobody asked for.
        yield Site(name, **file(lambda exchange, content=content: exchange.raw(content)))
    bomb = gzip.compress(bytes(64 * MIB))
    for coding, content in [("gzip", gzip.compress(GOOD)), ("gzip", bomb), ("deflate", zlib.compress(GOOD)), ("br", b"x"), ("zstd", b"x"), ("gzip, gzip", gzip.compress(bomb)), ("x", GOOD)]:
        yield Site(f"encoding {coding}, {len(content)} bytes", **file(lambda exchange, coding=coding, content=content: exchange.respond(content, headers=f"content-encoding: {coding}\r\n")))
    yield Site("body without end", **file(lambda exchange: (exchange.raw(head + b"\r\nPK\3\4"), exchange.endless(bytes(MIB)))[0]))
    yield Site("chunks without end", **file(lambda exchange: (exchange.raw(chunked), exchange.endless(b"100000\r\n" + bytes(MIB) + b"\r\n"))[0]))
    yield Site("headers without end", **file(lambda exchange: (exchange.raw(head), exchange.endless(b"a: b\r\n" * 10_000, 20))[0]))
    yield Site("informational answers without end", **file(lambda exchange: exchange.endless(b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000, 20)))
    for status in ["201 Created", "202 Accepted", "204 No Content", "206 Partial Content", "300 Multiple Choices", "304 Not Modified", "400 Bad Request", "401 Unauthorized", "403 Forbidden", "404 Not Found", "407 Proxy Authentication Required", "410 Gone", "418 Teapot", "429 Too Many Requests", "451 Unavailable", "500 Internal Server Error", "502 Bad Gateway", "503 Service Unavailable", "504 Gateway Timeout", "511 x"]:
        yield Site(f"status {status[:3]}", **file(lambda exchange, status=status: exchange.respond(GOOD, status, 'www-authenticate: Basic realm="x"\r\nretry-after: 99999\r\n')))
    yield Site("a page for people", lambda exchange: exchange.respond(b"<html>Hello</html>"), "/a")
    yield Site("a good archive", **file(GOOD, expected=skill("good")))


def slow() -> Iterator[Site]:
    head = b"HTTP/1.1 200 OK\r\n"
    trickle = {"seconds": 140.0}
    yield Site("a head that trickles", **file(lambda exchange: (exchange.raw(head), exchange.trickle(**trickle))[0], is_slow=True))
    yield Site("a body that trickles", **file(lambda exchange: (exchange.raw(head + b"content-length: 100000\r\n\r\n"), exchange.trickle(**trickle))[0], is_slow=True))
    yield Site("no answer", **file(lambda exchange: time.sleep(140), is_slow=True))
    yield Site("an index that trickles", lambda exchange: (exchange.raw(head + b"\r\n{"), exchange.trickle(140, b" "))[0], is_slow=True)
    many = first(*({"name": f"s-{n}", "description": "d", "files": ["SKILL.md"]} for n in range(1_000)))

    def late(exchange: Exchange) -> None:
        if exchange.path == INDEX:
            return exchange.respond(many)
        time.sleep(1)
        return exchange.respond(document("x"))

    yield Site("an index of 1,000 skills that take a second each", late, is_slow=True)


def indexes(private: str) -> Iterator[Site]:
    for name, content in [
        ("list", b"[]"), ("nothing", b""), ("empty", b"{}"), ("cut off", b'{"skills": ['), ("null", b'{"skills": null}'), ("an object", b'{"skills": {}}'), ("a text", b'{"skills": "x"}'),
        ("numbers", first(1, 2)), ("texts", first("a")), ("lists", first([])), ("no skills", first()), ("deep", b'{"skills": ' + b"[" * 200_000), ("deep in an entry", b'{"skills": [{"name":' + b'{"a":' * 100_000),
        ("5 MiB", b'{"skills": [], "x": "' + b"x" * 5 * MIB + b'"}'), ("unknown version", json.dumps({"$schema": "https://x.example/9", "skills": []}).encode()), ("version that is a number", json.dumps({"$schema": 2, "skills": [second()]}).encode()),
        ("1,001 entries", first(*({"name": f"s-{n}", "description": "d", "files": ["SKILL.md"]} for n in range(1_001)))), ("not UTF-8", b'{"skills": ["\xff"]}'), ("byte order mark of UTF-16", '{"skills": []}'.encode("utf-16")), ("huge number", b'{"skills": 1e999999}'),
        ("twice", b'{"skills": [], "skills": null}'),
    ]:  # fmt: skip
        yield Site(f"index: {name}", pages({INDEX: content}))
    good = document("good")
    for name in ["..", ".", "../up", "a/b", "/abs", "A", "-x", "x-", "a--b", "", "x" * 65, "a\0b", "a b", "caf\u00e9", ".git", None, 1, ["a"], {"a": 1}, "--help"]:
        yield Site(f"name {name!r:.20}", pages({INDEX: index(second(name=name)), OLD_INDEX: first(), "/.well-known/agent-skills/good.md": good}))
        yield Site(f"old name {name!r:.20}", pages({OLD_INDEX: first({"name": name, "description": "d", "files": ["SKILL.md"]})}))
    for what, changes in [
        ("no description", {"description": None}), ("empty description", {"description": ""}), ("long description", {"description": "d" * 2_000}), ("description that is a list", {"description": []}),
        ("no digest", {"digest": None}), ("other digest", {"digest": "sha256:" + "0" * 64}), ("short digest", {"digest": "sha256:00"}), ("other algorithm", {"digest": "md5:" + "0" * 32}), ("digest without algorithm", {"digest": "0" * 64}),
        ("no type", {"type": None}), ("unknown type", {"type": "program"}), ("type that is a number", {"type": 1}), ("no URL", {"url": None}), ("empty URL", {"url": ""}), ("URL that is a list", {"url": ["good.md"]}), ("bad URL", {"url": "http://["}),
        ("file URL", {"url": "file:///etc/passwd"}), ("private URL", {"url": f"{private}/x"}), ("private URL with https", {"url": private.replace("http:", "https:") + "/x"}), ("network path", {"url": private.removeprefix("http:") + "/x"}),
        ("URL with a password", {"url": "https://user:secret@h.example/x"}), ("metadata of a cloud", {"url": "https://169.254.169.254/latest"}), ("document as an archive", {"type": "archive"}),
    ]:  # fmt: skip
        yield Site(f"entry with {what}", pages({INDEX: index(second(**changes)), "/.well-known/agent-skills/good.md": good}))
    for what, content in [
        ("a way up", build([Entry(b"SKILL.md", good), Entry(b"../up.txt", b"x")])), ("a link out", build([Entry(b"SKILL.md", good), Entry(b"l", b"/etc/passwd", mode=0o120777)])), ("no document", build([Entry(b"a.md", good)])),
        ("a deep document", build([Entry(b"a/b/SKILL.md", good), Entry(b"c", b"")])), ("nothing", build([])), ("a bomb", build([Entry(b"SKILL.md", good), Entry(b"z", bytes(20 * MIB), 8)])), ("2,001 files", build([Entry(b"SKILL.md", good), *(Entry(b"%d" % n) for n in range(2_001))])), ("a text", b"text"),
    ]:  # fmt: skip
        yield Site(f"archive with {what}", pages({INDEX: index(second(type="archive", url="a.zip", content=content)), "/.well-known/agent-skills/a.zip": content}))
    for files in [["../x", "SKILL.md"], ["/etc/passwd", "SKILL.md"], ["a\\b", "SKILL.md"], ["x"], [], ["SKILL.md", "SKILL.md"], ["SKILL.md", "skill.md"], ["SKILL.md", "a", "A"], ["SKILL.md", "a", "a/b"], ["SKILL.md", "missing"], [1], "SKILL.md", None, ["SKILL.md", *map(str, range(1_001))], ["SKILL.md", "a\0"], ["SKILL.md", "CON"], ["SKILL.md", "a/"], ["SKILL.md", ""], ["SKILL.md", "a?b=c"], ["SKILL.md", f"{private}/x"]]:
        entry = {"name": "good", "description": "d", "files": files}
        known: dict[str, bytes | Answer] = {f"/.well-known/agent-skills/good/{name}": b"x" for name in ("a", "A", "a/b", "x")}
        yield Site(f"files {files!r:.40}", pages({INDEX: first(entry), "/.well-known/agent-skills/good/SKILL.md": good, **known}))
    base = "/.well-known/agent-skills/good"
    entry = {"name": "good", "description": "d", "files": ["SKILL.md", "big"]}
    yield Site("a file of 26 MiB", pages({INDEX: first(entry), f"{base}/SKILL.md": good, f"{base}/big": bytes(26 * MIB)}))
    yield Site("a file without end", pages({INDEX: first(entry), f"{base}/SKILL.md": good, f"{base}/big": lambda exchange: (exchange.raw(b"HTTP/1.1 200 OK\r\n\r\n"), exchange.endless(bytes(MIB)))[0]}))
    yield Site("a file that redirects elsewhere", pages({INDEX: first(entry), f"{base}/SKILL.md": good, f"{base}/big": lambda exchange: exchange.redirect(f"{private}/x")}))
    names = [f"s-{n}" for n in range(12)]
    zeros = bytes(24 * MIB)
    large = {f"/.well-known/agent-skills/{name}/big": zeros for name in names}
    documents = {f"/.well-known/agent-skills/{name}/SKILL.md": document(name) for name in names}
    yield Site("288 MiB of skills", pages({INDEX: first(*({**entry, "name": name} for name in names)), **documents, **large}))
    yield Site("a skill that isn't there", pages({INDEX: first({**entry, "files": ["SKILL.md"]}), f"{base}/SKILL.md": good}), words=["--skill", "other"])
    yield Site("a skill named like an option", pages({INDEX: first({**entry, "files": ["SKILL.md"]})}), words=["--skill=--help"])
    yield Site("a skill named like a path", pages({INDEX: first({**entry, "files": ["SKILL.md"]})}), words=["--skill", "../../up"])
    yield Site("a good index", pages({INDEX: index(second()), "/.well-known/agent-skills/good.md": good}), expected=skill("good"))
    yield Site("a good index of the first version", pages({OLD_INDEX: first({**entry, "files": ["SKILL.md", "big"]}), "/.well-known/skills/good/SKILL.md": good, "/.well-known/skills/good/big": b"x"}), expected={"good": {"SKILL.md": (good, False), "big": (b"x", False)}})
    yield Site("one good entry among bad ones", pages({INDEX: index(second(), second(name="../up"), 1, second(name="x", digest=None)), "/.well-known/agent-skills/good.md": good}), expected=skill("good"))
    yield Site("a good archive in an index", pages({INDEX: index(second(type="archive", url="/x/a.zip", content=GOOD)), "/x/a.zip": GOOD}), expected=skill("good"))


def sites(private: str) -> Iterator[Site]:
    yield from redirects(private)
    yield from bodies()
    yield from indexes(private)
    yield from slow()
