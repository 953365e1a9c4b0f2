# SPDX-License-Identifier: GPL-3.0-or-later
"""The judges that can be asked, each opened by a short text such as `local:http://127.0.0.1:8000/v1#MODEL`."""

from __future__ import annotations

from typing import Final
from urllib.parse import SplitResult, urlsplit

from ...protocol.errors import BadInputError
from .base import FatalError, JudgeRequest, Provider, RecoverableError, Reply, RequestError

__all__ = ["FatalError", "JudgeRequest", "Provider", "RecoverableError", "Reply", "RequestError", "open_provider"]

FORM: Final = "write it as local:http://127.0.0.1:8000/v1#MODEL"


def open_provider(spec: str) -> Provider:
    """Open the judge that `spec` names; nothing is sent yet.

    `local:URL#MODEL` is any server that speaks chat completions (vLLM, Ollama, llama.cpp, LM Studio); a key that it
    wants is taken from the environment variable MATCHCUT_LOCAL_API_KEY. Raises BadInputError where the form is wrong.
    """
    kind, _, rest = spec.partition(":")
    if kind != "local":
        raise BadInputError(f"judge {kind!r}: there is no such kind of judge; {FORM}")
    url = _split(rest)
    from .openai_chat import OpenAIChat

    return OpenAIChat(url._replace(fragment="").geturl(), url.fragment)


def _split(text: str) -> SplitResult:
    """The parts of a URL that may stand in files; messages do not repeat what could hold a secret."""
    try:
        url = urlsplit(text)
        host, _ = url.hostname, url.port
    except ValueError as error:
        raise BadInputError(f"judge: not a URL ({error}); {FORM}") from error
    if url.scheme not in ("http", "https") or not host:
        raise BadInputError(f"judge: the address has to be an http or https URL; {FORM}")
    if url.username is not None or url.password is not None or url.query:
        raise BadInputError(
            "judge: the URL holds a user name, a password or a query, which would end up in files;"
            " put the key into the environment variable MATCHCUT_LOCAL_API_KEY"
        )
    if not url.fragment:
        raise BadInputError(f"judge {text!r}: the model's name is missing after the URL; {FORM}")
    return url
