#!/usr/bin/env python3
"""Compares gongfu's strict verdict on skills with that of the reference validator, skills-ref.

    compare_reference.py [--gongfu BIN] [--adversarial] [--seed N] [--fuzz N] [FOLDER ...]

Runs `BIN skill check --strict --json` and skills_ref's `validate`, which must be importable, over

- every folder with a SKILL.md or skill.md below each FOLDER (the list of folders is gongfu's),
- with --adversarial, a generated set of odd skills (reference_cases.py, reference_yaml_cases.py),
- with --fuzz N, N documents made by mutation and from a grammar of YAML (reference_fuzz.py),

prints one table, with a row for each collection, and lists each disagreement. The columns:

    agree           both accept, or both refuse for the same reasons
    ours alone      we refuse and they accept
    theirs alone    they refuse (or crash) and we accept
    theirs crashed  the reference raised an exception and we refuse, which counts as agreement
    reasons differ  both refuse, and a message of theirs has no counterpart among our codes, or a
                    strict code of ours has none among their messages
    known           a difference that is listed in KNOWN_DIFFERENCES, with its reason

Exits 1 on any disagreement, when a collection is empty, and when the adversarial set did not
produce every message of the reference. `--plant` flips one of our verdicts: the exit must be 1.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import reference_cases
import reference_fuzz
import reference_yaml_cases

try:
    from skills_ref.validator import validate
except ImportError:
    print("error: the reference validator is not installed", file=sys.stderr)
    print("  hint: pip install skills-ref==0.1.1", file=sys.stderr)
    sys.exit(77)

# What `cargo build --release` makes.
BINARY = Path(__file__).resolve().parent.parent / "target" / "release" / "gongfu"

COLUMNS = ["agree", "ours alone", "theirs alone", "theirs crashed", "reasons differ", "known"]
DISAGREEMENTS = ["ours alone", "theirs alone", "reasons differ"]
BATCH = 500

# Every message of the reference, and the codes that are its counterpart.
MESSAGES: list[tuple[str, str]] = [
    (r"^Path does not exist: ", r"path-missing"),
    (r"^Not a directory: ", r"path-not-a-folder"),
    (r"^Missing required file: SKILL\.md$", r"skill-file-.*"),
    (r"^SKILL\.md must start with YAML frontmatter", r"strict-missing-frontmatter"),
    (r"^SKILL\.md frontmatter not properly closed", r"strict-unclosed-frontmatter"),
    (r"^Invalid YAML in frontmatter: ", r"strict-yaml-.*"),
    (r"^SKILL\.md frontmatter must be a YAML mapping$", r"strict-not-a-mapping"),
    (r"^Unexpected fields in frontmatter: ", r"strict-unexpected-fields"),
    (r"^Missing required field in frontmatter: name$", r"strict-missing-name"),
    (r"^Field 'name' must be a non-empty string$", r"strict-name-(empty|not-a-string)"),
    (r"^Skill name '.*' exceeds 64 character limit", r"strict-name-too-long"),
    (r"^Skill name '.*' must be lowercase$", r"strict-name-not-lowercase"),
    (r"^Skill name cannot start or end with a hyphen$", r"strict-name-hyphen-edge"),
    (r"^Skill name cannot contain consecutive hyphens$", r"strict-name-double-hyphen"),
    (r"^Skill name '.*' contains invalid characters", r"strict-name-invalid-characters"),
    (r"^Directory name '.*' must match skill name", r"strict-name-mismatch"),
    (r"^Missing required field in frontmatter: description$", r"strict-missing-description"),
    (r"^Field 'description' must be", r"strict-description-(empty|not-a-string)"),
    (r"^Description exceeds 1024 character limit", r"strict-description-too-long"),
    (r"^Field 'compatibility' must be a string$", r"strict-compatibility-not-a-string"),
    (r"^Compatibility exceeds 500 character limit", r"strict-compatibility-too-long"),
]


@dataclass
class Ours:
    """Our verdict on one folder."""

    valid: bool
    codes: list[str] = field(default_factory=list)


@dataclass
class Theirs:
    """The reference's verdict on one folder; `crash` names an exception that it did not catch."""

    messages: list[str]
    crash: str | None = None


@dataclass
class Pair:
    """Both verdicts on one folder, and what the folder is there to show."""

    path: Path
    ours: Ours
    theirs: Theirs
    note: str = ""


def strict_codes(pair: Pair) -> list[str]:
    return [code for code in pair.ours.codes if code.startswith("strict-")]


def skill_file(folder: Path) -> Path | None:
    files = (folder / name for name in ("SKILL.md", "skill.md"))
    return next((file for file in files if file.is_file()), None)


def content(pair: Pair) -> str:
    file = skill_file(pair.path)
    return file.read_bytes().decode("utf-8", "replace") if file else ""


def has_newer_characters(pair: Pair) -> bool:
    """Whether the name has characters that this Python does not know, and only that is at issue."""
    is_about_names = all(code.startswith("strict-name-") for code in strict_codes(pair)) and all(
        message.startswith(("Skill name", "Directory name")) for message in pair.theirs.messages
    )
    text = content(pair) + pair.path.name
    return is_about_names and any(unicodedata.category(character) == "Cn" for character in text)


def is_at_the_depth_limit(pair: Pair) -> bool:
    """Whether the deepest line lies where the reference's stack ends, give or take its callers."""
    indents = [len(line) - len(line.lstrip(" ")) for line in content(pair).split("\n")]
    return strict_codes(pair) == ["strict-crash-too-deep"] and 243 <= max(indents) <= 247


KNOWN_DIFFERENCES: list[tuple[str, Callable[[Pair], bool], str]] = [
    (
        "newer Unicode",
        has_newer_characters,
        "whether a character is a letter depends on the version of Unicode: we follow our crates, "
        "the reference follows the Python that it runs on",
    ),
    (
        "depth limit",
        is_at_the_depth_limit,
        "the reference refuses nesting when Python's stack ends: at 244 or 245 levels from its "
        "command line, at 246 from a program that calls it at once; we always refuse 244",
    ),
]


def run_ours(binary: str, paths: Iterable[Path]) -> dict[Path, Ours]:
    """Our verdict on the skills at and below `paths`: the one place that knows our command."""
    command = [binary, "skill", "check", "--strict", "--json", *map(str, paths)]
    # It exits 1 when a skill is invalid; a panic is 101, a signal is negative.
    finished = subprocess.run(command, capture_output=True, timeout=600, check=False)
    if finished.returncode < 0 or finished.returncode >= 101:
        raise SystemExit(f"{binary} died with {finished.returncode}: {finished.stderr.decode()}")
    try:
        answer = json.loads(finished.stdout)
    except json.JSONDecodeError:
        raise SystemExit(f"no JSON from {binary}: {finished.stderr.decode()}") from None
    return {
        Path(skill["path"]): Ours(
            skill["valid"], [diagnostic["code"] for diagnostic in skill["diagnostics"]]
        )
        for skill in answer["skills"]
    }


def run_theirs(path: Path) -> Theirs:
    try:
        return Theirs(validate(path))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever it raises is a crash
        return Theirs([], crash=f"{type(error).__name__}: {error}")


def same_reasons(pair: Pair) -> bool:
    unmatched = set(strict_codes(pair))
    for message in pair.theirs.messages:
        codes = next((codes for known, codes in MESSAGES if re.search(known, message, re.S)), None)
        matching = {code for code in pair.ours.codes if codes and re.fullmatch(codes, code)}
        if not matching:
            return False
        unmatched -= matching
    return not unmatched


def column(pair: Pair) -> str:
    refused = bool(pair.theirs.messages) or pair.theirs.crash is not None
    if refused and pair.ours.valid:
        found = "theirs alone"
    elif not refused and not pair.ours.valid:
        found = "ours alone"
    elif pair.theirs.crash is not None:
        return "theirs crashed"
    elif refused and not same_reasons(pair):
        found = "reasons differ"
    else:
        return "agree"
    return "known" if any(test(pair) for _, test, _ in KNOWN_DIFFERENCES) else found


def below(binary: str, folder: Path) -> list[Pair]:
    ours = run_ours(binary, [folder.resolve()])
    # A folder without skills has an entry of its own, which says so.
    return [
        Pair(path, verdict, run_theirs(path))
        for path, verdict in sorted(ours.items())
        if skill_file(path)
    ]


def adversarial(binary: str, root: Path) -> list[Pair]:
    cases = reference_cases.all_cases() + reference_yaml_cases.all_cases()
    paths = []
    for number, case in enumerate(cases):
        parent = root / f"case-{number:04}"
        (parent / case.folder).mkdir(parents=True)
        for name, data in case.files.items():
            (parent / case.folder / name).write_bytes(data)
        paths.append(parent / (case.path or case.folder))
    plain = [path for path, case in zip(paths, cases, strict=True) if case.path is None]
    ours = run_ours(binary, plain)
    # What is no folder is handed over alone: it may be refused before any skill is looked at.
    for path in set(paths) - set(plain):
        ours |= run_ours(binary, [path])
    missing = Ours(False, ["not-listed"])
    return [
        Pair(path, ours.get(path, missing), run_theirs(path), case.reason)
        for path, case in zip(paths, cases, strict=True)
    ]


def fuzzed(binary: str, root: Path, seed: int, count: int, folders: list[Path]) -> Iterable[Pair]:
    """Documents in batches of folders, so that a big run needs little space."""
    generator = random.Random(seed)
    seeds = reference_fuzz.seeds(folders)
    for start in range(0, count, BATCH):
        with tempfile.TemporaryDirectory(dir=root) as batch:
            paths = []
            for number in range(start, min(start + BATCH, count)):
                name, text = reference_fuzz.document(generator, seeds, number)
                path = Path(batch) / f"fuzz-{number:07}" / name
                path.mkdir(parents=True)
                (path / "SKILL.md").write_bytes(text.encode("utf-8", "surrogatepass"))
                paths.append(path)
            ours = run_ours(binary, [Path(batch)])
            missing = Ours(False, ["not-listed"])
            for path in paths:
                pair = Pair(path, ours.get(path, missing), run_theirs(path))
                if column(pair) in DISAGREEMENTS:
                    pair.note = repr(content(pair))
                yield pair


def uncovered(pairs: list[Pair]) -> list[str]:
    seen = [message for pair in pairs for message in pair.theirs.messages]
    return [
        known
        for known, _ in MESSAGES
        if not any(re.search(known, message, re.S) for message in seen)
    ]


def describe(found: str, pair: Pair) -> str:
    theirs = pair.theirs.crash or " | ".join(pair.theirs.messages) or "valid"
    ours = ", ".join(pair.ours.codes) or ("valid" if pair.ours.valid else "invalid without a code")
    note = f"\n    {pair.note}" if pair.note else ""
    return f"{found}: {pair.path}\n    theirs: {theirs}\n    ours: {ours}{note}"


class Report:
    """Counts and lists what the collections yield."""

    def __init__(self, plant: bool) -> None:
        self.plant = plant
        self.rows: list[tuple[str, Counter[str]]] = []
        self.failures: list[str] = []
        self.known: list[str] = []

    def collect(self, name: str, pairs: Iterable[Pair]) -> None:
        counts: Counter[str] = Counter()
        for pair in pairs:
            if self.plant:
                self.plant = False
                pair.ours = Ours(not pair.ours.valid, [] if not pair.ours.valid else ["planted"])
            found = column(pair)
            counts[found] += 1
            if found in DISAGREEMENTS:
                self.failures.append(describe(found, pair))
            elif found == "known":
                self.known.append(describe(found, pair))
        if not counts:
            self.failures.append(f"{name}: no skills")
        self.rows.append((name, counts))

    def show(self) -> None:
        width = max([len(name) for name, _ in self.rows] + [len("collection")])
        print("collection".ljust(width), "skills".rjust(8), *(f"{name:>15}" for name in COLUMNS))
        for name, counts in self.rows:
            cells = (f"{counts[label]:>15}" for label in COLUMNS)
            print(name.ljust(width), str(counts.total()).rjust(8), *cells)
        for text in self.failures + self.known:
            print(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--gongfu", default=str(BINARY), metavar="BIN", help=f"default: {BINARY}")
    parser.add_argument("--adversarial", action="store_true")
    parser.add_argument("--fuzz", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plant", action="store_true", help="flip one verdict: must exit 1")
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    if not Path(options.gongfu).is_file():
        parser.error(f"{options.gongfu} does not exist; build it, or name one with --gongfu")
    warnings.simplefilter("ignore")

    report = Report(options.plant)
    for folder in options.folders:
        report.collect(str(folder), below(options.gongfu, folder))
    with tempfile.TemporaryDirectory(prefix="compare-reference-") as temporary:
        root = Path(temporary).resolve()
        if options.adversarial:
            pairs = adversarial(options.gongfu, root)
            report.failures += [f"never produced: {message}" for message in uncovered(pairs)]
            report.collect("adversarial", pairs)
        if options.fuzz:
            arguments = options.seed, options.fuzz, options.folders
            report.collect(f"fuzz, seed {options.seed}", fuzzed(options.gongfu, root, *arguments))
        if not report.rows:
            parser.error("nothing to compare: give a FOLDER, --adversarial or --fuzz")
        report.show()
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
