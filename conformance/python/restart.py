"""Calls and a batch that are under way while the gateway is restarted.

It writes a word to FILE when much is under way, and goes on; the SDK's retries
have to do the rest.

    restart.py FILE
"""

import asyncio
import pathlib
import sys

import anthropic

CALLS = 200
ROWS = 50


def say(text):
    return {"model": "claude-haiku-4-5", "max_tokens": 200, "messages": [{"role": "user", "content": text}]}


async def main(ready):
    async with anthropic.AsyncAnthropic(max_retries=6) as c:
        batch = await c.messages.batches.create(
            requests=[{"custom_id": f"r-{i}", "params": say(f"batch {i}")} for i in range(ROWS)]
        )
        calls = [asyncio.create_task(c.messages.create(**say(f"question {i}"))) for i in range(CALLS)]
        await asyncio.sleep(0.3)
        ready.write_text("1")
        texts = [m.content[0].text for m in await asyncio.gather(*calls)]
        assert all(texts) and len(set(texts)) == CALLS, "an answer is missing, or came twice"
        while (b := await c.messages.batches.retrieve(batch.id)).processing_status != "ended":
            await asyncio.sleep(0.5)
        got = {r.custom_id async for r in await c.messages.batches.results(batch.id)}
        assert b.request_counts.succeeded == ROWS, b
        assert got == {f"r-{i}" for i in range(ROWS)}, got


asyncio.run(asyncio.wait_for(main(pathlib.Path(sys.argv[1])), 180))
