# SPDX-License-Identifier: GPL-3.0-or-later
"""The judges that can be asked, each opened by a short text such as `local:http://127.0.0.1:8000/v1#MODEL`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit

from ...protocol.errors import BadInputError
from .base import (
    EFFORTS,
    FatalError,
    JudgeRequest,
    Provider,
    RecoverableError,
    RemoteProvider,
    Reply,
    RequestError,
    Settings,
    StoppedError,
    Tokens,
)

__all__ = [
    "EFFORTS", "FORMS", "FatalError", "JudgeRequest", "Provider", "RecoverableError", "RemoteProvider", "Reply",
    "RequestError", "Settings", "StoppedError", "Tokens", "open_provider", "require_ready",
]  # fmt: skip

FORMS: Final = "openai:MODEL, anthropic:MODEL, gemini:MODEL, local:http://127.0.0.1:8000/v1#MODEL, human or replay:DIR"


def open_provider(
    spec: str,
    settings: Settings | None = None,
    *,
    drafts: Path | None = None,
    announce: Callable[[str], None] = lambda _: None,
) -> Provider:
    """Open the judge that `spec` names; nothing is sent yet, and a missing key is told by its `check`.

    `openai:MODEL`, `anthropic:MODEL` and `gemini:MODEL` are services; `local:URL#MODEL` is any server that speaks chat
    completions (vLLM, Ollama, llama.cpp, LM Studio). `human` or `human:NAME` is a person at this machine, who is told
    the page's address through `announce` and whose unfinished clips are kept in `drafts`. `replay:DIR` or
    `replay:DIR#MODEL` gives recorded answers. Raises BadInputError where the form or a setting is wrong.
    """
    settings = settings or Settings()
    if settings.effort is not None and settings.effort not in EFFORTS:
        raise BadInputError(f"effort {settings.effort!r}: there is no such one; take one of {', '.join(EFFORTS)}")
    kind, _, rest = spec.partition(":")
    if kind == "human":
        from .human import Human

        return Human(rest or "person", drafts=drafts, announce=announce)
    if kind == "replay" and rest:
        from .replay import Replay

        folder, _, model = rest.partition("#")
        return Replay(Path(folder), model or None)
    if kind == "local":
        url = _split(rest)
        if not url.fragment:
            raise BadInputError(f"judge {spec!r}: the model's name is missing after the URL; write it as {_LOCAL}")
        from .openai_chat import OpenAIChat

        return OpenAIChat(url._replace(fragment="").geturl(), url.fragment, settings)
    if kind not in ("openai", "anthropic", "gemini"):
        raise BadInputError(f"judge {kind!r}: there is no such kind of judge; take one of {FORMS}")
    if not rest or not rest.isprintable() or " " in rest:
        raise BadInputError(f"judge {spec!r}: the model's name is missing; write it as {kind}:MODEL")
    if settings.base_url is not None:
        _split(settings.base_url)
    if kind == "openai":
        from .openai_responses import OpenAIResponses

        return OpenAIResponses(rest, settings)
    if kind == "anthropic":
        from .anthropic_messages import AnthropicMessages

        return AnthropicMessages(rest, settings)
    from .openai_chat import GEMINI_URL, OpenAIChat

    return OpenAIChat(settings.base_url or GEMINI_URL, rest, settings, gemini=True)


def require_ready(provider: Provider, spec: str) -> Provider:
    """The provider itself. Raises BadInputError where something has to be set before it can be asked, such as a key."""
    if isinstance(provider, RemoteProvider) and provider.missing:
        raise BadInputError(f"judge {spec}: {provider.missing}")
    return provider


_LOCAL: Final = "local:http://127.0.0.1:8000/v1#MODEL"


def _split(text: str) -> SplitResult:
    """The parts of a URL that may stand in files; messages do not repeat what could hold a secret."""
    try:
        url = urlsplit(text)
        host, _ = url.hostname, url.port
    except ValueError as error:
        raise BadInputError(f"judge: not a URL ({error}); write it as {_LOCAL}") from error
    if url.scheme not in ("http", "https") or not host:
        raise BadInputError(f"judge: the address has to be an http or https URL; write it as {_LOCAL}")
    if url.username is not None or url.password is not None or url.query:
        raise BadInputError(
            "judge: the URL holds a user name, a password or a query, which would end up in files;"
            " put the key into the environment variable of docs/judge.md (MATCHCUT_LOCAL_API_KEY for local:)"
        )
    return url
