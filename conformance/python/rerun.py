"""An evaluation as people write them: many calls by the official SDK, at once.

It knows nothing of who answers. Told to, it dies in the middle (die), or says
when that would be (halfway) and waits to be killed.

    rerun.py ANSWERS.json CALLS [die|halfway FILE]
"""

import asyncio
import json
import os
import pathlib
import signal
import sys

import anthropic

FIRST = 25  # calls that are answered before anything happens
AT_ONCE = 8


async def ask(client, answers, gate, i):
    # Two of every ten ask the same: each has an answer of its own all the same.
    text = f"question {i - 1 if i % 10 == 9 else i}"
    async with gate:
        m = await client.messages.create(
            model="claude-haiku-4-5", max_tokens=200, messages=[{"role": "user", "content": text}]
        )
    answers.setdefault(text, []).append(m.content[0].text)


def keep(path, answers):
    """Which of two equal questions has which answer is chance."""
    path.write_text(json.dumps({text: sorted(said) for text, said in answers.items()}))


async def evaluate(path, calls, event):
    secret = [k for k, v in os.environ.items() if "sk-ant-emulated" in v]
    if secret:
        sys.exit(f"a key of an org is in {secret}")
    answers, gate = {}, asyncio.Semaphore(AT_ONCE)
    async with anthropic.AsyncAnthropic() as client:  # all it needs is in the environment
        await asyncio.gather(*(ask(client, answers, gate, i) for i in range(FIRST)))
        keep(path, answers)
        if event:
            await asyncio.sleep(1.5)  # what was answered is on disk by now
        rest = [asyncio.create_task(ask(client, answers, gate, i)) for i in range(FIRST, calls)]
        if event:
            await asyncio.sleep(0.2)  # some are under way
        if event[:1] == ["die"]:
            os.kill(os.getpid(), signal.SIGKILL)
        if event[:1] == ["halfway"]:
            ready = pathlib.Path(event[1] + ".new")
            ready.write_text(str(os.getpid()))
            ready.rename(event[1])
        await asyncio.gather(*rest)
    keep(path, answers)


asyncio.run(evaluate(pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
