// SPDX-License-Identifier: Apache-2.0
// The published client of OpenAI, unmodified, against a server at argv[2].
import assert from 'node:assert/strict';
import OpenAI from 'openai';

const client = new OpenAI({baseURL: process.argv[2] + '/v1', apiKey: 'key', maxRetries: 0});
const messages = [{role: 'user', content: 'What is 7 plus 5?'}];
const model = (await client.models.list()).data[0].id;

const whole = await client.chat.completions.create({model, messages, temperature: 0});
assert.equal(whole.choices[0].message.content, '7 plus 5 makes 12.');
assert.equal(whole.choices[0].finish_reason, 'stop');

let text = '', usage = null;
for await (const chunk of await client.chat.completions.create(
         {model, messages, temperature: 0, stream: true, stream_options: {include_usage: true}})) {
  text += chunk.choices[0]?.delta?.content ?? '';
  usage = chunk.usage ?? usage;
}
assert.equal(text, whole.choices[0].message.content);
assert.equal(usage.completion_tokens, whole.usage.completion_tokens);

const scored = await client.chat.completions.create({model, messages, temperature: 0, logprobs: true, top_logprobs: 3});
const tokens = scored.choices[0].logprobs.content;
assert.equal(tokens.map(token => token.token).join(''), text);
assert.ok(tokens.every(token => token.logprob <= 0 && token.top_logprobs.length === 3));

const schema = {type: 'object', properties: {sum: {type: 'integer'}}, required: ['sum'], additionalProperties: false};
const shaped = await client.chat.completions.create(
    {model, messages, temperature: 0, response_format: {type: 'json_schema', json_schema: {name: 'sum', strict: true, schema}}});
assert.ok(Number.isInteger(JSON.parse(shaped.choices[0].message.content).sum));

const older = await client.completions.create({model, prompt: 'Once upon a time', max_tokens: 8, temperature: 0, logprobs: 2});
assert.equal(older.choices[0].logprobs.tokens.length, 8);

// A client that leaves in the middle frees the slot (the server has one).
const endless = await client.completions.create(
    {model, prompt: 'Once upon a time', max_tokens: 1500, stream: true, ignore_eos: true});
let seen = 0;
for await (const chunk of endless)
  if (++seen === 3) endless.controller.abort();
const after = await client.completions.create({model, prompt: 'Once', max_tokens: 2});
assert.equal(after.usage.completion_tokens, 2);

await assert.rejects(client.chat.completions.create({model, messages, temprature: 1}),
                     error => error instanceof OpenAI.BadRequestError && /temprature/.test(error.message));
console.log('openai client: all of it');
