#!/usr/bin/env python3
"""Proves that a server with accounts refuses hostile archives, and that nothing of them is left.

    prove_archives.py [--gongfu BIN] [--count N] [--seed N] [--plant]

Archives are made from a seed (hostile_archives.py) and uploaded, as new skills and in place of one. Each has to be refused
with a status of the 400s and a code, soon. Afterwards every file that the server could reach is what it was before, but
for the database, and the skills are the same. Honest archives are accepted before and after, and come back equal.

`--plant` puts honest archives among the hostile ones, and a file beside the store: it has to fail.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import random
import sys
import tempfile
import time
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

from account_site import Answer, Home, Probe, Site, User, program
from hostile_archives import Hostile, Maker, honest
from server import Server, resident

HONEST = 30
# The longest that one answer may take, in seconds, on a machine that may be busy.
MAX_TIME = 10.0


def upload(site: Site, user: User, content: bytes, skill: str = "") -> Answer:
    boundary = "gongfu-proof-boundary-9f3a"
    head = f'--{boundary}\r\ncontent-disposition: form-data; name="skill_id"\r\n\r\n{skill}\r\n' if skill else ""
    head += f'--{boundary}\r\ncontent-disposition: form-data; name="file"; filename="a.zip"\r\n\r\n'
    body = head.encode() + content + f"\r\n--{boundary}--\r\n".encode()
    headers = {"content-type": f"multipart/form-data; boundary={boundary}"}
    return site.send(Probe("upload", "upload", "POST", "/api/v1/skills/upload", body, headers=headers), user)


def tree(folder: Path) -> dict[str, str]:
    """Every file below a folder by path, with the digest of its content; databases are left out."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.name.startswith("server.db"):
            continue
        if path.is_symlink():
            found[name] = f"link to {path.readlink()}"
        elif path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            found[name] = "folder"
    return found


def skills(site: Site, user: User) -> list[tuple[str, str, str, int]]:
    items: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = json.loads(site.send(Probe("", "", "GET", f"/api/v1/skills?limit=100{cursor}"), user).body)
        items += page["items"]
        if not page["next_cursor"]:
            return sorted((one["id"], one["name"], one["digest"], one["files"]) for one in items)
        cursor = f"&cursor={page['next_cursor']}"


def downloaded(site: Site, user: User, skill: str) -> dict[str, tuple[bytes, bool]]:
    raw = site.raw(Probe("", "", "GET", f"/api/v1/skills/{skill}/download"), user)
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        return {
            info.filename.partition("/")[2]: (archive.read(info), bool(info.external_attr >> 16 & 0o111))
            for info in archive.infolist()
        }


def accept(site: Site, user: User, chance: random.Random, first: int, count: int) -> tuple[list[str], list[str]]:
    """Uploads honest archives and downloads them again: their ids, and what was wrong."""
    ids, faults = [], []
    for at in range(first, first + count):
        name, files, archive = honest(chance, at)
        answer = upload(site, user, archive)
        if answer.status != 201:
            faults.append(f"{name}: {answer.status} {answer.body[:200]}")
            continue
        ids.append(json.loads(answer.body)["skill_id"])
        back = downloaded(site, user, ids[-1])
        if back != files:
            differing = sorted(path for path in back.keys() | files.keys() if back.get(path) != files.get(path))
            faults.append(f"{name}: {', '.join(differing[:5])} came back different")
    return ids, faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plant", action="store_true")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    faults: list[str] = []
    codes: Counter[str] = Counter()
    families: Counter[str] = Counter()
    slowest = (0.0, "")
    with tempfile.TemporaryDirectory(prefix="gongfu-archives-") as name:
        folder = Path(name)
        (folder / "outside").mkdir()
        home = Home(program(options.gongfu), folder).make()
        user = User("ann")
        home.add_user(user)
        user.token = home.token(user, "one")
        with Server(home.gongfu, "serve", "--accounts", variables=home.variables, folder=folder) as server:
            site = Site(server.url)
            ids, wrong = accept(site, user, chance, 0, HONEST // 2)
            faults += wrong
            # What a first refusal creates, it creates once.
            upload(site, user, b"PK\5\6")
            before, listed, memory = tree(folder), skills(site, user), resident(server.process.pid)
            hostile = list(Maker(chance, str(folder / "outside")).all(options.count))
            if options.plant:
                hostile += [Hostile("honest", "planted", honest(chance, 1000)[2])]
                (folder / "outside" / "planted.txt").write_text("x")
            for at, one in enumerate(hostile):
                started = time.monotonic()
                answer = upload(site, user, one.content, chance.choice(ids) if at % 2 else "")
                slowest = max(slowest, (time.monotonic() - started, one.name))
                code = json.loads(answer.body).get("code", "") if answer.body.startswith("{") else ""
                codes[f"{answer.status} {code}"] += 1
                families[one.family] += 1
                if not 400 <= answer.status < 500 or not code:
                    faults.append(f"{one.name} is not refused: {answer.status} {answer.body[:200]}")
            now = skills(site, user)
            if now != listed:
                faults.append(f"the skills differ: {sorted(set(now) ^ set(listed))[:4]}")
            after = tree(folder)
            grown = resident(server.process.pid) - memory
            stores = tuple(
                f"home/{kind}/{path.name}/" for kind in ("users", "user-skills") for path in (home.path / kind).iterdir()
            )
            changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
            outside = [path for path in changed if not path.startswith(stores)]
            faults += [f"left outside of the store: {path}" for path in outside]
            faults += [f"left in the store: {path}" for path in changed if path.startswith(stores)]
            if Path("/etc/gongfu-proof.txt").exists():
                faults.append("left: /etc/gongfu-proof.txt")
            more, wrong = accept(site, user, chance, HONEST // 2, HONEST - HONEST // 2)
            faults += wrong
    for line in faults[:60]:
        print(f"fault: {line}")
    print(f"{len(families)} families: " + ", ".join(f"{name} {count}" for name, count in families.items()))
    print("answers: " + ", ".join(f"{count} {what}" for what, count in codes.most_common()))
    print(
        f"prove-archives: seed {options.seed}: {len(hostile)} hostile archives, {len(faults)} faults, {len(changed)} files "
        f"left ({len(outside)} outside of the store), slowest {slowest[0]:.2f} s ({slowest[1]}), memory {grown:+} MiB; "
        f"{len(ids) + len(more)} of {HONEST} honest archives accepted and equal"
    )
    return 0 if not faults and len(ids) + len(more) == HONEST and slowest[0] < MAX_TIME else 1


if __name__ == "__main__":
    sys.exit(main())
