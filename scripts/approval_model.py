"""What people allowed of the calls of one tool, and so which of its calls may run: a model for `prove_approvals.py`.

It is written after the documents (approval.md, approval-scope.md), and knows nothing of the program.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

# In hours: how long a question waits, how long an answer for a session holds at most, and a refusal at a client.
WAITS, SESSION, DECLINED = 168, 168, 1
# A refusal wins; then comes what lasts, and then what is used up.
RANK = {"denied": 0, "session": 1, "always": 1, "once": 2, "waiting": 3}


@dataclass
class Record:
    """A question that waits, or its answer."""

    words: str  # the definition of the tool that the person was asked about
    n: int  # the argument of the call that asked
    session: str  # the session that asked last, or that the answer is for
    until: int | None
    answer: str = "waiting"
    is_any: bool = False

    def identity(self) -> tuple[object, ...]:
        """There is one record of these: another answer takes its place."""
        return self.words, None if self.is_any else self.n, self.session if self.answer == "session" else None


@dataclass
class Model:
    """One tool. A planted fault forgets a rule: `revoke`, `expire`, `once`, `session` or `change`."""

    fault: str = ""
    words: str = "1"
    records: list[Record] = field(default_factory=list)

    def expire(self, now: int) -> None:
        if self.fault != "expire":
            self.records = [one for one in self.records if one.until is None or one.until > now]

    def decide(self, n: int, session: str, now: int) -> str:
        """A call: it `runs`, is `denied`, or `asks`, for which there is a record from then on."""
        self.expire(now)
        found = [one for one in self.records if self.covers(one, n, session)]
        first = min(found, key=lambda one: RANK[one.answer], default=None)
        if first is None or first.answer == "waiting":
            if first:
                self.records.remove(first)
            self.records.append(Record(self.words, n, session, now + WAITS))
            return "asks"
        if first.answer == "denied":
            return "denied"
        if first.answer != "once":  # A question about the same call is answered, too.
            self.records = [one for one in self.records if (one.answer, one.words, one.n) != ("waiting", self.words, n)]
        elif self.fault != "once":
            self.records.remove(first)
        return "runs"

    def covers(self, one: Record, n: int, session: str) -> bool:
        is_of_session = one.answer != "session" or one.session == session or self.fault == "session"
        is_of_words = one.words == self.words or self.fault == "change"
        return is_of_session and is_of_words and (one.is_any or one.n == n)

    def reply(self, record: Record, answer: str, is_any: bool, hours: int | None, session: str, now: int) -> None:
        """A person answers a question, or answers it again; an answer for a session is for that of the asker or the client."""
        until = None if hours is None else now + hours
        new = replace(record, answer=answer, is_any=is_any and answer != "denied", until=until)
        if answer == "session":
            new.session = session or record.session
            new.until = min(now + SESSION, until or now + SESSION)
        self.records.remove(record)
        self.records = [one for one in self.records if one.identity() != new.identity()] + [new]

    def question(self, n: int) -> Record:
        """The question about a call."""
        return next(one for one in self.records if (one.answer, one.words, one.n) == ("waiting", self.words, n))

    def revoke(self, record: Record) -> None:
        if self.fault != "revoke":
            self.records.remove(record)
