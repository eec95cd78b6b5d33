"""Replies: what a model wrote against the JSON it means. Schemas: our checker against the jsonschema package."""

import json

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollectx.errors import InvalidSetting, ModelError
from recollectx.llm import LLMProvider, LLMResponse, StructuredProvider, Usage, ask
from recollectx.llm.replies import json_cut_off, json_in, spoken
from recollectx.llm.schemas import faults, is_closed, known_part, schema_of
from recollectx.testing import ScriptedProvider

ITEM = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "spans": {"type": "array", "items": {"type": "string"}}},
    "required": ["name", "spans"],
}
SCHEMA = {
    "type": "object",
    "properties": {"items": {"type": "array", "items": ITEM}, "note": {"type": ["string", "null"]}},
    "required": ["items"],
}
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
items = st.fixed_dictionaries({"name": names, "spans": st.lists(names, max_size=3)})
values = st.fixed_dictionaries({"items": st.lists(items, max_size=4), "note": st.none() | names})
prose = st.text(st.characters(exclude_characters="[]{}<>", exclude_categories=["Cs"]), max_size=40)


@settings(deadline=None)
@given(
    values,
    prose,
    prose,
    st.sampled_from(
        [
            "{}",
            "```json\n{}\n```",
            "<think>[1] {{x</think>{}",
            "<THINK></THINK>\n{}",
            "well [1] {{\n</think>\n{}",
        ]
    ),
)
def test_json_is_found_whatever_is_around_it(value, before, after, form):
    said = form.replace("{{", "{").replace("{}", json.dumps(value))
    around = f"{before}{said}{after}" if "think" not in form.lower() else f"{said}{after}"
    assert json_in(around, SCHEMA) == value


@settings(deadline=None)
@given(values, st.data())
def test_of_json_cut_off_anywhere_only_complete_items_are_kept(value, data):
    whole = json.dumps(value)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    found = json_cut_off(cut, SCHEMA)
    if found is not None:
        kept = found["items"]
        assert kept == value["items"][: len(kept)]
        assert faults(found, SCHEMA) == []
    complete = sum(
        whole.index(json.dumps(item)) + len(json.dumps(item)) <= len(cut) for item in value["items"]
    )
    assert found is not None or complete == 0


@settings(deadline=None)
@given(st.text('{}[]",:0a\\ <>/think', max_size=60))
def test_no_text_is_too_odd(text):
    json_in(text, SCHEMA)
    json_cut_off(text, SCHEMA)
    assert len(spoken(text)) <= len(text)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ('My list: {"items": [{"name": "</think>", "spans": []}]}', [{"name": "</think>", "spans": []}]),
        ('Draft: {"items": []} Final: {"items": [{"name": "x", "spans": []}]}', [{"name": "x", "spans": []}]),
        ('{"items": [{"name": "<think> tags", "spans": []}]}', [{"name": "<think> tags", "spans": []}]),
        ('[{"name": "bare", "spans": []}]', [{"name": "bare", "spans": []}]),
        ('{"items": [{"name": "x", "spans": []}], "note": NaN}', [{"name": "x", "spans": []}]),
        ('See [1] and {"other": 2}: {"items": []}', []),
    ],
)
def test_of_several_values_the_one_that_fits_counts(said, meant):
    assert json_in(said, SCHEMA)["items"] == meant


@pytest.mark.parametrize(
    "said", ["", "nothing", '{"other": 1}', '{"items": [', '{"name": "x", "spans": []}', "3", '"x"']
)
def test_what_does_not_resemble_the_schema_is_nothing(said):
    assert json_in(said, SCHEMA) is None


# Schemas.

leaves = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 2.0, "", "a", "long text"])
documents = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
)
TYPES = ["object", "array", "string", "number", "integer", "boolean", "null"]
simple = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(TYPES)
        | st.lists(st.sampled_from(TYPES), min_size=1, max_size=2, unique=True),
        "enum": st.lists(leaves, min_size=1, max_size=3),
        "minimum": st.integers(-2, 2),
        "maximum": st.integers(-2, 2),
        "minLength": st.integers(0, 2),
        "maxLength": st.integers(0, 2),
        "minItems": st.integers(0, 2),
        "maxItems": st.integers(0, 2),
        "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
        "$ref": st.just("#/$defs/leaf"),
    },
)
schemas = st.recursive(
    simple,
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(TYPES),
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            "items": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "additionalProperties": st.booleans(),
        },
    ),
    max_leaves=6,
)


@settings(deadline=None)
@given(documents, schemas, st.fixed_dictionaries({"type": st.sampled_from(TYPES)}))
def test_a_value_fits_when_jsonschema_says_so(value, schema, leaf):
    whole = {**schema, "$defs": {"leaf": leaf}}
    assert (faults(value, whole) == []) == jsonschema.Draft202012Validator(whole).is_valid(value)


def test_faults_say_where():
    value = {"items": [{"name": 1, "spans": ["a", 2]}, {"spans": []}, "x"], "note": 3}
    assert faults(value, SCHEMA) == [
        "items[0].name: not of type string",
        "items[0].spans[1]: not of type string",
        "items[1]: 'name' is missing",
        "items[2]: not of type object",
        "note: not of type string or null",
    ]
    assert faults({"items": []}, {**SCHEMA, "properties": {"items": {"minItems": 1}}}) == [
        "items: minItems is 1"
    ]
    assert faults(float("inf"), {"type": "number"}) == ["the reply: not of type number"]


def test_a_value_nested_too_deeply_is_a_fault():
    schema = {"$defs": {"list": {"type": "array", "items": {"$ref": "#/$defs/list"}}}, "$ref": "#/$defs/list"}
    value: list = []
    for _ in range(5_000):
        value = [value]
    assert faults([[]], schema) == []
    assert faults(value, schema) == ["the reply: nested too deeply"]
    for depth in (400, 900, 5_000):
        answer = ask(lambda prompt, depth=depth: "[" * depth + "]" * depth, "Which?", schema)
        assert answer.problems == () or answer.value is None or "nested" in answer.problems[0]


def test_keys_nobody_asked_for_are_left_out():
    item = {"type": "object", "properties": {"name": {}}, "additionalProperties": False}
    schema = {
        "$defs": {"item": item},
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
            "free": {"type": "object"},
        },
        "additionalProperties": False,
    }
    said = {"items": [{"name": {"any": 1}, "why": "so"}, 3], "free": {"any": 2}, "thoughts": "hm"}
    kept = {"items": [{"name": {"any": 1}}, 3], "free": {"any": 2}}
    assert known_part(said, schema) == kept
    answer = ask(ScriptedProvider([{**said, "items": []}]), "Which?", schema)
    assert (answer.value, answer.problems, answer.usage.calls) == ({"items": [], "free": {"any": 2}}, (), 1)


@settings(deadline=None)
@given(documents, schemas)
def test_leaving_keys_out_changes_nothing_that_fits_and_nothing_twice(value, schema):
    left = known_part(value, schema)
    assert known_part(left, schema) == left
    assert left == value or faults(value, schema)


def test_closed_schemas_list_all_their_keys():
    closed = {"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": False}
    assert is_closed({"type": "array", "items": closed})
    assert not is_closed({"type": "array", "items": {**closed, "required": []}})
    assert not is_closed({"anyOf": [{"type": "string"}, {**closed, "additionalProperties": True}]})


def test_what_is_no_schema_is_refused():
    for nonsense in (None, "object", int, []):
        with pytest.raises(InvalidSetting, match="pydantic"):
            schema_of(nonsense)
        with pytest.raises(InvalidSetting):
            ask(ScriptedProvider([]), "Which?", nonsense)
    with pytest.raises(InvalidSetting, match="neither a provider"):
        ask(object(), "Which?", SCHEMA)


# Providers as users write them.

GOOD = {"items": [{"name": "x", "spans": []}]}


class Message:
    def __init__(self, content, **more):
        self.content = content
        self.__dict__.update(more)


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps(GOOD),
        GOOD,
        LLMResponse(json.dumps(GOOD)),
        Message(json.dumps(GOOD)),
        Message([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": json.dumps(GOOD)}]),
        Message([Message(None, type="text", text=json.dumps(GOOD))]),
        lambda prompt: GOOD,
    ],
    ids=["text", "dict", "LLMResponse", "content", "blocks", "objects", "function"],
)
def test_any_kind_of_reply_is_understood(reply):
    said = reply("x") if callable(reply) else reply
    assert ask(lambda prompt: said, "Which?", SCHEMA).value == GOOD
    assert ask(ScriptedProvider([reply]), "Which?", SCHEMA).value == GOOD


@pytest.mark.parametrize(
    "reply", [None, 3, object(), b"bytes", LLMResponse(None), Message(None), Message({"a": 1})]
)
def test_no_kind_of_reply_is_raised(reply):
    answer = ask(lambda prompt: reply, "Which?", SCHEMA)
    assert answer.value is None
    assert answer.problems


def test_a_function_gets_what_its_signature_takes():
    got = []

    def bare(prompt):
        got.append(prompt)
        return GOOD

    def keywords(prompt, *, temperature, max_tokens=3):
        got.append((temperature, max_tokens))
        return GOOD

    def everything(prompt, **options):
        got.append(options)
        return GOOD

    for function in (bare, keywords, everything):
        answer = ask(function, "Which?", SCHEMA, system_prompt="Be short", temperature=0.1, max_tokens=9)
        assert answer.value == GOOD
    assert got[0].startswith("Be short\n\nWhich?")
    assert '"spans"' in got[0]
    assert got[1] == (0.1, 9)
    assert got[2] == {"system_prompt": "Be short", "temperature": 0.1, "max_tokens": 9}


class Structured:
    """A user's provider with both methods; `first` is what the structured one does."""

    def __init__(self, first):
        self.first, self.calls = first, []

    def generate(self, prompt, system_prompt=None, temperature=0.7, max_tokens=1000, **kwargs):
        self.calls.append(("generate", prompt, system_prompt))
        return Message(json.dumps(GOOD), usage={"prompt_tokens": 5, "completion_tokens": 2})

    def generate_structured(self, prompt, schema, system_prompt=None, **kwargs):
        self.calls.append(("structured", prompt, schema, system_prompt))
        if isinstance(self.first, Exception):
            raise self.first
        return self.first


def test_a_structured_provider_is_asked_that_way_first():
    llm = Structured(GOOD)
    assert isinstance(llm, StructuredProvider)
    assert isinstance(llm, LLMProvider)
    assert ask(llm, "Which?", SCHEMA, system_prompt="Be short").value == GOOD
    assert llm.calls == [("structured", "Which?", SCHEMA, "Be short")]


@pytest.mark.parametrize("first", [ValueError("boom"), {"items": "none"}, "no JSON", NotImplementedError()])
def test_where_that_fails_it_is_asked_in_words(first):
    llm = Structured(first)
    answer = ask(llm, "Which?", SCHEMA)
    assert (answer.value, answer.problems) == (GOOD, ())
    assert answer.usage.prompt_tokens == 5
    assert [call[0] for call in llm.calls] == ["structured", "generate"]
    assert '"spans"' in llm.calls[1][1]


def test_the_second_question_says_what_was_wrong():
    llm = ScriptedProvider(['{"items": [{"name": 1, "spans": []}]}', GOOD])
    assert ask(llm, "Which?", SCHEMA, temperature=0.3).fits
    first, second = llm.asked
    assert (first.prompt, first.schema, first.options["temperature"]) == ("Which?", SCHEMA, 0.3)
    assert second.prompt.startswith("Which?")
    assert "items[0].name: not of type string" in second.prompt
    assert '{"items": [{"name": 1' in second.prompt


def test_the_better_of_two_unfit_replies_counts():
    worse = {"items": [{"name": 1, "spans": 2}, {"name": 3}]}
    better = {"items": [{"name": 1, "spans": []}]}
    for replies in ([worse, better], [better, worse], [better, "sorry"], [better, ValueError("boom")]):
        answer = ask(ScriptedProvider(replies), "Which?", SCHEMA)
        assert answer.value == better
        assert answer.problems == ("items[0].name: not of type string",)


def test_usage_is_summed_also_over_failures():
    spent = LLMResponse("", {"prompt_tokens": 3, "completion_tokens": 4}, refusal="no")
    answer = ask(ScriptedProvider([spent]), "Which?", SCHEMA)
    assert (answer.value, answer.usage) == (None, Usage(1, 3, 4))
    assert Usage(1, 2, 3) + Usage(1, 1, 1) == Usage(2, 3, 4)
    assert Usage.of_one({"prompt_tokens": -1, "output_tokens": True}) == Usage(1, 0, 0)
    assert Usage.of_one(Message("", input_tokens=2, output_tokens=1)) == Usage(1, 2, 1)


def test_generate_structured_raises_what_ask_tells():
    assert ScriptedProvider([GOOD]).generate_structured("Which?", SCHEMA) == GOOD
    llm = ScriptedProvider([{"items": [3]}] * 2)
    with pytest.raises(ModelError, match=r"items\[0\]: not of type object") as caught:
        llm.generate_structured("Which?", SCHEMA)
    assert caught.value.usage["total_tokens"] > 0


def test_a_script_ends_with_an_error_that_says_so():
    llm = ScriptedProvider(["one"])
    assert llm.generate("Say one").content == "one"
    with pytest.raises(ModelError, match="script ended after 1 replies"):
        llm.generate("Say two")
    assert ScriptedProvider(str.upper).generate("loud").content == "LOUD"


@pytest.mark.parametrize("kind", ["number", "integer"])
def test_a_number_too_large_for_a_float_is_a_number_like_others(kind):
    schema = {"type": "object", "properties": {"share": {"type": kind, "maximum": 1}}, "required": ["share"]}
    answer = ask(lambda prompt: {"share": 10**400}, "Which?", schema)
    assert (answer.value, answer.problems) == ({"share": 10**400}, ("share: maximum is 1",))
