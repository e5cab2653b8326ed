"""Many Claude calls from Python, carried by flotilla. Copy this file.

    for call in dispatch_calls(["Name a river.", "Name a lake."], "claude-haiku-4-5"):
        print(call.id, call.text, call.latency, call.cost)

    async for call in dispatch_calls(items, model, deadline="2h", cost_pref="cheap"):
        ...

    judged = judge_completions_batch(rows, "correctness", label="correct")
    print(judged.summary["judge"]["judges"][0]["total"])

Where the keys are it runs the program: `flotilla` on the PATH (FLOTILLA_BIN names
another place), Python 3.9 and no package. Keys are taken from the environment, as by
`flotilla run`. Each call of a function is a job in the journal: run again, with the
same arguments, it goes on where it was stopped and pays for nothing twice.

Where there is a gateway (ANTHROPIC_BASE_URL of `flotilla serve -- python …`, or
base_url) dispatch_calls goes through it by the official SDK, `pip install anthropic`.
Caps and the journal are the gateway's there: `flotilla serve --cache --max-spend 5`.
The version of the API is the SDK's; some fields of a body are of older ones alone.
"""

import asyncio
import contextlib
import dataclasses
import datetime
import json
import os
import pathlib
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from typing import Any, Optional


class FlotillaError(Exception):
    """flotilla could not do it: bad arguments, bad rows, no key, a broken disk."""


class UnfinishedError(FlotillaError):
    """Some rows have no result: a cap, a deadline, closed lanes, an interrupt.

    It is raised behind the results that there are. The same call, with more money or
    time, goes on. code is flotilla's exit code (3 cap, 4 deadline, 5 lanes closed,
    130 interrupted), pending the number of rows left.
    """

    def __init__(self, text, code, pending):
        super().__init__(text)
        self.code, self.pending = code, pending


@dataclasses.dataclass(frozen=True)
class Call:
    """One settled call. A call that failed is one, too: look at error."""

    id: Any  # as it came in
    response: Optional[dict]  # the Message as the API sent it; None: there is none
    latency: Optional[float]  # seconds
    cost: Optional[float]  # US dollars, 0 where the journal had the answer; None: in doubt
    error: Optional[dict]  # the API's error; of an expired or canceled call only its type
    org: Optional[str]
    tier: Optional[str]  # sync or batch
    cached: bool

    @property
    def text(self):
        """The text of the answer, of all its blocks; empty without one."""
        return "".join(b["text"] for b in (self.response or {}).get("content", []) if b["type"] == "text")

    @property
    def stop_reason(self):
        """end_turn, max_tokens (the answer is cut), refusal …; None without an answer."""
        return (self.response or {}).get("stop_reason")


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What one judge said of one completion. Only a scored one has a score or label."""

    id: Any
    status: str  # scored, truncated, refused, unparsable, failed
    score: Optional[float]
    label: Optional[str]
    rubric: str
    model: str
    repeat: int  # 1…K of repeats, 0 without
    why: Optional[str]  # the reason where there is no score
    raw: str  # what the judge said
    cost: float


@dataclasses.dataclass(frozen=True)
class Judgement:
    """All verdicts, in the order of the completions, and flotilla's summary of them."""

    verdicts: list
    summary: dict  # summary["judge"] has means, intervals, agreement (docs/judge.md); of no rows {}

    def scores(self):
        """Score by id, of one judge without repeats; None where there is no score."""
        scores = {v.id: v.score for v in self.verdicts}
        if len(scores) != len(self.verdicts):
            raise ValueError("several verdicts for an id: look at verdicts")
        return scores


class _Calls:
    """What dispatch_calls gives. A second time, answers come from the journal."""

    def __init__(self, start):
        self._start = start  # gives a _Job or a _Gate

    def __iter__(self):
        job = self._start()
        with contextlib.closing(job.lines()) as lines:
            for line in lines:
                yield job.call(line)

    async def __aiter__(self):
        job = await asyncio.to_thread(self._start)
        lines, end = job.lines(), object()
        step = None
        try:
            while True:
                # Reading blocks, so a thread does it. Shielded: when this task is
                # cancelled the thread still reads, until stop ends the process.
                step = asyncio.ensure_future(asyncio.to_thread(next, lines, end))
                line = await asyncio.shield(step)
                if line is end:
                    return
                yield job.call(line)
        finally:
            if step is not None and not step.done():
                job.stop()
                await asyncio.wait([step])
                step.exception()
            await asyncio.to_thread(lines.close)


def dispatch_calls(
    items, model, deadline=None, cost_pref="balanced", *,
    max_tokens=1024, system=None, params=None, max_spend=None, journal=None, progress=True, flags=(), base_url=None,
):
    """Carries each item to a result, over all orgs, by sync calls or batches.

    Gives an iterable, also an async one, of Call in completion order. Leaving it
    early stops the job; what was answered stays in the journal.

    By way of a gateway, cheap, or more than 10,000 items, go as Message Batches, the
    rest as sync calls. A batch's rows come when it has ended, do not say their org,
    and have its latency; unless cost_pref is fast, or there is a deadline, they go by
    batch alone, which may take hours.

    items      texts; or dicts with prompt or messages (and any other field of a
               Messages body) and with id, unique as text; or requests as of the
               Batches API (custom_id, params). Without an id the position counts,
               from 0
    deadline   seconds, a timedelta, a datetime, or as flotilla has it ("2h", "08:00");
               nothing is sent after it
    cost_pref  fast, balanced or cheap
    max_tokens, system, params  for items that do not say; params is a dict of any
               other fields of a body: temperature, tools, thinking, output_config …
    max_spend  a cap in dollars, never gone over
    journal    its file; otherwise the nearest .flotilla
    progress   False: flotilla says nothing on standard error
    flags      more flags of flotilla run, such as ["--tier", "batch"]
    base_url   of a gateway; otherwise ANTHROPIC_BASE_URL, where that is one, and
               else there is none. Then max_spend, journal and flags are refused:
               they are set where the gateway is started
    """
    common = {"model": model, "max_tokens": max_tokens, **({} if system is None else {"system": system}), **(params or {})}
    rows, ids = [], {}
    for i, item in enumerate(items):
        body = {"prompt": item} if isinstance(item, str) else dict(item)
        original = body.pop("id", body.pop("custom_id", i))
        known = _name(ids, original)
        if "params" in body:  # a request of the Batches API
            body = dict(body["params"])
        if "prompt" in body:
            body["messages"] = [{"role": "user", "content": body.pop("prompt")}]
        rows.append({"custom_id": known, "params": {**common, **body}})
    args = ["run", "-", *_route(deadline, cost_pref, max_spend, journal), *flags]

    def start():
        url = _gateway(base_url)
        if url is None:
            return _Job(args, rows, ids, progress)
        for name, given in (("max_spend", max_spend is not None), ("journal", journal is not None), ("flags", flags)):
            if given:
                raise FlotillaError(f"{name} is not for calls by way of a gateway: set it where that is started, by flotilla serve")
        return _Gate(url, rows, list(ids.values()), _until(deadline), cost_pref)

    return _Calls(start)


def judge_completions_batch(
    completions, rubric, model=None, *, by=None, label=None, repeats=1, swap=False, fields=None,
    deadline=None, cost_pref="balanced", max_spend=None, journal=None, progress=True, flags=(),
):
    """Judges each completion by each rubric and model, and gives a Judgement.

    completions  dicts with the fields that the rubric reads (most often question and
                 completion) and with id; without one the position counts, from 0
    rubric       a built-in's name, a file, a dict in the form of such a file, or a
                 list of these
    model        the judge, or a list of them; None: the rubric's own
    by, label    fields to group by, and to compare verdicts with
    repeats      verdicts for each completion by each judge
    swap         judge pairs in both orders; both verdicts are in verdicts
    fields       {"completion": "answer"}: your rows call completion answer
    The others are as of dispatch_calls. It runs `flotilla judge`, by the keys of its
    environment: not behind a gateway, where there are none.
    """
    if _gateway(None) is not None:
        raise FlotillaError(
            "judge_completions_batch runs flotilla judge, which wants the orgs' keys, and ANTHROPIC_BASE_URL is a gateway: "
            "judge in a program of its own, where the keys are, without flotilla serve before it"
        )
    rows, ids = [], {}
    for i, row in enumerate(completions):
        rows.append({**row, "custom_id": _name(ids, row.get("id", row.get("custom_id", i)))})
    with tempfile.TemporaryDirectory(prefix="flotilla") as scratch:
        summary = pathlib.Path(scratch, "summary.json")
        args = ["judge", "-", "--summary", str(summary)]
        for i, r in enumerate(rubric if isinstance(rubric, list) else [rubric]):
            if isinstance(r, dict):  # JSON is YAML
                file = pathlib.Path(scratch, f"rubric-{i}.yaml")
                file.write_text(json.dumps(r, indent=1))
                r = str(file)
            args += ["--rubric", r]
        for m in [model] if isinstance(model, str) else model or []:
            args += ["--model", m]
        for flag, value in (("--by", by), ("--label", label)):
            args += [flag, value] if value else []
        for name, field in (fields or {}).items():
            args += ["--field", f"{name}={field}"]
        args += ["--swap"] if swap else []
        args += ["--repeats", str(repeats)] if repeats > 1 else []
        args += _route(deadline, cost_pref, max_spend, journal) + list(flags)
        job = _Job(args, rows, ids, progress)
        verdicts = [job.verdict(line) for line in job.lines()]
        told = json.loads(summary.read_text()) if rows else {}
    place = {original: i for i, original in enumerate(ids.values())}
    verdicts.sort(key=lambda v: place[v.id])
    return Judgement(verdicts, told)


_UNFINISHED = {3: "stopped at the cap", 4: "the deadline passed", 5: "every lane is closed", 130: "interrupted"}


def _name(ids, original):
    """The id of a row for flotilla, which wants text, and each once."""
    known = str(original)
    if known in ids:
        raise ValueError(f"two items have the id {known}")
    ids[known] = original
    return known


def _route(deadline, cost_pref, max_spend, journal):
    args = ["--prefer", cost_pref]
    if isinstance(deadline, datetime.datetime):
        deadline = deadline.astimezone().isoformat(timespec="seconds")
    elif isinstance(deadline, datetime.timedelta):
        deadline = f"{deadline.total_seconds():.3f}s"
    elif isinstance(deadline, (int, float)):
        deadline = f"{deadline:.3f}s"
    args += ["--deadline", deadline] if deadline is not None else []
    args += ["--max-spend", str(max_spend)] if max_spend is not None else []
    args += ["--journal", str(journal)] if journal is not None else []
    return args


def _until(deadline):
    """A deadline as a time, whatever its form; None: there is none."""
    now = datetime.datetime.now().astimezone()
    if deadline is None:
        return None
    if isinstance(deadline, datetime.datetime):
        return deadline.astimezone()
    if isinstance(deadline, (int, float)):
        deadline = datetime.timedelta(seconds=deadline)
    if isinstance(deadline, datetime.timedelta):
        return now + deadline
    if re.fullmatch(r"([0-9.]+(ms|[hms]))+", deadline):
        unit = {"h": 3600, "m": 60, "s": 1, "ms": 0.001}
        return now + datetime.timedelta(seconds=sum(float(n) * unit[u] for n, u in re.findall(r"([0-9.]+)(ms|[hms])", deadline)))
    try:
        if re.fullmatch(r"\d?\d:\d\d", deadline):  # the next time that it is so late
            hour, minute = map(int, deadline.split(":"))
            at = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
            return at if at > now else at + datetime.timedelta(days=1)
        return datetime.datetime.fromisoformat(re.sub("[Zz]$", "+00:00", deadline)).astimezone()
    except ValueError as e:
        raise FlotillaError(f"deadline {deadline!r} is no time such as 2h, 08:00 or 2026-11-30T12:00:00Z") from e


def _gateway(base_url):
    """The URL of the gateway that is there; None: there is none."""
    url = (base_url or os.environ.get("ANTHROPIC_BASE_URL") or "").rstrip("/")
    told = None
    with contextlib.suppress(OSError, ValueError):
        try:
            with urllib.request.urlopen(url + "/readyz", timeout=5) as answer:
                told = json.load(answer)
        except urllib.error.HTTPError as e:  # 503: it is one that takes nothing now
            with e:
                told = json.load(e)
    if isinstance(told, dict) and "ready" in told:
        return url
    if base_url:
        raise FlotillaError(f"there is no gateway at {base_url}: {url}/readyz does not say so")
    return None


class _Job:
    """One run of the program: rows go in, lines come out as they settle."""

    def __init__(self, args, rows, ids, progress):
        self.args, self.rows, self.ids, self.progress = args, rows, ids, progress
        self.process = None
        self.stopping = False
        self.said = []  # its errors and hints

    def call(self, line):
        result, f = line["result"], line["flotilla"]
        kind = result["type"]
        error = None if kind == "succeeded" else result.get("error", {}).get("error", {"type": kind})
        latency = f.get("latency_ms")
        return Call(
            id=self.ids[line["custom_id"]], response=result.get("message"), error=error,
            latency=None if latency is None else latency / 1000, cost=f.get("cost_usd") or 0.0,
            org=f.get("org"), tier=f.get("tier"), cached=bool(f.get("cached")),
        )

    def verdict(self, line):
        v = line["verdict"]
        names = ("status", "score", "label", "rubric", "model", "repeat", "why", "raw")
        return Verdict(
            id=self.ids[line["custom_id"]], cost=(line.get("flotilla") or {}).get("cost_usd") or 0.0,
            **{name: v.get(name) for name in names},
        )

    def lines(self):
        if not self.rows:
            return
        program = os.environ.get("FLOTILLA_BIN", "flotilla")
        try:
            # A session of its own: a Ctrl-C reaches us alone, and we stop it.
            self.process = subprocess.Popen(
                [program, *self.args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except FileNotFoundError as e:
            raise FlotillaError(f"there is no program {program}: put flotilla on the PATH, or set FLOTILLA_BIN") from e
        listener = threading.Thread(target=self._listen, daemon=True)
        listener.start()
        settled = set()
        if self.stopping:  # by another thread, before there was a process
            self.stop()
        try:
            self._feed()
            for line in self.process.stdout:  # bytes: a line ends at LF, whatever stands in it
                row = json.loads(line)
                settled.add(row["custom_id"])
                yield row
        except BaseException:  # the loop was left, too
            self.stop()
            raise
        finally:
            self.process.stdout.read()
            code = self.process.wait()
            listener.join()
            self.process.stdout.close()
            self.process.stderr.close()
        if code in (0, 2):  # 2: finished; rows that failed say so themselves
            return
        if code in _UNFINISHED:
            pending = len(self.rows) - len(settled)
            text = "\n".join([f"{_UNFINISHED[code]}: {pending} of {len(self.rows)} rows pending", *self.said])
            raise UnfinishedError(text, code, pending)
        raise FlotillaError("\n".join(self.said) or f"flotilla ended with {code}")

    def stop(self):
        """Lets what is in flight settle, for 20 s at most; nothing new is sent."""
        self.stopping = True
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def _feed(self):
        with contextlib.suppress(BrokenPipeError), self.process.stdin as to:
            for row in self.rows:
                to.write(json.dumps(row).encode() + b"\n")

    def _listen(self):
        for line in self.process.stderr:
            text = line.decode(errors="replace")
            if text.startswith(("flotilla: error: ", "flotilla: hint: ")):
                self.said.append(text.rstrip().removeprefix("flotilla: "))
            if self.progress:
                sys.stderr.write(text)


_AT_ONCE = 500  # calls that wait at the gateway; the SDK has 1,000 connections
_MANY = 10_000  # items, beyond which they go by batches, and rows of one
_BATCH_BYTES = 100 << 20  # of one; the API takes 256 MB
_POLL = 2.0  # seconds between looks at a batch
_TIMEOUT = 3600.0  # seconds; the gateway lets a call wait for nine tenths of it


class _Gate:
    """One run by way of a gateway: the official SDK, in a thread with a loop of its own."""

    def __init__(self, url, rows, ids, until, cost_pref):
        try:
            import anthropic
        except ImportError as e:
            raise FlotillaError("calls by way of a gateway go by the official SDK: pip install anthropic") from e
        self.sdk, self.url, self.ids, self.until = anthropic, url, ids, until
        self.rows = [{"custom_id": str(i), "params": row["params"]} for i, row in enumerate(rows)]
        self.batches = cost_pref == "cheap" or len(rows) > _MANY
        self.headers = {"x-flotilla-prefer": cost_pref}
        if cost_pref != "fast":
            self.headers["x-flotilla-priority"] = "bulk"  # people's calls go first
        if until is not None:
            self.headers["x-flotilla-deadline"] = until.isoformat(timespec="seconds")
        self.out = queue.SimpleQueue()  # of Call; None: that was all
        self.settled, self.halt, self.error = 0, None, None
        self.stopping, self.cancel, self.lock = False, None, threading.Lock()

    def call(self, call):
        return call

    def lines(self):
        if not self.rows:
            return
        thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        thread.start()
        try:
            while (call := self.out.get()) is not None:
                yield call
        finally:
            self.stop()  # the loop was left, or there is nothing to stop
            thread.join()
        if self.error is not None:
            raise self.error
        if self.halt is not None:
            code, why = self.halt
            pending = len(self.rows) - self.settled
            raise UnfinishedError(f"{_UNFINISHED[code]}: {pending} of {len(self.rows)} rows pending\n{why}", code, pending)

    def stop(self):
        """Takes back what is under way: it leaves the gateway's queue, batches are cancelled."""
        with self.lock:
            if not self.stopping and self.cancel is not None:
                self.cancel()
            self.stopping = True

    async def _run(self):
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        with self.lock:
            self.cancel = lambda: loop.call_soon_threadsafe(task.cancel)
            stopping = self.stopping
        named = os.environ.get("ANTHROPIC_API_KEY") or os.environ.get("ANTHROPIC_AUTH_TOKEN")
        try:
            # Retries stay as they are: the gateway's come first (docs/sdks.md).
            async with self.sdk.AsyncAnthropic(
                base_url=self.url, timeout=_TIMEOUT, **({} if named else {"api_key": "any"})
            ) as client:
                if not stopping:
                    await (self._by_batch if self.batches else self._by_sync)(client)
        except asyncio.CancelledError:
            pass
        except self.sdk.APIConnectionError as e:
            self.halt = (5, f"the gateway at {self.url} does not answer: {e.__cause__ or e}")
        except BaseException as e:
            self.error = e
        finally:
            with self.lock:
                self.cancel = None
            self.out.put(None)

    async def _together(self, work):
        """Carries coroutines out; when one fails, or we are stopped, the others are cancelled."""
        tasks = [asyncio.ensure_future(w) for w in work]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _by_sync(self, client):
        rows = iter(self.rows)

        async def one_by_one():
            for row in rows:  # the same for all
                if self.halt is not None:
                    return
                await self._ask(client, row)

        await self._together(one_by_one() for _ in range(min(_AT_ONCE, len(self.rows))))

    async def _ask(self, client, row):
        body = dict(row["params"])
        known = {name: body.pop(name, None) for name in ("model", "max_tokens", "messages")}
        body.pop("stream", None)  # answers are whole here
        try:
            raw = await client.messages.with_raw_response.create(**known, extra_body=body, extra_headers=self.headers)
        except self.sdk.APIStatusError as e:
            self._refused(e, row)
            return
        answer = raw.http_response
        waited = int(answer.headers.get("x-flotilla-queue-ms", 0)) / 1000
        self._settle(
            row["custom_id"], answer.headers, tier="sync", response=answer.json(), latency=max(answer.elapsed.total_seconds() - waited, 0.0),
        )

    def _refused(self, e, row=None):
        """An error is a result, but where the gateway says that there is none yet."""
        body = e.body if isinstance(e.body, dict) else {}
        error = body.get("error") or {"type": "api_error", "message": str(e)}
        own = str(body.get("request_id")).startswith("req_flotilla_")
        late = self.until is not None and self.until <= datetime.datetime.now().astimezone()
        if e.status_code == 401:
            raise FlotillaError(f"the gateway at {self.url} does not take the key: {error['message']}") from e
        if own and error["type"] == "billing_error":
            self.halt = (3, error["message"])
        elif own and late and e.status_code in (400, 429, 529):
            self.halt = (4, error["message"])
        elif own and e.status_code in (429, 529):
            self.halt = (5, error["message"])
        elif row is None or own and error["message"].startswith("x-flotilla-"):
            raise FlotillaError(error["message"]) from e
        else:
            # In doubt from 500 up, where the gateway does not know it either.
            self._settle(row["custom_id"], e.response.headers, tier="sync", error=error, cost=0.0 if e.status_code < 500 else None)

    async def _by_batch(self, client):
        chunks, size = [[]], 0
        for row in self.rows:
            n = len(json.dumps(row))
            if len(chunks[-1]) == _MANY or chunks[-1] and size + n > _BATCH_BYTES:
                chunks.append([])
                size = 0
            chunks[-1].append(row)
            size += n
        await self._together(self._batch(client.messages.batches, chunk) for chunk in chunks)

    async def _batch(self, batches, rows):
        try:
            await self._carry(batches, await batches.create(requests=rows, extra_headers=self.headers))
        except self.sdk.APIStatusError as e:
            self._refused(e)

    async def _carry(self, batches, batch):
        """Waits for a batch and takes its rows."""
        began, late = time.monotonic(), False
        try:
            while batch.processing_status != "ended":
                await asyncio.sleep(_POLL)
                if not late and self.until is not None and self.until <= datetime.datetime.now().astimezone():
                    late = True
                    await batches.cancel(batch.id)
                batch = await batches.retrieve(batch.id)
        except asyncio.CancelledError:
            await batches.cancel(batch.id)
            raise
        latency = time.monotonic() - began
        told = [line.to_dict() async for line in await batches.results(batch.id, extra_query={"flotilla": "costs"})]
        costs = {line["custom_id"]: line["cost_usd"] for line in told}
        async for line in await batches.results(batch.id):
            self._row(line.custom_id, line.result.to_dict(), late, latency, costs.get(line.custom_id, 0.0))

    def _row(self, id, result, late, latency, cost):
        if result["type"] == "succeeded":
            tier = "batch" if result["message"]["usage"].get("service_tier") == "batch" else "sync"
            self._settle(id, {}, tier=tier, response=result["message"], latency=latency, cost=cost)
            return
        error = result.get("error", {}).get("error", {"type": result["type"]})
        if error["type"] == "billing_error":
            self.halt = (3, error["message"])
        elif error["type"] == "canceled" and late:
            self.halt = (4, "the batch was cancelled then")
        else:
            self._settle(id, {}, error=error, cost=cost)

    def _settle(self, id, headers, *, cost=None, response=None, latency=None, error=None, tier=None):
        self.settled += 1
        told = headers.get("x-flotilla-cost-usd")
        self.out.put(Call(
            id=self.ids[int(id)], response=response, error=error, latency=latency, cost=cost if told is None else float(told),
            org=headers.get("x-flotilla-org"), tier=tier, cached=headers.get("x-flotilla-cached") == "true",
        ))
