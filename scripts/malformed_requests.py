"""Malformed requests to the REST API, made from a seed: shapes, types, sizes, depths, encodings, headers, paths, bodies."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any

from hostile_archives import Entry, build, document

# Bytes and texts that break readers.
ODD_BYTES = [b"\0", b"\xff\xfe", b"\xc0\xaf", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xf4\x90\x80\x80", b"\r\n", b"\x7f", b"\\u0000", b"\\ud800"]
ODD_TEXTS = ["", " ", "\0", "\u202e", "\ufeff", "a" * 300, "a" * 5_000, "../../etc/passwd", "%00", "\ud800", "😀" * 40, "null", "NaN", "-0", "ann\n", "é", "e\u0301"]
ODD_VALUES: list[Any] = [None, True, 0, -1, 1.5, 2**63, 2**64, 10**400, -(2**63) - 1, [], {}, [[]], [None] * 50, {"": ""}, {"a": {"b": {}}}]
SEGMENTS = ["..", ".", "%2e%2e", "%2f", "%00", "%", "%zz", "%ff", "%c0%af", "%ed%a0%80", "a" * 300, "a" * 5_000, "~", "*", "é", ";x=1", "\\", "//", "+", "%0d%0aX: y", "me", "{id}"]
METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "CONNECT", "BREW", "get", "G\u0000T", "", "GET GET"]
TYPES = ["application/json", "application/json; charset=utf-16", "text/plain", "multipart/form-data", "application/octet-stream", "application/json;;;", "a/b/c", "", "*/*", "application/json, text/plain"]
HEADERS = [
    "If-Match: ", "If-Match: W/\"x\"", "If-Match: " + "\"a\"," * 500, "Idempotency-Key: ", "Idempotency-Key: " + "k" * 300, "Idempotency-Key: \x01",
    "Expect: 100-continue", "Expect: 200-ok", "Content-Encoding: gzip", "Accept: a/b;q=x", "Range: bytes=0-0,5-,-", "X-Forwarded-For: 999.1.1.1, ::, x",
    "X-Forwarded-For: " + "1.1.1.1, " * 200, "Cookie: a=b; " * 50, "Origin: null", "Origin: http://evil.example", "Upgrade: h2c", "Connection: Upgrade, keep-alive",
    "Host: evil.example", "Forwarded: for=\"", "Accept-Language: " + "x" * 3_000, "Te: trailers", "X-Odd: \xff\xfe", "Transfer-Encoding: gzip",
]


@dataclass
class Request:
    """A request as bytes; `whole` ones are answered on a connection that may go on."""

    kind: str
    content: bytes
    whole: bool = True


@dataclass
class Operation:
    method: str
    path: str
    body: dict[str, Any] | None
    query: list[str]
    media_type: str


@dataclass
class Maker:
    random: random.Random
    host: str
    credentials: list[str]
    ids: list[str]
    operations: list[Operation]
    made: int = 0
    kinds: list[str] = field(default_factory=lambda: ["values", "bytes", "deep", "twice", "large", "headers", "path", "query", "framing", "cut", "form", "line", "credential", "archive"])

    def target(self, operation: Operation) -> str:
        path = operation.path.replace("{id}", self.random.choice(self.ids)).replace("{name}", "skill_list")
        return path.replace("{path}", "SKILL.md")

    def request(self, method: str, target: str, body: bytes | None, *headers: str, media_type: str = "application/json", length: int | None = None) -> bytes:
        lines = [f"{method} {target} HTTP/1.1", f"Host: {self.host}", f"Authorization: Bearer {self.random.choice(self.credentials)}", *headers]
        if body is not None:
            lines += [f"Content-Type: {media_type}", f"Content-Length: {len(body) if length is None else length}"]
        return "\r\n".join(lines).encode("latin-1", "replace") + b"\r\n\r\n" + (body or b"")

    def body(self, operation: Operation) -> dict[str, Any]:
        return dict(operation.body or {})

    def mutate(self, value: dict[str, Any]) -> dict[str, Any]:
        for _ in range(self.random.randint(1, 3)):
            keys = list(value) or ["name"]
            key = self.random.choice(keys)
            turn = self.random.random()
            if turn < 0.45:
                value[key] = self.random.choice(ODD_VALUES)
            elif turn < 0.75:
                value[key] = self.random.choice(ODD_TEXTS)
            elif turn < 0.85:
                value.pop(key, None)
            else:
                value[self.random.choice(["id", "path", "is_admin", "__proto__", "", "a" * 300, key.upper()])] = self.random.choice(ODD_VALUES)
        return value

    def make(self) -> Request:
        self.made += 1
        kind = self.random.choice(self.kinds)
        made: Request = getattr(self, f"of_{kind}")(self.random.choice(self.operations))
        return made

    def of_values(self, operation: Operation) -> Request:
        body = json.dumps(self.mutate(self.body(operation)), ensure_ascii=self.random.random() < 0.5)
        return Request("values", self.request(operation.method, self.target(operation), body.encode("utf-8", "surrogatepass")))

    def of_bytes(self, operation: Operation) -> Request:
        body = bytearray(json.dumps(self.body(operation) or {"name": "a"}).encode())
        for _ in range(self.random.randint(1, 4)):
            at = self.random.randrange(len(body) + 1)
            body[at : at + self.random.randint(0, 2)] = self.random.choice([*ODD_BYTES, b"{", b"}", b'"', b"\\", b",", b":", b"[", self.random.randbytes(2)])
        return Request("bytes", self.request(operation.method, self.target(operation), bytes(body)))

    def of_deep(self, operation: Operation) -> Request:
        depth = self.random.choice([10, 31, 33, 200, 5_000, 100_000])
        opener, closer = self.random.choice([(b"[", b"]"), (b'{"a":', b"}")])
        body = b'{"name":' + opener * depth + b"1" + closer * self.random.choice([depth, 0, depth - 1]) + b"}"
        return Request("deep", self.request(operation.method, self.target(operation), body))

    def of_twice(self, operation: Operation) -> Request:
        one = json.dumps(self.body(operation) or {"name": "a"})[1:-1]
        return Request("twice", self.request(operation.method, self.target(operation), f"{{{one},{one}}}".encode()))

    def of_large(self, operation: Operation) -> Request:
        size = self.random.choice([1_000, 20_000, 20_000, 70_000]) if self.random.random() < 0.98 else 5_000_000
        body = json.dumps(self.body(operation) | {"description": "x" * size}).encode()
        return Request("large", self.request(operation.method, self.target(operation), body), size < 20_000)

    def of_headers(self, operation: Operation) -> Request:
        body = json.dumps(self.body(operation)).encode() if operation.body is not None else None
        headers = self.random.choices(HEADERS, k=self.random.randint(1, 3))
        if self.random.random() < 0.05:
            headers += [f"X-{n}: {'v' * 50}" for n in range(self.random.choice([90, 150, 1_000]))]
        media_type = self.random.choice(TYPES)
        # The server may close after these.
        ends = any(name in line for line in headers for name in ("Upgrade", "Expect", "Transfer", "Host", "X-", "Odd", "\x01"))
        return Request("headers", self.request(operation.method, self.target(operation), body, *headers, media_type=media_type), not ends)

    def of_path(self, operation: Operation) -> Request:
        parts = operation.path.split("/")
        for _ in range(self.random.randint(1, 3)):
            parts.insert(self.random.randint(1, len(parts)), self.random.choice(SEGMENTS))
        target = "/".join(parts) if self.random.random() < 0.5 else self.target(operation).replace(self.random.choice(self.ids), self.random.choice(SEGMENTS))
        return Request("path", self.request(self.random.choice(["GET", operation.method]), target.replace(" ", ""), None), False)

    def of_query(self, operation: Operation) -> Request:
        names = operation.query or ["limit"]
        pairs = [f"{self.random.choice([*names, 'x', '', 'access_token', '%ff'])}={self.random.choice(['', '-1', '99999999999999999999', 'x', '%', '%ff', '1.5', 'a' * 3_000, '0', '%00', '{}', 'true'])}"
                 for _ in range(self.random.choice([1, 2, 3, 100]))]
        return Request("query", self.request(operation.method, f"{self.target(operation)}?{'&'.join(pairs)}", None))

    def of_framing(self, operation: Operation) -> Request:
        body = json.dumps(self.body(operation) or {"name": "a"}).encode()
        turn = self.random.randrange(6)
        if turn < 3:
            chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:5], body[5:9], body[9:]) if part) + b"0\r\n\r\n"
            chunks = chunks if turn else chunks.replace(b"\r\n", self.random.choice([b"\n", b"\r\r\n", b";x=y\r\n", b"zz\r\n"]), 1)
            head = self.request(operation.method, self.target(operation), None, "Content-Type: application/json", "Transfer-Encoding: chunked")
            return Request("framing", head + chunks, False)
        length = self.random.choice(["-1", "x", "99999999999999999999", "0x10", f"{len(body)}, {len(body)}", f"{len(body)}\r\nContent-Length: 3", "+5", f"{len(body)}\r\nTransfer-Encoding: chunked"])
        return Request("framing", self.request(operation.method, self.target(operation), None, "Content-Type: application/json", f"Content-Length: {length}") + body, False)

    def of_cut(self, operation: Operation) -> Request:
        body = json.dumps(self.body(operation) or {"name": "a"}).encode()
        whole = self.request(operation.method, self.target(operation), body)
        return Request("cut", whole[: self.random.randrange(1, len(whole))], False)

    def of_form(self, _: Operation) -> Request:
        boundary = self.random.choice(["b", "x" * 70, "x" * 300, "a b", "\"q\"", ""])
        names = ["file", "skill_id", "", "other", "file\0", "f" * 300]
        parts = []
        for _ in range(self.random.randint(0, 4)):
            disposition = f'form-data; name="{self.random.choice(names)}"; filename="{self.random.choice(ODD_TEXTS)}"'
            head = self.random.choice([f"Content-Disposition: {disposition}", "Content-Disposition: form-data", "", "X: y", f"Content-Disposition: {disposition}\r\nContent-Type: {self.random.choice(TYPES)}"])
            parts.append(f"--{boundary}\r\n{head}\r\n\r\n".encode("utf-8", "replace") + self.random.randbytes(self.random.choice([0, 10, 500])) + self.random.choice([b"\r\n", b"\n", b""]))
        body = b"".join(parts) + self.random.choice([f"--{boundary}--\r\n".encode(), b"", b"--"])
        return Request("form", self.request("POST", "/api/v1/skills/upload", body, media_type=f"multipart/form-data; boundary={boundary}"))

    def of_archive(self, _: Operation) -> Request:
        content = bytearray(build([Entry(b"SKILL.md", document("mutated")), Entry(b"a.txt", b"text " * 20, 8)]))
        for _ in range(self.random.randint(1, 8)):
            content[self.random.randrange(4, len(content))] = self.random.randrange(256)
        body = b'--b\r\ncontent-disposition: form-data; name="file"; filename="a.zip"\r\n\r\n' + bytes(content) + b"\r\n--b--\r\n"
        return Request("archive", self.request("POST", "/api/v1/skills/upload", body, media_type="multipart/form-data; boundary=b"))

    def of_line(self, operation: Operation) -> Request:
        method, version = self.random.choice(METHODS), self.random.choice(["HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/9", "", "http/1.1"])
        target = self.random.choice([self.target(operation), "*", "http://evil.example/", "", "/" + "a" * 9_000, f"http://{self.host}/api/v1/skills", "//"])
        line = f"{method} {target} {version}\r\nHost: {self.host}\r\n\r\n".encode()
        return Request("line", self.random.choice([line, self.random.randbytes(60) + b"\r\n\r\n", line.replace(b"\r\n", b"\n")]), False)

    def of_credential(self, operation: Operation) -> Request:
        good = self.random.choice(self.credentials)
        at = self.random.randrange(len(good))
        value = self.random.choice([good[:at], good[:at] + "A" + good[at + 1 :], good + "=", "Basic YTpi", "Bearer", "", "Bearer " + "x" * 6_000, "Bearer a.b.c", "Bearer " + good + " x", "bearer\t" + good])
        head = f"{operation.method} {self.target(operation)} HTTP/1.1\r\nHost: {self.host}\r\nAuthorization: {value}\r\nContent-Length: 0\r\n\r\n"
        return Request("credential", head.encode())
