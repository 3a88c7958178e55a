"""A web server of files that are on this disk, for archives that are fetched."""

from __future__ import annotations

import http.server
import threading
from pathlib import Path
from typing import Any


class FileServer:
    """A server that runs for the length of a `with` block, and answers 404 for all that isn't in its folder."""

    def __init__(self, folder: Path) -> None:
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                path = folder / self.path.strip("/")
                found = path.is_file() and ".." not in self.path
                self.send_response(200 if found else 404)
                self.send_header("content-length", str(path.stat().st_size if found else 0))
                self.end_headers()
                if found:
                    try:
                        with path.open("rb") as file:
                            while chunk := file.read(1 << 16):
                                self.wfile.write(chunk)
                    except OSError:
                        self.close_connection = True

            def log_message(self, *_: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> FileServer:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
