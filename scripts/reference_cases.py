"""The adversarial set of compare_reference.py: one folder for each way in which a skill can be odd.

Every case has a reason: what it is there to show. The verdict itself comes from the reference.
"""

from __future__ import annotations

from dataclasses import dataclass, field

HEAD = "name: x\ndescription: d\n"


@dataclass
class Case:
    """One folder: what it shows, its name, and its files (`None` as content makes a folder)."""

    reason: str
    folder: str
    files: dict[str, bytes | None] = field(default_factory=dict)
    # A path that is handed over instead of the folder, relative to the folder's parent.
    path: str | None = None


def document(frontmatter: str, body: str = "body\n") -> bytes:
    return f"---\n{frontmatter}---\n{body}".encode()


def skill(reason: str, frontmatter: str | bytes, folder: str = "x", file: str = "SKILL.md") -> Case:
    content = frontmatter if isinstance(frontmatter, bytes) else document(frontmatter)
    return Case(reason, folder, {file: content})


def paths() -> list[Case]:
    good = document(HEAD)
    return [
        Case("the path does not exist", "x", {"SKILL.md": good}, path="nowhere"),
        Case("the path is a file", "x", {"SKILL.md": good, "a.txt": b""}, path="x/a.txt"),
        Case("the folder is empty", "x", {"README.md": b"no skill\n"}),
        Case("the file's name is in mixed case", "x", {"Skill.md": good}),
        Case("the file's name is in lower case", "x", {"skill.md": good}),
        Case("upper case wins over lower case", "x", {"SKILL.md": good, "skill.md": b"broken"}),
        Case("lower case does not stand in", "x", {"SKILL.md": b"broken", "skill.md": good}),
    ]


def files() -> list[Case]:
    good = HEAD
    return [
        skill("an empty file", b""),
        skill("a file of one line break", b"\n"),
        skill("no frontmatter", b"# Title\n\nText\n"),
        skill("a byte order mark before the frontmatter", b"\xef\xbb\xbf" + document(good)),
        skill("an empty line before the frontmatter", b"\n" + document(good)),
        skill("a space before the frontmatter", b" " + document(good)),
        skill("only the first fence", b"---\n"),
        skill("a frontmatter that is never closed", b"---\nname: x\ndescription: d\n"),
        skill("two dashes do not close it", b"---\nname: x\ndescription: d\n--\nbody\n"),
        skill("six dashes", b"------\nname: x\n"),
        skill("four dashes begin a list", b"----\nname: x\n---\n"),
        skill("the first field on the line of the fence", b"---name: x\ndescription: d\n---\n"),
        skill("a space after the fence", b"--- \nname: x\ndescription: d\n--- \n"),
        skill("a comment after the fence", b"--- # c\nname: x\ndescription: d\n---\n"),
        skill("the second fence inside a value", b"---\nname: x\ndescription: a --- b\n---\n"),
        skill("the second fence inside quotes", b"---\nname: x\ndescription: 'a --- b'\n---\n"),
        skill("the second fence inside a comment", b"---\nname: x\ndescription: d\n# --- \n---\n"),
        skill("the second fence cuts a table", b"---\nname: x\ndescription: d\n|---|---|\n"),
        skill("closed by dashes in the body", b"---\nname: x\ndescription: d\n\n# T\n\n---\n"),
        skill("no line break before the second fence", b"---\nname: x\ndescription: d---\n"),
        skill("Windows line breaks", document(good).replace(b"\n", b"\r\n")),
        skill("old Macintosh line breaks", document(good).replace(b"\n", b"\r")),
        skill("mixed line breaks", b"---\r\nname: x\rdescription: d\n\r\n\r---\r"),
        skill("bytes that are not UTF-8 in the body", document(good) + b"\xff\xfe"),
        skill("bytes that are not UTF-8 in the frontmatter", b"---\nname: \xe9\n---\n"),
        skill("an encoded surrogate", b"---\nname: \xed\xa0\x80\n---\n"),
        skill("an overlong encoding", b"---\nname: \xc0\xaf\n---\n"),
        skill("UTF-16", "---\nname: x\n---\n".encode("utf-16")),
        skill("a NUL in the body", document(good) + b"\0"),
        skill("a NUL in the frontmatter", document(good + "license: a\0b\n")),
        skill("an escape character in the frontmatter", document(good + "license: a\x1bb\n")),
        skill("a delete character", document(good + "license: a\x7fb\n")),
        skill("a control character of the second row", document(good + "license: a\x90b\n")),
        skill("a noncharacter", document(good + "license: a\ufffeb\n")),
        skill("a forbidden character in a comment", document(good + "# a\x0bb\n")),
        skill("a character outside the first plane", document(good + "license: \U0001f600\n")),
        skill("a byte order mark after the fence", "---\ufeff\nname: x\ndescription: d\n---\n".encode()),
        skill("a byte order mark before a key", document(good + "\ufefflicense: a\n")),
        skill("a byte order mark in the indentation", document(good + "metadata:\n  a: b\n \ufeff c: d\n")),
        skill("no body", b"---\nname: x\ndescription: d\n---"),
        skill("an empty frontmatter", b"---\n---\n"),
        skill("a frontmatter of comments", "# a\n# b\n"),
        skill("a frontmatter of blanks", "  \n\n \n"),
        skill("a frontmatter of a tab", "\t\n"),
        skill("a scalar", "text\n"),
        skill("a quoted scalar", "'text'\n"),
        skill("a scalar over several lines", "text\nmore\n"),
        skill("a block scalar", "|\n text\n"),
        skill("a block scalar without indentation", "|\ntext\nmore\n"),
        skill("a list", "- name: x\n- description: d\n"),
        skill("a list of lists", "- - a\n  - b\n-\n"),
    ]


def names() -> list[Case]:
    def named(reason: str, name: str, folder: str | None = None) -> Case:
        frontmatter = f"name: {name}\ndescription: d\n"
        return skill(reason, frontmatter, name if folder is None else folder)

    return [
        named("a plain name", "pdf-tools"),
        named("one letter", "a"),
        named("a digit", "7"),
        named("digits and hyphens", "2024-01-02"),
        named("64 characters", "a" * 64),
        named("65 characters", "a" * 65),
        named("too long and otherwise wrong", "A" + "a--" * 30, "x"),
        named("upper case", "PDF"),
        named("one capital letter", "pdfTools"),
        named("a name with a leading hyphen", "-a", "-a"),
        named("a trailing hyphen", "a-"),
        named("only a hyphen, quoted", "'-'", "-"),
        named("two hyphens in a row", "a--b"),
        named("an underscore", "a_b"),
        named("a space inside", "a b"),
        named("a dot", "a.b"),
        named("a slash", "a/b", "b"),
        named("a name unlike the folder's", "other", "x"),
        named("a folder in upper case", "x", "X"),
        named("quoted", "'x'", "x"),
        named("white space around it, quoted", "'  x  '", "x"),
        named("only white space, quoted", "'   '", "x"),
        named("empty, quoted", "''", "x"),
        named("nothing", "", "x"),
        named("a no-break space", "'\u00a0'", "x"),
        named("a separator that Python counts as white space", '"\\x1cx\\x1f"', "x"),
        named("a zero-width space is no white space", "'\u200b'", "x"),
        named("null is text", "null"),
        named("a number is text", "1.5", "1.5"),
        named("a boolean is text", "true"),
        named("a date is text", "2001-01-01"),
        named("a tilde is text", "~", "x"),
        named("Chinese", "中文技能"),
        named("Cyrillic", "навык"),
        named("Cyrillic capitals", "Навык"),
        named("an accent, composed", "caf\u00e9", "cafe\u0301"),
        named("an accent, decomposed", "cafe\u0301", "caf\u00e9"),
        named("a combining mark that stays", "q\u0301"),
        named("Devanagari vowel signs", "हिन्दी"),
        named("Thai vowel signs", "ทักษะ"),
        named("Arabic", "مهارة"),
        named("full-width letters fold", "ｐｄｆ", "pdf"),
        named("a ligature folds", "ﬁle", "file"),
        named("a Roman numeral folds", "ⅷ", "viii"),
        named("a capital Roman numeral", "Ⅷ", "x"),
        named("superscript digits fold", "x²", "x2"),
        named("a fraction folds to a slash", "½", "x"),
        named("a circled letter folds", "ⓐ", "a"),
        named("a digit of another script", "٣"),
        named("a sharp s", "straße"),
        named("a capital sharp s", "STRAẞE", "x"),
        named("a dotted capital i", "İ", "x"),
        named("a title-case letter folds", "ǅ", "x"),
        named("a modifier letter", "ʰx", "hx"),
        named("an ideographic number", "〇"),
        named("a letter that is new in Unicode 15", "\U0001e4d0"),
        named("a letter that is new in Unicode 16", "\U00010d50x", "x"),
        named("a counting rod", "\U0001d360", "x"),
        named("mathematical letters fold", "𝐱", "x"),
        named("a squared word folds to many", "㎉", "x"),
        named("the longest expansion", "ﷺ" * 4, "x"),
        named("emoji", "🚀"),
        named("a soft hyphen", "a\u00adb", "x"),
        named("a non-breaking hyphen folds", "a\u2011b", "x"),
        named("an en dash", "a–b", "x"),
        named("a full-width hyphen folds", "a\uff0db", "a-b"),
        named("a zero-width joiner", "a\u200db", "x"),
        named("a right-to-left override", "a\u202eb", "x"),
        named("a final sigma", "λόγος"),
        named("a capital sigma at the end", "λόγοΣ", "x"),
        named("64 characters that take more bytes", "中" * 64),
        named("65 of them", "中" * 65),
        named("a lone surrogate", '"\\ud800"', "x"),
        named("a surrogate pair as two escapes", '"\\ud83d\\ude00"', "x"),
        named("an escape beyond the last code point", '"\\U00110000"', "x"),
        named("the largest escape", '"\\Uffffffff"', "x"),
        named("an escaped letter", '"\\x78"', "x"),
        named("a name over two lines", "a\n  b", "x"),
        named("a literal block", "|\n  x", "x"),
        named("a folded block", ">-\n  x", "x"),
        named("a name that is a mapping", "\n  a: b", "x"),
        named("a name that is a list", "\n  - a", "x"),
        named("an equals sign is special", "=", "x"),
        named("a merge sign is special", "<<", "x"),
        named("a quoted equals sign is text", "'='", "="),
        named("a comment after it", "x # c", "x"),
        named("a hash without a space", "x#c", "x"),
        skill("no name", "description: d\n"),
        skill("no name and no description", "license: a\n"),
        skill("the name twice", "name: x\nname: x\ndescription: d\n"),
        skill("the name in upper case as a field", "Name: x\ndescription: d\n"),
    ]


def fields() -> list[Case]:
    def with_field(reason: str, line: str) -> Case:
        return skill(reason, f"{HEAD}{line}\n")

    def described(reason: str, text: str) -> Case:
        return skill(reason, f"name: x\ndescription: {text}\n")

    return [
        skill("no description", "name: x\n"),
        described("an empty description", ""),
        described("an empty description, quoted", "''"),
        described("a blank description", "'  '"),
        described("a blank description by escapes", '"\\n\\t"'),
        described("a description of zero-width spaces", "'\u200b'"),
        described("a description of a separator", '"\\x1c"'),
        described("1024 characters", "d" * 1024),
        described("1025 characters", "d" * 1025),
        described("1024 characters and white space", "'" + "d" * 1024 + "  '"),
        described("1024 characters that take more bytes", "中" * 1024),
        described("1025 characters outside the first plane", "\U0001f600" * 1025),
        described("1025 by an escape", '"' + "d" * 1023 + '\\n\\n"'),
        described("folded to 1024", ">-\n" + ("  " + "d" * 204 + "\n") * 5),
        described("folded to 1025", ">\n" + ("  " + "d" * 204 + "\n") * 5),
        described("folded with empty lines", ">\n" + ("  " + "d" * 203 + "\n\n") * 5),
        described("kept line breaks", "|+\n" + ("  " + "d" * 204 + "\n") * 5),
        described("stripped line breaks", "|-\n" + ("  " + "d" * 204 + "\n") * 5),
        described("more indented lines do not fold", ">\n  a\n    b\n  c\n"),
        described("a description that is a mapping", "\n  a: b"),
        described("a description that is a list", "\n- a\n- b"),
        described("an equals sign", "="),
        described("a merge sign", "<<"),
        described("a number", "42"),
        described("a colon and a space", "use it: always"),
        described("a colon at the end", "use it:"),
        described("a colon without a space", "a:b http://c"),
        described("a quoted colon", "'use it: always'"),
        described("a colon on the second line", "use it\n  like: this"),
        described("a hash", "C# and F# # comment"),
        described("a leading at sign", "@home"),
        described("a leading grave accent", "`code`"),
        described("a leading per cent", "%done"),
        described("a leading asterisk", "*bold* text"),
        described("a leading ampersand", "&c"),
        described("a leading exclamation mark", "!important"),
        described("a leading bracket", "[draft] text"),
        described("a leading brace", "{draft}"),
        described("brackets inside", "a [b] {c}, d"),
        described("a leading comma", ", a"),
        described("a leading closing bracket", "] a"),
        described("a leading bar", "| text"),
        described("a leading greater-than sign", "> text"),
        described("a leading hyphen and space", "- text"),
        described("a leading hyphen", "-text"),
        described("a leading question mark", "?text"),
        described("a leading question mark and space", "? text"),
        described("a leading colon", ":text"),
        described("a leading quote", "'quoted' and more"),
        described("an open quote", "'quoted"),
        described("an open double quote", '"quoted'),
        described("an apostrophe inside", "don't"),
        described("a doubled apostrophe", "'don''t'"),
        described("an unknown escape", '"a\\d"'),
        described("a short escape", '"\\x4"'),
        described("every escape", '"\\0\\a\\b\\t\\n\\v\\f\\r\\e\\ \\"\\/\\\\\\N\\_\\L\\P\\x41\\u0041\\U00000041"'),
        described("an escaped line break", '"a\\\n   b"'),
        described("a tab inside", "a\tb"),
        described("a tab inside quotes", "'a\tb'"),
        described("a tab before", "\ta"),
        described("a tab after", "a\t"),
        described("a next-line character", "a\u0085 b"),
        described("a line separator", "a\u2028 b"),
        described("a paragraph separator and a key", "a\u2029license: b"),
        with_field("an unexpected field", "version: 1"),
        with_field("several unexpected fields", "version: 1\nauthor: a\nZ: b\nä: c"),
        with_field("an empty field name", ": a"),
        with_field("a quoted known field", "'license': a"),
        with_field("a known field with a space", "license : a"),
        with_field("an underscore instead of a hyphen", "allowed_tools: a"),
        with_field("a license", "license: Apache-2.0"),
        with_field("an empty license", "license:"),
        with_field("a license as a mapping", "license:\n  a: b"),
        with_field("tools as text", "allowed-tools: Bash(git:*) Read"),
        with_field("tools as a list", "allowed-tools:\n  - Read\n  - Write"),
        with_field("tools as a list without indentation", "allowed-tools:\n- Read\n- Write"),
        with_field("tools in flow style", "allowed-tools: [Read, Write]"),
        with_field("metadata", "metadata:\n  author: a\n  version: '1'"),
        with_field("metadata in flow style", 'metadata: {"a": "b"}'),
        with_field("nested metadata", "metadata:\n  a:\n    b:\n      c: d"),
        with_field("metadata as text", "metadata: text"),
        with_field("metadata as a list", "metadata:\n  - a"),
        with_field("empty metadata", "metadata:"),
        with_field("metadata with special scalars", "metadata:\n  a: =\n  b: <<"),
        with_field("compatibility", "compatibility: Claude Code"),
        with_field("empty compatibility", "compatibility:"),
        with_field("compatibility as a mapping", "compatibility:\n  a: b"),
        with_field("compatibility as a list", "compatibility:\n- a"),
        with_field("compatibility as an equals sign", "compatibility: ="),
        with_field("compatibility of 500 characters", "compatibility: " + "c" * 500),
        with_field("compatibility of 501 characters", "compatibility: " + "c" * 501),
        skill("everything wrong at once", f"name: A--\ndescription: {'d' * 1025}\ncompatibility:\n- a\nother: b\n"),
    ]


def all_cases() -> list[Case]:
    return paths() + files() + names() + fields()
