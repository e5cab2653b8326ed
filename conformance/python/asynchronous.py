"""The same by the asynchronous client."""

import asyncio

from batches import begun
from messages import text_of
from suite import MODEL, aclient, check, eq, fault, plain, raises, say


@check
async def async_create():
    async with aclient() as c:
        return await c.messages.create(**say("async_create"))


@check
async def async_concurrent_fifty():
    async with aclient() as c:
        got = await asyncio.gather(*(c.messages.create(**say(f"async fifty {i}")) for i in range(50)))
    eq(len({m.id for m in got}), 50)
    return [text_of(m) for m in got]


@check
async def async_stream_events():
    async with aclient() as c:
        stream = await c.messages.create(**say("async_stream_events"), stream=True)
        return [plain(e) async for e in stream]


@check
async def async_stream_text():
    async with aclient() as c:
        async with c.messages.stream(**say("async_stream_text")) as stream:
            parts = [t async for t in stream.text_stream]
            m = await stream.get_final_message()
    eq("".join(parts), text_of(m))
    return parts


@check
async def async_streams_at_once():
    async def one(c, i):
        async with c.messages.stream(**say(f"async_streams {i}")) as stream:
            return await stream.get_final_text()

    async with aclient() as c:
        return await asyncio.gather(*(one(c, i) for i in range(30)))


@check
async def async_call_canceled():
    async with aclient(max_retries=0) as c:
        with fault(kind="delay", path="/v1/messages", delay_ms=3000, count=1):
            task = asyncio.create_task(c.messages.create(**say("async_call_canceled")))
            await asyncio.sleep(0.3)
            task.cancel()
            try:
                await task
                raise AssertionError("the call was not canceled")
            except asyncio.CancelledError:
                pass
        return await c.messages.create(**say("after async_call_canceled"))


@check
async def async_stream_canceled():
    async with aclient() as c:

        async def read():
            async with c.messages.stream(**say("async_stream_canceled", max_tokens=4000)) as stream:
                async for _ in stream:
                    started.set()
                    await asyncio.sleep(60)

        started = asyncio.Event()
        task = asyncio.create_task(read())
        await asyncio.wait_for(started.wait(), 10)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return await c.messages.create(**say("after async_stream_canceled"))


@check
async def async_timeout():
    seen = {}
    async with aclient(max_retries=0, timeout=0.5) as c:
        with fault(kind="delay", path="/v1/messages", delay_ms=3000, count=1):
            with raises(seen):
                await c.messages.create(**say("async_timeout"))
    return seen


@check
async def async_error():
    seen = {}
    async with aclient(max_retries=0) as c:
        with raises(seen):
            await c.messages.create(**say("x") | {"model": "claude-none-9"})
    return seen


@check
async def async_retry():
    async with aclient() as c:
        with fault(kind="status", path="/v1/messages", status=529, count=1):
            return await c.messages.create(**say("async_retry"))


@check
async def async_raw_response():
    async with aclient() as c:
        raw = await c.messages.with_raw_response.create(**say("async_raw_response"))
        return [raw.headers["request-id"], raw.headers["anthropic-organization-id"], await raw.parse()]


@check
async def async_streaming_response():
    async with aclient() as c:
        async with c.messages.with_streaming_response.create(**say("async_streaming_response")) as res:
            return await res.json()


@check
async def async_count_tokens():
    async with aclient() as c:
        return await c.messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": "x"}])


@check
async def async_models():
    async with aclient() as c:
        return [m.id async for m in c.models.list(limit=4)]


@check
async def async_batch():
    async with aclient() as c:
        made = await c.messages.batches.create(requests=[{"custom_id": "a", "params": say("async_batch")}])
        assert (await c.messages.batches.cancel(made.id)).processing_status == "canceling"
        for _ in range(900):
            b = await c.messages.batches.retrieve(begun("async").id)
            if b.processing_status == "ended":
                break
            await asyncio.sleep(0.2)
        eq(b.processing_status, "ended")
        listed = [x.id async for x in c.messages.batches.list(limit=3)]
        assert b.id in listed and made.id in listed
        return [plain(r) async for r in await c.messages.batches.results(b.id)]
