"""Cases of hostile_index.py about packages that are built, about locks of projects, and about what is told of them."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clients import expect
from fake_index import source, wheel

if TYPE_CHECKING:
    from hostile_index import World

SAYS = "import good\nprint(good.says())\n"
RUN = ["python", "x.py"]
SECRET = "verysecrettoken"
FETCH = Path(__file__).parent.parent / "crates" / "gongfu-environments" / "src" / "fetch_source.py"

# Runs a piece of code, and makes a wheel then.
BACKEND = """import base64, glob, hashlib, os, pathlib, sys, zipfile
NAME, VERSION = {name!r}, {version!r}
def wheel(folder, name=None, version=None, text='SAYS = "built"'):
    name, version = name or NAME, version or VERSION
    own = '%s-%s.dist-info/' % (name, version)
    files = {{name + '.py': text, own + 'METADATA': 'Metadata-Version: 2.1\\nName: %s\\nVersion: %s\\n' % (name, version), own + 'WHEEL': 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n'}}
    record = own + 'RECORD,,\\n'
    for path, body in files.items():
        found = base64.urlsafe_b64encode(hashlib.sha256(body.encode()).digest()).rstrip(b'=').decode()
        record += '%s,sha256=%s,%d\\n' % (path, found, len(body))
    file = '%s-%s-py3-none-any.whl' % (name, version)
    with zipfile.ZipFile(os.path.join(folder, file), 'w') as archive:
        for path, body in [*files.items(), (own + 'RECORD', record)]:
            archive.writestr(path, body)
    return file
def put(path, text):
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        pathlib.Path(path).write_text(text)
        os.chmod(path, 0o755)
    except OSError:
        pass
def build_wheel(folder, config_settings=None, metadata_directory=None):
    exec({code!r}, globals(), {{'folder': folder}})
    return wheel(folder)
"""


def sdist(name: str, code: str = "", *, requires: Any = (), version: str = "1.0") -> bytes:
    """A source distribution whose build runs some code."""
    requires = requires if isinstance(requires, str) else json.dumps(list(requires))
    settings = f'[build-system]\nrequires = {requires}\nbuild-backend = "backend"\nbackend-path = ["."]\n[project]\nname = "{name}"\nversion = "{version}"\n'
    information = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    return source(name, version, {"pyproject.toml": settings, "backend.py": BACKEND.format(name=name, version=version, code=code), "PKG-INFO": information})


def hold(world: World, name: str, code: str = "", *, requires: Any = (), version: str = "1.0") -> None:
    """The index has this source distribution from now on, and the operator has everything built."""
    world.index.files[f"{name}-{version}.tar.gz"] = sdist(name, code, requires=requires, version=version)
    world.configure('build = ["*"]')


def skill(requirements: str, script: str = SAYS) -> dict[str, str]:
    """The files of a skill in Python."""
    return {"requirements.txt": requirements, "x.py": script}


def left_out(ran: dict[str, Any]) -> list[str]:
    """The packages that a run says that its environment lacks."""
    return list(ran["environments"][0].get("left_out", []))


def is_kept(world: World, text: str) -> list[str]:
    """The files of the home that hold a text."""
    files = [file for file in (world.base / "home").rglob("*") if file.is_file() and not file.is_symlink()]
    return [str(file) for file in files if text.encode() in file.read_bytes()]


# Writes into the environment what a later step would run or follow, if it were kept.
STEALS = """
steals = "import os; open('/env/stolen', 'a').write(str(dict(os.environ)))"
for lib in {'/env/lib/python%d.%d' % sys.version_info[:2], *glob.glob('/env/lib/python3*')}:
    put(lib + '/site-packages/evil.pth', steals + chr(10))
put('/env/requirements.lock', 'good==1.0' + chr(10) + '--no-such-option' + chr(10))
put('/env/bin/grep', '#!/bin/sh' + chr(10) + 'env >> /env/stolen' + chr(10))
"""
PROGRAM = """
import shutil
shutil.rmtree('/env/bin', ignore_errors=True)
put('/env/bin/python/bin/python', '#!/bin/sh' + chr(10) + 'env >> /env/stolen' + chr(10))
"""
TELLS = "import glob, os\nprint('found', [*glob.glob('/env/stolen'), *glob.glob('/env/lib/python3*/site-packages/evil.pth'), *glob.glob('/env/bin/grep')])\n"


def build_writes_to_the_environment(world: World) -> None:
    """A source distribution whose build leaves code for the steps that have the index's password."""
    world.variables = {"UV_DEFAULT_INDEX": f"https://me:{SECRET}@localhost:{world.index.port}/simple"}
    for name, code in (("stealing", STEALS), ("replacing", PROGRAM)):
        hold(world, name, code)
        ran = world.works(skill(f"{name}\ngood\n", f"{TELLS}import {name}\nprint({name}.SAYS)\n{SAYS}"), "found []")
        # The control: it was built.
        expect("built" in ran["stdout"] and "good" in ran["stdout"], f"{name} is installed: {ran}")
        expect(not is_kept(world, SECRET), f"{name} has the password: {is_kept(world, SECRET)}")


def build_leaves_half(world: World) -> None:
    """A source distribution whose build fails: nothing is left of it."""
    hold(world, "failing", "raise SystemExit('no')")
    error = world.fails(skill("failing\n"), "DEPENDENCIES_INVALID", "nothing_built")
    expect(bool(error), "it fails")
    making = world.base / "home" / "environments" / "making"
    left = [one for one in making.iterdir() if one.is_dir()]
    expect(not left, f"nothing is left of it: {left}")


def build_makes_other_wheels(world: World) -> None:
    """A source distribution whose build makes a wheel of another package, beside its own or in place of it."""
    other = "text='def says(): return \"REPLACED\"'"
    places = "[folder, '/build/wheels', '/env/.build/wheels', '/in/wheels']"
    beside = f"for place in {places}:\n  try: wheel(place, 'good', '99.0', {other})\n  except OSError: pass"
    for name, code in (("besides", beside), ("newer", "globals().update(VERSION='2.0')"), ("renamed", "globals().update(NAME='good', VERSION='99.0')")):
        hold(world, name, code)
        ran = world.works(skill(f"{name}\ngood\n"), "good")
        told = left_out(ran)
        expect(any(one.startswith(f"{name}: the build failed") for one in told), f"{name} is left out: {ran}")
    hold(world, "honest")
    ran = world.works(skill("honest\ngood\n"), "good")
    expect(not left_out(ran), f"the control: one wheel is taken: {ran}")


def build_requires_from_elsewhere(world: World) -> None:
    """A source distribution whose build requires something else than packages of the index."""
    away = f"good @ {world.other.url}/files/good-1.0-py3-none-any.whl"
    many = ["good"] * 60
    bad = [[*many, away], [*many, f"--index-url {world.other.url}/simple"], [*many, f"-r {world.other.url}/r.txt"], [f"good\n{away}"], ["good"] * 101, '"good"', "[[]]", "[1]", "{ a = 1 }"]
    world.configure('build = ["*"]', f'hosts = ["localhost:{world.other.port}"]')
    for number, requires in enumerate(bad):
        world.index.files[f"needing{number}-1.0.tar.gz"] = sdist(f"needing{number}", requires=requires)
        ran = world.works(skill(f"needing{number}\ngood\n"), "good")
        told = left_out(ran)
        expect("build-system.requires" in told[0], f"{requires}: it is told: {told}")
    expect(not world.other.accepted, "somebody else was asked")
    hold(world, "needing", requires=many)
    expect(not left_out(world.works(skill("needing\ngood\n"), "good")), "the control: it is built")


def project_that_is_built(world: World, files: dict[str, str]) -> None:
    """A project with a lock, and whatever else stands in it: it isn't built, and its tools have no say."""
    text, lock = files["scripts/pyproject.toml"], files["scripts/uv.lock"]
    system = '[build-system]\nrequires = ["evil"]\nbuild-backend = "evil"\n'
    # A version that only a build could tell.
    dynamic = text.replace('version = "1"', 'dynamic = ["version"]')
    unversioned = lock.replace('version = "1"\nsource = { virtual = "." }', 'source = { editable = "." }')
    expect(dynamic != text and unversioned != lock, "the project has a version")
    ran = world.works({**files, "scripts/pyproject.toml": dynamic + system, "scripts/uv.lock": unversioned}, "good")
    expect(not left_out(ran), f"the lock is followed: {ran}")
    for number, tool in enumerate(['[tool.uv.sources]\ngood = { path = "/in" }\n', '[tool.uv.workspace]\nmembers = ["../../in"]\n', "[tool.uv]\nno-such-setting = 1\n"]):
        ran = world.works({**files, "scripts/pyproject.toml": text + tool, "scripts/note.txt": str(number)}, "good")
        expect(not left_out(ran), f"{tool}: the lock is followed: {ran}")
    # A lock that uv can't follow for any reason is one that doesn't fit.
    registry = next(line for line in lock.splitlines() if "registry = " in line)
    for place in ('path = "/in"', 'directory = "/in"', 'git = "https://localhost/x?rev=1#0123456789012345678901234567890123456789"'):
        ran = world.works({**files, "scripts/uv.lock": lock.replace(registry, f"source = {{ {place} }}")}, "good")
        expect("versions were resolved again" in str(left_out(ran)), f"{place}: it is told: {ran}")


def secrets_of_a_refusal(world: World) -> None:
    """An index that refuses a package, whose URL holds a secret: it isn't told, however long it is."""
    number = 0
    for secret in (SECRET, "s" + "0123456789" * 60):
        for place in (f"https://{secret}@localhost:{world.index.port}/simple", f"https://localhost:{world.index.port}/simple?token={secret}"):
            world.variables = {"UV_DEFAULT_INDEX": place}
            world.index.forbidden = {"forbidden"}
            for requirements in ("forbidden\ngood!=7.{}\n", "forbidden!=7.{}\n"):
                number += 1
                requirements = requirements.format(number)
                ran = world.run(world.skill(skill(requirements, "print(1)\n")), RUN)
                expect("403" in json.dumps(ran) or "Forbidden" in json.dumps(ran), f"the control: the refusal is told: {ran}")
                listed = world.tell("env", "list", "--json").stdout
                for some in (secret, secret[:40]):
                    expect(some not in json.dumps(ran) + listed and not is_kept(world, some), f"the secret is told: {ran}")


def logins_of_a_source(world: World) -> None:
    """An index with a login whose source distributions are at somebody else's, or lead there."""
    login = {"UV_DEFAULT_INDEX": f"https://me:{SECRET}@localhost:{world.index.port}/simple"}
    world.variables, world.index.wanted = login, world.index.login(f"me:{SECRET}")
    hold(world, "private")
    expect(not left_out(world.works(skill("private\ngood\n"), "good")), "the index gets its login")
    world.index.wanted = None
    hosts = f'hosts = ["localhost:{world.other.port}"]'
    world.configure('build = ["*"]', hosts)
    for name in ("away", "moved"):
        world.other.files[f"{name}-1.0.tar.gz"] = world.index.files[f"{name}-1.0.tar.gz"] = sdist(name)
    world.index.elsewhere["away-1.0.tar.gz"] = world.other.url.replace("://", "://who:knows@")
    world.index.moved["/simple/moved/"] = f"{world.other.url}/simple/moved/"
    for name in ("away", "moved"):
        world.other.logins.clear()
        ran = world.works(skill(f"{name}\ngood\n"), "good")
        expect(not left_out(ran), f"{name} is built: {ran}")
        expect(bool(world.other.logins) and world.index.login(f"me:{SECRET}") not in world.other.logins, f"{name}: {world.other.logins}")
    world.other.asked.clear()
    world.other.accepted = 0


def versions_of_a_source(world: World) -> None:
    """Requirements of source distributions: the version that is built is one of those wanted."""
    spec = importlib.util.spec_from_file_location("fetch_source", FETCH)
    expect(spec is not None and spec.loader is not None, "fetch_source.py is there")
    fetch = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fetch)
    for version, wanted, is_one in [
        ("1.4", "~=1.2", True), ("2.0", "~=1.2", False), ("1.1", "~=1.2", False), ("1.2.9", "~=1.2.3", True), ("1.3", "~=1.2.3", False), ("1.2.post1", "~=1.2.0", True),
        ("1.5", "==1.*", True), ("2.0", "==1.*", False), ("10", "==1.*", False), ("1", "==1.0.*", True), ("1.5", "!=1.*", False), ("2.0", "!=1.*", True),
        ("1.0", "==1", True), ("1.0.post1", "==1.0.1", False), ("1.0.post1", "==1.0", False), ("1.0.post1", ">1.0", False), ("1.0.post1", ">=1.0", True), ("1.0", "===1.0", True), ("1", "===1.0", False),
        ("2.0", "<2.0a1", False), ("2.0", "<=2.0rc1", False), ("2.0", ">2.0rc1", True), ("1.9", ">=1.0,!=1.8,<2", True), ("1.8", ">=1.0, != 1.8 ,<2", False), ("1.8", "(>=1.0,<1.8)", False),
    ]:  # fmt: skip
        expect(fetch.fits(version, wanted) == is_one, f"{version} {wanted}")
    expect(not any(map(fetch.is_final, ["1.0rc1", "1.0+x", "x", "", "1.0.dev1"])), "only final ones are built")
    for version in ("1.0", "1.5", "2.0"):
        hold(world, "some_versions", version=version)
    for wanted, version in (("Some.Versions~=1.0", "1.5"), ("some-versions==1.*", "1.5"), ("some__versions<1.5", "1.0"), ("some_versions", "2.0")):
        ran = world.works(skill(f"{wanted}\ngood\n", f"{SAYS}from importlib.metadata import version\nprint(version('some_versions'))\n"), f"good\n{version}\n")
        expect(not left_out(ran), f"{wanted}: {ran}")


def requirements_of_no_form(world: World) -> None:
    """Requirements and constraints that uv can't read: they alone are left out."""
    lines = ["other >= 1.x", "other>=1,,<2", "other (>=1", "other; python_version", 'other ; bogus == "x"', "other==1.*.*", "good===", "other>=1 x"]
    world.index.wheel("kept", {"kept.py": b"1"})
    ran = world.works(skill("\n".join([*lines[:4], "good", *lines[4:], "kept", ""]), f"import kept\n{SAYS}"), "good")
    told = left_out(ran)
    expect(len(told) == len(lines) and all("manifest_unfit" in one for one in told), f"each is told: {told}")
    ran = world.works({**skill("good\n-c constraints.txt\n"), "constraints.txt": "kept<2\nother>=1.x\ngood<2\n"}, "good")
    expect(len(left_out(ran)) == 1 and "other>=1.x" in left_out(ran)[0], f"the constraint is told: {ran}")
    world.fails(skill("other>=1,,<2\n"), "DEPENDENCIES_INVALID", "manifest_unfit")


def few_among_many(world: World) -> None:
    """Many requirements, few of which can't be had: exactly those are left out, in their order."""
    for number in range(60):
        world.index.wheel(f"many{number}", {f"many{number}.py": b"1"})
    names = [f"many{number}" for number in range(60)]
    lines = [*names[:20], "gongfu-none", *names[20:], "many3>7", "good"]
    world.index.asked.clear()
    ran = world.works(skill("\n".join([*lines, ""])), "good")
    attempts = world.index.asked.count("/simple/many0/")
    expect(0 < attempts < len(lines) / 2, f"they aren't tried one by one: {attempts}")
    told = [one.split(":")[0] for one in left_out(ran)]
    expect(told == ["gongfu-none", "many3>7"] and ran["environments"][0]["packages"] == 61, f"those two: {ran}")


def stale_page(world: World) -> None:
    """An index whose second answer lacks the release that the first one had: versions are resolved again."""
    for version in ("1.0", "1.1"):
        world.index.files[f"young-{version}-py3-none-any.whl"] = wheel("young", version, {"young.py": f"VERSION = {version!r}\n".encode()})
    world.index.stale = {"young-1.1-py3-none-any.whl": 1}
    world.index.asked.clear()
    world.works(skill("young\n", "import young\nprint(young.VERSION)\n"), "1.1")
    asked = world.index.asked.count("/simple/young/")
    expect(world.index.stale["young-1.1-py3-none-any.whl"] < 0 and asked > 2, f"a page was stale: {asked}")


def much_left_out(world: World) -> None:
    """Much that is left out, and names that a terminal would obey: it is told in bounds, and visibly."""
    ran = world.works(skill("".join(f"gongfu-none-{number}\n" for number in range(70)) + "good\n"), "good")
    told = left_out(ran)
    expect("more" in told[-1] and told[-1].startswith("and ") and len(json.dumps(told)) < 64 * 1024, f"the rest is counted: {told}")
    kept = b"".join(file.read_bytes() for file in (world.base / "home").rglob("record.json")).decode()
    expect('"and 20 more"' in kept, "the record counts them as well")
    world.index.wheel("odd", {"odd.py": b"1"}, needs=["gone\x1b[31m\u202etxt>1", "gone" * 3_000])
    name = world.skill(skill("odd\ngood\n"))
    built = world.tell("env", "build", name)
    shown = built.stdout + built.stderr + world.tell("env", "list").stdout + json.dumps(world.run(name, RUN), ensure_ascii=False)
    expect("odd" in shown, f"it is told: {shown}")
    kept = b"".join(file.read_bytes() for file in (world.base / "home").rglob("record.json")).decode()
    expect(not set("\x1b\u202e") & set(shown.replace("\x1b[0m", "") + kept) and len(kept) < 256 * 1024, f"nothing is hidden in it: {shown!r}")


CASES: list[Callable[[Any], None]] = [
    build_writes_to_the_environment, build_leaves_half, build_makes_other_wheels, build_requires_from_elsewhere, secrets_of_a_refusal,
    logins_of_a_source, versions_of_a_source, requirements_of_no_form, few_among_many, stale_page, much_left_out,
]  # fmt: skip
