"""The two wires on which gongfu asks a model, for `faulty_model.py`: each request read strictly, each answer written.

An answer is a list of pieces as they go over the connection, so that a fault can cut, split or reorder them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

# The tokens of every request and of every answer.
INPUT_TOKENS, OUTPUT_TOKENS = 100, 10
# The characters of a piece of text, and of arguments. A long text comes in larger pieces.
TEXT_PIECE, LONG_PIECE, ARGUMENTS_PIECE = 12, 8_192, 6

# The names that tools may have, in definitions and in calls.
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")

Json = dict[str, Any]


@dataclass
class Call:
    """A call that the model makes: a tool, and its arguments as it writes them."""

    tool: str
    arguments: str


@dataclass
class Reply:
    """What the model says; `stop` is the reason why it ends: `end`, `calls` or `length`."""

    text: str = ""
    calls: list[Call] = field(default_factory=list)
    stop: str = "end"
    is_interleaved: bool = False


@dataclass
class Sent:
    """A request as the model reads it, whatever the wire."""

    system: str = ""
    prompt: str = ""
    # The names of the tools; none where the model may only answer.
    tools: list[str] = field(default_factory=list)
    # The number of answers of the model in the conversation, the text of the last one, and what came after it.
    answers: int = 0
    answer: str = ""
    last: str = ""
    # What the real provider would refuse.
    problem: str = ""


def joined(content: Any) -> str:
    """The text of a content: a string, or a list of parts."""
    if isinstance(content, list):
        return "\n".join(joined(part.get("text", part.get("content", ""))) for part in content)
    return content or ""


def cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def text_pieces(text: str) -> list[str]:
    return cut(text, TEXT_PIECE if len(text) < 4 * LONG_PIECE else LONG_PIECE)


def event(data: Json | str, name: str = "") -> bytes:
    """One server-sent event."""
    written = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return ((f"event: {name}\n" if name else "") + f"data: {written}\n\n").encode()


def ordered(queues: list[list[bytes]], is_interleaved: bool) -> list[bytes]:
    """The pieces of several blocks: one block after another, or in turns."""
    if not is_interleaved:
        return [piece for queue in queues for piece in queue]
    length = max(map(len, queues), default=0)
    return [queue[at] for at in range(length) for queue in queues if at < len(queue)]


def is_object(text: Any) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (TypeError, ValueError):
        return False


def misnamed(names: list[str]) -> str:
    """What a provider says of a name that no tool may have."""
    bad = [name for name in names if not NAME.fullmatch(name)]
    return f"the name {bad[0]!r} does not match the pattern {NAME.pattern}" if bad else ""


class OpenAi:
    """Chat completions."""

    name, path = "openai", "/v1/chat/completions"
    # Without these last pieces, an answer isn't over: the reason and the usage, `[DONE]`.
    ends, lengths = 3, {"end": "stop", "calls": "tool_calls", "length": "length"}

    @staticmethod
    def key(headers: Any) -> str:
        return (headers.get("authorization") or "").removeprefix("Bearer ")

    @staticmethod
    def read(body: Json) -> Sent:
        sent, open_calls = Sent(), []
        if body.get("tool_choice") != "none":
            sent.tools = [tool["function"]["name"] for tool in body.get("tools") or []]
        sent.problem = misnamed(sent.tools)
        for at, message in enumerate(body["messages"]):
            role, text = message["role"], joined(message.get("content"))
            if role == "tool":
                if message.get("tool_call_id") not in open_calls:
                    sent.problem = f"messages[{at}]: no call of the message before has the id {message.get('tool_call_id')}"
                else:
                    open_calls.remove(message["tool_call_id"])
            elif open_calls:
                sent.problem = f"messages[{at}]: the calls {open_calls} have no result"
            if role in ("system", "developer"):
                sent.system += text
            elif role == "assistant":
                calls = message.get("tool_calls") or []
                open_calls = [call["id"] for call in calls]
                sent.problem = sent.problem or misnamed([call["function"]["name"] for call in calls])
                if not text and not calls:
                    sent.problem = f"messages[{at}]: neither text nor calls"
                if bad := [call for call in calls if not is_object(call["function"]["arguments"])]:
                    sent.problem = f"messages[{at}]: the arguments {bad[0]['function']['arguments']!r} are no JSON object in a string"
                sent.answers, sent.answer, sent.last = sent.answers + 1, text, ""
            else:
                sent.prompt = sent.prompt or text
                sent.last += text + "\n"
        if open_calls:
            sent.problem = f"the calls {open_calls} have no result"
        return sent

    @staticmethod
    def calls(number: int, reply: Reply) -> list[Json]:
        return [
            {"id": f"call_{number}_{at}", "type": "function", "function": {"name": call.tool, "arguments": call.arguments}}
            for at, call in enumerate(reply.calls)
        ]

    @classmethod
    def whole(cls, number: int, body: Json, reply: Reply) -> Json:
        message = {"role": "assistant", "content": reply.text or None}
        if reply.calls:
            message["tool_calls"] = cls.calls(number, reply)
        choice = {"index": 0, "message": message, "finish_reason": cls.lengths[reply.stop]}
        usage = {"prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS, "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS}
        about = {"id": f"chat_{number}", "object": "chat.completion", "created": 1, "model": body.get("model")}
        return {**about, "choices": [choice], "usage": usage}

    @classmethod
    def pieces(cls, number: int, body: Json, reply: Reply) -> list[bytes]:
        about = {"id": f"chat_{number}", "object": "chat.completion.chunk", "created": 1, "model": body.get("model")}

        def chunk(delta: Json, reason: str | None = None) -> bytes:
            return event({**about, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

        queues = []
        for at, call in enumerate(cls.calls(number, reply)):
            function = call["function"]
            first = {**call, "index": at, "function": {"name": function["name"], "arguments": ""}}
            rest = [{"index": at, "function": {"arguments": part}} for part in cut(function["arguments"], ARGUMENTS_PIECE)]
            queues.append([chunk({"tool_calls": [part]}) for part in [first, *rest]])
        pieces = [chunk({"role": "assistant", "content": ""})]
        pieces += [chunk({"content": part}) for part in text_pieces(reply.text)] + ordered(queues, reply.is_interleaved)
        pieces.append(chunk({}, cls.lengths[reply.stop]))
        usage = cls.whole(number, body, reply)["usage"]
        # As the real one, it tells the usage to those who ask for it.
        asked = (body.get("stream_options") or {}).get("include_usage")
        pieces.append(event({**about, "choices": [], "usage": usage}) if asked else b": no usage\n\n")
        return [*pieces, event("[DONE]")]

    @staticmethod
    def error(kind: str, message: str) -> Json:
        return {"error": {"message": message, "type": kind, "param": None, "code": kind}}

    @classmethod
    def error_piece(cls) -> bytes:
        return event(cls.error("server_error", "The server had an error while processing your request."))


class Anthropic:
    """Messages."""

    name, path = "anthropic", "/v1/messages"
    # `message_delta` with the reason, and `message_stop`.
    ends, lengths = 2, {"end": "end_turn", "calls": "tool_use", "length": "max_tokens"}

    @staticmethod
    def key(headers: Any) -> str:
        return headers.get("x-api-key") or ""

    @staticmethod
    def read(body: Json) -> Sent:
        sent, open_calls = Sent(system=joined(body.get("system"))), []
        if (body.get("tool_choice") or {}).get("type") != "none":
            sent.tools = [tool["name"] for tool in body.get("tools") or []]
        sent.problem = misnamed(sent.tools)
        if not isinstance(body.get("max_tokens"), int):
            sent.problem = "max_tokens: Field required"
        for at, message in enumerate(body["messages"]):
            content = message["content"]
            parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
            results = [part["tool_use_id"] for part in parts if part["type"] == "tool_result"]
            if sorted(results) != sorted(open_calls):
                sent.problem = f"messages.{at}: results of {results} follow the calls {open_calls}"
            open_calls = [part["id"] for part in parts if part["type"] == "tool_use"]
            sent.problem = sent.problem or misnamed([part["name"] for part in parts if part["type"] == "tool_use"])
            if not parts or any(part["type"] == "text" and not part["text"].strip() for part in parts):
                sent.problem = f"messages.{at}: text content blocks must be non-empty"
            if any(not isinstance(part.get("input", {}), dict) for part in parts):
                sent.problem = f"messages.{at}: tool_use.input: Input should be an object"
            if message["role"] == "assistant":
                sent.answers, sent.answer, sent.last = sent.answers + 1, joined(content), ""
            else:
                sent.prompt = sent.prompt or joined(content)
                sent.last += joined(content) + "\n"
        if open_calls or body["messages"][0]["role"] != "user":
            sent.problem = f"the calls {open_calls} have no result, or the first message isn't the user's"
        return sent

    @classmethod
    def whole(cls, number: int, body: Json, reply: Reply) -> Json:
        content: list[Json] = [{"type": "text", "text": reply.text}] if reply.text else []
        for at, call in enumerate(reply.calls):
            arguments = json.loads(call.arguments) if is_object(call.arguments) else call.arguments
            content.append({"type": "tool_use", "id": f"toolu_{number}_{at}", "name": call.tool, "input": arguments})
        about = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body.get("model")}
        usage = {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS}
        return {**about, "content": content, "stop_reason": cls.lengths[reply.stop], "stop_sequence": None, "usage": usage}

    @classmethod
    def pieces(cls, number: int, body: Json, reply: Reply) -> list[bytes]:
        def piece(kind: str, **data: Any) -> bytes:
            return event({"type": kind, **data}, kind)

        whole, texts, queues = cls.whole(number, body, reply), [], []
        for at, block in enumerate(whole["content"]):
            is_text = block["type"] == "text"
            first = {**block, "text": ""} if is_text else {**block, "input": {}}
            deltas: list[Json]
            if is_text:
                deltas = [{"type": "text_delta", "text": part} for part in text_pieces(reply.text)]
            else:
                arguments = reply.calls[at - len(texts)].arguments
                deltas = [{"type": "input_json_delta", "partial_json": part} for part in ["", *cut(arguments, ARGUMENTS_PIECE)]]
            (texts if is_text else queues).append(
                [piece("content_block_start", index=at, content_block=first)]
                + [piece("content_block_delta", index=at, delta=delta) for delta in deltas]
                + [piece("content_block_stop", index=at)]
            )
        start = {**whole, "content": [], "stop_reason": None, "usage": {"input_tokens": INPUT_TOKENS, "output_tokens": 1}}
        end = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        pieces = [piece("message_start", message=start), piece("ping")]
        pieces += ordered(texts, False) + ordered(queues, reply.is_interleaved)
        pieces.append(piece("message_delta", delta=end, usage={"output_tokens": OUTPUT_TOKENS}))
        return [*pieces, piece("message_stop")]

    @staticmethod
    def error(kind: str, message: str) -> Json:
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}

    @classmethod
    def error_piece(cls) -> bytes:
        return event(cls.error("overloaded_error", "Overloaded"), "error")


WIRES: list[type[OpenAi] | type[Anthropic]] = [OpenAi, Anthropic]
