"""Message Batches, by the synchronous client."""

import functools
import json

import anthropic

from messages import WEATHER
from suite import MODEL, check, client, eq, plain, raises, say, until


def row(i, text, **more):
    return {"custom_id": i, "params": say(text, **more)}


@functools.cache
def begun(name):
    """A batch that several checks look at, created once."""
    rows = {
        "small": [row(f"row-{i}", f"batch small {i}") for i in range(5)],
        "faulty": [
            row("good", "batch faulty"),
            {"custom_id": "no-model", "params": say("x") | {"model": "claude-none-9"}},
            {"custom_id": "no-messages", "params": {"model": MODEL, "max_tokens": 5}},
            row("no-tokens", "x", max_tokens=0),
            row("streamed", "x", stream=True),
            row("tool", "batch tool", tools=[WEATHER], tool_choice={"type": "any"}),
            row("stop", "count to four, batch", stop_sequences=["STOP"]),
            row("unicode", "привет, batch"),
            row("cut", "count to four, batch", max_tokens=2),
            row("refused", "refuse this, batch"),
        ],
        "deleted": [row("a", "batch deleted")],
        "async": [row("a", "batch async")],
        "canceled": [row(f"c-{i}", f"batch canceled {i}") for i in range(400)],
        "large": [row(f"l-{i}", f"batch large {i}") for i in range(300)],
    }[name]
    return client().messages.batches.create(requests=rows)


@functools.cache
def ended(name):
    b = begun(name)
    return until("the batch ends", lambda: (e := client().messages.batches.retrieve(b.id)).processing_status == "ended" and e)


@functools.cache
def results(name):
    got = {r.custom_id: plain(r.result) for r in client().messages.batches.results(ended(name).id)}
    return dict(sorted(got.items()))


@check
def batch_create():
    for name in ("large", "canceled", "deleted", "faulty", "async"):
        begun(name)
    begun_by_beta()
    b = begun("small")
    eq((b.type, b.processing_status, b.results_url, b.ended_at), ("message_batch", "in_progress", None, None))
    eq(b.request_counts.processing, 5)
    eq((b.expires_at - b.created_at).total_seconds(), 86400.0)
    return b


@check
def batch_delete_in_progress():
    seen = {}
    with raises(seen):
        client(max_retries=0).messages.batches.delete(begun("large").id)
    return seen


@check
def batch_results_before_the_end():
    seen = {}
    b = begun("large")
    with raises(seen, "sdk"):
        client(max_retries=0).messages.batches.results(b.id)
    with raises(seen, "raw"):
        client(max_retries=0).get(f"/v1/messages/batches/{b.id}/results", cast_to=object)
    return seen


@check
def batch_cancel():
    b = client().messages.batches.cancel(begun("canceled").id)
    eq(b.processing_status, "canceling")
    assert b.cancel_initiated_at is not None
    again = client().messages.batches.cancel(b.id)
    eq(again.cancel_initiated_at, b.cancel_initiated_at, "a second cancel changes nothing")
    return b


@check
def batch_retrieve():
    b = client().messages.batches.retrieve(begun("small").id)
    eq(b.created_at, begun("small").created_at)
    eq(sum(b.request_counts.to_dict().values()), 5, "counts")
    return [b.id == begun("small").id, b.type]


@check
def batch_list():
    ids = [b.id for b in client().messages.batches.list(limit=100).data]
    ours = [begun(n).id for n in ("small", "faulty", "deleted", "canceled", "large")]
    eq([i for i in ids if i in ours], ours, "newest first")
    return True


@check
def batch_pagination():
    c = client()
    page = c.messages.batches.list(limit=2)
    eq((len(page.data), page.has_more, page.first_id, page.last_id), (2, True, page.data[0].id, page.data[-1].id))
    second = page.get_next_page()
    back = c.messages.batches.list(limit=2, before_id=second.data[0].id)
    eq([b.id for b in back.data], [b.id for b in page.data], "back")
    seen = [b.id for b in c.messages.batches.list(limit=2)]
    eq(len(seen), len(set(seen)), "none twice")
    return all(begun(n).id in seen for n in ("small", "large"))


@check
def batch_ends():
    b = ended("small")
    eq((b.request_counts.succeeded, b.request_counts.processing), (5, 0))
    assert b.ended_at >= b.created_at and b.results_url.endswith(f"/v1/messages/batches/{b.id}/results")
    return b


@check
def batch_results():
    got = results("small")
    eq(list(got), [f"row-{i}" for i in range(5)])
    return got


@check
def batch_results_again():
    """Results may be read as often as one likes."""
    again = {r.custom_id: plain(r.result) for r in client().messages.batches.results(ended("small").id)}
    eq(dict(sorted(again.items())), results("small"))
    return len(again)


@check
def batch_results_raw():
    res = client().messages.batches.with_raw_response.results(ended("small").id)
    lines = [json.loads(line) for line in res.http_response.read().decode().splitlines()]
    eq(len(lines), 5)
    return {"type": res.headers["content-type"], "keys": [sorted(line) for line in lines]}


@check
def batch_row_errors():
    got = results("faulty")
    kinds = {i: r["type"] for i, r in got.items()}
    for bad in ("no-model", "no-messages", "no-tokens", "streamed"):
        eq(kinds[bad], "errored", bad)
    return [ended("faulty").request_counts, got]


@check
def batch_tool_stop_unicode():
    got = results("faulty")
    eq(got["tool"]["message"]["content"][0]["input"], {"city": "sample", "days": 2})
    eq(got["stop"]["message"]["stop_sequence"], "STOP")
    eq(got["unicode"]["message"]["content"][0]["text"], 'Здравствуй, мир — 你好, Grüße 🌍 "quoted" \\ back')
    eq(got["cut"]["message"]["stop_reason"], "max_tokens")
    eq(got["refused"]["message"]["stop_reason"], "refusal")
    return True


@check
def batch_is_billed_as_one():
    return sorted({r["message"]["usage"]["service_tier"] for r in results("small").values()})


@check
def batch_of_hundreds():
    got = results("large")
    eq(len(got), 300)
    eq({r["type"] for r in got.values()}, {"succeeded"})
    return [r["message"]["content"][0]["text"] for r in got.values()]


@check
def batch_canceled():
    b = ended("canceled")
    counts = b.request_counts
    eq(counts.canceled + counts.succeeded, 400)
    eq({r["type"] for r in results("canceled").values()} - {"canceled", "succeeded"}, set())
    assert b.cancel_initiated_at is not None
    return [sorted(r) for r in results("canceled").values() if r["type"] == "canceled"][:1]


@check
def batch_cancel_after_the_end():
    b = client().messages.batches.cancel(ended("small").id)
    eq(b.processing_status, "ended")
    return b


@check
def batch_delete():
    c = client(max_retries=0)
    b = ended("deleted")
    gone = c.messages.batches.delete(b.id)
    eq((gone.id, gone.type), (b.id, "message_batch_deleted"))
    seen = {"deleted": gone}
    with raises(seen, "retrieve"):
        c.messages.batches.retrieve(b.id)
    with raises(seen, "results"):
        c.get(f"/v1/messages/batches/{b.id}/results", cast_to=object)
    with raises(seen, "delete"):
        c.messages.batches.delete(b.id)
    eq(b.id in [x.id for x in c.messages.batches.list(limit=1000)], False)
    return seen


@check
def batch_unknown():
    c, seen = client(max_retries=0), {}
    nobody = "msgbatch_01NOBODY"
    with raises(seen, "retrieve"):
        c.messages.batches.retrieve(nobody)
    with raises(seen, "cancel"):
        c.messages.batches.cancel(nobody)
    with raises(seen, "delete"):
        c.messages.batches.delete(nobody)
    with raises(seen, "results"):
        c.get(f"/v1/messages/batches/{nobody}/results", cast_to=object)
    return seen


def refused(requests):
    seen = {}
    with raises(seen):
        client(max_retries=0).messages.batches.create(requests=requests)
    return seen


@check
def batch_of_nothing():
    return refused([])


@check
def batch_duplicate_id():
    return refused([row("a", "x"), row("b", "x"), row("a", "y")])


@check
def batch_bad_id():
    return [refused([row("a b", "x")]), refused([row("a" * 65, "x")]), refused([{"params": say("x")}])]


@check
def batch_bad_json():
    seen = {}
    with raises(seen):
        client(max_retries=0).post(
            "/v1/messages/batches",
            content=b'{"requests":[',
            cast_to=object,
            options={"headers": {"content-type": "application/json"}},
        )
    seen["error"].pop("message")
    return seen


@check
def batch_list_bad_limit():
    seen = {}
    with raises(seen):
        client(max_retries=0).messages.batches.list(limit=0)
    return seen


@check
def batch_list_after_nobody():
    seen = {}
    with raises(seen):
        client(max_retries=0).messages.batches.list(after_id="msgbatch_01NOBODY")
    return seen


@functools.cache
def begun_by_beta():
    return client().beta.messages.batches.create(requests=[row("a", "by beta")], betas=["some-beta-2026-01-01"])


@check
def batch_by_beta():
    c, b = client(), begun_by_beta()
    until("the batch ends", lambda: c.beta.messages.batches.retrieve(b.id).processing_status == "ended")
    return [plain(r) for r in c.beta.messages.batches.results(b.id)]


@check
def batch_client_without_key_sees_nothing():
    seen = {}
    c = anthropic.Anthropic(base_url=client().base_url, api_key="sk-ant-emulated-nobody", max_retries=0)
    with raises(seen):
        c.messages.batches.retrieve(begun("small").id)
    return seen
