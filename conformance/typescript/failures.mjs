// What goes wrong, and what a caller's code sees of it.

import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import { BASE_URL, MODEL, check, client, fault, raises, say, sleep } from './suite.mjs';

const impatient = () => client({ maxRetries: 0 });
const failing = (body) => raises(() => impatient().messages.create(body));

check('error_without_max_tokens', () => failing({ model: MODEL, messages: [{ role: 'user', content: 'x' }] }));
check('error_no_messages', () => failing({ model: MODEL, max_tokens: 5, messages: [] }));
check('error_role', () => failing({ ...say('x'), messages: [{ role: 'robot', content: 'x' }] }));
check('error_unknown_field', () => failing({ ...say('x'), no_such_field: 1 }));
check('error_temperature', () => failing({ ...say('x'), temperature: 0.5 }));
check('error_prompt_too_long', () => failing(say('word '.repeat(250_000))));
check('error_unknown_model', () => failing({ ...say('x'), model: 'claude-none-9' }));
check('error_no_permission', () => failing({ ...say('x'), model: 'claude-mythos-5-2' }));

check('error_body_too_large', async () => {
  const e = await failing(say('x'.repeat(33 << 20)));
  delete e.envelope; // the provider's comes from before the API, without type and id
  delete e.request_id;
  return e;
});

check('error_wrong_key', async () => {
  const c = new Anthropic({ baseURL: BASE_URL, apiKey: 'sk-ant-emulated-nobody', maxRetries: 0 });
  return [
    await raises(() => c.messages.create(say('x'))),
    await raises(() => c.messages.create({ ...say('x'), stream: true })),
    await raises(() => c.models.list()),
    await raises(() => c.messages.batches.list()),
  ];
});

check('error_unknown_path', async () => {
  const e = await raises(() => impatient().get('/v1/nothing'));
  return [e.class, e.status, e.type];
});

check('error_in_a_stream_request', () =>
  raises(() => impatient().messages.stream({ ...say('x'), model: 'claude-none-9' }).finalMessage()),
);

check('error_of_count_tokens', () =>
  raises(() => impatient().messages.countTokens({ model: 'claude-none-9', messages: [{ role: 'user', content: 'x' }] })),
);

check('error_unknown_model_id', () => raises(() => impatient().models.retrieve('claude-none-9')));

check('retried_after_529', () =>
  fault({ kind: 'status', path: '/v1/messages', status: 529, count: 1 }, () =>
    client().messages.create(say('retried_after_529')),
  ),
);

check('retried_after_500', () =>
  fault({ kind: 'status', path: '/v1/messages', status: 500, count: 1 }, () =>
    client().messages.create(say('retried_after_500')),
  ),
);

check('retried_after_429', () =>
  fault({ kind: 'status', path: '/v1/messages', status: 429, headers: { 'retry-after': '1' }, count: 1 }, () =>
    client().messages.create(say('retried_after_429')),
  ),
);

check('retried_after_a_lost_connection', () =>
  fault({ kind: 'drop_before', path: '/v1/messages', count: 1 }, async () => {
    const m = await client().messages.create(say('retried_after_a_lost_connection'));
    return m.stop_reason;
  }),
);

check('stream_retried_after_529', () =>
  fault({ kind: 'status', path: '/v1/messages', status: 529, count: 1 }, () =>
    client().messages.stream(say('stream_retried_after_529')).finalMessage(),
  ),
);

check('client_timeout', async () => {
  const e = await fault({ kind: 'delay', path: '/v1/messages', delay_ms: 3000, count: 1 }, () =>
    raises(() => client({ maxRetries: 0, timeout: 500 }).messages.create(say('client_timeout'))),
  );
  return [e, await client().messages.create(say('after client_timeout'))];
});

check('call_aborted', async () => {
  const abort = new AbortController();
  const e = await fault({ kind: 'delay', path: '/v1/messages', delay_ms: 3000, count: 1 }, async () => {
    const call = raises(() => client().messages.create(say('call_aborted'), { signal: abort.signal }));
    await sleep(300);
    abort.abort();
    return call;
  });
  return [e, await client().messages.create(say('after call_aborted'))];
});

check('error_then_all_is_well', async () => {
  const c = impatient();
  const e = await raises(() => c.messages.create({ ...say('x'), model: 'claude-none-9' }));
  return [e, await c.messages.create(say('error_then_all_is_well'))];
});

// Last, since whoever stands between remembers for a while.
check('zz_overloaded', () =>
  fault({ kind: 'status', path: '/v1/messages', status: 529 }, async () => {
    const e = await raises(() =>
      impatient().messages.create(say('zz_overloaded'), { headers: { 'x-flotilla-max-wait': '1' } }),
    );
    assert.equal(e.status, 529);
    return [e.class, e.type, e.envelope, e.request_id];
  }),
);
