"""Generate, then judge, by flotilla_calls.py: where the keys are, without a server.

    python many_calls.py
"""

import asyncio
import datetime

from flotilla_calls import dispatch_calls, judge_completions_batch

MODEL = "claude-haiku-4-5"
QUESTIONS = {f"q{i}": f"Is {i} a lucky number? Say why." for i in range(40)}


async def generate():
    """Answers as they come, of items with ids of their own."""
    items = [{"id": id, "prompt": question} for id, question in QUESTIONS.items()]
    cost, answers = 0.0, {}
    async for call in dispatch_calls(
        items, MODEL, deadline=datetime.timedelta(hours=2), cost_pref="fast", max_tokens=200, max_spend=1
    ):
        cost += call.cost
        if call.error:
            print(call.id, "failed:", call.error["type"])
        else:
            answers[call.id] = call.text
    print(f"generated: {len(answers)} of {len(QUESTIONS)} for ${cost:.4f}")
    return answers


def main():
    answers = asyncio.run(generate())
    rows = [{"id": id, "question": QUESTIONS[id], "completion": text} for id, text in answers.items()]
    judged = judge_completions_batch(rows, "coherence", MODEL, max_spend=1)
    scored = [v for v in judged.verdicts if v.status == "scored"]
    mean = judged.summary["judge"]["judges"][0]["total"]["mean"]
    print(f"judged: {len(scored)} of {len(rows)}, mean {mean['value']:.1f} ({mean['low']:.1f} to {mean['high']:.1f})")

    # The same without async: a list of calls, in completion order.
    words = {call.id: call.text for call in dispatch_calls(["Name a thing in one word."], MODEL, max_tokens=20)}
    print("words:", len(words))


if __name__ == "__main__":
    main()
