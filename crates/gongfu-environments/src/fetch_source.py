"""Downloads the source distribution of a package, and writes down what its build requires. Nothing of it is run.

fetch_source.py NAME VERSIONS FOLDER; the indexes are those that uv is told.
"""

import base64
import hashlib
import html.parser
import json
import os
import re
import sys
import tarfile
import urllib.parse
import urllib.request

ENDING = ".tar.gz"
TYPES = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"
# What a project that says nothing is built by (PEP 517).
DEFAULT = ["setuptools>=40.8", "wheel"]
# The most bytes of a page, of a distribution and of its settings.
PAGE, SOURCE, SETTINGS = 64 << 20, 512 << 20, 1 << 20


class Links(html.parser.HTMLParser):
    """The links of a page (PEP 503)."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        if tag == "a":
            self.found += [value for name, value in attributes if name == "href" and value]


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def fetch(url, limit):
    """The content of a URL, its type, and where it was in the end."""
    parts = urllib.parse.urlsplit(url)
    headers = {"Accept": TYPES}
    if "@" in parts.netloc:
        secret, host = parts.netloc.rsplit("@", 1)
        secret = urllib.parse.unquote(secret).encode()
        headers["Authorization"] = "Basic " + base64.b64encode(secret).decode()
        url = urllib.parse.urlunsplit(parts._replace(netloc=host))
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=30) as answer:
        content = answer.read(limit + 1)
        if len(content) > limit:
            sys.exit(f"{url} is longer than {limit >> 20} MiB")
        return content, answer.headers.get_content_type(), answer.url


def files(index, name):
    """The file names of a package, with their URLs and digests."""
    content, kind, base = fetch(f"{index.rstrip('/')}/{normal(name)}/", PAGE)
    if kind.endswith("json"):
        for file in json.loads(content)["files"]:
            yield file["filename"], urllib.parse.urljoin(base, file["url"]), file.get("hashes", {}).get("sha256")
    else:
        links = Links()
        links.feed(content.decode("utf-8", "replace"))
        for link in links.found:
            url, _, digest = urllib.parse.urljoin(base, link).partition("#sha256=")
            yield urllib.parse.unquote(url.rsplit("/", 1)[-1]), url, digest or None


def number(version):
    """The numbers of a final version; of no other."""
    if not re.fullmatch(r"v?\d+(\.\d+)*(\.post\d+)?", version):
        return None
    numbers = [int(part) for part in re.findall(r"\d+", version)]
    return tuple(numbers + [0] * (8 - len(numbers)))


def fits(version, wanted):
    """True if a version is one of those wanted, as far as numbers tell."""
    for operator, other in re.findall(r"(===?|!=|>=|<=|>|<)\s*([^,;\s]+)", wanted):
        this, that = number(version), number(other)
        if that is None or this is None:
            same = version == other
            if operator.startswith("==") and not same:
                return False
            continue
        compared = {"==": this == that, "===": this == that, "!=": this != that}
        compared |= {">=": this >= that, "<=": this <= that, ">": this > that, "<": this < that}
        if not compared[operator]:
            return False
    return True


def requires(path):
    """What the build of a distribution requires (PEP 518)."""
    with tarfile.open(path) as archive:
        for entry in archive:
            if entry.isfile() and entry.name.count("/") == 1 and entry.name.endswith("/pyproject.toml"):
                if entry.size > SETTINGS:
                    sys.exit("its pyproject.toml is too long")
                import tomllib

                settings = tomllib.loads(archive.extractfile(entry).read().decode())
                return settings.get("build-system", {}).get("requires", DEFAULT)
    return DEFAULT


def main():
    name, wanted, folder = sys.argv[1:]
    found = {}
    for index in [os.environ["UV_DEFAULT_INDEX"], *os.environ.get("UV_INDEX", "").split()]:
        for file, url, digest in files(index, name):
            stem = file.removesuffix(ENDING)
            package, _, version = stem.rpartition("-")
            if file != stem and normal(package) == normal(name) and number(version) and fits(version, wanted):
                found.setdefault(number(version), (file, url, digest))
    if not found:
        sys.exit(f"{name} has no source distribution ({ENDING}) of a version that is wanted")
    file, url, digest = found[max(found)]
    content, _, _ = fetch(url, SOURCE)
    if digest and hashlib.sha256(content).hexdigest() != digest:
        sys.exit(f"Hash mismatch for {file}")
    os.makedirs(folder)
    path = os.path.join(folder, os.path.basename(file))
    with open(path, "wb") as target:
        target.write(content)
    with open(f"{folder}/requires.txt", "w", encoding="utf-8") as target:
        target.write("".join(f"{line}\n" for line in requires(path)))


main()
