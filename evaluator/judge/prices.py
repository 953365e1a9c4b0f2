# SPDX-License-Identifier: GPL-3.0-or-later
"""What tokens cost, and a budget that is never exceeded: each request is paid for out of it before it is sent.

Prices are in US dollars per million tokens. Those of `prices.json` are list prices of the services for short prompts at
the date it names; a file of the same form overrides them model by model.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from ..protocol.errors import BadInputError
from ..protocol.files import read_json
from ..records import Record
from .providers.base import OUTPUT_TOKENS, Tokens

PRICES_FORMAT: Final = "matchcut-prices/1"
SHIPPED: Final = Path(__file__).with_name("prices.json")
IMAGE_TOKENS: Final = 2000
"""For one pair image, before a reply has told; at most 960×1232 pixels, of which services count 258 to 1600."""
_MILLION: Final = 1_000_000

Amount = Annotated[float, Field(ge=0)]


class Price(Record):
    """Dollars per million tokens. `cached_input` and `cache_write` cost like `input` where they are not given."""

    input: Amount
    output: Amount
    cached_input: Amount | None = None
    cache_write: Amount | None = None
    batch: Amount = 1.0
    """Share of the price that a request in a batch costs."""

    def cost(self, tokens: Tokens, *, batch: bool = False) -> float:
        """Dollars."""
        cached = self.input if self.cached_input is None else self.cached_input
        write = self.input if self.cache_write is None else self.cache_write
        plain = max(0, tokens.input - tokens.cached_input - tokens.cache_write)
        total = plain * self.input + tokens.cached_input * cached + tokens.cache_write * write
        return (total + tokens.output * self.output) / _MILLION * (self.batch if batch else 1.0)


class PriceTable(Record):
    """`prices.json`: a Price for each `provider:model`."""

    format: Literal["matchcut-prices/1"] = PRICES_FORMAT
    checked: str
    """Date at which somebody looked them up."""
    models: dict[str, Price]


def find_price(provider: str, model: str, own: Path | None = None) -> Price | None:
    """The price of a model, from the user's own table first; None where neither knows it. A local model costs nothing.

    Raises BadInputError where the user's table is damaged.
    """
    kind = provider.partition(":")[0]
    for path in (own, SHIPPED):
        if path is not None:
            table = PriceTable.from_data(read_json(path, PRICES_FORMAT), str(path))
            if f"{kind}:{model}" in table.models:
                return table.models[f"{kind}:{model}"]
    return Price(input=0, output=0) if kind in ("local", "human", "replay") else None


def estimate(images: int, characters: int, max_output: int | None) -> Tokens:
    """The most that a request of so many images and characters of text is likely to use up."""
    return Tokens(images * IMAGE_TOKENS + characters // 2, max_output or OUTPUT_TOKENS)


class BudgetError(Exception):
    """What is left does not pay for one more request."""


class Budget:
    """Dollars and tokens of one run, shared by its threads.

    A request takes its estimate out before it is sent and gives back what it did not use. Where the rest does not
    suffice while others are on their way, `take` waits for what they give back. Raises BadInputError where a limit in
    dollars is given for a model without a price.
    """

    def __init__(
        self,
        usd: float | None = None,
        tokens: int | None = None,
        *,
        price: Price | None = None,
        model: str = "",
        batch: bool = False,
    ) -> None:
        if usd is not None and price is None:
            raise BadInputError(
                f"--budget-usd: no price of {model} is known; give its price with --prices, or limit --budget-tokens"
            )
        self._usd, self._tokens, self._price, self._batch = usd, tokens, price, batch
        self._changed = threading.Condition()
        self._taken: list[Tokens] = []
        self._used = Tokens()

    @property
    def used(self) -> Tokens:
        """By the replies so far."""
        return self._used

    @property
    def usd(self) -> float | None:
        """Dollars of the replies so far; None where the price is not known."""
        return None if self._price is None else self._price.cost(self._used, batch=self._batch)

    def take(self, most: Tokens, *, wait: bool = True) -> None:
        """Set `most` aside. Raises BudgetError where it cannot be had and nothing will be given back soon.

        `wait` says that what others hold will be: not so in a batch.
        """
        with self._changed:
            while not self._fits(most):
                if not self._taken or not wait:
                    raise BudgetError(self._left())
                self._changed.wait(0.2)
            self._taken.append(most)

    def settle(self, most: Tokens, used: Tokens) -> None:
        """Put `used` in the place of what was set aside."""
        with self._changed:
            self._taken.remove(most)
            self._used = _sum(self._used, used)
            self._changed.notify_all()

    def _fits(self, most: Tokens) -> bool:
        total = _sum(self._used, most, *self._taken)
        if self._tokens is not None and total.total > self._tokens:
            return False
        return self._usd is None or self._price is None or self._price.cost(total, batch=self._batch) <= self._usd

    def _left(self) -> str:
        total = _sum(self._used, *self._taken)
        parts = []
        if self._usd is not None and self._price is not None:
            parts.append(f"${self._price.cost(total, batch=self._batch):.2f} of ${self._usd:.2f}")
        if self._tokens is not None:
            parts.append(f"{total.total} of {self._tokens} tokens")
        return f"{' and '.join(parts)} are used or set aside, and the rest may not pay for one more request"


def _sum(*parts: Tokens) -> Tokens:
    return Tokens(
        sum(part.input for part in parts),
        sum(part.output for part in parts),
        sum(part.cached_input for part in parts),
        sum(part.cache_write for part in parts),
    )
