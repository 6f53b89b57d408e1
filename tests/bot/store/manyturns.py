"""A store of as many turns as wanted, spread over a year, written straight into the tables."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from bot.store.opening import add_functions
from bot.store.schema import upgrade

CHATS, PEOPLE = 5_000, 2_000
YEAR = 365 * 86_400.0

_N = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :turns) "
_CHAT = """
    CASE c % 3 WHEN 0 THEN 'telegram:42/-100' || c WHEN 1 THEN 'slack:T1/C' || c || '/' || c || '.000100'
    ELSE 'discord:9/' || c || '/' || (c + 100000) END
"""
_PERSON = "CASE p % 3 WHEN 0 THEN 'telegram:' || p WHEN 1 THEN 'slack:T1/U' || p ELSE 'discord:' || p END"
_MODEL = "CASE i % 5 WHEN 0 THEN 'openai:gpt-5-mini' WHEN 1 THEN 'deepseek:deepseek-chat' ELSE 'openai:gpt-5' END"
# A person writes in one chat, and of a chat's people some more than others.
_WHO = f"""
    SELECT i, c, p, {_CHAT} AS chat, {_PERSON} AS person,
        :until - (:turns - i) * :each - 30 AS began, :until - (:turns - i) * :each - 20 + i % 9 AS ended
    FROM (SELECT i, (i * 7919) % :chats + 1 AS c, (i * 104729) % :people + 1 AS p FROM n)
"""
_WORDS = "'It rains in the north today and will last until evening, turn ' || i || '. '"
STATEMENTS = (
    f"""
    INSERT INTO inbox (id, chat, incoming, state, received_at, ended_at, message, sender, name) {_N}
    SELECT i, chat, json_object('kind', 'message', 'delivery', 'd' || i, 'chat', json_array('telegram', '42', 'x'),
        'sender', json_object('id', person, 'name', 'Person ' || p), 'target', json_object('platform', 'telegram',
        'data', json_object()), 'message_id', CAST(i AS TEXT), 'text', 'What is the weather like, question ' || i),
        'done', began, ended, CAST(2 * i AS TEXT), person, 'Person ' || p FROM ({_WHO})
    """,
    f"""
    INSERT INTO chats (id, chat, title, last_at, turns, last_sequence)
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :chats)
    SELECT i, {_CHAT}, 'Person ' || i, :until - (:chats - i), :turns / :chats, 1000000 FROM (SELECT i, i AS c FROM n)
    """,
    f"""
    INSERT INTO turns (id, chat, person, question, state, started_at, ended_at, first_sequence, last_sequence, visible,
        model, usage, prompt, completion, dollars, first_words, waited, edits, refusals, rating) {_N}
    SELECT i, c, person, i, CASE WHEN i % 97 = 0 THEN 'failed' ELSE 'done' END, began, ended, 3 * i, 3 * i + 2,
        {_WORDS} || {_WORDS} || {_WORDS} || {_WORDS}, {_MODEL}, '[1000, 200, 500, 0]', 1000 + i % 500, 200 + i % 50,
        0.001 * (i % 10), 0.3 + (i % 20) / 10.0, CASE WHEN i % 17 = 0 THEN 2.5 + (i % 1000) / 100.0 ELSE 0.1 END,
        3 + i % 7, CASE WHEN i % 41 = 0 THEN 2 ELSE 0 END,
        CASE WHEN i % 211 = 0 THEN 'bad' WHEN i % 53 = 0 THEN 'good' ELSE '' END FROM ({_WHO})
    """,
    f"""
    INSERT INTO calls (turn, pass, position, call_id, name, arguments, problem, effects, status, result, started_at,
        seconds) {_N}
    SELECT i, 1, 0, 'call_0', CASE i % 4 WHEN 0 THEN 'search_web' WHEN 1 THEN 'read_page' WHEN 2 THEN 'run_python'
        ELSE 'calculator' END, '{{"query": "weather in the north ' || i || '"}}', '', 0,
        CASE WHEN i % 31 = 0 THEN 'failed' WHEN i % 77 = 0 THEN 'timeout' ELSE 'completed' END,
        '{{"ok": true, "retry": true, "untrusted": true, "sources": [["Weather", "https://weather.example", 1]]}}',
        began, 0.2 + (i % 30) / 10.0 FROM ({_WHO})
    """,
    f"""
    INSERT INTO pages (turn, number, chat, ends, body, message, form, state, nonce) {_N}
    SELECT i, 0, c, 0, '', CAST(2 * i + 1 AS TEXT), 'message', 'final', 't' || i || '-0' FROM ({_WHO})
    """,
    f"""
    INSERT INTO history (chat, sequence, turn, tokens, at, body) {_N}
    SELECT c, 3 * i + k, i, 60, ended, CASE k
        WHEN 0 THEN '{{"kind": "user", "text": "What is the weather like?", "origin": ""}}'
        WHEN 1 THEN '{{"kind": "assistant", "text": "", "calls": [{{"id": "call_0", "name": "search_web", '
            || '"arguments": {{}}}}], "native": true, "origin": ""}}'
        ELSE '{{"kind": "assistant", "text": "It rains in the north today.", "origin": ""}}' END
    FROM ({_WHO}) JOIN (SELECT 0 AS k UNION ALL SELECT 1 UNION ALL SELECT 2)
    """,
    """
    INSERT INTO days (day, platform, model, turns, failed, prompt, completion, dollars, timed, first_words, waited,
        late, edits, refusals)
    SELECT CAST(ended_at / 86400 AS INTEGER), substr(person, 1, instr(person, ':') - 1), model, count(*),
        sum(state = 'failed'), sum(prompt), sum(completion), sum(dollars), count(first_words), sum(first_words),
        sum(waited), sum(waited > 2), sum(edits), sum(refusals) FROM turns GROUP BY 1, 2, 3
    """,
    """
    INSERT INTO person_days (day, person, turns, prompt, completion, dollars)
    SELECT CAST(ended_at / 86400 AS INTEGER), person, count(*), sum(prompt), sum(completion), sum(dollars)
    FROM turns GROUP BY 1, 2
    """,
    """
    INSERT INTO tool_days (day, name, calls, failed, seconds, longest)
    SELECT CAST(started_at / 86400 AS INTEGER), name, count(*), sum(status IN ('failed', 'timeout')), sum(seconds),
        max(seconds) FROM calls GROUP BY 1, 2
    """,
)


def write_turns(path: Path, turns: int, until: float) -> None:
    """Write a store of ours with so many turns in the year up to `until`, in wall-clock time."""
    values = {"turns": turns, "chats": CHATS, "people": PEOPLE, "until": until, "each": YEAR / turns}
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        add_functions(db)
        upgrade(db)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = OFF")
        db.execute("BEGIN")
        for statement in STATEMENTS:
            db.execute(statement, values)
        db.execute("COMMIT")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
