"""Many Claude calls from Python, carried by the flotilla program. Copy this file.

    for call in dispatch_calls(["Name a river.", "Name a lake."], "claude-haiku-4-5"):
        print(call.id, call.text, call.latency, call.cost)

    async for call in dispatch_calls(items, model, deadline="2h", cost_pref="cheap"):
        ...

    judged = judge_completions_batch(rows, "correctness", label="correct")
    print(judged.summary["judge"]["judges"][0]["total"])

It needs Python 3.9 and `flotilla` on the PATH (FLOTILLA_BIN names another place),
and no package. Keys are taken from the environment, as by `flotilla run`: this is
for where the keys are. A program that has only a gateway (ANTHROPIC_BASE_URL of
`flotilla serve`) uses the SDK: sdk_sync.py, sdk_batch.py. Each call of a function is
a job in the journal: run again, with the same arguments, it goes on where it was
stopped and pays for nothing twice.
"""

import asyncio
import contextlib
import dataclasses
import datetime
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
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
    cost: float  # US dollars, 0 where the journal had the answer
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

    def __init__(self, *job):
        self._of = job

    def __iter__(self):
        job = _Job(*self._of)
        with contextlib.closing(job.lines()) as lines:
            for line in lines:
                yield job.call(line)

    async def __aiter__(self):
        job = _Job(*self._of)
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
    max_tokens=1024, system=None, params=None, max_spend=None, journal=None, progress=True, flags=(),
):
    """Carries each item to a result, over all orgs, by sync calls or batches.

    Gives an iterable, also an async one, of Call in completion order. Leaving it
    early stops the job; what was answered stays in the journal.

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
    return _Calls(args, rows, ids, progress)


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
    The others are as of dispatch_calls.
    """
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
