"""A package index of Python and a registry of npm on loopback, and a proxy before it, that do what a check wants."""

from __future__ import annotations

import base64
import hashlib
import http.server
import io
import json
import socket
import ssl
import tarfile
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import trustme


def wheel(name: str, version: str, files: dict[str, bytes], *, needs: list[str] | None = None) -> bytes:
    """A wheel with these files; `needs` are the packages that it says it needs."""
    information = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += "".join(f"Requires-Dist: {one}\n" for one in needs or [])
    everything = {
        **files,
        f"{information}/METADATA": metadata.encode(),
        f"{information}/WHEEL": b"Wheel-Version: 1.0\nGenerator: checks\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},{digest(body)},{len(body)}\n" for path, body in everything.items())
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, body in everything.items():
            archive.writestr(path, body)
        archive.writestr(f"{information}/RECORD", record + f"{information}/RECORD,,\n")
    return packed.getvalue()


def digest(body: bytes) -> str:
    """A digest as RECORD has it."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b"=").decode()


def source(name: str, version: str, files: dict[str, str]) -> bytes:
    """A source distribution, or a package of npm where the folder is `package`."""
    packed = io.BytesIO()
    folder = "package" if "package.json" in files else f"{name}-{version}"
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"{folder}/{path}")
            entry.size = len(text.encode())
            entry.mode = 0o755
            archive.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


class Index:
    """An index that listens on a free port of loopback; every path that is asked for is in `asked`.

    Without an authority it speaks plain HTTP. `host` is its name or address in URLs.
    """

    def __init__(self, authority: trustme.CA | None, *, host: str = "localhost", address: str = "127.0.0.1") -> None:
        self.files: dict[str, bytes] = {}
        # What an index says of a file, where that isn't the truth.
        self.said: dict[str, str] = {}
        self.packages: dict[str, dict[str, Any]] = {}
        # Where an index says that a file is, if that isn't here.
        self.elsewhere: dict[str, str] = {}
        self.asked: list[str] = []
        # How many connections there were, whatever was said.
        self.accepted = 0
        # Who asked, by address and port.
        self.peers: list[tuple[str, int]] = []
        # The value of `Authorization` that everybody has to send.
        self.wanted: str | None = None
        # The logins that were sent.
        self.logins: list[str | None] = []
        # Names of which it refuses to tell.
        self.forbidden: set[str] = set()
        # Where it sends those who ask for a path.
        self.moved: dict[str, str] = {}
        # Files that a page lists, doesn't list the next time, and lists again, as stale caches of an index do: by the times still to go.
        self.stale: dict[str, int] = {}
        # How long it takes before it answers anything, in seconds.
        self.delay = 0.0
        index = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                self.do_GET()

            def do_GET(self) -> None:
                if self.command == "GET":
                    index.asked.append(self.path)
                index.peers.append(self.client_address[:2])
                index.logins.append(self.headers.get("Authorization"))
                time.sleep(index.delay)
                kind, body = index.answer(self.path)
                status = 200 if body is not None else 404
                if index.wanted and self.headers.get("Authorization") != index.wanted:
                    status, body = 401, b""
                if any(name in self.path for name in index.forbidden):
                    status, body = 403, b""
                if self.path in index.moved:
                    status, body = 302, b""
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", index.moved[self.path])
                if status == 401:
                    self.send_header("WWW-Authenticate", 'Basic realm="index"')
                body = b"" if body is None else body
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        class Server(http.server.ThreadingHTTPServer):
            address_family = socket.AF_INET6 if ":" in address else socket.AF_INET

            def get_request(self) -> Any:
                index.accepted += 1
                return super().get_request()

            # Clients go without a word, or don't believe the certificate.
            def handle_error(self, *_: object) -> None:
                pass

        self.server = Server((address, 0), Handler)
        self.server.daemon_threads = True
        if authority is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            authority.issue_cert(*{"localhost", host.strip("[]")}).configure_cert(context)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        self.url = f"{'http' if authority is None else 'https'}://{host}:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path: str) -> tuple[str, bytes | None]:
        """What stands at a path, and of which kind it is."""
        path = path.split("#")[0].split("?")[0]
        if path.startswith("/files/"):
            return "application/octet-stream", self.files.get(path.removeprefix("/files/"))
        if path.startswith("/simple/"):
            name = path.split("/")[2]
            found = [file for file in self.files if normal(file).startswith(f"{normal(name)}-") and not self.leaves_out(file)]
            files = [{"filename": file, "url": f"{self.elsewhere.get(file, self.url)}/files/{file}", "hashes": {"sha256": self.digest(file)}} for file in found]
            page = {"meta": {"api-version": "1.0"}, "name": name, "files": files}
            return "application/vnd.pypi.simple.v1+json", json.dumps(page).encode() if files else None
        if path.startswith("/npm/"):
            package = self.packages.get(path.removeprefix("/npm/"))
            return "application/json", json.dumps(package).encode() if package else None
        return "text/plain", None

    def leaves_out(self, file: str) -> bool:
        """Whether a page is the one that leaves out a file."""
        left = self.stale.get(file)
        if left is not None:
            self.stale[file] = left - 1
        return left == 0

    @staticmethod
    def login(text: str) -> str:
        """A user and a password as `Authorization` has them."""
        return "Basic " + base64.b64encode(text.encode()).decode()

    def digest(self, file: str) -> str:
        """What it says the digest of a file is."""
        return self.said.get(file) or hashlib.sha256(self.files[file]).hexdigest()

    def wheel(self, name: str, files: dict[str, bytes], *, needs: list[str] | None = None) -> str:
        """Holds a wheel from now on; answers what it is called."""
        file = f"{name}-1.0-py3-none-any.whl"
        self.files[file] = wheel(name, "1.0", files, needs=needs)
        return file

    def node(self, name: str, files: dict[str, str], more: dict[str, Any] | None = None, version: str = "1.0.0") -> None:
        """Holds a package of npm from now on; `more` stands in what it says of itself."""
        package = {"name": name, "version": version, **(more or {})}
        packed = source(name, version, {"package.json": json.dumps(package), **files})
        file = f"{name}-{version}.tgz"
        self.files[file] = packed
        digest = self.said.get(file) or "sha512-" + base64.b64encode(hashlib.sha512(packed).digest()).decode()
        dist = {"tarball": f"{self.url}/files/{file}", "integrity": digest}
        held = self.packages.setdefault(name, {"name": name, "dist-tags": {"latest": version}, "versions": {}})
        held["versions"][version] = {**package, "dist": dist}

    def close(self) -> None:
        """Ends it."""
        self.server.shutdown()
        self.server.server_close()


class Proxy:
    """A proxy by plain HTTP on loopback, which wants a login and alone knows the names in `names`.

    What it was asked for is in `asked`, and by which addresses it went on in `made`.
    """

    def __init__(self, login: str, names: dict[str, str]) -> None:
        self.names = names
        self.wanted = "Basic " + base64.b64encode(login.encode()).decode()
        self.asked: list[str] = []
        self.refused = 0
        self.made: set[tuple[str, int]] = set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"http://{login}@127.0.0.1:{self.port}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.take, args=(client,), daemon=True).start()

    def take(self, client: socket.socket) -> None:
        """Serves one connection."""
        with client:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                byte = client.recv(1)
                if not byte:
                    return
                head += byte
            first, *fields = head.decode("latin-1").split("\r\n")
            if f"Proxy-Authorization: {self.wanted}" not in fields:
                self.refused += 1
                client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return
            method, target, _ = first.split(" ")
            self.asked.append(f"{method} {target}")
            place = target if method == "CONNECT" else target.removeprefix("http://").split("/")[0]
            host, port = place.rsplit(":", 1)
            server = socket.create_connection((self.names.get(host, host.strip("[]")), int(port)))
            with server:
                self.made.add(server.getsockname()[:2])
                if method == "CONNECT":
                    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                else:
                    kept = [field for field in fields if not field.startswith("Proxy-")]
                    path = target.removeprefix(f"http://{place}")
                    server.sendall("\r\n".join([f"{method} {path} HTTP/1.1", *kept]).encode("latin-1"))
                back = threading.Thread(target=pour, args=(server, client), daemon=True)
                back.start()
                pour(client, server)
                back.join()


def pour(source: socket.socket, target: socket.socket) -> None:
    """Passes bytes on until there are no more."""
    try:
        while piece := source.recv(65536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def normal(name: str) -> str:
    """A name as indexes compare it."""
    return name.lower().replace("_", "-").replace(".", "-")


def authority(folder: Path) -> tuple[trustme.CA, Path]:
    """Somebody whose certificates are believed where this file says so."""
    made = trustme.CA()
    file = folder / "authority.pem"
    made.cert_pem.write_to_path(str(file))
    return made, file
