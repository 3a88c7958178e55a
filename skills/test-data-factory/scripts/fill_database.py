#!/usr/bin/env python3
"""Add test rows to the tables of an existing SQLite database.

It reads the schema, fills tables after those that they refer to, and respects NOT NULL, UNIQUE, FOREIGN KEY and
CHECK (column IN (...)). All rows are added in one transaction or none is; no row is changed or deleted.
"""

import argparse
import re
import sqlite3
from datetime import UTC, datetime
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from urllib.parse import quote

from kinds import KINDS, MAX_ROWS, Maker, Mistake, as_key, settings, quoted, run, span

ATTEMPTS = 60
# The first one that is found in the name of a column, with the kind of value that it then has.
MEANINGS = [(re.compile(pattern), kind) for pattern, kind in (
    (r"^(is|has|can)_", "boolean"), (r"e_?mail", "email"), (r"(deleted|removed|canceled|cancelled|archived|banned|blocked)(_at|_on)?$", "absent"),
    (r"(_at|_on|timestamp|_time|datetime)$", "datetime"), (r"birth|dob$", "birthday"), (r"date|_day$", "date"),
    (r"active|enabled", "boolean"), (r"(first|given)_?name", "first_name"), (r"(last|family)_?name|surname", "last_name"),
    (r"user_?name|login|nick", "username"), (r"company|organi[sz]ation|employer", "company"), (r"product|^item(_?name)?$", "product"),
    (r"^(full|contact|customer|author|display)_?name$", "full_name"), (r"phone|mobile|^tel", "phone"), (r"street|address", "street"),
    (r"city|town", "city"), (r"country_?code", "country_code"), (r"country", "country"), (r"zip|post(al)?_?code", "postcode"),
    (r"job|profession|occupation|position", "job"), (r"url|website|link", "url"), (r"slug", "slug"), (r"uuid|guid", "uuid"),
    (r"sku|code|serial|number$|_no$", "code"), (r"price|amount|total|cost|balance|salary|fee", "price"),
    (r"quantity|qty|count|stock", "quantity"), (r"(^|_)age$", "age"), (r"(^|_)year$", "year"), (r"description|text|body|comment|note|message|content|bio", "sentence"),
    (r"title|subject|headline", "title"), (r"status|state", "status"),
)]  # fmt: skip
# The same for `name`, whose meaning is that of its table.
NAMES = [(re.compile(pattern), kind) for pattern, kind in (
    (r"user|person|people|customer|employee|author|member|patient|student|contact|account|artist", "full_name"), (r"product|item|article", "product"),
    (r"compan|tenant|organi|supplier|vendor|client|brand|shop|store|publisher", "company"), (r"country|countries", "country"), (r"city|cities", "city"),
)]  # fmt: skip
OF_TEXT = {"email", "first_name", "last_name", "username", "company", "product", "full_name", "phone", "street", "city", "country_code",
           "country", "postcode", "job", "url", "slug", "uuid", "code", "title", "sentence", "status", "word", "datetime", "date", "birthday"}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("database")
    parser.add_argument("--rows", action="append", required=True, metavar="[TABLE=]COUNT", help="rows of each table, or of one (then only the named tables are filled)")
    parser.add_argument("--kind", action="append", default=[], metavar="TABLE.COLUMN=KIND", help=f"one of: {', '.join(KINDS)}")
    parser.add_argument("--values", action="append", default=[], metavar="TABLE.COLUMN=A|B|C", help="values to choose from")
    parser.add_argument("--nulls", type=int, default=0, metavar="PERCENT", help="of the values of columns that may be NULL (default 0)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dry-run", action="store_true", help="show the first rows of each table and add none")
    options = parser.parse_args()
    path = Path(options.database)
    if not path.is_file():
        raise Mistake(f"there is no file {path}")
    connection = sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=rw", uri=True, isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("BEGIN IMMEDIATE")
    try:
        filling = Filling(connection, options)
        filling.run()
    except BaseException:
        connection.rollback()
        raise
    connection.execute("ROLLBACK" if options.dry_run else "COMMIT")
    for name, rows in filling.added.items():
        print(f"{name}: {len(rows)} rows" + (" would be added" if options.dry_run else " added"))
        for row in rows[:3] if options.dry_run else []:
            print(f"  {row}")


class Table:
    """What the schema says about a table. Names are compared as SQLite does: without letter case."""

    def __init__(self, connection: sqlite3.Connection, name: str, sql: str) -> None:
        self.name, self.sql = name, sql
        listed = [row for row in connection.execute(f"PRAGMA table_xinfo({quoted(name)})") if row[6] == 0]
        self.columns = {row[1].lower(): row[1] for row in listed}
        self.types = {row[1].lower(): row[2].upper() for row in listed}
        self.key = [row[1].lower() for row in sorted(listed, key=lambda row: row[5]) if row[5]]
        # SQLite takes NULL for a key for historical reasons; nobody means it.
        self.needed = {row[1].lower() for row in listed if row[3]} | set(self.key)
        self.unique = [self.key] if self.key else []
        for index in connection.execute(f"PRAGMA index_list({quoted(name)})").fetchall():
            parts = [row[2] for row in connection.execute(f"PRAGMA index_info({quoted(index[1])})")]
            if index[2] and None not in parts:
                self.unique.append([part.lower() for part in parts])
        links: dict[int, list] = {}
        for row in connection.execute(f"PRAGMA foreign_key_list({quoted(name)})"):
            links.setdefault(row[0], []).append(row)
        self.links = [(rows[0][2].lower(), [row[3].lower() for row in rows], [(row[4] or "").lower() for row in rows]) for rows in links.values()]

    def choices(self, column: str) -> list:
        """The values of a `CHECK (column IN (...))`."""
        literal = r"\s*(?:'(?:[^']|'')*'|-?\d+)\s*"
        found = re.search(rf"""\b{re.escape(column)}["`\]]?\s+IN\s*\(({literal}(?:,{literal})*)\)""", self.sql, re.IGNORECASE)
        parts = re.findall(r"'((?:[^']|'')*)'|(-?\d+)", found[1]) if found else []
        return [int(number) if number else text.replace("''", "'") for text, number in parts]

    def is_needed(self, columns: list[str]) -> bool:
        return all(column in self.needed for column in columns)


class Filling:
    def __init__(self, connection: sqlite3.Connection, options: argparse.Namespace) -> None:
        self.connection, self.nulls, self.maker = connection, options.nulls, Maker(options.seed)
        sql = "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid"
        found = connection.execute(sql).fetchall()
        virtual = [name for name, text in found if text.upper().startswith("CREATE VIRTUAL")]
        found = [one for one in found if one[0] not in virtual and not any(one[0].startswith(f"{name}_") for name in virtual)]
        self.tables = {name.lower(): Table(connection, name, text) for name, text in found}
        if not self.tables:
            raise Mistake("the database has no tables")
        named = [one for one in options.rows if "=" in one]
        every = [one for one in options.rows if "=" not in one]
        if len(every) > 1 or (every and named):
            raise Mistake("--rows takes one COUNT for all tables, or TABLE=COUNT for some")
        # Records of what was done to the schema are no place for test data.
        ordinary = [name for name in self.tables if not re.search(r"migrations?$|(schema|alembic)_version", name)]
        wanted = dict.fromkeys(ordinary, every[0]) if every else {name.lower(): count for name, count in settings(named, "--rows").items()}
        for name in wanted:
            self.known(name)
        self.counts = {name: self.maker.random.randint(*span(count)) for name, count in wanted.items()}
        if sum(self.counts.values()) > MAX_ROWS:
            raise Mistake(f"these are more than {MAX_ROWS} rows")
        self.kinds = {self.column(name): ("kind", kind) for name, kind in settings(options.kind, "--kind", "TABLE.COLUMN=KIND").items()}
        self.kinds |= {self.column(name): ("values", text.split("|")) for name, text in settings(options.values, "--values", "TABLE.COLUMN=A|B").items()}
        self.added: dict[str, list[dict]] = {}

    def known(self, name: str) -> Table:
        if name.lower() not in self.tables:
            raise Mistake(f"there is no table {name}; the tables are: {', '.join(table.name for table in self.tables.values())}")
        return self.tables[name.lower()]

    def column(self, name: str) -> tuple[str, str]:
        table, _, column = name.lower().rpartition(".")
        if column not in self.known(table).columns:
            raise Mistake(f"there is no column {name}; the columns are: {', '.join(self.known(table).columns.values())}")
        return table, column

    def run(self) -> None:
        after = {name: {of for of, columns, _ in self.tables[name].links if of in self.counts and of != name and self.tables[name].is_needed(columns)} for name in self.counts}
        # Columns that may be NULL don't have to wait for their table, but rather do.
        wishes = {name: {of for of, *_ in self.tables[name].links if of in self.counts and of != name} for name in self.counts}
        try:
            order = list(TopologicalSorter(wishes).static_order())
        except CycleError:
            try:
                order = list(TopologicalSorter(after).static_order())
            except CycleError as error:
                raise Mistake(f"tables refer to each other in a circle of NOT NULL columns: {' -> '.join(error.args[1])}") from error
        # A trigger could delete rows; full-text indexes do so in tables of their own.
        deletes = lambda action, table: action == sqlite3.SQLITE_DELETE and table.lower() in self.tables
        self.connection.set_authorizer(lambda action, first, *_: sqlite3.SQLITE_DENY if deletes(action, first) else sqlite3.SQLITE_OK)
        for name in order:
            self.fill(self.tables[name], self.counts[name])
        self.connection.set_authorizer(None)

    def fill(self, table: Table, count: int) -> None:
        rows = self.added[table.name] = []
        if not table.columns or not count:
            return
        parents = [self.parents(table, *link) for link in table.links]
        seen = [{as_key(row) for row in self.connection.execute(f"SELECT {listed(table, columns)} FROM {quoted(table.name)}")} for columns in table.unique]
        sql = f"INSERT OR ABORT INTO {quoted(table.name)} ({listed(table, table.columns)}) VALUES ({', '.join('?' * len(table.columns))})"
        for _ in range(count):
            row = self.fitting(table, parents, seen, len(rows))
            try:
                self.connection.execute(sql, list(row.values()))
            except sqlite3.DatabaseError as error:
                reason = "a trigger would delete rows" if str(error) in ("not authorized", "authorization denied") else error
                raise Mistake(f"{table.name}: {reason}; the row was {row}; --values TABLE.COLUMN=A|B says what may stand there. Nothing was added") from error
            rows.append(row)

    def parents(self, table: Table, of: str, columns: list[str], targets: list[str]) -> list[tuple]:
        """The keys that a foreign key may have, in an order of chance."""
        parent = self.tables.get(of)
        if not parent and table.is_needed(columns):
            raise Mistake(f"{table.name}.{columns[0]} refers to {of}, which is no table")
        if not parent:
            return []
        targets = targets if all(targets) else parent.key
        keys = self.connection.execute(f"SELECT {listed(parent, targets)} FROM {quoted(parent.name)}").fetchall()
        keys = [key for key in keys if None not in key]
        if not keys and parent is not table and table.is_needed(columns):
            raise Mistake(f"{table.name}.{columns[0]} refers to {parent.name}, which has no rows: add --rows {parent.name}=COUNT")
        self.maker.random.shuffle(keys)
        return keys

    def fitting(self, table: Table, parents: list[list[tuple]], seen: list[set], made: int) -> dict:
        for attempt in range(ATTEMPTS + len(parents and parents[0])):
            row = self.row(table, parents, attempt, made)
            keys = [as_key(row[column] for column in columns) for columns in table.unique]
            if all(None in key or key not in known for key, known in zip(keys, seen)):
                for key, known in zip(keys, seen):
                    known.add(key)
                for (of, _, targets), known in zip(table.links, parents):
                    if of == table.name.lower():
                        known.append(tuple(row[target] for target in (targets if all(targets) else table.key)))
                return row
        raise Mistake(f"{table.name}: after {made} rows none was unique any more; ask for fewer rows. Nothing was added")

    def row(self, table: Table, parents: list[list[tuple]], attempt: int, made: int) -> dict:
        self.maker.begin(attempt)
        row = dict.fromkeys(table.columns)
        linked = set()
        for (_, columns, _), keys in zip(table.links, parents):
            linked |= set(columns)
            if not table.is_needed(columns) and self.maker.random.randrange(100) < self.nulls:
                continue
            if keys and any(set(columns) >= set(unique) for unique in table.unique):
                row |= zip(columns, keys[(made + attempt) % len(keys)])  # one after another: each may be taken once
            elif keys:
                if any(row[column] is not None for column in columns):  # of two keys with a common column
                    keys = [key for key in keys if all(row[c] in (None, part) for c, part in zip(columns, key))] or keys
                row |= zip(columns, self.maker.random.choice(keys))
        for column in table.columns:
            if column not in linked:
                try:
                    row[column] = self.value(table, column, row, attempt)
                except Mistake as error:
                    raise Mistake(f"{table.name}.{column}: {error}") from error
        for of, columns, targets in table.links:
            if of == table.name.lower() and table.is_needed(columns) and row[columns[0]] is None:
                row |= zip(columns, [row[target] for target in (targets if all(targets) else table.key)])  # the first one is its own parent
        return row

    def value(self, table: Table, column: str, row: dict, attempt: int) -> object:
        declared = table.types[column]
        is_whole = "INT" in declared and "POINT" not in declared
        if table.key == [column] and is_whole:
            return self.next_id(table, column)
        how, given = self.kinds.get((table.name.lower(), column), ("", None))
        choices = given if how == "values" else table.choices(column)
        if column not in table.needed and self.maker.random.randrange(100) < self.nulls:
            return None
        if choices:
            value = self.maker.random.choice(choices)
            return int(value) if is_whole and re.fullmatch(r"-?\d+", str(value)) else value
        kind = given or meaning(table, column, declared)
        if kind == "blob":
            return self.maker.random.randbytes(16)
        # Nothing happens to a row before it is there.
        created = row.get("created_at") if kind == "datetime" else None
        width = re.search(r"CHAR\w*\s*\(\s*(\d+)", declared)
        if kind == "country" and width and int(width[1]) < 4:
            kind = "country_code"
        value = self.maker.value(kind, {"after": created} if isinstance(created, str) else {})
        if kind == "datetime" and is_whole:
            return int(datetime.fromisoformat(value).replace(tzinfo=UTC).timestamp())
        if isinstance(value, str) and width and len(value) > int(width[1]):
            value = value[: int(width[1])] if not attempt else self.maker.pattern("?" * int(width[1]))
        return value

    def next_id(self, table: Table, column: str) -> int:
        if self.added.get(table.name):
            return self.added[table.name][-1][column] + 1
        sql = f"SELECT max({quoted(table.columns[column])}) FROM {quoted(table.name)}"
        last = [self.connection.execute(sql).fetchone()[0] or 0]
        if "AUTOINCREMENT" in table.sql.upper():
            last += [row[0] for row in self.connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table.name,))]
        if max(last) + self.counts[table.name.lower()] >= 2**63:
            raise Mistake("there are no higher numbers left")
        return max(last) + 1


def meaning(table: Table, column: str, declared: str) -> str:
    """The kind of a column, from its name and its declared type."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])|\W+", "_", table.columns[column]).lower()
    kinds, name = (NAMES, table.name.lower()) if name == "name" else (MEANINGS, name)
    kind = next((kind for pattern, kind in kinds if pattern.search(name)), "word")
    if kind == "absent" and column in table.needed:
        kind = "boolean" if "INT" in declared or "BOOL" in declared else "datetime"
    if "BOOL" in declared or "UUID" in declared:
        return "boolean" if "BOOL" in declared else "uuid"
    if "DATE" in declared or "TIME" in declared:
        return kind if kind in ("birthday", "date", "datetime", "absent") else "datetime" if "TIME" in declared else "date"
    if "INT" in declared:
        return kind if kind in ("boolean", "absent", "datetime", "age", "quantity", "year") else "integer"
    if any(word in declared for word in ("REAL", "FLOAT", "DOUBLE", "NUM", "DEC")):
        return kind if kind in ("price", "boolean", "absent") else "number"
    if "BLOB" in declared:
        return "blob"
    if any(word in declared for word in ("CHAR", "TEXT", "CLOB")) and kind not in OF_TEXT | {"absent"}:
        return "word" if kind != "boolean" else "boolean"
    return kind


def listed(table: Table, columns) -> str:
    return ", ".join(quoted(table.columns.get(column, column)) for column in columns)


if __name__ == "__main__":
    run(main)
