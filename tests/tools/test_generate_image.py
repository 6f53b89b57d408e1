"""Images on request, from the emulated Images endpoint through the real library."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator

import pytest

from playground.faults import Fault
from playground.model import ModelServer
from playground.model.images import png
from tools.calling.registry import ToolRegistry
from tools.contract.base import Json, ToolCall, ToolContext, ToolResult, Unavailable
from tools.generate_image import GenerateImage, open_tool
from tools.settings import ImageSettings

KEY = "sk-loopback-image-key"


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer(key=KEY) as server:
        yield server


def read(**given: str) -> ImageSettings:
    """As from the environment, with these in front."""
    return ImageSettings.model_validate(given)


def settings(server: ModelServer, **more: str) -> ImageSettings:
    given = {"image_model": "openai:gpt-image-1", "image_api_key": KEY, "image_base_url": server.base_url, **more}
    return ImageSettings.model_validate(given)


@pytest.fixture
async def tool(server: ModelServer) -> AsyncIterator[GenerateImage]:
    tool = open_tool(settings(server))
    yield tool
    await tool.close()


LOADS = """
import asyncio, sys
import bot.model.library
from tools.generate_image import open_tool
from tools.settings import ImageSettings

given = {"image_model": "openai:gpt-image-1", "image_api_key": "k", "image_base_url": "http://127.0.0.1:1/v1"}
client = asyncio.run(open_tool(ImageSettings.model_validate(given))._client.get())
loaded = set(sys.modules)
client.images, client.models
print("openai.types.image" in loaded, set(sys.modules) - loaded)
"""


def test_nothing_of_the_library_is_loaded_on_the_event_loop() -> None:
    """The models' client loads it without its types, which images need: 0.13 s."""
    done = subprocess.run([sys.executable, "-c", LOADS], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "True set()"


async def draw(tool: GenerateImage, **arguments: Json) -> ToolResult:
    return await ToolRegistry([tool]).run(ToolCall("1", "generate_image", arguments), ToolContext())


async def test_a_prompt_becomes_a_file(tool: GenerateImage, server: ModelServer) -> None:
    result = await draw(tool, prompt="a red fox", size="1536x1024", quality="low")

    assert result.ok and result.own_words, result.text
    [file] = result.files
    assert (file.media_type, file.content) == ("image/png", png("a red fox"))
    assert file.name.startswith("image-") and file.name in result.text
    assert server.requests[0].body == {
        "model": "gpt-image-1", "prompt": "a red fox", "n": 1, "size": "1536x1024", "quality": "low",
    }  # fmt: skip


async def test_an_image_kept_at_the_services_own_address_is_fetched_and_no_other(
    tool: GenerateImage, server: ModelServer
) -> None:
    server.images.by_address = True
    assert (await draw(tool, prompt="a fox")).files[0].content == png("a fox")

    for elsewhere in ("http://127.0.0.1:9/x.png", "http://169.254.169.254/latest", "file:///etc/passwd"):
        server.images.elsewhere = elsewhere
        result = await draw(tool, prompt="another fox")
        assert not result.ok and "may not be opened" in result.text


async def test_a_refusal_for_content_is_told_with_its_reason(tool: GenerateImage) -> None:
    result = await draw(tool, prompt="something forbidden")

    assert not result.ok and not result.own_words
    assert "for its content: Your request was rejected by the safety system." in result.text


@pytest.mark.parametrize(
    ("status", "said"), [(429, "in a minute"), (500, "fault of its own"), (403, "operator"), (404, "operator")]
)
async def test_a_failure_of_the_service_is_a_sentence(
    tool: GenerateImage, server: ModelServer, status: int, said: str
) -> None:
    server.faults.add("images", Fault(status=status), times=2)

    result = await draw(tool, prompt="a fox")

    assert not result.ok and said in result.text
    assert KEY not in result.text and server.base_url not in result.text


async def test_a_wrong_key_and_a_dead_service_are_told_apart(
    server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = open_tool(settings(server, image_api_key="sk-another-key-entirely"))
    dead = open_tool(settings(server, image_base_url="http://127.0.0.1:9/v1"))

    assert "as the bot is configured" in (await draw(wrong, prompt="a fox")).text
    assert "cannot be reached" in (await draw(dead, prompt="a fox")).text
    assert "sk-another" not in caplog.text
    await wrong.close()
    await dead.close()


async def test_an_answer_that_is_no_image_is_not_posted(tool: GenerateImage, server: ModelServer) -> None:
    server.images.content = b"<html>"

    result = await draw(tool, prompt="a fox")

    assert not result.ok and result.files == ()


async def test_an_empty_or_endless_prompt_is_not_sent(tool: GenerateImage, server: ModelServer) -> None:
    assert not (await draw(tool, prompt="  ")).ok
    assert "4000" in (await draw(tool, prompt="x" * 4001)).text
    assert server.requests == []


async def test_older_models_are_asked_in_their_own_words(server: ModelServer) -> None:
    tool = open_tool(settings(server, image_model="openai:dall-e-3"))

    await draw(tool, prompt="a fox", size="1024x1536", quality="high")

    asked = server.requests[0].body
    assert (asked["size"], asked["quality"], asked["response_format"]) == ("1024x1792", "hd", "b64_json")
    await tool.close()


def test_without_a_model_or_a_key_it_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for given in (None, read(), read(image_model="openai:gpt-image-1")):
        with pytest.raises(Unavailable, match="IMAGE_"):
            open_tool(given)


def test_key_and_address_of_the_chat_models_are_used_unless_it_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-chat")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://one.example/v1")
    assert read().image_api_key.get_secret_value() == "sk-of-the-chat"
    assert read().image_base_url == "http://one.example/v1"

    monkeypatch.setenv("IMAGE_API_KEY", "sk-of-its-own")
    monkeypatch.setenv("IMAGE_BASE_URL", "http://two.example/v1")
    assert read().image_api_key.get_secret_value() == "sk-of-its-own"
    assert read().image_base_url == "http://two.example/v1"
