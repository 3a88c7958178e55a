#!/usr/bin/env python3
"""Make related test data: users, products and orders with their items, or the tables of a schema file.

The same seed gives the same data. Nothing that exists is overwritten.
"""

import argparse
import csv
import json
import sqlite3
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from kinds import MAX_ROWS, Maker, Mistake, as_key, settings, quoted, run, span

SHOP = Path(__file__).parent.parent / "assets" / "shop.json"
ATTEMPTS = 50
TABLE_KEYS, MARKS = {"rows", "per", "unique", "columns"}, {"kind", "ref", "copy", "multiply", "sum"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True, help="a new file that ends with .sqlite or .db, or a folder for CSV files")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--schema", help="a JSON file that describes the tables (default: a shop)")
    parser.add_argument("--rows", action="append", default=[], metavar="TABLE=COUNT", help="rows of a table")
    parser.add_argument("--per", action="append", default=[], metavar="TABLE=1-5", help="rows of a table for each row of the one that it belongs to")
    for flag in ("--users", "--products", "--orders-per-user", "--items-per-order"):
        parser.add_argument(flag, metavar="COUNT", help="of the shop")
    options = parser.parse_args()
    shop = {"users": options.users, "products": options.products}
    per_shop = {"orders": options.orders_per_user, "order_items": options.items_per_order}
    given = {**shop, **per_shop}
    if options.schema and any(given.values()):
        raise Mistake("--users, --products, --orders-per-user and --items-per-order are for the shop: use --rows and --per")
    rows = settings(options.rows, "--rows") | {name: count for name, count in shop.items() if count}
    per = settings(options.per, "--per") | {name: count for name, count in per_shop.items() if count}
    tables = read(Path(options.schema or SHOP), rows, per)
    made = Factory(tables, options.seed).all()
    out = Path(options.out)
    (write_database if out.suffix in (".sqlite", ".sqlite3", ".db") else write_csv)(out, tables, made)
    for name in made:
        print(f"{name}: {len(made[name])} rows")
    print(f"wrote {out}")


def read(path: Path, rows: dict[str, str], per: dict[str, str]) -> dict[str, dict]:
    """The tables of a schema file, checked, in the order in which they are filled."""
    try:
        schema = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise Mistake(f"{path} isn't JSON: {error}") from error
    tables = schema.get("tables") if isinstance(schema, dict) else None
    if not isinstance(tables, dict) or not tables:
        raise Mistake(f'{path} needs "tables": {{NAME: {{"rows": 10, "columns": {{…}}}}}}')
    if lost := (rows.keys() | per.keys()) - tables.keys():
        raise Mistake(f"there is no table {', '.join(sorted(lost))}; the tables are: {', '.join(tables)}")
    if len({name.lower() for name in tables}) < len(tables) or any("/" in name or not name.strip(".") for name in tables):
        raise Mistake("the name of a table is taken twice, or can't be one of a file")
    after = {}
    for name, table in tables.items():
        check_table(name, table, tables)
        if name in per and "per" not in table:
            raise Mistake(f"{name} has no `per`: use --rows {name}=COUNT")
        if name in rows:
            table.pop("per", None)
            table["rows"] = rows[name]
        elif name in per:
            table["per"] = dict.fromkeys(table["per"], per[name])
        after[name] = {column["ref"] for column in table["columns"].values() if "ref" in column} - {name}
    try:
        order = list(TopologicalSorter(after).static_order())
    except CycleError as error:
        raise Mistake(f"tables refer to each other in a circle: {' -> '.join(error.args[1])}") from error
    return {name: tables[name] for name in order}


def check_table(name: str, table: dict, tables: dict) -> None:
    def need(is_fine: object, what: str) -> None:
        if not is_fine:
            raise Mistake(f"{name}: {what}")

    need(isinstance(table, dict) and isinstance(table.get("columns"), dict) and table["columns"], 'needs "columns"')
    need(not table.keys() - TABLE_KEYS, f"unknown key; the keys are: {', '.join(sorted(TABLE_KEYS))}")
    need(("rows" in table) != ("per" in table), 'needs either "rows" or "per"')
    columns = table["columns"]
    for column, spec in columns.items():
        if isinstance(spec, str):  # the short form
            columns[column] = spec = {"kind": spec}
        need(isinstance(spec, dict) and len(MARKS & spec.keys()) == 1, f"{column} needs one of: {', '.join(sorted(MARKS))}")
        need(str(spec.get("ref", name)) in tables, f"{column} refers to {spec.get('ref')}, which is no table")
    per = table.get("per", {})
    refs = [spec.get("ref") for spec in columns.values()]
    need(isinstance(per, dict) and len(per) == ("per" in table) and all(one in refs and one != name for one in per), '"per" takes one table that a column refers to')
    unique = table.get("unique", [])
    need(isinstance(unique, list) and all(isinstance(one, list) and one and set(map(str, one)) <= columns.keys() for one in unique), '"unique" takes lists of columns')


class Factory:
    """Fills tables. A row is a dictionary by column."""

    def __init__(self, tables: dict[str, dict], seed: int) -> None:
        self.tables, self.maker, self.made = tables, Maker(seed), {}

    def all(self) -> dict[str, list[dict]]:
        total = 0
        for name, table in self.tables.items():
            parents = [None] * span(table["rows"])[1] if "rows" in table else []
            for parent, count in table.get("per", {}).items():
                low, high = span(count)
                parents = [row for row in self.made[parent] for _ in range(self.maker.random.randint(low, high))]
            total += len(parents)
            if total > MAX_ROWS:
                raise Mistake(f"these are more than {MAX_ROWS} rows")
            self.made[name] = []
            uniques = table.get("unique", []) + [[c] for c, spec in table["columns"].items() if spec.get("unique")]
            seen = [set() for _ in uniques]
            for parent in parents:
                self.made[name].append(self.fitting(name, table, parent, uniques, seen))
        self.add_sums()
        return self.made

    def fitting(self, name: str, table: dict, parent: dict | None, uniques: list, seen: list[set]) -> dict:
        for attempt in range(ATTEMPTS):
            row = self.row(name, table, parent, attempt)
            keys = [as_key(row[column] for column in columns) for columns in uniques]
            if all(None in key or key not in known for key, known in zip(keys, seen)):
                for key, known in zip(keys, seen):
                    known.add(key)
                return row
        raise Mistake(f"{name}: only {len(self.made[name])} rows were made, then none was unique; ask for fewer rows, or allow more values")

    def row(self, name: str, table: dict, parent: dict | None, attempt: int) -> dict:
        self.maker.begin(attempt)
        row, referred = {}, {}
        for column, spec in table["columns"].items():
            try:
                row[column] = self.value(name, table, column, dict(spec), parent, row, referred)
            except Mistake as error:
                raise Mistake(f"{name}.{column}: {error}") from error
        return row

    def value(self, name: str, table: dict, column: str, spec: dict, parent, row: dict, referred: dict) -> object:
        spec.pop("unique", None)
        empty = spec.pop("null", 0)
        if not isinstance(empty, (int, float)):
            raise Mistake("`null` takes a share, such as 0.2")
        if empty and self.maker.random.random() < empty:
            return None
        if "ref" in spec:
            choices = self.made[spec["ref"]]
            if parent and spec["ref"] in table.get("per", {}) and parent not in referred.values():
                referred[column] = parent
            elif choices:
                referred[column] = self.maker.random.choice(choices)
            elif spec["ref"] == name:
                return None  # the first row of a tree
            else:
                raise Mistake(f"{spec['ref']} has no rows")
            return referred[column][id_of(self.tables[spec["ref"]])]
        if "copy" in spec:
            return looked_up(spec["copy"], row, referred)
        if "multiply" in spec:
            factors = [looked_up(factor, row, referred) for factor in spec["multiply"]]
            if None in factors:
                return None
            if not all(isinstance(factor, (int, float)) for factor in factors):
                raise Mistake("only numbers can be multiplied")
            result = 1
            for factor in factors:
                result *= factor
            return round(result, 2)
        if "sum" in spec:
            return None
        kind = spec.pop("kind")
        if kind == "id":
            return len(self.made[name]) + 1
        if "after" in spec:
            spec["after"] = looked_up(spec["after"], row, referred)
        return self.maker.value(kind, spec)

    def add_sums(self) -> None:
        for name, table in self.tables.items():
            for column, spec in table["columns"].items():
                if "sum" not in spec:
                    continue
                child, _, amount = str(spec["sum"]).partition(".")
                columns = self.tables.get(child, {}).get("columns", {})
                link = next((key for key, of in columns.items() if of.get("ref") == name), None)
                if amount not in columns or not link:
                    raise Mistake(f"{name}.{column}: `sum` takes TABLE.COLUMN of a table that refers to {name}")
                sums: dict = {}
                for row in self.made[child]:
                    sums[row[link]] = sums.get(row[link], 0) + (row[amount] or 0)
                for row in self.made[name]:
                    row[column] = round(sums.get(row[id_of(table)], 0), 2)


def id_of(table: dict) -> str:
    """The column that others refer to: that of the kind `id`, else the first."""
    return next((name for name, spec in table["columns"].items() if spec.get("kind") == "id"), next(iter(table["columns"])))


def looked_up(name: str, row: dict, referred: dict) -> object:
    """`column` of this row, or `reference.column` of the row that it refers to."""
    first, _, second = str(name).partition(".")
    if second and first in row and row[first] is None:
        return None
    place = referred.get(first, {}) if second else row
    if (second or first) not in place:
        raise Mistake(f"`{name}` is neither an earlier column nor REFERENCE.COLUMN")
    return place[second or first]


def write_csv(out: Path, tables: dict, made: dict) -> None:
    out.mkdir(parents=True, exist_ok=True)
    if there := [name for name in made if (out / f"{name}.csv").exists()]:
        raise Mistake(f"{out} has {there[0]}.csv already: choose another folder")
    for name, rows in made.items():
        with (out / f"{name}.csv").open("x", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, tables[name]["columns"], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


def write_database(out: Path, tables: dict, made: dict) -> None:
    if out.exists():
        raise Mistake(f"{out} exists already: choose another file, or fill it with fill_database.py")
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        fill_database(out, tables, made)
    except sqlite3.Error:
        out.unlink()
        raise


def fill_database(out: Path, tables: dict, made: dict) -> None:
    connection = sqlite3.connect(out)
    for name, table in tables.items():
        connection.execute(f"CREATE TABLE {quoted(name)} ({', '.join(declared(table, made[name], tables))})")
        marks = ", ".join("?" * len(table["columns"]))
        connection.executemany(f"INSERT INTO {quoted(name)} VALUES ({marks})", ([*row.values()] for row in made[name]))
    connection.commit()


def declared(table: dict, rows: list[dict], tables: dict) -> list[str]:
    parts = []
    for column, spec in table["columns"].items():
        kinds = {type(row[column]) for row in rows} - {type(None)}
        part = f"{quoted(column)} {'INTEGER' if kinds == {int} else 'REAL' if kinds and kinds <= {int, float} else 'TEXT'}"
        if column == id_of(table):
            part += " PRIMARY KEY"
        if all(row[column] is not None for row in rows):
            part += " NOT NULL"
        part += " UNIQUE" if spec.get("unique") else ""
        if "ref" in spec:
            part += f" REFERENCES {quoted(spec['ref'])} ({quoted(id_of(tables[spec['ref']]))})"
        parts.append(part)
    return parts + [f"UNIQUE ({', '.join(map(quoted, columns))})" for columns in table.get("unique", [])]


if __name__ == "__main__":
    run(main)
