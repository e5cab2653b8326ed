// The official SDK by way of the gateway: one call, a stream, many at once, a batch.
//
//   npm ci && npm run build
//   flotilla serve -- node build/calls.js
//
// Nothing here knows of flotilla: `serve --` sets ANTHROPIC_BASE_URL and a key.

import { setTimeout as sleep } from 'node:timers/promises';
import Anthropic from '@anthropic-ai/sdk';

const model = 'claude-haiku-4-5';
const client = new Anthropic({ timeout: 3600_000 }); // what waits in the gateway waits inside it

const say = (content: string) => ({ model, max_tokens: 50, messages: [{ role: 'user' as const, content }] });

function textOf(message: Anthropic.Message): string {
  return message.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}

async function one(): Promise<string> {
  return textOf(await client.messages.create(say('Name a thing in one word.')));
}

async function streamed(): Promise<string> {
  let text = '';
  const stream = client.messages.stream(say('Name another thing in one word.'));
  stream.on('text', (more) => { text += more; });
  await stream.finalMessage();
  return text;
}

// No semaphore and no retry loop: the gateway holds back what must wait.
async function many(n: number): Promise<Map<string, string>> {
  const answers = new Map<string, string>();
  await Promise.all(Array.from({ length: n }, async (_, i) => {
    const prompt = `Thing ${i} in one word`;
    const message = await client.messages.create(say(prompt), { headers: { 'x-flotilla-priority': 'bulk' } });
    answers.set(prompt, textOf(message));
  }));
  return answers;
}

async function batch(n: number): Promise<Map<string, string>> {
  const requests = Array.from({ length: n }, (_, i) => ({ custom_id: `thing-${i}`, params: say(`Item ${i} in one word`) }));
  let batch = await client.messages.batches.create({ requests });
  while (batch.processing_status !== 'ended') {
    await sleep(2000);
    batch = await client.messages.batches.retrieve(batch.id);
  }
  const answers = new Map<string, string>();
  for await (const line of await client.messages.batches.results(batch.id)) {
    if (line.result.type === 'succeeded') answers.set(line.custom_id, textOf(line.result.message));
    else console.error(line.custom_id, line.result.type);
  }
  return answers;
}

console.log('one:', await one());
console.log('streamed:', await streamed());
console.log('many:', (await many(100)).size);
console.log('batch:', (await batch(50)).size);
