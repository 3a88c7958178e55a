"""Package indexes made of the files in dist/, on loopback: so the commands are those that people type."""

from __future__ import annotations

import contextlib
import http.server
import json
import shutil
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from release import DIST, NAME, PLATFORMS, VERSION

PORT = 8000


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def served(folder: Path, address: str) -> Iterator[None]:
    """Serves dist/, and the indexes of npm and PyPI that list it."""
    shutil.copytree(DIST, folder, dirs_exist_ok=True)
    wheels = "".join(f'<a href="/{file.name}">{file.name}</a>' for file in folder.glob("*.whl"))
    (folder / "simple" / NAME).mkdir(parents=True)
    (folder / "simple" / NAME / "index.html").write_text(f"<!DOCTYPE html><html><body>{wheels}</body></html>")
    for name in (NAME, *(platform.npm for platform in PLATFORMS)):
        described = folder / "npm" / name
        described.parent.mkdir(parents=True, exist_ok=True)
        described.write_text(json.dumps(npm_document(name, folder, address)))
    with http.server.ThreadingHTTPServer(("127.0.0.1", PORT), partial(Handler, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield
        server.shutdown()


def npm_document(name: str, folder: Path, address: str) -> dict[str, object]:
    """What the registry says of a package. Those of other platforms have no file, and npm must not ask for it."""
    file = f"{name.lstrip('@').replace('/', '-')}-{VERSION}.tgz"
    if (folder / file).exists():
        with tarfile.open(folder / file) as package:
            manifest = json.load(package.extractfile("package/package.json"))
    else:
        platform = next(one for one in PLATFORMS if one.npm == name)
        manifest = {"name": name, "version": VERSION, "os": [platform.system], "cpu": [platform.cpu]}
    manifest["dist"] = {"tarball": f"{address}/{file}"}
    return {"name": name, "dist-tags": {"latest": VERSION}, "versions": {VERSION: manifest}}
