"""Downloads the source distribution of a package, and prints its name and what its build requires, as JSON.

fetch_source.py NAME VERSIONS FOLDER; the indexes are those that uv is told. Nothing of the package is run.
"""

import base64
import hashlib
import html.parser
import json
import os
import re
import sys
import tarfile
import urllib.error
import urllib.parse
import urllib.request
import zlib

ENDING = ".tar.gz"
TYPES = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"
# What a project that says nothing is built by (PEP 517).
DEFAULT = ["setuptools>=40.8", "wheel"]
# The most bytes of a page, of a distribution and of its settings.
PAGE, SOURCE, SETTINGS = 64 << 20, 512 << 20, 1 << 20
NOT_FOUND = 404


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


def origin(url):
    """Scheme, host and port of a URL; nothing else than http and https is asked."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        sys.exit(f"{shown(url)} is neither http nor https; have the index changed")
    return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)


def without_login(url):
    parts = urllib.parse.urlsplit(url)
    return urllib.parse.urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def shown(url):
    return without_login(url).split("?")[0]


class Redirects(urllib.request.HTTPRedirectHandler):
    """Follows to http and https alone, and leaves the login behind where it is for somebody else."""

    def redirect_request(self, request, *details):
        followed = super().redirect_request(request, *details)
        if followed and origin(followed.full_url) != origin(request.full_url):
            followed.remove_header("Authorization")
        return followed


class Index:
    """An index, which alone gets the login in its URL."""

    def __init__(self, url):
        login = urllib.parse.urlsplit(url).netloc.rpartition("@")[0]
        secret = base64.b64encode(urllib.parse.unquote(login).encode()).decode()
        self.login = {"Authorization": f"Basic {secret}"} if login else {}
        self.url = without_login(url)

    def fetch(self, url, limit):
        """The content of a URL, its type, and where it was in the end."""
        url = without_login(url)
        login = self.login if origin(url) == origin(self.url) else {}
        request = urllib.request.Request(url, headers={"Accept": TYPES, **login})
        try:
            with urllib.request.build_opener(Redirects).open(request, timeout=30) as answer:
                content = answer.read(limit + 1)
                if len(content) > limit:
                    sys.exit(f"{shown(url)} is longer than {limit >> 20} MiB")
                return content, answer.headers.get_content_type(), answer.url
        except OSError as error:
            if getattr(error, "code", None) == NOT_FOUND:
                raise
            sys.exit(f"Failed to fetch: {shown(url)}: {error}")

    def files(self, name):
        """The file names of a package, with their URLs and digests."""
        parts = urllib.parse.urlsplit(self.url)
        page = parts._replace(path=f"{parts.path.rstrip('/')}/{normal(name)}/")
        try:
            content, kind, base = self.fetch(urllib.parse.urlunsplit(page), PAGE)
        except urllib.error.HTTPError:
            return
        if kind.endswith("json"):
            for file in json.loads(content)["files"]:
                yield file["filename"], urllib.parse.urljoin(base, file["url"]), file.get("hashes", {}).get("sha256")
        else:
            links = Links()
            links.feed(content.decode("utf-8", "replace"))
            for link in links.found:
                url, _, digest = urllib.parse.urljoin(base, link).partition("#sha256=")
                yield urllib.parse.unquote(url.split("?")[0].rsplit("/", 1)[-1]), url, digest or None


VERSION = re.compile(r"v?(\d+(?:\.\d+)*)(?:(a|b|rc)(\d+))?(?:\.post(\d+))?")


def number(version):
    """A version as what compares like it (PEP 440); None for one of another form, e.g. with a local part."""
    found = VERSION.fullmatch(version)
    if not found:
        return None
    release, phase, count, post = found.groups()
    numbers = [int(part) for part in release.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    # A final version comes after those before it, and one without a post-release before those.
    return tuple(numbers), (phase or "z", int(count or 0)), int(post) if post else -1


def begins(version, other):
    """True if a version is one of `other.*`."""
    parts = [int(part) for part in VERSION.fullmatch(other).group(1).split(".")]
    numbers = [*number(version)[0], *([0] * len(parts))]
    return numbers[: len(parts)] == parts


def fits_one(version, operator, other):
    """True if a version is one of those wanted; of what can't be told, uv finds out later."""
    this, that = number(version), number(other.removesuffix(".*"))
    if that is None:
        return version == other if operator in ("==", "===") else True
    if other.endswith(".*"):
        return begins(version, other.removesuffix(".*")) == (operator != "!=")
    if operator == "~=":
        # One of the same series: the last number may be another one.
        release = VERSION.fullmatch(other).group(1)
        return this >= that and "." in release and begins(version, release.rpartition(".")[0])
    if operator == ">" and that[2] < 0 and that[1][0] == "z" and this[0] == that[0]:
        return False
    compared = {"==": this == that, "===": version == other, "!=": this != that}
    compared |= {">=": this >= that, "<=": this <= that, ">": this > that, "<": this < that}
    return compared[operator]


def fits(version, wanted):
    """True if a version is one of those wanted."""
    found = re.findall(r"(===?|!=|~=|>=|<=|>|<)\s*([^,;\s)]+)", wanted)
    return all(fits_one(version, operator, other) for operator, other in found)


def is_final(version):
    found = number(version)
    return found is not None and found[1][0] == "z"


def requires(path):
    """The requirements of the build of a distribution (PEP 518), of whatever type they are."""
    import tomllib

    try:
        with tarfile.open(path) as archive:
            for entry in archive:
                if entry.isfile() and entry.name.count("/") == 1 and entry.name.endswith("/pyproject.toml"):
                    if entry.size > SETTINGS:
                        sys.exit("its pyproject.toml is too long; require another version of it")
                    settings = tomllib.loads(archive.extractfile(entry).read().decode())
                    return settings.get("build-system", {}).get("requires", DEFAULT)
    except (AttributeError, EOFError, OSError, RecursionError, ValueError, tarfile.TarError, zlib.error) as error:
        sys.exit(f"its source distribution can't be read: {error}; require another version of it")
    return DEFAULT


def main():
    name, wanted, folder = sys.argv[1:]
    found = {}
    for url in [os.environ["UV_DEFAULT_INDEX"], *os.environ.get("UV_INDEX", "").split()]:
        index = Index(url)
        for file, url, digest in index.files(name):
            stem = file.removesuffix(ENDING)
            package, _, version = stem.rpartition("-")
            if file != stem and normal(package) == normal(name) and is_final(version) and fits(version, wanted):
                found.setdefault(number(version), (index, file, url, digest))
    if not found:
        sys.exit(f"{name} has no source distribution ({ENDING}) of a version that is wanted")
    index, file, url, digest = found[max(found)]
    content, _, _ = index.fetch(url, SOURCE)
    if digest and hashlib.sha256(content).hexdigest() != digest:
        sys.exit(f"Hash mismatch for {file}")
    os.makedirs(folder)
    path = os.path.join(folder, os.path.basename(file))
    with open(path, "wb") as target:
        target.write(content)
    print(json.dumps({"file": file, "requires": requires(path)}, default=str))


if __name__ == "__main__":
    main()
