#!/usr/bin/env python3
"""Keeps the table of the modules of Python: which package a script means that imports one.

    module_table.py check [NAME…]   check the form of both tables; for packages that are named, compare
                                    their rows with what is in the newest wheel
    module_table.py add NAME…       write what these packages provide into the table
    module_table.py [--cache FOLDER] [--table FILE] …

A package of this table is installed without a question, so a row has to be right: a wrong one is somebody
else's code. pip fetches the wheels, from the index that it is set to and one after the other. A wheel is
fetched whole, and no more than a few packages are taken at a time: an index isn't there to be crawled.

Prints what is wrong and exits 1; 2 when it was called wrongly.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

FOLDER = Path(__file__).resolve().parent.parent / "crates/gongfu-core/src/import"
TABLE = FOLDER / "python_modules.txt"
NODE_TABLE = FOLDER / "node_packages.txt"

# How many packages may be named at a time, and how long one may take.
MAX_NAMES = 20
PATIENCE = 300.0
# How deep folders without `__init__.py` are looked into.
MAX_DEPTH = 3

# Names that a script's own module may have, or that many packages leave behind.
GENERIC = frozenset(
    """
    access account accounts action actions adapter adapters admin agent agents algorithm algorithms analysis
    analyze api app application apps args assets async auth backend backup base batch benchmark benchmarks bench
    bin bot build builder cache census channels classes cli client clients cmd code command commands common compat
    compute conf config configs configuration conftest connection connectors const constants constraint context
    control controller controllers convert converter core crawler custom data database databases dataset db debug
    default defaults demo demos deploy deps dev devtools display dist dl doc docs download downloader driver
    editor engine entities env environ environment error errors events example examples exception exceptions
    executor export exporter extension extensions extra extras factories features fetch file files fixtures
    format formatter forms frontend func functions generate generator graph graphs gui handler handlers health
    hello helper helpers hist home hook hooks image images import index info init injector input inputs
    install integration integrations interface interfaces internal io job jobs journal keys lib libs license list
    loader local locale log logger logs main manage manager managers mapper master material math_utils metadata
    metrics middleware migrations misc mixins mocks mod model models module modules my_module mymodule myapp
    mypackage names network node nodes notebooks oceans ops options output outputs package packages
    parser parsers path paths patterns pipeline pipelines plot plots plotting plugin plugins preprocess
    preprocessing process processing processor progress project protocol provider providers proxy pytests query
    queries reader readers readme records registry release report reporting reports repository request requirements
    resource resources response result results route router routers routes run runner sample samples schema schemas
    scraper script scripts search security serializers server servers service services session settings setup
    shared shell signals site solution source sources spec src start state statemachine static storage
    storages store stubs style styles support system task tasks template templates test tester testing tests
    text theme tmp tool toolkit tools train training transform transformer transforms translate tutorial tutorials
    types typing ui update updater upload user users util utilities utility utils validate validation validator
    vector vendor version versions view viewer views visualization visualize web wizard worker workers workflow
    workflows wrapper writer writers
    """.split()
)

# Packages that hold a name for another one, or that were left for it.
PLACEHOLDERS = frozenset(
    "beautifulsoup bs4 crypto cv2 dateutil discord docx dotenv fitz git github google jose jwt magic opencv "
    "pil pycrypto python-levenshtein python-igraph serial skimage sklearn slugify telegram usb win32com yaml".split()
)

# Folders that packages of many owners share: none of them is what such a name means.
NAMESPACES = frozenset(
    "azure azure.ai azure.mgmt backports google google.ai google.cloud jaraco keyrings sphinxcontrib zope".split()
)

# What is Python's own: of now, and of versions that scripts were written for.
STANDARD = frozenset(sys.stdlib_module_names) | {"__future__", "asynchat", "asyncore", "distutils", "imp", "smtpd"}

MODULE = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)*")
NODE_PACKAGE = re.compile(r"(@[a-z0-9-]+/)?[a-z0-9][a-z0-9._-]*")
COMPILED = (".so", ".pyd")


def normalised(name: str) -> str:
    """A package's name as indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def row(module: str, package: str) -> str:
    """The line of the table: one word where the package is called like the module."""
    return module if normalised(module) == normalised(package) else f"{module} {normalised(package)}"


def read_rows(table: Path) -> list[tuple[str, str]]:
    """The rows of the table: module and package."""
    words = [line.split() for line in table.read_text().splitlines() if line and not line.startswith("#")]
    return [(word[0], normalised(word[-1])) for word in words]


def unfit(module: str) -> str | None:
    """Why this module may not be in the table."""
    top = module.split(".")[0]
    if not MODULE.fullmatch(module):
        return "is private, or no name of a module"
    if len(module) == 1:
        return "is one letter"
    if top in STANDARD:
        return "is a module of Python itself"
    if module in NAMESPACES:
        return "is shared by packages of many owners"
    if top.lower() in GENERIC:
        return "may as well be a script's own module"
    return None


def faults_of_form(table: Path) -> list[str]:
    """What is wrong with the table as it is written."""
    rows, faults = read_rows(table), []
    lines = [line for line in table.read_text().splitlines() if not line.startswith("#")]
    for (module, package), line in zip(rows, lines, strict=True):
        if line != row(module, package):
            faults.append(f"`{line}` has to be written `{row(module, package)}`")
        if why := unfit(module):
            faults.append(f"`{module}` {why}")
        if package in PLACEHOLDERS:
            faults.append(f"`{module}` has `{package}`, which only holds a name")
    if lines != sorted(set(lines), key=lambda line: line.split()[0]):
        faults.append("the rows aren't in order, or one is there twice")
    modules = [module for module, _ in rows]
    faults += [f"`{module}` has two packages" for module in sorted({one for one in modules if modules.count(one) > 1})]
    return faults


def faults_of_node(table: Path) -> list[str]:
    """What is wrong with the table of Node.js as it is written."""
    names = table.read_text().splitlines()
    faults = [f"`{name}` is no name of a package" for name in names if not NODE_PACKAGE.fullmatch(name)]
    return faults + ([] if names == sorted(set(names)) else ["the packages aren't in order, or one is there twice"])


def fetch(package: str, folder: Path) -> list[str] | str:
    """The files of a package's newest wheel, as they are installed; or why there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    try:
        done = subprocess.run(
            [*pip, "--only-binary", ":all:", "--retries", "2", "--dest", str(folder), package],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return f"took longer than {PATIENCE:.0f} s"
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["pip failed"]
        return lines[-1].removeprefix("ERROR: ")
    wheels = [one for one in folder.glob("*.whl") if normalised(one.name.split("-")[0]) == package]
    if not wheels:
        return "pip left no wheel"
    newest = max(wheels, key=lambda wheel: wheel.stat().st_mtime)
    with zipfile.ZipFile(newest) as archive:
        return installed(archive.namelist())


def installed(names: Iterable[str]) -> list[str]:
    """The paths below `site-packages` of the files of a wheel."""
    paths = [re.sub(r"^[^/]+\.data/(purelib|platlib)/", "", name) for name in names]
    return [path for path in paths if not re.match(r"[^/]+\.(dist-info|data)/", path)]


def part(name: str) -> str | None:
    """The module that a file is, by its name."""
    if name.endswith((".py", *COMPILED)):
        return name.split(".")[0]
    return None


def modules_of(paths: Iterable[str]) -> list[str]:
    """The modules at the top of a wheel; inside of a namespace, what is in it."""
    files = [PurePosixPath(path) for path in paths]
    shared = {PurePosixPath(module.replace(".", "/")) for module in NAMESPACES}
    packages = {path.parent for path in files if part(path.name) == "__init__"} - shared
    found = set()
    for path in files:
        name = part(path.name)
        if name is None or name == "__init__" and path.parent in shared or any(parent.suffix for parent in path.parents):
            continue
        # The outermost folder that is a package, or the file itself where none is.
        outer = [parent for parent in reversed(path.parents) if parent in packages]
        module = outer[0] if outer else path.with_name(name)
        if len(module.parts) <= MAX_DEPTH + 1:
            found.add(".".join(module.parts))
    return sorted(found)


def provides(paths: Iterable[str], module: str) -> bool:
    """Whether a wheel has this module, or something inside of it."""
    wanted = module.replace(".", "/")
    for path in paths:
        inside = path.startswith(wanted + "/") and part(PurePosixPath(path).name) is not None
        file = path.rpartition("/")[0] == wanted.rpartition("/")[0] and part(PurePosixPath(path).name) == wanted.rpartition("/")[2]
        if inside or file:
            return True
    return False


def check(table: Path, packages: list[str], cache: Path) -> list[str]:
    """What is wrong with the tables, and with the rows of these packages."""
    faults = faults_of_form(table) + faults_of_node(NODE_TABLE)
    rows = read_rows(table)
    for package in packages:
        modules = [module for module, owner in rows if owner == package]
        if not modules:
            faults.append(f"no row has the package `{package}`")
            continue
        files = fetch(package, cache)
        if isinstance(files, str):
            faults.append(f"`{package}`: {files}")
            continue
        missing = [module for module in modules if not provides(files, module)]
        faults += [f"`{package}` doesn't have the module `{module}`" for module in missing]
        print(f"{package}: {len(modules) - len(missing)} of {len(modules)} rows are right")
    return faults


def add(table: Path, packages: list[str], cache: Path) -> list[str]:
    """Writes the modules of these packages into the table; what was refused."""
    owners, faults = dict(read_rows(table)), []
    for package in packages:
        if package in PLACEHOLDERS:
            faults.append(f"`{package}` only holds a name")
            continue
        files = fetch(package, cache)
        if isinstance(files, str):
            faults.append(f"`{package}`: {files}")
            continue
        for module in modules_of(files):
            owner = owners.setdefault(module, package) if unfit(module) is None else None
            if owner is None:
                faults.append(f"`{package}`: left out `{module}`, which {unfit(module)}")
            elif owner != package:
                faults.append(f"`{package}`: left out `{module}`, which is a row of `{owner}`")
            else:
                print(row(module, package))
    table.write_text("".join(f"{row(module, owners[module])}\n" for module in sorted(owners)))
    return faults


def main() -> int:
    """Reads the arguments, and does what they say."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--cache", type=Path, help="the folder that wheels are kept in")
    reader.add_argument("--table", type=Path, default=TABLE, help="the table of the modules of Python")
    reader.add_argument("command", choices=["check", "add"])
    reader.add_argument("names", nargs="*", metavar="NAME", help="a package")
    arguments = reader.parse_args()
    packages = list(dict.fromkeys(map(normalised, arguments.names)))
    if len(packages) > MAX_NAMES:
        reader.error(f"{len(packages)} packages are named, and {MAX_NAMES} may be")
    if arguments.command == "add" and not packages:
        reader.error("no package is named")
    with tempfile.TemporaryDirectory() as scratch:
        work = {"check": check, "add": add}[arguments.command]
        faults = work(arguments.table, packages, arguments.cache or Path(scratch))
    for fault in faults:
        print(f"error: {fault}", file=sys.stderr)
    if arguments.command == "check":
        print(f"{len(read_rows(arguments.table))} rows, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
