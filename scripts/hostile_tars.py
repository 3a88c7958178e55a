"""Tar archives that attack, and zip archives with links, each with what an import has to make of it."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hostile_archives import DEFLATED, Entry, Maker, build, honest
from import_world import Files, Skills, brief, document

BLOCK = 512
MIB = 1024 * 1024


@dataclass
class Case:
    """An archive, and the skills that it has to be; none where it has to be refused."""

    family: str
    name: str
    ending: str
    make: Callable[[], bytes]
    expected: Skills | None = None


def head(
    name: bytes, kind: bytes = b"0", size: int | bytes = 0, mode: int = 0o644, link: bytes = b"", prefix: bytes = b"",
    magic: bytes = b"ustar\x0000", checksum: int | None = None,
) -> bytes:  # fmt: skip
    length = b"%011o\0" % size if isinstance(size, int) else size
    block = name[:100].ljust(100, b"\0") + b"%07o\0" % (mode & 0o7777777) + b"0000000\0" * 2 + length[:12].ljust(12, b"\0")
    block += b"00000000000\0" + b" " * 8 + kind + link[:100].ljust(100, b"\0") + magic + b"\0" * 64 + b"0000000\0" * 2
    block = (block + prefix[:155].ljust(155, b"\0")).ljust(BLOCK, b"\0")
    total = sum(block) if checksum is None else checksum
    return block[:148] + b"%06o\0 " % total + block[156:]


def filled(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % BLOCK)


def entry(name: bytes | str, data: bytes = b"x", kind: bytes = b"0", size: int | bytes | None = None, **more: object) -> bytes:
    name = name.encode() if isinstance(name, str) else name
    return head(name, kind, len(data) if size is None else size, **more) + filled(data)  # type: ignore[arg-type]


def link(name: str, target: str | bytes, kind: bytes = b"2") -> bytes:
    return entry(name, b"", kind, link=target.encode() if isinstance(target, str) else target, mode=0o777)


def record(key: str, value: bytes, length: bytes | None = None) -> bytes:
    rest = b" %s=%s\n" % (key.encode(), value)
    size = len(rest) + 1
    while len(b"%d" % size) + len(rest) != size:
        size += 1
    return (b"%d" % size if length is None else length) + rest


def pax(*records: bytes, kind: bytes = b"x") -> bytes:
    return entry("PaxHeader", b"".join(records), kind)


def gnu(name: bytes, kind: bytes = b"L") -> bytes:
    return entry("././@LongLink", name, kind)


def archive(*entries: bytes, end: bytes = b"\0" * 1024) -> bytes:
    return b"".join(entries) + end


@dataclass
class TarMaker:
    """Makes the cases; those that would write outside name a folder that is looked at afterwards."""

    outside: str
    random: random.Random

    def skill(self, name: str) -> bytes:
        return entry("SKILL.md", document(name))

    def refused(self) -> Iterator[tuple[str, list[bytes]]]:
        """Families, and the entries after that of the skill."""
        out = self.outside
        for target in [out, "/etc/passwd", "..", ".", "", "../..", "../../up", f"{'../' * 9}etc/passwd", "/", "/proc/self/environ", "a\\b", "link", "//x", "a/../..", "./link"]:
            yield "link-out", [link("link", target)]
        for target in ["../..", "..", "../../../up", "../b", "/a/b", "../../..", "../b/link", "link", "../../a"]:
            yield "link-deep", [entry("a/x"), link("a/b/link", target)]
        yield "link-circle", [link("x", "y"), link("y", "x")]
        yield "link-utf8", [link("x", b"\xff\xfe")]
        for target in [out, "a", "."]:
            yield "link-then-below", [link("link", target), entry("link/below.txt")]
            yield "below-then-link", [entry("link/below.txt"), link("link", target)]
            yield "link-twice", [link("link", target), link("link", "SKILL.md")]
            yield "link-then-file", [link("link", target), entry("link", b"over")]
        for target in ["/etc/passwd", f"{out}/secret.txt", "../up", "a/../../up"]:
            yield "hard-out", [link("hard", target, b"1")]
            yield "hard-then-below", [link("hard", target, b"1"), entry("hard/x")]
        yield "hard-content", [entry("hard", b"content", b"1", link=b"SKILL.md")]
        yield "link-content", [entry("link", b"content", b"2", link=b"SKILL.md")]
        yield "link-folder-name", [link("link/", "SKILL.md")]
        yield "link-long", [gnu(b"t" * 5_000, b"K"), link("link", "x")]
        yield "link-two-long", [gnu(b"t", b"K"), pax(record("linkpath", b"u")), link("link", "x")]
        yield "file-with-link", [gnu(b"/etc/passwd", b"K"), entry("a")]
        yield "pax-file-with-link", [pax(record("linkpath", b"/etc/passwd")), entry("a")]
        yield "pax-link-out", [pax(record("linkpath", b"/etc/passwd")), link("link", "SKILL.md")]
        for kind in b"3467SMVDNXAZ9":
            yield f"kind-{chr(kind)}", [entry("device", b"", bytes([kind]))]
        for mode in [0o4755, 0o2755, 0o6755, 0o4644]:
            yield f"setuid-{mode:o}", [entry("run", mode=mode)]
        for key in ["GNU.sparse.major", "GNU.sparse.size", "GNU.sparse.map", "GNU.sparse.name"]:
            yield "sparse", [pax(record(key, b"1")), entry("a")]
        for size in [b"-1", b"9" * 30, b"18446744073709551615", b"2", b"", b"0x1", b"1e3", b" 1", b"1 ", b"8589934592"]:
            yield "pax-size", [pax(record("size", size)), entry("a")]
        for length in [b"0", b"-5", b"999999", b"99999999999999999999999", b"", b"3", b"+12", b"12x", b"1"]:
            yield "pax-length", [pax(record("path", b"a", length)), entry("b")]
        for name in [b"../up", b"/abs", b"a/../../up", b"a\\b", b"\xff", b"a\0b", b"", b"CON", b"a/./../..", b"\n", b"C:/x"]:
            yield "pax-path", [pax(record("path", name)), entry("b")]
            yield "gnu-name", [gnu(name + b"\0"), entry("b")]
        yield "pax-twice", [pax(record("path", b"a"), record("path", b"b")), entry("c")]
        yield "pax-two-lists", [pax(record("path", b"a")), pax(record("path", b"b")), entry("c")]
        yield "pax-no-end", [entry("PaxHeader", b"9 path=a", b"x"), entry("c")]
        yield "pax-no-value", [entry("PaxHeader", b"7 path\n", b"x"), entry("c")]
        yield "pax-alone", [pax(record("path", b"a"))]
        for key, value in [("path", b"a"), ("size", b"1"), ("linkpath", b"a"), ("GNU.sparse.major", b"1")]:
            yield "pax-global", [pax(record(key, value), kind=b"g"), entry("c")]
        yield "pax-long", [pax(record("comment", b"c" * 200_000)), entry("c")]
        yield "pax-huge", [head(b"PaxHeader", b"x", 0o77777777777), entry("c")]
        yield "gnu-twice", [gnu(b"a\0"), gnu(b"b\0"), entry("c")]
        yield "gnu-and-pax", [gnu(b"a\0"), pax(record("path", b"b")), entry("c")]
        yield "gnu-alone", [gnu(b"a\0")]
        yield "gnu-long", [gnu(b"a/" * 500_000), entry("c")]
        yield "gnu-nul", [gnu(b"a\0/../../b"), entry("c")]
        yield "gnu-huge", [head(b"././@LongLink", b"L", 0o77777777777), entry("c")]
        for size in [b"77777777777\0", b"\x80" + b"\xff" * 11, b"\xff" * 12, b"-0000000001\0", b"xyz", b"99999999999\0", b"\x80\0\0\0" + b"\x7f" + b"\xff" * 7]:
            yield "size", [entry("a", b"x", size=size)]
        yield "checksum", [entry("a", checksum=1)]
        yield "checksum-zero", [entry("a", checksum=0)]
        yield "magic", [entry("a", magic=b"ustar  \0"), entry("../up", magic=b"ustar  \0")]
        for name in ["../up.txt", "a/../../up.txt", "..", "/abs.txt", "//abs", f"{out}/abs.txt", "/etc/gongfu-proof.txt", "a\\b", "..\\up", "\\\\host\\share", "C:/a", "c:a", "a/C:b", "SKILL.md:stream", "a::$DATA", "CON", "nul.txt", "com1", "Aux.tar.gz", "a.", "b ", "a?b", "a*", 'a"b', "<a>", "a|b", "a\tb", "a\x1bb", "a\x7fb", "", "a\u202eb\n"]:
            yield "names", [entry(name)]
        yield "names-utf8", [entry(b"caf\xe9")]
        yield "names-overlong", [entry(b"a\xc0\xaf..")]
        yield "prefix", [entry("b", prefix=b"..")]
        yield "prefix-absolute", [entry("b", prefix=b"/etc")]
        for first, second in [("a", "a"), ("a", "A"), ("x/\u00e9", "x/\u00c9"), ("caf\u00e9", "cafe\u0301"), ("\u212b", "\u00c5"), ("a", "a/b"), ("a/b", "a"), ("x/y", "X/Y/z"), ("b/c.md", "B/C.MD"), ("a", "skill.md"), ("SKILL.MD", "a"), ("stra\u00dfe", "STRA\u1e9eE")]:
            yield "twins", [entry(first), entry(second)]
        yield "twice", [self.skill("other")]
        yield "folder-content", [entry("a", b"x", b"5")]
        yield "folder-file", [entry("a/", b"x")]
        yield "deep", [entry("d/" * 25 + "a")]
        yield "very-deep", [gnu(b"d/" * 2_000 + b"a\0"), entry("b")]
        yield "long-name", [gnu(b"n" * 300 + b"\0"), entry("b")]
        yield "many", [entry(f"f/{number}", b"") for number in range(2_001)]
        yield "after-end", [b"\0" * 1024, entry("a")]
        yield "after-one-zero-block", [b"\0" * BLOCK, entry("a")]

    def accepted(self) -> Iterator[tuple[str, list[bytes], Files]]:
        """Harmless ones: families, entries, and the files besides the document."""
        one = (b"x", False)
        yield "link-inside", [entry("a"), link("b", "a")], {"a": one, "b": one}
        yield "link-to-folder", [entry("d/a"), link("e", "d")], {"d/a": one, "e/a": one}
        yield "link-up-and-down", [entry("d/a"), entry("e/c"), link("e/b", "../d/./a")], {"d/a": one, "e/b": one, "e/c": one}
        yield "link-nowhere", [link("b", "none")], {}
        yield "link-chain", [entry("a"), link("b", "c"), link("c", "a")], {"a": one, "b": one, "c": one}
        yield "link-long-name", [entry("a"), gnu(b"./" * 100 + b"a\0", b"K"), link("b", "")], {"a": one, "b": one}
        yield "hard-inside", [entry("a"), link("b/c", "a", b"1")], {"a": one, "b/c": one}
        yield "hard-later", [link("b", "a", b"1"), entry("a")], {"a": one, "b": one}
        yield "sticky", [entry("a", mode=0o1644)], {"a": one}
        yield "no-rights", [entry("a", mode=0)], {"a": one}
        yield "all-rights", [entry("a", mode=0o777)], {"a": (b"x", True)}
        yield "mode-of-file", [entry("a", mode=0o100644)], {"a": one}
        yield "folders", [entry("d/", b"", b"5"), entry("d", b"", b"5"), entry("d/a")], {"d/a": one}
        yield "pax-comment", [pax(record("comment", b"c" * 40), kind=b"g"), pax(record("mtime", b"1.5"), record("path", b"a")), entry("b")], {"a": one}
        yield "pax-size", [pax(record("size", b"1")), entry("a")], {"a": one}
        yield "gnu-name", [gnu(b"n/" * 10 + b"m" * 150 + b"\0"), entry("b")], {"n/" * 10 + "m" * 150: one}
        yield "old-regular", [entry("a", kind=b"\0")], {"a": one}
        yield "dot-slash", [entry("./a")], {"a": one}
        yield "hidden", [entry(".hidden")], {".hidden": one}
        yield "git-left-out", [entry(".git/config", b"[core]\n\thooksPath = x\n"), entry("a")], {"a": one}
        yield "left-out", [entry("metadata.json"), entry("__pycache__/a"), entry("a")], {"a": one}
        yield "depth-13", [entry("d/" * 13 + "a")], {"d/" * 13 + "a": one}
        yield "right-to-left", [entry("a\u05d0b")], {"a\u05d0b": one}

    def tars(self) -> Iterator[Case]:
        number = 0
        for family, entries in self.refused():
            for is_packed in (False, True):
                number += 1
                whole = archive(self.skill(f"hostile-{number}"), *entries)
                if family == "magic":
                    whole = archive(entry("SKILL.md", document(f"hostile-{number}"), magic=b"ustar  \0"), *entries)
                yield case(f"tar:{family}", f"{family}-{number}", whole, is_packed)
        for family, entries, files in self.accepted():
            for is_packed in (False, True):
                number += 1
                name = f"harmless-{number}"
                expected = {name: {"SKILL.md": (document(name), False), **files}}
                yield case(f"tar:{family}", name, archive(self.skill(name), *entries), is_packed, expected)

    def damaged(self) -> Iterator[Case]:
        whole = archive(self.skill("whole"), entry("a", self.random.randbytes(3_000)))
        for at in range(300, len(whole) - 1024, 333):
            yield Case("tar:truncated", f"truncated-{at}", "tar", lambda at=at: whole[:at])
        packed = gzip.compress(whole, mtime=0)
        for at in [3, 9, 10, 11, 20, *range(60, len(packed) - 1, 333), len(packed) - 9, len(packed) - 8, len(packed) - 4, len(packed) - 1]:
            yield Case("gzip:truncated", f"gzip-truncated-{at}", "tar.gz", lambda at=at: packed[:at])
        for at in range(11, len(packed), 171):
            flipped = packed[:at] + bytes([packed[at] ^ 0x55]) + packed[at + 1 :]
            yield Case("gzip:damaged", f"gzip-damaged-{at}", "tar.gz", lambda flipped=flipped: flipped)
        second = gzip.compress(archive(entry("../up")), mtime=0)
        for name, content in [
            ("trailing garbage", packed + b"garbage"), ("trailing member", packed + second), ("trailing zip", packed + build([Entry(b"a")])),
            ("twice packed", gzip.compress(packed)), ("no tar", gzip.compress(b"text" * 1_000)), ("empty", gzip.compress(b"")),
            ("only zeros", gzip.compress(bytes(20_000))), ("wrong length", packed[:-4] + b"\1\0\0\0"), ("wrong sum", packed[:-8] + b"\1\0\0\0" + packed[-4:]),
            ("reserved flags", packed[:3] + b"\xe0" + packed[4:]), ("other method", packed[:2] + b"\7" + packed[3:]), ("head alone", packed[:10]),
            ("zip inside", gzip.compress(build([Entry(b"SKILL.md", document("inside"))]))), ("bomb", gzip.compress(bytes(300 * MIB), 9)),
            ("bomb in tar", gzip.compress(archive(self.skill("bomb"), entry("zeros", bytes(31 * MIB))), 9)),
            ("bomb after the end", gzip.compress(whole + bytes(400 * MIB), 9)),
            ("bomb of members", gzip.compress(bytes(MIB), 9) * 400),
        ]:  # fmt: skip
            yield Case("gzip:other", f"gzip {name}", "tar.gz", lambda content=content: content)
        for name, content in [("bz2", bz2.compress(whole)), ("xz", lzma.compress(whole)), ("7z", b"7z\xbc\xaf\x27\x1c" + bytes(100)), ("rar", b"Rar!\x1a\7\1\0" + bytes(100)), ("nothing", b""), ("zeros", bytes(2_000)), ("one byte", b"P"), ("garbage before", b"#!/bin/sh\n" + build([Entry(b"SKILL.md", document("late"))])), ("document with NUL", b"---\nname: \0\n---\n\xff")]:  # fmt: skip
            yield Case("other format", f"other {name}", self.random.choice(["zip", "tar", "skill"]), lambda content=content: content)
        yield Case("tar:many", "100,000 entries", "tar", lambda: archive(self.skill("many"), *(entry(f"f/{n}", b"") for n in range(100_000))))
        yield Case("tar:large", "33 MiB", "tar", lambda: archive(self.skill("large"), entry("a", self.random.randbytes(33 * MIB))))
        yield Case("tar:total", "more than 256 MiB", "tar.gz", lambda: gzip.compress(archive(self.skill("total"), *(entry(f"f{n}", self.loose(n) * 31) for n in range(9))), 1))
        yield Case("tar:skill", "a skill of more than 64 MiB", "tar.gz", lambda: gzip.compress(archive(self.skill("total"), *(entry(f"f{n}", self.loose(n) * 31) for n in range(3))), 1))
        yield Case("tar:left-out", "long files that are left out", "tar.gz", lambda: gzip.compress(archive(self.skill("total"), *(entry(f"__pycache__/f{n}", self.loose(n) * 31) for n in range(3))), 1))
        amplified = [entry("big", self.loose(1) * 30), *(link(f"copy-{n}", "big") for n in range(3))]
        yield Case("tar:links", "links that stand for too much", "tar.gz", lambda: gzip.compress(archive(self.skill("amplified"), *amplified), 1))
        folders = [entry(f"d0/{n}", b"x") for n in range(30)] + [link(f"d{at + 1}/l{n}", f"../d{at}") for at in range(4) for n in range(30)]
        yield Case("tar:links", "links to folders of links", "tar", lambda: archive(self.skill("folders"), *folders, *(link(f"many/{n}", "../d0") for n in range(1_000))))

    def loose(self, seed: int) -> bytes:
        """A mebibyte that packs about twenty times."""
        chance = random.Random(seed)
        return b"".join(chance.randbytes(40) + bytes([n % 251]) * 984 for n in range(1_024))

    def zips(self) -> Iterator[Case]:
        name = "zip-links"
        mode = 0o120777
        base, one = [Entry(b"SKILL.md", document(name)), Entry(b"a", b"x")], (b"x", False)
        files = {"SKILL.md": (document(name), False), "a": one}
        for target in [self.outside, "/etc/passwd", "..", ".", "../up", "", "a\\b", "l", "/", "t" * 5_000, b"\xff"]:
            raw = target if isinstance(target, bytes) else target.encode()
            yield Case("zip:link-out", f"zip link to {target!r:.30}", "zip", lambda raw=raw: build([*base, Entry(b"l", raw, mode=mode)]))
        yield Case("zip:link-below", "zip link and below", "zip", lambda: build([*base, Entry(b"l", self.outside.encode(), mode=mode), Entry(b"l/x", b"x")]))
        yield Case("zip:link-encrypted", "zip link encrypted", "zip", lambda: build([*base, Entry(b"l", b"a", mode=mode, flags=0x801)]))
        yield Case("zip:link-bomb", "zip link bomb", "zip", lambda: build([*base, Entry(b"l", bytes(10 * MIB), DEFLATED, mode=mode)]))
        yield Case("zip:link-document", "zip document is a link out", "zip", lambda: build([Entry(b"SKILL.md", b"/etc/passwd", mode=mode)]))
        yield Case("zip:link-inside", "zip link inside", "zip", lambda: build([*base, Entry(b"l", b"a", mode=mode)]), {name: {**files, "l": one}})
        yield Case("zip:link-document", "zip document is a link inside", "zip", lambda: build([Entry(b"d.md", document(name)), Entry(b"SKILL.md", b"d.md", mode=mode)]), {name: {"SKILL.md": (document(name), False), "d.md": (document(name), False)}})
        yield Case("zip:link-nowhere", "zip link nowhere", "skill", lambda: build([*base, Entry(b"l", b"none", mode=mode)]), {name: files})
        two = [Entry(b"%s/SKILL.md" % one, document(one.decode())) for one in (b"good", b"other")]
        yield Case("zip:no-document", "zip without a document", "zip", lambda: build([Entry(b"README.md", b"x")]))
        yield Case("zip:empty", "zip without entries", "zip", lambda: build([]))
        yield Case("zip:two", "zip of two skills", "zip", lambda: build(two), {one: {"SKILL.md": (document(one), False)} for one in ("good", "other")})
        yield Case("zip:two", "zip of two skills with one link out", "zip", lambda: build([*two, Entry(b"other/l", b"/etc/passwd", mode=mode)]))
        yield Case("zip:two", "zip of two skills of one name", "zip", lambda: build([Entry(b"%s/SKILL.md" % one, document(name)) for name, one in [("Same", b"a"), ("same", b"b")]]))
        yield Case("zip:macos", "zip with files of macOS", "zip", lambda: build([*base, Entry(b"__MACOSX/._a", b"x")]), {name: files})
        yield Case("zip:hostile-name", "zip of a skill named ../../up", "zip", lambda: build([Entry(b"SKILL.md", document("../../up"))]), {"up": {"SKILL.md": (document("../../up"), False)}})
        yield Case("zip:depth", "zip 13 deep", "zip", lambda: build([*base, Entry(b"d/" * 13 + b"a", b"x")]), {name: {**files, "d/" * 13 + "a": one}})
        yield Case("zip:depth", "zip 25 deep", "zip", lambda: build([*base, Entry(b"d/" * 25 + b"a", b"x")]))
        chance = random.Random(self.random.random())
        skipped = {"links", "deep", "no_document", "two_documents", "bad_document"}
        maker = Maker(chance, self.outside)
        for at, hostile in enumerate(maker.all(400)):
            if hostile.family not in skipped:
                yield Case(f"zip:{hostile.family}", hostile.name, ["zip", "skill"][at % 2], lambda hostile=hostile: hostile.content)


def case(family: str, name: str, whole: bytes, is_packed: bool, expected: Skills | None = None) -> Case:
    return Case(family, f"{name}{'.gz' if is_packed else ''}", "tar.gz" if is_packed else "tar", lambda: gzip.compress(whole, mtime=0) if is_packed else whole, expected)


def honest_cases(chance: random.Random, count: int) -> Iterator[Case]:
    """Honest skills, each as every kind of archive."""
    for at in range(count):
        name, files, zipped = honest(chance, at)
        yield Case("honest", f"{name} zip", "zip", lambda zipped=zipped: zipped, {name: files})
        yield Case("honest", f"{name} skill", "skill", lambda zipped=zipped: zipped, {name: files})
        for style in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            out = io.BytesIO()
            with tarfile.open(fileobj=out, mode="w", format=style) as tar:
                for path, (content, is_program) in files.items():
                    info = tarfile.TarInfo(f"top/{path}")
                    info.size, info.mode = len(content), 0o755 if is_program else 0o644
                    tar.addfile(info, io.BytesIO(content))
            yield case("honest", f"{name} {style}", out.getvalue(), style != tarfile.USTAR_FORMAT, {name: files})
    sizes = [30 * MIB, 30 * MIB]
    large: Skills = {f"large-{n}": {"SKILL.md": (document(f"large-{n}"), False), **{f"f{at}": (TarMaker("", chance).loose(n * 2 + at) * 30, False) for at in range(len(sizes))}} for n in range(4)}

    def packed() -> bytes:
        return gzip.compress(archive(*(entry(f"{skill}/{path}", content) for skill, files in large.items() for path, (content, _) in files.items())), 1)

    def zipped() -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as whole:
            for skill, files in large.items():
                for path, (content, _) in files.items():
                    whole.writestr(f"{skill}/{path}", content)
        return out.getvalue()

    expected = {skill: {path: (brief(content), False) for path, (content, _) in files.items()} for skill, files in large.items()}
    yield Case("honest", "240 MiB", "tar.gz", packed, expected)
    yield Case("honest", "240 MiB", "zip", zipped, expected)
