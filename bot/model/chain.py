"""A model and its fallbacks, over one shared HTTP session."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Protocol, Self
from urllib.parse import urlsplit

import httpx2

from bot.contract import (
    Clock,
    ModelBusy,
    ModelDropped,
    ModelError,
    ModelSlow,
    SettingsError,
    SetupRefused,
    Unaffordable,
)
from bot.model.api import Api
from bot.model.base import CallPiece, Piece, ReasoningPiece, Request
from bot.model.client import ModelClient
from bot.model.learned import Learned
from bot.model.options import LOCAL, ModelOptions
from bot.model.providers import ModelName, base_url_of, key_of
from bot.model.readbatcher import ReadBatcher
from bot.model.transport import StreamTransport
from bot.model.usage import CountTokens, Estimator
from bot.model.wire import Endpoint
from bot.network import proxy_before

if TYPE_CHECKING:
    from bot.model.local import LocalTranscriber
    from bot.model.speaking import Speaker
    from bot.model.transcribing import Transcriber

_CONNECT_SECONDS = 10.0
_KEEP_SECONDS = 30.0
"""How long an idle connection is kept: the next pass of a turn comes within seconds."""
_WAIT_BEFORE_FALLBACK = 2.0
"""A busy model is not waited for longer than this if another one could answer."""
_WAIT_FOR_LAST = 20.0
"""The longest wait if none could: then the person gets the error, and may ask again."""


class Link(Protocol):
    """One model of a chain: a `ModelClient`, or a wrapper of one."""

    @property
    def name(self) -> str: ...

    def stream(self, request: Request, *, longest_wait: float = ...) -> AsyncGenerator[Piece, None]:
        """See `ModelClient.stream`."""
        ...


class Chain:
    """Models asked in order until one begins to answer."""

    def __init__(self, clients: Sequence[Link]) -> None:
        self._clients = tuple(clients)
        self.name = self._clients[0].name
        """The first one's `provider:name`; `Answer.model` says which one answered."""

    def each(self, wrap: Callable[[Link], Link]) -> Chain:
        """Return the same models, each in a wrapper."""
        return Chain([wrap(client) for client in self._clients])

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        """Ask the first; before the first text, fall back to the next if it cannot answer.

        If none can, the first one's error is raised: the operator chose that model. One that broke off after its first
        text is named in `failed` and its possible successor in `next`. See `bot.model.base.Model`.
        """
        first_error: ModelError | None = None
        names = [client.name for client in self._clients]
        clients = self._clients[names.index(request.first) if request.first in names else 0 :]
        for place, client in enumerate(clients, 1):
            last = client is clients[-1]
            started = False
            try:
                wait = _WAIT_FOR_LAST if last else _WAIT_BEFORE_FALLBACK
                async with aclosing(client.stream(request, longest_wait=wait)) as pieces:
                    async for piece in pieces:
                        started = started or not isinstance(piece, ReasoningPiece | CallPiece)
                        yield piece
                return
            except (ModelBusy, ModelDropped, ModelSlow, SetupRefused, Unaffordable) as error:
                if started:
                    error.failed, error.next = client.name, (client if last else clients[place]).name
                    raise
                first_error = first_error or error
                if last:
                    try:
                        raise first_error from None
                    finally:
                        # Held by a frame that it passed through, it would be a circle.
                        first_error = None


class Models:
    """The configured model with its fallbacks, and any other that a chat chooses.

    Closing it closes the HTTP session that all of them share.
    """

    def __init__(self, options: ModelOptions, clock: Clock, *, jitter: random.Random | None = None) -> None:
        self._options = options
        self._clock = clock
        self._jitter = jitter or random.Random()
        self._learned: defaultdict[tuple[str, str], Learned] = defaultdict(Learned)
        """By base URL and model: providers may share a server."""
        self._known: dict[str, ModelClient] = {}
        fallbacks = [self._parse(name, "FALLBACK_MODELS") for name in options.fallbacks]
        names = [self._parse(options.name, "MODEL"), *fallbacks]
        choices = [self._parse(name, "MODELS") for name in options.choices]
        self.choices: tuple[str, ...] = tuple(dict.fromkeys((names[0], *(choices or names))))
        """The models that a chat can choose: the configured one first."""
        self._transport = StreamTransport(ReadBatcher(clock), connections=1000, keep_seconds=_KEEP_SECONDS)
        self._http = httpx2.AsyncClient(
            transport=self._transport,
            timeout=httpx2.Timeout(None, connect=_CONNECT_SECONDS),
            follow_redirects=True,
        )
        self._clients = [self._client(name) for name in dict.fromkeys(names)]
        self._chain = Chain(self._clients)
        named = options.transcriber
        self._local = self._local_transcriber(named) if named.startswith(LOCAL) else None
        self.transcriber = self._local or (self._transcriber(named) if named else None)
        """Transcribes speech; None: nothing does."""
        self.speaker = self._speaker(options.speaker) if options.speaker else None
        """Speaks answers; None: nothing does."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._local is not None:
            await self._local.close()
        await self._http.aclose()

    @property
    def name(self) -> str:
        """The configured model's `provider:name`."""
        return self._chain.name

    @property
    def address(self) -> str:
        """The base URL of the configured model."""
        return self._check(ModelName.parse(self.name, "MODEL"), "MODEL")[0]

    async def prepare(self) -> None:
        """Load what the first request needs, in threads."""
        await asyncio.to_thread(self._clients[0].load)
        await self._transport.open()

    @property
    def names(self) -> tuple[str, ...]:
        """Every model that can answer: the configured one, its fallbacks, and those that a chat can choose."""
        return tuple(dict.fromkeys((*(client.name for client in self._clients), *self.choices)))

    def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        """Ask the configured model; see `Chain.stream`."""
        return self._chain.stream(request)

    def estimator(self, name: str) -> Estimator:
        """Estimates tokens for one model, as its server counts them."""
        return self._client(name).estimator

    def tokens_of(self, name: str) -> CountTokens:
        """Return the token estimator of texts for one model."""
        return self.estimator(name).count

    def window(self, name: str, most: int = 0) -> int:
        """Return the limit of one model's input in tokens: its server's, and at most `most`.

        Args:
            most: replaces the provider table's value if the server has named no limit; 0: the table's.
        """
        return self._client(name).window(most)

    def sees(self, name: str) -> bool:
        """False for a model that has refused pictures."""
        return self._client(name).sees

    def choose(self, name: str) -> Chain:
        """Return the chat's model, with the configured ones as fallbacks; the configured one for an empty name.

        Raises:
            SettingsError: the name is invalid, or its provider has no key.
        """
        if not name:
            return self._chain
        chosen = self._client(self._parse(name, "MODEL"))
        return Chain([chosen, *(client for client in self._clients if client is not chosen)])

    def only(self, name: str, setting: str) -> Chain:
        """Return one model without fallbacks: for a side task that may fail.

        Raises:
            SettingsError: the name, which came from `setting`, is invalid, or its provider has no key.
        """
        return Chain([self._client(self._parse(name, setting))])

    def check(self) -> None:
        """Raise SettingsError if a local speech model does not exist."""
        if self._local is not None and (gone := self._local.missing):
            raise SettingsError(f"TRANSCRIBE_MODEL is {self._local.name!r}, but {gone}")

    def _parse(self, text: str, setting: str) -> str:
        """Return the `provider:name` that `text` means, after checking that its provider has a key and an address."""
        name = ModelName.parse(text, setting)
        self._check(name, setting)
        return str(name)

    def _check(self, name: ModelName, setting: str) -> tuple[str, str]:
        """Return the base URL and the key of `name`."""
        options = self._options
        base_url = base_url_of(name.provider, options.base_urls)
        return base_url, key_of(name.provider, options.keys, options.base_urls, setting)

    def _client(self, text: str) -> ModelClient:
        if text not in self._known:
            self._known[text] = ModelClient(self._endpoint(text, "MODEL"), self._clock, self._jitter)
        return self._known[text]

    def _local_transcriber(self, text: str) -> LocalTranscriber:
        from bot.model.local import LocalTranscriber

        return LocalTranscriber(text.removeprefix(LOCAL), self._clock)

    def _transcriber(self, text: str) -> Transcriber:
        from bot.model.transcribing import ServiceTranscriber

        return ServiceTranscriber(self._endpoint(text, "TRANSCRIBE_MODEL"), self._clock, self._jitter)

    def _speaker(self, text: str) -> Speaker:
        from bot.model.speaking import Speaker

        return Speaker(self._endpoint(text, "SPEECH_MODEL"), self._options.voice, self._clock, self._jitter)

    def _endpoint(self, text: str, setting: str) -> Endpoint:
        name = ModelName.parse(text, setting)
        base_url, key = self._check(name, setting)
        # Only checked: an unusable one is named now, and not at a question.
        proxy_before(base_url, f"the model at {urlsplit(base_url).hostname}")
        api = Api(self._http, base_url, key)
        return Endpoint(api, name, base_url, self._options, self._learned[base_url, name.model])
