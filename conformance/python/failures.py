"""What goes wrong, and what a caller's code sees of it."""

import anthropic

from suite import BASE_URL, MODEL, check, client, fault, raises, say, until


def failing(**ask):
    seen = {}
    with raises(seen):
        client(max_retries=0).messages.create(**ask)
    return seen


def raw(body, **more):
    """A body that the SDK's types would not let through."""
    seen = {}
    with raises(seen):
        client(max_retries=0).post("/v1/messages", body=body, cast_to=object, **more)
    return seen


@check
def error_without_max_tokens():
    return raw({"model": MODEL, "messages": [{"role": "user", "content": "x"}]})


@check
def error_without_messages():
    return raw({"model": MODEL, "max_tokens": 5})


@check
def error_no_messages():
    return failing(model=MODEL, max_tokens=5, messages=[])


@check
def error_role():
    return failing(model=MODEL, max_tokens=5, messages=[{"role": "robot", "content": "x"}])


@check
def error_empty_content():
    return failing(model=MODEL, max_tokens=5, messages=[{"role": "user", "content": ""}])


@check
def error_unknown_field():
    return failing(**say("x"), extra_body={"no_such_field": 1})


@check
def error_max_tokens_too_large():
    return failing(**say("x", max_tokens=20_000) | {"max_tokens": 64_001}, timeout=60)


@check
def error_prompt_too_long():
    return failing(**say("word " * 250_000))


@check
def error_temperature():
    return failing(**say("x"), extra_body={"temperature": 0.5})


@check
def error_prefill():
    return failing(
        model="claude-sonnet-4-6",
        max_tokens=5,
        messages=[{"role": "user", "content": "x"}, {"role": "assistant", "content": "I"}],
    )


@check
def error_unknown_model():
    return failing(**say("x") | {"model": "claude-none-9"})


@check
def error_retired_model():
    return failing(**say("x") | {"model": "claude-3-opus-20240229"})


@check
def error_no_permission():
    return failing(**say("x") | {"model": "claude-mythos-5-2"})


@check
def error_forced_tool_refused():
    tool = {"name": "t", "input_schema": {"type": "object"}}
    return failing(**say("x", tools=[tool], tool_choice={"type": "any"}) | {"model": "claude-opus-5-5"})


@check
def error_wrong_key():
    seen = {}
    c = anthropic.Anthropic(base_url=BASE_URL, api_key="sk-ant-emulated-nobody", max_retries=0)
    with raises(seen, "create"):
        c.messages.create(**say("x"))
    with raises(seen, "stream"):
        c.messages.create(**say("x"), stream=True)
    with raises(seen, "models"):
        c.models.list()
    with raises(seen, "count"):
        c.messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": "x"}])
    with raises(seen, "batches"):
        c.messages.batches.list()
    return seen


@check
def error_body_too_large():
    seen = failing(**say("x" * (33 << 20)))
    del seen["error"]["envelope"]  # the provider's comes from before the API, without type and id
    del seen["error"]["request_id"]
    return seen


@check
def error_unknown_path():
    seen = {}
    with raises(seen):
        client(max_retries=0).get("/v1/nothing", cast_to=object)
    return {k: seen["error"][k] for k in ("class", "status", "type")}


@check
def error_unknown_path_under_a_known_one():
    seen = {}
    with raises(seen):
        client(max_retries=0).get("/v1/messages/nothing/at/all", cast_to=object)
    return {k: seen["error"][k] for k in ("class", "status", "type")}


@check
def error_in_a_stream_request():
    seen = {}
    with raises(seen):
        client(max_retries=0).messages.create(**say("x") | {"model": "claude-none-9"}, stream=True)
    return seen


@check
def error_version():
    return failing(**say("x"), extra_headers={"anthropic-version": "2020-01-01"})


@check
def error_of_count_tokens():
    seen = {}
    with raises(seen):
        client(max_retries=0).messages.count_tokens(model="claude-none-9", messages=[{"role": "user", "content": "x"}])
    return seen


@check
def error_unknown_model_id():
    seen = {}
    with raises(seen):
        client(max_retries=0).models.retrieve("claude-none-9")
    return seen


@check
def error_models_after_nobody():
    seen = {}
    with raises(seen):
        client(max_retries=0).models.list(after_id="claude-none-9")
    return seen


@check
def error_then_all_is_well():
    c = client(max_retries=0)
    seen = {}
    with raises(seen):
        c.messages.create(**say("x") | {"model": "claude-none-9"})
    seen["after"] = c.messages.create(**say("error_then_all_is_well"))
    return seen


@check
def retried_after_529():
    with fault(kind="status", path="/v1/messages", status=529, count=1):
        return client().messages.create(**say("retried_after_529"))


@check
def retried_after_500():
    with fault(kind="status", path="/v1/messages", status=500, count=1):
        return client().messages.create(**say("retried_after_500"))


@check
def retried_after_429():
    with fault(kind="status", path="/v1/messages", status=429, headers={"retry-after": "1"}, count=1):
        return client().messages.create(**say("retried_after_429"))


@check
def retried_after_a_lost_connection():
    with fault(kind="drop_before", path="/v1/messages", count=1):
        return client().messages.create(**say("retried_after_a_lost_connection")).stop_reason


@check
def stream_retried_after_529():
    with fault(kind="status", path="/v1/messages", status=529, count=1):
        with client().messages.stream(**say("stream_retried_after_529")) as stream:
            return stream.get_final_message()


@check
def count_tokens_retried_after_500():
    with fault(kind="status", path="/v1/messages/count_tokens", status=500, count=1):
        return client().messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": "x"}])


@check
def models_retried_after_529():
    with fault(kind="status", path="/v1/models", status=529, count=1):
        return client().models.list(limit=1).data[0].id


@check
def client_timeout():
    seen = {}
    with fault(kind="delay", path="/v1/messages", delay_ms=4000, count=1):
        with raises(seen):
            client(max_retries=0, timeout=0.5).messages.create(**say("client_timeout"))
    seen["after"] = client().messages.create(**say("after client_timeout"))
    return seen


# What says little waiting is done is passed to whoever waits for us.
IMPATIENT = {"x-flotilla-max-wait": "1"}


# The last ones, since whoever stands between remembers for a while.


@check
def zz_rate_limited():
    seen = {}
    with fault(kind="status", path="/v1/messages", status=429, headers={"retry-after": "3"}):
        try:
            client(max_retries=0).messages.create(**say("zz_rate_limited"), extra_headers=IMPATIENT)
        except anthropic.RateLimitError as e:
            seen["retry_after"] = float(e.response.headers["retry-after"]) >= 1
            seen["type"] = e.body["error"]["type"]
    return seen


@check
def zz_rate_limited_is_over():
    def open_again():
        try:
            for _ in range(5):
                client(max_retries=0).messages.create(**say("zz_rate_limited_is_over"), extra_headers=IMPATIENT)
        except anthropic.APIStatusError:
            return False
        return True

    return until("it is over", open_again, 60)


@check
def zzz_overloaded():
    seen = {}
    with fault(kind="status", path="/v1/messages", status=529):
        with raises(seen):
            client(max_retries=0).messages.create(**say("zz_overloaded"), extra_headers=IMPATIENT)
    return {k: seen["error"][k] for k in ("class", "status", "type", "envelope", "request_id")}
