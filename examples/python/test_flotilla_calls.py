"""Tests of flotilla_calls.py, against whatever ANTHROPIC_BASE_URL is (an emulator):
by the program, and by the official SDK through gateways that are started here.

    python -m unittest test_flotilla_calls
"""

import asyncio
import contextlib
import datetime
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.request

from flotilla_calls import FlotillaError, UnfinishedError, _until, dispatch_calls, judge_completions_batch

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


class Gateway(unittest.TestCase):
    def start(self, *args):
        """A gateway with a journal of its own, until the test ends."""
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.journal = scratch.name + "/journal.db"
        return self.open(*args)

    def open(self, *args):
        serve = subprocess.Popen(
            [os.environ.get("FLOTILLA_BIN", "flotilla"), "serve", "--listen", "127.0.0.1:0", "--log-level", "error", "--journal", self.journal, *args],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        self.addCleanup(serve.stdout.close)
        self.addCleanup(serve.wait)
        self.addCleanup(serve.terminate)
        self.serve = serve
        said = ""
        for line in serve.stdout:
            if found := re.match(r"listening on (\S+)", line):
                return found[1]
            said += line
        raise AssertionError(said)

    def test_sync(self):
        url = self.start()
        items = [{"id": ("a", i), "prompt": f"gate {i} in one word"} for i in range(50)] + [
            {"id": "bad", "messages": [{"role": "nobody", "content": "x"}]},
            {"custom_id": "r/1", "params": {"model": "claude-sonnet-4-6", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi, in one word"}]}},
        ]
        calls = {c.id: c for c in dispatch_calls(items, MODEL, base_url=url)}
        self.assertEqual(len(calls), 52)
        bad = calls.pop("bad")
        self.assertEqual((bad.error["type"], bad.response, bad.cost), ("invalid_request_error", None, 0))
        self.assertTrue(calls["r/1"].response["model"].startswith("claude-sonnet-4-6"))
        for c in calls.values():
            self.assertIsNone(c.error)
            self.assertIn(c.text, ("river", "mountain", "lake", "desert"))
            self.assertGreater(c.cost, 0)
            self.assertGreater(c.latency, 0)
            self.assertIn(c.org, ("high", "low", "batch"))
            self.assertEqual((c.tier, c.cached, c.stop_reason), ("sync", False, "end_turn"))

    def test_both_routes_say_the_same_cost(self):
        url = self.start()
        items = [f"dear {i} in one word" for i in range(10)]
        rates = {}  # of one call, by what it used: answers differ
        for calls in (
            dispatch_calls(items, MODEL, base_url=url), dispatch_calls(items, MODEL, journal=self.journal + ".2", **QUIET),
        ):
            for c in calls:
                used = c.response["usage"]
                rates.setdefault((used["input_tokens"], used["output_tokens"]), set()).add(c.cost)
        self.assertEqual({len(costs) for costs in rates.values()}, {1})

    def test_fields_of_a_body(self):
        tool = {"name": "weather", "input_schema": {"type": "object"}}
        item = {"id": "w", "messages": [{"role": "user", "content": "weather in Rome"}], "tools": [tool], "max_tokens": 99}
        (call,) = dispatch_calls([item], MODEL, params={"stop_sequences": ["{{if"]}, base_url=self.start())
        self.assertIsNone(call.error)
        self.assertEqual((call.stop_reason, call.response["content"][-1]["input"]), ("tool_use", {"city": "Rome"}))

    def test_in_completion_order(self):
        async def main(url):
            with slow(delay_ms=1500, org="high"):
                return [(c.id, c.org) async for c in dispatch_calls([f"order {i}" for i in range(90)], MODEL, base_url=url)]

        seen = asyncio.run(main(self.start()))
        self.assertEqual(sorted(id for id, _ in seen), list(range(90)))
        self.assertNotEqual(seen, sorted(seen))
        self.assertIn("high", {org for _, org in seen})

    def test_batch(self):
        rows = [f"cheap {i} in one word" for i in range(40)] + [{"id": "bad", "messages": [{"role": "nobody", "content": "x"}]}]
        calls = {c.id: c for c in dispatch_calls(rows, MODEL, cost_pref="cheap", base_url=self.start())}
        bad = calls.pop("bad")
        self.assertEqual((bad.error["type"], bad.cost), ("invalid_request_error", 0))
        self.assertEqual(sorted(calls), list(range(40)))
        for c in calls.values():
            used = c.response["usage"]
            self.assertEqual((c.tier, used["service_tier"], c.error), ("batch", "batch", None))
            self.assertIn(c.text, ("river", "mountain", "lake", "desert"))
            self.assertAlmostEqual(c.cost, (used["input_tokens"] + 5 * used["output_tokens"]) / 2e6, places=9)  # half of $1 and $5
            self.assertGreater(c.latency, 0)

    def test_a_cap(self):
        calls = []
        url = self.start("--max-spend", "0.5")
        items = [f"cap {i} " + 2000 * "x" for i in range(200)]
        with self.assertRaises(UnfinishedError) as raised:
            for call in dispatch_calls(items, "claude-opus-4-6", base_url=url):
                calls.append(call)
        self.assertEqual((raised.exception.code, raised.exception.pending), (3, 200 - len(calls)))
        self.assertGreater(len(calls), 0)
        self.assertLessEqual(sum(c.cost for c in calls), 0.5)

    def test_a_deadline(self):
        url = self.start()
        self.assertEqual(len(list(dispatch_calls(["in time"], MODEL, deadline="1m", base_url=url))), 1)
        with slow(delay_ms=1500), self.assertRaises(UnfinishedError) as raised:
            list(dispatch_calls([f"late {i}" for i in range(1500)], MODEL, deadline=1, base_url=url))
        self.assertEqual(raised.exception.code, 4)

    def test_again_by_the_cache(self):
        items = [f"kept {i} in one word" for i in range(20)]
        first = {c.id: c.text for c in dispatch_calls(items, MODEL, base_url=self.start("--cache"))}
        self.serve.terminate()
        self.serve.wait()
        before = asked()
        again = list(dispatch_calls(items, MODEL, base_url=self.open("--cache")))
        self.assertEqual({c.id: c.text for c in again}, first)
        self.assertEqual({(c.cost, c.cached) for c in again}, {(0, True)})
        self.assertEqual(asked(), before)

    def test_leaving_early(self):
        url, before = self.start(), asked()
        with slow():
            for _ in dispatch_calls([f"early {i}" for i in range(2000)], MODEL, base_url=url):
                break
        self.assertLess(asked() - before, 2000)

    def test_a_gateway_that_goes_away(self):
        url = self.start()
        calls = []
        with slow(), self.assertRaises(UnfinishedError) as raised:
            for call in dispatch_calls([f"gone {i}" for i in range(2000)], MODEL, base_url=url):
                calls.append(call)
                self.serve.send_signal(signal.SIGKILL)
        self.assertEqual((raised.exception.code, raised.exception.pending), (5, 2000 - len(calls)))

    def test_what_is_the_gateways(self):
        url = self.start()
        for name, value in (("max_spend", 5), ("journal", "j.db"), ("flags", ["--fresh"])):
            with self.assertRaisesRegex(FlotillaError, name + ".*flotilla serve"):
                list(dispatch_calls(["a"], MODEL, base_url=url, **{name: value}))
        with self.assertRaisesRegex(FlotillaError, "x-flotilla-prefer"):
            list(dispatch_calls(["a"], MODEL, cost_pref="dear", base_url=url))

    def test_no_gateway(self):
        with self.assertRaisesRegex(FlotillaError, "there is no gateway at http"):
            list(dispatch_calls(["a"], MODEL, base_url=os.environ["ANTHROPIC_BASE_URL"]))

    def test_a_script_under_serve(self):
        script = (
            "from flotilla_calls import *\n"
            f"print(*(c.tier for c in dispatch_calls(['one', 'two'], {MODEL!r})))\n"
            "try: judge_completions_batch([{'question': 'a', 'completion': 'b'}], 'coherence')\n"
            "except FlotillaError as e: print(e)\n"
        )
        self.start()
        out = subprocess.run(
            [os.environ.get("FLOTILLA_BIN", "flotilla"), "serve", "--journal", self.journal + ".2", "--", sys.executable, "-c", script],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True, cwd=pathlib.Path(__file__).parent,
        ).stdout.splitlines()
        self.assertEqual(out[0], "sync sync")
        self.assertIn("without flotilla serve", out[1])

    def test_deadlines_as_times(self):
        now = datetime.datetime.now().astimezone()
        for deadline, hours in ((5400, 1.5), ("1h30m", 1.5), ("90m", 1.5), (datetime.timedelta(hours=2), 2), (now + datetime.timedelta(hours=3), 3)):
            self.assertAlmostEqual((_until(deadline) - now).total_seconds() / 3600, hours, delta=0.1)
        self.assertEqual(_until("2026-12-01T00:00:00Z"), datetime.datetime(2026, 12, 1, tzinfo=datetime.timezone.utc))
        self.assertTrue(now < _until("08:00") <= now + datetime.timedelta(days=1, hours=1))
        with self.assertRaisesRegex(FlotillaError, "tomorrow"):
            _until("tomorrow")


if __name__ == "__main__":
    unittest.main()
