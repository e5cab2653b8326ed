"""Tests of flotilla_calls.py, against whatever ANTHROPIC_BASE_URL is (an emulator).

    python -m unittest test_flotilla_calls
"""

import asyncio
import contextlib
import datetime
import json
import os
import tempfile
import unittest
import urllib.request

from flotilla_calls import FlotillaError, UnfinishedError, dispatch_calls, judge_completions_batch

MODEL = "claude-haiku-4-5"
QUIET = {"progress": False}


def asked():
    """Messages that were asked of the emulator so far, and succeeded."""
    with urllib.request.urlopen(os.environ["ANTHROPIC_BASE_URL"] + "/emulator/stats") as stats:
        return json.load(stats)["succeeded"]


@contextlib.contextmanager
def slow(**more):
    """Answers come late, so that calls are under way when something happens."""
    url = os.environ["ANTHROPIC_BASE_URL"] + "/emulator/faults"
    fault = {"kind": "delay", "path": "/v1/messages", "delay_ms": 300, **more}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(fault).encode())) as made:
        id = json.load(made)["id"]
    try:
        yield
    finally:
        urllib.request.urlopen(urllib.request.Request(f"{url}/{id}", method="DELETE")).close()


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.journal = scratch.name + "/journal.db"

    def dispatch(self, items, **more):
        return dispatch_calls(items, more.pop("model", MODEL), journal=self.journal, **QUIET, **more)

    def judge(self, rows, *args, **more):
        return judge_completions_batch(rows, *args, journal=self.journal, **QUIET, **more)


class Dispatch(Case):
    def test_every_item_once_with_its_own_id(self):
        items = [{"id": ("a", i), "prompt": f"every {i} in one word"} for i in range(50)]
        calls = list(self.dispatch(items))
        self.assertEqual(sorted(c.id for c in calls), [("a", i) for i in range(50)])
        for c in calls:
            self.assertIsNone(c.error)
            self.assertIn(c.text, ("river", "mountain", "lake", "desert"))
            self.assertEqual(c.stop_reason, "end_turn")
            self.assertGreater(c.cost, 0)
            self.assertGreater(c.latency, 0)
            self.assertEqual((c.response["role"], c.tier), ("assistant", "sync"))

    def test_positions_are_ids(self):
        self.assertEqual({c.id for c in self.dispatch(["one", "two", "two"])}, {0, 1, 2})

    def test_two_of_one_id(self):
        with self.assertRaisesRegex(ValueError, "two items have the id 1"):
            self.dispatch([{"id": 1, "prompt": "a"}, {"id": "1", "prompt": "b"}])

    def test_nothing_to_do(self):
        self.assertEqual(list(self.dispatch([])), [])

    def test_texts_that_look_like_templates(self):
        # The rule of the emulator echoes what stands behind "colour of".
        item = {"prompt": "{{.x}} {{ \u2028 colour of grass"}
        calls = list(self.dispatch([item], system="You {{.are}}", params={"stop_sequences": ["{{if"], "temperature": 0.5}))
        self.assertEqual(json.loads(calls[0].text)["thing"], "grass")

    def test_fields_of_a_body(self):
        tool = {"name": "weather", "input_schema": {"type": "object"}}
        item = {"id": "w", "messages": [{"role": "user", "content": "weather in Rome"}], "tools": [tool], "max_tokens": 99}
        (call,) = self.dispatch([item])
        self.assertEqual((call.stop_reason, call.response["content"][-1]["input"]), ("tool_use", {"city": "Rome"}))
        self.assertEqual(call.text, "")

    def test_requests_of_the_batches_api(self):
        params = {"model": "claude-sonnet-4-6", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi, in one word"}]}
        (call,) = self.dispatch([{"custom_id": "r/1", "params": params}])
        self.assertEqual((call.id, call.response["model"]), ("r/1", "claude-sonnet-4-6"))

    def test_left_and_gone_through_again(self):
        calls = self.dispatch([f"twice {i}" for i in range(50)])
        next(iter(calls))
        self.assertEqual(len(list(calls)), 50)

    def test_again_costs_nothing(self):
        items = [f"again {i}" for i in range(20)]
        first = {c.id: c.text for c in self.dispatch(items)}
        before = asked()
        again = list(self.dispatch(items))
        self.assertEqual({c.id: c.text for c in again}, first)
        self.assertEqual(asked(), before)

    def test_a_failed_call_is_a_call(self):
        items = [{"id": "good", "prompt": "good"}, {"id": "bad", "messages": [{"role": "nobody", "content": "x"}]}]
        calls = {c.id: c for c in self.dispatch(items)}
        self.assertIsNone(calls["good"].error)
        self.assertEqual(calls["bad"].error["type"], "invalid_request_error")
        self.assertIsNone(calls["bad"].response)
        self.assertEqual(calls["bad"].text, "")

    def test_what_flotilla_will_not_do(self):
        with self.assertRaisesRegex(FlotillaError, "claude-none"):
            list(self.dispatch(["a"], model="claude-none"))
        with self.assertRaisesRegex(FlotillaError, "--prefer"):
            list(self.dispatch(["a"], cost_pref="dear"))

    def test_no_program(self):
        os.environ["FLOTILLA_BIN"] = "no-such-flotilla"
        self.addCleanup(os.environ.pop, "FLOTILLA_BIN")
        with self.assertRaisesRegex(FlotillaError, "no-such-flotilla"):
            list(self.dispatch(["a"]))

    def test_a_cap_keeps_what_there_is(self):
        items = [f"cap {i} " + 2000 * "x" for i in range(200)]
        calls = []
        with self.assertRaises(UnfinishedError) as raised:
            for call in self.dispatch(items, model="claude-opus-4-6", max_spend=0.5):
                calls.append(call)
        self.assertEqual(raised.exception.code, 3)
        self.assertEqual(raised.exception.pending, 200 - len(calls))
        self.assertIn("stopped at the cap", str(raised.exception))
        self.assertGreater(len(calls), 0)
        self.assertLessEqual(sum(c.cost for c in calls), 0.5)
        # More money, and the rest alone is asked.
        before = asked()
        self.assertEqual(len(list(self.dispatch(items, model="claude-opus-4-6", max_spend=5))), 200)
        self.assertEqual(asked() - before, 200 - len(calls))

    def test_deadlines(self):
        for deadline in (60, datetime.timedelta(minutes=1), datetime.datetime.now() + datetime.timedelta(minutes=1), "1m"):
            self.assertEqual(len(list(self.dispatch([f"until {deadline}"], deadline=deadline))), 1)
        with slow(delay_ms=1500), self.assertRaises(UnfinishedError) as raised:
            list(self.dispatch([f"late {i}" for i in range(500)], deadline=1, cost_pref="fast"))
        self.assertEqual(raised.exception.code, 4)

    def test_leaving_early(self):
        before = asked()
        with slow():
            for call in self.dispatch([f"early {i}" for i in range(2000)]):
                break
        self.assertLess(asked() - before, 2000)


class Async(Case):
    def run_async(self, coroutine):
        return asyncio.run(asyncio.wait_for(coroutine, 60))

    def test_beside_other_tasks(self):
        async def main():
            ticks = 0

            async def tick():
                nonlocal ticks
                while True:
                    ticks += 1
                    await asyncio.sleep(0.005)

            beside = asyncio.create_task(tick())
            with slow():
                seen = [c.id async for c in self.dispatch([f"beside {i}" for i in range(30)])]
            beside.cancel()
            self.assertEqual(sorted(seen), list(range(30)))
            self.assertGreater(ticks, 10)

        self.run_async(main())

    def test_in_completion_order(self):
        async def main():
            with slow(delay_ms=1500, org="high"):
                return [(c.id, c.org) async for c in self.dispatch([f"order {i}" for i in range(90)])]

        seen = self.run_async(main())[1:]  # the first goes alone, ahead of the others
        self.assertNotEqual(seen, sorted(seen))
        self.assertEqual({org for _, org in seen[-3:]}, {"high"})
        self.assertNotEqual({org for _, org in seen}, {"high"})

    def test_errors_come_through(self):
        async def main():
            async for _ in self.dispatch(["a"], model="claude-none"):
                pass

        with self.assertRaisesRegex(FlotillaError, "claude-none"):
            self.run_async(main())

    def test_cancelled(self):
        before = asked()

        async def main():
            first = asyncio.Event()

            async def go():
                async for _ in self.dispatch([f"cancelled {i}" for i in range(2000)]):
                    first.set()

            task = asyncio.create_task(go())
            await first.wait()
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        with slow():
            self.run_async(main())
        self.assertLess(asked() - before, 2000)


class Judge(Case):
    rows = [
        {"id": i, "question": "9 + 9?", "reference": "18", "completion": text, "truth": truth}
        for i, (text, truth) in enumerate([("18", True), ("17", False), ("It is 18.", True), ("81", True)])
    ]

    def test_against_labels(self):
        judged = self.judge(self.rows, "correctness", label="truth")
        self.assertEqual([v.id for v in judged.verdicts], [0, 1, 2, 3])
        self.assertEqual([v.label for v in judged.verdicts], ["correct", "incorrect", "correct", "incorrect"])
        self.assertEqual({v.model for v in judged.verdicts}, {"claude-sonnet-4-6"})
        self.assertEqual(judged.summary["judge"]["judges"][0]["agreement"]["accuracy"]["value"], 0.75)

    def test_rubrics_models_repeats(self):
        mine = {
            "name": "mine", "version": "1", "model": MODEL,
            "prompt": 'Rate {{.answer}}. Answer with {"score": N}, N from 0 to 100.', "verdict": {"form": "score"},
        }
        judged = self.judge(self.rows, ["coherence", mine], [MODEL, "claude-sonnet-4-6"], fields={"answer": "completion"}, repeats=2)
        keys = {(v.id, v.rubric, v.model, v.repeat) for v in judged.verdicts}
        self.assertEqual((len(keys), len(judged.verdicts)), (32, 32))
        self.assertEqual({v.status for v in judged.verdicts}, {"scored"})
        self.assertEqual(len(judged.summary["judge"]["comparisons"]), 6)
        with self.assertRaisesRegex(ValueError, "several verdicts"):
            judged.scores()

    def test_scores(self):
        scores = self.judge(self.rows, "coherence", MODEL).scores()
        self.assertEqual(list(scores), [0, 1, 2, 3])
        for score in scores.values():
            self.assertTrue(0 <= score <= 100)

    def test_a_rubric_that_is_none(self):
        with self.assertRaisesRegex(FlotillaError, "no-such-rubric"):
            self.judge(self.rows, "no-such-rubric")

    def test_nothing_to_judge(self):
        self.assertEqual(self.judge([], "coherence").verdicts, [])


if __name__ == "__main__":
    unittest.main()
