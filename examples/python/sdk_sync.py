"""The official SDK by way of the gateway, one call after the other and many at once.

    flotilla serve -- python sdk_sync.py

Nothing here knows of flotilla: `serve --` sets ANTHROPIC_BASE_URL and a key.
"""

import asyncio

import anthropic

MODEL = "claude-haiku-4-5"


def one():
    with anthropic.Anthropic() as client:
        message = client.messages.create(
            model=MODEL, max_tokens=50, messages=[{"role": "user", "content": "Name a thing in one word."}]
        )
    return message.content[0].text


async def many(prompts):
    """All at once, in completion order: the gateway holds back what must wait."""

    async def ask(prompt):
        message = await client.messages.create(
            model=MODEL, max_tokens=50, messages=[{"role": "user", "content": prompt}],
            extra_headers={"x-flotilla-priority": "bulk"},  # people's calls go first
        )
        return prompt, message.content[0].text

    async with anthropic.AsyncAnthropic(timeout=3600) as client:
        for settled in asyncio.as_completed([ask(p) for p in prompts]):
            yield await settled


async def main():
    print("one:", one())
    answers = {prompt: text async for prompt, text in many([f"Thing {i} in one word" for i in range(200)])}
    print("many:", len(answers))


if __name__ == "__main__":
    asyncio.run(main())
