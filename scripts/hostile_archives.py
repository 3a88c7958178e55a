"""Zip archives that a server must refuse, and honest ones, both made from a seed."""

from __future__ import annotations

import io
import random
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

STORED, DEFLATED = 0, 8
FILE = 0o100644
UTF8 = 0x800
DESCRIPTOR = 0x8
BIG = 0xFFFFFFFF


@dataclass
class Entry:
    """An entry, with every field that may lie."""

    name: bytes
    data: bytes = b""
    method: int = STORED
    mode: int = FILE
    flags: int = UTF8
    local_name: bytes | None = None
    crc: int | None = None
    size: int | None = None
    packed_size: int | None = None
    local_size: int | None = None
    extra: bytes = b""
    descriptor: bytes | None = None
    at: int | None = None

    def packed(self) -> bytes:
        if self.method != DEFLATED:
            return self.data
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        return packer.compress(self.data) + packer.flush()


def build(entries: list[Entry], count: int | None = None, disk: int = 0, shift: int = 0, comment: bytes = b"", tail: bytes = b"") -> bytes:
    out, heads = io.BytesIO(), io.BytesIO()
    for entry in entries:
        packed, crc = entry.packed(), zlib.crc32(entry.data) if entry.crc is None else entry.crc
        size = len(entry.data) if entry.size is None else entry.size
        length = len(packed) if entry.packed_size is None else entry.packed_size
        at = out.tell() if entry.at is None else entry.at
        local = entry.name if entry.local_name is None else entry.local_name
        local_size = size if entry.local_size is None else entry.local_size
        if entry.at is None:
            has_descriptor = entry.flags & DESCRIPTOR
            sizes = (0, 0, 0) if has_descriptor else (crc, length, local_size)
            out.write(struct.pack("<4s5H3I2H", b"PK\3\4", 45, entry.flags, entry.method, 0, 33, *sizes, len(local), len(entry.extra)))
            out.write(local + entry.extra + packed)
            if has_descriptor:
                true = struct.pack("<4s3I", b"PK\7\x08", crc, length, size)
                out.write(true if entry.descriptor is None else entry.descriptor)
        heads.write(struct.pack("<4s6H3I5H2I", b"PK\1\2", 0x032D, 45, entry.flags, entry.method, 0, 33, crc, length, size,
                                len(entry.name), len(entry.extra), 0, 0, 0, (entry.mode << 16) & BIG, at))
        heads.write(entry.name + entry.extra)
    start, total = out.tell(), len(entries) if count is None else count
    out.write(heads.getvalue())
    out.write(struct.pack("<4s4H2IH", b"PK\5\6", disk, disk, total & 0xFFFF, total & 0xFFFF, len(heads.getvalue()),
                          max(0, start + shift) & BIG, len(comment)) + comment + tail)
    return out.getvalue()


def document(name: str, text: str = "Read it.") -> bytes:
    return f"---\nname: {name}\ndescription: Does {name}. Use it for tests.\n---\n\n{text}\n".encode()


@dataclass
class Hostile:
    family: str
    name: str
    content: bytes


@dataclass
class Maker:
    """Makes hostile archives; those that write outside name a folder that is looked at afterwards."""

    random: random.Random
    outside: str
    made: int = 0
    families: dict[str, Callable[[], bytes]] = field(default_factory=dict)

    def skill(self) -> Entry:
        return Entry(b"SKILL.md", document(f"hostile-{self.made}"))

    def with_file(self, name: bytes | str, data: bytes = b"x", **more: object) -> bytes:
        name = name.encode() if isinstance(name, str) else name
        entries = [self.skill(), Entry(name, data, **more)]  # type: ignore[arg-type]
        if self.random.random() < 0.3:
            entries.reverse()
        return build(entries)

    def one_of(self, *names: bytes | str) -> bytes:
        return self.with_file(self.random.choice(names))

    def links(self) -> bytes:
        target = self.random.choice([self.outside, "/etc/passwd", "..", "SKILL.md", "/proc/self/environ"]).encode()
        name = self.random.choice([b"link", b"references/a.md", b"SKILL.md"])
        link = Entry(name, target, mode=0o120777)
        below = Entry(name + b"/below.txt", b"x")
        return build([link] if name == b"SKILL.md" else self.random.choice([[self.skill(), link], [self.skill(), link, below]]))

    def parents(self) -> bytes:
        up = "../" * self.random.randint(1, 6)
        return self.one_of(up + "up.txt", "a/" + up + "up.txt", "a/..", "..", "./../up.txt", "a/../up.txt", f"{up}{self.outside}/up.txt")

    def absolute(self) -> bytes:
        return self.one_of(f"{self.outside}/abs.txt", "/abs.txt", "//abs.txt", "/", "/etc/gongfu-proof.txt", "///a/b")

    def backslashes(self) -> bytes:
        return self.one_of("a\\b.txt", "..\\up.txt", "\\abs.txt", "a\\..\\..\\up.txt", "\\\\host\\share\\a", "a/b\\")

    def drives(self) -> bytes:
        letter = self.random.choice("CcZz")
        return self.one_of(f"{letter}:/a.txt", f"{letter}:a.txt", f"{letter}:\\a.txt", f"a/{letter}:b", "SKILL.md:stream", "a.txt::$DATA")

    def twins(self, first: str, second: str) -> bytes:
        return build([self.skill(), Entry(first.encode(), b"1"), Entry(second.encode(), b"2")])

    def case_twins(self) -> bytes:
        return self.twins(*self.random.choice([("a.md", "A.md"), ("x/é.md", "x/É.md"), ("b/c.md", "B/C.MD"), ("d", "D"), ("skill.md", "x")]))

    def unicode_twins(self) -> bytes:
        return self.twins(*self.random.choice([("caf\u00e9.md", "cafe\u0301.md"), ("x/\u00c5", "x/A\u030a"), ("\u212b", "\u00c5")]))

    def nul(self) -> bytes:
        return self.one_of(b"a\0b.txt", b"\0", b"a.md\0.exe", b"a/\0/b")

    def reserved(self) -> bytes:
        name = self.random.choice(["CON", "nul.txt", "com1", "lpt9.md", "Aux.tar.gz", "PRN", "a.", "b ", "conin$", "COM¹.txt", "a?b", "a*", "a|b", 'a"b', "<a>"])
        return self.one_of(name, f"x/{name}", f"{name}/x")

    def modes(self) -> bytes:
        mode = self.random.choice([0o104755, 0o102755, 0o106755, 0o020666, 0o060660, 0o010644, 0o140755])
        return self.with_file("scripts/run.sh", b"#!/bin/sh\n", mode=mode)

    def bombs(self) -> bytes:
        length = self.random.choice([2, 8, 31, 40, 100]) * 1024 * 1024
        if self.random.random() < 0.3:
            files = [Entry(f"a{n}".encode(), bytes(16 * 1024 * 1024), DEFLATED) for n in range(5)]
            return build([self.skill(), *files])
        return self.with_file("a.bin", bytes(length), method=DEFLATED)

    def big_document(self) -> bytes:
        size = self.random.choice([33, 100]) * 1024 * 1024
        return build([Entry(b"SKILL.md", document("big", "a" * size), DEFLATED)])

    def nested(self) -> bytes:
        inner = build([self.skill()])
        for _ in range(self.random.randint(0, 5)):
            inner = build([Entry(b"inner.zip", inner)])
        return build([Entry(b"inner.zip", inner)])

    def many(self) -> bytes:
        number = self.random.choice([2_001, 5_000, 65_534, 100_000])
        return build([self.skill(), *(Entry(b"%d" % n) for n in range(number))])

    def lying_sizes(self) -> bytes:
        lie = self.random.choice([0, 1, 2**31, BIG - 1, 2**20])
        what = self.random.choice(["size", "packed_size", "local_size"])
        return self.with_file("a.txt", b"text " * 50, **{what: lie}, method=self.random.choice([STORED, DEFLATED]))

    def overlapping(self) -> bytes:
        first = self.skill()
        more = [Entry(b"copy%d.md" % n, first.data, at=0) for n in range(self.random.randint(1, 50))]
        return build([first, *more])

    def truncated(self) -> bytes:
        whole = build([self.skill(), Entry(b"a.txt", b"text " * 20, DEFLATED)])
        return whole[: self.random.randint(4, len(whole) - 1)]

    def encrypted(self) -> bytes:
        return self.with_file("a.txt", self.random.randbytes(40), flags=UTF8 | self.random.choice([1, 0x41]))

    def bad_crc(self) -> bytes:
        return self.with_file("a.txt", b"text", crc=self.random.getrandbits(32), method=self.random.choice([STORED, DEFLATED]))

    def other_local_name(self) -> bytes:
        local = self.random.choice([b"b.txt", b"../up.txt", b"", b"a.txt\0", self.outside.encode() + b"/local.txt"])
        return self.with_file("a.txt", b"text", local_name=local)

    def descriptors(self) -> bytes:
        wrong = struct.pack("<4s3I", b"PK\7\x08", self.random.getrandbits(32), 4, 4)
        kind = self.random.choice([b"", wrong[:7]])
        return self.with_file("a.txt", b"text", flags=UTF8 | DESCRIPTOR, descriptor=kind, crc=self.random.getrandbits(32))

    def zip64(self) -> bytes:
        lie = self.random.choice([2**63, 2**40, 2**64 - 1])
        extra = struct.pack("<HHQQ", 1, 16, lie, self.random.choice([lie, 4]))
        return self.with_file("a.txt", b"text", extra=extra, size=BIG, packed_size=BIG)

    def zip64_end(self) -> bytes:
        whole = build([self.skill()], count=0xFFFF)
        at = whole.index(b"PK\5\6")
        head = struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, 2**40, 2**40, 2**50, self.random.choice([0, 2**50]))
        return whole[:at] + head + struct.pack("<4sIQI", b"PK\6\7", 0, at, 1) + whole[at:]

    def duplicates(self) -> bytes:
        name = self.random.choice(["a.txt", "SKILL.md", "x/y.md"])
        return build([self.skill(), Entry(name.encode(), b"1"), Entry(name.encode(), b"2")])

    def file_and_folder(self) -> bytes:
        return self.twins(*self.random.choice([("a", "a/b"), ("a/b", "a"), ("x/y", "X/Y/z")]))

    def deep(self) -> bytes:
        return self.with_file("d/" * self.random.choice([13, 40, 1000, 20_000]) + "a")

    def huge_names(self) -> bytes:
        return self.with_file("n" * self.random.choice([4_097, 30_000, 65_535]))

    def no_document(self) -> bytes:
        return self.random.choice([build([]), build([Entry(b"README.md", b"x")]), build([Entry(b"a/", mode=0o040755)]), build([Entry(b"a/b/SKILL.md", document("deep"))])])

    def two_documents(self) -> bytes:
        return build([Entry(b"%s/SKILL.md" % name, document(name.decode())) for name in (b"a", b"b")])

    def bad_names(self) -> bytes:
        flags = self.random.choice([0, UTF8])
        return self.with_file(self.random.choice([b"\xff\xfe.md", b"a\xc0\xaf..", b"\xed\xa0\x80", b"caf\xe9.md"]), flags=flags)

    def bad_document(self) -> bytes:
        # Others are read leniently: a skill without a name is called `skill`.
        text = self.random.choice([b"", b"---\nname: [\n---\n", b"---\nname: Bad Name!\ndescription: x\n---\n",
                                   b"\0\1\2\xff\xfe", b"\x89PNG\r\n\x1a\n\0"])
        return build([Entry(b"SKILL.md", text)])

    def methods(self) -> bytes:
        return self.with_file("a.bin", self.random.randbytes(64), method=self.random.choice([1, 6, 9, 12, 14, 93, 95, 97, 98, 99]))

    def ends(self) -> bytes:
        whole = [self.skill()]
        return self.random.choice([build(whole, count=7), build(whole, count=0), build(whole, disk=3), build(whole, shift=17),
                                   build(whole, shift=-17), build(whole)[:-22] + build([])[-22:-4] + b"\xff\xff\0\0"])

    def damaged_data(self) -> bytes:
        entry = Entry(b"a.bin", self.random.randbytes(2000), DEFLATED)
        whole = bytearray(build([self.skill(), entry]))
        start = whole.index(b"a.bin") + 5
        for _ in range(20):
            whole[start + self.random.randrange(1800)] ^= self.random.randrange(1, 256)
        return bytes(whole)

    def all(self, number: int) -> Iterator[Hostile]:
        """This many archives: one of each family in turn."""
        names = [name for name in vars(Maker) if not name.startswith("_") and name not in ("skill", "with_file", "one_of", "twins", "all", "made", "families")]
        for at in range(number):
            name = names[at % len(names)]
            self.made = at
            yield Hostile(name, f"{name}-{at}", getattr(self, name)())


def honest(chance: random.Random, at: int) -> tuple[str, dict[str, tuple[bytes, bool]], bytes]:
    """The name, the files (content, and whether it is a program) and the archive of an honest skill."""
    name = f"honest-{at}"
    files = {"SKILL.md": (document(name, "Read it. " * chance.randint(1, 200)), False)}
    for number in range(chance.randint(0, 12)):
        place = chance.choice(["", "scripts/", "references/", "assets/deep/er/"])
        ending = chance.choice([".md", ".py", ".bin", "", " with space.txt", "-é.md"])
        is_program = chance.random() < 0.3
        content = chance.choice([b"", b"text\n" * chance.randint(1, 500), chance.randbytes(chance.randint(1, 50_000))])
        files[f"{place}file{number}{ending}"] = (b"#!/bin/sh\n" + content if is_program else content, is_program)
    top = chance.choice(["", f"{name}/"])
    if chance.random() < 0.5:
        entries = [Entry((top + path).encode(), content, chance.choice([STORED, DEFLATED]), 0o100755 if program else FILE,
                         UTF8 | chance.choice([0, DESCRIPTOR])) for path, (content, program) in files.items()]
        return name, files, build(entries, comment=chance.randbytes(chance.choice([0, 30])).replace(b"PK", b"kp"))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", chance.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        if top:
            archive.mkdir(top)
        for path, (content, program) in files.items():
            info = zipfile.ZipInfo(top + path)
            info.external_attr = (0o100755 if program else FILE) << 16
            info.compress_type = archive.compression
            archive.writestr(info, content)
    return name, files, out.getvalue()
