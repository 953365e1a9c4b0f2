# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut judge test`: whether a judge answers, by the smallest request that shows it."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from ..protocol.errors import BadInputError, ExitStatus, OperationalError
from ..protocol.messages import Reporter

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..judge.providers import JudgeRequest, RemoteProvider, Reply, RequestError

SECONDS: Final = 90.0
"""For the request: a model that has to be loaded first takes a minute."""
TOKENS: Final = 2048
"""Of the answer, thoughts included."""
UNNAMED: Final = "unnamed"

DESCRIPTION = """Ask a judge about one tiny picture: key, model, pictures and the form of its answer, in one request.

  matchcut judge test openai:MODEL
  matchcut judge test local:http://127.0.0.1:8000/v1#MODEL
  matchcut judge test openai                 without a model: the key alone, and which models there are; free

The picture is made here; nothing of yours is sent. It costs what a few hundred tokens cost."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `matchcut judge test`."""
    parser.add_argument(
        "judge", metavar="SPEC", help="openai, anthropic, gemini with or without :MODEL, or local:URL#MODEL"
    )
    parser.add_argument("--json", action="store_true", help="print the answer as one JSON document")


def run(arguments: argparse.Namespace, reporter: Reporter) -> int:
    """Ask; returns the exit status."""
    from ..judge.providers import RemoteProvider, RequestError, Settings, StoppedError, open_provider, require_ready

    spec, named = _complete(arguments.judge)
    provider = open_provider(spec, Settings(timeout=SECONDS, max_output_tokens=TOKENS))
    if not isinstance(provider, RemoteProvider):
        raise BadInputError(f"judge {spec}: only a judge behind an address can be tested")
    require_ready(provider, arguments.judge)
    began = time.monotonic()
    try:
        models = _models(provider, needed=not named)
        if named:
            reporter.status(f"asking {provider.model}")
            began = time.monotonic()
            reply = provider.ask(_smallest_request())
    except RequestError as error:
        raise _refused(arguments.judge, error) from error
    except StoppedError:
        raise OperationalError(f"judge {arguments.judge}: was left before it answered; try again") from None
    finally:
        provider.close()
    data: dict[str, Any] = {"seconds": round(time.monotonic() - began, 2), "models": models}
    if named:
        data |= {"model": reply.model or provider.model, "tokens": reply.tokens.total, "problem": _problem(reply)}
    if arguments.messages:
        reporter.result("", data)
    elif arguments.json:
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    else:
        form = f", but not in the form asked for: {data['problem']}" if data.get("problem") else ""
        answer = f"{data['model']} answered{form}" if named else f"the service answered, and lists {len(models)} models"
        sys.stdout.write(f"{answer} in {data['seconds']:.1f} s\n")
        sys.stdout.write("".join(f"  {model}\n" for model in models if not named))
    return ExitStatus.DONE


def _complete(judge: str) -> tuple[str, bool]:
    """The judge as `open_provider` takes it, and whether a model is named."""
    kind, _, rest = judge.partition(":")
    if kind == "local":
        named = bool(rest.partition("#")[2])
        return (judge if named else f"{judge.rstrip('#')}#{UNNAMED}"), named
    return (judge, True) if rest else (f"{kind}:{UNNAMED}", False)


def _models(provider: RemoteProvider, *, needed: bool) -> list[str]:
    """The names that the service lists; nothing where it has no list and none is needed."""
    from ..judge.providers import RequestError

    lists: Callable[[], list[str]] | None = getattr(provider, "models", None)
    try:
        return lists() if lists is not None else []
    except RequestError as error:
        if needed or error.reason in ("unauthorized", "forbidden", "quota_spent", "connection"):
            raise
        return []


def _problem(reply: Reply) -> str:
    """Why ratings could not be read from the answer, in a word of docs/judge.md; empty where they could."""
    from ..judge.reply import ReplyError, read_reply

    try:
        read_reply(reply, 1)
    except ReplyError as error:
        return error.reason
    return ""


def _smallest_request() -> JudgeRequest:
    from io import BytesIO

    from PIL import Image

    from ..judge.prompt import reply_schema
    from ..judge.providers import JudgeRequest

    picture = BytesIO()
    Image.new("RGB", (64, 64), (200, 40, 40)).save(picture, "JPEG")
    text = json.dumps({"entities": [], "checks": [{"statement": "The picture is red."}]})
    instruction = "Rate how far each statement about the picture is true. Answer with the JSON object alone."
    return JudgeRequest(instruction, (picture.getvalue(),), text, reply_schema())


def _refused(judge: str, error: RequestError) -> OperationalError | BadInputError:
    from ..judge.providers import FatalError

    words = {
        "unauthorized": "the key was refused; set it anew",
        "forbidden": "the key may not use this; look at the service's account",
        "not_found": "there is no such model or address; choose another model",
        "quota_spent": "the account has no credit left; look at the service's account",
        "connection": "the service does not answer; look at the address and the network",
        "timeout": f"no answer came within {SECONDS:.0f} s; try again",
        "rate_limited": "the service is busy with others' requests; try again in a minute",
    }
    kind = BadInputError if isinstance(error, FatalError) else OperationalError
    return kind(f"judge {judge}: {words.get(error.reason, error.reason.replace('_', ' '))} ({error})")
