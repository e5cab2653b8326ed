"""Message Batches of the official SDK by way of the gateway.

    flotilla serve -- python sdk_batch.py

The gateway carries the rows over all orgs, in batches of its own making, and gives
them back under the id and the custom_ids that are known here.
"""

import time

import anthropic

MODEL = "claude-haiku-4-5"


def row(custom_id, prompt):
    return {
        "custom_id": custom_id,
        "params": {"model": MODEL, "max_tokens": 50, "messages": [{"role": "user", "content": prompt}]},
    }


def main():
    rows = [row(f"thing-{i}", f"Thing {i} in one word") for i in range(300)]
    with anthropic.Anthropic() as client:
        # Without the header: batch prices, a day at most. With it, what batches
        # will not have answered by then goes by sync.
        batch = client.messages.batches.create(requests=rows, extra_headers={"x-flotilla-deadline": "10m"})
        while batch.processing_status != "ended":
            time.sleep(2)
            batch = client.messages.batches.retrieve(batch.id)
        answers, failed = {}, {}
        for line in client.messages.batches.results(batch.id):
            if line.result.type == "succeeded":
                answers[line.custom_id] = line.result.message.content[0].text
            else:
                failed[line.custom_id] = line.result
    print("answers:", len(answers), "failed:", len(failed))


if __name__ == "__main__":
    main()
