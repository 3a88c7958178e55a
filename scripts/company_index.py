#!/usr/bin/env python3
"""Has packages be installed from indexes as companies have them.

    company_index.py [--gongfu BIN]

By plain HTTP, by an address, behind a proxy that wants a login, and with the logins of the installers' own files.
Index and proxy are this program's own, on loopback. Each case installs packages of Python, and most those of npm;
what must not be reached has a control that is. At the end no login stands in anything that was said or kept.

Prints a row for each. Exits 1 on any failure, 77 when what it needs is not installed here.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from clients import NOT_INSTALLED, Row, binary, described, expect, print_table
from hostile_index import GOOD, NODE, WANTED, World, node, python

try:
    from fake_index import Index, Proxy, authority
except ImportError:
    Index = None

# Each login is made of this, so that it is found wherever it is said.
SECRET = "verysecret"


def filled(index: Index) -> Index:
    """Puts good packages into an index."""
    index.wheel("good", GOOD)
    index.node("good-node", {"index.js": "module.exports = 'good';\n"}, {"main": "index.js"})
    return index


class Company(World):
    """A home and skills, an index by https and one by http, and a proxy that alone knows `index.corp`."""

    def __init__(self, base: Path, gongfu: Path, uv: Path) -> None:
        super().__init__(base, gongfu, uv)
        self.made, _ = authority(base)
        self.certificate = base / "authority.pem"
        self.secure = filled(Index(self.made, host="index.corp"))
        self.plain = filled(Index(None, host="127.0.0.1"))
        self.proxy = Proxy(f"me:{SECRET}-of-proxy", {"index.corp": "127.0.0.1"})
        self.said: list[str] = []
        self.number = 0

    def environment(self) -> dict[str, str]:
        nobody = {name: str(self.base / "none") for name in ("PIP_CONFIG_FILE", "UV_CONFIG_FILE", "NPM_CONFIG_USERCONFIG", "NETRC")}
        return {**super().environment(), "GONGFU_LOG": "trace", **nobody, **self.variables}

    def tell(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        done = super().tell(*arguments)
        self.said.append(done.stdout + done.stderr)
        return done

    def use(self, index: Index, **variables: str) -> None:
        """Has packages come from this index."""
        self.variables = {"UV_DEFAULT_INDEX": f"{index.url}/simple", "npm_config_registry": f"{index.url}/npm/", **variables}

    def file(self, name: str, text: str) -> str:
        """Writes a settings file; answers its path."""
        (self.base / name).write_text(text)
        return str(self.base / name)

    def requirement(self) -> str:
        """Another requirement each time, so that each is installed anew."""
        self.number += 1
        return f">=0.{self.number}"

    def installs(self, index: Index, *, npm: bool = True) -> None:
        """Sees to it that both kinds of packages are installed from this index, and nobody else is asked."""
        index.asked.clear()
        index.peers.clear()
        self.works(python(f"good{self.requirement()}\n"), "good")
        expect(any(path.startswith("/files/good-1.0") for path in index.asked), f"the wheel came from there: {index.asked}")
        if npm:
            self.works(node(WANTED % self.requirement()), "good", NODE)
            expect(any(path.startswith("/files/good-node") for path in index.asked), f"the package came from there: {index.asked}")

    def refuses(self, *words: str, npm: bool = True) -> None:
        """Sees to it that nothing is installed, and that it says why by these words."""
        kinds = [(python(f"good{self.requirement()}\n"), ["python", "x.py"])]
        kinds += [(node(WANTED % self.requirement()), NODE)] if npm else []
        for files, command in kinds:
            ran = self.run(self.skill(files), command)
            message = ran.get("error", {}).get("message", "")
            expect("error" in ran and all(word in message for word in words), f"it says {words}: {ran}")


def plain_by_address(world: Company) -> None:
    """An index by plain HTTP, at an address and by a name."""
    world.use(world.plain)
    world.installs(world.plain)
    checks = {one["id"]: one for one in json.loads(world.tell("doctor", "--json").stdout)}
    expect(checks["index"]["status"] == "warn" and world.plain.url in checks["index"]["message"], f"doctor warns: {checks}")
    named = filled(Index(None))
    world.use(named)
    world.installs(named)
    world.use(filled(Index(world.made)))
    checks = {one["id"]: one for one in json.loads(world.tell("doctor", "--json").stdout)}
    expect("index" not in checks, f"doctor doesn't warn of https: {checks}")


def six(world: Company) -> None:
    """An index at an address of IPv6, by http and by https."""
    try:
        indexes = [filled(Index(made, host="[::1]", address="::1")) for made in (None, world.made)]
    except OSError:
        expect(not socket.has_dualstack_ipv6(), "this machine has IPv6")
        return
    plain, secure = indexes
    world.use(plain)
    world.installs(plain)
    # `uv` can't: https://github.com/seanmonstar/reqwest/issues/3094
    world.use(secure)
    world.works(node(WANTED % world.requirement()), "good", NODE)
    expect(secure.asked, "the package came from there")


def secure_by_address(world: Company) -> None:
    """An index by https at an address."""
    index = filled(Index(world.made, host="127.0.0.1"))
    world.use(index)
    world.installs(index)


def plain_elsewhere(world: Company) -> None:
    """An index by plain HTTP whose files are elsewhere: only where the operator allows it."""
    index, other = Index(None, host="127.0.0.1"), Index(None)
    for one in ("good", "pip"):
        file = index.wheel(one, GOOD)
        other.wheel(one, GOOD)
        index.elsewhere[file] = other.url
    world.use(index)
    world.refuses(f"localhost:{other.port}", npm=False)
    expect(not other.asked, f"it isn't asked: {other.asked}")
    world.configure(f'hosts = ["localhost:{other.port}"]')
    world.works(python(f"good{world.requirement()}\n"), "good")
    expect(other.asked, "the control: it is asked where the operator allows it")


def by_the_proxy(world: Company) -> None:
    """A proxy that gongfu's settings name: it alone speaks with the index."""
    world.configure(f'proxy = "{world.proxy.url}"')
    for index, method in [(world.secure, "CONNECT index.corp"), (world.plain, " http://127.0.0.1")]:
        world.proxy.asked.clear()
        world.proxy.made.clear()
        world.use(index)
        world.installs(index)
        others = [peer for peer in index.peers if tuple(peer) not in world.proxy.made]
        expect(index.peers and not others, f"the proxy alone asks the index: {others}")
        expect(all(method in one for one in world.proxy.asked), f"it is asked as it should be: {world.proxy.asked}")
        print(f"  {index.url}: {len(index.peers)} requests, {len(others)} of them not by the proxy, which was asked {len(world.proxy.asked)} times")
    world.configure()
    world.use(world.secure)
    world.refuses("index.corp")


def by_variables(world: Company) -> None:
    """A proxy that variables name, and hosts without it."""
    variables = {"HTTPS_PROXY": world.proxy.url, "HTTP_PROXY": world.proxy.url}
    for index in [world.secure, world.plain]:
        world.proxy.made.clear()
        world.use(index, **variables)
        world.installs(index)
        expect(index.peers and all(tuple(peer) in world.proxy.made for peer in index.peers), "it goes by the proxy")
    world.use(world.secure, all_proxy=world.proxy.url)
    world.installs(world.secure)
    for list_of_hosts in ["127.0.0.0/8", "x.corp, 127.0.0.1", "*"]:
        world.proxy.made.clear()
        world.use(world.plain, **variables, NO_PROXY=list_of_hosts)
        world.installs(world.plain, npm=False)
        expect(not world.proxy.made, f"it goes without the proxy: {list_of_hosts}")
    world.use(world.secure, **variables, no_proxy="corp")
    world.refuses("index.corp", npm=False)


def by_files(world: Company) -> None:
    """A proxy that pip and npm are configured for."""
    pip = world.file("pip.conf", f"[global]\nproxy = {world.proxy.url}\n")
    npm = world.file("npmrc", f"proxy = {world.proxy.url}\nhttps-proxy = {world.proxy.url}\n")
    world.use(world.secure, PIP_CONFIG_FILE=pip, NPM_CONFIG_USERCONFIG=npm)
    world.installs(world.secure)


def no_proxy_there(world: Company) -> None:
    """A proxy that isn't there, wants another login, or isn't one by http: it says so, without the password."""
    place = f"127.0.0.1:{world.proxy.port}"
    for index, npm in [(world.secure, True), (world.plain, False)]:
        world.use(index)
        world.configure(f'proxy = "http://me:{SECRET}-wrong@{place}"')
        world.refuses(place, "407", npm=npm)
    world.configure('proxy = "http://127.0.0.1:9"')
    world.refuses("127.0.0.1:9", "can't be reached", npm=False)
    world.configure(f'proxy = "socks5://me:{SECRET}-of-proxy@{place}"')
    world.refuses("doesn't use http")


def basic(login: str) -> str:
    """A login as HTTP has it."""
    return "Basic " + base64.b64encode(login.encode()).decode()


def logins_of_python(world: Company) -> None:
    """Logins in .netrc, pip.conf, and variables of uv."""
    password = f"{SECRET}/1@2"
    for index in [world.plain, filled(Index(world.made))]:
        host = index.url.split("//")[1].split(":")[0]
        index.wanted = basic(f"me:{password}")
        world.use(index)
        world.refuses(npm=False)
        netrc = world.file("netrc", f'machine other.corp login x password y\nmachine {host} login me password "{password}"\n')
        world.use(index, NETRC=netrc)
        world.installs(index, npm=False)
        scheme, place = index.url.split("//")
        written = f"{scheme}//me:{SECRET}%2F1%402@{place}/simple"
        empty = filled(Index(None, host="127.0.0.1"))
        empty.files.clear()
        pip = world.file("pip.conf", f"[global]\nindex-url = {empty.url}/simple\nextra-index-url =\n    {empty.url}/none\n    {written}\n")
        world.variables = {"UV_DEFAULT_INDEX": "", "PIP_CONFIG_FILE": pip}
        world.installs(index, npm=False)
        expect(empty.asked, "the first index is asked as well")
        uv = world.file("uv.toml", f'[[index]]\nname = "corp-index"\nurl = "{index.url}/simple"\ndefault = true\n')
        world.variables = {"UV_DEFAULT_INDEX": "", "UV_CONFIG_FILE": uv, "UV_INDEX_CORP_INDEX_USERNAME": "me", "UV_INDEX_CORP_INDEX_PASSWORD": password}
        world.installs(index, npm=False)
        index.wanted = None


def logins_of_npm(world: Company) -> None:
    """Logins in .npmrc, and in the URL of a registry."""
    index = filled(Index(world.made))
    place = index.url.split("//")[1]
    password = base64.b64encode(f"{SECRET}-of-npm".encode()).decode()
    own = basic(f"me:{SECRET}-of-npm")
    ways = [
        (f"Bearer {SECRET}-token", f"//{place}/npm/:_authToken=${{NPM_TOKEN}}\n"),
        (own, f"//{place}/:_auth={own.removeprefix('Basic ')}\n"),
        (own, f"//{place}/npm/:username=me\n//{place}/npm/:_password={password}\n"),
    ]
    for wanted, text in ways:
        index.wanted = wanted
        config = world.file("npmrc", f"registry={index.url}/npm/\n//other.corp/:_authToken={SECRET}-other\n{text}")
        world.variables = {"npm_config_registry": "", "NPM_CONFIG_USERCONFIG": config, "NPM_TOKEN": f"{SECRET}-token"}
        index.asked.clear()
        world.works(node(WANTED % world.requirement()), "good", NODE)
        expect(index.asked, "it is asked")
    world.variables = {"npm_config_registry": f"https://me:{SECRET}-of-npm@{place}/npm/"}
    world.works(node(WANTED % world.requirement()), "good", NODE)
    world.variables = {"npm_config_registry": f"{index.url}/npm/"}
    ran = world.run(world.skill(node(WANTED % world.requirement())), NODE)
    expect("error" in ran, f"the control: without a login nothing is installed: {ran}")


def uv_by_pip(world: Company) -> None:
    """`gongfu init` gets uv by pip: from an index by http, and by the proxy."""
    program = b"\x7fELF, as far as anybody looks"
    folder = world.base / "programs"
    folder.mkdir()
    (folder / "python3").symlink_to(shutil.which("python3", path=os.defpath) or sys.executable)
    for number, (index, setting) in enumerate([(world.plain, ""), (world.secure, f'proxy = "{world.proxy.url}"'), (filled(Index(None)), "")]):
        index.wheel("uv", {"uv/__init__.py": b"", "uv-1.0.data/scripts/uv": program})
        home = world.base / f"home-{number}"
        home.mkdir()
        (home / "config.toml").write_text(f"[dependencies]\n{setting}\n")
        world.use(index, GONGFU_HOME=str(home), PATH=f"{folder}:/usr/bin:/bin")
        index.asked.clear()
        done = world.tell("init")
        expect("/tools/uv/bin/uv" in done.stdout, f"uv is there: {done.stdout}{done.stderr}")
        expect(any(path.startswith("/files/uv-") for path in index.asked), f"it came from there: {index.asked}")


def secrets(world: Company) -> None:
    """Nothing that was said or kept in all of these has a login in it."""
    index = filled(Index(None, host="127.0.0.1"))
    index.wanted = basic(f"me:{SECRET}-url")
    place = index.url.split("//")[1]
    world.configure(f'proxy = "{world.proxy.url}"')
    world.variables = {"UV_DEFAULT_INDEX": f"http://me:{SECRET}-url@{place}/simple?token={SECRET}-query", "npm_config_registry": f"http://me:{SECRET}-url@{place}/npm/"}
    for files in [python(f"good{world.requirement()}\n"), python("none-such\n"), node(WANTED % world.requirement()), node('{"dependencies": {"none-such": "*"}}')]:
        world.tell("env", "build", world.skill(files))
    listed = world.tell("env", "list", "--json").stdout
    expect(place in listed, f"the control: the index is told: {listed}")
    world.tell("doctor", "--json")
    said = "".join(world.said)
    expect("building the" in said, "the control: builds are told")
    encoded = [base64.b64encode(f"me:{SECRET}{tail}".encode()).decode() for tail in ("-url", "-of-proxy", "-of-npm", "/1@2")]
    kept = b"".join(file.read_bytes() for home in world.base.glob("home*") for file in home.rglob("*") if file.is_file() and not file.is_symlink() and file.name != "config.toml")
    expect(b"127.0.0.1" in kept, "the control: the index is kept")
    for text in [SECRET, *encoded]:
        line = next((line for line in said.splitlines() if text in line), "")
        expect(not line and text.encode() not in kept, f"{text} is told: {line}")
    print(f"  {len(said)} characters said and {len(kept)} bytes kept have no login in them")


CASES: list[Callable[[Company], None]] = [
    plain_by_address, six, secure_by_address, plain_elsewhere, by_the_proxy, by_variables, by_files, no_proxy_there,
    logins_of_python, logins_of_npm, uv_by_pip, secrets,
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
    with tempfile.TemporaryDirectory(prefix="gongfu-company-") as folder:
        world = Company(Path(folder).resolve(), binary(options.gongfu), Path(uv).absolute())
        for case in CASES:
            if options.only not in case.__name__:
                continue
            begun, problem = time.monotonic(), ""
            try:
                case(world)
            except Exception as error:
                problem = described(error)
            world.variables = {}
            world.configure()
            table.append(Row(case.__name__.replace("_", " "), (case.__doc__ or "").rstrip("."), problem, round((time.monotonic() - begun) * 1000)))
    print_table(table)
    failures = sum(bool(row.problem) for row in table)
    print(f"{len(table) - failures} passed, {failures} failed")
    return 1 if failures or not table else 0


if __name__ == "__main__":
    sys.exit(main())
