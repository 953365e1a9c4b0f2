# SPDX-License-Identifier: GPL-3.0-or-later
"""The judges that can be configured, who receives what they are sent, and what is known of their keys. No bpy."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Provider:
    """One kind of judge: how `--judge` begins, who it is, where its key is looked for."""

    kind: str
    label: str
    variable: str
    """Environment variable of the key, and the entry's name in the keyring."""


PROVIDERS: Final = (
    Provider("openai", "OpenAI", "OPENAI_API_KEY"),
    Provider("anthropic", "Anthropic", "ANTHROPIC_API_KEY"),
    Provider("gemini", "Gemini", "GEMINI_API_KEY"),
    Provider("local", "Own Server", "MATCHCUT_LOCAL_API_KEY"),
)
RECEIVERS: Final = {"openai": "OpenAI", "anthropic": "Anthropic", "gemini": "Google"}


def spec(kind: str, model: str, url: str = "") -> str:
    """A judge as `--judge` takes it; empty where it is not named in full."""
    model, url = model.strip(), url.strip().rstrip("/")
    if kind == "local":
        return f"local:{url}#{model}" if url and model else ""
    return f"{kind}:{model}" if kind in RECEIVERS and model else ""


def receiver(judge: str) -> str:
    """Who is sent the pictures that `judge` rates; empty where they stay on this machine."""
    kind, _, rest = judge.partition(":")
    if kind != "local":
        return RECEIVERS.get(kind, "")
    host = _host(rest)
    return "" if _is_loopback(host) else host or rest


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class KeyPlace:
    """Where a key is: `environment`, `keyring`, `nowhere`, or `unknown` while nobody has looked into the keyring."""

    place: str
    keyring_problem: str = ""


_models: dict[str, list[str]] = {}
_keyring: dict[str, str] = {}
_keyring_problem = ""


def key_of(provider: Provider) -> KeyPlace:
    """What is known of a key; no process is asked."""
    if os.environ.get(provider.variable, "").strip():
        return KeyPlace("environment", _keyring_problem)
    return KeyPlace(_keyring.get(provider.kind, "unknown"), _keyring_problem)


def take_keys(data: dict[str, object]) -> None:
    """Take in what `matchcut judge key` told."""
    global _keyring_problem  # noqa: PLW0603
    keys = data.get("keys")
    if isinstance(keys, dict):
        _keyring.update({kind: str(key["place"]) for kind, key in keys.items() if isinstance(key, dict)})
    _keyring_problem = str(data.get("keyring_problem", ""))


def take_models(kind: str, data: dict[str, object]) -> None:
    """Take in which models a service listed when it was tested."""
    models = data.get("models")
    if isinstance(models, list) and models:
        _models[kind] = [str(name) for name in models]


def models_of(kind: str) -> list[str]:
    """The models that a service listed last; none before it was tested."""
    return _models.get(kind, [])


def forget_keys() -> None:
    """Nothing is known of the keyring any more: another evaluator may see another one."""
    global _keyring_problem  # noqa: PLW0603
    _keyring.clear()
    _keyring_problem = ""
