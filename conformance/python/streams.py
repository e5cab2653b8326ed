"""Messages as server-sent events, by the synchronous client."""

from messages import WEATHER
from suite import check, client, eq, plain, say


@check
def stream_events():
    with client().messages.create(**say("stream_events"), stream=True) as stream:
        events = [plain(e) for e in stream]
    kinds = [e["type"] for e in events]
    eq(kinds[:2], ["message_start", "content_block_start"])
    eq(kinds[-3:], ["content_block_stop", "message_delta", "message_stop"])
    return events


@check
def stream_raw_bytes():
    """Pings included, byte for byte, as the SDK's parser does not show."""
    with client().messages.with_streaming_response.create(**say("stream_raw_bytes"), stream=True) as res:
        text = b"".join(res.iter_bytes()).decode()
        assert "event: ping\n" in text
        return {"type": res.headers["content-type"], "cache": res.headers["cache-control"], "text": text}


@check
def stream_text():
    with client().messages.stream(**say("stream_text")) as stream:
        parts = list(stream.text_stream)
        whole = stream.get_final_text()
    assert len(parts) > 1
    eq("".join(parts), whole)
    return parts


@check
def stream_final_message():
    with client().messages.stream(**say("stream_final_message")) as stream:
        m = stream.get_final_message()
    eq(m.stop_reason, "end_turn")
    assert m.usage.output_tokens > 0
    return m


@check
def stream_helper_events():
    with client().messages.stream(**say("stream_helper_events")) as stream:
        return [e.type for e in stream]


@check
def stream_says_what_create_says():
    with client().messages.stream(**say("stream_says 1")) as stream:
        m = stream.get_final_message()
    n = client().messages.create(**say("stream_says 1"))
    eq(sorted(m.to_dict()), sorted(n.to_dict()), "fields")
    return [m.usage.input_tokens, n.usage.input_tokens]


@check
def stream_forced_tool():
    ask = say("stream_forced_tool", tools=[WEATHER], tool_choice={"type": "any"})
    with client().messages.stream(**ask) as stream:
        kinds = [e.type for e in stream]
        m = stream.get_final_message()
    assert "input_json" in kinds, kinds
    eq((m.stop_reason, m.content[0].input), ("tool_use", {"city": "sample", "days": 2}))
    return [kinds, m]


@check
def stream_stop_sequence():
    with client().messages.stream(**say("count to four, streamed", stop_sequences=["STOP"])) as stream:
        m = stream.get_final_message()
    eq((m.stop_reason, m.stop_sequence, m.content[0].text), ("stop_sequence", "STOP", "one two three "))
    return m


@check
def stream_unicode():
    with client().messages.stream(**say("привет, streamed")) as stream:
        text = stream.get_final_text()
    eq(text, 'Здравствуй, мир — 你好, Grüße 🌍 "quoted" \\ back')
    return text


@check
def stream_max_tokens():
    with client().messages.stream(**say("count to four, streamed", max_tokens=3)) as stream:
        m = stream.get_final_message()
    eq((m.stop_reason, m.usage.output_tokens), ("max_tokens", 3))
    return m


@check
def stream_headers():
    with client().messages.stream(**say("stream_headers")) as stream:
        h = stream.response.headers
        stream.until_done()
    names = sorted(n for n in h if n.startswith("anthropic-ratelimit-"))
    assert len(names) >= 9, names
    return {"request-id": h["request-id"], "limits": names, "of": stream.request_id}


@check
def stream_closed_early():
    c = client()
    with c.messages.create(**say("stream_closed_early", max_tokens=4000), stream=True) as stream:
        first = next(iter(stream)).type
    after = c.messages.create(**say("after stream_closed_early"))
    return [first, after]


@check
def stream_left_by_exception():
    c = client()
    try:
        with c.messages.stream(**say("stream_left")) as stream:
            for _ in stream.text_stream:
                raise KeyError("enough")
    except KeyError:
        pass
    return c.messages.create(**say("after stream_left"))


@check
def stream_beta():
    with client().beta.messages.stream(**say("stream_beta"), betas=["some-beta-2026-01-01"]) as stream:
        return stream.get_final_message()


@check
def stream_large_answer():
    """More than 21,333 tokens are refused by the SDK but as a stream."""
    with client().messages.stream(**say("stream_large", max_tokens=30_000)) as stream:
        return stream.get_final_message().usage
