"""Replies as models write them, with what must come of each: the calls, in order, and the visible text.

`SAMPLES` is the whole table: (label, reply, visible, calls). A call is (name, arguments), with a third element
False when the tool is unknown. The families are multiplied by the places a call can stand in; the traps are
written out one by one.
"""

# ruff: noqa: E501  (replies stand in one piece)

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from tools.contract.base import Json

Call: TypeAlias = tuple[str, Mapping[str, object]] | tuple[str, Mapping[str, object], bool]
Sample: TypeAlias = tuple[str, str, str, list[Call]]

TOOLS: dict[str, dict[str, Json]] = {
    "roll_dice": {
        "type": "object",
        "properties": {"sides": {"type": "integer"}, "count": {"type": "integer"}},
        "required": ["sides"],
    },
    "translate": {
        "type": "object",
        "properties": {"text": {"type": "string"}, "target": {"type": "string"}},
        "required": ["text"],
    },
    "current_time": {"type": "object", "properties": {}},
    "search_web": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
    "get_weather": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    "run_code": {
        "type": "object",
        "properties": {
            "code": {"type": "string"},
            "timeout": {"type": "number"},
            "debug": {"type": "boolean"},
            "tags": {"type": "array"},
            "env": {"type": "object"},
        },
        "required": ["code"],
    },
    "查天气": {
        "type": "object",
        "properties": {"城市": {"type": "string"}, "天数": {"type": "integer"}},
        "required": ["城市"],
    },
}

DICE: Call = ("roll_dice", {"sides": 6})
EN: Call = ("translate", {"text": "早安", "target": "en"})
D = '{"tool": "roll_dice", "sides": 6}'
A = '{"name": "roll_dice", "arguments": {"sides": 6}}'
P = '{"name": "roll_dice", "parameters": {"sides": 6}}'
X = "<parameter=sides>6</parameter>"
CODE = 'print("</tool_call>", {"a": [1]})\nx = `y` # ```\n'

TAGGED: dict[str, tuple[str, list[Call]]] = {
    "1 flat": (f"<tool_call>{D}</tool_call>", [DICE]),
    "1 flat, text": ('<tool_call>{"tool": "translate", "text": "早安", "target": "en"}</tool_call>', [EN]),
    "2 left open": (f"<tool_call>{D}", [DICE]),
    "5 id": (
        '<tool_call>{"id": "call_9", "tool_name": "roll_dice", "arguments": {"sides": 6}}</tool_call>',
        [DICE],
    ),
    "9 lines": (f"<tool_call>\n{A}\n</tool_call>", [DICE]),
    "9 string arguments": (
        '<tool_call>\n{"name": "roll_dice", "arguments": "{\\"sides\\": 6}"}\n</tool_call>',
        [DICE],
    ),
    "9 two objects": (f"<tool_call>\n{A}\n{D}\n</tool_call>", [DICE, DICE]),
    "9 array": (f"<tool_call>[{A}, {D}]</tool_call>", [DICE, DICE]),
    "9 upper case": (f"<TOOL_CALL>{A}</TOOL_CALL>", [DICE]),
    "10 one line": (f"<tool_call><function=roll_dice>{X}</function></tool_call>", [DICE]),
    "10 lines": (
        "<tool_call>\n<function=roll_dice>\n<parameter=sides>\n6\n</parameter>\n</function>\n</tool_call>",
        [DICE],
    ),
    "11 JSON": ('<function=roll_dice>{"sides": 6}</function>', [DICE]),
    "11 XML": (f"<function=roll_dice>{X}</function>", [DICE]),
    "12 tag": (f"<|python_tag|>{P}<|eom_id|>", [DICE]),
    "12 two": (f"<|python_tag|>{P}; {P}", [DICE, DICE]),
    "12 call": ("<|python_tag|>roll_dice.call(sides=6)", [DICE]),
    "13 list": (f"[TOOL_CALLS] [{A}]", [DICE]),
    "13 list of two": (f"[TOOL_CALLS][{A}, {A}]", [DICE, DICE]),
    "13 args": ('[TOOL_CALLS]roll_dice[ARGS]{"sides": 6}', [DICE]),
    "13 args twice": (
        '[TOOL_CALLS]roll_dice[ARGS]{"sides": 6}[TOOL_CALLS]current_time[ARGS]{}',
        [DICE, ("current_time", {})],
    ),
    "13 id": ('[TOOL_CALLS]roll_dice[CALL_ID]abc123[ARGS]{"sides": 6}', [DICE]),
    "13 bare": ('[TOOL_CALLS]roll_dice{"sides": 6}', [DICE]),
    "13 bare twice": ('[TOOL_CALLS]roll_dice{"sides": 6}current_time{}', [DICE, ("current_time", {})]),
    "14": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>roll_dice\n"
        '```json\n{"sides": 6}\n```\n<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
        [DICE],
    ),
    "14 two": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>roll_dice\n```json\n"
        '{"sides": 6}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>translate\n```json\n'
        '{"text": "早安", "target": "en"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>',
        [DICE, EN],
    ),
    "15": (
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>roll_dice<｜tool▁sep｜>{"sides": 6}'
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        [DICE],
    ),
    "15 ASCII": (
        '<|tool▁calls▁begin|><|tool▁call▁begin|>roll_dice<|tool▁sep|>{"sides": 6}<|tool▁call▁end|><|tool▁calls▁end|>',
        [DICE],
    ),
    "16": (
        '<｜DSML｜function_calls><｜DSML｜invoke name="roll_dice"><｜DSML｜parameter name="sides" string="false">6'
        "</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>",
        [DICE],
    ),
    "16 ASCII, lines, string": (
        '<|DSML|function_calls>\n<|DSML|invoke name="translate">\n<|DSML|parameter name="text" string="true">'
        '早安</|DSML|parameter>\n<|DSML|parameter name="target" string="true">en</|DSML|parameter>\n'
        "</|DSML|invoke>\n</|DSML|function_calls>",
        [EN],
    ),
    "17": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.roll_dice:0<|tool_call_argument_begin|>"
        '{"sides": 6}<|tool_call_end|><|tool_calls_section_end|>',
        [DICE],
    ),
    "17 two": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.roll_dice:0<|tool_call_argument_begin|>"
        '{"sides": 6}<|tool_call_end|><|tool_call_begin|>functions.current_time:1<|tool_call_argument_begin|>{}'
        "<|tool_call_end|><|tool_calls_section_end|>",
        [DICE, ("current_time", {})],
    ),
    "18": ("<tool_call>roll_dice<arg_key>sides</arg_key><arg_value>6</arg_value></tool_call>", [DICE]),
    "18 lines": (
        "<tool_call>translate\n<arg_key>text</arg_key>\n<arg_value>早安</arg_value>\n<arg_key>target</arg_key>\n"
        "<arg_value>en</arg_value>\n</tool_call>",
        [EN],
    ),
    "18 Chinese": (
        "<tool_call>查天气<arg_key>城市</arg_key><arg_value>杭州</arg_value><arg_key>天数</arg_key>"
        "<arg_value>3</arg_value></tool_call>",
        [("查天气", {"城市": "杭州", "天数": 3})],
    ),
    "19": (f"<|tool_call|>[{A}]", [DICE]),
    "19 tag": (f"<tool_call>[{A}]", [DICE]),
    "20 wrapped": ("<|tool_call_start|>[roll_dice(sides=6)]<|tool_call_end|>", [DICE]),
    "21": (f"<|FunctionCallBegin|>[{P}]<|FunctionCallEnd|>", [DICE]),
    "22": (f"<seed:tool_call><function=roll_dice>{X}</function></seed:tool_call>", [DICE]),
    "23": (
        '<minimax:tool_call><invoke name="roll_dice"><parameter name="sides">6</parameter></invoke></minimax:tool_call>',
        [DICE],
    ),
    "23 wrapper, two": (
        '<function_calls>\n<invoke name="roll_dice">\n<parameter name="sides">6</parameter>\n</invoke>\n'
        '<invoke name="current_time">\n</invoke>\n</function_calls>',
        [DICE, ("current_time", {})],
    ),
    "24 tool_calls": (f"<tool_calls>[{A}]</tool_calls>", [DICE]),
    "24 TOOLCALL": (f"<TOOLCALL>[{A}]</TOOLCALL>", [DICE]),
    "24 functools": (f"functools[{A}]", [DICE]),
    "24 action": (
        '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "roll_dice", "parameters": {"sides": 6}}]<|END_ACTION|>',
        [DICE],
    ),
    "24 plugin": (f"<|action_start|><|plugin|>{P}<|action_end|>", [DICE]),
    "27": (
        "<|channel|>analysis<|message|>Shall I?<|end|><|start|>assistant<|channel|>commentary to=functions.roll_dice "
        '<|constrain|>json<|message|>{"sides": 6}<|call|>',
        [DICE],
    ),
    "27 recipient in the role": (
        '<|start|>assistant to=functions.roll_dice<|channel|>commentary json<|message|>{"sides": 6}<|call|>',
        [DICE],
    ),
    "27 two": (
        '<|channel|>commentary to=functions.roll_dice<|message|>{"sides": 6}<|call|><|start|>assistant'
        "<|channel|>commentary to=functions.current_time code<|message|><|call|>",
        [DICE, ("current_time", {})],
    ),
    "27 no message token": ('<|channel|>commentary to=functions.roll_dice json{"sides": 6}<|call|>', [DICE]),
    "27 an invented result": (
        '<|start|>assistant<|channel|>commentary to=functions.roll_dice json<|message|>{"sides": 6}<|call|>'
        "<|start|>functions.roll_dice to=assistant<|channel|>commentary<|message|>4<|end|>",
        [DICE],
    ),
    "29": ("<|tool_call>call:roll_dice{sides:6}<tool_call|>", [DICE]),
    "29 text": ('<|tool_call>call:translate{text:<|"|>早安<|"|>,target:<|"|>en<|"|>}<tool_call|>', [EN]),
    "29 plain quotes": ('<|tool_call>call:translate{text: "早安", target: "en"}<tool_call|>', [EN]),
    "29 round": ('<|tool_call>call:translate(text:<|"|>早安<|"|>, target=<|"|>en<|"|>)<tool_call|>', [EN]),
    "29 no word": ("<|tool_call>:roll_dice{sides:6}<tool_call|>", [DICE]),
    "29 two": (
        "<|tool_call>call:roll_dice{sides:6}<tool_call|><|tool_call>call:current_time{}<tool_call|>",
        [DICE, ("current_time", {})],
    ),
    "29 nested": (
        '<|tool_call>call:run_code{code:<|"|>{"a": "}"}<|"|>,tags:[<|"|>a<|"|>,1],env:{a:{b:null}},debug:true}<tool_call|>',
        [("run_code", {"code": '{"a": "}"}', "tags": ["a", 1], "env": {"a": {"b": None}}, "debug": True})],
    ),
    "29 FunctionGemma": (
        "<start_function_call>call:translate{text:<escape>早安<escape>,target:<escape>en<escape>}<end_function_call>",
        [EN],
    ),
    "32": (
        ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="roll_dice">]<]minimax[>[<sides>6]<]minimax[>[</sides>'
        "]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
        [DICE],
    ),
    "32 two parameters": (
        ']<]minimax[>[<tool_call>]<]minimax[>[<invoke name="translate">]<]minimax[>[<text>早安]<]minimax[>[</text>'
        "]<]minimax[>[<target>en]<]minimax[>[</target>]<]minimax[>[</invoke>]<]minimax[>[</tool_call>",
        [EN],
    ),
    "33 safe": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions_roll_dice_1<|tool_call_argument_begin|>"
        '{"sides": 6}<|tool_call_end|><|tool_calls_section_end|>',
        [DICE],
    ),
    "33 id": (
        "<|tool_calls_section_begin|><|tool_call_begin|>call_7f3a<|tool_call_argument_begin|>"
        f"{A}<|tool_call_end|><|tool_calls_section_end|>",
        [DICE],
    ),
    "40": ('✿FUNCTION✿: roll_dice\n✿ARGS✿: {"sides": 6}', [DICE]),
    "40 one line": ('✿FUNCTION✿: roll_dice ✿ARGS✿: {"sides": 6}', [DICE]),
    "40 two": (
        '✿FUNCTION✿: roll_dice\n✿ARGS✿: {"sides": 6}\n✿RESULT✿: 4\n✿FUNCTION✿: current_time\n✿ARGS✿: {}',
        [DICE, ("current_time", {})],
    ),
    "30": ("<|python_start|>[roll_dice(sides=6)]<|python_end|>", [DICE]),
    "30 JSON": (f"<|python_start|>{P}<|python_end|><|eom|>", [DICE]),
    "31 two bars": (
        '<｜｜DSML｜｜tool_calls><｜｜DSML｜｜invoke name="roll_dice"><｜｜DSML｜｜parameter name="sides" string="false">6'
        "</｜｜DSML｜｜parameter></｜｜DSML｜｜invoke></｜｜DSML｜｜tool_calls>",
        [DICE],
    ),
    "31 wide bars": (
        '<‖DSML‖tool_calls>\n<‖DSML‖invoke name="roll_dice">\n<‖DSML‖parameter name="sides" string="false">6'
        "</‖DSML‖parameter>\n</‖DSML‖invoke>\n</‖DSML‖tool_calls>",
        [DICE],
    ),
    "31 ASCII": (
        '<||DSML||calls><||DSML||invoke name="roll_dice"><||DSML||parameter name="sides" string="false">6'
        "</||DSML||parameter></||DSML||invoke></||DSML||calls>",
        [DICE],
    ),
    "41": (
        '<|open|>tools<|sep|><|open|>call tool="roll_dice" index="1"<|sep|>'
        '<|open|>argument key="sides" type="number"<|sep|>6<|close|>argument<|sep|><|close|>call<|sep|>'
        "<|close|>tools<|sep|>",
        [DICE],
    ),
    "41 two, in lines": (
        '<|open|>tools<|sep|>\n<|open|>call tool="translate" index="1"<|sep|>\n'
        '<|open|>argument key="text" type="string"<|sep|>早安<|close|>argument<|sep|>\n'
        '<|open|>argument key="target" type="string"<|sep|>en<|close|>argument<|sep|>\n<|close|>call<|sep|>\n'
        '<|open|>call tool="current_time" index="2"<|sep|><|close|>call<|sep|>\n<|close|>tools<|sep|>',
        [EN, ("current_time", {})],
    ),
    "41 types": (
        '<|open|>tools<|sep|><|open|>call tool="run_code" index="1"<|sep|>'
        '<|open|>argument key="code" type="string"<|sep|> <b> & "6"\n<|close|>argument<|sep|>'
        '<|open|>argument key="tags" type="array"<|sep|>["a", 1]<|close|>argument<|sep|>'
        '<|open|>argument key="debug" type="boolean"<|sep|>true<|close|>argument<|sep|>'
        "<|close|>call<|sep|><|close|>tools<|sep|>",
        [("run_code", {"code": ' <b> & "6"\n', "tags": ["a", 1], "debug": True})],
    ),
    "41 JSON": (
        '<|open|>tools<|sep|><|open|>call tool="roll_dice" index="1"<|sep|><|open|>json type="object"<|sep|>'
        '{"sides": 6}<|close|>json<|sep|><|close|>call<|sep|><|close|>tools<|sep|>',
        [DICE],
    ),
    "41 lost tokens": (
        '<|open|>toolscall tool="roll_dice" index="1"<|sep|>'
        '<|open|>argument key="sides" type="integer"<|sep|>6<|close|>argument<|sep|><|close|>call<|sep|>',
        [DICE],
    ),
    "42": (
        '<|start|>assistant to=roll_dice<|message|><atem:function_calls>\n<atem:invoke name="roll_dice">\n'
        '<atem:parameter name="sides">6</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eom|>',
        [DICE],
    ),
    "43": (
        "<longcat_tool_call>translate\n<longcat_arg_key>text</longcat_arg_key>\n"
        "<longcat_arg_value>早安</longcat_arg_value>\n<longcat_arg_key>target</longcat_arg_key>\n"
        "<longcat_arg_value>en</longcat_arg_value>\n</longcat_tool_call>",
        [EN],
    ),
    "44": (
        "<tool_calls>\n<tool_call>roll_dice<tool_sep>\n<arg_key>sides</arg_key>\n<arg_value>6</arg_value>\n"
        "</tool_call>\n</tool_calls>",
        [DICE],
    ),
    "44 nothing": ("<tool_calls><tool_call>current_time<tool_sep></tool_call></tool_calls>", [("current_time", {})]),
    "44 suffixes": (
        "<tool_calls:opensource><tool_call:opensource>roll_dice<arg_key:opensource>sides</arg_key:opensource>"
        "<arg_value:opensource>6</arg_value:opensource></tool_call:opensource></tool_calls:opensource>",
        [DICE],
    ),
    "45": (
        '<|tools_prefix|>[{"roll_dice": {"sides": 6}}, {"current_time": {}}]<|tools_suffix|>',
        [DICE, ("current_time", {})],
    ),
    "46": ('[TOOL_CALL]\n{tool => "roll_dice", args => {\n  --sides 6\n}}\n[/TOOL_CALL]', [DICE]),
    "46 two": (
        '[TOOL_CALL]{tool => "translate", args => {--text "早安" --target "en"}}[/TOOL_CALL]',
        [EN],
    ),
    "46 JSON": (f"[TOOL_CALL]{A}[/TOOL_CALL]", [DICE]),
    "47": (f"<function_call>{A}</function_call>", [DICE]),
    "47 tools": (f"<tools>\n{A}\n</tools>", [DICE]),
    "47 tool": (f"<tool>{A}</tool>", [DICE]),
    "48": (f"<zyphra_tool_call><function=roll_dice>{X}</function></zyphra_tool_call>", [DICE]),
    "34": (f"[TOOL_REQUEST]{A}[END_TOOL_REQUEST]", [DICE]),
    "34 lines": (f"[TOOL_REQUEST]\n{A}\n[END_TOOL_REQUEST]", [DICE]),
    "38": (
        '<function name="translate"><parameter name="text" string="true">早安</parameter>'
        '<parameter name="target" string="true">en</parameter></function>',
        [EN],
    ),
    "38 wrapped, number": (
        '<seed:tool_call>\n<function name="roll_dice">\n<parameter name="sides" string="false">6</parameter>\n'
        "</function>\n</seed:tool_call>",
        [DICE],
    ),
    "39": (
        "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜>"
        '<steptml:invoke name="roll_dice"><steptml:parameter name="sides">6</steptml:parameter></steptml:invoke>'
        "<｜tool_call_end｜><｜tool_calls_end｜>",
        [DICE],
    ),
    "39 bare": (
        '<steptml:invoke name="roll_dice">\n<steptml:parameter name="sides">6</steptml:parameter>\n</steptml:invoke>',
        [DICE],
    ),
    "unknown JSON": ('<tool_call>{"name": "nope", "arguments": {"a": 1}}</tool_call>', [("nope", {"a": 1}, False)]),
    "unknown XML": ("<function=nope><parameter=a>1</parameter></function>", [("nope", {"a": "1"}, False)]),
    "code in JSON": (
        f"<tool_call>{json.dumps({'name': 'run_code', 'arguments': {'code': CODE}})}</tool_call>",
        [("run_code", {"code": CODE})],
    ),
    "code in XML": (
        f"<tool_call>\n<function=run_code>\n<parameter=code>\n{CODE}\n</parameter>\n<parameter=debug>\nTrue\n"
        "</parameter>\n</function>\n</tool_call>",
        [("run_code", {"code": CODE, "debug": True})],
    ),
    "code in pairs": (
        f"<tool_call>run_code\n<arg_key>code</arg_key>\n<arg_value>{CODE}</arg_value>\n</tool_call>",
        [("run_code", {"code": CODE.removesuffix("\n")})],
    ),
}

UNTAGGED: dict[str, tuple[str, list[Call]]] = {
    "3": (D, [DICE]),
    "4": ('{"name": "roll_dice", "args": {"sides": 6}}', [DICE]),
    "6": ("roll_dice(6, 2)", [("roll_dice", {"sides": 6, "count": 2})]),
    "6 keyword": ('translate("早安", target="en")', [EN]),
    "6 no arguments": ("current_time()", [("current_time", {})]),
    "6 Chinese": ('查天气("杭州", 3)', [("查天气", {"城市": "杭州", "天数": 3})]),
    "7": ("使用工具：roll_dice: 6, 2", [("roll_dice", {"sides": 6, "count": 2})]),
    "7 wide": ("使用工具 : translate ：早安，en", [EN]),
    "8": ("我需要使用工具：translate 早安", [("translate", {"text": "早安"})]),
    "12": (P, [DICE]),
    "20": (
        '[roll_dice(sides=6), translate(text="早安", target="en")]',
        [DICE, EN],
    ),
    "25": (
        '{"tool_calls": [{"id": "c1", "type": "function", "function": '
        '{"name": "roll_dice", "arguments": "{\\"sides\\": 6}"}}]}',
        [DICE],
    ),
    "49 LangChain": ('{"action": "roll_dice", "action_input": {"sides": 6}}', [DICE]),
    "49 Anthropic": ('{"type": "tool_use", "id": "t1", "name": "roll_dice", "input": {"sides": 6}}', [DICE]),
    "49 around one": ('{"function_call": {"name": "roll_dice", "arguments": "{\\"sides\\": 6}"}}', [DICE]),
    "49 bundled": (
        '{"tool_uses": [{"recipient_name": "functions.roll_dice", "parameters": {"sides": 6}}, '
        '{"recipient_name": "functions.current_time", "parameters": {}}]}',
        [DICE, ("current_time", {})],
    ),
    "28": ("```tool_code\nroll_dice(sides=6)\n```", [DICE]),
    "28 by name": (
        "```tool_code\nroll_dice(count=2, sides=6)\n```",
        [("roll_dice", {"count": 2, "sides": 6})],
    ),
    "28 printed": ("```tool_code\nprint(default_api.roll_dice(sides=6))\n```", [DICE]),
    "28 two, in lines": (
        '```tool_code\n# first\nresult = roll_dice(\n    sides=6,\n)\n\nprint(translate("早安", target="en"))\n```',
        [DICE, EN],
    ),
    "35": (
        'Action: ```json\n[\n    {\n        "tool_name": "roll_dice",\n        "parameters": {"sides": 6}\n    }\n]```',
        [DICE],
    ),
    "35 name and input": ('Action: roll_dice\nAction Input: {"sides": 6}', [DICE]),
    "37 marked": ('>>>roll_dice\n{"sides": 6}', [DICE]),
    "list": (f"[{A}, {D}]", [DICE, DICE]),
    "pretty": (json.dumps({"name": "roll_dice", "arguments": {"sides": 6}}, indent=2), [DICE]),
}

FENCED = {
    "3": (D, True),
    "4": (A, True),
    "12": (P, True),
    "array": (f"[{A}, {A}]", True),
    "9": (f"<tool_call>{A}</tool_call>", True),
    "two lines": (f"{D}\n{D}", True),
    "25": (UNTAGGED["25"][0], True),
    "6": ("roll_dice(6)", False),
    "11": ('<function=roll_dice>{"sides": 6}</function>', False),
    "data": ('{"name": "Ada"}', False),
    "unknown": ('{"tool": "nope"}', False),
}


def _places() -> Iterator[Sample]:
    for label, (call, calls) in {**TAGGED, **UNTAGGED}.items():
        open_ended = label in ("2 left open", "19 tag")
        yield f"{label}: alone", call, "", calls
        yield f"{label}: before", f"好的，我来查。\n\n{call}", "好的，我来查。", calls
        yield f"{label}: after", f"{call}\nIt says `4`.", "It says `4`.", calls
        yield f"{label}: between", f"One.\n{call}\nTwo.\n", "One.\nTwo.", calls
        yield f"{label}: twice", f"A\n{call}\nB\n{call}\nC", "A\nB\nC", calls * 2
        if label.startswith("32"):  # what stands before its tags is nowhere shown
            continue
        if not open_ended and "\n" not in call:
            yield f"{label}: inline code", f"Write ``{call}`` so", f"Write ``{call}`` so", []
        yield f"{label}: in a fence", f"So:\n````\n{call}\n````\nok", f"So:\n````\n{call}\n````\nok", []
        yield f"{label}: open fence", f"So:\n~~~\n{call}", f"So:\n~~~\n{call}".rstrip(), []
        yield f"{label}: reasoning", f"<think>Shall I?\n{call}\n</think>\nNo.", "No.", []
        if label in TAGGED:
            yield f"{label}: in a line", f"Look: {call} there", "Look: there", calls
        else:
            yield f"{label}: not at a line's start", f"Look: {call} there", f"Look: {call} there", []
            yield f"{label}: list item", f"- {call}", f"- {call}", []


def _fences() -> Iterator[Sample]:
    for label, (body, is_call) in FENCED.items():
        for mark, word in (("```", "json"), ("```", ""), ("~~~~", "tool_call")):
            reply = f"{mark}{word}\n{body}\n{mark}"
            calls = [DICE] * (2 if label in ("array", "two lines") else 1) if is_call else []
            yield f"26 {label} {mark}{word}", reply, "" if is_call else reply, calls
            yield f"26 {label} {mark}{word}, text after", f"{reply}\nThere.", f"{reply}\nThere.", []


def _same(*replies: str) -> Iterator[Sample]:
    for reply in replies:
        yield f"text: {reply[:40]!r}", reply, reply.strip(), []


def _cut() -> Iterator[Sample]:
    for label, (call, _) in TAGGED.items():
        if label.startswith(("unknown", "2 ", "12 two", "13 args tw", "13 bare tw", "14 two", "17 two", "19", "23 wr")):
            continue
        place = call.find("6") if "6" in call else call.find("早") if "早" in call else call.find("杭")
        if place > 0 and "two" not in label and "array" not in label:
            yield f"{label}: cut in a value", f"Hm.\n{call[: place + 1]}", "Hm.", []


WRITTEN_OUT: list[Sample] = [
    # rule 1: names
    (
        "prefix and suffix",
        '<tool_call>{"name": "functions.roll_dice:3", "arguments": {"sides": 6}}</tool_call>',
        "",
        [DICE],
    ),
    ("quoted", '<tool_call>{"name": "\'roll_dice\'", "arguments": {"sides": 6}}</tool_call>', "", [DICE]),
    ("whole names", 'get_weather("x")', "", [("get_weather", {"city": "x"})]),
    # rule 2: keys
    (
        "tool wins over name",
        '{"tool": "translate", "name": "x", "text": "y"}',
        "",
        [("translate", {"name": "x", "text": "y"})],
    ),
    ("name when tool is none", '{"tool": "x", "name": "roll_dice", "args": {"sides": 6}}', "", [DICE]),
    (
        "function object",
        '{"type": "function", "function": {"name": "roll_dice", "arguments": {"sides": 6}}}',
        "",
        [DICE],
    ),
    ("any order", '<tool_call>{"arguments": {"sides": 6}, "name": "roll_dice"}</tool_call>', "", [DICE]),
    ("an action is none", '{"action": "roll_dice"}', '{"action": "roll_dice"}', []),
    ("an input that is text", '{"name": "roll_dice", "input": "x"}', '{"name": "roll_dice", "input": "x"}', []),
    ("around no call", '{"function_call": {"a": 1}}', '{"function_call": {"a": 1}}', []),
    # rule 3: arguments
    ("null", '<tool_call>{"name": "current_time", "arguments": null}</tool_call>', "", [("current_time", {})]),
    ("empty", '<tool_call>{"name": "current_time", "arguments": ""}</tool_call>', "", [("current_time", {})]),
    ("missing", '<tool_call>{"name": "current_time"}</tool_call>', "", [("current_time", {})]),
    # rule 6: values in a row
    ("one parameter takes all", "search_web(杭州, 天气)", "", [("search_web", {"query": "杭州, 天气"})]),
    ("one parameter quoted", 'search_web("a, b")', "", [("search_web", {"query": "a, b"})]),
    ("one parameter in words", "使用工具: search_web : 杭州, 天气", "", [("search_web", {"query": "杭州, 天气"})]),
    ("unquoted", "translate(hi there, en)", "", [("translate", {"text": "hi there", "target": "en"})]),
    (
        "commas in quotes",
        '使用工具：translate: "早安, 你", en',
        "",
        [("translate", {"text": "早安, 你", "target": "en"})],
    ),
    ("wide comma", "使用工具：roll_dice: 6，2", "", [("roll_dice", {"sides": 6, "count": 2})]),
    (
        "rest of the line",
        "我需要使用工具：search_web 今天 天气，好吗",
        "",
        [("search_web", {"query": "今天 天气，好吗"})],
    ),
    (
        "nested",
        'run_code("a(b", tags=[1, "x)"], env={"a": True})',
        "",
        [("run_code", {"code": "a(b", "tags": [1, "x)"], "env": {"a": True}})],
    ),
    ("triple quotes", 'run_code("""a"b""", debug=False)', "", [("run_code", {"code": 'a"b', "debug": False})]),
    ("over lines", '[roll_dice(sides=6),\n translate(text="a]")]\nx', "x", [DICE, ("translate", {"text": "a]"})]),
    # rule 7: types
    ("string stays", "使用工具：search_web: 12", "", [("search_web", {"query": "12"})]),
    ("does not fit", f"<function=roll_dice>{X.replace('6', 'six')}</function>", "", [("roll_dice", {"sides": "six"})]),
    (
        "typed",
        '<function=run_code><parameter=code>[1]</parameter><parameter=tags>["a"]</parameter><parameter=env>{"a": 1}</parameter><parameter=timeout>2.5</parameter></function>',
        "",
        [("run_code", {"code": "[1]", "tags": ["a"], "env": {"a": 1}, "timeout": 2.5})],
    ),
    (
        "one line break",
        "<function=run_code><parameter=code>\n\n x &amp; <b>\n\n</parameter></function>",
        "",
        [("run_code", {"code": "\n x &amp; <b>\n"})],
    ),
    # rule 8: ends
    (
        "closer in a string",
        '<tool_call>{"tool": "translate", "text": "a</tool_call>}"}</tool_call>z',
        "z",
        [("translate", {"text": "a</tool_call>}"})],
    ),
    (
        "XML closers in a value",
        "<function=run_code><parameter=code></parameter> x </function> y</parameter></function>z",
        "z",
        [("run_code", {"code": "</parameter> x </function> y"})],
    ),
    (
        "value closer in a value",
        "<tool_call>run_code<arg_key>code</arg_key><arg_value></arg_value> x </tool_call></arg_value></tool_call>",
        "",
        [("run_code", {"code": "</arg_value> x </tool_call>"})],
    ),
    # rule 9: repair
    (
        "single quotes",
        "<tool_call>{'tool': 'translate', 'text': 'it's ok', 'target': None,}</tool_call>",
        "",
        [("translate", {"text": "it's ok", "target": None})],
    ),
    ("curly quotes", "{“tool”: “translate”, “text”: “早安”}", "", [("translate", {"text": "早安"})]),
    ("bare keys", '{tool: "roll_dice", sides: 6}', "", [DICE]),
    (
        "raw line break",
        '<tool_call>{"tool": "translate", "text": "a\nb\tc"}</tool_call>',
        "",
        [("translate", {"text": "a\nb\tc"})],
    ),
    ("words", f"<tool_call>Sure: {D} done</tool_call>x", "x", [DICE]),
    ("fence", f"<tool_call>\n```json\n{D}\n```\n</tool_call>x", "x", [DICE]),
    ("one closer too many", f"<tool_call>{D}}}</tool_call>x", "x", [DICE]),
    ("one closer too many, bare", f"{D}}}\nx", "x", [DICE]),
    ("a closer missing", f"<tool_call>{A[:-1]}</tool_call>x", "x", [DICE]),
    ("quoted XML names", '<function="roll_dice"><parameter="sides">6</parameter></function>', "", [DICE]),
    (
        "a parameter left open",
        "<function=roll_dice><parameter=sides>6<parameter=count>2</parameter></function>",
        "",
        [("roll_dice", {"sides": 6, "count": 2})],
    ),
    (
        "the last parameter left open",
        "<tool_call><function=roll_dice><parameter=sides>6</function></tool_call>t",
        "t",
        [DICE],
    ),
    ("beyond repair", '<tool_call>{"name": "roll_dice", "arguments": {"sides": 6 7}}</tool_call>q', "q", []),
    ("no number", '<tool_call>{"name": "roll_dice", "arguments": {"sides": NaN}}</tool_call>q', "q", []),
    # rule 10: half a call
    ("in a number", '<tool_call>{"tool": "roll_dice", "sides": 6', "", []),
    ("in the name", 'Hm. <tool_call>{"tool": "roll_di', "Hm.", []),
    ("bare, in a key", '{"tool": "roll_dice", "si', "", []),
    ("in brackets", "roll_dice(6", "", []),
    ("in a list", "[roll_dice(sides=6), tr", "", []),
    ("in XML", "<function=roll_dice><parameter=sides>6", "", []),
    ("in an XML name", "<function=roll_", "", []),
    ("in a section", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>", "", []),
    ("in a closer", f"<tool_call>{D}</tool_ca", "", [DICE]),
    ("XML without its ends", f"<function=roll_dice>{X}", "", [DICE]),
    ("pairs without an end", "<tool_call>roll_dice<arg_key>sides</arg_key><arg_value>6</arg_value>", "", [DICE]),
    # rule 11: control tokens
    ("control token", "Hello<|eot_id|>", "Hello", []),
    ("control token after brackets", "roll_dice(6)<|eot_id|>", "", [DICE]),
    ("control token after a fence", f"```json\n{D}\n```<|eot_id|>", "", [DICE]),
    # separators and strays
    ("separated", f"{D}; {D}", "", [DICE, DICE]),
    ("stray closer", f"{D}</tool_call>\nx", "x", [DICE]),
    ("no closer between", f"<tool_call>{D}<tool_call>{D}", "", [DICE, DICE]),
    # markers with nothing between them: a server may have taken the call out of its text
    ("only a closer", "</tool_call>", "", []),
    ("only closers", "</parameter>\n</function>\n</tool_call><|im_end|>", "", []),
    ("only closers of pairs", "</arg_value>\n</tool_call>\n", "", []),
    (
        "a stray word before a call",
        'Let me look.\n\ncourt\n<invoke name="roll_dice">\n<parameter name="sides">6</parameter>\n</invoke>',
        "Let me look.",
        [DICE],
    ),
    ("a word before no call", "call\n<b>x</b>\ncourt\n", "call\n<b>x</b>\ncourt", []),
    ("a closer before the answer", "</tool_call>\n\nThe answer is 4.", "The answer is 4.", []),
    ("a closer in front of the answer", "One.\n</tool_call>The answer is 4.", "One.\nThe answer is 4.", []),
    ("a closer between", "One.\n</tool_call>\nTwo.", "One.\nTwo.", []),
    ("a closer after the answer", "The answer is 4. </tool_call> \nOr 5.", "The answer is 4.\nOr 5.", []),
    ("closers after the answer", "It is 4.</tool_call></tool_calls><|im_end|>", "It is 4.", []),
    ("bracketed closer", "[/TOOL_CALLS]\nIt is 4.", "It is 4.", []),
    ("another model's closers", "It is 4.<｜tool▁call▁end｜><｜tool▁calls▁end｜>", "It is 4.", []),
    ("only an opener", "<tool_call>", "", []),
    ("an opener on the last line", "Let me see.\n<tool_call>\n", "Let me see.", []),
    ("an opener on its line", "Let me see.\n<tool_call>\n\nI cannot.", "Let me see.\n\nI cannot.", []),
    ("an empty call", "<tool_call></tool_call>", "", []),
    ("an empty call over lines", "Well.\n<tool_call>\n</tool_call>\nDone.", "Well.\nDone.", []),
    # fences, inline code, reasoning
    ("tildes hold backticks", f"~~~\n{D}\n```\n~~~\n{D}", f"~~~\n{D}\n```\n~~~", [DICE]),
    ("long fence holds short", f"````\n```\n{D}\n```\n````", f"````\n```\n{D}\n```\n````", []),
    ("inline ends with its line", f"an open ` tick\n<tool_call>{D}</tool_call>", "an open ` tick", [DICE]),
    ("reasoning first", f"<think>x</think>\n```json\n{D}\n```", "", [DICE]),
    ("bracketed reasoning", f"[THINK]{D}[/THINK]{D}", "", [DICE]),
    ("reasoning never closed", "<think>x\nand so on", "", []),
    ("reasoning never closed ends in a call", f"<think>x\n{D}", "", [DICE]),
    (
        "reasoning never closed ends in calls",
        f"<think>Shall I?\n<tool_call>{A}</tool_call><tool_call>{A}</tool_call>\n",
        "",
        [DICE, DICE],
    ),
    ("reasoning never closed goes on behind a call", f"<think>x\n{D}\nor not", "", []),
    ("reasoning never closed ends in half a call", '<think>x\n<tool_call>{"tool": "roll_dice", "sides": 6', "", []),
    ("reasoning never closed ends in an unknown call", '<think>x\n<tool_call>{"name": "nope"}</tool_call>', "", []),
    ("reasoning never closed behind text", f"Well.\n<think>x\n<tool_call>{D}</tool_call>", "Well.", []),
    ("reasoning never closed behind reasoning", f"<think>a</think><think>x\n<tool_call>{D}</tool_call>", "", []),
    (
        "analysis never closed ends in a call",
        f"<|channel|>analysis<|message|>x\n<tool_call>{D}</tool_call>",
        "",
        [DICE],
    ),
    ("reasoning tag in prose", f"The <think> tag.\n{D}", "The <think> tag.", [DICE]),
    ("only its end", "</think>\n\nAnswer", "Answer", []),
    ("thoughts with only their end", "They want 4.\nShall I?\n</think>\n\nIt is 4.", "It is 4.", []),
    ("thoughts with only their end, in one line", "They want 4.</think>It is 4.", "It is 4.", []),
    ("thoughts with only their end hold a call", f"I could.\n<tool_call>{D}</tool_call>\n</think>\nNo.", "No.", []),
    ("thoughts with only their end, then a call", f"I should.</think>\n<tool_call>{D}</tool_call>", "", [DICE]),
    ("thoughts of Gemma with only their end", "thought\nShall I?\n<channel|>No.", "No.", []),
    ("thoughts with only their end, unreadable", "I <tool_call>{x: }</tool_call>\n</think>\nNo.", "No.", []),
    ("two ends", "<think>a</think>It is 4.\n</think>", "It is 4.", []),
    ("the end of an invented result", "It is 4.\n</tool_result>\nSo.", "It is 4.\n\nSo.", []),
    # a call leaves its line blank, so an object right after it begins that line
    (
        "backticks in a call",
        f'<tool_call>{{"tool": "translate", "text": "`"}}</tool_call> {D}',
        "",
        [("translate", {"text": "`"}), DICE],
    ),
    # whole replies: a name on its line and its object on the next
    ("37", 'roll_dice\n{"sides": 6}', "", [DICE]),
    (
        "37 two",
        'roll_dice\n{"sides": 6}<|assistant|>\ncurrent_time\n{}<|observation|>',
        "",
        [DICE, ("current_time", {})],
    ),
    ("37 one after another", 'roll_dice\n{"sides": 6}\n>>>current_time\n{}', "", [DICE, ("current_time", {})]),
    ("37 to people", ">>>all\nIt is 4.", "It is 4.", []),
    ("37 to people and a tool", 'all\nLet me see.\n>>>roll_dice\n{"sides": 6}', "Let me see.", [DICE]),
    ("37 cut off", 'roll_dice\n{"sides": 6', "", []),
    (
        "an element without anything",
        '<tool_call>\n]<]minimax[>[<invoke name="roll_dice">]<]minimax[>[\n]<]minimax[>[</tool_call>',
        "",
        [("roll_dice", {})],
    ),
    ("the head of a turn, Kimi", "<|im_assistant|>assistant<|im_middle|>It is 4.<|im_end|>", "It is 4.", []),
    ("the head of a turn at the end", "It is 4.<|im_assistant|>", "It is 4.", []),
    # the template around an answer
    ("first token", "<s> It is 4.", "It is 4.", []),
    ("first token, close", "<s>It is 4.</s>", "It is 4.", []),
    ("first tokens, GLM", "[gMASK]<sop><|assistant|>\nIt is 4.", "It is 4.", []),
    ("first token, Gemma", "<bos><start_of_turn>model\nIt is 4.<end_of_turn>", "It is 4.", []),
    ("an echo of the question", "<s>[INST] What is it? [/INST] It is 4.</s>", "It is 4.", []),
    ("an echo and an invented turn", "<s>[INST] What? [/INST] It is 4.</s><s>[INST] And? [/INST] 5", "It is 4.", []),
    ("a first token and an invented turn", "<s>It is 4.</s><s>[INST] And? [/INST] 5", "It is 4.", []),
    ("an echo in ChatML", "<|im_start|>user\nWhat?<|im_end|>\n<|im_start|>assistant\nIt is 4.", "It is 4.", []),
    ("an echo with wide bars", "<｜User｜>What?<｜Assistant｜>It is 4.", "It is 4.", []),
    ("the end of an echo", "[/INST] It is 4.", "It is 4.", []),
    ("a role without its tokens", "assistant\n\nIt is 4.", "It is 4.", []),
    ("a role without its tokens, again", "It is 4.<|eot_id|>assistant\n\nOr 5.", "It is 4.\n\nOr 5.", []),
    ("struck text is no token", "<s>5</s> 4", "<s>5</s> 4", []),
    (
        "first words of prose",
        "analysis of it: assistants, model trains",
        "analysis of it: assistants, model trains",
        [],
    ),
    ("tags of Llama 2 in prose", "It has [INST] and [/INST].", "It has [INST] and [/INST].", []),
    *(
        (f"an invented turn {number}", f"It is 4.{turn}", "It is 4.", [])
        for number, turn in enumerate(
            (
                f"<|im_end|>\n<|im_start|>user\nRoll!<|im_end|>\n<|im_start|>assistant\n<tool_call>{A}</tool_call>",
                "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nAnd?<|eot_id|>",
                "<end_of_turn>\n<start_of_turn>user\nAnd?<end_of_turn>\n<start_of_turn>model\n5",
                "\n<|user|>\nAnd?\n<|assistant|>\n5",
                "<｜User｜>And?<｜Assistant｜>5",
                "</s><s>[INST] And? [/INST] 5",
                "<|im_end|>\nuser\nAnd?",
                "<|end_of_text|>\n<|start_of_role|>user<|end_of_role|>And?<|end_of_text|>",
            )
        )
    ),
    # thoughts under other names, boxes
    (
        "36 Kimi K3",
        "Shall I?<|close|>think<|sep|><|open|>response<|sep|>No.<|close|>response<|sep|><|close|>message<|sep|>",
        "No.",
        [],
    ),
    ("36 Kimi K3, opened", "<|open|>think<|sep|>Hm<|close|>think<|sep|><|open|>response<|sep|>No.", "No.", []),
    (
        "36 Kimi K3, nothing",
        "<|open|>response<|sep|><|close|>response<|sep|><|close|>message<|sep|><|end_of_msg|>",
        "",
        [],
    ),
    ("36 Muse", " to=self<|message|>Hm.<|eom|><|start|>assistant to=user<|message|>No.<|eot|>", "No.", []),
    ("36 Kimi-VL", "◁think▷Hm◁/think▷No.", "No.", []),
    ("36 LongCat", "<longcat_think>\nHm\n</longcat_think>\nNo.", "No.", []),
    ("36 Apertus", "<|inner_prefix|>Hm<|inner_suffix|>No.<|assistant_end|>", "No.", []),
    (
        "36 OpenThinker",
        "<|begin_of_thought|>Hm<|end_of_thought|>\n\n<|begin_of_solution|>No.<|end_of_solution|>",
        "No.",
        [],
    ),
    ("36 MedGemma", "<unused94>thought\nHm<unused95>No.", "No.", []),
    ("36 Hunyuan", "<think:opensource>Hm</think:opensource><answer:opensource>No.</answer:opensource>", "No.", []),
    (
        "36 Apriel",
        "Here are my reasoning steps:\nHm\n[BEGIN FINAL RESPONSE]\nNo.\n[END FINAL RESPONSE]\n<|end|>",
        "No.",
        [],
    ),
    ("27 tokens removed", "analysisThey want 4.assistantfinalIt is 4.", "It is 4.", []),
    (
        "27 tokens removed, a call",
        'analysisThey want 4.assistantcommentary to=functions.roll_dice json{"sides": 6}',
        "",
        [DICE],
    ),
    ("27 tokens removed, no analysis", "assistantfinalIt is 4.", "It is 4.", []),
    (
        "an invented result, DeepSeek",
        "<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>4<｜tool▁output▁end｜><｜tool▁outputs▁end｜>It is 4.",
        "It is 4.",
        [],
    ),
    ("a box in a line", "It is <|begin_of_box|>4<|end_of_box|>.", "It is 4.", []),
    (
        "data in an element of other XML",
        '<tools>{"name": "Hammer", "arguments": {"kg": 3}}</tools>',
        '<tools>{"name": "Hammer", "arguments": {"kg": 3}}</tools>',
        [],
    ),
    (
        "a list of tools",
        '<tools>{"name": "roll_dice", "parameters": {"type": "object", "properties": {}}}</tools>',
        '<tools>{"name": "roll_dice", "parameters": {"type": "object", "properties": {}}}</tools>',
        [],
    ),
    # ends with slips, other XML, data that names a tool, depth
    ("slash in an end", "<function=roll_dice><parameter=sides>6</parameter/></function>", "", [DICE]),
    ("digit in an end", "<function=roll_dice><parameter=sides>6</parameter1></function/>", "", [DICE]),
    (
        "slip between parameters",
        "<function=roll_dice><parameter=sides>6</parameter1><parameter=count>2</parameter></function>",
        "",
        [("roll_dice", {"sides": 6, "count": 2})],
    ),
    (
        "unknown key",
        '<tool_call>{"tool": "search_web", "query": "x", "calls": 42}</tool_call>',
        "",
        [("search_web", {"query": "x", "calls": 42})],
    ),
    ("id and type", '{"tool": "roll_dice", "id": "1", "sides": 6}', "", [("roll_dice", {"id": "1", "sides": 6})]),
    ("brackets without end", f'Hm. <tool_call>{{"tool": "run_code", "code": {"[" * 900}', "Hm.", []),
    (
        "brackets without measure",
        f'<tool_call>{{"tool": "run_code", "code": "x", "tags": {"[" * 900}{"]" * 900}}}</tool_call>q',
        "q",
        [],
    ),
    (
        "round brackets without measure",
        f'run_code("x", {"(" * 900}1{")" * 900})',
        "",
        [("run_code", {"code": "x", "timeout": f"{'(' * 900}1{')' * 900}"})],
    ),
    # the next model: tokens of no table
    ("unknown, with a name", 'Hm.\n<|invoke_tool|>roll_dice<|with|>{"sides": 6}<|done|>', "Hm.", []),
    ("unknown, behind text", 'Hm. <|invoke|>roll_dice{"sides": 6}<|done|>', "Hm.", []),
    ("unknown, half a bar", "Hm.\n<|use>roll_dice(6)<use|>", "Hm.", []),
    ("unknown, wide", '<｜call▁it｜>{"do": "roll_dice", "sides": 6}', "", []),
    ("unknown, in brackets", 'Hm.\n[RUN_TOOL]\n{tool => "roll_dice", args => {--sides 6}}\n[/RUN_TOOL]', "Hm.", []),
    ("unknown, without a name", "<|begin_answer|>It is 4.", "It is 4.", []),
    ("unknown, at the end", "It is 4.<|answer_done|>\n", "It is 4.", []),
    ("unknown ones at the end", "It is 4.<answer_done|> <|x|></s>", "It is 4.", []),
    ("known, but no call", "Hm.\n<|tool_call>call:roll_dice and so on", "Hm.", []),
    # Harmony
    (
        "27 recipient in the role, the token in the prompt",
        ' to=functions.roll_dice<|channel|>commentary <|constrain|>json<|message|>{"sides": 6}',
        "",
        [DICE],
    ),
    (
        "27 an answer",
        "<|channel|>analysis<|message|>They want 4.<|end|><|start|>assistant<|channel|>final<|message|>It is 4.<|return|>",
        "It is 4.",
        [],
    ),
    (
        "27 a preamble",
        "<|channel|>commentary<|message|>I roll.<|end|><|start|>assistant<|channel|>commentary to=functions.roll_dice json"
        '<|message|>{"sides": 6}<|call|>',
        "I roll.",
        [DICE],
    ),
    (
        "27 a preamble and an answer",
        "<|start|>assistant<|channel|>commentary<|message|>I think.<|end|><|start|>assistant<|channel|>final<|message|>4.",
        "I think.\n\n4.",
        [],
    ),
    (
        "27 no end between",
        "<|channel|>analysis<|message|>Hm.<|start|>assistant<|channel|>final<|message|>It is 4.",
        "It is 4.",
        [],
    ),
    (
        "27 without its first token",
        "analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>4.",
        "4.",
        [],
    ),
    ("27 thought cut off", "<|channel|>analysis<|message|>They want", "", []),
    ("27 head cut off", "<|channel|>comment", "", []),
    (
        "27 another tool",
        "<|channel|>analysis to=python code<|message|>print(roll_dice(6))<|call|>",
        "",
        [],
    ),
    (
        "27 unknown",
        '<|channel|>commentary to=functions.nope<|message|>{"a": 1}<|call|>',
        "",
        [("nope", {"a": 1}, False)],
    ),
    # Gemma
    ("29 thoughts", "<|channel>thought\nShall I?\n<channel|>No.", "No.", []),
    ("29 thoughts behind text", "Well.<|channel>thought\nShall I?<channel|> No.", "Well. No.", []),
    ("29 an invented result", "<|tool_response>response:roll_dice{value:4}<tool_response|>It is 4.", "It is 4.", []),
    ("29 cut in a text", 'Hm.\n<|tool_call>call:translate{text:<|"|>早', "Hm.", []),
    ("28 not only calls", "```tool_code\nx = 1\n```", "```tool_code\nx = 1\n```", []),
    ("28 unknown", "```tool_code\nnope(1)\n```\nSo.", "```tool_code\nnope(1)\n```\nSo.", []),
    ("28 open", "```tool_code\nroll_dice(6)\n", "", [DICE]),
    ("28 beyond repair", "Hm.\n```tool_code\nx = roll_dice(6) + 1\n```\nSo.", "Hm.\nSo.", []),
    (
        "33 in a tag",
        '<tool_call>{"name": "functions_roll_dice_1", "arguments": {"sides": 6}}</tool_call>',
        "",
        [DICE],
    ),
    ("40 an answer", "✿RETURN✿: It is 4.", "It is 4.", []),
    # thoughts under other names, wrappers, marks of the end
    *(
        (f"thoughts in {opener}", f"{opener}Shall I?\n{D}{closer}\n\nNo.", "No.", [])
        for opener, closer in (
            ("<thinking>", "</thinking>"),
            ("<thought>", "</thought>"),
            ("<seed:think>", "</seed:think>"),
            ("<mm:think>", "</mm:think>"),
            ("<think_51bce0c7>", "</think_51bce0c7>"),
            ('<think effort="high">', "</think>"),
            ("<|START_THINKING|>", "<|END_THINKING|><|START_RESPONSE|>"),
            ("<tool_response>", "</tool_response>"),
        )
    ),
    ("closers in thoughts", "<think>a</thinker b <x></think>c", "c", []),
    (
        "a tag of thinking in prose",
        f"The <thinking> tag, the <thinker.\n{D}",
        "The <thinking> tag, the <thinker.",
        [DICE],
    ),
    ("answer", "<think>x</think>\n<answer>\nIt is 4.\n</answer>", "It is 4.", []),
    ("answer without thoughts", "<answer>It is 4.</answer>", "It is 4.", []),
    ("answer cut off", "<think>x</think><answer>It is 4.", "It is 4.", []),
    ("response", "<think>x</think><response>It is `4`.</response>\n<|im_end|>", "It is `4`.", []),
    ("answer holds a call", f"<think>x</think><answer>{A}</answer>", "", [DICE]),
    ("the answer of another model", "<|START_RESPONSE|>It is 4.<|END_RESPONSE|>", "It is 4.", []),
    *(
        (f"{mark} at the end", f"It is 4.{mark}\n", "It is 4.", [])
        for mark in (
            "<end_of_turn>",
            "<|END_OF_TURN_TOKEN|>",
            "</s>",
            "<|user|>",
            "<|observation|>",
            "<|eot|>",
            "<turn|>",
        )
    ),
    ("many marks at the end", "It is 4.\n</s><|im_end|> <|user|>", "It is 4.", []),
    ("marks in prose", "<s>No</s> <|user|> is a role.", "<s>No</s> <|user|> is a role.", []),
    ("a mark after a fence", "```\nx\n```</s>", "```\nx\n```", []),
    ("the head of a turn", "<|header_start|>assistant<|header_end|>\n\nIt is 4.<|eot|>", "It is 4.", []),
    ("the head of a turn, Llama 3", "<|start_header_id|>assistant<|end_header_id|>\n\nIt is 4.", "It is 4.", []),
    ("the head of a turn, ChatML", "<|im_start|>assistant\nIt is 4.<|im_end|>", "It is 4.", []),
    ("the head of a turn, Gemma", "<start_of_turn>model\nIt is 4.<end_of_turn>", "It is 4.", []),
    # data
    ("tool list", f'[{A}, {{"name": "Bob"}}]', f'[{A}, {{"name": "Bob"}}]', []),
    ("broken data, then a call", f'{{"quote": "he said\n\n<tool_call>{D}</tool_call>', '{"quote": "he said', [DICE]),
    ("long data", '{"a": "' + "x" * 9000 + f'"}}\n{D}', '{"a": "' + "x" * 9000 + '"}', [DICE]),
    (
        "long data holds a call",
        '{"a": "' + "x" * 9000 + f'",\n"b":\n{D}}}',
        '{"a": "' + "x" * 9000 + f'",\n"b":\n{D}}}',
        [],
    ),
    ("long argument", '{"tool": "translate", "text": "' + "x" * 9000 + '"}', "", [("translate", {"text": "x" * 9000})]),
]
TRAPS = [
    f"Like this: ```json\n{D}\n```",
    f"Like this: ``` {D} ```",
    "The `<tool_call>` marker opens a call.",
    "The <tool_call> marker opens a call.",
    "It ends with </tool_call>.",
    "Between <tool_call> and\n</tool_call>",
    "An element ends with </function>",
    "</parameter> ends a parameter",
    "functools",
    "Write <tool_call>{...}</tool_call> please",
    "Use <function=name> for that",
    "[TOOL_CALLS] is a marker",
    "It starts with <tool_call>",
    "<tool_call></tool_call> is empty",
    "functools.partial is nice",
    f"myfunctools[{A}]",
    "use functools[...]",
    'Use <function=...> or <invoke name="..."> there',
    '{"name": "nope", "arguments": {"a": 1}}',
    '{"tool": "roll_dices", "sides": 6}',
    "nope(1)",
    "Roll_Dice(6)",
    'get_weather_forecast("x")',
    "roll_dic(6)",
    "roll_dice_now(6)",
    "roll_dice (6)",
    '"roll_dice"(6)',
    "- roll_dice(6)",
    "1. roll_dice(6)",
    "# roll_dice(6)",
    "> roll_dice(6)",
    "| roll_dice(6) | x |",
    "[roll_dice(6)](http://x)",
    "[roll_dice](http://x)",
    "[roll_dice]",
    "**roll_dice(6)**",
    "`roll_dice(6)`",
    "roll_dice(6) is a call",
    "roll_dice(6).",
    "roll_dice(6):",
    "roll_dice: rolls dice",
    "roll_dice",
    "roll_dice(sides, count)",
    "roll_dice(sides: int, count: int)",
    "roll_dice(...)",
    "roll_dice()",
    "I use roll_dice(6) here",
    '我会用 查天气("杭州")',
    "roll_dice(6\nand more",
    "[roll_dice(sides=6)] text",
    "[nope(a=1)]",
    "[roll_dice(sides=6), nope(a=1)]",
    "[roll_dice (6)]",
    "[1] a source",
    "[ ] to do",
    "[x](y) z",
    "使用工具很好",
    "使用工具：nope: 6",
    "使用工具：roll_dice 可以掷骰子",
    "请使用工具：roll_dice: 6",
    "- 使用工具：roll_dice: 6",
    "使用工具：get_weather_forecast: x",
    "我需要使用工具来",
    "我需要使用工具：nope 1",
    "**使用工具**：roll_dice",
    "使用工具：roll_dice",
    '{"name": "roll_dice"}',
    '{"name": "roll_dice", "description": "x"}',
    '{"name": "Ada", "args": 3}',
    '{"name": "roll_dice", "parameters": {"type": "object", "properties": {"sides": {"type": "integer"}}}}',
    '[{"name": "Ada"}, {"name": "roll_dice"}]',
    f'["a",\n{D}\n]',
    f'{{\n"items": [\n{A}\n]\n}}',
    '{"tool_calls": []}',
    '{"tool_calls": [{"function": {"name": "nope", "arguments": "{}"}}]}',
    '{"name": "Ada", "x',
    '{ "a": 1',
    "{x} is a set",
    "A && B < C > D [x] {y} f",
    "if (a<b) {\n  roll_dice(6);\n}",
    "const f = {\n  tool: x\n}",
    "```python\nroll_dice(6)\n```",
    f"```json\n{D}",
    f"```json\n{D}\n```\n```json\n{D}\n```",
    "An <answer> is short.",
    "<answer> is an element",
    "It ends with </answer>.",
    "[TOOL_REQUEST] is a marker",
    "It ends with </think>.",
    "A </think> b",
    "Say `</think>` to end.",
    '{"tool": "search_web", "calls": 42, "errors": 1}',
    '{"tool": "roll_dice"}',
    '{"tool": "search_web", "query": "x", "calls": 42}',
    "<function>\n  <name>x</name>\n</function>",
    "<config>\n<parameter>\n1\n</parameter>\n</config>",
    '<parameter name="x">\n1\n</parameter>',
    "<invoke>\n1\n</invoke>",
    "In <|word|> the bars are ASCII.",
    "The tokens <|a|> and <b|> mean nothing.",
    '[INFO] {"level": 3}',
    "[IMPORTANT] roll_dice rolls dice",
    "`<|word|>`",
    "x <| y |> z, a<b and <b>c</b>",
    'roll_dice\n{"sides": 6}\nis a call.',
    'The tool:\nroll_dice\n{"sides": 6}',
    "roll_dice\nrolls dice",
    "Action: roll the dice",
    "Action: roll_dice",
    "to=functions.x is a recipient",
    "The <|channel|> token and <|start|> are Harmony's.",
    "analysis of the data",
    "final",
    ">>> 1 + 1\n2",
    "✿ a flower",
    "]<] is no token",
    "The <|channel> token opens a channel",
    "<think",
    "a || b, c ‖ d, ✿",
    f"See:\n- ```\n  <tool_call>{D}</tool_call>\n  ```\nok",
    "a <b>bold</b> word",
    "x <tool_c",
    "`",
    "```",
    "~~~ x",
    "<tool_call>foo</tool_call>",
    'A tool, e.g. <invoke name="x"> with text',
    "<|python_tag|> is Llama's",
    "<|tool_calls_section_begin|> and <｜tool▁calls▁begin｜> are markers",
    "5 < 6 [citation needed] {a} `b`",
]

ENDINGS = ("It starts", "`", "{ ", "roll_dice(6\n", "~~~", '{"name": "Ada", "x')
"""Traps that only mean something at the end of a reply or at its beginning, and get no words around them."""


def _in_prose() -> Iterator[Sample]:
    for reply in TRAPS:
        if not reply.startswith(ENDINGS):
            yield f"prose: {reply[:40]!r}", f"Well.\n{reply}\nSo it is.", f"Well.\n{reply}\nSo it is.", []


SAMPLES: list[Sample] = [*_places(), *_fences(), *_cut(), *WRITTEN_OUT, *_same(*TRAPS), *_in_prose()]
