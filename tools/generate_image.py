"""Make an image from words and post it in the chat, by the OpenAI Images API or a compatible server.

The openai library is imported at the first image: it takes half a second.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import importlib
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from tools.calling.function import FunctionTool
from tools.contract.addresses import split_address
from tools.contract.base import ProducedFile, ToolContext, ToolError, ToolResult, Unavailable
from tools.contract.credentials import hidden
from tools.contract.findings import Finding
from tools.contract.late import Late
from tools.contract.network import httpx2_context, proxy_before, trusted
from tools.contract.payments import Payment
from tools.fetch.bodies import read_body
from tools.pictures import kind_of
from tools.settings import ImageSettings

if TYPE_CHECKING:
    from openai import AsyncOpenAI

log = logging.getLogger(__name__)

LONGEST_PROMPT = 4_000
MOST_BYTES = 40 * 1024 * 1024
_SECONDS = 150.0
_LOOK_SECONDS = 15.0
"""How long the service may take to say whether it knows the model."""
_PRICES: tuple[tuple[str, tuple[float, float, float]], ...] = (
    ("dall-e-2", (0.02, 0.02, 0.02)),
    ("dall-e-3", (0.04, 0.04, 0.08)),
    ("gpt-image-1-mini", (0.005, 0.011, 0.036)),
    ("gpt-image-1.5", (0.009, 0.034, 0.133)),
    # Models without a row are taken for the dearest.
    ("", (0.011, 0.042, 0.167)),
)
"""List prices of November 2026 of a square image, of gpt-image-1 at last. https://developers.openai.com/api/docs/pricing"""
_EXAMPLES = (
    {"prompt": "A watercolour of a red fox asleep in the snow, seen from above"},
    {"prompt": "Logo for a bakery called Krume: flat, two colours", "size": "1024x1024", "quality": "high"},
)
_ASKED = ("Paint a watercolour of a red fox asleep in the snow, seen from above.",)
_KEYWORDS = (
    *("image", "picture", "draw", "paint", "illustration", "logo", "photo", "sketch", "wallpaper", "icon", "generate"),
    *("图片", "画", "画一", "图像", "插画", "海报", "照片", "头像", "壁纸", "生成图"),
)


def open_tool(settings: ImageSettings | None) -> GenerateImage:
    """The tool, ready for its first image.

    Raises:
        Unavailable: no model is named, or its key is missing.
    """
    if settings is None or not settings.image_model.strip():
        raise Unavailable("it needs IMAGE_MODEL, as openai:gpt-image-1")
    if not settings.image_api_key.get_secret_value().strip():
        raise Unavailable("it needs IMAGE_API_KEY, or OPENAI_API_KEY", wanted=True)
    return GenerateImage(settings)


class GenerateImage(FunctionTool):
    """`generate_image`."""

    def __init__(self, settings: ImageSettings) -> None:
        self._model = settings.image_model.strip().removeprefix("openai:")
        self._key = settings.image_api_key.get_secret_value().strip()
        self._base_url = settings.image_base_url.rstrip("/")
        self._prices = _prices_of(self._model, settings.image_price)
        self._client: Late[AsyncOpenAI] = Late(self._open)
        super().__init__(
            self.generate,
            self._client,
            name="generate_image",
            category="images",
            examples=_EXAMPLES,
            asked=_ASKED,
            keywords=_KEYWORDS,
            same="generate create make draw image picture art text prompt | image picture",
            icon="🎨",
            verb=("Painting a picture", "正在画图", "正在繪圖"),
            label=("Paint a picture from a description", "按描述画图", "依描述繪圖"),
            subject="prompt",
            effects=True,
            timeout=_SECONDS + 10.0,
            most_chars=20_000,
            per_minute=4,
        )

    async def generate(
        self,
        context: ToolContext,
        prompt: str,
        size: Literal["auto", "1024x1024", "1536x1024", "1024x1536"] = "auto",
        quality: Literal["auto", "low", "medium", "high"] = "auto",
    ) -> ToolResult:
        """Make one image from a description; it is posted in the chat after the answer.

        Use when: the person asks for a picture, a drawing, a logo or the like.
        Not for: charts of data and diagrams (run_python), finding pictures that exist.

        Args:
            prompt: What is to be seen: subject, style, composition, colours, any text in quotes.
            size: Square, wide or tall.
            quality: Higher takes longer and costs more.
        """
        prompt = prompt.strip()
        if not prompt:
            raise ToolError("The prompt is empty: describe what is to be seen.")
        if len(prompt) > LONGEST_PROMPT:
            raise ToolError(f"The prompt has {len(prompt)} characters, at most {LONGEST_PROMPT} are possible.")
        request = self._request(prompt, size, quality)
        async with context.bill.pay(self._price(request)) as payment:
            answer = await self._ask(request, min(_SECONDS, context.seconds), payment)
        content = await self._content(answer)
        media_type, ending = kind_of(content[:16])
        if not media_type:
            raise ToolError("The image service answered with something that is no image.", retry=False)
        name = f"image-{hashlib.sha256(content).hexdigest()[:8]}.{ending}"
        return ToolResult(
            text=f"The image is made and is posted as {name} right after your answer. Say in a few words what it "
            "shows; write no link to it.",
            files=(ProducedFile(name, media_type, content),),
            own_words=True,
        )

    async def check(self, *, offline: bool = False) -> Finding:
        """Whether its service knows the model and takes the key, for the operator; no image is made.

        Raises:
            ToolError: it does not.
        """
        place = urlsplit(self._base_url).netloc
        if offline:
            return Finding.not_asked(f"{self._model} at {place} is configured")
        client = await self._client.get()
        openai = importlib.import_module("openai")
        try:
            await client.models.retrieve(self._model, timeout=_LOOK_SECONDS)
        except openai.AuthenticationError as error:
            text = f"{place} refuses the key of IMAGE_API_KEY (without one, of OPENAI_API_KEY)"
            raise ToolError(text, retry=False) from error
        except openai.NotFoundError as error:
            if error.code == "model_not_found":
                raise ToolError(f"{place} does not know the model IMAGE_MODEL={self._model}", retry=False) from error
        except openai.APIStatusError as error:
            if error.status_code >= 500:
                raise ToolError(f"{place} has a fault of its own ({error.status_code})") from error
        except openai.OpenAIError as error:
            text = f"{place} does not answer ({type(error).__name__}); IMAGE_BASE_URL says where it is"
            raise ToolError(text, retry=False) from error
        else:
            return Finding.ok(f"{place} knows {self._model} and takes the key")
        return Finding.note(f"{place} answers; whether it makes images with {self._model} shows only at the first one")

    def _request(self, prompt: str, size: str, quality: str) -> dict[str, Any]:
        """The arguments as this model takes them: the older ones have other sizes, and ask for base64."""
        request: dict[str, Any] = {"model": self._model, "prompt": prompt, "n": 1}
        if self._model.startswith("dall-e"):
            request["response_format"] = "b64_json"
            if self._model.startswith("dall-e-3"):
                request["size"] = {"1536x1024": "1792x1024", "1024x1536": "1024x1792"}.get(size, "1024x1024")
                request["quality"] = "hd" if quality == "high" else "standard"
            return request
        if size != "auto":
            request["size"] = size
        if quality != "auto":
            request["quality"] = quality
        return request

    def _price(self, request: Mapping[str, Any]) -> float:
        """What an image costs at most: what is left to the model may be the best and largest."""
        older = self._model.startswith("dall-e")
        quality = {"low": 0, "medium": 1, "standard": 1}.get(request.get("quality", "medium" if older else "auto"), 2)
        square = request.get("size", "1024x1024" if older else "auto") == "1024x1024"
        return self._prices[quality] * (1.0 if square else 2.0 if older else 1.5)

    async def _ask(self, request: Mapping[str, Any], seconds: float, payment: Payment) -> Any:
        """The first image of the answer; every failure becomes a sentence for the model.

        A request that is refused costs nothing; one that is not answered may have cost all of it.
        """
        client = await self._client.get()
        openai = importlib.import_module("openai")
        refusals = (openai.BadRequestError, openai.RateLimitError, openai.AuthenticationError)
        try:
            with payment.nothing_for(*refusals, openai.PermissionDeniedError, openai.NotFoundError):
                answer = await client.images.generate(**request, timeout=seconds)
        except openai.APITimeoutError as error:
            raise ToolError(
                f"The image was not made within {seconds:g} s. Try once more with a lower quality."
            ) from error
        except openai.BadRequestError as error:
            said = self._said(error)
            if _blocked(error):
                raise ToolError(
                    f"The image service refuses this prompt for its content: {said} Tell the person, or describe "
                    "something else."
                ) from error
            raise ToolError(f"The image service refuses the request: {said}") from error
        except openai.RateLimitError as error:
            raise ToolError(
                "Too many images are being made. Say so; it works again in a minute.", retry=False
            ) from error
        except (openai.AuthenticationError, openai.PermissionDeniedError, openai.NotFoundError) as error:
            log.warning("generate_image: %s; are IMAGE_MODEL and IMAGE_API_KEY right?", type(error).__name__)
            sentence = "Images cannot be made as the bot is configured. Say so; its operator has to look at it."
            raise ToolError(sentence, retry=False) from error
        except openai.APIStatusError as error:
            sentence = f"The image service has a fault of its own ({error.status_code}). Try once more, or say so."
            raise ToolError(sentence) from error
        except openai.OpenAIError as error:
            log.warning("generate_image cannot reach its service (%s); IMAGE_BASE_URL says where", type(error).__name__)
            raise ToolError("The image service cannot be reached. Say so.", retry=False) from error
        # What the service chose itself, it says.
        chosen = {name: value for name in ("size", "quality") if (value := getattr(answer, name, None))}
        payment.dollars = min(payment.dollars, self._price({**request, **chosen}))
        if not answer.data:
            raise ToolError("The image service answered without an image.", retry=False)
        return answer.data[0]

    async def _content(self, image: Any) -> bytes:
        if image.b64_json:
            try:
                return base64.b64decode(image.b64_json, validate=True)
            except binascii.Error as error:
                raise ToolError("The image service answered with something that is no image.", retry=False) from error
        if not image.url:
            raise ToolError("The image service answered without an image.", retry=False)
        return await self._fetched(str(image.url))

    async def _fetched(self, url: str) -> bytes:
        """The image at an address of the service itself; nothing else is opened, and no redirect followed."""
        import aiohttp

        if _place(url) != _place(self._base_url):
            raise ToolError("The image is kept at an address that may not be opened. Say that it failed.", retry=False)
        try:
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60.0)) as session,
                session.get(url, allow_redirects=False, proxy=proxy_before(url, "the image service")) as response,
            ):
                content, cut = await read_body(response.content, "", MOST_BYTES if response.status == 200 else 0)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ToolError("The image could not be fetched from the service. Say so.", retry=False) from error
        if not content or cut:
            raise ToolError("The image could not be fetched from the service. Say so.", retry=False)
        return bytes(content)

    def _open(self) -> AsyncOpenAI:
        openai: Any = importlib.import_module("openai")
        client: AsyncOpenAI = openai.AsyncOpenAI(
            # A second try after one that may have been carried out could be a second image to pay for.
            api_key=self._key,
            base_url=self._base_url,
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(
                trust_env=False,
                proxy=proxy_before(self._base_url, "the image service"),
                verify=trusted(httpx2_context),
            ),
        )
        client.images, client.models  # noqa: B018  # these load their parts of the library, here in a thread
        return client

    def _said(self, error: Any) -> str:
        body = error.body if isinstance(error.body, dict) else {}
        text = " ".join(hidden(str(body.get("message") or "no reason given"), (self._key,)).split())[:300]
        return text if text.endswith((".", "!", "?")) else f"{text}."


def _prices_of(model: str, setting: str) -> tuple[float, float, float]:
    """Dollars of a square image of low, medium and high quality."""
    if setting:
        numbers = [float(part) for part in setting.split("/")]
        return (numbers[0], numbers[0], numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[1], numbers[2])
    return next(prices for name, prices in _PRICES if model.startswith(name))


def _blocked(error: Any) -> bool:
    said = f"{getattr(error, 'code', '')} {error}".lower()
    return any(sign in said for sign in ("moderation", "content_policy", "safety", "content_filter"))


def _place(url: str) -> tuple[str, str, int | None]:
    try:
        parts = split_address(url)
        return parts.scheme, parts.hostname or "", parts.port
    except ValueError:
        return "", "", None
