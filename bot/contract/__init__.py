"""The ground floor: plain data, and the protocols between platforms, tools and the core."""

from __future__ import annotations

from bot.contract import answers, identity, words
from bot.contract.allowance import Allowance
from bot.contract.clock import PATIENT, QUICK, Backoff, Clock, SystemClock, Timer, done_within, pause_after, time_limit
from bot.contract.entrance import (
    Entrance,
    Headers,
    Proof,
    Served,
    Visited,
    WebAnswer,
    WebStream,
    is_recent,
    is_same,
    proven,
)
from bot.contract.errors import (
    LONGEST_PAUSE,
    AccountEmpty,
    BotError,
    CallRefused,
    Closed,
    ContentRefused,
    Contested,
    ContextTooLong,
    DeliveryError,
    FileWithheld,
    Full,
    MessageGone,
    ModelAway,
    ModelBusy,
    ModelDropped,
    ModelError,
    ModelRefused,
    ModelSlow,
    OtherBot,
    RateLimited,
    Refused,
    RightMissing,
    SettingsError,
    SetupRefused,
    StoreError,
    TooLong,
    ToolsRefused,
    Unaffordable,
    Unclear,
    Uneditable,
    Unreachable,
    Unrenderable,
    bound_pause,
    origin_of,
)
from bot.contract.grants import Grants, Installable
from bot.contract.identity import ADMINS
from bot.contract.limits import LIMITS, Limits
from bot.contract.logthrottle import LogThrottle
from bot.contract.messages import (
    AUDIBLE,
    GROWS,
    LONGEST_TEXT,
    MARK_CHARS,
    MOST_BUTTONS,
    MOST_QUOTED,
    NEXT,
    PRESSED,
    TOGETHER_SECONDS,
    Button,
    ChatId,
    ChatMoved,
    Control,
    ControlPressed,
    Enclosure,
    EnclosureKind,
    File,
    Incoming,
    MessageDeleted,
    MessageEdited,
    MessageRef,
    MessageSent,
    Page,
    Quoted,
    ReplyTarget,
    Scalar,
    Sender,
    Status,
    TimerDue,
    as_written,
    is_within,
    parse_button,
)
from bot.contract.metrics import Metrics
from bot.contract.origin import OURS, OUTSIDE, is_from_outside, join_origins
from bot.contract.permits import Permits, allow_everything, matches
from bot.contract.recall import (
    CatchingUp,
    FindLeftOff,
    FindRepeated,
    KeepSaid,
    LeftOff,
    Recall,
    RecallCalls,
    Recalled,
    RecalledCall,
    Recalling,
)
from bot.contract.reference import reference_of, turns_of
from bot.contract.steps import AsideStep, BeginStep, CallStep, EndStep, PassStep, Step, Watcher, tell_aside
from bot.contract.surface import (
    Adapter,
    CallCost,
    Companion,
    Deliver,
    Drawn,
    Earlier,
    Identified,
    Pace,
    RateBudget,
    Resuming,
    Sharded,
    Sole,
    SoundForm,
    Suggest,
    Suggesting,
    Surface,
    SurfaceLimits,
    Window,
    post_cost,
    utf16_length,
)
from bot.contract.transcript import (
    BEFORE_FIRST_PASS,
    FOREIGN,
    AssistantEntry,
    Entry,
    Picture,
    SystemEntry,
    ToolEntry,
    Usage,
    UserEntry,
    entry_from_json,
    entry_to_json,
)
from bot.contract.words import BY_WORD, JOB, OFF, ON, help_text, is_private
