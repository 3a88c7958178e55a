"""The wires on which command lines speak with a model: each request read, each answer written.

A `Turn` is a request as a scripted model reads it, whatever the wire; an `Action` is the model's answer:
text, or one call of a tool.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from typing import Any

NUMBERS = itertools.count(1)


@dataclass
class Turn:
    """What a model is sent: its instructions, the messages, its tools, and how earlier calls went."""

    # Everything before the conversation, and every text that the client puts into it for the user.
    context: str
    # The tools by the name that the model has to say, with their descriptions.
    tools: dict[str, str]
    # The names of the tools that the model called, oldest first, and what came back.
    calls: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)


@dataclass
class Action:
    """The answer of a model: a call of a tool, or else a text."""

    text: str = ""
    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)


def texts(value: Any) -> list[str]:
    """Every text in a piece of a request, in order."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for part in value for text in texts(part)]
    if isinstance(value, dict):
        return [text for name, part in value.items() if name not in ("type", "role") for text in texts(part)]
    return []


def joined(value: Any) -> str:
    """Every text in a piece of a request."""
    return "\n".join(texts(value))


def event(data: dict[str, Any], name: str = "") -> str:
    """One server-sent event."""
    return (f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n"


class Anthropic:
    """Anthropic Messages, which Claude Code speaks."""

    path = "/v1/messages"

    @staticmethod
    def read(path: str, body: dict[str, Any]) -> Turn | None:
        """The turn of a request; None where it asks for no answer of a model."""
        if path.split("?")[0] != Anthropic.path:
            return None
        turn = Turn(joined(body.get("system", "")), {})
        for tool in body.get("tools", []):
            turn.tools[tool["name"]] = tool.get("description", "")
        for message in body.get("messages", []):
            content = message["content"]
            for part in content if isinstance(content, list) else [{"type": "text", "text": content}]:
                match part.get("type"):
                    case "tool_use":
                        turn.calls.append(part["name"])
                    case "tool_result":
                        turn.results.append(joined(part.get("content", "")))
                    case _ if message["role"] != "assistant":
                        turn.context += "\n" + joined(part.get("text", ""))
        return turn

    @staticmethod
    def write(path: str, body: dict[str, Any], action: Action) -> tuple[str, str]:
        """An answer: its media type and text."""
        usage = {"input_tokens": 1, "output_tokens": 1}
        if action.tool:
            empty = {"type": "tool_use", "id": f"toolu_{next(NUMBERS):04}", "name": action.tool, "input": {}}
            whole = {**empty, "input": action.arguments}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(action.arguments)}
            reason = "tool_use"
        else:
            empty = {"type": "text", "text": ""}
            whole = {"type": "text", "text": action.text}
            delta = {"type": "text_delta", "text": action.text}
            reason = "end_turn"
        message = {
            "id": f"msg_{next(NUMBERS):04}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "scripted"),
            "stop_sequence": None,
            "usage": usage,
        }
        if not body.get("stream"):
            return "application/json", json.dumps({**message, "content": [whole], "stop_reason": reason})
        end = {"stop_reason": reason, "stop_sequence": None}
        events = [
            {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": end, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ]
        return "text/event-stream", "".join(event(data, data["type"]) for data in events)


class Responses:
    """OpenAI Responses, which Codex speaks."""

    @staticmethod
    def read(path: str, body: dict[str, Any]) -> Turn | None:
        """The turn of a request; None where it asks for no answer of a model."""
        if not path.split("?")[0].endswith("/responses"):
            return None
        turn = Turn(body.get("instructions", ""), {})
        for tool in body.get("tools", []):
            if tool.get("type") == "namespace":
                for inner in tool.get("tools", []):
                    turn.tools[f"{tool['name']}/{inner['name']}"] = inner.get("description", "")
                turn.context += "\n" + tool.get("description", "")
            else:
                turn.tools[tool.get("name", tool.get("type", ""))] = tool.get("description", "")
        for item in body.get("input", []):
            kind = item.get("type", "message")
            if kind in ("function_call", "tool_search_call"):
                namespace = f"{item['namespace']}/" if item.get("namespace") else ""
                turn.calls.append(namespace + item.get("name", kind))
            elif kind.endswith("_output"):
                turn.results.append(joined(item.get("output", item.get("tools", ""))))
                for found in item.get("tools") or []:
                    inner = found.get("tools", [found])
                    prefix = f"{found['name']}/" if "tools" in found else ""
                    turn.tools.update({prefix + tool["name"]: tool.get("description", "") for tool in inner})
            elif kind == "message" and item.get("role") != "assistant":
                turn.context += "\n" + joined(item.get("content", ""))
        return turn

    @staticmethod
    def write(path: str, body: dict[str, Any], action: Action) -> tuple[str, str]:
        """An answer: its media type and text."""
        number = next(NUMBERS)
        if action.tool == "tool_search":
            item = {
                "type": "tool_search_call",
                "call_id": f"call_{number:04}",
                "execution": "client",
                "arguments": action.arguments,
                "status": "completed",
            }
        elif action.tool:
            namespace, _, name = action.tool.rpartition("/")
            item = {
                "type": "function_call",
                "id": f"fc_{number:04}",
                "call_id": f"call_{number:04}",
                "name": name,
                "arguments": json.dumps(action.arguments),
            }
            if namespace:
                item["namespace"] = namespace
        else:
            content = [{"type": "output_text", "text": action.text, "annotations": []}]
            item = {"type": "message", "id": f"msg_{number:04}", "role": "assistant", "content": content}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        response = {"id": f"resp_{number:04}", "object": "response", "output": [item], "usage": usage}
        events = [
            {"type": "response.created", "response": {"id": response["id"]}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {**response, "status": "completed"}},
        ]
        return "text/event-stream", "".join(event(data, data["type"]) for data in events)


class Gemini:
    """Gemini's generateContent, which Gemini CLI speaks."""

    @staticmethod
    def read(path: str, body: dict[str, Any]) -> Turn | None:
        """The turn of a request; None where it asks for no answer of a model."""
        if "enerateContent" not in path:
            return None
        turn = Turn(joined(body.get("systemInstruction", "")), {})
        for tool in body.get("tools", []):
            for one in tool.get("functionDeclarations", []):
                turn.tools[one["name"]] = one.get("description", "")
        for content in body.get("contents", []):
            for part in content.get("parts", []):
                if "functionCall" in part:
                    turn.calls.append(part["functionCall"]["name"])
                elif "functionResponse" in part:
                    turn.results.append(joined(part["functionResponse"].get("response", "")))
                elif content.get("role") != "model":
                    turn.context += "\n" + joined(part.get("text", ""))
        return turn

    @staticmethod
    def write(path: str, body: dict[str, Any], action: Action) -> tuple[str, str]:
        """An answer: its media type and text."""
        part: dict[str, Any] = {"text": action.text}
        if action.tool:
            part = {"functionCall": {"name": action.tool, "args": action.arguments}}
        answer = {
            "candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
        }
        if "streamGenerateContent" in path:
            return "text/event-stream", event(answer)
        return "application/json", json.dumps(answer)


class Chat:
    """OpenAI's chat completions, which opencode speaks with a provider of one's own."""

    @staticmethod
    def read(path: str, body: dict[str, Any]) -> Turn | None:
        """The turn of a request; None where it asks for no answer of a model."""
        if not path.endswith("/chat/completions"):
            return None
        turn = Turn("", {})
        for tool in body.get("tools", []):
            turn.tools[tool["function"]["name"]] = tool["function"].get("description", "")
        for message in body.get("messages", []):
            match message["role"]:
                case "assistant":
                    turn.calls += [call["function"]["name"] for call in message.get("tool_calls") or []]
                case "tool":
                    turn.results.append(joined(message.get("content", "")))
                case _:
                    turn.context += "\n" + joined(message.get("content", ""))
        return turn

    @staticmethod
    def write(path: str, body: dict[str, Any], action: Action) -> tuple[str, str]:
        """An answer: its media type and text."""
        number = next(NUMBERS)
        if action.tool:
            function = {"name": action.tool, "arguments": json.dumps(action.arguments)}
            calls = [{"index": 0, "id": f"call_{number:04}", "type": "function", "function": function}]
            said, reason = {"role": "assistant", "content": None, "tool_calls": calls}, "tool_calls"
        else:
            said, reason = {"role": "assistant", "content": action.text}, "stop"
        answer = {"id": f"chat_{number:04}", "created": 1, "model": body.get("model", "scripted")}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        if not body.get("stream"):
            choice = {"index": 0, "message": said, "finish_reason": reason}
            return "application/json", json.dumps(
                {**answer, "object": "chat.completion", "choices": [choice], "usage": usage}
            )
        parts = [
            {"choices": [{"index": 0, "delta": said, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
            {"choices": [], "usage": usage},
        ]
        chunks = [event({**answer, "object": "chat.completion.chunk", **part}) for part in parts]
        return "text/event-stream", "".join(chunks) + "data: [DONE]\n\n"


WIRES = [Anthropic, Responses, Gemini, Chat]
