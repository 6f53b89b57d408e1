"""wikipedia against MediaWiki on loopback."""

from __future__ import annotations

import pytest

from playground.faults import Fault
from playground.web import MediaWikiServer
from tests.tools.web.conftest import Call, Caller
from tools.contract.base import Source
from tools.settings import WikipediaSettings
from tools.wikipedia import open_tool


def settings_for(server: MediaWikiServer) -> WikipediaSettings:
    return WikipediaSettings.model_construct(
        wikipedia_base_url=server.language_url, contact="(https://bridges.example/bot)"
    )


@pytest.fixture
def wikipedia(mediawiki: MediaWikiServer, caller: Caller) -> Call:
    return caller(open_tool(settings_for(mediawiki)))


async def test_the_best_article_is_told_and_the_others_named(wikipedia: Call) -> None:
    result = await wikipedia(query="suspension bridge")

    assert result.ok
    assert result.untrusted
    assert result.text == (
        "Suspension bridge\nSource: https://en.wikipedia.org/wiki/Suspension_bridge\n\n"
        "A suspension bridge is a bridge whose deck hangs from cables.\n\n"
        "The cables run over towers into anchors at each end. The design carries the longest spans there are.\n\n"
        "Other articles:\n- Suspension bridge types: Wikimedia list article\n"
        "  https://en.wikipedia.org/wiki/Suspension_bridge_types"
    )
    assert result.sources[0] == Source("Suspension bridge", "https://en.wikipedia.org/wiki/Suspension_bridge")


@pytest.mark.parametrize(
    ("query", "own", "asked", "wiki"),
    [
        ("quokka", "", "", "en"),
        ("quokka", "en-GB", "", "en"),
        ("长城", "", "", "zh"),
        ("长城", "en", "", "zh"),
        ("悬索桥", "zh-TW", "", "zh"),
        ("长城", "fr", "zh", "zh"),
        ("quokka", "zh", "en", "en"),
    ],
)
async def test_the_language_is_the_one_asked_for_or_written_in_or_the_person_s(
    query: str, own: str, asked: str, wiki: str, mediawiki: MediaWikiServer, caller: Caller
) -> None:
    call = caller(open_tool(settings_for(mediawiki)), language=own)

    result = await call(query=query, **({"language": asked} if asked else {}))

    assert f"https://{wiki}.wikipedia.org/" in result.text
    assert [one.path for one in mediawiki.requests] == [f"/{wiki}/w/api.php"]


@pytest.mark.parametrize(("own", "variant"), [("zh-TW", "zh-tw"), ("zh-Hans", "zh-cn"), ("zh", None), ("en", None)])
async def test_chinese_comes_in_the_person_s_script(
    own: str, variant: str | None, mediawiki: MediaWikiServer, caller: Caller
) -> None:
    await caller(open_tool(settings_for(mediawiki)), language=own)(query="长城")

    assert mediawiki.requests[0].query.get("variant") == variant


async def test_what_one_language_lacks_is_looked_up_in_english(mediawiki: MediaWikiServer, caller: Caller) -> None:
    result = await caller(open_tool(settings_for(mediawiki)), language="zh")(query="quokka")

    assert result.text.startswith("(Nothing was found in the Wikipedia of 'zh'; this is the English one.)")
    assert "small macropod" in result.text


async def test_a_cached_answer_is_not_given_in_another_language(mediawiki: MediaWikiServer) -> None:
    from tools.calling.registry import ToolRegistry
    from tools.contract.base import ToolCall, ToolContext

    registry = ToolRegistry([open_tool(settings_for(mediawiki))])
    mediawiki.articles["de"] = mediawiki.articles["en"]
    call = ToolCall("1", "wikipedia", {"query": "quokka"})

    german = await registry.run(call, ToolContext(language="de"))
    english = await registry.run(call, ToolContext(language="en"))
    await registry.close()

    assert "de.wikipedia" in german.text
    assert "en.wikipedia" in english.text


async def test_a_name_with_several_meanings_says_so(wikipedia: Call) -> None:
    result = await wikipedia(query="Mercury")

    assert "several meanings" in result.text
    assert "- Mercury (planet): First planet from the Sun" in result.text


async def test_a_long_introduction_is_cut_after_a_sentence(wikipedia: Call) -> None:
    result = await wikipedia(query="Long article")

    assert len(result.text) <= 8000
    assert "goes on.\n[…] (read_page on the address above has the rest.)" in result.text


async def test_nothing_found_says_what_to_try(wikipedia: Call) -> None:
    result = await wikipedia(query="zzzz")

    assert result.ok
    assert "has nothing about 'zzzz'" in result.text


@pytest.mark.parametrize("language", ["english please", "../../x", "e", "en.evil.example/", "xx"])
async def test_a_language_that_is_none_is_refused(language: str, wikipedia: Call) -> None:
    result = await wikipedia(query="quokka", language=language)

    assert not result.ok
    assert "en, zh" in result.text


async def test_the_bot_says_who_it_is(mediawiki: MediaWikiServer, wikipedia: Call) -> None:
    await wikipedia(query="quokka")

    agent = mediawiki.requests[0].headers["User-Agent"]
    assert agent.startswith("parley-chat/")
    assert agent.endswith("(https://bridges.example/bot)")


async def test_an_error_within_a_good_answer_is_an_error(mediawiki: MediaWikiServer, wikipedia: Call) -> None:
    body = '{"error": {"code": "cirrussearch-backend-error", "info": "We could not complete your search."}}'
    mediawiki.faults.add("get", Fault(status=200, body=body))

    result = await wikipedia(query="quokka")

    assert not result.ok
    assert "We could not complete your search" in result.text
