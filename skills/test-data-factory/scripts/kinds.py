"""Values that look real: each kind of value is a method, and values of one row fit each other."""

import random
import re
import sqlite3
import string
import sys
import unicodedata
import uuid
from datetime import datetime, timedelta

FIRST = "Ada Amir Anna Björn Carlos Chen Chloé Diego Elif Emma Fatima Grace Hana Ivan Jamal José Kofi Lena Liam Lucía Łukasz Maja Mei Mohamed Nia Noah Olga Omar Priya Quinn Rosa Sara Sean Sofia Tariq Tomás Uma Viktor Yuki Zoë".split()
LAST = "Abe Ahmed Andersson Bauer Brown Chen Costa Diallo Dubois Evans Fischer García Haddad Hansen Ivanova Jones Kaya Khan Kim Kowalski Lopez Mbeki Meier Nguyen Novak Okafor O’Brien Patel Popescu Rossi Sato Schmidt Silva Singh Smith Tanaka Torres Varga Weber Żak".split()
PLACES = [
    ("Amsterdam", "Netherlands", "NL", "#### AB"), ("Bern", "Switzerland", "CH", "30##"), ("Berlin", "Germany", "DE", "10###"),
    ("Chicago", "United States", "US", "606##"), ("Dublin", "Ireland", "IE", "D0# X###"), ("Kraków", "Poland", "PL", "30-###"),
    ("Lagos", "Nigeria", "NG", "1002##"), ("Lyon", "France", "FR", "6900#"), ("Madrid", "Spain", "ES", "280##"),
    ("Melbourne", "Australia", "AU", "30##"), ("Mumbai", "India", "IN", "4000##"), ("Osaka", "Japan", "JP", "530-00##"),
    ("São Paulo", "Brazil", "BR", "010##-000"), ("Toronto", "Canada", "CA", "M5V #A#"), ("Århus", "Denmark", "DK", "80##"),
]  # fmt: skip
STREETS = "Station Street,Mill Lane,High Street,Park Avenue,Oak Road,Church Street,Garden Way,Lake View,Market Square,River Walk".split(",")
JOBS = "Accountant,Architect,Baker,Carpenter,Designer,Doctor,Electrician,Engineer,Librarian,Nurse,Teacher,Translator".split(",")
FIRMS = "Alder,Beacon,Cedar,Delta,Ember,Fjord,Granite,Harbor,Indigo,Juniper,Meridian,Northwind,Orchid,Summit".split(",")
THINGS = "Backpack,Bicycle Lamp,Camera,Coffee Mug,Desk Lamp,Headphones,Keyboard,Kettle,Notebook,Raincoat,Running Shoes,Scarf,Sunglasses,Tea Pot,Tent,Umbrella,Water Bottle,Wrist Watch".split(",")
LOOKS = "Black,Blue,Classic,Compact,Foldable,Green,Light,Red,Small,Sturdy,Travel,White".split(",")
WORDS = "account address answer box calendar change city color day delivery detail example feature friend garden guide idea letter light market message morning note number offer order package page paper part place plan question report result river season shop story summer table team ticket travel weather week winter word".split()

MAX_ROWS = 500_000


class Mistake(Exception):
    """An error that the user can fix."""


class Maker:
    """Makes values from a seed. `attempt` counts the rows of one place that were refused as not unique."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.begin(0)

    def begin(self, attempt: int) -> None:
        """Begin a row: the next names, address and so on are those of another person."""
        self.attempt = attempt
        pick = self.random.choice
        self.first, self.last, self.place = pick(FIRST), pick(LAST), pick(PLACES)

    def value(self, kind: str, options: dict) -> object:
        if kind not in KINDS:
            raise Mistake(f"there is no kind `{kind}`; the kinds are: {', '.join(KINDS)}")
        method = getattr(self, kind)
        try:
            return method(**options)
        except TypeError as error:
            known = ", ".join(method.__code__.co_varnames[1 : method.__code__.co_argcount]) or "none"
            raise Mistake(f"options that don't fit the kind `{kind}`: {error}; it knows: {known}") from error
        except (ValueError, IndexError, OverflowError) as error:
            raise Mistake(f"options that don't fit the kind `{kind}`: {error}") from error

    def tail(self, between: str = "") -> str:
        """A number that tells a value from others, once the plain one was taken."""
        return f"{between}{self.random.randrange(1, 10 ** (1 + self.attempt))}" if self.attempt else ""

    def first_name(self): return self.first
    def last_name(self): return self.last
    def full_name(self): return f"{self.first} {self.last}"
    def username(self): return f"{plain(self.first)}.{plain(self.last)}{self.tail()}"
    # RFC 2606 keeps these domains, and the numbering plan these phones, for examples: no message reaches a person.
    def email(self): return f"{self.username()}@example.{self.random.choice(['com', 'net', 'org'])}"
    def phone(self): return f"+1-{self.random.randrange(201, 990)}-555-01{self.random.randrange(100):02}"
    def url(self): return f"https://www.example.com/{self.slug()}"
    def city(self): return self.place[0]
    def country(self): return self.place[1]
    def country_code(self): return self.place[2]
    def postcode(self): return self.pattern(self.place[3].replace("A", "?").replace("B", "?").replace("X", "?"))
    def street(self): return f"{self.random.randrange(1, 200)} {self.random.choice(STREETS)}"
    def company(self): return f"{self.random.choice(FIRMS)} {self.random.choice(['Ltd', 'Group', 'Works', 'Labs'])}{self.tail(' ')}"
    def job(self): return self.random.choice(JOBS)
    def product(self): return f"{self.random.choice(LOOKS)} {self.random.choice(THINGS)}{self.tail(' ')}"
    def word(self): return self.random.choice(WORDS) + self.tail("-")
    def slug(self): return "-".join(self.random.sample(WORDS, 2)) + self.tail("-")
    def title(self): return " ".join(self.random.sample(WORDS, 3)).capitalize() + self.tail(" ")
    def sentence(self): return " ".join(self.random.sample(WORDS, self.random.randrange(4, 10))).capitalize() + self.tail(" ") + "."
    def uuid(self): return str(uuid.UUID(int=self.random.getrandbits(128), version=4))
    def code(self): return self.pattern("???-####")
    def boolean(self, share=0.5): return int(self.random.random() < share)
    def age(self): return self.random.randrange(18, 90)
    def quantity(self): return self.random.choices([1, 2, 3, 5, 10], [50, 25, 15, 7, 3])[0]
    def year(self): return self.random.randrange(1990, 2026)
    def birthday(self): return self.date("1950-01-01", "2006-12-31")
    def status(self): return self.random.choice(["active", "pending", "done"]) + self.tail("-")
    def absent(self): return None

    def pattern(self, form):
        """`#` is a digit and `?` a letter."""
        pick = self.random.choice
        return "".join(pick(string.digits) if c == "#" else pick(string.ascii_uppercase) if c == "?" else c for c in form)

    def integer(self, min=1, max=None):
        return self.random.randint(min, max if max is not None else min + 1000 * 2**self.attempt)

    def number(self, min=0, max=100, decimals=2):
        return round(self.random.uniform(min, max), decimals)

    def price(self, min=1, max=200):
        """Small prices are more common, and end as prices do."""
        amount = int(self.random.triangular(min, max, min))
        return amount + self.random.choice([0, 0.5, 0.9, 0.95, 0.99]) if amount < max else amount

    def choice(self, values, weights=None):
        if not all(isinstance(value, (str, int, float, type(None))) for value in values):
            raise ValueError("a value is text, a number or null")
        return self.random.choices(values, weights)[0]

    def date(self, min="2024-01-01", max="2025-12-31", after=None):
        return self.moment(min, max, after).date().isoformat()

    def datetime(self, min="2024-01-01", max="2025-12-31", after=None):
        return self.moment(min, max, after).isoformat(" ")

    def moment(self, min, max, after) -> datetime:
        start, end = datetime.fromisoformat(after or min), datetime.fromisoformat(max)
        if after:
            # What follows something does so within weeks.
            end = start + timedelta(days=30) if end <= start else min_of(end, start + timedelta(days=90))
        if end < start:
            raise ValueError(f"{max} is before {min}")
        return start + timedelta(seconds=self.random.randrange(1, int((end - start).total_seconds()) + 2))


KINDS = [name for name, member in vars(Maker).items() if callable(member) and name not in ("__init__", "begin", "value", "tail", "moment")]
min_of = min


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def run(main) -> None:
    """Run a script; print an error that the user can fix as one line."""
    try:
        main()
    except (Mistake, OSError, sqlite3.Error) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)


def plain(name: str) -> str:
    """A name in the letters of an address."""
    letters = unicodedata.normalize("NFKD", name.replace("Ł", "L").replace("ø", "o"))
    return "".join(c for c in letters if c.isascii() and c.isalpha()).lower()


def as_key(values) -> tuple:
    """What UNIQUE compares, with letter case left out, so that any collation is content."""
    return tuple(value.casefold() if isinstance(value, str) else value for value in values)


def span(text: str) -> tuple[int, int]:
    """`3` or `1-5`."""
    found = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", str(text))
    low, high = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
    if high < low:
        raise Mistake(f"`{text}` is no count: write 3 or 1-5")
    return low, high


def settings(pairs: list[str], flag: str, form: str = "TABLE=COUNT") -> dict[str, str]:
    """Arguments of a form such as `TABLE=COUNT`."""
    for pair in pairs:
        if "=" not in pair:
            raise Mistake(f"{flag} takes {form}, not `{pair}`")
    return dict(pair.split("=", 1) for pair in pairs)
