"""Tests of the scripts of the built-in skills, on hostile and on ordinary input: `python3 scripts/test_skills.py`.

They run the scripts directly; tests/it/built_in.rs of the binary runs some in the sandbox.
"""

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SKILLS = Path(__file__).resolve().parent.parent / "skills"
SCHEMA = """
CREATE TABLE schema_migrations (version TEXT PRIMARY KEY);
CREATE TABLE tenants (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, country CHAR(2));
CREATE TABLE users (id INTEGER PRIMARY KEY, tenant_id INT NOT NULL REFERENCES tenants, email VARCHAR(30) UNIQUE NOT NULL,
  "full Name" TEXT, created_at INTEGER NOT NULL, deleted_at DATETIME, boss INT REFERENCES users (id),
  role TEXT CHECK (role IN ('admin', 'it''s')), UNIQUE (tenant_id, id));
CREATE TABLE profiles (user_id INTEGER PRIMARY KEY REFERENCES users ON DELETE CASCADE, picture BLOB NOT NULL);
CREATE TABLE tags (slug TEXT PRIMARY KEY COLLATE NOCASE) WITHOUT ROWID;
CREATE TABLE posts (id UUID PRIMARY KEY, tenant_id INT NOT NULL, user_id INT NOT NULL, title TEXT NOT NULL,
  size INT AS (length(title)) STORED, FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id));
CREATE TABLE post_tags (post_id TEXT NOT NULL REFERENCES posts, tag TEXT NOT NULL REFERENCES tags, PRIMARY KEY (post_id, tag)) WITHOUT ROWID;
CREATE TABLE a (id INTEGER PRIMARY KEY, b_id INT REFERENCES b); CREATE TABLE b (id INTEGER PRIMARY KEY, a_id INT NOT NULL REFERENCES a);
CREATE TABLE trees (id INTEGER PRIMARY KEY, parent INT NOT NULL REFERENCES trees);
CREATE VIEW everybody AS SELECT * FROM users;
"""


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_script(self, skill, script, *arguments, code=0):
        # Without `site` there is nothing but the standard library.
        command = [sys.executable, "-S", SKILLS / skill / "scripts" / script, *arguments]
        environment = os.environ | {"PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        ran = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, encoding="utf-8")
        self.assertNotIn("Traceback", ran.stderr)
        self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)
        return ran

    def file(self, name, content):
        (self.folder / name).write_bytes(content.encode() if isinstance(content, str) else content)

    def database(self, sql, name="a.db"):
        with contextlib.closing(sqlite3.connect(self.folder / name)) as connection:
            connection.executescript(sql)

    def rows(self, sql, name="a.db"):
        with contextlib.closing(sqlite3.connect(self.folder / name)) as connection:
            return connection.execute(sql).fetchall()


class DataAnalysis(Case):
    def described(self, *arguments):
        ran = self.run_script("data-analysis", "describe.py", *arguments, "--format", "json")
        return json.loads(ran.stdout), ran.stderr

    def query(self, sql, *files, code=0):
        ran = self.run_script("data-analysis", "query.py", sql, *files, "--format", "json", code=code)
        return ran.stderr if code else json.loads(ran.stdout)

    def test_columns_are_described_exactly(self):
        self.file("a.csv", "\ufeffname;age;zip;day\nAda;10;007;2024-01-02\nBo;20;100;NA\n\nCy;;2;2024-01-03\nBo;50;3;2024-02-01\n")
        [table], _ = self.described("a.csv")
        name, age, code, day = table["columns"]
        self.assertEqual((table["table"], table["rows"]), ("a", 4))
        self.assertEqual(name["common"], [{"value": "Bo", "count": 2}])
        self.assertEqual([age[key] for key in ("type", "missing", "min", "p25", "median", "p75", "max")], ["integer", 1, 10, 15, 20, 35, 50])
        self.assertAlmostEqual(age["mean"], 80 / 3)
        self.assertEqual((code["type"], day["type"], day["missing"]), ("text", "date", 1))

    def test_delimiters_and_encodings_are_found_out(self):
        for at, content in enumerate(["a,b\n1,x\n", "a\tb\n1\tx, y\n", "a|b\n1|x\n", "a\tb\n1\té\n".encode("utf-16"), 'a;b\n1;"x;\ny"\n']):
            self.file(f"{at}.csv", content)
            [table], _ = self.described(f"{at}.csv")
            self.assertEqual([column["column"] for column in table["columns"]], ["a", "b"], content)

    def test_odd_tables_are_read_and_told(self):
        self.file("ragged.csv", "a,b\n1\n1,2,3\n1,2\n1,2\n")
        [table], notes = self.described("ragged.csv")
        self.assertEqual(table["rows"], 4)
        self.assertIn("1 rows have more cells than the header; the others are left out (first: line 3)", notes)
        self.file("bare.csv", "1,2\n3,4\n")
        self.assertIn("--no-header", self.described("bare.csv")[1])
        self.assertEqual(self.described("bare.csv", "--no-header")[0][0]["rows"], 2)
        self.file("twice.csv", "a,A,\n1,2,3\n")
        self.assertEqual([column["column"] for column in self.described("twice.csv")[0][0]["columns"]], ["a", "A_2", "column_3"])
        self.file("wide.csv", ",".join(f"c{n}" for n in range(200)) + "\n" + ",".join(map(str, range(200))) + "\n")
        self.assertEqual(self.described("wide.csv")[0][0]["columns"][199]["max"], 199)
        self.file("huge.csv", f"a,b,c\n1e999,{2**63},{-2**63}\n1,1,1\n")
        self.assertEqual([column["type"] for column in self.described("huge.csv")[0][0]["columns"]], ["text", "text", "integer"])

    def test_unreadable_files_are_refused(self):
        self.database("CREATE TABLE t (a); INSERT INTO t VALUES (1)", "good.db")
        good = (self.folder / "good.db").read_bytes()
        for content, reason in [
            (b"", "is empty"), (b"\n\n", "has no rows"), (b"a,b\n1,\0\n", "NUL"), (b"a,b\n\xff,1\n", "--encoding"),
            (b'a,b\n"x,1\n2,3\n', "--no-quotes"), (b"a\n1,2\n3,4\n", "fix its first row"),
            (good[:100] + b"\xff" * (len(good) - 100), "can't be read"), (good[:50], "can't be read"),
        ]:  # fmt: skip
            self.file("bad", content)
            self.assertIn(reason, self.run_script("data-analysis", "describe.py", "bad", code=1).stderr)
        self.run_script("data-analysis", "describe.py", "none.csv", code=1)

    def test_queries_join_files_and_change_nothing(self):
        self.database('CREATE TABLE "t x" (a, b); INSERT INTO "t x" VALUES (1, x\'00ff\'), (2, 9e999)')
        self.file("c.csv", "a,n\n1,10\n2,20\n")
        before = (self.folder / "a.db").read_bytes()
        self.assertEqual(self.query('SELECT n, b FROM "t x" JOIN c USING (a) ORDER BY n', "a.db", "c.csv"), [{"n": 10, "b": "<2 bytes>"}, {"n": 20, "b": "inf"}])
        for sql in ['DELETE FROM "t x"', "CREATE TEMP TABLE z (a)", "ATTACH 'z' AS z", "PRAGMA journal_mode = wal", "VACUUM INTO 'z'", "SELECT load_extension('z')"]:
            self.assertIn("only queries are allowed", self.query(sql, "a.db", code=1))
        self.assertIn("the tables are: t x", self.query("SELECT * FROM z", "a.db", code=1))
        self.assertIn("one statement", self.query("SELECT 1; SELECT 2", "a.db", code=1))
        self.assertEqual((self.folder / "a.db").read_bytes(), before)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["a.db", "c.csv"])

    def test_cut_is_told(self):
        self.file("a.csv", "n\n" + "1\n" * 5)
        ran = self.run_script("data-analysis", "query.py", "SELECT n FROM a", "a.csv", "--limit", "2", "--format", "csv")
        self.assertEqual(ran.stdout, "n\n1\n1\n")
        self.assertIn("more rows than these 2", ran.stderr)


class TestDataFactory(Case):
    def make(self, *arguments, code=0):
        return self.run_script("test-data-factory", "make_data.py", *arguments, code=code)

    def fill(self, *arguments, code=0):
        return self.run_script("test-data-factory", "fill_database.py", "a.db", *arguments, code=code)

    def test_shop_holds_together(self):
        self.make("--users", "50", "--orders-per-user", "1-5", "--items-per-order", "2", "--out", "a.db")
        self.assertEqual(self.rows("PRAGMA foreign_key_check") + self.rows("SELECT 1 FROM users GROUP BY email HAVING count(*) > 1"), [])
        self.assertEqual(self.rows("SELECT count(*), count(DISTINCT email) FROM users"), [(50, 50)])
        self.assertEqual(self.rows("SELECT min(n) > 0, max(n) < 6, count(*) FROM (SELECT count(*) AS n FROM orders GROUP BY user_id)"), [(1, 1, 50)])
        wrong = "SELECT o.id FROM orders o JOIN order_items i ON i.order_id = o.id GROUP BY o.id HAVING abs(total - sum(amount)) > 0.001 OR count(*) <> 2"
        self.assertEqual(self.rows(wrong), [])
        self.assertEqual(self.rows("SELECT 1 FROM orders o JOIN users u ON u.id = user_id WHERE ordered_at < created_at"), [])

    def test_seed_decides(self):
        for out, seed in (("one", "7"), ("two", "7"), ("three", "8")):
            self.make("--seed", seed, "--out", out)
        read = lambda out: [(self.folder / out / f"{name}.csv").read_text() for name in ("users", "orders", "order_items", "products")]
        self.assertEqual(read("one"), read("two"))
        self.assertNotEqual(read("one"), read("three"))
        self.assertIn("already", self.make("--out", "one", code=1).stderr)

    def test_schema_files_are_checked(self):
        for tables, reason in [
            ({}, "needs"), ({"a": {"rows": 1, "columns": {"x": "nonsense"}}}, "there is no kind"), ({"a": {"columns": {"x": "id"}}}, "either"),
            ({"a": {"rows": 1, "columns": {"x": {"ref": "b"}}}}, "no table"), ({"a": {"rows": 9, "columns": {"x": {"kind": "boolean", "unique": True}}}}, "none was unique"),
            ({"a": {"rows": 1, "columns": {"x": {"ref": "b"}}}, "b": {"rows": 1, "columns": {"x": {"ref": "a"}}}}, "circle"),
            ({"a": {"rows": "x", "columns": {"x": "id"}}}, "no count"), ({"a": {"rows": 1, "columns": {"x": {"kind": "integer", "most": 3}}}}, "it knows: min, max"),
            ({"../a": {"rows": 1, "columns": {"x": "id"}}}, "name"), ({"a": {"rows": 999999999, "columns": {"x": "id"}}}, "500000"),
        ]:  # fmt: skip
            self.file("s.json", json.dumps({"tables": tables}))
            self.assertIn(reason, self.make("--schema", "s.json", "--out", "out", code=1).stderr)
        self.file("s.json", "[" * 100_000)
        self.make("--schema", "s.json", "--out", "out", code=1)
        self.assertFalse((self.folder / "out").exists())

    def test_example_of_the_reference_works(self):
        text = (SKILLS / "test-data-factory/references/schema.md").read_text(encoding="utf-8")
        self.file("s.json", text.split("```json\n")[1].split("```")[0])
        self.make("--schema", "s.json", "--rows", "patients=10", "--per", "visits=2", "--out", "a.db")
        self.assertEqual(self.rows("SELECT count(*), sum(day < registered) FROM visits JOIN patients p ON p.id = patient_id"), [(20, 0)])

    def test_existing_database_is_filled_by_its_schema(self):
        self.database(SCHEMA + "INSERT INTO tenants VALUES (3, 'x', 'y'); INSERT INTO users VALUES (7, 3, 'x@y', 'x', 1, NULL, NULL, NULL)")
        self.fill("--rows", "30", "--dry-run")
        self.assertEqual(self.rows("SELECT count(*) FROM users"), [(1,)])
        self.fill("--rows", "30", "--nulls", "10")
        self.fill("--rows", "30", "--seed", "2")
        for table in ("tenants", "users", "profiles", "tags", "posts", "post_tags", "a", "b", "trees"):
            self.assertEqual(self.rows(f"SELECT count(*) FROM {table}")[0][0], 61 if table in ("tenants", "users") else 60, table)
        self.assertEqual(self.rows("SELECT count(*) FROM schema_migrations"), [(0,)])
        self.assertEqual(self.rows("PRAGMA foreign_key_check"), [])
        self.assertEqual(self.rows("SELECT email FROM users WHERE id = 7"), [("x@y",)])

    def test_what_does_not_fit_adds_nothing(self):
        self.database("CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE c (p INT NOT NULL REFERENCES p, n INT CHECK (n > 5000), is_on INT UNIQUE)")
        for rows, reason in [
            (["c=3"], "which has no rows: add --rows p=COUNT"), (["p=1", "c=1"], "CHECK constraint failed"),
            (["x=1"], "there is no table x"), (["-3"], "no count"), (["3", "p=1"], "--rows takes"),
        ]:  # fmt: skip
            self.assertIn(reason, self.fill(*(f"--rows={one}" for one in rows), code=1).stderr)
        self.assertIn("none was unique", self.fill("--rows=p=1", "--rows=c=3", "--values", "c.n=6000", code=1).stderr)
        self.assertEqual(self.rows("SELECT (SELECT count(*) FROM p) + (SELECT count(*) FROM c)"), [(0,)])
        self.fill("--rows=p=1", "--rows=c=2", "--values", "c.n=6000|7000")

    def test_nothing_is_deleted(self):
        self.database("CREATE TABLE t (id INTEGER PRIMARY KEY, code TEXT UNIQUE ON CONFLICT REPLACE); CREATE TABLE log (n); INSERT INTO log VALUES (1);")
        self.fill("--rows", "t=5")
        self.database("CREATE TRIGGER d AFTER INSERT ON t BEGIN DELETE FROM log; END;")
        self.assertIn("a trigger would delete rows", self.fill("--rows", "t=5", code=1).stderr)
        self.assertEqual(self.rows("SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM log)"), [(5, 1)])

    def test_bad_databases_are_refused(self):
        self.assertIn("there is no file", self.fill("--rows", "1", code=1).stderr)
        self.file("a.db", bytes(range(256)) * 20)
        self.assertIn("not a database", self.fill("--rows", "1", code=1).stderr)
        self.file("a.db", b"")
        self.assertIn("no tables", self.fill("--rows", "1", code=1).stderr)


class SkillCreator(Case):
    def check(self, files, code=1, name="a-skill"):
        for path, content in files.items():
            (self.folder / name / path).parent.mkdir(parents=True, exist_ok=True)
            self.file(f"{name}/{path}", content)
        return self.run_script("skill-creator", "check.py", name, code=code).stdout

    def test_built_in_skills_pass(self):
        self.run_script("skill-creator", "check.py", *sorted(SKILLS.iterdir()))

    def test_findings_have_a_place(self):
        good = "---\nname: a-skill\ndescription: Fill in the forms of the city. Use it when somebody moves.\n---\n# A\n\nRun `scripts/run.py`.\n"
        header = "# /// script\n# dependencies = [\"requests>=2\", 'PyYAML']\n# ///\n"
        self.check({"SKILL.md": good, "scripts/run.py": f"{header}import json, requests, yaml\nimport helper\n", "scripts/helper.py": ""}, code=0)
        for files, finding in [
            ({"SKILL.md": b"\xff"}, "SKILL.md:1: there is no such file"), ({"SKILL.md": "# A"}, "SKILL.md:1: begin with frontmatter"),
            ({"SKILL.md": good.replace("name: a-skill", "name: A_Skill")}, "SKILL.md:2: `name` takes"),
            ({"SKILL.md": good.replace("name: a-skill", "name: other")}, "SKILL.md:2: the name is `other`"),
            ({"SKILL.md": good.replace("Use it when somebody moves.", "")}, "SKILL.md:3: the description doesn't say when"),
            ({"SKILL.md": good.replace("Fill", "A: fill")}, "SKILL.md:3: the value of `description` needs quotes"),
            ({"SKILL.md": good.replace("# A", "extra\n" * 501)}, "lines: move details"),
            ({"SKILL.md": good + "[x](references/none.md)\n"}, "SKILL.md:8: there is no references/none.md"),
            ({"SKILL.md": good, "scripts/run.py": "import os\nimport numpy.random\n"}, "scripts/run.py:2: `numpy` is imported"),
            ({"SKILL.md": good, "scripts/run.py": "x = (\n"}, "scripts/run.py:1: this isn't Python"),
            ({"SKILL.md": good, "scripts/run.py": "# /// script\n# dependencies = 3\n# ///\n"}, "scripts/run.py:1: the `# /// script` header"),
            ({"SKILL.md": good, "scripts/run.py": "", "scripts/lost.py": ""}, "scripts/lost.py:1: nothing mentions"),
        ]:  # fmt: skip
            self.assertIn(finding, self.check(files))


if __name__ == "__main__":
    unittest.main()
