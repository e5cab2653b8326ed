// Message Batches.

import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import { MODEL, WEATHER, all, check, client, plain, raises, say, textOf, until } from './suite.mjs';

const row = (custom_id, text, more) => ({ custom_id, params: say(text, more) });

const ROWS = {
  small: () => Array.from({ length: 5 }, (_, i) => row(`row-${i}`, `batch small ${i}`)),
  faulty: () => [
    row('good', 'batch faulty'),
    { custom_id: 'no-model', params: { ...say('x'), model: 'claude-none-9' } },
    { custom_id: 'no-messages', params: { model: MODEL, max_tokens: 5 } },
    row('no-tokens', 'x', { max_tokens: 0 }),
    row('streamed', 'x', { stream: true }),
    row('tool', 'batch tool', { tools: [WEATHER], tool_choice: { type: 'any' } }),
    row('unicode', 'привет, batch'),
  ],
  deleted: () => [row('a', 'batch deleted')],
  canceled: () => Array.from({ length: 400 }, (_, i) => row(`c-${i}`, `batch canceled ${i}`)),
  large: () => Array.from({ length: 300 }, (_, i) => row(`l-${i}`, `batch large ${i}`)),
};

function once(f) {
  const known = new Map();
  return (name) => {
    if (!known.has(name)) known.set(name, f(name));
    return known.get(name);
  };
}

const begun = once((name) => client().messages.batches.create({ requests: ROWS[name]() }));

const ended = once(async (name) => {
  const { id } = await begun(name);
  return until('the batch ends', async () => {
    const b = await client().messages.batches.retrieve(id);
    return b.processing_status === 'ended' && b;
  });
});

const results = once(async (name) => {
  const lines = await all(await client().messages.batches.results((await ended(name)).id));
  return plain(Object.fromEntries(lines.map((l) => [l.custom_id, l.result]).sort()));
});

check('batch_create', async () => {
  for (const name of ['large', 'canceled', 'deleted', 'faulty']) await begun(name);
  const b = await begun('small');
  assert.deepEqual([b.type, b.processing_status, b.results_url, b.ended_at], ['message_batch', 'in_progress', null, null]);
  assert.equal(b.request_counts.processing, 5);
  assert.equal(new Date(b.expires_at) - new Date(b.created_at), 86400e3);
  return b;
});

check('batch_delete_in_progress', async () => {
  const { id } = await begun('large');
  return raises(() => client({ maxRetries: 0 }).messages.batches.delete(id));
});

check('batch_results_before_the_end', async () => {
  const { id } = await begun('large');
  return [
    await raises(() => client({ maxRetries: 0 }).messages.batches.results(id)),
    await raises(() => client({ maxRetries: 0 }).get(`/v1/messages/batches/${id}/results`)),
  ];
});

check('batch_cancel', async () => {
  const b = await client().messages.batches.cancel((await begun('canceled')).id);
  assert.equal(b.processing_status, 'canceling');
  return b;
});

check('batch_list', async () => {
  const ids = (await client().messages.batches.list({ limit: 100 })).data.map((b) => b.id);
  const ours = [];
  for (const name of ['small', 'faulty', 'deleted', 'canceled', 'large']) ours.push((await begun(name)).id);
  assert.deepEqual(ids.filter((i) => ours.includes(i)), ours);
  return true;
});

check('batch_pagination', async () => {
  const c = client();
  const page = await c.messages.batches.list({ limit: 2 });
  assert(page.has_more && page.hasNextPage());
  const second = await page.getNextPage();
  const back = await c.messages.batches.list({ limit: 2, before_id: second.data[0].id });
  assert.deepEqual(back.data.map((b) => b.id), page.data.map((b) => b.id));
  const seen = (await all(c.messages.batches.list({ limit: 2 }))).map((b) => b.id);
  assert.equal(seen.length, new Set(seen).size);
  return seen.includes((await begun('large')).id);
});

check('batch_ends', async () => {
  const b = await ended('small');
  assert.deepEqual([b.request_counts.succeeded, b.request_counts.processing], [5, 0]);
  return b;
});

check('batch_results', () => results('small'));

check('batch_row_errors', async () => {
  const got = await results('faulty');
  for (const bad of ['no-model', 'no-messages', 'no-tokens', 'streamed']) assert.equal(got[bad].type, 'errored');
  assert.deepEqual(got.tool.message.content[0].input, { city: 'sample', days: 2 });
  return [(await ended('faulty')).request_counts, got];
});

check('batch_results_raw', async () => {
  const res = await client().get(`/v1/messages/batches/${(await ended('small')).id}/results`).asResponse();
  const lines = (await res.text()).trim().split('\n').map((l) => JSON.parse(l));
  return [res.headers.get('content-type'), lines.length, lines.map((l) => Object.keys(l).sort())];
});

check('batch_of_hundreds', async () => {
  const got = Object.values(await results('large'));
  assert.equal(got.length, 300);
  return got.map((r) => textOf(r.message));
});

check('batch_canceled', async () => {
  const { request_counts: n } = await ended('canceled');
  assert.equal(n.canceled + n.succeeded, 400);
  assert(Object.values(await results('canceled')).every((r) => ['canceled', 'succeeded'].includes(r.type)));
  return true;
});

check('batch_delete', async () => {
  const c = client({ maxRetries: 0 });
  const { id } = await ended('deleted');
  const gone = await c.messages.batches.delete(id);
  assert.equal(gone.id, id);
  return [gone, await raises(() => c.messages.batches.retrieve(id)), await raises(() => c.messages.batches.delete(id))];
});

check('batch_unknown', async () => {
  const b = client({ maxRetries: 0 }).messages.batches;
  const nobody = 'msgbatch_01NOBODY';
  return [
    await raises(() => b.retrieve(nobody)),
    await raises(() => b.cancel(nobody)),
    await raises(() => b.delete(nobody)),
    await raises(() => b.results(nobody)),
  ];
});

const refused = (requests) => raises(() => client({ maxRetries: 0 }).messages.batches.create({ requests }));

check('batch_of_nothing', () => refused([]));
check('batch_duplicate_id', () => refused([row('a', 'x'), row('b', 'x'), row('a', 'y')]));
check('batch_bad_id', async () => [await refused([row('a b', 'x')]), await refused([row('a'.repeat(65), 'x')])]);

check('batch_list_bad_limit', () => raises(() => client({ maxRetries: 0 }).messages.batches.list({ limit: 0 })));

check('batch_wrong_key', async () => {
  const { id } = await begun('small');
  const c = new Anthropic({ baseURL: client().baseURL, apiKey: 'sk-ant-emulated-nobody', maxRetries: 0 });
  return raises(() => c.messages.batches.retrieve(id));
});
