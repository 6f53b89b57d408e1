"""The Markdown that models write: its blocks, its addresses, and what is unfinished while it streams."""

from __future__ import annotations

from bot.markdown.addresses import (
    ANGLE,
    BARE_URL,
    MAIL_LINK,
    MAIL_REACH,
    PLAIN_HOST,
    SCHEMES,
    bare_mail,
    bare_url,
    hides_host,
    host_of,
    mail_link,
    scheme_of,
    trim_url,
)
from bot.markdown.lines import CODE_KINDS, Fence, Kind, LineScanner, TableHead
from bot.markdown.nesting import NestedFences
from bot.markdown.spoken import first_sentences, seconds_to_say, shorten, to_spoken
from bot.markdown.tree import (
    Align,
    Block,
    Code,
    CodeBlock,
    Heading,
    Inline,
    Item,
    Link,
    Listing,
    Paragraph,
    Quote,
    Rule,
    Style,
    Styled,
    Table,
    Text,
    escape,
    parse,
    quote,
    text_of,
)
