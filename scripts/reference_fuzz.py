"""The documents of compare_reference.py --fuzz: mutated skills, and YAML from a small grammar.

Everything is drawn from one seeded generator, so that a run can be repeated.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

INDICATORS = list("-?:,[]{}#&*!|>'\"%@`~=<+.")
ODD = ["\t", "\r", "\r\n", "\n", "\n\n", " ", "  ", "\u00a0", "\u0085", "\u2028", "\u2029"]
ODD += ["\ufeff", "\u200b", "\u0301", "é", "中", "\U0001f600", "ß", "Σ", "\u2474", "Ⅷ", "ﬁ"]
ODD += ["\x07", "\x00", "\x7f", "\u0090", "\ufffe"]
SNIPPETS = [": ", ":\n", " #", "# c\n", "- ", "? ", "<<: ", "<<:\n  a: b\n", "=", "<<"]
SNIPPETS += ["...\n", "\n...\n", "---\n", "---", "|", ">", "|+\n", ">-\n", "|2\n", "|  # c\n"]
SNIPPETS += ["\n\n", "\n \n", "\n\t\n", "\n\n\t", "\\", "\\x41", "\\ud800", "\\U00110000", "\\q"]
SNIPPETS += ["''", '""', "&a ", "*a", "!t ", "%YAML 1.2\n", "x" * 1030, "'" + "y" * 1030 + "'"]
SNIPPETS += ["key: value\n", "  nested: value\n", "- item\n", "\n# comment\n", "  # comment\n"]
SNIPPETS += ["\n\n# comment\n\n", "name: a\n", "? a\n: b\n", ": a\n", "\n  # indented\n\n"]
LINES = ["", " ", "# c", "  # c", "\t", "    # c", "- x", "  - x", "k: v", "  k: v", ":", "?"]
ENDINGS = [" # c", "  #c", ":", " ", "\t", " |", " >", " >-", " |  # c", " x", "#", ": "]
ENDINGS += [" 'q", ' "q']
PIECES = ["a", "b", "x", "\n", "\n", " ", "  ", "\n  ", "\n    ", "- ", "-\n", ": ", ":\n", ":"]
PIECES += ["# c", "#c", " # c\n", "? ", "?\n", "|", "|\n", ">-\n", "'a'", "'", '"b"', "\n\n"]
PIECES += ["\n\n\n", "\t", "a:", "k: v", "\nk: v", "\n- ", "\n  - ", "\n# c\n", "\n  # c\n"]
PIECES += ["\u2028", "\x85", "\ufeff", "...", "=", "<<", "<<:\n", "\n...\n", "|  # d\n", "\\"]

# Values that the reference accepts nearly everywhere; {i} is the indentation of the value.
TAME = ["x", "a b", "'q'", '"d"', "''", "", "x # c", "a#b", "~", "1", "a:b", "-x", "?x", ":x"]
TAME += ["'a\n  b'", '"a\\\n  b"', '"\\u0041\\n"', "|\n{i}l1\n{i}l2", ">\n{i}f1\n{i}f2\n\n"]
TAME += ["|-\n{i}l\n\n", "|  # c\n{i}l", ">+\n{i}f\n\n\n", "|\n\n{i}l", "|\n{i}  l\n{i}m"]
TAME += ["x\n{i}y", "x\n\n{i}y", "x\n# c", "x\n{i}# c", "a\u2028b", "x\n\n", "x\n\n{i}# c\n"]
TAME += ["\n{i}# c\n{i}x", "\n\n{i}x", " # c\n{i}x", "\n{i}x # c", "\n{i}x\n{i}# c"]
TAME += ["'s' # c\n\n# d", "=", "<<", "\n{i}# c\n{i}|\n{i} t", "a\x85b", "\u2029", "x\u2028"]
TAME += ["x \x85{i}y"]
# Values that it often refuses.
WILD = ["a: b", "#c", "a\tb", "- x", ">2\n{i}l", "[a]", "{{a: b}}", "&a x", "*a", "!t x"]
WILD += ["\n{i}# c\n{i}| # d\n{i}  t", " # c\n{i}# d\n{i}x  # e", "'open", "x\ny", "'a' b"]

TAME_KEYS = ["k{n}", "k{n}", "q{n}", "'k{n}'", '"d{n}"', "k {n}"]
WILD_KEYS = ["a", "b", "'a'", '"a"', "a b", "<<", "=", "", "~", "?", "- z", "x" * 1026]

SEEDS = [
    """---
name: x
description: Makes PDF files. Use it when the user asks for one.
---
body
""",
    """---
name: x
description: >-
  Folded text
  over lines

  and paragraphs.
license: MIT
metadata:
  author: someone
  version: "1.0"
---

# Title
""",
    """---
# comment
name: 'x'
description: |
  Literal: text
    with indentation # and no comment

allowed-tools:
- Read
- Write # comment
compatibility: any
---
""",
    """---
name: x
description: "Quoted: with \\"escapes\\" and \\u00e9"
metadata:
  nested:
    list:
      - a: b
        c: d
      -
        - e
    # comment
    other: f
---
body
""",
]


def seeds(folders: list[Path]) -> list[tuple[str, str]]:
    """Names and documents to mutate: a few built-in ones, and the skills below `folders`."""
    found = [("x", text) for text in SEEDS]
    for folder in folders:
        for path in sorted(folder.rglob("SKILL.md")):
            parts = path.read_bytes().decode("utf-8", "replace").split("---", 2)
            if len(parts) == 3 and len(parts[1]) < 3000:
                found.append((path.parent.name, f"---{parts[1]}---\nbody\n"))
    return found


def document(rng: Random, found: list[tuple[str, str]], number: int) -> tuple[str, str]:
    """The folder name and the text of one document; four kinds take turns."""
    kind = number % 4
    if kind == 0:
        name, text = rng.choice(found)
        return name, mutated(rng, text)
    if kind == 1:
        return "x", Grammar(rng).document()
    if kind == 2:
        return "x", mutated(rng, Grammar(rng).document())
    return "x", scattered(rng)


def mutated(rng: Random, text: str) -> str:
    """A copy of `text` with a few changes of characters, lines and indentation."""
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 5])):
        change = rng.choice([with_changed_character, with_changed_line])
        text = change(rng, text)
    if rng.random() < 0.03:
        text = text.replace("\n", rng.choice(["\r\n", "\r"]))
    return text


def with_changed_character(rng: Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    removed = rng.choice([0, 0, 0, 1, 1, 2, 5])
    added = rng.choice(rng.choice([INDICATORS, ODD, SNIPPETS, [""]]))
    return text[:at] + added + text[at + removed :]


def with_changed_line(rng: Random, text: str) -> str:
    lines = text.split("\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(7):
        case 0:
            lines.insert(other, lines[at])
        case 1:
            del lines[at]
        case 2:
            lines[at] = " " * rng.choice([1, 1, 2, 2, 3, 4]) + lines[at]
        case 3:
            lines[at] = lines[at].lstrip(" ")
        case 4:
            lines.insert(at, rng.choice(LINES))
        case 5:
            lines[at] += rng.choice(ENDINGS)
        case _:
            lines[at], lines[other] = lines[other], lines[at]
    return "\n".join(lines)


def scattered(rng: Random) -> str:
    """Pieces of YAML in any order, at places where they may just fit."""
    pieces = "".join(rng.choice(PIECES) for _ in range(rng.randrange(2, 15)))
    before = rng.choice(["name: x\ndescription: d\nmetadata:\n  "] * 2 + ["", "name:", "metadata:"])
    return f"---\n{before}{pieces}\n---"


class Grammar:
    """Makes YAML in block style, which is mostly accepted unless `wildness` is high."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.wildness = rng.choice([0, 0, 0.02, 0.1, 0.5])

    def is_wild(self) -> bool:
        return self.rng.random() < self.wildness

    def document(self) -> str:
        choose = self.rng.choice
        parts = ["name: x\ndescription: d\n", "metadata:" + self.node(4, 2) + "\n"]
        fields = ["license:", "allowed-tools:", "compatibility:", "description:", "name:"]
        if self.is_wild():
            parts[0] = ""
        if self.rng.random() < 0.5:
            field = choose(fields[:2]) if not self.wildness else choose(fields)
            parts.append(field + self.node(2, 2) + "\n")
        if self.is_wild():
            parts.append(self.mapping(3, 0) + "\n")
        if self.rng.random() < 0.3:
            self.rng.shuffle(parts)
        head = choose(["", "", "", "# c\n", "\n", "\n# c\n\n", "\ufeff"])
        tail = choose(["", "", "\n", "# c\n", "\n# c\n\n", "...\n", "...\n# c\n"])
        if self.is_wild():
            tail = choose(["\n...\n", "\n# c", "...\n...\n", "... x\n"])
        fence = choose(["\n", "\n", "\n", "", " "])
        return f"---{fence}{head}{''.join(parts)}{tail}\n---\nbody\n"

    def node(self, depth: int, indent: int) -> str:
        """A value that stands after a key or an entry's hyphen."""
        choose = self.rng.choice
        pad = " " * indent
        kind = self.rng.random()
        if depth <= 0 or kind < 0.5:
            scalar = choose(WILD) if self.is_wild() else choose(TAME)
            scalar = scalar.replace("{i}", pad).replace("{{", "{").replace("}}", "}")
            return " " * choose([1, 1, 1, 1, 2, 0 if self.is_wild() else 1]) + scalar
        lead = choose(["", "", "", " # c", f"\n{pad}# c", "\n", "\n\n# c"])
        lead += choose(["", "", "", f"\n{pad}# d", f"\n{pad}# d\n\n"])
        if kind < 0.78:
            return f"{lead}\n{self.mapping(depth - 1, indent + self.is_wild())}"
        less = choose([0, 2, 1 if self.is_wild() else 2])
        return f"{lead}\n{self.sequence(depth - 1, max(0, indent - less))}"

    def between(self, pad: str) -> list[str]:
        if self.rng.random() < 0.85:
            return []
        return [self.rng.choice(["", pad + "# c", "# c", " ", "\t", pad + "# c\n", "  # c\n\n"])]

    def mapping(self, depth: int, indent: int) -> str:
        choose = self.rng.choice
        pad = " " * indent
        lines = []
        for number in range(choose([1, 1, 2, 2, 3])):
            key = choose(WILD_KEYS) if self.is_wild() else choose(TAME_KEYS).format(n=number)
            lines += self.between(pad)
            style = self.rng.random()
            if style < 0.92:
                colon = choose([":", ":", ":", ":", " :"])
                lines.append(pad + key + colon + self.node(depth, indent + 2))
            elif style < 0.97:
                lines.append(f"{pad}?{self.node(depth if self.is_wild() else 0, indent + 2)}")
                lines.append(f"{pad}:{self.node(depth, indent + 2)}")
            else:
                lines.append(pad + choose(["? ", ": "]) + key)
        return "\n".join(lines)

    def sequence(self, depth: int, indent: int) -> str:
        pad = " " * indent
        lines = []
        for _ in range(self.rng.choice([1, 1, 2, 3])):
            lines += self.between(pad)
            if self.rng.random() < 0.25:
                lines.append(f"{pad}- {self.mapping(depth - 1, indent + 2).lstrip(' ')}")
            else:
                lines.append(f"{pad}-{self.node(depth - 1, indent + 2)}")
        return "\n".join(lines)
