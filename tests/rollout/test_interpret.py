"""The reader of model output: every shape a model can produce, and the same turn on every path."""

from __future__ import annotations

import json
import random

import pytest
from tokenizers_for_tests import qwen3, smollm2

from journeyman.episode import Message, ToolCall, Turn
from journeyman.rollout.chatml import ChatMLRenderer
from journeyman.rollout.interpret import NativeCall, compose, interpret, interpret_native, parse_json, silence
from journeyman.rollout.render import Renderer, make_renderer
from journeyman.world.tools import ToolSpec

CHARGE = ToolSpec(
    name="charge",
    description="Charge a card.",
    kind="write",
    signature="charge(amount:number, times:int, ok:bool)",
    parameters={
        "type": "object",
        "properties": {
            "amount": {"type": "number"},
            "times": {"type": "integer"},
            "ok": {"type": "boolean"},
            "note": {"type": "string"},
            "level": {"enum": [1, 2, 3]},
            "until": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "days": {"type": "array", "items": {"type": "integer"}},
            "place": {"$ref": "#/$defs/Place"},
        },
        "$defs": {"Place": {"type": "object", "properties": {"floor": {"type": "integer"}}}},
    },
)
TOOLS = {"charge": CHARGE}


def block(payload: str) -> str:
    return f"<tool_call>{payload}</tool_call>"


def test_text_reasoning_and_several_calls_are_told_apart() -> None:
    turn = interpret(
        '<think>\nfirst look\n</think>\n\nOne moment.\n<tool_call>{"name": "a", "arguments": {"x": 1}}</tool_call>\n'
        '<tool_call>\n{"name": "b", "arguments": {}}\n</tool_call>'
    )
    assert turn == Turn(
        text="One moment.",
        reasoning="first look",
        calls=[ToolCall("0", "a", {"x": 1}), ToolCall("1", "b", {})],
    )


def test_a_closing_tag_inside_an_argument_does_not_end_the_call() -> None:
    arguments = {"text": "</tool_call> <tool_call>{} </think>"}
    turn = interpret("<think>x</think>" + block(json.dumps({"name": "a", "arguments": arguments})))
    assert turn.calls == [ToolCall("0", "a", arguments)]
    assert (turn.text, turn.reasoning) == ("", "x")


@pytest.mark.parametrize(
    ("payload", "name", "problem"),
    [
        ('{"name": "a", "arguments": {"x": 1,}}', "a", "not valid JSON at character 3"),
        ('{"name": "a", "arguments": {"x": }}', "a", "not valid JSON at character 33: Expecting value"),
        ('{"name": "a" "arguments": {}}', "a", "not valid JSON"),
        ("{'name': 'a'}", "", "not valid JSON at character 1"),
        ("", "", "not valid JSON at character 0"),
        ('{"arguments": {}}', "", '"name" is missing'),
        ('{"name": 3, "arguments": {}}', "", '"name" is missing or is not a text'),
        ('{"name": "", "arguments": {}}', "", '"name" is missing'),
        ('{"name": "a"}', "a", '"arguments" is missing'),
        ('{"name": "a", "arguments": [1]}', "a", '"arguments" must be an object, got a list'),
        ('{"name": "a", "arguments": "{}"}', "a", '"arguments" must be an object, got a text'),
        ('{"name": "a", "arguments": null}', "a", '"arguments" must be an object, got null'),
        ('{"name": "a", "arguments": {}, "id": 1}', "a", 'unknown key "id"'),
        ('{"name": "a", "arguments": {"x": 1, "x": 2}}', "a", 'the key "x" is given twice'),
        ('{"name": "a", "arguments": {"x": NaN}}', "a", "NaN is not a JSON number"),
        ('{"name": "a", "arguments": {"x": -Infinity}}', "a", "-Infinity is not a JSON number"),
        ('{"name": "a", "arguments": {"x": 1e999}}', "a", "1e999 is out of range"),
        ('{"name": "a", "arguments": {"x": 9223372036854775808}}', "a", "9223372036854775808 is out of range"),
        ('{"name": "a", "arguments": {"x": "\\ud800"}}', "a", "half a surrogate pair"),
        ('{"name": "a", "arguments": {"x": ' + "[" * 70 + "]" * 70 + "}}", "a", "nested too deep"),
        ('{"name": "a", "arguments": {"x": ' + "[" * 100000 + "}}", "a", "nested too deep"),
        ('[{"name": "a", "arguments": {}}]', "a", 'expected an object with "name" and "arguments", got a list'),
        ("42", "", "got a number"),
        ('{"name": "a", "arguments": {}} and more', "a", "text after the JSON object"),
    ],
)
def test_what_cannot_be_read_is_a_call_with_its_problem_and_raw_text(payload: str, name: str, problem: str) -> None:
    turn = interpret(block(payload), TOOLS)
    assert len(turn.calls) == 1
    call = turn.calls[0]
    assert call.arguments is None
    assert call.name == name
    assert problem in (call.error or "")
    assert call.raw == payload
    assert turn.text == ""


def test_an_unclosed_block_ends_where_the_next_begins() -> None:
    turn = interpret('<tool_call>{"name": "a", "arguments": {}}\n' + block('{"name": "b", "arguments": {}}') + " done")
    assert [(call.name, call.error) for call in turn.calls] == [
        ("a", "the block is not closed with </tool_call>"),
        ("b", None),
    ]
    assert turn.text == "done"
    assert interpret('<tool_call>{"name": "a", "argu').calls[0].error == "the block is not closed with </tool_call>"


def test_a_block_in_a_block_keeps_the_inner_call() -> None:
    turn = interpret(block(block('{"name": "b", "arguments": {}}')))
    assert [(call.name, call.error is None) for call in turn.calls] == [("", False), ("b", True)]


@pytest.mark.parametrize(
    ("argument", "written", "read"),
    [
        ("times", "5", 5),
        ("times", "-12", -12),
        ("times", "05", "05"),
        ("times", " 5", " 5"),
        ("times", "5.0", "5.0"),
        ("times", "five", "five"),
        ("times", 5.0, 5),
        ("times", 5.5, 5.5),
        ("times", "true", "true"),
        ("amount", "12.50", 12.5),
        ("amount", "12", 12),
        ("amount", "$12", "$12"),
        ("amount", "NaN", "NaN"),
        ("ok", "true", True),
        ("ok", "True", "True"),
        ("ok", "1", "1"),
        ("note", "5", "5"),
        ("note", 5, 5),
        ("level", "2", 2),
        ("until", "null", None),
        ("until", "7", 7),
        ("either", "7", "7"),
        ("days", ["1", 2, "x"], [1, 2, "x"]),
        ("days", '["1"]', [1]),
        ("place", {"floor": "3", "other": "3"}, {"floor": 3, "other": "3"}),
        ("place", '{"floor": "3"}', {"floor": 3}),
        ("unknown", "5", "5"),
    ],
)
def test_arguments_are_typed_by_the_schema_only_where_the_cast_is_exact(
    argument: str, written: object, read: object
) -> None:
    text = block(json.dumps({"name": "charge", "arguments": {argument: written}}))
    got = (interpret(text, TOOLS).calls[0].arguments or {})[argument]
    assert got == read
    assert type(got) is type(read)
    assert (interpret(text).calls[0].arguments or {})[argument] == written


def test_thoughts() -> None:
    assert interpret("<think>hm") == Turn(reasoning="hm")
    assert interpret("hm</think>Hello") == Turn(text="Hello", reasoning="hm")
    assert interpret("hm", thinking_open=True) == Turn(reasoning="hm")
    assert interpret("hm</think>Hi", thinking_open=True) == Turn(text="Hi", reasoning="hm")
    call = block('{"name": "a", "arguments": {}}')
    assert interpret("<think>hm" + call) == Turn(reasoning="hm", calls=[ToolCall("0", "a", {})])
    assert interpret(f"<think>hm {call}</think>Hi") == Turn(text="Hi", reasoning=f"hm {call}")
    assert interpret("I say <think>") == Turn(text="I say <think>")


def test_silence() -> None:
    assert silence(interpret("<think>hm</think>")) == "the output is only thinking"
    assert silence(interpret("<think>hm")) == "the output is only thinking"
    assert silence(interpret(" \n ")) == "the output is empty"
    assert silence(interpret("Hi")) is None
    assert silence(interpret(block("{"))) is None


def test_parse_json_says_where_it_ended() -> None:
    assert parse_json('xx{"a": [1, 2.5, null]} tail', 2) == ({"a": [1, 2.5, None]}, 23)


def test_what_compose_writes_interpret_reads() -> None:
    turn = Turn(
        text="A note.", reasoning="hm", calls=[ToolCall("0", "a", {"é": "\n\"'"}), ToolCall("1", "b", {"n": [1, None]})]
    )
    message = Message("assistant", turn.text, reasoning=turn.reasoning, calls=turn.calls)
    assert interpret(compose(message)) == turn
    assert compose(Message("assistant", "", calls=[ToolCall("0", "x", {"a": "b"})])) == (
        '<tool_call>{"name": "x", "arguments": {"a": "b"}}</tool_call>'
    )


# --- parity -----------------------------------------------------------------------------------------------------

PIECES = [
    "Hello, how can I help?",
    "Your balance is $1,010.50.",
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "\n",
    " ",
    '{"name": "charge", "arguments": {"amount": "12.50", "times": "3"}}',
    '{"name": "charge", "arguments": {"times": 3.0, "ok": "true",}}',
    '{"name": "charge", "arguments": "no"}',
    '{"name": "other", "arguments": {"x": NaN}}',
    '{"name": "charge", "arguments": {"note": "</tool_call>", "days": ["1", "x"]}}',
    '{"arguments": {}}',
    "{{[[",
    "é – 漢字 🙂",
    "<|im_",
    "step one, step two",
]


def raw_outputs(count: int) -> list[str]:
    """Outputs as models make them: well-formed blocks, broken ones, and plain noise of their parts."""
    rng = random.Random(20260302)
    outputs = []
    for number in range(count):
        parts = [rng.choice(PIECES) for _ in range(rng.randint(0, 7))]
        if number % 2:
            parts = [f"<tool_call>{part}</tool_call>" if part.startswith("{") else part for part in parts]
        if number % 3 == 0:
            parts.insert(0, "<think>weighing</think>\n")
        outputs.append("".join(parts))
    return outputs


@pytest.mark.parametrize("load", [smollm2, qwen3])
def test_tokens_and_text_give_the_same_turn(load: object) -> None:
    """Training reads sampled ids, evaluation through an endpoint reads text: the turns are the same."""
    tokenizer = load()  # type: ignore[operator]
    renderer: Renderer = make_renderer("auto", tokenizer)
    prompt = renderer.start([Message("system", "s"), Message("user", "u")])
    closing = tokenizer.token_to_id("<|im_end|>")
    outputs = raw_outputs(400)
    assert len(set(outputs)) >= 300
    kinds = {"text": 0, "reasoning": 0, "read": 0, "unreadable": 0, "several": 0}
    for text in outputs:
        # Encoded as a model samples it: tags of the vocabulary are single ids.
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        assert tokenizer.decode(ids, skip_special_tokens=False) == text
        expected = interpret(text, TOOLS)
        assert renderer.parse(prompt, [*ids, closing], TOOLS) == expected
        assert renderer.parse(prompt, ids, TOOLS) == expected
        kinds["text"] += bool(expected.text)
        kinds["reasoning"] += bool(expected.reasoning)
        kinds["read"] += any(call.arguments is not None for call in expected.calls)
        kinds["unreadable"] += any(call.arguments is None for call in expected.calls)
        kinds["several"] += len(expected.calls) > 1
    assert min(kinds.values()) >= 30, kinds


def test_noise_never_raises() -> None:
    rng = random.Random(7)
    alphabet = '<>/{}[]":, _\\ntool_callthink09eé\ud800\x00'
    for _ in range(2000):
        text = "".join(rng.choice(alphabet) for _ in range(rng.randint(0, 60)))
        turn = interpret(block(text) if rng.random() < 0.5 else text, TOOLS)
        json.dumps([call.arguments for call in turn.calls])
        assert all(call.arguments is not None or call.error for call in turn.calls)


def test_both_renderers_are_chosen_by_the_tokenizer() -> None:
    assert isinstance(make_renderer("auto", smollm2()), ChatMLRenderer)
    assert type(make_renderer("auto", qwen3())).__name__ == "QwenRenderer"


# --- what an endpoint told apart itself ---------------------------------------------------------------------------

PAY = ToolSpec(
    name="pay",
    description="Pay.",
    kind="write",
    parameters={"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]},
    signature="pay(amount: int)",
)


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ('{"amount": 5}', {"amount": 5}),
        ({"amount": 5}, {"amount": 5}),
        ('"{\\"amount\\": 5}"', {"amount": 5}),
        (' {"amount": "5"} ', {"amount": 5}),  # typed by the schema, as in a block
        (None, {}),
        ("", {}),
        ("  ", {}),
    ],
)
def test_native_arguments_come_in_many_forms(arguments: object, wanted: object) -> None:
    turn = interpret_native("", "", [NativeCall("pay", arguments)], {"pay": PAY})
    assert [(call.name, call.arguments, call.error) for call in turn.calls] == [("pay", wanted, None)]


@pytest.mark.parametrize(
    "arguments",
    [
        *('{"amount": 5', "[1]", "5", '{"a": 1, "a": 2}', '{"a": NaN}', '{"a": 1} x', {"a": float("nan")}, 7, True),
        *([1], '"\\"x\\""', '{"a": "\\ud800"}', "[" * 100_000),
    ],
)
def test_native_arguments_that_are_no_object_are_an_unreadable_call(arguments: object) -> None:
    (call,) = interpret_native("", "", [NativeCall("pay", arguments)], {"pay": PAY}).calls
    assert call.arguments is None
    assert call.error
    assert call.name == "pay"


@pytest.mark.parametrize("name", [None, "", 7, {}])
def test_a_native_call_without_a_name_is_unreadable(name: object) -> None:
    (call,) = interpret_native("", "", [NativeCall(name, "{}")], {}).calls
    assert (call.arguments, call.name) == (None, "")


def test_blocks_in_the_text_count_only_where_the_endpoint_read_none() -> None:
    block = '<think>so</think>Hm.<tool_call>{"name": "pay", "arguments": {"amount": 1}}</tool_call>'
    both = interpret_native(block, "first", [NativeCall("pay", {"amount": 2})], {"pay": PAY})
    assert (both.text, both.reasoning, [call.arguments for call in both.calls]) == ("Hm.", "first\nso", [{"amount": 2}])
    alone = interpret_native(block, "", [], {"pay": PAY}, finish="length")
    assert ([call.arguments for call in alone.calls], alone.finish) == ([{"amount": 1}], "length")
