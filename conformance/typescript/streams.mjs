// Messages as server-sent events.

import assert from 'node:assert/strict';
import { WEATHER, all, check, client, say, sleep, textOf } from './suite.mjs';

check('stream_events', async () => {
  const events = await all(await client().messages.create(say('stream_events', { stream: true })));
  const kinds = events.map((e) => e.type);
  assert.deepEqual(kinds.slice(0, 2), ['message_start', 'content_block_start']);
  assert.deepEqual(kinds.slice(-3), ['content_block_stop', 'message_delta', 'message_stop']);
  return events;
});

check('stream_raw_bytes', async () => {
  const res = await client().messages.create(say('stream_raw_bytes', { stream: true })).asResponse();
  const text = await res.text();
  assert(text.includes('event: ping\n'));
  return { type: res.headers.get('content-type'), cache: res.headers.get('cache-control'), text };
});

check('stream_text', async () => {
  const stream = client().messages.stream(say('stream_text'));
  const parts = [];
  stream.on('text', (t) => parts.push(t));
  const m = await stream.finalMessage();
  assert(parts.length > 1);
  assert.equal(parts.join(''), textOf(m));
  return parts;
});

check('stream_final_message', async () => {
  const m = await client().messages.stream(say('stream_final_message')).finalMessage();
  assert.equal(m.stop_reason, 'end_turn');
  return m;
});

check('stream_helper_events', async () => {
  const seen = [];
  const stream = client().messages.stream(say('stream_helper_events'));
  for (const kind of ['connect', 'streamEvent', 'text', 'message', 'contentBlock', 'finalMessage', 'end']) {
    stream.on(kind, () => seen.push(kind));
  }
  await stream.done();
  return seen;
});

check('stream_forced_tool', async () => {
  const parts = [];
  const stream = client()
    .messages.stream(say('stream_forced_tool', { tools: [WEATHER], tool_choice: { type: 'any' } }))
    .on('inputJson', (part) => parts.push(part));
  const m = await stream.finalMessage();
  assert.deepEqual([m.stop_reason, m.content[0].input], ['tool_use', { city: 'sample', days: 2 }]);
  assert.deepEqual(JSON.parse(parts.join('')), m.content[0].input);
  return [parts, m];
});

check('stream_stop_sequence', async () => {
  const m = await client().messages.stream(say('count to four, streamed', { stop_sequences: ['STOP'] })).finalMessage();
  assert.deepEqual([m.stop_reason, m.stop_sequence, textOf(m)], ['stop_sequence', 'STOP', 'one two three ']);
  return m;
});

check('stream_unicode', async () => {
  const text = await client().messages.stream(say('привет, streamed')).finalText();
  assert.equal(text, 'Здравствуй, мир — 你好, Grüße 🌍 "quoted" \\ back');
  return text;
});

check('stream_headers', async () => {
  const { data, response, request_id } = await client()
    .messages.create(say('stream_headers', { stream: true }))
    .withResponse();
  const limits = [...response.headers.keys()].filter((n) => n.startsWith('anthropic-ratelimit-')).sort();
  assert(limits.length >= 9);
  return [limits, request_id, (await all(data)).length];
});

check('stream_aborted', async () => {
  const c = client();
  const stream = await c.messages.create(say('stream_aborted', { stream: true, max_tokens: 4000 }));
  let first;
  for await (const e of stream) {
    first = e.type;
    break; // leaving the loop aborts
  }
  return [first, stream.controller.signal.aborted, await c.messages.create(say('after stream_aborted'))];
});

check('stream_abort_event', async () => {
  const stream = client().messages.stream(say('stream_abort_event', { max_tokens: 4000 }));
  let aborted = false;
  stream.on('abort', () => (aborted = true));
  stream.on('connect', () => stream.abort());
  await stream.done().catch(() => {});
  assert(aborted && stream.aborted);
  return true;
});

check('stream_readable', async () => {
  const stream = await client().messages.create(say('stream_readable', { stream: true }));
  const text = await new Response(stream.toReadableStream()).text();
  return text.trim().split('\n').map((line) => JSON.parse(line).type);
});

check('stream_tee', async () => {
  const stream = await client().messages.create(say('stream_tee', { stream: true }));
  const [a, b] = stream.tee();
  const [x, y] = await Promise.all([all(a), all(b)]);
  assert.deepEqual(x, y);
  return x.length;
});

check('stream_beta', () =>
  client().beta.messages.stream({ ...say('stream_beta'), betas: ['some-beta-2026-01-01'] }).finalMessage(),
);

check('streams_at_once', async () => {
  const c = client();
  return Promise.all(
    Array.from({ length: 30 }, (_, i) => c.messages.stream(say(`streams_at_once ${i}`)).finalText()),
  );
});

check('stream_read_slowly', async () => {
  const stream = await client().messages.create(say('stream_read_slowly', { stream: true, max_tokens: 400 }));
  const kinds = [];
  for await (const e of stream) {
    kinds.push(e.type);
    await sleep(30);
  }
  assert.equal(kinds.at(-1), 'message_stop');
  return kinds;
});
