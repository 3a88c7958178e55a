"""Git repositories, and servers of git, that attack what fetches from them, each with what an import has to make of it."""

from __future__ import annotations

import hashlib
import os
import struct
import subprocess
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hostile_sites import Answer, Exchange, SocketServer
from import_world import Files, Skills, brief, document

FILE, PROGRAM, LINK, TREE, SUBMODULE = b"100644", b"100755", b"120000", b"40000", b"160000"
MIB = 1024 * 1024
NOTHING = "0" * 40
# What hooks, filters and options would run: its file mustn't appear.
MARK = "acted"


def packed(kind: str, data: bytes) -> tuple[str, bytes]:
    whole = b"%s %d\0" % (kind.encode(), len(data)) + data
    return hashlib.sha1(whole).hexdigest(), zlib.compress(whole, 1)


class Repository:
    """A bare repository whose objects are written as they are, whatever git thinks of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ["objects/info", "refs/heads", "refs/tags", "hooks", "info"]:
            (folder / name).mkdir(parents=True)
        (folder / "HEAD").write_text("ref: refs/heads/main\n")
        (folder / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = true\n[http]\n\tuploadpack = true\n")

    def put(self, kind: str, data: bytes) -> str:
        name, content = packed(kind, data)
        path = self.folder / "objects" / name[:2] / name[2:]
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        return name

    def blob(self, data: bytes) -> str:
        return self.put("blob", data)

    def zeros(self, size: int, before: bytes = b"") -> str:
        """A blob that is long, and isn't in memory here."""
        size += len(before)
        packer, sum_, path = zlib.compressobj(1), hashlib.sha1(), self.folder / "objects/zeros"
        with path.open("wb") as file:
            for part in [b"blob %d\0" % size, before, *[bytes(MIB)] * ((size - len(before)) // MIB)]:
                sum_.update(part)
                file.write(packer.compress(part))
            file.write(packer.flush())
        name = sum_.hexdigest()
        (self.folder / "objects" / name[:2]).mkdir(exist_ok=True)
        path.rename(self.folder / "objects" / name[:2] / name[2:])
        return name

    def tree(self, *entries: tuple[bytes, bytes, str], is_sorted: bool = True) -> str:
        listed = sorted(entries, key=lambda one: one[1] + (b"/" if one[0] == TREE else b"")) if is_sorted else list(entries)
        return self.put("tree", b"".join(b"%s %s\0%s" % (mode, name, bytes.fromhex(to)) for mode, name, to in listed))

    def commit(self, tree: str, more: bytes = b"") -> str:
        who = b"a <a@example.com> 1700000000 +0000"
        return self.put("commit", b"tree %s\n%sauthor %s\ncommitter %s\n\none\n" % (tree.encode(), more, who, who))

    def ref(self, target: str, name: str = "refs/heads/main") -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{target}\n")

    def top(self, *entries: tuple[bytes, bytes, str], name: str = "good", is_sorted: bool = True) -> str:
        """One commit with a document and these beside it."""
        own = (FILE, b"SKILL.md", self.blob(document(name)))
        commit = self.commit(self.tree(own, *entries, is_sorted=is_sorted))
        self.ref(commit)
        return commit

    def nested(self, names: list[bytes], mode: bytes, to: str) -> tuple[bytes, bytes, str]:
        """An entry in folders."""
        for name in reversed(names[1:]):
            mode, to = TREE, self.tree((mode, name, to))
        return mode, names[0], to


@dataclass
class Case:
    """A repository, the ending of its address, and the skills that come of it; none where it has to be refused."""

    name: str
    make: Callable[[Repository], object]
    expected: Skills | None = None
    words: list[str] = field(default_factory=list)
    ending: str = ""


def good(files: Files | None = None, name: str = "good") -> Skills:
    return {name: {"SKILL.md": (document(name), False), **(files or {})}}


def act(repository: Repository, outside: Path) -> str:
    return f"#!/bin/sh\ntouch '{outside}/{MARK}'\n"


def repositories(outside: Path) -> Iterator[Case]:
    x: Files = {"a": (b"x", False)}
    out = str(outside).encode()

    def hooks(one: Repository) -> None:
        one.top((FILE, b"a", one.blob(b"x")))
        for name in ["post-checkout", "reference-transaction", "post-update", "pre-receive", "update", "post-index-change", "fsmonitor-watchman", "pre-auto-gc", "post-merge"]:
            path = one.folder / "hooks" / name
            path.write_text(act(one, outside))
            path.chmod(0o755)
        with (one.folder / "config").open("a") as config:
            config.write(f"\tfsmonitor = touch '{outside}/{MARK}'\n[core]\n\tsshCommand = touch '{outside}/{MARK}'\n\tpager = touch '{outside}/{MARK}'\n[uploadpack]\n\tpackObjectsHook = touch '{outside}/{MARK}'\n")

    yield Case("hooks of the repository", hooks, good(x))
    yield Case("hooks in a tree", lambda one: one.top((FILE, b"a", one.blob(b"x")), one.nested([b"hooks", b"post-checkout"], PROGRAM, one.blob(act(one, outside).encode()))), good({**x, "hooks/post-checkout": (f"#!/bin/sh\ntouch '{outside}/{MARK}'\n".encode(), True)}))
    attributes = b"* text=auto eol=crlf filter=evil ident working-tree-encoding=UTF-16\na export-subst\n"
    yield Case("attributes with filters", lambda one: one.top((FILE, b".gitattributes", one.blob(attributes)), (FILE, b"a", one.blob(b"x"))), good({**x, ".gitattributes": (attributes, False)}))
    config = f"[filter \"evil\"]\n\tsmudge = touch '{outside}/{MARK}'\n[include]\n\tpath = /etc/passwd\n".encode()
    yield Case("a file .gitconfig", lambda one: one.top((FILE, b".gitconfig", one.blob(config))), good({".gitconfig": (config, False)}))
    modules = f'[submodule "a"]\n\tpath = a\n\turl = ext::sh -c touch% {outside}/{MARK}\n'.encode()
    yield Case("a submodule that starts a program", lambda one: one.top((SUBMODULE, b"a", "1" * 40), (FILE, b".gitmodules", one.blob(modules))), good({".gitmodules": (modules, False)}))
    yield Case("a submodule in the place of the document", lambda one: one.ref(one.commit(one.tree((SUBMODULE, b"SKILL.md", "1" * 40)))))
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n"
    yield Case("a pointer of LFS", lambda one: one.top((FILE, b"a", one.blob(pointer)), (FILE, b".gitattributes", one.blob(b"a filter=lfs diff=lfs\n"))), good({"a": (pointer, False), ".gitattributes": (b"a filter=lfs diff=lfs\n", False)}))
    for target in [out, b"/etc/passwd", b"..", b"../up", b".", b"", b"l", b"./l", b"a\\b", b"\xff", b"../" * 20 + b"etc/passwd", b"t" * 5_000, b"/proc/self/environ", b".git/../../x"]:
        yield Case(f"a link to {target[:20]!r}", lambda one, target=target: one.top((LINK, b"l", one.blob(target))))
    yield Case("a link that leads nowhere", lambda one: one.top((LINK, b"l", one.blob(b".git/config"))), good())
    yield Case("a link inside", lambda one: one.top((FILE, b"a", one.blob(b"x")), (LINK, b"l", one.blob(b"a"))), good({**x, "l": (b"x", False)}))
    yield Case("a circle of links", lambda one: one.top((LINK, b"l", one.blob(b"m")), (LINK, b"m", one.blob(b"l"))))
    yield Case("a document that is a link out", lambda one: one.ref(one.commit(one.tree((LINK, b"SKILL.md", one.blob(b"/etc/passwd"))))))
    yield Case("a document that is a link inside", lambda one: one.ref(one.commit(one.tree((LINK, b"SKILL.md", one.blob(b"d.md")), (FILE, b"d.md", one.blob(document("good")))))), good({"d.md": (document("good"), False)}))
    yield Case("a document that is a folder", lambda one: one.ref(one.commit(one.tree((TREE, b"SKILL.md", one.tree((FILE, b"a", one.blob(b"x"))))))))
    yield Case("a link that is a folder, too", lambda one: one.top((LINK, b"l", one.blob(out)), (TREE, b"l", one.tree((FILE, b"a", one.blob(b"x"))))))
    yield Case("links to folders of links", lambda one: one.top(*((LINK, b"l%d" % n, one.blob(b"d")) for n in range(1_000)), (TREE, b"d", one.tree(*((FILE, b"%d" % n, one.blob(b"")) for n in range(100))))))
    yield Case("a link of 200 MiB", lambda one: one.top((LINK, b"l", one.zeros(200 * MIB))))
    for name in [b"..", b".", b"a\\b", b"../up", b"/abs", b"C:a", b"a\nb", b"a\x1b[31m", b"a\x7f", b"\xff", b"\xe2\x80\xaea\n", b"n" * 5_000]:
        yield Case(f"a file named {name[:12]!r}", lambda one, name=name: one.top((FILE, name, one.blob(b"x"))))
    # Elsewhere these would mean something else; gongfu runs on Linux and macOS.
    for name in [b"a/b", b"CON", b"a.", b"a ", b"a*", b"SKILL.md:x"]:
        yield Case(f"a file named {name[:12]!r}", lambda one, name=name: one.top((FILE, name, one.blob(b"x"))), good({name.decode(): (b"x", False)}))
    for name in [b"..", b"a\\b", b"a/../..", b"a\nb", b"\xff", b"..\\.."]:
        yield Case(f"a folder named {name!r}", lambda one, name=name: one.top((TREE, name, one.tree((FILE, b"a", one.blob(b"x"))))))
    for name in [b".git", b".GIT", b"git~1", b".git\xe2\x80\x8c"]:
        left: Files = {} if name == b".git" else {f"{name.decode()}/config": (config, False)}
        yield Case(f"a folder named {name!r}", lambda one, name=name: one.top((TREE, name, one.tree((FILE, b"config", one.blob(config))))), good(left))
    for first, second in [(b"a", b"A"), ("\u00e9".encode(), "e\u0301".encode()), (b"skill.md", b"x"), (b"a.md", b"A.MD")]:
        yield Case(f"twins {first!r}", lambda one, first=first, second=second: one.top((FILE, first, one.blob(b"1")), (FILE, second, one.blob(b"2"))))
    yield Case("a file that is there twice", lambda one: one.top((FILE, b"a", one.blob(b"1")), (FILE, b"a", one.blob(b"2"))), good({"a": (b"2", False)}))
    yield Case("a file and a folder of one name", lambda one: one.top((FILE, b"a", one.blob(b"1")), (TREE, b"a", one.tree((FILE, b"b", one.blob(b"2"))))))
    for mode in [b"104755", b"060000", b"010644", b"100000", b"020666", b"777777", b"0", b"140755"]:
        yield Case(f"an entry of mode {mode.decode()}", lambda one, mode=mode: one.top((mode, b"a", one.blob(b"x"))), good({"a": (b"x", mode == b"104755")}) if mode[:2] == b"10" else good())
    yield Case("folders 100 deep", lambda one: one.top(one.nested([b"d"] * 100 + [b"a"], FILE, one.blob(b"x"))), good({"d/" * 100 + "a": (b"x", False)}))
    yield Case("folders 3,000 deep", lambda one: one.top(one.nested([b"d"] * 3_000 + [b"a"], FILE, one.blob(b"x"))))
    yield Case("folders of a path longer than the system's", lambda one: one.top(one.nested([b"d" * 200] * 30 + [b"a"], FILE, one.blob(b"x"))))

    def bomb(one: Repository) -> None:
        inside = (FILE, b"f", one.blob(b"x"))
        for _ in range(9):
            mode, _, to = inside
            inside = (TREE, b"f", one.tree(*((mode, b"%d" % n, to) for n in range(10))))
        one.top(inside)

    yield Case("trees of a billion files", bomb)
    yield Case("a file of 40 MiB", lambda one: one.top((FILE, b"a", one.zeros(40 * MIB))))
    yield Case("a file of 400 MiB", lambda one: one.top((FILE, b"a", one.zeros(400 * MIB))))
    yield Case("400 MiB that are left out", lambda one: one.top((TREE, b"__pycache__", one.tree(*((FILE, b"%d" % n, one.zeros((100 + n) * MIB)) for n in range(4))))))
    yield Case("a document of 400 MiB", lambda one: one.ref(one.commit(one.tree((FILE, b"SKILL.md", one.zeros(400 * MIB, document("good")))))))

    def documents(one: Repository) -> None:
        text = one.blob(document("long", "x" * (4 * MIB - 200)))
        one.ref(one.commit(one.tree((TREE, b"skills", one.tree(*((TREE, b"s%d" % n, one.tree((FILE, b"SKILL.md", text))) for n in range(60)))))))

    yield Case("60 documents of 4 MiB", documents, {"long": {"SKILL.md": (brief(document("long", "x" * (4 * MIB - 200))), False)}})
    yield Case("2,001 files", lambda one: one.top(*((FILE, b"f%d" % n, one.blob(b"")) for n in range(2_001))))
    yield Case("no commit", lambda one: None)
    yield Case("a branch without its commit", lambda one: one.ref("1" * 40))
    yield Case("a branch that is a blob", lambda one: one.ref(one.blob(b"x")))
    yield Case("a branch that is a tree", lambda one: one.ref(one.tree((FILE, b"SKILL.md", one.blob(document("good"))))))
    yield Case("a commit without its tree", lambda one: one.ref(one.commit("2" * 40)))
    yield Case("a commit of a blob", lambda one: one.ref(one.commit(one.blob(b"x"))))
    yield Case("a file without its content", lambda one: one.top((FILE, b"a", "3" * 40)))
    yield Case("a document without its content", lambda one: one.ref(one.commit(one.tree((FILE, b"SKILL.md", "3" * 40)))))
    yield Case("a damaged commit", lambda one: one.ref(one.put("commit", b"nonsense")))
    yield Case("a damaged tree", lambda one: one.ref(one.commit(one.put("tree", b"100644 a"))))

    def lying(one: Repository) -> None:
        one.top((FILE, b"a", one.blob(b"true")))
        name = one.blob(b"true")
        (one.folder / "objects" / name[:2] / name[2:]).write_bytes(packed("blob", b"lies")[1])

    yield Case("an object that isn't what its name says", lying)

    def replaced(one: Repository) -> None:
        commit = one.top((FILE, b"a", one.blob(b"x")))
        other = one.commit(one.tree((FILE, b"SKILL.md", one.blob(document("other")))))
        one.ref(other, f"refs/replace/{commit}")

    yield Case("a replaced commit", replaced, good(x))
    yield Case("two skills of one name", lambda one: one.ref(one.commit(one.tree(*((TREE, name, one.tree((FILE, b"SKILL.md", one.blob(document("good", name.decode()))))) for name in (b"a", b"b"))))), {"good": {"SKILL.md": (document("good", "a"), False)}})
    yield Case("two skills of one folder", lambda one: one.ref(one.commit(one.tree(*((TREE, name, one.tree((FILE, b"SKILL.md", one.blob(document(declared))))) for name, declared in ((b"a", "Same"), (b"b", "same")))))))
    for name, folder in [("../../../up", "up"), (".git", "git"), ("/abs", "abs"), ("gongfu.lock", "gongfu.lock"), ("n" * 400, "n" * 255)]:
        yield Case(f"a skill named {name[:12]}", lambda one, name=name: one.ref(one.commit(one.tree((FILE, b"SKILL.md", one.blob(document(name)))))), {folder: {"SKILL.md": (document(name), False)}})
    market = b'{"metadata": {"pluginRoot": "./../.."}, "plugins": [{"name": "x", "source": "./../../..", "skills": ["./../../../etc", "/etc"]}, 1, null, {"source": {}}]}'
    for content in [market, b"[" * 200_000, b"\xff", b"null", b"{" * 10]:
        yield Case(f"a marketplace {content[:12]!r}", lambda one, content=content: one.ref(one.commit(one.tree(one.nested([b".claude-plugin", b"marketplace.json"], FILE, one.blob(content)), one.nested([b"skills", b"good", b"SKILL.md"], FILE, one.blob(document("good")))))), good())
    yield Case("a lock that is deep", lambda one: one.ref(one.commit(one.tree((FILE, b"skills-lock.json", one.blob(b'{"skills":' * 100_000)), one.nested([b"skills", b"good", b"SKILL.md"], FILE, one.blob(document("good")))))), good())

    def branches(one: Repository) -> None:
        commit = one.top((FILE, b"a", one.blob(b"x")))
        for name in [f"--upload-pack=touch {outside}/{MARK}".replace(" ", "_"), "-x", "..x.y", "good"]:
            one.ref(commit, f"refs/heads/{name}")

    yield Case("branches like options", branches, good(x))
    for fragment in ["--upload-pack=x", "-x", "--help", "a..b", "a^{/x}", "@{1}", ":x", "refs/heads/../../x", "a b", "a~1", "nosuch", "1" * 40, "HEAD:SKILL.md", "a.lock", "x/.y"]:
        yield Case(f"the branch {fragment[:20]}", branches, None, [], f"#{fragment}")
        if "=" not in fragment:
            yield Case(f"--ref {fragment[:20]}", branches, None, [f"--ref={fragment}"])
    for name in ["--help", "../../up", "-x", "/etc", "a/../..", "$(touch x)"]:
        yield Case(f"the skill {name}", branches, None, [f"--skill={name}"])
    yield Case("a good branch", branches, good(x), [], "#good")


def addresses(outside: Path) -> list[str]:
    """Sources that would start something, or lead elsewhere."""
    run = f"touch {outside}/{MARK}"
    return [
        f"ext::sh -c {run}", f"ext::{run}", "fd::3", "file::/tmp", "transport::address", f"--upload-pack={run}", f"-u{run}", "-c core.x=y",
        f"ssh://-oProxyCommand={run}/x", f"ssh://-oProxyCommand=x@h.example/x", "ssh://u@-h/x", "git://127.0.0.1/x.git", "ftp://127.0.0.1/x.git", "rsync://127.0.0.1/x",
        "git@-oProxyCommand=x:y", "-x@h:y", "user@host:-x", "user@host:--upload-pack=x", "file://host/x.git", "file://127.0.0.1/etc", "http://h.example/x.git",
        "https://user:secret@h.example/x.git", "http://169.254.169.254/x.git", "a\nb/c", "owner/../..", "owner/repo/../../../x", "owner/-x", "-o/r", "github:../x/y",
        "npm:--help", "npm:-g", "npm:../x", "npm:x@file:..", "npm:x@.", "npm:x@..", "npm:x@-g", "npm:x@https://h.example/x", "npm:@x/../y", "npm:x@git+ssh://h/x", "npm:x@~/y", "npm:/etc", "npm:x y",
        "/dev/zero", "/proc/self/mem", "/dev/stdin", "/etc/shadow/x", "~root/x.zip", "./nosuch.zip",
    ]  # fmt: skip


def line(content: bytes) -> bytes:
    return b"%04x" % (len(content) + 4) + content


def pack(*objects: tuple[int, bytes], count: int | None = None, sizes: dict[int, int] | None = None) -> bytes:
    out = b"PACK" + struct.pack(">II", 2, len(objects) if count is None else count)
    for at, (kind, data) in enumerate(objects):
        size = (sizes or {}).get(at, len(data))
        head, size = [(kind << 4) | (size & 15)], size >> 4
        while size:
            head[-1] |= 0x80
            head.append(size & 0x7F)
            size >>= 7
        out += bytes(head) + zlib.compress(data)
    return out + hashlib.sha1(out).digest()


def objects() -> tuple[str, list[tuple[int, bytes]]]:
    """A good commit, and its objects for a pack."""
    blob = document("good")
    tree = b"100644 SKILL.md\0" + bytes.fromhex(packed("blob", blob)[0])
    who = b"a <a@example.com> 1700000000 +0000"
    commit = b"tree %s\nauthor %s\ncommitter %s\n\none\n" % (packed("tree", tree)[0].encode(), who, who)
    return packed("commit", commit)[0], [(1, commit), (2, tree), (3, blob)]


CAPABILITIES = b"shallow allow-tip-sha1-in-want allow-reachable-sha1-in-want no-done symref=HEAD:refs/heads/main agent=x"


def advertised(commit: str, more: bytes = b"") -> bytes:
    first = line(f"{commit} HEAD\0".encode() + CAPABILITIES + b"\n")
    return line(b"# service=git-upload-pack\n") + b"0000" + first + line(f"{commit} refs/heads/main\n".encode()) + more + b"0000"


def smart(refs: bytes | Answer | None = None, answer: bytes | Answer | None = None) -> Answer:
    """A server that speaks as git does, but for what is given."""
    commit, all_objects = objects()
    # A shallow fetch is asked for twice: at first without what is to be sent.
    asked = line(f"shallow {commit}\n".encode()) + b"0000"
    before = asked + line(b"NAK\n")

    def serve(exchange: Exchange) -> None:
        is_refs = "/info/refs" in exchange.path
        given = refs if is_refs else answer
        if callable(given):
            is_first = not is_refs and b"deepen" in exchange.body and b"0009done" not in exchange.body
            if not is_first:
                return given(exchange)
            given = b""
        if given is None:
            given = advertised(commit) if is_refs else before + pack(*all_objects)
        elif not is_refs:
            given = before + given
        if not is_refs and b"0009done" not in exchange.body:
            given = asked
        kind = "advertisement" if is_refs else "result"
        exchange.respond(given, headers=f"content-type: application/x-git-upload-pack-{kind}\r\n")

    return serve


@dataclass
class Wire:
    """A server of git, and the skills that come of it; none where it has to be refused."""

    name: str
    answer: Answer
    expected: Skills | None = None
    ending: str = ""
    is_slow: bool = False
    is_large: bool = False


def wires(private: str, outside: Path) -> Iterator[Wire]:
    commit, all_objects = objects()
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/x-git-upload-pack-%s\r\n\r\n"
    before = line(f"shallow {commit}\n".encode()) + b"0000" + line(b"NAK\n")
    yield Wire("a good server", smart(), good())
    for name, refs in [
        ("nothing", b""), ("a page", b"<html>"), ("another service", line(b"# service=git-receive-pack\n") + b"0000"), ("a line of length 3", b"0003"), ("a line of length ffff", b"ffff" + b"x" * 70_000), ("no hexadecimal length", b"zzzz"),
        ("half a line", b"00ff# serv"), ("only an end", b"0000"), ("an error", line(b"# service=git-upload-pack\n") + b"0000" + line(b"ERR \x1b[31mred\x1b]0;title\x07 no\n")), ("no name", advertised(commit)[:-4] + line(commit.encode() + b"\n") + b"0000"),
        ("a short id", line(b"# service=git-upload-pack\n") + b"0000" + line(b"123 HEAD\0" + CAPABILITIES + b"\n") + b"0000"), ("an id of zeros", advertised(NOTHING)), ("no end", advertised(commit)[:-4]),
        ("names that lead out", line(b"# service=git-upload-pack\n") + b"0000" + line(f"{commit} refs/heads/../../../hooks/x\0".encode() + CAPABILITIES + b"\n") + b"0000"), ("an unknown algorithm", advertised(commit).replace(b"agent=x", b"object-format=md5")),
        ("version 2 of nonsense", line(b"# service=git-upload-pack\n") + b"0000" + line(b"version 2\n") + line(b"\xff\n") + b"0000"), ("version 9", line(b"# service=git-upload-pack\n") + b"0000" + line(b"version 9\n") + b"0000"),
        ("a bundle elsewhere", line(b"version 2\n") + line(b"ls-refs\n") + line(b"bundle-uri\n") + b"0000"),
    ]:  # fmt: skip
        yield Wire(f"refs: {name}", smart(refs))
    for name, content in [
        ("nothing", b""), ("garbage", b"garbage" * 50), ("half a pack", pack(*all_objects)[:60]), ("a pack without its sum", pack(*all_objects)[:-20]), ("a wrong sum", pack(*all_objects)[:-1] + b"\0"), ("a billion objects", pack(*all_objects, count=10**9)),
        ("fewer objects", pack(*all_objects, count=1)), ("no objects", pack()), ("a size that lies", pack(*all_objects, sizes={2: 10})), ("a size of 2^60", pack(*all_objects, sizes={2: 2**60})), ("a size of 4 GiB", pack(*all_objects, sizes={2: 2**32})),
        ("another version", pack(*all_objects).replace(b"PACK\0\0\0\2", b"PACK\0\0\0\x09")), ("an unknown kind", pack((5, b"x"))), ("a delta without a base", pack((6, b"\1x"))), ("a delta of an unknown base", pack((7, b"\0" * 20))), ("only the commit", pack(all_objects[0])),
        ("another commit", pack((1, all_objects[0][1].replace(b"one", b"two")), *all_objects[1:])), ("garbage after it", pack(*all_objects) + b"garbage"), ("a zlib that ends early", pack(*all_objects)[:40] + b"\0" * 40),
    ]:  # fmt: skip
        yield Wire(f"pack: {name}", smart(answer=content))
    yield Wire("another commit than the one that was asked for", smart(), None, "#" + "4" * 40)
    yield Wire("an error amid the pack", smart(answer=lambda exchange: exchange.respond(line(b"ERR \x1b[2Jno\n"), headers="content-type: application/x-git-upload-pack-result\r\n")))
    for target in [f"{private}/x.git/info/refs", f"{private}/x.git/info/refs?service=git-upload-pack", "file:///etc", f"ext::sh -c touch% {outside}/{MARK}", "https://127.0.0.1/x", "//169.254.169.254/x"]:
        for status in ["301 Moved", "302 Found", "307 Temporary"]:
            yield Wire(f"refs redirect ({status[:3]}) to {target[:30]}", smart(lambda exchange, target=target, status=status: exchange.redirect(target, status)))
        yield Wire(f"the pack redirects to {target[:30]}", smart(answer=lambda exchange, target=target: exchange.redirect(target)))
    for status in ["400 Bad", "401 Unauthorized", "403 Forbidden", "404 Not Found", "407 Proxy", "429 Too Many", "500 Error", "503 Unavailable", "204 No Content", "304 Not Modified"]:
        yield Wire(f"refs: status {status[:3]}", smart(lambda exchange, status=status: exchange.respond(b"\x1b[31mno", status, 'www-authenticate: Basic realm="\x1b[31m"\r\n')))
        yield Wire(f"pack: status {status[:3]}", smart(answer=lambda exchange, status=status: exchange.respond(b"no", status)))
    yield Wire("a plain list of refs with alternates elsewhere", dumb(private, commit))
    yield Wire("a wrong kind of content", smart(lambda exchange: exchange.respond(advertised(commit), headers="content-type: text/html\r\n")))
    yield Wire("a length that lies", smart(lambda exchange: exchange.respond(advertised(commit), headers="content-type: application/x-git-upload-pack-advertisement\r\n", length="99999999")))
    yield Wire("a reset", smart(lambda exchange: exchange.raw(b"HTTP/1.1 200")))
    large = bytes(4) + os.urandom(65_531)

    def blocks(exchange: Exchange) -> None:
        """A file of 10 GiB that isn't packed, in blocks of zlib."""
        size, first = 10 * 1024 * MIB, [(3 << 4) | 0x80]
        rest = size >> 4
        while rest:
            first.append((rest & 0x7F) | (0x80 if rest >> 7 else 0))
            rest >>= 7
        exchange.raw(head % b"result" + before + b"PACK" + struct.pack(">II", 2, 1) + bytes(first) + b"\x78\x01")
        exchange.endless((b"\0" + struct.pack("<HH", 65_535, 0) + large) * 16, 60, size)

    yield Wire("a pack of 10 GiB", smart(answer=blocks), is_large=True)
    yield Wire("a pack of noise without end", smart(answer=lambda exchange: (exchange.raw(head % b"result" + before), exchange.endless(large * 16, 60))[0]))
    yield Wire("a file of 2 GiB of zeros", smart(answer=zeros), expected=good(), is_large=True)
    names = b"".join(line(f"{commit} refs/heads/{n:08}\n".encode()) for n in range(20_000))
    yield Wire("refs without end", smart(lambda exchange: (exchange.raw(head % b"advertisement" + advertised(commit)[:-4]), exchange.endless(names, 60, 4 << 30))[0]), is_large=True)
    yield Wire("no answer", smart(lambda exchange: time.sleep(140)), is_slow=True)
    yield Wire("no pack", smart(answer=lambda exchange: time.sleep(140)), is_slow=True)
    yield Wire("a pack that trickles", smart(answer=lambda exchange: (exchange.raw(head % b"result" + before + b"PACK"), exchange.trickle(140))[0]), is_slow=True)


def zeros(exchange: Exchange) -> None:
    """A good pack with a file of 2 GiB more, which packs well."""
    commit, all_objects = objects()
    whole = pack(*all_objects)
    size, head = 2048 * MIB, [(3 << 4) | 0x80]
    rest = size >> 4
    while rest:
        head.append((rest & 0x7F) | (0x80 if rest >> 7 else 0))
        rest >>= 7
    packer, sum_ = zlib.compressobj(1), hashlib.sha1()
    exchange.raw(b"HTTP/1.1 200 OK\r\ncontent-type: application/x-git-upload-pack-result\r\n\r\n")
    exchange.raw(line(f"shallow {commit}\n".encode()) + b"0000" + line(b"NAK\n"))
    zero = bytes(MIB)
    for at in range(2_050):
        part = b"PACK" + struct.pack(">II", 2, 4) + whole[12:-20] + bytes(head) if at == 0 else packer.compress(zero) if at <= 2_048 else packer.flush()
        sum_.update(part)
        exchange.raw(part)
    exchange.raw(sum_.digest())


def dumb(private: str, commit: str) -> Answer:
    """A server without git's protocol, whose objects are elsewhere."""

    def serve(exchange: Exchange) -> None:
        path = exchange.path.partition("?")[0]
        if path.endswith("/info/refs"):
            exchange.respond(f"{commit}\trefs/heads/main\n".encode(), headers="content-type: text/plain\r\n")
        elif path.endswith("/HEAD"):
            exchange.respond(b"ref: refs/heads/main\n")
        elif path.endswith("alternates"):
            exchange.respond(f"{private}/objects\nfile:///etc\n/etc\n".encode())
        else:
            exchange.respond(b"", "404 Not Found")

    return serve


def backend(folder: Path, variables: dict[str, str]) -> Answer:
    """git's own server of the repositories in a folder."""

    def serve(exchange: Exchange) -> None:
        path, _, query = exchange.path.partition("?")
        environment = {
            **variables, "GIT_PROJECT_ROOT": str(folder), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": exchange.method,
            "CONTENT_TYPE": exchange.header("content-type"), "HTTP_CONTENT_ENCODING": exchange.header("content-encoding"), "GIT_PROTOCOL": exchange.header("git-protocol"), "REMOTE_ADDR": "127.0.0.1",
        }  # fmt: skip
        ran = subprocess.run(["git", "http-backend"], env=environment, input=exchange.body, capture_output=True, timeout=120)
        head, _, body = ran.stdout.partition(b"\r\n\r\n")
        lines = [line for line in head.decode().split("\r\n") if line]
        status = next((line.partition(": ")[2] for line in lines if line.lower().startswith("status:")), "200 OK")
        exchange.respond(body, status, "".join(f"{line}\r\n" for line in lines if not line.lower().startswith("status:")))

    return serve
