#!/usr/bin/env python3
"""Has packages be installed from an index that lies, fails, is slow, or isn't there, and by skills that lie.

    hostile_index.py [--gongfu BIN]

The index is this program's own, on loopback. Each case says which code a run has to end with, and what must
not have happened; that a good package of the same index is installed is the control of all of them.

Prints a row for each. Exits 1 on any failure, 77 when what it needs is not installed here.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from clients import NOT_INSTALLED, Row, binary, described, expect, print_table

try:
    import hostile_builds
    from fake_index import Index, authority, source, wheel
except ImportError:
    Index = None

PATIENCE = 120.0
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
GOOD = {"good.py": b"def says():\n    return 'good'\n"}
SAYS = "import good\nprint(good.says())\n"
RUN = ["python", "x.py"]
# How many bytes a wheel holds that is to be too large, and how many MiB there are.
LARGE = 200 * 1024 * 1024
DISK = 64


class World:
    """A home, skills, an index, and somebody else's server that nobody may ask."""

    def __init__(self, base: Path, gongfu: Path, uv: Path) -> None:
        self.base, self.gongfu, self.uv = base, gongfu, uv
        made, self.certificate = authority(base)
        self.index, self.other = Index(made), Index(made)
        self.other.wheel("good", {"good.py": b"def says():\n    return 'elsewhere'\n"})
        self.index.wheel("good", GOOD)
        self.variables: dict[str, str] = {}
        self.count = 0
        self.configure()

    def configure(self, *lines: str) -> None:
        """Writes the settings."""
        (self.base / "home").mkdir(exist_ok=True)
        text = "\n".join(["[dependencies]", f"disk_mib = {DISK}", *lines, ""])
        (self.base / "home" / "config.toml").write_text(text)

    def environment(self) -> dict[str, str]:
        """The variables of gongfu."""
        # The index is on loopback, where no proxy of this machine leads.
        own = {name: value for name, value in os.environ.items() if name.lower() not in PROXIES}
        return {
            **own,
            "GONGFU_HOME": str(self.base / "home"),
            "PATH": f"{self.uv.parent}:{os.environ['PATH']}",
            "SSL_CERT_FILE": str(self.certificate),
            "UV_DEFAULT_INDEX": f"{self.index.url}/simple",
            "npm_config_registry": f"{self.index.url}/npm/",
            **self.variables,
        }

    def skill(self, files: dict[str, str]) -> str:
        """Makes a new skill; answers its name."""
        self.count += 1
        name = f"skill-{self.count}"
        for path, text in {"SKILL.md": f"---\nname: {name}\ndescription: Is run by the checks.\n---\n", **files}.items():
            file = self.base / "skills" / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return name

    def command(self, *arguments: str) -> list[str]:
        """A command line of gongfu over these skills."""
        places = ["--skills-dir", str(self.base / "skills"), "--no-default-dirs"]
        head = 2 if arguments[0] == "env" else 1
        return [str(self.gongfu), *arguments[:head], *places, *arguments[head:]]

    def tell(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs gongfu to its end."""
        return subprocess.run(self.command(*arguments), env=self.environment(), cwd=self.base, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)

    def run(self, name: str, command: list[str]) -> dict[str, Any]:
        """Runs something of a skill; answers what JSON says of it."""
        done = self.tell("run", "--json", name, "--", *command)
        try:
            return dict(json.loads(done.stdout))
        except ValueError:
            return {"said": done.stdout + done.stderr}

    def fails(self, files: dict[str, str], code: str, reason: str, command: list[str] | None = None) -> dict[str, Any]:
        """Sees to it that a skill ends with this code, for this reason."""
        ran = self.run(self.skill(files), command or RUN)
        error = ran.get("error", {})
        expect(error.get("code") == code and error.get("reason") == reason, f"{code}, {reason}: {ran}")
        expect("nothing was run" in error.get("hint", ""), f"it says that nothing was run: {error}")
        return dict(error)

    def works(self, files: dict[str, str], says: str, command: list[str] | None = None) -> dict[str, Any]:
        """Sees to it that a skill runs."""
        ran = self.run(self.skill(files), command or RUN)
        expect(ran.get("exit_code") == 0 and says in ran.get("stdout", ""), f"it says {says!r}: {ran}")
        return ran


def python(requirements: str, script: str = SAYS) -> dict[str, str]:
    """The files of a skill in Python."""
    return {"requirements.txt": requirements, "x.py": script}


def project(world: World, text: str) -> dict[str, str]:
    """The files of a project with a lock, as `uv` makes it for this index."""
    folder = Path(tempfile.mkdtemp(dir=world.base))
    (folder / "pyproject.toml").write_text(text)
    subprocess.run([str(world.uv), "lock", "--quiet"], cwd=folder, env=world.environment(), check=True, stdin=subprocess.DEVNULL)
    return {"scripts/pyproject.toml": text, "scripts/uv.lock": (folder / "uv.lock").read_text(), "x.py": SAYS}


PROJECT = '[project]\nname = "x"\nversion = "1"\nrequires-python = ">=3.9"\ndependencies = ["good"]\n'


def good(world: World) -> None:
    """A good package is installed."""
    world.works(python("good\n"), "good")


def unknown(world: World) -> None:
    """A package that isn't there."""
    error = world.fails(python("gongfu-none\n"), "DEPENDENCIES_INVALID", "package_unknown")
    expect(error["package"] == "gongfu-none", f"the package is named: {error}")


def sources_alone(world: World) -> None:
    """A source distribution, whose build has code."""
    marker = world.base / "built"
    setup = f"open({str(marker)!r}, 'w').write('x')\nfrom setuptools import setup\nsetup(name='srconly', version='1.0')\n"
    world.index.files["srconly-1.0.tar.gz"] = source("srconly", "1.0", {"setup.py": setup, "PKG-INFO": "Metadata-Version: 2.1\nName: srconly\nVersion: 1.0\n"})
    world.fails(python("srconly\n"), "DEPENDENCIES_INVALID", "nothing_built")
    expect(not marker.exists(), "its build was run")


# Builds a wheel that says whether the build had a network.
BACKEND = """import base64, hashlib, os, socket, zipfile
def build_wheel(folder, config_settings=None, metadata_directory=None):
    try:
        socket.create_connection(('localhost', PORT), 2).close()
        network = 'a network'
    except OSError:
        network = 'no network'
    files = {'srcbuild.py': 'SAYS = %r' % ('built with ' + network), 'srcbuild-1.0.dist-info/METADATA': 'Metadata-Version: 2.1\\nName: srcbuild\\nVersion: 1.0\\n', 'srcbuild-1.0.dist-info/WHEEL': 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n'}
    name = 'srcbuild-1.0-py3-none-any.whl'
    with zipfile.ZipFile(os.path.join(folder, name), 'w') as wheel:
        record = ''
        for path, text in files.items():
            wheel.writestr(path, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()
            record += '%s,sha256=%s,%d\\n' % (path, digest, len(text))
        wheel.writestr('srcbuild-1.0.dist-info/RECORD', record + 'srcbuild-1.0.dist-info/RECORD,,\\n')
    return name
"""


def sources_built(world: World) -> None:
    """A source distribution that the operator has built: without a network."""
    settings = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n[project]\nname = "srcbuild"\nversion = "1.0"\n'
    backend = BACKEND.replace("PORT", str(world.other.port))
    world.index.files["srcbuild-1.0.tar.gz"] = source("srcbuild", "1.0", {"pyproject.toml": settings, "backend.py": backend, "PKG-INFO": "Metadata-Version: 2.1\nName: srcbuild\nVersion: 1.0\n"})
    files = python("good>=0.92\nsrcbuild>=0.5,<2\n")
    files["x.py"] = f"try:\n    import srcbuild\n    print(srcbuild.SAYS)\nexcept ImportError:\n    print('not built')\n{SAYS}"
    world.works(files, "not built")
    world.configure('build = ["srcbuild"]')
    ran = world.works({**files, "note.txt": "allowed"}, "built with no network")
    expect("left_out" not in ran["environments"][0], f"all of it is there: {ran}")
    # The control: the build does reach it where it has a network.
    folder = Path(tempfile.mkdtemp(dir=world.base))
    (folder / "backend.py").write_text(backend)
    code = "import backend, zipfile; print(zipfile.ZipFile(backend.build_wheel('.')).read('srcbuild.py').decode())"
    said = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
    expect("built with a network" in said.stdout, f"the control: it is reached from outside: {said}")
    world.other.accepted = 0


def other_content(world: World) -> None:
    """The index sends something else than it said."""
    file = world.index.wheel("swapped", {"swapped.py": b"1"})
    world.index.said[file] = hashlib.sha256(b"something else").hexdigest()
    world.fails(python("swapped\n"), "DEPENDENCIES_INVALID", "digest_mismatch")


def pinned_content(world: World) -> None:
    """The index has another file than the digest in the requirements is of."""
    world.index.wheel("pinned", {"pinned.py": b"1"})
    wrong = hashlib.sha256(b"what the author had").hexdigest()
    world.fails(python(f"pinned==1.0 --hash=sha256:{wrong}\n"), "DEPENDENCIES_INVALID", "digest_mismatch")


def down(world: World) -> None:
    """Nobody listens where the index should be."""
    world.variables = {"UV_DEFAULT_INDEX": "https://localhost:9/simple"}
    world.fails(python("good>=0.1\n"), "DEPENDENCIES_UNAVAILABLE", "index_unreachable")


def slow(world: World) -> None:
    """The index doesn't answer in time."""
    world.configure("seconds = 10")
    world.index.delay = 60
    world.fails(python("good>=0.2\n"), "DEPENDENCIES_UNAVAILABLE", "too_slow")


def untrusted(world: World) -> None:
    """The index has a certificate that nobody believes."""
    world.variables = {"SSL_CERT_FILE": ""}
    world.fails(python("good>=0.3\n"), "DEPENDENCIES_UNAVAILABLE", "index_unreachable")


def unencrypted(world: World) -> None:
    """The index is neither reached by https nor by http, or doesn't speak what its URL says."""
    world.variables = {"UV_DEFAULT_INDEX": f"ftp://localhost:{world.index.port}/simple"}
    error = world.fails(python("good>=0.4\n"), "DEPENDENCIES_UNAVAILABLE", "index_unreachable")
    expect("https" in error["message"], f"it says what is wrong: {error}")
    world.variables = {"UV_DEFAULT_INDEX": f"http://localhost:{world.index.port}/simple"}
    world.fails(python("good>=0.4\n"), "DEPENDENCIES_UNAVAILABLE", "index_unreachable")


def climbing(world: World) -> None:
    """A wheel whose files lead out of the environment."""
    # It is refused, or all of it lands inside: nothing comes to lie elsewhere.
    world.index.wheel("climbing", {"../../../../../../tmp/climbed.py": b"1", "climbing.py": b"1"})
    ran = world.run(world.skill(python("climbing\n", "print(1)\n")), RUN)
    expect("error" in ran or ran.get("exit_code") == 0, f"it is refused or harmless: {ran}")
    strays = [*world.base.rglob("climbed.py"), *Path(tempfile.gettempdir()).glob("climbed.py")]
    expect(not strays, f"it led out: {strays}")


def bomb(world: World) -> None:
    """A wheel that is small and holds much."""
    world.index.wheel("bomb", {"bomb.bin": bytes(LARGE)})
    world.fails(python("bomb\n"), "DEPENDENCIES_UNAVAILABLE", "too_large")


def begins_with_python(world: World) -> None:
    """A wheel whose code runs whenever Python starts: not while it is installed."""
    code = b"import os; open('/env/ran-while-built', 'w').close() if os.access('/env', os.W_OK) else print('began')\n"
    world.index.wheel("starter", {"starter.py": b"1", "starter.pth": code})
    ran = world.works(python("starter\n", "import starter\nprint('end')\n"), "end")
    expect("began" in ran["stdout"], f"the control: it begins with a run: {ran}")
    expect(not list(world.base.rglob("ran-while-built")), "it ran while it was installed")


def leads_on(world: World) -> None:
    """A wheel that needs another one from elsewhere."""
    world.other.wheel("evil", {"evil.py": b"1"})
    world.index.wheel("leading", {"leading.py": b"1"}, needs=[f"evil @ {world.other.url}/files/evil-1.0-py3-none-any.whl"])
    ran = world.run(world.skill(python("leading\n")), RUN)
    expect("error" in ran, f"it is refused: {ran}")


def settings_of_a_skill(world: World) -> None:
    """A project that says which index is to be used."""
    elsewhere = f'[[tool.uv.index]]\nurl = "{world.other.url}/simple"\ndefault = true\n[tool.uv]\nindex-url = "{world.other.url}/simple"\n'
    world.works({"pyproject.toml": PROJECT + elsewhere, "x.py": SAYS}, "good")
    sources = f'[tool.uv.sources]\ngood = {{ url = "{world.other.url}/files/good-1.0-py3-none-any.whl" }}\n'
    world.works({"pyproject.toml": PROJECT.replace('"good"', '"good>=0.5"') + sources, "x.py": SAYS}, "good")
    world.works({"uv.toml": f'index-url = "{world.other.url}/simple"\n', "pip.conf": f"[global]\nindex-url = {world.other.url}/simple\n", **python("good>=0.6\n")}, "good")


def options_of_requirements(world: World) -> None:
    """Requirements that say which index is to be used."""
    world.works(python(f"--index-url {world.other.url}/simple\n--trusted-host localhost\ngood>=0.7\n"), "good")
    for line in [f"good @ {world.other.url}/files/good-1.0-py3-none-any.whl", f"{world.other.url}/files/good-1.0-py3-none-any.whl", "-e .", "./good", "git+https://localhost/good"]:
        world.fails(python(f"{line}\n"), "DEPENDENCIES_INVALID", "manifest_unfit")


def option_lines(world: World, secret: Path) -> list[str]:
    """Lines of requirements that lead to another index, to a repository or to a file of the machine."""
    away, file = world.other.url, "files/good-1.0-py3-none-any.whl"
    host = f"localhost:{world.other.port}"
    return [
        f"--index-url {away}/simple", f"-i {away}/simple", f"--index-url={away}/simple", f"--extra-index-url {away}/simple",
        f"--find-links {away}/simple/good/", f"-f {secret.parent}", f"--default-index {away}/simple", f"--index evil={away}/simple",
        "--no-index", "--pre", "--trusted-host localhost", "--no-binary :all:", "--prefer-binary", "--use-pep517", "--only-binary :none:",
        f"-e git+{away}/good.git", f"--editable {away}/{file}", f"-e git+ssh://{host}/good.git", f"git+{away}/good.git@main#egg=good",
        f"hg+{away}/good", f"svn+{away}/good", f"bzr+{away}/good", f"good @ {away}/{file}", f"{away}/{file}", f"good @ git+{away}/good.git",
        f"file://{secret}", f"good @ file://{secret}", str(secret), f"./{secret.name}", f"-e file://{secret.parent}",
        f"-r {away}/requirements.txt", f"-c {away}/constraints.txt", f"-r {secret}", f"-r file://{secret}",
        f"good --config-settings=x={away}", f"good --global-option=--index-url={away}", f"--proxy https://{host}", "--require-hashes=no",
    ]  # fmt: skip


def options_in_an_install(world: World) -> None:
    """Options beside a requirement that is installed: what is asked of whom."""
    secret = world.base / "elsewhere" / "good-9.9-py3-none-any.whl"
    secret.parent.mkdir(exist_ok=True)
    secret.write_bytes(wheel("good", "9.9", {"good.py": b"def says():\n    return 'of the machine'\n"}))
    lines = option_lines(world, secret)
    for start in range(0, len(lines), 6):
        some = lines[start : start + 6]
        world.index.asked.clear()
        ran = world.works(python("\n".join([*some, f"good!=7.{start}", ""])), "good")
        strays = [path for path in world.index.asked if not path.startswith(("/simple/good/", "/simple/pip/", "/files/good-1.0"))]
        expect(bool(world.index.asked) and not strays, f"{some}: the index is asked for the package alone: {world.index.asked}")
        expect(not world.other.accepted, f"{some}: somebody else was connected to {world.other.accepted} times")
        told = ran["environments"][0].get("left_out", [])
        expect(len(told) == len(some), f"{some}: each is told: {told}")
    # The control: without gongfu these lines lead there.
    for line in (lines[0], f"--no-index\n{lines[4]}", f"good @ {world.other.url}/files/good-1.0-py3-none-any.whl"):
        world.other.accepted = 0
        (world.base / "control.txt").write_text(f"{line}\ngood\n" if line.startswith("-") else f"{line}\n")
        command = [str(world.uv), "pip", "compile", "--quiet", "--no-cache", str(world.base / "control.txt")]
        variables = {name: value for name, value in world.environment().items() if name != "UV_DEFAULT_INDEX"}
        subprocess.run(command, env=variables, cwd=world.base, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
        expect(world.other.accepted > 0, f"the control: {line} leads there")
    world.other.accepted = 0
    world.other.asked.clear()


def behind_a_digest(world: World) -> None:
    """Options behind a digest, which an installer would follow."""
    true = hashlib.sha256(world.index.files["good-1.0-py3-none-any.whl"]).hexdigest()
    world.works(python(f"good==1.0 --hash=sha256:{true}\n"), "good")
    for tail in ["--no-binary good", f"--extra-index-url {world.other.url}/simple", "-r /etc/hostname", "-r /in/${UV_DEFAULT_INDEX}", f"evil @ {world.other.url}/evil.whl", "--no-index"]:
        line = f"good==1.0 --hash=sha256:{true} {tail}\n"
        world.fails(python(line), "DEPENDENCIES_INVALID", "manifest_unfit")
        ran = world.works({**python("-c constraints.txt\ngood\n"), "constraints.txt": line}, "good")
        expect("constraints.txt:1" in str(ran["environments"][0]["left_out"]), f"the line is left out: {ran}")


def others_stay(world: World) -> None:
    """One bad requirement among good ones."""
    world.index.wheel("second", {"second.py": b"1"})
    world.index.wheel("broken", {"broken.py": b"1"}, needs=["gongfu-none"])
    world.index.files["onlysource-1.0.tar.gz"] = source("onlysource", "1.0", {"PKG-INFO": "Metadata-Version: 2.1\nName: onlysource\nVersion: 1.0\n"})
    ran = world.works(python("gongfu-none\ngood>=0.91\nbroken\nonlysource\nsecond\nsecond>7\n", f"import second\n{SAYS}"), "good")
    left_out = [line.split(":")[0] for line in ran["environments"][0]["left_out"]]
    expect(left_out == ["gongfu-none", "broken", "onlysource", "second>7"], f"what is left out is named: {ran}")
    world.index.node("good-node", {"index.js": "module.exports = 'good'\n"}, {"main": "index.js"})
    ran = world.works(node('{"dependencies": {"gongfu-none": "*", "good-node": "1.0.0"}}'), "good", NODE)
    expect(len(ran["environments"][0]["left_out"]) == 1, f"what is left out is named: {ran}")


def unreadable(world: World) -> None:
    """Requirements that no installer can read: they are the skill's fault, and don't cost the others."""
    for line in ("other >= 1.x", 'other ; bogus == "x"', "good==="):
        ran = world.works(python(f"good>=0.95\n{line}\n"), "good")
        left_out = ran["environments"][0]["left_out"]
        expect(len(left_out) == 1 and "manifest_unfit" in left_out[0], f"{line} is left out: {ran}")
    world.fails(python("other >= 1.x\n"), "DEPENDENCIES_INVALID", "manifest_unfit")
    ran = world.works(python("good>=0.96\n-c constraints.txt\n") | {"constraints.txt": "other>=1.x\n"}, "good")
    expect("other>=1.x" in str(ran["environments"][0]["left_out"]), f"the constraint is left out: {ran}")
    world.index.files["damaged-1.0-py3-none-any.whl"] = b"no archive"
    world.fails(python("damaged\n"), "DEPENDENCIES_INVALID", "nothing_built")
    world.index.wheel("twolines", {"twolines.py": b"1", "a\nb.py": b"1"})
    world.fails(python("twolines\n"), "DEPENDENCIES_INVALID", "nothing_built")
    long = f'# /// script\n# requires-python = ">=3{".0" * 100_000}"\n# dependencies = ["good"]\n# ///\n{SAYS}'
    world.fails({"x.py": long}, "DEPENDENCIES_INVALID", "manifest_unfit")
    package = json.dumps({"dependencies": {"good-node": "1.0.0", "other": "no such tag"}})
    world.index.node("good-node", {"index.js": "module.exports = 'good'\n"}, {"main": "index.js"})
    ran = world.works(node(package), "good", NODE)
    expect("manifest_unfit" in str(ran["environments"][0]["left_out"]), f"it is left out: {ran}")


# Modules that a skill may have itself, and names that are almost those of packages.
GUESSED = [
    *"utils helpers config common my_lib core models settings api_client browser_utils inventory validation".split(),
    *"reqeusts requets numpyy numpi pandsa matplotib scikitlearn tensorfow djanga urlib3 pilow openpyxll flaskk".split(),  # typos: ignore
]
# Modules of one package whose name is another one's, and the package that is meant.
MEANT = {
    "cv2": "opencv-python-headless", "sklearn": "scikit-learn", "yaml": "pyyaml", "PIL": "pillow", "bs4": "beautifulsoup4",
    "docx": "python-docx", "pptx": "python-pptx", "serial": "pyserial", "jwt": "pyjwt", "dotenv": "python-dotenv",
    "fitz": "pymupdf", "git": "gitpython", "magic": "python-magic", "usb": "pyusb", "slugify": "python-slugify",
}  # fmt: skip


def squatted_names(world: World) -> None:
    """Packages that have the names of modules, of a skill's own and of other packages."""
    evil = {f"{name}.py": b"def says():\n    return 'squatted'\n" for name in [*GUESSED, *MEANT]}
    for name in [*GUESSED, *MEANT]:
        world.index.wheel(name, evil)
    for package in MEANT.values():
        world.index.wheel(package.replace("-", "_"), {"meant.py": b"1"})
    expect(len(GUESSED) + len(MEANT) >= 40, "there are 40 names")
    world.configure("auto_install = true")

    def asked(names: list[str]) -> list[str]:
        found = [path.split("/")[2] for path in world.index.asked if path.startswith("/simple/")]
        return [name for name in names if name.replace("_", "-") in found]

    for number, name in enumerate(GUESSED):
        script = f"try:\n    import {name}\n    print({name}.says())\nexcept ImportError:\n    print('not there')\n"
        files = {"scripts/x.py": script if number % 2 else f"import sys\nsys.path.insert(0, '/skill/lib')\n{script}"}
        if number < 12 and not number % 2:
            files[f"lib/{name}.py"] = "def says():\n    return 'own'\n"
        ran = world.run(world.skill(files), ["python", "scripts/x.py"])
        expect(ran.get("stdout") == ("own\n" if len(files) == 2 else "not there\n"), f"{name}: {ran}")
    everything = "".join(f"import {name}\n" for name in MEANT)
    ran = world.run(world.skill({"x.py": f"try:\n    pass\nfinally:\n    print('end')\nif 0:\n    {everything.replace(chr(10), '; ')}pass\n"}), RUN)
    expect(ran.get("stdout") == "end\n", f"it runs: {ran}")
    expect(asked(GUESSED) == [], f"nobody is asked for them: {asked(GUESSED)}")
    expect(asked(list(MEANT)) == [], f"nobody is asked for those of others: {asked(list(MEANT))}")
    # The controls: the packages that are meant were asked for, and a person has a guess installed.
    expect(len(asked(list(MEANT.values()))) == len(MEANT), f"those that are meant are: {asked(list(MEANT.values()))}")
    name = world.skill({"x.py": "import numpyy\nprint(numpyy.says())\n"})
    refused = world.tell("env", "build", name, "--inferred")
    expect("--allow numpyy" in refused.stdout + refused.stderr, f"it says how: {refused}")
    expect(world.run(name, RUN).get("exit_code") == 1, "it isn't there")
    allowed = world.tell("env", "build", name, "--inferred", "--allow", "numpyy")
    expect(allowed.returncode == 0, f"it is built: {allowed.stdout + allowed.stderr}")
    ran = world.run(name, RUN)
    expect(ran.get("stdout") == "squatted\n", f"a person installs it: {ran}")


def imports_without_end(world: World) -> None:
    """Scripts that import more than anybody wants to read: what comes first counts, and the rest is told."""
    world.index.wheel("numpy", {"numpy.py": b"SAYS = 'guessed'\n"})
    world.configure("auto_install = true")
    many = "".join(f"    import mod{number:06}\n" for number in range(90_000))
    for more in (many, f"    import {'a' * 1_500_000}\n"):
        ran = world.works({"x.py": f"import numpy\nprint(numpy.SAYS)\nif 0:\n{more}"}, "guessed")
        expect(len(json.dumps(ran)) < 20_000, "the answer is short")
    ran = world.works({"x.py": f"import numpy\nprint(numpy.SAYS)\nif 0:\n{many}"}, "guessed")
    expect("the rest is ignored" in str(ran["environments"][0]["left_out"]), f"it is told: {str(ran)[:2000]}")
    ran = world.run(world.skill({"x.py": f"if 0:\n{many}import gongfu_none\n"}), RUN)
    expect(ran.get("lacks") and len(json.dumps(ran)) < 20_000, f"so it is where one isn't there: {str(ran)[:2000]}")
    ran = world.works({"x.py": "import numpy\nprint(numpy.SAYS)\n", "long.py": "#" * 9_000_000}, "guessed")
    expect("long.py" in str(ran["environments"][0]["left_out"]), f"a script that is too long is named: {str(ran)[:2000]}")


def additions(world: World) -> None:
    """Packages that a command adds, and nobody knows: they are named, and the imports count as if there were none."""
    world.index.wheel("numpy", {"numpy.py": b"SAYS = 'guessed'\n"})
    world.index.wheel("unknown_to_all", {"unknown_to_all.py": b"1"})
    script = {"x.py": "import numpy\nprint(numpy.SAYS)\n"}
    command = ["uv", "run", "--with", "unknown-to-all", "x.py"]
    for words in (command, ["sh", "-c", " ".join(command)]):
        ran = world.run(world.skill(script), words)
        expect("unknown-to-all" in str(ran["environments"][0]["left_out"]), f"it is told: {ran}")
    world.configure("auto_install = true")
    ran = world.works(script, "guessed", command)
    expect("unknown-to-all" in str(ran["environments"][0]["left_out"]), f"it is told: {ran}")
    expect(not any("unknown" in path for path in world.index.asked), "nobody is asked for it")
    # The control: one that is known is added.
    world.works({"x.py": "import numpy\nprint(numpy.SAYS)\n", "note.txt": "known"}, "guessed", ["uv", "run", "--with", "numpy", "x.py"])


def says_otherwise(world: World) -> None:
    """A wheel that brings files in place of those that a build goes on with."""
    world.variables = {"UV_DEFAULT_INDEX": f"https://me:verysecret@localhost:{world.index.port}/simple"}
    data = "taker-1.0.data"
    steals = b"#!/bin/sh\ncat /proc/self/environ > /env/stolen.txt\n"
    world.index.wheel("taker", {"taker.py": b"1", f"{data}/data/interpreter": b"/env/bin/steals\n", f"{data}/scripts/steals": steals, f"{data}/data/requirements.lock": b"numpy==9.9\n"})
    ran = world.works(python("taker\n", "import taker, os\nprint('there', os.path.exists('/env/bin/steals'), os.path.exists('/env/stolen.txt'))\n"), "there True False")
    listed = json.loads(world.tell("env", "list", "--json").stdout)
    names = [package["name"] for one in listed if one["key"].startswith(ran["environments"][0]["key"]) for package in one["packages"]]
    expect(names == ["taker"], f"what is installed is told: {names}")


def header_of_a_script(world: World) -> None:
    """The header of a script that leads elsewhere."""
    script = f'# /// script\n# dependencies = ["good @ {world.other.url}/files/good-1.0-py3-none-any.whl"]\n# ///\n{SAYS}'
    error = world.fails({"x.py": script}, "DEPENDENCIES_INVALID", "manifest_unfit")
    expect("x.py:" in error["message"], f"the line is named: {error}")


def locks(world: World) -> None:
    """A lock is followed; one that is of something else isn't."""
    files = project(world, PROJECT)
    world.works(files, "good")
    stale = {**files, "scripts/pyproject.toml": PROJECT.replace('"good"', '"good", "other"')}
    world.index.wheel("other", {"other.py": b"1"})
    ran = world.works(stale, "good")
    expect("versions were resolved again" in str(ran["environments"][0]["left_out"]), f"it is told: {ran}")
    world.configure("frozen = true")
    world.fails({**stale, "scripts/note.txt": "frozen"}, "DEPENDENCIES_INVALID", "lock_stale")
    world.configure()
    # Settings that a lock was made with have other forms in other versions of uv.
    spans = '\n[options]\nexclude-newer = "2030-01-01T00:00:00Z"\nexclude-newer-span = "P7D"\n'
    ran = world.works({**files, "scripts/uv.lock": files["scripts/uv.lock"] + spans, "scripts/note.txt": "spans"}, "good")
    expect("left_out" not in ran["environments"][0], f"the lock is followed: {ran}")
    # Wherever it says that the files lie, they come from the index, and have to be the same ones.
    elsewhere = {path: text.replace(world.index.url, world.other.url) for path, text in files.items()}
    world.works({**elsewhere, "scripts/note.txt": "another skill"}, "good")
    true = hashlib.sha256(world.index.files["good-1.0-py3-none-any.whl"]).hexdigest()
    wrong = {path: text.replace(true, "0" * 64) for path, text in files.items()}
    expect(wrong != files, "the lock has the digest")
    world.fails(wrong, "DEPENDENCIES_INVALID", "digest_mismatch")
    ran = world.works({**files, "scripts/uv.lock": "version = [\n"}, "good")
    expect("versions were resolved again" in str(ran["environments"][0]["left_out"]), f"it is told: {ran}")


def project_that_is_built(world: World) -> None:
    """A project with a lock, and whatever else stands in it: it isn't built, and its tools have no say."""
    hostile_builds.project_that_is_built(world, project(world, PROJECT))


def conflicts(world: World) -> None:
    """What can't be had together, and what no interpreter here is for."""
    world.fails(python("good>2\n"), "DEPENDENCIES_INVALID", "conflict")
    script = f'# /// script\n# requires-python = ">=3.99"\n# dependencies = ["good"]\n# ///\n{SAYS}'
    world.fails({"x.py": script}, "DEPENDENCIES_INVALID", "interpreter")


def at_once(world: World) -> None:
    """Several who want the same: it is fetched once."""
    world.index.wheel("shared", {"shared.py": b"def says():\n    return 'shared'\n"})
    def fetched(package: str) -> int:
        return sum(path.startswith(f"/files/{package}-") for path in world.index.asked)

    world.index.wheel("single", {"single.py": b"1"})
    world.works(python("single\n", "import single\nprint('single')\n"), "single")
    expect(fetched("single") > 0, "the control: it is fetched")
    names = [world.skill(python("shared\n", "import shared\nprint(shared.says())\n")) for _ in range(6)]
    with ThreadPoolExecutor(len(names)) as threads:
        ran = list(threads.map(lambda name: world.run(name, RUN), names))
    expect(all(one.get("stdout", "").strip() == "shared" for one in ran), f"all of them run: {ran}")
    expect(fetched("shared") == fetched("single"), f"it is fetched once: {fetched('shared')}")


def interrupted(world: World) -> None:
    """gongfu is killed while it makes one: nothing half made is used, and nothing is left of it."""
    world.index.wheel("late", {"late.py": b"def says():\n    return 'late'\n"})
    name = world.skill(python("late\n", "import late\nprint(late.says())\n"))
    world.index.delay = 3
    process = subprocess.Popen(world.command("run", name, "--", *RUN), env=world.environment(), cwd=world.base, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seen = len(world.index.asked)
    for _ in range(300):
        if len(world.index.asked) > seen:
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    world.index.delay = 0
    making = world.base / "home" / "environments" / "making"
    left = [one for one in making.iterdir() if one.is_dir()]
    expect(bool(left), "the control: something was being made")
    pruned = world.tell("env", "prune")
    expect(pruned.returncode == 0, f"it is swept: {pruned.stderr}")
    expect(not [one for one in making.iterdir() if one.is_dir()], "nothing is left of it")
    ran = world.run(name, RUN)
    expect(ran.get("stdout", "").strip() == "late", f"it is made then: {ran}")


def secrets(world: World) -> None:
    """Who asks the index, and by which secret, stands nowhere."""
    world.variables = {"UV_DEFAULT_INDEX": f"https://me:verysecret@localhost:{world.index.port}/simple"}
    ran = world.works(python("good>=0.8\n"), "good")
    listed = world.tell("env", "list", "--json").stdout
    expect("localhost" in listed, f"the index is told: {listed}")
    kept = b"".join(file.read_bytes() for file in (world.base / "home").rglob("*") if file.is_file() and not file.is_symlink())
    expect("verysecret" not in json.dumps(ran) + listed and b"verysecret" not in kept, "the secret is told")


def removed(world: World) -> None:
    """What was damaged, or removed, is made again."""
    files = python("good>=0.9\n")
    name = world.skill(files)
    for how in ("nothing", "damage", "remove"):
        ran = world.run(name, RUN)
        expect(ran.get("stdout", "").strip() == "good", f"after {how}: {ran}")
        key = ran["environments"][0]["key"]
        folder = next((world.base / "home" / "environments").glob(f"{key}*"))
        if how == "nothing":
            (folder / "record.json").write_text("{")
        if how == "damage":
            shutil.rmtree(folder)
    pruned = world.tell("env", "prune", "--all")
    expect(pruned.returncode == 0 and "removed" in pruned.stdout, f"all of them are removed: {pruned.stdout}")
    listed = json.loads(world.tell("env", "list", "--json").stdout)
    expect(listed == [], f"none is left: {listed}")


def started(world: World, package: str) -> subprocess.Popen[str]:
    """Starts a run whose package takes seconds to compile; answers as soon as the script has printed something."""
    body = "\n".join(f"def f{number}(a, b):\n    return a + b * {number}" for number in range(300)).encode()
    world.index.wheel(package, {f"{package}/__init__.py": b"SAYS = 'as made'\n", **{f"{package}/m{number}.py": body for number in range(600)}})
    name = world.skill(python(f"{package}\n", f"import {package}\nprint({package}.SAYS, flush=True)\n"))
    process = subprocess.Popen(world.command("run", name, "--", *RUN), env=world.environment(), cwd=world.base, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    line = process.stdout.readline() if process.stdout else ""
    expect(line == "as made\n", f"it runs: {line!r}")
    return process


def changed_before_compiled(world: World) -> None:
    """A module that is changed while the others aren't compiled: it stays a change."""
    world.tell("env", "prune", "--all")
    process = started(world, "unfinished")
    process.send_signal(signal.SIGKILL)
    process.wait()
    environments = world.base / "home" / "environments"
    record, module = next(environments.glob("*/record.json")), next(environments.glob("*/root/lib/*/site-packages/unfinished/__init__.py"))

    def is_compiled() -> bool:
        return bool(json.loads(record.read_text())["compiled"])

    def is_changed() -> bool:
        return world.tell("env", "list", "--verify").returncode == 1

    expect(not is_compiled(), "the control: it was interrupted")
    made = module.read_bytes()
    module.write_text("SAYS = 'changed'\n")
    expect(is_changed(), "it is seen at once")
    name = f"skill-{world.count}"
    ran = world.run(name, RUN)
    expect(ran.get("stdout") == "changed\n", f"it runs: {ran}")
    expect(is_changed() and not is_compiled(), "it is still seen after the next run")
    # The control: where nothing is changed, all is compiled.
    module.write_bytes(made)
    before = record.read_text()
    expect(world.run(name, RUN).get("stdout") == "as made\n", "it runs as it was made")
    expect(not is_changed() and is_compiled(), "it is complete")
    # A compiled module that somebody else has put there is replaced.
    compiled = next(module.parent.glob("__pycache__/__init__.*.pyc"))
    compiled.write_bytes(compiled.read_bytes().replace(b"as made", b"changed"))
    expect(is_changed(), "it is seen")
    record.write_text(before)
    for says in ("changed\n", "as made\n"):
        expect(world.run(name, RUN).get("stdout") == says, f"the control, then the run after it was compiled: {says!r}")


def compared_meanwhile(world: World) -> None:
    """Environments that are compared while modules are compiled, and while others are removed: nothing is changed."""
    world.tell("env", "prune", "--all")
    process = started(world, "unhurried")
    count = 0
    while process.poll() is None:
        compared = world.tell("env", "list", "--verify")
        expect(compared.returncode == 0, f"nothing is changed while it is compiled: {compared}")
        count += 1
    expect(count > 2, f"the control: it was compared meanwhile: {count}")
    commands = [("env", "list", "--verify"), ("env", "prune", "--all")] * 2
    for number in range(3):
        names = [world.skill(python(f"good>=0.{number}{other}\n")) for other in range(1, 4)]
        expect(all(world.run(name, RUN).get("stdout") == "good\n" for name in names), "they run")
        with ThreadPoolExecutor(len(commands)) as threads:
            for done in threads.map(lambda command: world.tell(*command), commands):
                expect(done.returncode == 0, f"nothing is missed: {done}")


def node(package: str, script: str = "console.log(require('good-node'))\n", lock: str | None = None) -> dict[str, str]:
    """The files of a skill in JavaScript."""
    files = {"package.json": package, "x.cjs": script}
    return {**files, "package-lock.json": lock} if lock else files


NODE = ["node", "x.cjs"]
WANTED = '{"dependencies": {"good-node": "%s"}}'


def node_good(world: World) -> None:
    """A good package of npm is installed, and no script of it is run."""
    marker = world.base / "installed"
    scripts = {name: f"touch {marker} /tmp/ran-by-npm" for name in ("preinstall", "install", "postinstall", "prepare")}
    world.index.node("good-node", {"index.js": "module.exports = require('fs').existsSync('/tmp/ran-by-npm') ? 'ran' : 'good';\n"}, {"scripts": scripts, "main": "index.js"})
    world.works(node(WANTED % "^1.0.0"), "good", NODE)
    expect(not marker.exists(), "a script was run")


def node_bad(world: World) -> None:
    """Packages of npm that aren't there, aren't as they were said to be, or are from elsewhere."""
    world.fails(node('{"dependencies": {"gongfu-none": "*"}}'), "DEPENDENCIES_INVALID", "package_unknown", NODE)
    world.fails(node(WANTED % "^7.0.0"), "DEPENDENCIES_INVALID", "conflict", NODE)
    world.index.said["false-node-1.0.0.tgz"] = "sha512-" + "A" * 86 + "=="
    world.index.node("false-node", {"index.js": ""})
    world.fails(node('{"dependencies": {"false-node": "*"}}'), "DEPENDENCIES_INVALID", "digest_mismatch", NODE)
    for version in [f"{world.other.url}/x.tgz", "git+https://localhost/x", "file:../x", "user/x"]:
        world.fails(node(WANTED % version), "DEPENDENCIES_INVALID", "manifest_unfit", NODE)
    world.variables = {"npm_config_registry": "https://localhost:9/"}
    world.fails(node(WANTED % "~1.0.0"), "DEPENDENCIES_UNAVAILABLE", "index_unreachable", NODE)


def node_elsewhere(world: World) -> None:
    """Packages of npm that lead elsewhere by what they need."""
    away = f"{world.other.url}/files/away.tgz"
    lock = json.dumps({"lockfileVersion": 3, "packages": {"": {}}})
    package = json.dumps({"dependencies": {"good-node": "1.0.0"}, "devDependencies": {"away": away}})
    world.fails(node(package, lock=lock), "DEPENDENCIES_INVALID", "manifest_unfit", NODE)
    for number, version in enumerate([away, f"git+{world.other.url}/away", "git+ssh://localhost/away"]):
        world.index.node(f"leading-{number}", {"index.js": ""}, {"dependencies": {"away": version}})
        ran = world.run(world.skill(node(f'{{"dependencies": {{"leading-{number}": "*"}}}}')), NODE)
        expect("error" in ran, f"{version} is refused: {ran}")


def node_lock(world: World) -> None:
    """A lock of npm that is of something else, or says that files lie elsewhere."""
    integrity = world.index.packages["good-node"]["versions"]["1.0.0"]["dist"]["integrity"]

    def lock(version: str, digest: str) -> str:
        entry = {"version": "1.0.0", "resolved": f"{world.other.url}/files/good-node-1.0.0.tgz", "integrity": digest}
        root = {"dependencies": {"good-node": version}}
        return json.dumps({"lockfileVersion": 3, "packages": {"": root, "node_modules/good-node": entry}})

    world.index.node("good-node", {"index.js": ""}, version="1.1.0")
    world.works(node(WANTED % "1.0.0", lock=lock("1.0.0", integrity)), "good", NODE)
    world.works(node(WANTED % "1.1.0", "require('good-node'); console.log('anew')\n", lock("1.0.0", integrity)), "anew", NODE)
    world.configure("frozen = true")
    world.fails(node(WANTED % "1.1.0", "1\n", lock("1.0.0", integrity)), "DEPENDENCIES_INVALID", "lock_stale", NODE)
    world.configure()
    wrong = "sha512-" + "B" * 86 + "=="
    world.fails(node(WANTED % "1.0.0", lock=lock("1.0.0", wrong)), "DEPENDENCIES_INVALID", "digest_mismatch", NODE)


def node_lock_elsewhere(world: World) -> None:
    """A lock of npm whose names and requirements are URLs: not even the index is asked for them."""
    integrity = world.index.packages["good-node"]["versions"]["1.0.0"]["dist"]["integrity"]
    world.index.node("hidden-node", {"index.js": "module.exports = 'hidden'\n"}, {"main": "index.js"})
    del world.index.packages["hidden-node"]
    url = f"{world.index.url}/files/hidden-node-1.0.0.tgz"

    def lock(root: dict[str, Any] | None = None, path: str = "good-node", **entry: object) -> str:
        return json.dumps({"lockfileVersion": 3, "packages": {"": root or {}, f"node_modules/{path}": {"version": "1.0.0", **entry}}})

    for name in (f"{url}#", f"{url}?", f"{world.other.url}/x.tgz#", "file:/in#", "git+https://localhost/x"):
        world.fails(node(WANTED % "1.0.0", lock=lock(name=name)), "DEPENDENCIES_INVALID", "manifest_unfit", NODE)
    for kind in ("dependencies", "optionalDependencies", "peerDependencies"):
        needs = {kind: {"hidden-node": url}}
        world.fails(node(WANTED % "1.0.0", lock=lock(integrity=integrity, **needs)), "DEPENDENCIES_INVALID", "manifest_unfit", NODE)
        # What it says of the skill itself doesn't count.
        world.works(node(WANTED % "1.0.0", lock=lock(needs, integrity=integrity)), "good", NODE)
    expect(not any("hidden" in path for path in world.index.asked), f"it is asked for by no URL: {world.index.asked}")
    # The controls: an alias of the registry is followed, and the index has the file.
    alias = lock(path="other-name", name="good-node", integrity=integrity)
    world.works(node('{"dependencies": {"other-name": "npm:good-node@1.0.0"}}', "console.log(require('other-name'))\n", alias), "good", NODE)
    expect("hidden-node-1.0.0.tgz" in world.index.files, "the index has it")


def node_alias(world: World) -> None:
    """Aliases of npm that hold more than one line, or lead elsewhere."""
    world.index.node("hidden-node", {"index.js": "module.exports = 'hidden'\n"}, {"main": "index.js"})
    del world.index.packages["hidden-node"]
    world.index.files["hidden"] = world.index.files["hidden-node-1.0.0.tgz"]
    url = world.index.url.replace("//", "") + "\\files\\hidden"
    for version in (f"npm:good-node@npm error code E404\n{url}", f"npm:good-node@x\n{url}", "npm:good-node@1.0.0\n2", f"npm:good-node@{world.index.url}/files/hidden"):
        package = json.dumps({"dependencies": {"other-name": version, "good-node": "1.0.0"}})
        ran = world.works(node(package), "good", NODE)
        told = ran["environments"][0]
        expect(told["packages"] == 1 and len(told["left_out"]) == 1, f"{version!r} is left out: {ran}")
    expect(not any("hidden" in path for path in world.index.asked), f"it is asked for by no URL: {world.index.asked}")
    # The control: what stands around an alias doesn't matter, and the others stay where one can't be had.
    package = json.dumps({"dependencies": {"other-name": " npm:good-node@1.0.0\n", "none": "npm:gongfu-none@1"}})
    ran = world.works(node(package, "console.log(require('other-name'))\n"), "good", NODE)
    expect([line.split(": ")[:2] for line in ran["environments"][0]["left_out"]] == [["none@npm:gongfu-none@1", "package_unknown"]], f"it is named: {ran}")


CASES: list[Callable[[World], None]] = [
    good, unknown, sources_alone, sources_built, other_content, pinned_content, down, slow, untrusted, unencrypted, climbing, bomb,
    begins_with_python, leads_on, settings_of_a_skill, options_of_requirements, options_in_an_install, behind_a_digest, others_stay, unreadable, squatted_names, imports_without_end, additions, says_otherwise, header_of_a_script, locks, project_that_is_built, conflicts,
    at_once, interrupted, changed_before_compiled, compared_meanwhile, secrets, node_good, node_bad, node_elsewhere, node_lock, node_lock_elsewhere, node_alias, removed,
]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path, help="the binary (default: what cargo built)")
    parser.add_argument("--only", default="", help="only the cases whose name holds this")
    options = parser.parse_args()
    uv = shutil.which("uv")
    if Index is None or uv is None:
        print("error: the Python packages trustme and uv are not installed", file=sys.stderr)
        print("  hint: run `scripts/test --install`, and this with .tools/venv/bin/python", file=sys.stderr)
        return NOT_INSTALLED
    table: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="gongfu-index-") as folder:
        world = World(Path(folder).resolve(), binary(options.gongfu), Path(uv).absolute())
        for case in [*CASES, *hostile_builds.CASES]:
            if options.only not in case.__name__:
                continue
            begun, problem = time.monotonic(), ""
            try:
                case(world)
                expect(not world.other.asked, f"somebody else was asked: {world.other.asked}")
            except Exception as error:
                problem = described(error)
            world.variables = {}
            world.index.delay, world.index.wanted = 0, None
            world.index.forbidden, world.index.moved = set(), {}
            world.other.asked.clear()
            world.configure()
            table.append(Row(case.__name__.replace("_", " "), (case.__doc__ or "").rstrip("."), problem, round((time.monotonic() - begun) * 1000)))
    print_table(table)
    failures = sum(bool(row.problem) for row in table)
    print(f"{len(table) - failures} passed, {failures} failed")
    return 1 if failures or not table else 0


if __name__ == "__main__":
    sys.exit(main())
