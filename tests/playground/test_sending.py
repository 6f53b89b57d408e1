"""Files that a person sends from the page: what the address takes and refuses, and the same in a real browser."""

from __future__ import annotations

import io
import json
from base64 import b64encode
from pathlib import Path

import aiohttp
import pytest

from playground.model.images import png
from playground.show import Playground
from playground.website import MOST_FILES
from tests.playground.conftest import NEEDS_BROWSER, Tab
from tests.playground.test_playground import Page, opened, playground

OWN = {"X-Playground": "1"}
PLACES = {"telegram": "1001", "slack": "C0GENERAL", "discord": "800000000000000002"}
HOSTILE = '<img src=x onerror="document.title=1">.txt'


def form(*files: tuple[str, str, bytes], **body: object) -> aiohttp.FormData:
    made = aiohttp.FormData(default_to_multipart=True)
    made.add_field("body", json.dumps(body))
    for name, media, content in files:
        made.add_field("file", io.BytesIO(content), filename=name, content_type=media)
    return made


async def send(page: Page, data: object, headers: dict[str, str] = OWN) -> tuple[int, str]:
    async with page.session.post(f"{page.url}send", data=data, headers=headers) as answer:
        return answer.status, str((await answer.json()).get("problem", ""))


@pytest.mark.parametrize("name", PLACES)
async def test_files_are_one_message_as_the_platform_has_it(tmp_path: Path, name: str) -> None:
    async with opened(playground(tmp_path)) as page:
        files = [("a.png", "image/png", png("a fox")), ("b.txt", "text/plain", b"tea")]
        told = form(*files, platform=name, place=PLACES[name], text="look", mention=True)
        assert await send(page, told) == (200, "")
        view = await page.sees("message", lambda view: view["platform"] == name and view["files"])

    assert [(file["name"], file["media"], file["size"]) for file in view["files"]][-1] in [
        (files[1][0], "text/plain", 3),
        (files[0][0], "image/png", len(files[0][2])),
    ]
    assert "look" in view["html"]


@pytest.mark.parametrize(
    ("platform", "file"),
    [("telegram", "voice.webm"), ("slack", "audio_message.webm"), ("discord", "voice-message.webm")],
)
async def test_a_recording_reaches_the_bot_as_the_platforms_voice_message(
    tmp_path: Path, platform: str, file: str
) -> None:
    shown = playground(tmp_path)
    async with opened(shown) as page:
        sound = (file, "audio/webm;codecs=opus", b"\x1aE\xdf\xa3")
        told = form(sound, platform=platform, place=PLACES[platform], text="")
        assert await send(page, told) == (200, "")
        view = await page.sees("message", lambda view: view["files"])
        address = f"{page.url}files/{platform}/{view['chat']}/{view['id']}/0"
        async with page.session.get(address) as played:
            assert (played.content_type, played.headers["X-Content-Type-Options"]) == ("audio/webm", "nosniff")
        slack = [delivery.payload for delivery in shown.slack.deliveries]
        discord = [shown.discord.state.told(message, True) for message in shown.discord.state.messages.values()]
        heard = str([shown.telegram.world.updates.all, slack, discord])

    assert {"telegram": "'voice'", "slack": "slack_audio", "discord": "waveform"}[platform] in heard
    assert [one["media"] for one in view["files"]] == ["audio/webm"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({**OWN, "Origin": "http://evil.example"}, 403),
        ({**OWN, "Host": "evil.example:8765"}, 403),
        ({}, 415),
    ],
)
async def test_other_web_sites_cannot_send_files(tmp_path: Path, headers: dict[str, str], status: int) -> None:
    shown = playground(tmp_path)
    async with opened(shown) as page:
        told = form(("a.txt", "text/plain", b"tea"), platform="slack", place="C0GENERAL", text="look")
        assert (await send(page, told, headers))[0] == status

    assert shown.slack.screen.messages == []


async def test_what_cannot_be_sent_is_said_and_nothing_is(tmp_path: Path) -> None:
    shown = playground(tmp_path)
    body = {"platform": "discord", "place": PLACES["discord"], "text": "look"}
    tea = ("a.txt", "text/plain", b"tea")
    most = shown.discord.limits.file
    async with opened(shown) as page:
        told = {
            "empty": await send(page, form(("a.txt", "text/plain", b""), **body)),
            "none": await send(page, form(**body)),
            "many": await send(page, form(*[tea] * (MOST_FILES + 1), **body)),
            "large": await send(page, form(("a.txt", "text/plain", b"a" * (most + 1)), **body)),
            "nowhere": await send(page, form(tea, **body | {"place": "7"})),
            "no platform": await send(page, form(tea, **body | {"platform": "irc"})),
            "no text": await send(page, form(tea, platform="discord", place=PLACES["discord"])),
            "a caption": await send(page, form(tea, platform="telegram", place="1001", text="a" * 1_025)),
        }
        wrong = aiohttp.FormData()
        wrong.add_field("file", b"tea", filename="a.txt")
        told["no body"] = await send(page, wrong)
        bare = {**OWN, "Content-Type": "multipart/form-data; boundary=x"}
        broken = [await send(page, data, bare) for data in (b"", b"--x", b"--x\r\nnothing", b"--x\r\n\r\n{", b"x" * 99)]

    assert {name: status for name, (status, _) in told.items()} == {
        **dict.fromkeys(told, 409),
        "no text": 400,
        "no body": 400,
    }
    assert told["large"][1] == "at most 10 MB can be sent here"
    assert {status for status, _ in broken} == {400}
    assert [m for window in (shown.telegram, shown.slack, shown.discord) for m in window.screen.messages] == []


async def test_a_name_can_lead_nowhere(tmp_path: Path) -> None:
    async with opened(playground(tmp_path)) as page:
        told = form(("../../a\\c.txt", "text/html", b"<script>"), platform="slack", place="C0GENERAL", text="")
        assert (await send(page, told))[0] == 200
        view = await page.sees("message", lambda view: view["files"])
        async with page.session.get(f"{page.url}files/slack/{view['chat']}/{view['id']}/0") as answer:
            kind = answer.content_type

    assert not set("/\\") & set(view["files"][0]["name"])
    assert kind == "application/octet-stream"


def attach(name: str, *files: tuple[str, str, str]) -> str:
    """JavaScript that chooses files in a window, as its button would; each is (name, media type, Base64)."""
    return f"""(() => {{
        const chosen = new DataTransfer();
        for (const [name, media, text] of {json.dumps(files)})
          chosen.items.add(new File([Uint8Array.from(atob(text), (one) => one.charCodeAt())], name, {{ type: media }}));
        const input = document.querySelector('[data-skin={name}] input[type=file]');
        input.files = chosen.files;
        input.dispatchEvent(new Event("change"));
    }})()"""


def base64(content: bytes) -> str:
    return b64encode(content).decode()


@NEEDS_BROWSER
async def test_what_cannot_be_sent_stays_in_the_field_and_hostile_names_do_nothing(
    playground: Playground, tab: Tab
) -> None:
    window = "document.querySelector('[data-skin=slack]')"
    await tab.value(attach("slack", (HOSTILE, "text/html", base64(b"<script>"))))
    await tab.until(f"{window}.querySelector('.chips').textContent.includes('onerror')")
    await tab.value(f"{window}.querySelector('textarea').value = 'look'")
    await tab.value("document.querySelector('[data-skin=slack] form').requestSubmit()")
    await tab.until("!document.querySelector('#problem').hidden || document.querySelector('.media a')")
    await tab.until(f"{window}.querySelector('.media a')?.textContent.includes('8 bytes')")
    assert await tab.value("document.title") == "Parley playground"
    assert await tab.value(f"{window}.querySelectorAll('img').length") == 0

    large = "new File([new Uint8Array(21 * 2 ** 20)], 'large.bin')"
    drop = f"""(() => {{ const data = new DataTransfer(); data.items.add({large});
        {window}.dispatchEvent(new DragEvent('drop', {{ dataTransfer: data, cancelable: true }})); }})()"""
    await tab.value(drop)
    await tab.until("document.querySelector('#problem').textContent.includes('large.bin: at most 20 MB')")

    await tab.value(attach("slack", ("empty.txt", "text/plain", "")))
    await tab.value(f"{window}.querySelector('form').requestSubmit()")
    await tab.until("document.querySelector('#problem').textContent.includes('empty.txt is empty')")
    kept = f"[...{window}.querySelectorAll('.chips button')].find((one) => one.ariaLabel.includes('empty.txt'))"
    await tab.value(f"{kept}.click()")
    await tab.until(f"!{kept}")
    assert tab.errors == [] or all("409" in one for one in tab.errors)


@NEEDS_BROWSER
async def test_a_voice_message_is_recorded_sent_and_played(playground: Playground, tab: Tab) -> None:
    window = "document.querySelector('[data-skin=telegram]')"
    record = f"{window}.querySelector('.record')"
    await tab.until("document.querySelectorAll('.pane').length === 3")
    await tab.value(f"{record}.click()")
    await tab.until(f"{record}.ariaPressed === 'true'")
    await tab.value(f"{record}.click()")

    await tab.until(f"{window}.querySelector('.media audio')?.getAttribute('aria-label').startsWith('voice.')")
    [sent] = [file for message in playground.telegram.screen.messages for file in message.files]
    assert sent[0].startswith("voice.") and sent[2].startswith((b"\x1aE\xdf\xa3", b"OggS"))
    assert await tab.value(f"{record}.ariaPressed") == "false"
    assert tab.errors == []


HELD = """
    window.held = [];
    const real = window.fetch;
    const hold = (asked) => new Promise((done, fail) => held.push({ go: () => done(real(...asked)), fail }));
    window.fetch = (...asked) => (asked[0] === "send" ? hold(asked) : real(...asked));
"""
"""JavaScript that holds uploads until a test lets them go or fail."""


@NEEDS_BROWSER
async def test_what_is_written_and_attached_during_an_upload_is_kept_and_nothing_goes_twice(
    playground: Playground, tab: Tab
) -> None:
    window = "document.querySelector('[data-skin=slack]')"
    submit = f"{window}.querySelector('form').requestSubmit()"
    await tab.value(f"(() => {{ {HELD} }})()")
    await tab.value(attach("slack", ("one.txt", "text/plain", base64(b"1"))))
    await tab.value(f"{window}.querySelector('textarea').value = 'look'")
    await tab.value(submit)
    await tab.until(f"held.length === 1 && {window}.querySelector('[type=submit]').dataset.does === 'Sending…'")
    await tab.value(submit)
    await tab.value(attach("slack", ("two.txt", "text/plain", base64(b"2"))))
    await tab.value(f"{window}.querySelector('textarea').value = 'and more'")
    assert await tab.value("held.length") == 1
    await tab.value("held[0].go()")
    await tab.until(f"{window}.querySelector('[type=submit]').dataset.does === 'Send'")

    assert "two.txt" in str(await tab.value(f"{window}.querySelector('.chips').textContent"))
    assert "one.txt" not in str(await tab.value(f"{window}.querySelector('.chips').textContent"))
    assert await tab.value(f"{window}.querySelector('textarea').value") == "and more"


@NEEDS_BROWSER
async def test_a_recording_that_could_not_be_sent_stays_and_only_one_is_made(playground: Playground, tab: Tab) -> None:
    window = "document.querySelector('[data-skin=telegram]')"
    record = f"{window}.querySelector('.record')"
    await tab.value(f"(() => {{ {HELD} }})()")
    await tab.value("""(() => {
        window.opened = 0;
        const real = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
        navigator.mediaDevices.getUserMedia = (...asked) => { opened += 1; return real(...asked); };
    })()""")
    await tab.value(f"{record}.click(), {record}.click()")
    await tab.until(f"{record}.ariaPressed === 'true'")
    assert await tab.value("opened") == 1
    await tab.value(f"{record}.click()")
    await tab.until("held.length === 1")
    await tab.value("held[0].fail(new TypeError('gone'))")

    await tab.until(f"{window}.querySelector('.chips').textContent.includes('voice.')")
