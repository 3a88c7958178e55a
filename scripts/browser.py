"""A person in a browser without scripts, who signs in and answers for clients: forms, cookies, redirects."""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.cookiejar import CookieJar
from typing import Any

# The pages that one sign-in may take.
MAX_PAGES = 12


class BrowserError(Exception):
    """A page is not what a person can go on with."""


@dataclass
class Form:
    action: str
    fields: dict[str, str] = field(default_factory=dict)
    # The buttons with a name, as (name, value).
    buttons: list[tuple[str, str]] = field(default_factory=list)


class Document(HTMLParser):
    """What a person uses of a page: its forms, its text and where it leads by itself."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.words: list[str] = []
        self.next = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        has = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(Form(has["action"]))
        elif tag == "input" and self.forms:
            self.forms[-1].fields[has["name"]] = has.get("value", "")
        elif tag == "button" and self.forms and "name" in has:
            self.forms[-1].buttons.append((has["name"], has.get("value", "")))
        elif tag == "meta" and has.get("http-equiv") == "refresh":
            self.next = has["content"].split("url=", 1)[1]

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


@dataclass
class Browser:
    """The browser of one user; `logins` and `consents` count what the user did in it."""

    user: str
    password: str
    logins: int = 0
    consents: int = 0
    cookies: CookieJar = field(default_factory=CookieJar)

    def request(self, url: str, fields: dict[str, str] | None = None) -> tuple[int, Any, str]:
        data = urllib.parse.urlencode(fields).encode() if fields is not None else None
        parts = urllib.parse.urlsplit(url)
        headers = {"sec-fetch-site": "same-origin", "origin": f"{parts.scheme}://{parts.netloc}"} if fields else {}
        opener = urllib.request.build_opener(
            NoRedirect, urllib.request.HTTPCookieProcessor(self.cookies), urllib.request.ProxyHandler({})
        )
        try:
            with opener.open(urllib.request.Request(url, data, headers), timeout=60) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read().decode(errors="replace")

    def authorize(self, url: str, decision: str = "allow") -> str:
        """Opens the URL of a client, does what its pages ask for, and answers the redirect to the client."""
        origin = "{0.scheme}://{0.netloc}".format(urllib.parse.urlsplit(url))
        fields: dict[str, str] | None = None
        policy = ""
        for _ in range(MAX_PAGES):
            status, headers, body = self.request(url, fields)
            if status in (302, 303):
                to = urllib.parse.urljoin(url, headers["location"])
                if not to.startswith(f"{origin}/"):
                    check_policy(policy, to, is_form=fields is not None)
                    return to
                url, fields = to, None
                continue
            page = Document(body)
            if status != 200:
                raise BrowserError(f"{status}: {page.text[:600]}")
            policy = headers["content-security-policy"] or ""
            if page.next:
                url, fields = urllib.parse.urljoin(url, page.next), None
                continue
            url, fields = self.fill(url, page, decision)
        raise BrowserError(f"after {MAX_PAGES} pages it is still at {url}")

    def fill(self, url: str, page: Document, decision: str) -> tuple[str, dict[str, str]]:
        """The form that a person fills in on a page."""
        for form in page.forms:
            action = urllib.parse.urljoin(url, form.action)
            if "password" in form.fields:
                self.logins += 1
                return action, form.fields | {"name": self.user, "password": self.password}
            if ("decision", decision) in form.buttons:
                self.consents += 1
                return action, form.fields | {"decision": decision}
        raise BrowserError(f"nothing to fill in: {page.text[:600]}")


def check_policy(policy: str, to: str, is_form: bool) -> None:
    """Fails where a browser would not follow a redirect after a form, because the page's policy doesn't name it."""
    if not is_form:
        return
    directives = [directive.split() for directive in policy.split(";")]
    sources = next((words[1:] for words in directives if words and words[0] == "form-action"), [])
    parts = urllib.parse.urlsplit(to)
    if not {f"{parts.scheme}://{parts.netloc}", f"{parts.scheme}:"} & set(sources):
        raise BrowserError(f"form-action {' '.join(sources)} refuses {to.split('?')[0]}")
