"""Files: the three steps of an upload, and the download that wants the bot's token."""

from __future__ import annotations

import hmac
import mimetypes

from aiohttp import web

from playground.slack.arguments import Arguments
from playground.slack.blocks import parse_list
from playground.slack.errors import Json, Refused, missing
from playground.slack.messages import root_of
from playground.slack.workspace import Message, StoredFile, Workspace


class FileMethods:
    """Uploads in three steps, as `files_upload_v2` makes them, and downloads by address."""

    def __init__(self, workspace: Workspace, token: str) -> None:
        self._workspace, self._token = workspace, token

    def get_upload_url(self, sent: Arguments) -> Json:
        """files.getUploadURLExternal: step one."""
        name, length = sent.required("filename"), sent.whole("length", 0)
        if length <= 0:
            raise missing("length")
        id = self._workspace.new_id("F")
        file = StoredFile(id, name, media_type(name), b"", self._workspace.bot_user_id, uploaded=False, length=length)
        self._workspace.files[id] = file
        return {"file_id": id, "upload_url": f"{self._workspace.base}/upload/v1/{id}"}

    def upload(self, id: str, content: bytes) -> web.Response:
        """Step two: the bytes."""
        file = self._workspace.files.get(id)
        if file is None or file.uploaded:
            return web.Response(status=404, text="not found")
        if len(content) != file.length:
            return web.Response(status=400, text=f"expected {file.length} bytes, got {len(content)}")
        file.content, file.uploaded = content, True
        return web.Response(text=f"OK - {len(content)}")

    def complete(self, sent: Arguments) -> Json:
        """files.completeUploadExternal: step three; shares the files as one message of each channel."""
        listed = parse_list(sent.values.get("files"), "invalid_arguments")
        if not listed:
            raise missing("files")
        files = []
        for item in listed:
            file = self._workspace.files.get(str(item.get("id", "")))
            if file is None or not file.uploaded or file.owner != self._workspace.bot_user_id:
                raise Refused("file_not_found")
            file.title = str(item.get("title") or file.name)
            files.append(file)
        ids = [id for id in (sent.text("channel_id") or sent.text("channels")).split(",") if id]
        channels = [self._workspace.channel(id, inside=True) for id in ids]
        for channel in channels:
            thread = sent.text("thread_ts")
            self._workspace.post(
                Message(
                    channel=channel.id,
                    ts=self._workspace.ts(),
                    author=self._workspace.bot_user_id,
                    bot_id=self._workspace.bot_id,
                    text=sent.text("initial_comment"),
                    thread_ts=root_of(self._workspace, channel.id, thread) if thread else "",
                    files=files,
                )
            )
        return {"files": [self._workspace.travel_file(file) for file in files]}

    def info(self, sent: Arguments) -> Json:
        """files.info."""
        file = self._workspace.files.get(sent.required("file"))
        if file is None or not file.uploaded:
            raise Refused("file_not_found")
        if refused := file.facts.get("refused"):
            raise Refused(str(refused))
        return {"file": self._workspace.travel_file(file, asked=True)}

    async def download(self, request: web.Request) -> web.StreamResponse:
        """`url_private`: without a token of the right scope the service shows its sign-in page, with 200 in the end."""
        file = self._workspace.files.get(request.match_info["key"].partition("-")[2])
        if file is None or not file.uploaded:
            return web.Response(status=404, text="file_not_found")
        if (refused := self._turn_away(request)) is not None:
            return refused
        if "number" in request.match_info:
            _, kind, content = file.facts["attached"][int(request.match_info["number"])]
            return web.Response(body=content, content_type=kind)
        return web.Response(body=file.content, content_type=str(file.facts.get("served") or file.media_type))

    def _turn_away(self, request: web.Request) -> web.Response | None:
        """Redirect to the sign-in page, as Slack does if the token may not read files."""
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        known = hmac.compare_digest(given.encode(), self._token.encode())
        if not known or "files:read" not in self._workspace.scopes:
            return web.Response(status=302, headers={"Location": f"{self._workspace.base}/signin"})
        return None

    async def sign_in(self, request: web.Request) -> web.Response:
        """The page a download without a token ends on."""
        return web.Response(text="<!DOCTYPE html><title>Sign in</title>", content_type="text/html")


async def read_upload(request: web.Request) -> bytes:
    """The bytes of step two, sent raw or as the first file of a form."""
    if request.content_type != "multipart/form-data":
        return await request.read()
    parts = [part for part in (await request.post()).values() if isinstance(part, web.FileField)]
    return parts[0].file.read() if parts else b""


def media_type(name: str) -> str:
    """The type the service gives a file of that name."""
    return mimetypes.guess_type(name)[0] or "application/octet-stream"
