#!/usr/bin/env python3
"""Describe the columns of CSV and SQLite files: kinds, missing values, spread and commonest values."""

import argparse
import json
import math
import sqlite3

from tables import Mistake, arguments, grid, note, opened, quoted, run, shown

HEADER = ["column", "type", "missing", "distinct", "min", "p25", "median", "p75", "max", "mean"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--table", help="only this table of a database")
    parser.add_argument("--top", type=int, default=5, metavar="COUNT", help="the most common values to show (default 5)")
    parser.add_argument("--format", choices=["text", "json"], default="text")
    options = arguments(parser)
    connection, tables = opened(options.files, options)
    names = [name for _, name in tables]
    if options.table:
        tables = [one for one in tables if one[1] == options.table]
        if not tables:
            raise Mistake(f"there is no table {options.table}; the tables are: {', '.join(names)}")
    if not tables:
        note("there are no tables")
    described = []
    for schema, name in tables:
        try:
            described.append(described_table(connection, schema, name, max(options.top, 0)))
        except sqlite3.Error as error:
            if len(tables) == 1:
                raise
            note(f"the table {name} can't be read: {error}")
    if tables and not described:
        raise Mistake("no table can be read")
    if options.format == "json":
        print(json.dumps(described, ensure_ascii=False, indent=1, default=shown))
    else:
        print("\n\n".join(map(text, described)))


def described_table(connection: sqlite3.Connection, schema: str, name: str, top: int) -> dict:
    of = f"{quoted(schema)}.{quoted(name)}"
    (rows,) = connection.execute(f"SELECT count(*) FROM {of}").fetchone()
    listed = connection.execute(f"PRAGMA {quoted(schema)}.table_xinfo({quoted(name)})")
    columns = [(row[1], row[2]) for row in listed if row[6] != 1]
    return {"table": name, "rows": rows, "columns": [column(connection, of, *one, rows, top) for one in columns]}


def column(connection: sqlite3.Connection, of: str, name: str, declared: str, rows: int, top: int) -> dict:
    c = quoted(name)
    sql = f"SELECT count({c}), count(DISTINCT {c}), min({c}), max({c}) FROM {of}"
    present, distinct, least, most = connection.execute(sql).fetchone()
    sql = f"SELECT typeof({c}), count(*) FROM {of} WHERE {c} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC"
    kinds = dict(connection.execute(sql).fetchall())
    of_numbers = f"FROM {of} WHERE typeof({c}) IN ('integer', 'real')"
    numbers, mean, lowest, highest = connection.execute(f"SELECT count(*), avg({c}), min({c}), max({c}) {of_numbers}").fetchone()
    found = {"column": name, "type": declared.lower() or "any", "missing": rows - present, "distinct": distinct}
    if len(kinds) > 1 and set(kinds) != {"integer", "real"}:
        found["stored_as"] = kinds
    if numbers and 2 * numbers >= present:
        found |= {"min": lowest, **quantiles(connection, c, of_numbers, numbers), "max": highest, "mean": mean}
    else:
        found |= {"min": least, "max": most}
    sql = f"SELECT {c}, count(*) FROM {of} WHERE {c} IS NOT NULL GROUP BY 1 HAVING count(*) > 1 ORDER BY 2 DESC, 1 LIMIT ?"
    common = connection.execute(sql, (top,)).fetchall()
    found["common"] = [{"value": finite(value), "count": count} for value, count in common]
    return {key: finite(value) for key, value in found.items()}


def finite(value: object) -> object:
    """JSON has neither infinity nor what is left of two of them."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def quantiles(connection: sqlite3.Connection, c: str, of_numbers: str, count: int) -> dict[str, float]:
    """Exact ones, between two values in proportion; SQLite sorts on disk where the memory is too small."""
    places = {name: (count - 1) * share for name, share in (("p25", 0.25), ("median", 0.5), ("p75", 0.75))}
    wanted = sorted({int(place) + more for place in places.values() for more in (0, 1)})
    ranked = f"SELECT {c} AS v, row_number() OVER (ORDER BY {c}) - 1 AS place {of_numbers}"
    sql = f"SELECT place, v FROM ({ranked}) WHERE place IN ({', '.join(map(str, wanted))})"
    at = dict(connection.execute(sql).fetchall())
    found = {}
    for name, place in places.items():
        low, rest = at[int(place)], place - int(place)
        found[name] = low + (at[int(place) + 1] - low) * rest if rest else low
    return found


def text(table: dict) -> str:
    rows = [[shown(one.get(key), 24) for key in HEADER] for one in table["columns"]]
    parts = [f"{table['table']}: {table['rows']} rows, {len(rows)} columns", grid(HEADER, rows)]
    for one in table["columns"]:
        if "stored_as" in one:
            kinds = ", ".join(f"{count} as {kind}" for kind, count in one["stored_as"].items())
            parts.append(f"mixed values in {one['column']}: {kinds}")
        if one["common"]:
            values = ", ".join(f"{shown(value['value'], 30)} ({value['count']})" for value in one["common"])
            parts.append(f"most common in {one['column']}: {values}")
    return "\n".join(parts)


if __name__ == "__main__":
    run(main)
