"""Sentences about tools in the documentation of a package: what a person would say that a tool is for."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

# The least words of a sentence that says something.
MIN_WORDS = 5
# So many words in a row that stand in the definition as well make a sentence a copy of it.
COPIED = 5
WORD = re.compile(r"[^\W_]+")
MARKS = re.compile(r"[`*]+|(?<!\w)_+|_+(?!\w)|~~")
# A line of a list, or the heading of a section: a name, with arguments or not, and what follows.
ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ x]\]\s+)?(.+)$")
HEADING = re.compile(r"^#{2,6}\s+(?:\d+[.)]\s+)?(.+?)\s*#*$")
NAMED = re.compile(r"^([\w./-]+)(?:\s*\([^)]*\))?\s*(?::|-|–|—|→|=>|\s\|)\s*(.*)$")
# The head of the column that says what a tool does.
ABOUT = re.compile(r"^(?:description|purpose|what|does|use|function|summary)", re.IGNORECASE)
ALONE = re.compile(r"^([\w./-]+)(?:\s*\([^)]*\))?\s*:?$")


def plain(text: str) -> str:
    """The text without marks of Markdown."""
    text = html.unescape(re.sub(r"<[^>]+>", " ", text))
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", " ", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return " ".join(MARKS.sub("", text).split())


def first_sentence(text: str) -> str:
    """The first sentence of a text."""
    text = plain(text)
    end = re.search(r"(?<!e\.g)(?<!i\.e)[.!?](?=\s+[\"'(A-Z0-9]|$)", text)
    return text[: end.start()] if end else text


def described(markdown: str, names: set[str]) -> Iterator[tuple[str, str]]:
    """Each tool that a document describes, in its order: a row of a table, an item of a list, or a section."""
    waiting, is_code, column = "", False, None
    for line in markdown.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            is_code, waiting = not is_code, ""
            continue
        if is_code or not line.strip():
            continue
        if line.lstrip().startswith("|"):
            cells = [plain(cell) for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
            found = [name for cell in cells if (match := ALONE.match(cell)) and (name := match[1]) in names]
            if not found:
                column = next((at for at, cell in enumerate(cells) if ABOUT.search(cell)), column)
            elif column is not None and column < len(cells):
                yield found[0], first_sentence(cells[column])
            waiting = ""
            continue
        column = None
        if heading := HEADING.match(line):
            match = ALONE.match(plain(heading[1])) or NAMED.match(plain(heading[1]))
            waiting = match[1] if match and match[1] in names else ""
        elif item := ITEM.match(line):
            text = plain(item[1])
            if (match := NAMED.match(text)) and match[1] in names:
                if match[2]:
                    yield match[1], first_sentence(match[2])
                    waiting = ""
                else:
                    waiting = match[1]
            elif (match := ALONE.match(text)) and match[1] in names:
                waiting = match[1]
            elif waiting and line[0].isspace():
                # The first item below a tool's own says what it does, if it isn't about an argument.
                if not NAMED.match(text):
                    yield waiting, first_sentence(text)
                waiting = ""
            else:
                waiting = ""
        elif waiting:
            yield waiting, first_sentence(line)
            waiting = ""


def words(text: str) -> list[str]:
    """The words of a text, in small letters; identifiers are split."""
    return [word.lower() for word in WORD.findall(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text))]


def query(sentence: str, name: str, definition: str) -> str | None:
    """The sentence as a query, without the tool's name; None where it is a copy of the definition, or says too little."""
    own = r"[\s_./-]*".join(map(re.escape, words(name)))
    text = " ".join(re.sub(rf"(?<!\w){own}(?!\w)", " ", sentence, flags=re.IGNORECASE).split()).strip(" -–—:,.")
    asked = words(text)
    if len(asked) < MIN_WORDS:
        return None
    known = f" {' '.join(words(definition))} "
    runs = (f" {' '.join(asked[at : at + COPIED])} " for at in range(len(asked) - COPIED + 1))
    return None if any(run in known for run in runs) else text
