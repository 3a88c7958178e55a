#!/usr/bin/env python3
"""Opens every page of a server with accounts in Chromium: axe finds no violation, and the browser refuses nothing.

    prove_pages.py --tools DIR [--gongfu BIN] [--browser BIN] [--shots DIR]

Each page is opened in English and Chinese, light and dark, 390 and 1,280 pixels wide, and must not be wider than the screen.
A page that breaks every rule is opened as well: axe has to find that. Prints one line a page. Exits 1 on a violation, on a
message of the content security policy, and when a page has another status than it should.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
from pathlib import Path
from typing import Any

from account_site import REPOSITORY, Home, Probe, Site, User, populate, program
from server import Server

VERIFIER = "a-verifier-of-at-least-forty-three-characters-0"
REDIRECT = "http://127.0.0.1:9/callback"
# A page without a language, a title and a text for its image: axe that finds nothing here finds nothing anywhere.
BROKEN = "data:text/html,<img src=x><input>"


def authorize(site: Site) -> str:
    """The path of an authorization request of a program that registered itself."""
    body = {"client_name": "A program", "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none"}
    made = site.send(Probe("", "", "POST", "/register", body), None)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
    query = {
        "response_type": "code",
        "client_id": json.loads(made.body)["client_id"],
        "redirect_uri": REDIRECT,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
        "scope": "skills:read skills:run",
        "state": "s",
    }
    return "/authorize?" + urllib.parse.urlencode(query)


def steps(home: Home, site: Site, user: User) -> list[dict[str, Any]]:
    join = home.command("user", "invite")
    links = home.command("user", "link", user.name)
    return [
        {"name": "a link to join", "path": join, "status": 200},
        {"name": "a name that can't be one", "fill": {"email": "eve@example.com", "name": "e e", "password": "x", "again": "x"}, "click": "main button", "status": 422},
        {"name": "a link to set a password", "path": links, "status": 200},
        {"name": "a link that is over", "path": "/join/" + "0" * 64, "status": 404},
        {"name": "sign in", "path": "/login", "status": 200},
        {"name": "a wrong password", "fill": {"name": user.name, "password": "another one"}, "click": "main button", "status": 401},
        {"name": "the account", "path": "/login", "fill": {"name": user.name, "password": user.password}, "click": "main button", "status": 200},
        {"name": "a new token", "fill": {"name": "laptop {view}"}, "click": "form[action$='/account/token'] button", "status": 200},
        {"name": "an invitation that is none", "fill": {"invitation": "gfi_0"}, "click": "form[action$='/account/team'] button", "status": 422},
        {"name": "may a program come in", "path": authorize(site), "status": 200},
        {"name": "a request that can't be answered", "path": "/authorize?client_id=nobody", "status": 400},
        {"name": "the API", "path": "/docs", "status": 200},
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path)
    parser.add_argument("--tools", type=Path, required=True)
    parser.add_argument("--browser", default=shutil.which("chromium") or shutil.which("google-chrome"))
    parser.add_argument("--shots", type=Path)
    options = parser.parse_args()
    if not options.browser:
        print("prove-pages: there is no Chromium; install Debian's `chromium` and `fonts-noto-cjk`", file=sys.stderr)
        return 1
    node = REPOSITORY / ".tools/node/node_modules/.bin/node"
    with tempfile.TemporaryDirectory(prefix="gongfu-pages-") as name:
        home = Home(program(options.gongfu), Path(name)).make('registration = "invited"\n')
        user = User("ann")
        home.add_user(user, "--admin")
        shots = options.shots or home.folder / "shots"
        shots.mkdir(exist_ok=True)
        with Server(home.gongfu, "serve", "--accounts", variables=home.variables, folder=home.folder) as server:
            site = Site(server.url)
            populate(site, home, user)
            wanted = steps(home, site, user)
            task = {"browser": options.browser, "url": site.url, "shots": str(shots), "steps": wanted}
            command = [node, REPOSITORY / "scripts/pages/pages.mjs"]
            asked = subprocess.run(command, cwd=options.tools, input=json.dumps(task), capture_output=True, text=True, timeout=900)
            broken = task | {"url": "", "steps": [{"name": "broken", "path": BROKEN}]}
            control = subprocess.run(command, cwd=options.tools, input=json.dumps(broken), capture_output=True, text=True, timeout=300)
    print(asked.stderr[-2000:], end="", file=sys.stderr)
    views = [json.loads(line) for line in asked.stdout.splitlines()]
    statuses = {step["name"]: step["status"] for step in wanted}
    problems = 0
    for view in views:
        faults = [*view["violations"], *view["policy"]]
        if view["status"] != statuses[view["name"]]:
            faults.append(f"status {view['status']}, not {statuses[view['name']]}")
        problems += len(faults)
        print(f"{view['name']}, {view['view']}: {'; '.join(faults) or 'ok'}")
    planted = [json.loads(line) for line in control.stdout.splitlines()]
    found = sum(len(view["violations"]) for view in planted)
    expected = 4 * len(wanted)
    print(f"prove-pages: {len(wanted)} pages, {len(views)} of {expected} views, {problems} problems; {found} in a broken page")
    return 0 if len(views) == expected and not problems and found else 1


if __name__ == "__main__":
    sys.exit(main())
