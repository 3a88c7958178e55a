"""Sources of skills for prove_import.py: collections of skills with what is awkward in them, and a server of them all.

A collection is a function that makes its files in a folder. `Sources` makes of it a repository, a folder, archives, sites
with an index and a package, and serves them on the loopback address: git by `git http-backend`, the rest as files.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import http.server
import io
import json
import os
import shutil
import subprocess
import tarfile
import threading
import urllib.parse
import zipfile
from pathlib import Path
from typing import Any

SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
# Commits and archives of equal content are equal.
DATE = "2026-11-01T12:00:00+00:00"
GIT_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@localhost",
    "GIT_AUTHOR_DATE": DATE,
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@localhost",
    "GIT_COMMITTER_DATE": DATE,
}


def put(path: Path, content: str | bytes, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(mode)


def document(name: str, more: str = "", description: str = "Does one thing. Use it when that is asked for.") -> str:
    return f"---\nname: {name}\ndescription: {description}\n{more}---\n\n# Title\n\nText.\n"


def skill(folder: Path, name: str | None = None, more: str = "") -> None:
    put(folder / "SKILL.md", document(name or folder.name, more))
    put(folder / "scripts/run.sh", "#!/bin/sh\necho run\n", 0o755)


def mixed(folder: Path) -> None:
    """Files of every kind, without what the two programs treat differently."""
    base = folder / "skills"
    put(folder / "README.md", "# Skills\n")
    skill(base / "plain")
    put(base / "plain/references/a/b/c/deep.md", "deep\n")
    put(base / "plain/empty.txt", "")
    put(base / "plain/binary.bin", bytes(range(256)) * 16)
    skill(base / "crlf")
    put(base / "crlf/SKILL.md", document("crlf").replace("\n", "\r\n"))
    put(base / "crlf/mixed.txt", "a\r\nb\nc\rd")
    put(base / "marked/SKILL.md", "\ufeff" + document("marked"))
    skill(base / "paths")
    for name in ["ünï/中文.md", "emoji 😀.txt", "e\u0301.txt", "Zeta.md", "_under.md", "a-b.txt", "a/b.txt", "a_b.txt", "10.txt", "2.txt", ".hidden", ".config/x", "with space/and more.md", "ß.md", "İ.txt", "ä.txt", "z.txt", "$(x).txt", "-dash.txt", "#.txt", "'.txt"]:
        put(base / "paths" / name, f"{name}\n")
    skill(base / "left-out")
    for name in ["metadata.json", "deep/metadata.json", "__pycache__/x.pyc", "deep/__pycache__/x.pyc", "__pypackages__/x.py", "node_modules/x/index.js", "dist/out.js", "build/out.js", "other/Metadata.json", "metadata.json.md", "pycache/x"]:
        put(base / "left-out" / name, "x\n")
    skill(base / "spaced", "Name With Spaces & Signs!")
    skill(base / "dotted", "a.b_c")
    skill(base / "upper", "UPPER--Case")
    skill(base / "edges", '"-.edges.-"')
    skill(base / "long", "x" * 300)
    skill(base / "number", '"123"')
    skill(base / "number-2", '"9"')
    skill(base / "quoted", '"Quoted: \\"name\\""')
    skill(base / "internal", more="metadata:\n  internal: true\n")
    skill(base / "inner")
    # A skill in another one isn't one of its own.
    skill(base / "inner/examples/other")
    skill(base / ".curated/curated")
    skill(base / "group/grouped")
    skill(base / "twice-a", "twice")
    skill(base / "twice-b", "twice")
    skill(folder / "beside")
    skill(folder / "src/too-deep-for-the-usual-folders")


def modes(folder: Path) -> None:
    """Permissions; a repository knows only whether a file is a program."""
    base = folder / "skills/modes"
    put(base / "SKILL.md", document("modes"))
    for mode in [0o400, 0o444, 0o600, 0o640, 0o644, 0o664, 0o700, 0o750, 0o755, 0o775, 0o777]:
        put(base / f"{mode:o}.sh", "#!/bin/sh\n", mode)


def root(folder: Path) -> None:
    """One skill that is the whole source."""
    skill(folder, "whole")
    put(folder / "README.md", "# Whole\n")
    put(folder / ".gitignore", "*.log\n")
    put(folder / ".github/workflows/x.yml", "on: push\n")
    skill(folder / "skills/hidden-by-the-first")


def plugins(folder: Path) -> None:
    """A marketplace of plugins with skills in several places."""
    listed = [
        {"name": "one", "source": "./one", "skills": ["./special/listed", "./skills/usual"]},
        {"name": "two", "source": "./two"},
        {"name": "elsewhere", "source": {"source": "github", "repo": "owner/repo"}},
        {"name": "outside", "source": "../outside"},
        {"name": "plain", "source": "plain"},
    ]
    market = {"name": "market", "owner": {"name": "o"}, "metadata": {"pluginRoot": "./plugins"}, "plugins": listed}
    put(folder / ".claude-plugin/marketplace.json", json.dumps(market))
    base = folder / "plugins"
    skill(base / "one/special/listed")
    skill(base / "one/special/neighbour")
    skill(base / "one/skills/usual")
    skill(base / "one/skills/unlisted")
    skill(base / "two/skills/second")
    skill(base / "plain/skills/never-found")
    put(folder / ".claude-plugin/plugin.json", json.dumps({"name": "self", "skills": ["./extra/own"]}))
    skill(folder / "extra/own")
    skill(folder / "skills/ordinary")


def deep(folder: Path) -> None:
    """Skills in unusual folders alone."""
    skill(folder / "a/b/c/d/fifth")
    skill(folder / "a/b/c/d/e/sixth")
    skill(folder / "docs/skills/documented")
    skill(folder / "dist/left-out")
    skill(folder / "x/build/left-out-too")
    skill(folder / "docs/skills/documented/inner")


def clients(folder: Path) -> None:
    """A project that has skills for its own clients, some of them installed from elsewhere."""
    skill(folder / ".agents/skills/own")
    skill(folder / ".agents/skills/installed")
    skill(folder / ".claude/skills/own")
    skill(folder / ".claude/skills/claude-only")
    skill(folder / ".github/skills/github-only")
    lock = {"version": 1, "skills": {"Installed": {"source": "o/r", "sourceType": "github", "computedHash": "0" * 64}}}
    put(folder / "skills-lock.json", json.dumps(lock))


def quirks(folder: Path) -> None:
    """Frontmatter that readers of YAML disagree about, or that an installer may not take."""
    base = folder / "skills"
    skill(base / "fine")
    texts = {
        "folded": "name: folded\ndescription: >-\n  More\n  lines.\n",
        "literal": "name: literal\ndescription: |\n  More\n  lines.\n",
        "commented": "# first\nname: commented # a comment\ndescription: 'It''s here'\n",
        "anchored": "name: &n anchored\ndescription: Text.\nmetadata:\n  again: *n\n",
        "flow": "{name: flow, description: Text.}\n",
        "padded": 'name: "  padded  "\ndescription: Text.\n',
        "yes": "name: yes\ndescription: Text.\n",
        "octal": 'name: "0o17"\ndescription: Text.\n',
        "dated": "name: 2026-11-01\ndescription: Text.\n",
        "tagged": "name: !!str tagged\ndescription: Text.\n",
        "escaped": 'name: "read\\e[31m-only"\ndescription: Text.\n',
        "lined": 'name: "li\\nned"\ndescription: Text.\n',
        "internal-text": 'name: internal-text\ndescription: Text.\nmetadata:\n  internal: "true"\n',
        "no-description": "name: no-description\n",
        "no-name": "description: Text.\n",
        "number-name": "name: 12\ndescription: Text.\n",
        "number-description": "name: number-description\ndescription: 12\n",
        "null-name": "name:\ndescription: Text.\n",
        "colon": "name: colon\ndescription: Use it: when asked\n",
        "twice-key": "name: twice-key\nname: twice-key-2\ndescription: Text.\n",
        "tab": "name: tab\ndescription: Text.\nmetadata:\n\tkey: x\n",
        "open-quote": 'name: open-quote\ndescription: "Text.\n',
        "list": "- name: list\n- description: Text.\n",
    }
    for name, text in texts.items():
        put(base / name / "SKILL.md", f"---\n{text}---\n\nText.\n")
    put(base / "trailing/SKILL.md", "--- \nname: trailing\ndescription: Text.\n---\n")
    put(base / "no-end/SKILL.md", "---\nname: no-end\ndescription: Text.\n")
    put(base / "no-newline/SKILL.md", "---\nname: no-newline\ndescription: Text.\n---")
    put(base / "bare/SKILL.md", "# Bare\n")
    put(base / "lower/skill.md", document("lower"))


def scripts(folder: Path) -> None:
    """Names in scripts other than Latin."""
    base = folder / "skills"
    skill(base / "chinese", "中文技能")
    skill(base / "accent", "ñandú")
    skill(base / "cyrillic", "Навык-1")
    skill(base / "latin")


def attributes(folder: Path) -> None:
    """Attributes that change what git writes into a working folder."""
    put(folder / ".gitattributes", "*.txt text eol=crlf\n*.id ident\n")
    skill(folder / "skills/attributes")
    put(folder / "skills/attributes/lines.txt", "a\nb\n")
    put(folder / "skills/attributes/version.id", "$Id$\n")


def doubles(folder: Path) -> None:
    """Names that some file systems take for one."""
    skill(folder / "skills/doubles")
    for name in ["Read.md", "read.md", "e\u0301.txt", "é.txt"]:
        put(folder / "skills/doubles" / name, f"{name}\n")


def links(folder: Path) -> None:
    """Links that stay in the source."""
    base = folder / "skills/linked"
    skill(base)
    put(folder / "shared/s.md", "shared\n")
    put(folder / "shared/more/t.md", "more\n")
    put(base / "real.md", "real\n")
    put(base / "folder/f.md", "f\n")
    for name, target in [("file.md", "real.md"), ("folder-link", "folder"), ("outside.md", "../../shared/s.md"), ("outside", "../../shared"), ("nowhere.md", "missing"), ("folder/up.md", "../real.md")]:
        (base / name).symlink_to(target)


def outward(folder: Path) -> None:
    """A link that leads out of the source."""
    skill(folder / "skills/outward")
    (folder / "skills/outward/hosts").symlink_to("/etc/hostname")


def single(folder: Path) -> None:
    """A collection whose skills each fit an index and a package."""
    for name in ["first", "second"]:
        skill(folder / "skills" / name)
        put(folder / "skills" / name / "references/ünï.md", f"{name}\n")
        put(folder / "skills" / name / "metadata.json", "{}\n")
        put(folder / "skills" / name / "crlf.txt", "a\r\nb\r\n")


COLLECTIONS = {make.__name__: make for make in [mixed, modes, root, plugins, deep, clients, quirks, scripts, attributes, doubles, links, outward, single]}


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, env={**os.environ, **GIT_ENVIRONMENT}, check=True, capture_output=True)


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and ".git" not in path.relative_to(folder).parts)


def zipped(folder: Path, top: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files(folder):
            entry = zipfile.ZipInfo(top + str(path.relative_to(folder)), (2026, 11, 1, 12, 0, 0))
            entry.external_attr = (0o100000 | path.stat().st_mode & 0o777) << 16
            entry.create_system = 3
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def tarred(folder: Path, top: str) -> bytes:
    packed = io.BytesIO()
    # The time of now would make another digest each time.
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as pressed, tarfile.open(fileobj=pressed, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path in files(folder):
            entry = tarfile.TarInfo(top + str(path.relative_to(folder)))
            entry.size, entry.mode = path.stat().st_size, path.stat().st_mode & 0o777
            archive.addfile(entry, io.BytesIO(path.read_bytes()))
    return packed.getvalue()


class Sources:
    """All sources below one folder, and the server of them."""

    def __init__(self, folder: Path, corpus: Path | None) -> None:
        self.folder, self.corpus = folder, corpus
        for part in ["trees", "git", "web"]:
            (folder / part).mkdir(parents=True)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(folder))
        self.base = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def tree(self, name: str) -> Path:
        """The folder of a collection, made once."""
        tree = self.folder / "trees" / name
        if not tree.exists():
            tree.mkdir()
            if name not in COLLECTIONS and name != "corpus":
                return tree
            if name == "corpus" and self.corpus:
                shutil.copytree(self.corpus, tree / "skills", copy_function=shutil.copyfile)
            else:
                COLLECTIONS[name](tree)
        return tree

    def repository(self, name: str) -> Path:
        """A bare repository of a collection, below the folder of an owner; a tag `v1`, and a branch `other`."""
        bare = self.folder / "git/owner" / f"{name}.git"
        if not bare.exists():
            tree = self.tree(name)
            bare.parent.mkdir(exist_ok=True)
            work = self.folder / "work" / name
            shutil.copytree(tree, work, symlinks=True)
            git(work, "init", "-q", "-b", "main")
            self.commit(name)
            git(work, "tag", "-a", "-m", "one", "v1")
            git(work, "branch", "other")
            git(work, "clone", "-q", "--bare", str(work), str(bare))
            git(work, "remote", "add", "origin", str(bare))
        return bare

    def commit(self, name: str) -> Path:
        """Commits what changed in the working folder of a repository."""
        work = self.folder / "work" / name
        git(work, "add", "-A", "-f")
        git(work, "commit", "-q", "-m", "change")
        return work

    def push(self, name: str) -> None:
        self.commit(name)
        git(self.folder / "work" / name, "push", "-q", "origin", "main")

    def git_url(self, name: str) -> str:
        self.repository(name)
        return f"{self.base}/git/owner/{name}.git"

    def flat_url(self, name: str) -> str:
        """The same repository at an address without an owner."""
        self.repository(name)
        return f"{self.base}/{name}.git"

    def dumb_url(self, name: str) -> str:
        """The same repository as files, so that git speaks its old protocol."""
        bare = self.repository(name)
        git(bare, "update-server-info")
        target = self.folder / "web/dumb/owner" / bare.name
        if not target.exists():
            shutil.copytree(bare, target)
        return f"{self.base}/dumb/owner/{bare.name}"

    def file_url(self, name: str) -> str:
        return self.repository(name).as_uri()

    def web(self, path: str, content: bytes) -> str:
        put(self.folder / "web" / path, content)
        return f"{self.base}/{path}"

    def zip_url(self, name: str, top: str = "") -> str:
        return self.web(f"files/{name}{top.strip('/')}.zip", zipped(self.tree(name), top))

    def tar_url(self, name: str, top: str = "") -> str:
        return self.web(f"files/{name}{top.strip('/')}.tar.gz", tarred(self.tree(name), top))

    def document_url(self, name: str) -> str:
        return self.web(f"files/{name}/SKILL.md", document(name).encode())

    def second_index(self, name: str) -> str:
        """A site with an index of the second version: a zip, a tar and a document."""
        base = f"{name}-v2/.well-known/agent-skills"
        entries = []
        for number, folder in enumerate(sorted((self.tree(name) / "skills").iterdir())):
            packed, ending = (zipped(folder, ""), "zip") if number % 2 == 0 else (tarred(folder, ""), "tar.gz")
            entries.append(self.entry(base, folder.name, "archive", packed, ending))
        entries.append(self.entry(base, "alone", "skill-md", document("Another Name").encode(), "md"))
        self.web(f"{base}/index.json", json.dumps({"$schema": SCHEMA, "skills": entries}).encode())
        return f"{self.base}/{name}-v2"

    def entry(self, base: str, name: str, kind: str, content: bytes, ending: str) -> dict[str, Any]:
        self.web(f"{base}/{name}.{ending}", content)
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        return {"name": name, "description": "Does one thing.", "type": kind, "url": f"{name}.{ending}", "digest": digest}

    def first_index(self, name: str) -> str:
        """A site with an index of the first version, which lists files."""
        base = f"{name}-v1/.well-known/skills"
        entries = []
        for folder in sorted((self.tree(name) / "skills").iterdir()):
            paths = [str(path.relative_to(folder)) for path in files(folder)]
            entries.append({"name": folder.name, "description": "Does one thing.", "files": paths})
            for path in paths:
                self.web(f"{base}/{folder.name}/{path}", (folder / path).read_bytes())
        self.web(f"{base}/index.json", json.dumps({"skills": entries}).encode())
        return f"{self.base}/{name}-v1"

    def package(self, name: str, built: bool) -> Path:
        """A package with skills, as a folder of `node_modules` has it, which the registry serves, too."""
        package = self.folder / "packages" / name
        if not package.exists():
            below = "dist/skills" if built else "skills"
            shutil.copytree(self.tree(name) / "skills", package / below)
            about = {"name": name, "version": "1.2.3", "description": "Skills", "license": "MIT"}
            put(package / "package.json", json.dumps(about))
            packed = tarred(package, "package/")
            address = self.web(f"npm/{name}/-/{name}-1.2.3.tgz", packed)
            integrity = "sha512-" + base64.b64encode(hashlib.sha512(packed).digest()).decode()
            version = {**about, "dist": {"tarball": address, "integrity": integrity, "shasum": hashlib.sha1(packed).hexdigest()}}
            listed = {"name": name, "dist-tags": {"latest": "1.2.3"}, "versions": {"1.2.3": version}}
            self.web(f"npm/{name}/index.json", json.dumps(listed).encode())
        return package


def handler(folder: Path) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, format: str, *arguments: Any) -> None:
            pass

        def do_GET(self) -> None:
            self.answer()

        def do_POST(self) -> None:
            self.answer()

        def answer(self) -> None:
            address = urllib.parse.urlsplit(self.path)
            path = urllib.parse.unquote(address.path)
            if path.startswith("/git/"):
                return self.repository(path.removeprefix("/git"), address.query)
            if path.split("/")[1].endswith(".git"):
                return self.repository(f"/owner{path}", address.query)
            file = (folder / "web" / path.lstrip("/")).resolve()
            if file.is_dir():
                file = file / "index.json"
            if not file.is_relative_to(folder / "web") or not file.is_file():
                return self.end(404, {}, b"not there")
            kinds = {".json": "application/json", ".zip": "application/zip", ".gz": "application/gzip"}
            self.end(200, {"Content-Type": kinds.get(file.suffix, "application/octet-stream")}, file.read_bytes())

        def repository(self, path: str, query: str) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            environment = {
                **os.environ,
                **GIT_ENVIRONMENT,
                "GIT_PROJECT_ROOT": str(folder / "git"),
                "GIT_HTTP_EXPORT_ALL": "1",
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type") or "",
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding") or "",
                "GIT_PROTOCOL": self.headers.get("Git-Protocol") or "",
            }
            ran = subprocess.run(["git", "http-backend"], env=environment, input=body, capture_output=True)
            head, _, content = ran.stdout.partition(b"\r\n\r\n")
            headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
            status = int(headers.pop("Status", "200").split()[0])
            self.end(status, headers, content)

        def end(self, status: int, headers: dict[str, str], content: bytes) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return Handler
