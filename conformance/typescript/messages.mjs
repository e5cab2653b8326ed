// Messages, not streamed; token counting; models.

import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import { BASE_URL, KEY, MODEL, WEATHER, all, check, client, say, textOf } from './suite.mjs';

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

check('create', async () => {
  const m = await client().messages.create(say('hello'));
  assert.deepEqual([m.type, m.role, m.stop_reason], ['message', 'assistant', 'end_turn']);
  assert(m.usage.output_tokens > 0 && textOf(m));
  return m;
});

check('create_with_system', async () => {
  const c = client();
  const m = await c.messages.create(say('create_with_system', { system: 'Be brief.' }));
  const n = await c.messages.create(
    say('create_with_system', { system: [{ type: 'text', text: 'Be brief. '.repeat(20) }] }),
  );
  assert(n.usage.input_tokens > m.usage.input_tokens);
  return [m, n];
});

check('create_multi_turn', () =>
  client().messages.create({
    model: MODEL,
    max_tokens: 100,
    messages: [
      { role: 'user', content: 'create_multi_turn' },
      { role: 'assistant', content: [{ type: 'text', text: 'Yes?' }] },
      { role: 'user', content: [{ type: 'text', text: 'Go' }, { type: 'text', text: 'on.' }] },
    ],
  }),
);

check('create_stop_sequence', async () => {
  const m = await client().messages.create(say('count to four', { stop_sequences: ['five', 'STOP'] }));
  assert.deepEqual([m.stop_reason, m.stop_sequence, textOf(m)], ['stop_sequence', 'STOP', 'one two three ']);
  return m;
});

check('create_max_tokens', async () => {
  const m = await client().messages.create(say('count to four', { max_tokens: 3 }));
  assert.deepEqual([m.stop_reason, m.usage.output_tokens], ['max_tokens', 3]);
  return m;
});

check('create_forced_tool', async () => {
  const m = await client().messages.create(
    say('create_forced_tool', { tools: [WEATHER], tool_choice: { type: 'tool', name: 'weather' } }),
  );
  assert.equal(m.stop_reason, 'tool_use');
  assert.deepEqual(m.content[0].input, { city: 'sample', days: 2 });
  return m;
});

check('create_tool_conversation', async () => {
  const c = client();
  const ask = { role: 'user', content: 'weather in Rome' };
  const m = await c.messages.create({ model: MODEL, max_tokens: 200, tools: [WEATHER], messages: [ask] });
  assert.deepEqual([m.stop_reason, m.content[0].input], ['tool_use', { city: 'Rome', days: 3 }]);
  const told = { role: 'user', content: [{ type: 'tool_result', tool_use_id: m.content[0].id, content: 'sunny' }] };
  const n = await c.messages.create({
    model: MODEL,
    max_tokens: 200,
    tools: [WEATHER],
    messages: [ask, { role: 'assistant', content: m.content }, told],
  });
  return [m, n];
});

check('create_with_metadata', () =>
  client().messages.create(say('create_with_metadata', { metadata: { user_id: 'u-1' }, service_tier: 'standard_only' })),
);

check('create_unicode', async () => {
  const m = await client().messages.create(say('привет 👋 \u2028 \u0000 ünï'));
  assert.equal(textOf(m), 'Здравствуй, мир — 你好, Grüße 🌍 "quoted" \\ back');
  return m;
});

check('create_big_body', async () => {
  const m = await client().messages.create({
    ...say('create_big_body ' + 'word '.repeat(600_000)),
    model: 'claude-sonnet-4-6',
  });
  assert(m.usage.input_tokens > 500_000);
  return m;
});

check('create_with_image', () =>
  client().messages.create(
    say([
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
      { type: 'text', text: 'create_with_image' },
    ]),
  ),
);

check('create_with_thinking', () =>
  client().messages.create({
    ...say('create_with_thinking', { thinking: { type: 'adaptive' }, max_tokens: 2000 }),
    model: 'claude-sonnet-4-6',
  }),
);

check('create_refused', async () => {
  const m = await client().messages.create(say('refuse this, create_refused'));
  assert.deepEqual([m.stop_reason, m.stop_details.type], ['refusal', 'refusal']);
  return m;
});

check('create_resolves_alias', async () => (await client().messages.create(say('alias'))).model);

check('create_old_version', () =>
  client().messages.create(
    { ...say('create_old_version'), temperature: 0.5 },
    { headers: { 'anthropic-version': '2023-06-01' } },
  ),
);

check('create_beta', () =>
  client().beta.messages.create({ ...say('create_beta'), betas: ['some-beta-2026-01-01', 'other-2026-02-02'] }),
);

check('create_by_bearer_token', () =>
  new Anthropic({ baseURL: BASE_URL, authToken: KEY, apiKey: null }).messages.create(say('create_by_bearer_token')),
);

check('create_extra_headers_and_query', () =>
  client().messages.create(say('extra'), { headers: { 'x-my-header': 'a' }, query: { trace: '1' } }),
);

check('cache_written_and_read', async () => {
  const block = { type: 'text', text: 'cached prefix '.repeat(3000), cache_control: { type: 'ephemeral' } };
  const ask = say('cache_written_and_read', { system: [block] });
  const first = (await client().messages.create(ask)).usage;
  const second = (await client().messages.create(ask)).usage;
  assert(first.cache_creation_input_tokens > 4000);
  assert.equal(second.cache_read_input_tokens, first.cache_creation_input_tokens);
  return [first, second];
});

check('equal_bodies_get_answers_of_their_own', async () => {
  const c = client();
  const texts = [];
  for (let i = 0; i < 3; i++) texts.push(textOf(await c.messages.create(say('equal_bodies'))));
  assert.equal(new Set(texts).size, 3);
  return texts;
});

check('raw_response_headers', async () => {
  const { data, response, request_id } = await client().messages.create(say('raw_response_headers')).withResponse();
  const limits = [...response.headers.keys()].filter((n) => n.startsWith('anthropic-ratelimit-')).sort();
  assert(limits.length >= 9);
  return {
    limits,
    request_id,
    organization: response.headers.get('anthropic-organization-id'),
    type: response.headers.get('content-type'),
    data,
  };
});

check('as_response', async () => {
  const res = await client().messages.create(say('as_response')).asResponse();
  return [res.status, await res.json()];
});

check('concurrent_fifty', async () => {
  const c = client();
  const got = await Promise.all(Array.from({ length: 50 }, (_, i) => c.messages.create(say(`concurrent_fifty ${i}`))));
  assert.equal(new Set(got.map((m) => m.id)).size, 50);
  return got.map(textOf);
});

check('one_client_many_calls', async () => {
  const c = client();
  const out = [];
  for (let i = 0; i < 20; i++) out.push((await c.messages.create(say(`one_client ${i}`))).usage.output_tokens);
  return out;
});

check('count_tokens', async () => {
  const c = client();
  const ask = { model: MODEL, messages: [{ role: 'user', content: 'count_tokens' }] };
  const few = await c.messages.countTokens(ask);
  const many = await c.messages.countTokens({ ...ask, tools: [WEATHER], system: 'You count.' });
  assert(many.input_tokens > few.input_tokens && few.input_tokens > 0);
  return [few, many];
});

check('models_list', async () => (await client().models.list({ limit: 50 })).data);

check('models_pagination', async () => {
  const ids = (await all(client().models.list({ limit: 3 }))).map((m) => m.id);
  const whole = (await client().models.list({ limit: 1000 })).data.map((m) => m.id);
  assert.deepEqual(ids, whole);
  return ids;
});

check('models_retrieve', () => client().models.retrieve('claude-sonnet-4-6'));

check('models_retrieve_alias', async () => {
  const m = await client().models.retrieve('claude-haiku-4-5');
  assert.equal(m.id, 'claude-haiku-4-5-20251001');
  return m;
});
