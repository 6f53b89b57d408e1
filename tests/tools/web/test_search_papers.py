"""search_papers against OpenAlex on loopback."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from playground.web import OpenAlexServer
from tests.conftest import RawJson
from tests.tools.web.conftest import Call, Caller
from tools.contract.base import Source
from tools.search_papers import open_tool, rebuilt
from tools.settings import SearchPapersSettings


@pytest.fixture
def papers(openalex: OpenAlexServer, caller: Caller) -> Call:
    return caller(open_tool(SearchPapersSettings.model_construct(openalex_base_url=openalex.base_url)))


async def test_a_paper_is_told_with_all_one_needs_to_find_it(papers: Call) -> None:
    result = await papers(query="flutter suspension bridges")

    assert result.ok
    assert result.untrusted
    assert result.text == (
        "Papers for 'flutter suspension bridges' in OpenAlex, 1 to 1 of 1:\n\n"
        "[1] Aeroelastic stability of long-span suspension bridges\n"
        "Ingrid Solheim, Kenji Mori (2021, Journal of Bridge Engineering, cited 148 times)\n"
        "DOI: https://doi.org/10.5555/parley.1\n"
        "Free full text: https://papers.example/1.pdf\n"
        "Abstract: We study flutter of suspension bridges with spans above two kilometres in a wind tunnel and in "
        "computation."
    )
    title = "Aeroelastic stability of long-span suspension bridges"
    assert result.sources == (Source(title, "https://doi.org/10.5555/parley.1"),)


async def test_the_next_page_has_the_rest(papers: Call) -> None:
    first = await papers(query="suspension bridges")
    second = await papers(query="suspension bridges", page=2)
    third = await papers(query="suspension bridges", page=3)

    assert "1 to 5 of 6" in first.text
    assert "(page=2 has more.)" in first.text
    assert "6 to 6 of 6" in second.text
    assert "[6] Suspension bridges in cold climates" in second.text
    assert "has more" not in second.text
    assert "No papers were found" in third.text


async def test_a_doi_finds_its_paper(papers: Call) -> None:
    for written in ("10.5555/parley.5", "https://doi.org/10.5555/parley.5", "doi: 10.5555/PARLEY.5."):
        result = await papers(query=written)
        assert "Sourdough microbiomes" in result.text
    assert "No papers were found" in (await papers(query="10.9999/nothing")).text


async def test_limits_are_kept(papers: Call) -> None:
    recent = await papers(query="suspension bridges", from_year=2023)
    old = await papers(query="suspension bridges", to_year=2016)
    free = await papers(query="corrosion", open_access=True)
    cited = await papers(query="suspension bridges", order="cited")
    newest = await papers(query="suspension bridges", order="newest")

    assert "2 of 2" in recent.text
    assert "1 of 1" in old.text
    assert "No papers" in free.text
    assert cited.text.index("cited 148") < cited.text.index("cited 96") < cited.text.index("cited 37")
    assert newest.text.index("(2024") < newest.text.index("(2023") < newest.text.index("(2021")


async def test_a_withdrawn_paper_is_called_so(papers: Call) -> None:
    assert "RETRACTED" in (await papers(query="never built")).text


async def test_markup_and_long_lists_of_authors_stay_out(papers: Call) -> None:
    result = await papers(query="corrosion")

    assert "[1] Corrosion of cables in suspension bridges: a review" in result.text
    assert "Author F and 3 more" in result.text
    assert "Free full text" not in result.text


async def test_chinese_papers_are_found(papers: Call) -> None:
    assert "王芳, 李强 (2022, 桥梁建设" in (await papers(query="悬索桥")).text


async def test_abstracts_give_way_before_papers_do(openalex: OpenAlexServer, caller: Caller) -> None:
    settings = SearchPapersSettings.model_construct(openalex_base_url=openalex.base_url)
    short = caller(open_tool(settings), chars=1200)

    result = await short(query="suspension bridges")

    assert len(result.text) <= 1200
    assert "[5]" in result.text
    assert len(result.sources) == 5


@pytest.mark.parametrize("wrong", [{"query": " "}, {"query": "x", "page": 0}, {"query": "x", "page": 101}])
async def test_a_wrong_argument_is_named(wrong: RawJson, papers: Call) -> None:
    assert not (await papers(**wrong)).ok
    assert not (await papers(query="x", from_year=2020, to_year=2019)).ok


async def test_the_day_s_budget_used_up_says_when_it_ends(openalex: OpenAlexServer, papers: Call) -> None:
    openalex.per_minute = 0

    result = await papers(query="bridges")

    assert not result.ok
    assert not result.retry
    assert "in 15 hours" in result.text


async def test_key_and_address_are_told_to_openalex_and_to_nobody_else(
    openalex: OpenAlexServer, caller: Caller
) -> None:
    openalex.key = "oa-canary-key"
    settings = SearchPapersSettings.model_construct(
        openalex_base_url=openalex.base_url,
        openalex_api_key=SecretStr("oa-canary-key"),
        contact="me@library.example",
    )

    good = await caller(open_tool(settings))(query="sourdough")
    wrong = await caller(open_tool(settings.model_copy(update={"openalex_api_key": SecretStr("wrong-key-x")})))(
        query="sourdough"
    )

    assert good.ok
    assert openalex.requests[0].query["api_key"] == "oa-canary-key"
    assert openalex.requests[0].query["mailto"] == "me@library.example"
    assert "mailto:me@library.example" in openalex.requests[0].headers["User-Agent"]
    assert not wrong.ok
    assert "operator" in wrong.text
    assert "wrong-key-x" not in wrong.text


@given(st.text(alphabet="abc é 桥", max_size=60))
def test_an_abstract_is_rebuilt_from_where_its_words_stand(text: str) -> None:
    index: dict[str, list[int]] = {}
    for place, word in enumerate(text.split()):
        index.setdefault(word, []).append(place)

    assert rebuilt(index) == " ".join(text.split())


@pytest.mark.parametrize("index", [None, [], "x", {"a": "b"}, {"a": [None, -1, "0", 10**12]}, {"a": None}])
def test_an_index_that_is_none_is_no_abstract(index: RawJson) -> None:
    assert rebuilt(index) == ""
