#!/usr/bin/env python3
"""Answer one SQL query over SQLite and CSV files, which it can't change.

A CSV file is a table by its name without the ending. The first SQLite file is the main database; each other one is
a schema by its name.
"""

import argparse
import contextlib
import csv
import json
import math
import sqlite3
import sys

from tables import Mistake, arguments, grid, note, opened, quoted, run, shown

READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
PRAGMAS = {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "foreign_key_list", "data_version"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sql", metavar="SQL")
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--format", choices=["table", "csv", "json"], default="table")
    parser.add_argument("--limit", type=int, default=100, metavar="ROWS", help="the most rows (default 100; 0 for all)")
    options = arguments(parser)
    connection, tables = opened(options.files, options)
    for schema, name in tables:
        with contextlib.suppress(sqlite3.Error):  # a full-text index opens tables of its own before it can be read
            connection.execute(f"SELECT 1 FROM {quoted(schema)}.{quoted(name)} LIMIT 0")
    connection.set_authorizer(allowed)
    try:
        cursor = connection.execute(options.sql)
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise Mistake(explained(str(error), [name for _, name in tables])) from error
    if cursor.description is None:
        raise Mistake("the query answers nothing: begin it with SELECT or WITH")
    header = [column[0] for column in cursor.description]
    if options.limit > 0:
        rows = cursor.fetchmany(options.limit)
        is_cut = cursor.fetchone() is not None
    else:
        rows, is_cut = cursor, False
    written(options.format, header, rows)
    if is_cut:
        note(f"there are more rows than these {len(rows)}; --limit 0 shows all")


def allowed(action: int, first: str | None, *_: str | None) -> int:
    """Let SQLite compile nothing but reading."""
    is_fine = action in READING or (action == sqlite3.SQLITE_PRAGMA and first in PRAGMAS)
    return sqlite3.SQLITE_OK if is_fine else sqlite3.SQLITE_DENY


def explained(error: str, tables: list[str]) -> str:
    if error in ("not authorized", "authorization denied"):
        return "only queries are allowed: nothing can be changed or attached"
    if error.startswith("no such table"):
        return f"{error}; the tables are: {', '.join(tables[:50])}"
    return error


def written(form: str, header: list[str], rows) -> None:
    if form == "table":
        cells = [[shown(value) for value in row] for row in rows]
        print(grid([shown(name) for name in header], cells))
        print(f"({len(cells)} {'row' if len(cells) == 1 else 'rows'})")
    elif form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(map(plain, rows))
    else:
        if len(set(header)) < len(header):
            raise Mistake("two columns have the same name: name them apart with AS")
        lines = (json.dumps(dict(zip(header, plain(row))), ensure_ascii=False) for row in rows)
        print("[" + ",\n ".join(lines) + "]")


def plain(row: tuple) -> list:
    """Values that CSV and JSON can hold."""
    is_odd = lambda value: isinstance(value, bytes) or (isinstance(value, float) and not math.isfinite(value))
    return [shown(value) if is_odd(value) else value for value in row]


if __name__ == "__main__":
    run(main)
