"""Messages, not streamed, by the synchronous client."""

import base64
import concurrent.futures

from suite import MODEL, check, client, eq, fresh, plain, say

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
WEATHER = {
    "name": "weather",
    "description": "The weather of the next days.",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 2}},
        "required": ["city", "days"],
    },
}


def text_of(message):
    return "".join(b.text for b in message.content if b.type == "text")


@check
def create():
    m = client().messages.create(**say("hello"))
    eq((m.type, m.role, m.stop_reason), ("message", "assistant", "end_turn"))
    assert m.usage.output_tokens > 0 and text_of(m)
    return m


@check
def create_with_system():
    m = client().messages.create(**say("create_with_system", system="Be brief."))
    longer = client().messages.create(**say("create_with_system", system="Be brief. " * 20))
    assert longer.usage.input_tokens > m.usage.input_tokens
    return [m, longer]


@check
def create_with_system_blocks():
    return client().messages.create(
        **say("create_with_system_blocks", system=[{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}])
    )


@check
def create_multi_turn():
    return client().messages.create(
        model=MODEL,
        max_tokens=100,
        messages=[
            {"role": "user", "content": "create_multi_turn"},
            {"role": "assistant", "content": [{"type": "text", "text": "Yes?"}]},
            {"role": "user", "content": [{"type": "text", "text": "Go"}, {"type": "text", "text": "on."}]},
        ],
    )


@check
def create_stop_sequence():
    m = client().messages.create(**say("count to four", stop_sequences=["five", "STOP"]))
    eq((m.stop_reason, m.stop_sequence, text_of(m)), ("stop_sequence", "STOP", "one two three "))
    return m


@check
def create_max_tokens():
    m = client().messages.create(**say("count to four", max_tokens=3))
    eq((m.stop_reason, m.usage.output_tokens), ("max_tokens", 3))
    return m


@check
def create_forced_tool():
    m = client().messages.create(
        **say("create_forced_tool", tools=[WEATHER], tool_choice={"type": "tool", "name": "weather"})
    )
    eq(m.stop_reason, "tool_use")
    eq((m.content[0].type, m.content[0].name, m.content[0].input), ("tool_use", "weather", {"city": "sample", "days": 2}))
    return m


@check
def create_tool_conversation():
    c = client()
    ask = {"role": "user", "content": "weather in Rome"}
    m = c.messages.create(model=MODEL, max_tokens=200, tools=[WEATHER], messages=[ask])
    eq((m.stop_reason, m.content[0].input), ("tool_use", {"city": "Rome", "days": 3}))
    told = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": m.content[0].id, "content": "sunny"}]}
    m2 = c.messages.create(
        model=MODEL,
        max_tokens=200,
        tools=[WEATHER],
        messages=[ask, {"role": "assistant", "content": [b.to_dict() for b in m.content]}, told],
    )
    return [m, m2]


@check
def create_with_metadata():
    return client().messages.create(
        **say("create_with_metadata", metadata={"user_id": "u-1"}, service_tier="standard_only")
    )


@check
def create_unicode():
    m = client().messages.create(**say("привет 👋 \u2028 \x00 ünï"))
    eq(text_of(m), 'Здравствуй, мир — 你好, Grüße 🌍 "quoted" \\ back')
    return m


@check
def create_big_body():
    m = client().messages.create(**say("create_big_body " + "word " * 600_000) | {"model": "claude-sonnet-4-6"})
    assert m.usage.input_tokens > 500_000
    return m


@check
def create_with_image():
    return client().messages.create(
        **say(
            [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
                {"type": "text", "text": "create_with_image"},
            ]
        )
    )


@check
def create_with_document():
    pdf = base64.b64encode(b"%PDF-1.4\n" + b"0" * 5000).decode()
    return client().messages.create(
        **say(
            [
                {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": pdf}},
                {"type": "text", "text": "create_with_document"},
            ]
        )
    )


@check
def create_with_thinking():
    return client().messages.create(
        **say("create_with_thinking", thinking={"type": "adaptive"}, max_tokens=2000) | {"model": "claude-sonnet-4-6"}
    )


@check
def create_refused():
    m = client().messages.create(**say("refuse this, create_refused"))
    eq((m.stop_reason, m.stop_details.type), ("refusal", "refusal"))
    return m


@check
def create_structured():
    from pydantic import BaseModel

    class Person(BaseModel):
        name: str
        age: int

    m = client().messages.parse(**say("a person as JSON"), output_format=Person)
    eq((m.parsed_output.name, m.parsed_output.age), ("Ann", 7))
    return plain(m)


@check
def create_resolves_alias():
    m = client().messages.create(**say("create_resolves_alias"))
    eq(m.model, "claude-haiku-4-5-20251001")
    return m.model


@check
def create_inference_geo():
    m = client().messages.create(**say("create_inference_geo", inference_geo="us") | {"model": "claude-sonnet-4-6"})
    eq(m.usage.inference_geo, "us")
    return m


@check
def create_old_version():
    return client().messages.create(
        **say("create_old_version"),
        extra_headers={"anthropic-version": "2023-06-01"},
        extra_body={"temperature": 0.5, "top_k": 5},
    )


@check
def create_fast():
    m = client().messages.create(**say("create_fast", speed="fast") | {"model": "claude-opus-5-5"})
    eq(m.usage.speed, "fast")
    return m


@check
def create_beta():
    return client().beta.messages.create(**say("create_beta"), betas=["some-beta-2026-01-01", "other-2026-02-02"])


@check
def create_beta_unknown_field():
    return client().beta.messages.create(
        **say("create_beta_unknown_field"), betas=["new-field-2026-01-01"], extra_body={"new_field": {"a": [1, 2.50]}}
    )


@check
def create_extra_headers_and_query():
    return client().messages.create(
        **say("create_extra_headers_and_query"), extra_headers={"x-my-header": "a"}, extra_query={"trace": "1"}
    )


@check
def create_by_bearer_token():
    import anthropic

    from suite import BASE_URL, KEY

    c = anthropic.Anthropic(base_url=BASE_URL, auth_token=KEY, api_key=None)
    return c.messages.create(**say("create_by_bearer_token"))


@check
def cache_written_and_read():
    block = {"type": "text", "text": "cached prefix " * 3000, "cache_control": {"type": "ephemeral"}}
    ask = say("cache_written_and_read", system=[block])
    first, second = client().messages.create(**ask), client().messages.create(**ask)
    assert first.usage.cache_creation_input_tokens > 4000, first.usage
    eq(second.usage.cache_read_input_tokens, first.usage.cache_creation_input_tokens, "read")
    return [first.usage, second.usage]


@check
def cache_for_an_hour():
    block = {"type": "text", "text": "hourly prefix " * 3000, "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    m = client().messages.create(**say("cache_for_an_hour", system=[block]))
    assert m.usage.cache_creation.ephemeral_1h_input_tokens > 4000
    return m.usage


@check
def equal_bodies_get_answers_of_their_own():
    c = client()
    texts = [text_of(c.messages.create(**say("equal_bodies"))) for _ in range(3)]
    eq(len(set(texts)), 3, "different answers")
    return texts


@check
def raw_response_headers():
    raw = client().messages.with_raw_response.create(**say("raw_response_headers"))
    h = raw.headers
    names = sorted(n for n in h if n.startswith("anthropic-ratelimit-"))
    assert len(names) >= 9, names
    assert int(h["anthropic-ratelimit-requests-remaining"]) <= int(h["anthropic-ratelimit-requests-limit"])
    return {
        "limits": names,
        "request-id": h["request-id"],
        "organization": h["anthropic-organization-id"],
        "workspace": h["anthropic-workspace-id"][:7],
        "type": h["content-type"],
        "message": raw.parse(),
        "retries": raw.retries_taken,
    }


@check
def message_knows_its_request():
    m = client().messages.create(**say("message_knows_its_request"))
    return m._request_id


@check
def streaming_response():
    with client().messages.with_streaming_response.create(**say("streaming_response")) as res:
        parts = b"".join(res.iter_bytes())
        import json

        return {"status": res.status_code, "message": json.loads(parts), "request": res.headers["request-id"]}


@check
def concurrent_fifty():
    c = client()
    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        got = list(pool.map(lambda i: c.messages.create(**say(f"concurrent_fifty {i}")), range(50)))
    eq(len({m.id for m in got}), 50, "ids")
    return [text_of(m) for m in got]


@check
def one_client_many_calls():
    with fresh() as c:
        return [c.messages.create(**say(f"one_client {i}")).usage.output_tokens for i in range(20)]


@check
def count_tokens():
    n = client().messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": "count_tokens"}])
    assert n.input_tokens > 0
    return n


@check
def count_tokens_with_tools():
    c = client()
    ask = {"model": MODEL, "messages": [{"role": "user", "content": "count_tokens"}]}
    few, many = c.messages.count_tokens(**ask), c.messages.count_tokens(**ask, tools=[WEATHER], system="You count.")
    assert many.input_tokens > few.input_tokens
    return [few, many]


@check
def count_tokens_beta():
    return client().beta.messages.count_tokens(
        model=MODEL, messages=[{"role": "user", "content": "count"}], betas=["token-counting-2024-11-01"]
    )


@check
def models_list():
    return plain(client().models.list(limit=50))


@check
def models_pagination():
    ids = [m.id for m in client().models.list(limit=3)]
    whole = [m.id for m in client().models.list(limit=1000)]
    eq(ids, whole, "pages give the whole list")
    return ids


@check
def models_back():
    c = client()
    page = c.models.list(limit=2)
    after = c.models.list(limit=2, after_id=page.data[-1].id)
    before = c.models.list(limit=2, before_id=after.data[0].id)
    eq([m.id for m in before.data], [m.id for m in page.data], "back")
    return plain(after)


@check
def models_retrieve():
    return client().models.retrieve("claude-sonnet-4-6")


@check
def models_retrieve_alias():
    m = client().models.retrieve("claude-haiku-4-5")
    eq(m.id, "claude-haiku-4-5-20251001")
    return m


@check
def models_beta():
    return plain(client().beta.models.list(limit=2))
