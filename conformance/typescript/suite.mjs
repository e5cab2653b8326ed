// What every check shares: where to ask, how results are made comparable. See
// ../python/suite.py, whose twin this is.

import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';

export const BASE_URL = process.env.CONFORMANCE_URL;
export const KEY = process.env.CONFORMANCE_KEY;
const EMULATOR = process.env.CONFORMANCE_EMULATOR;

export const MODEL = 'claude-haiku-4-5';

export const WEATHER = {
  name: 'weather',
  description: 'The weather of the next days.',
  input_schema: {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 2 } },
    required: ['city', 'days'],
  },
};

const checks = [];

export function check(name, f) {
  checks.push({ name, f });
}

export function client(more = {}) {
  return new Anthropic({ baseURL: BASE_URL, apiKey: KEY, maxRetries: 2, ...more });
}

export function say(text, more = {}) {
  return { model: MODEL, max_tokens: 200, messages: [{ role: 'user', content: text }], ...more };
}

export function textOf(message) {
  return message.content.map((b) => b.text ?? '').join('');
}

// Shapes: what may differ from run to run, and must be there all the same.
const SHAPES = [
  // The gateway says of a model that neither it nor the provider may know why.
  [/^(model: \S+) \(this gateway .*\)$/, '$1'],
  [/\b(msg|msgbatch|toolu|req|workerreq)_[A-Za-z0-9_]+/g, '<$1>'],
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)/g, '<time>'],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '<uuid>'],
  [/https?:\/\/(127\.0\.0\.1|localhost):\d+/g, '<host>'],
];

/** A value as JSON has it, with what differs from run to run replaced. */
export function plain(value) {
  return shaped(JSON.parse(JSON.stringify(value ?? null)));
}

function shaped(value) {
  if (Array.isArray(value)) return value.map(shaped);
  if (value && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, shaped(v)]));
  }
  if (typeof value !== 'string') return value;
  return SHAPES.reduce((s, [pattern, shape]) => s.replace(pattern, shape), value);
}

/** An error of the SDK, as a caller's code tells it from others. */
export function error(e) {
  const seen = { class: e.constructor.name };
  if (e instanceof Anthropic.APIError && e.status) {
    seen.status = e.status;
    seen.type = e.error?.error?.type;
    seen.message = e.error?.error?.message;
    seen.envelope = Object.keys(e.error ?? {}).sort();
    seen.request_id = e.requestID;
  }
  return plain(seen);
}

/** The error that something must raise. */
export async function raises(f) {
  try {
    await f();
  } catch (e) {
    if (e instanceof Anthropic.AnthropicError) return error(e);
    throw e;
  }
  throw new Error('no error was raised');
}

async function control(method, path, body) {
  const res = await fetch(EMULATOR + path, { method, body: body && JSON.stringify(body) });
  const text = await res.text();
  return text ? JSON.parse(text) : null;
}

/** A fault of the emulator for the time of a block. */
export async function fault(spec, f) {
  const made = await control('POST', '/emulator/faults', spec);
  try {
    return await f();
  } finally {
    await control('DELETE', '/emulator/faults/' + made.id);
  }
}

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

export async function until(what, f, seconds = 180) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const got = await f();
    if (got) return got;
    assert(Date.now() < end, `${what}: not within ${seconds} s`);
    await sleep(200);
  }
}

export async function all(iterable) {
  const out = [];
  for await (const x of iterable) out.push(x);
  return out;
}

async function run({ name, f }) {
  const line = { check: name };
  const start = Date.now();
  try {
    line.result = plain(await f());
    line.ok = true;
  } catch (e) {
    line.ok = false;
    line.error = `${e.constructor.name}: ${e.message}`;
    line.trace = e.stack;
  }
  line.ms = Date.now() - start;
  console.log(JSON.stringify(line));
  return line.ok;
}

export async function main(only) {
  let good = true;
  for (const c of checks) {
    if (!only || new RegExp(only).test(c.name)) good = (await run(c)) && good;
  }
  process.exit(good ? 0 : 1);
}
