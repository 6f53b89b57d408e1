"""Every query of the project. One SQLite file stores people's messages, the answers in progress, and everything
remembered.

    async with Store.open("sqlite:///data/parley.db", clock=SystemClock()) as store:
        turn = await store.intake.take_in(incoming)     # committed to the disk when this returns

Whatever was awaited is durable. Errors of SQLite never get out as such: a failed read or write is a `StoreError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.store.access import CONSOLE, Pairing, StoredRoles
from bot.store.allowances import Allowances, Part, Wish
from bot.store.approvals import DECIDED, Approval, digest_of
from bot.store.facts import Fact, StoredFacts
from bot.store.files import FILE_BYTES
from bot.store.history import History
from bot.store.intake import Claim, Ensure, InboxRow
from bot.store.location import explain_absence, is_same_database, is_server, real_path
from bot.store.lock import lock_database
from bot.store.privacy import database_files, open_to_all
from bot.store.recalling import DeliveryCalls
from bot.store.records import (
    AttachmentRecord,
    CallRecord,
    Delivered,
    HistoryRow,
    PageRecord,
    ReplyRecord,
    StoredTurn,
    Summary,
    TurnRecord,
)
from bot.store.retention import Keep
from bot.store.settings import ChatSettings
from bot.store.spending import Amount, Limit, Refused, Reserved, Spending
from bot.store.sql import Connection
from bot.store.states import ApprovalState, InboxState, PageState, TurnState
from bot.store.store import Store
from bot.store.timers import LATE_AFTER, zone_or_utc
from bot.store.upkeep import keep_tidy, writes
from bot.store.used import Used
from tools.contract.latenames import load_late

if TYPE_CHECKING:
    from bot.store.backup import Contents, back_up, examine_backup, keep_bots_away, look_at, put_back
    from bot.store.export import Extent
    from bot.store.inspection import Inspection, inspect
    from bot.store.moving import copy_store
    from bot.store.recordings import PICTURE_BYTES, Recording
    from bot.store.server import (
        Process,
        inspect_server,
        is_idle_on_server,
        list_processes,
        prepare_server,
        processes_on_server,
        refuse_running,
    )
else:
    __getattr__ = load_late(
        __name__,
        {
            "backup": "Contents back_up examine_backup keep_bots_away look_at put_back",
            "export": "Extent",
            "inspection": "Inspection inspect",
            "moving": "copy_store",
            "recordings": "PICTURE_BYTES Recording",
            "server": "Process inspect_server is_idle_on_server list_processes prepare_server processes_on_server "
            "refuse_running",
        },
    )
