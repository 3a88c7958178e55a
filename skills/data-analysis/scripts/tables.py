"""Open CSV and SQLite files as tables of one SQLite connection that changes none of them."""

import argparse
import csv
import math
import os
import re
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

MISSING = {"na", "n/a", "nan", "null", "none", "-"}
INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)?(\.[0-9]+|\.)?([eE][+-]?[0-9]+)?")
DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")
MAX_COLUMNS = 2000  # SQLite has no more


class Mistake(Exception):
    """An error that the user can fix."""


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def arguments(parser: argparse.ArgumentParser) -> argparse.Namespace:
    parser.add_argument("--delimiter", help="what separates the cells of a CSV file (default: found out)")
    parser.add_argument("--encoding", help="encoding of CSV files (default: UTF-8, or UTF-16 by its mark)")
    parser.add_argument("--no-header", action="store_true", help="the first row of a CSV file is data")
    parser.add_argument("--no-quotes", action="store_true", help='`"` in a CSV file is an ordinary character')
    options = parser.parse_args()
    if options.delimiter is not None:
        options.delimiter = options.delimiter.replace("\\t", "\t")
        if len(options.delimiter) != 1 or options.delimiter in '\r\n"':
            parser.error("--delimiter takes one character")
    return options


def run(main) -> None:
    """Run a script; print an error that the user can fix as one line."""
    csv.field_size_limit(1 << 24)
    try:
        main()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (Mistake, OSError, sqlite3.Error, LookupError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)


def is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def opened(files: list[str], options: argparse.Namespace) -> tuple[sqlite3.Connection, list[tuple[str, str]]]:
    """All files in one connection, and their tables as (schema, table)."""
    paths = [Path(file) for file in files]
    for path in paths:
        if path.stat().st_size == 0:
            raise Mistake(f"{path} is empty")
    databases = [path for path in paths if is_sqlite(path)]
    connection = sqlite3.connect(read_only(databases[0]) if databases else "", uri=True)
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    names, found = {"main", "temp"}, []
    for at, path in enumerate(databases):
        schema = unique_name(path.stem, names) if at else "main"
        if at:
            connection.execute(f"ATTACH ? AS {quoted(schema)}", (read_only(path),))
        sql = f"SELECT name FROM {quoted(schema)}.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        try:
            found += [(schema, name) for (name,) in connection.execute(sql + " ORDER BY name")]
        except sqlite3.Error as error:
            raise Mistake(f"{path} can't be read: {error}") from error
    for schema in ("main", "temp"):  # most files fit into memory, and a sandbox is slow with files
        connection.execute(f"PRAGMA {schema}.cache_size = -100000")
    names = {table.lower() for _, table in found}
    for path in paths:
        if path not in databases:
            found.append(("temp", load(connection, path, unique_name(path.stem, names), options)))
    connection.commit()
    return connection, found


def read_only(path: Path) -> str:
    uri = "file:" + quote(str(path.resolve()))
    with path.open("rb") as file:
        has_log = file.read(20)[18:] == b"\2\2"
    # Without its log beside it nobody has the database open, and SQLite would make one even to read.
    is_still = has_log and not Path(f"{path}-wal").exists()
    return uri + ("?mode=ro&immutable=1" if is_still else "?mode=ro")


def unique_name(wanted: str, names: set[str]) -> str:
    name, number = wanted, 1
    while name.lower() in names:
        number += 1
        name = f"{wanted}_{number}"
    names.add(name.lower())
    return name


def load(connection: sqlite3.Connection, path: Path, table: str, options: argparse.Namespace) -> str:
    """Read a CSV file twice: for the kinds of its columns, then into a table."""
    delimiter = options.delimiter or sniffed(path, options)
    rows = records(path, delimiter, options)
    first = next(rows, (0, []))[1]
    if not first:
        raise Mistake(f"{path} has no rows")
    if len(first) > MAX_COLUMNS:
        raise Mistake(f"{path} has {len(first)} columns; at most {MAX_COLUMNS} can be read")
    names: set[str] = set()
    header = [""] * len(first) if options.no_header else [cell.strip() for cell in first]
    columns = [unique_name(cell or f"column_{at}", names) for at, cell in enumerate(header, 1)]
    kinds = [""] * len(columns)
    longer, shorter, count = [], [], 0
    for line, row in records(path, delimiter, options) if options.no_header else rows:
        count += 1
        if len(row) != len(columns):
            (longer if len(row) > len(columns) else shorter).append(line)
        for at, cell in enumerate(row[: len(columns)]):
            if kinds[at] != "TEXT":
                kinds[at] = joined(kinds[at], kind(cell.strip()))
    if 2 * len(longer) > count:
        raise Mistake(f"{path}: {len(longer)} of {count} rows have more cells than the first row, so columns can't be named reliably; fix its first row")
    if not options.no_header and all(kind(cell) in ("INTEGER", "REAL") for cell in header):
        note(f"{path}: the first row looks like data; if it is, pass --no-header")
    for lines, what in ((longer, "more cells than the header; the others are left out"), (shorter, "fewer cells than the header")):
        if lines:
            note(f"{path}: {len(lines)} rows have {what} (first: line {lines[0]})")
    declared = ", ".join(f"{quoted(name)} {kind or 'TEXT'}" for name, kind in zip(columns, kinds))
    connection.execute(f"CREATE TEMP TABLE {quoted(table)} ({declared})")
    rows = records(path, delimiter, options)
    if not options.no_header:
        next(rows)
    marks = ", ".join("?" * len(columns))
    filled = (values(row, kinds) for _, row in rows)
    connection.executemany(f"INSERT INTO temp.{quoted(table)} VALUES ({marks})", filled)
    return table


def records(path: Path, delimiter: str, options: argparse.Namespace) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file that aren't blank, each with its line."""
    with path.open(encoding=encoding(path, options), newline="") as file:
        quoting = csv.QUOTE_NONE if options.no_quotes else csv.QUOTE_MINIMAL
        reader = csv.reader(whole_lines(file, path), delimiter=delimiter, quoting=quoting, strict=True)
        try:
            for row in reader:
                if any(row):
                    yield reader.line_num, row
        except csv.Error as error:
            raise Mistake(f"{path}:{reader.line_num}: {error}; a quote may be unclosed, --no-quotes ignores quotes") from error
        except UnicodeError as error:
            raise Mistake(f"{path} isn't {file.encoding.removesuffix('-sig')} text: pass its --encoding, such as cp1252") from error


def whole_lines(file, path: Path) -> Iterator[str]:
    for line in file:
        if "\0" in line:
            raise Mistake(f"{path} isn't a text file: it has NUL bytes")
        yield line


def encoding(path: Path, options: argparse.Namespace) -> str:
    with path.open("rb") as file:
        is_wide = file.read(2) in (b"\xff\xfe", b"\xfe\xff")
    return options.encoding or ("utf-16" if is_wide else "utf-8-sig")


def sniffed(path: Path, options: argparse.Namespace) -> str:
    """The delimiter that cuts the first rows into the most columns of which nearly all rows have the same number."""
    best, most = ",", 1
    for delimiter in ",;\t|":
        widths = []
        try:
            for _, row in records(path, delimiter, options):
                widths.append(len(row))
                if len(widths) == 100:
                    break
        except Mistake:
            pass  # said when it is read
        common = max(set(widths), key=widths.count, default=1)
        if common > most and widths.count(common) >= 0.8 * len(widths):
            best, most = delimiter, common
    return best


def kind(cell: str) -> str:
    """The kind of a value: empty if it is missing. `007` and numbers that SQLite can't hold are text."""
    if not cell or cell.lower() in MISSING:
        return ""
    if INTEGER.fullmatch(cell):
        return "INTEGER" if len(cell) < 21 and -(2**63) <= int(cell) < 2**63 else "TEXT"
    if NUMBER.fullmatch(cell) and any(digit in cell for digit in "0123456789"):
        return "REAL" if math.isfinite(as_number(cell)) else "TEXT"
    return "DATE" if DATE.fullmatch(cell) else "TEXT"


def as_number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:  # `e5`
        return math.inf


def joined(one: str, other: str) -> str:
    if not one or not other or one == other:
        return one or other
    return "REAL" if {one, other} == {"INTEGER", "REAL"} else "TEXT"


def values(row: list[str], kinds: list[str]) -> list[str | int | float | None]:
    made: list[str | int | float | None] = []
    for at, kind in enumerate(kinds):
        cell = row[at] if at < len(row) else ""
        bare = cell.strip()
        if kind in ("", "TEXT"):
            made.append(cell if bare else None)
        elif not bare or bare.lower() in MISSING:
            made.append(None)
        else:
            made.append(int(bare) if kind == "INTEGER" else float(bare) if kind == "REAL" else bare)
    return made


def note(text: str) -> None:
    print(f"note: {text}", file=sys.stderr)


def shown(value: object, width: int = 60) -> str:
    """A value for people: on one line, without control characters, cut."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    text = "".join(letter if letter.isprintable() else " " for letter in text[: width + 1])
    return text if len(text) <= width else text[: width - 1] + "…"


def grid(header: list[str], rows: list[list[str]]) -> str:
    """Aligned columns."""
    widths = [max(len(row[at]) for row in [header, *rows]) for at in range(len(header))]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
