"""What every check shares: where to ask, how results are made comparable.

A check is a function that returns what it saw. Two servers conform to each
other where they let all checks see the same, so what differs between two runs
of one server (ids, times, who answered) is replaced by its shape.
"""

import contextlib
import functools
import inspect
import json
import os
import re
import sys
import threading
import time
import traceback
import urllib.request

import anthropic

BASE_URL = os.environ["CONFORMANCE_URL"]
KEY = os.environ["CONFORMANCE_KEY"]
# The emulator that answers in the end, which faults are asked of.
EMULATOR = os.environ["CONFORMANCE_EMULATOR"]

MODEL = "claude-haiku-4-5"

checks = []


def check(f):
    checks.append(f)
    return f


@functools.cache
def client(**more):
    """A client that lives on: one that is forgotten closes its connections,
    and with them results that are still being read."""
    return fresh(**more)


def fresh(**more):
    return anthropic.Anthropic(base_url=BASE_URL, api_key=KEY, **{"max_retries": 2, **more})


def aclient(**more):
    more.setdefault("max_retries", 2)
    return anthropic.AsyncAnthropic(base_url=BASE_URL, api_key=KEY, **more)


def say(text, **more):
    return {"model": MODEL, "max_tokens": 200, "messages": [{"role": "user", "content": text}], **more}


# Shapes: what may differ from run to run, and must be there all the same.
SHAPES = [
    # The gateway says of a model that neither it nor the provider may know why.
    (re.compile(r"^(model: \S+) \(this gateway .*\)$"), r"\1"),
    (re.compile(r"\b(msg|msgbatch|toolu|req|workerreq)_[A-Za-z0-9_]+"), r"<\1>"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)"), "<time>"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<uuid>"),
    (re.compile(r"https?://(127\.0\.0\.1|localhost):\d+"), "<host>"),
]


def plain(value):
    """A value as JSON has it, with what differs from run to run replaced."""
    if hasattr(value, "to_dict"):
        value = value.to_dict(mode="json")
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, str):
        for pattern, shape in SHAPES:
            value = pattern.sub(shape, value)
    return value


def error(e):
    """An exception of the SDK, as a caller's code tells it from others."""
    seen = {"class": type(e).__name__}
    if isinstance(e, anthropic.APIStatusError):
        body = e.body if isinstance(e.body, dict) else {}
        detail = body.get("error", {})
        seen.update(
            status=e.status_code,
            type=detail.get("type"),
            message=detail.get("message"),
            envelope=sorted(body),
            request_id=plain(e.request_id),
        )
    return plain(seen)


@contextlib.contextmanager
def raises(seen, name="error"):
    """Runs a block that must raise an error of the SDK, and keeps it in seen."""
    try:
        yield
    except anthropic.AnthropicError as e:
        seen[name] = error(e)
        return
    raise AssertionError("no error was raised")


def eq(got, want, what=""):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


def control(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    req = urllib.request.Request(EMULATOR + path, data=data, method=method)
    with urllib.request.urlopen(req) as res:
        text = res.read()
    return json.loads(text) if text else None


@contextlib.contextmanager
def fault(**spec):
    """A fault of the emulator for the time of a block."""
    made = control("POST", "/emulator/faults", spec)
    try:
        yield
    finally:
        control("DELETE", "/emulator/faults/" + made["id"])


def until(what, f, seconds=180):
    """Asks until f gives something true."""
    end = time.monotonic() + seconds
    while True:
        got = f()
        if got:
            return got
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(0.2)


out = threading.Lock()


def run(f):
    line = {"check": f.__name__}
    start = time.monotonic()
    try:
        got = f()
        if inspect.iscoroutine(got):
            import asyncio

            got = asyncio.run(got)
        line.update(ok=True, result=json.loads(json.dumps(plain(got))))
    except Exception as e:  # a check that fails is told like any other
        line.update(ok=False, error=f"{type(e).__name__}: {e}", trace=traceback.format_exc())
    line["ms"] = round((time.monotonic() - start) * 1000)
    with out:
        print(json.dumps(line, ensure_ascii=False), flush=True)
    return line["ok"]


def main():
    only = re.compile(sys.argv[1]) if len(sys.argv) > 1 else None
    good = [run(f) for f in checks if only is None or only.search(f.__name__)]
    sys.exit(0 if all(good) else 1)
