// What programs do with the OpenAI SDK for Node.
import assert from "node:assert/strict";
import OpenAI from "openai";
import { apiKey, baseURL, check, refused, weather } from "./report.mjs";

const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const messages = [{ role: "user", content: "Say something." }];
const counted = (usage) => ({ prompt: usage.prompt_tokens, completion: usage.completion_tokens });
const tools = [{ type: "function", function: weather }];

await check("models", async () => {
  const ids = [];
  for await (const model of client.models.list()) ids.push(model.id);
  assert.ok(ids.includes("tiny"), `models: ${ids}`);
  assert.equal((await client.models.retrieve("tiny")).id, "tiny");
});

await check("chat", async () => {
  const { data, request_id } = await client.chat.completions.create({ model: "tiny", messages, max_tokens: 5 }).withResponse();
  assert.ok(data.choices[0].message.content.length > 0);
  assert.equal(data.choices[0].finish_reason, "length");
  return { request: request_id, ...counted(data.usage) };
});

await check("two choices", async () => {
  const { data, request_id } = await client.chat.completions.create({ model: "tiny", messages, max_tokens: 5, n: 2 }).withResponse();
  assert.equal(data.choices.length, 2);
  return { request: request_id, completion: 10 }; // the engine says 5, of the first alone
});

await check("two choices streamed", async () => {
  const { data, request_id } = await client.chat.completions.create({ model: "tiny", messages, max_tokens: 5, n: 2, stream: true }).withResponse();
  const texts = ["", ""];
  for await (const chunk of data) for (const c of chunk.choices) texts[c.index] += c.delta.content ?? "";
  assert.ok(texts.every((t) => t.length > 0), `texts: ${texts}`);
  return { request: request_id, completion: 10 };
});

await check("stream", async () => {
  const { data, request_id } = await client.chat.completions.create({ model: "tiny", messages, max_tokens: 5, stream: true }).withResponse();
  let text = "", pieces = 0, finish;
  for await (const chunk of data) {
    assert.equal(chunk.choices.length, 1, "a chunk without a choice came to a client that asked for none");
    if (chunk.choices[0].delta.content) pieces++;
    text += chunk.choices[0].delta.content ?? "";
    finish = chunk.choices[0].finish_reason ?? finish;
  }
  assert.ok(text.length > 0);
  assert.equal(finish, "length");
  return { request: request_id, completion: pieces };
});

await check("stream with usage", async () => {
  const { data, request_id } = await client.chat.completions
    .create({ model: "tiny", messages, max_completion_tokens: 5, stream: true, stream_options: { include_usage: true } })
    .withResponse();
  const usages = [];
  for await (const chunk of data) if (chunk.usage) usages.push(chunk.usage);
  assert.equal(usages.length, 1);
  return { request: request_id, ...counted(usages[0]) };
});

await check("completion", async () => {
  const { data, request_id } = await client.completions.create({ model: "tiny", prompt: ["one", "two"], max_tokens: 3, stream: true }).withResponse();
  const texts = ["", ""];
  // llama-server begins an answer to several prompts with an event that is null.
  for await (const chunk of data) for (const c of chunk?.choices ?? []) texts[c.index] += c.text;
  assert.ok(texts.every((t) => t.length > 0), `texts: ${texts}`);
  return { request: request_id, completion: 6 };
});

await check("tools", async () => {
  const { data, request_id } = await client.chat.completions
    .create({ model: "tools", messages, tools, tool_choice: "required", max_tokens: 200 })
    .withResponse();
  const [call] = data.choices[0].message.tool_calls;
  assert.equal(call.function.name, "weather");
  assert.match(JSON.parse(call.function.arguments).city, /^(Rome|Oslo)$/);
  return { request: request_id, ...counted(data.usage) };
});

await check("streamed tools", async () => {
  const runner = client.chat.completions.stream({
    model: "tools", messages, tools, tool_choice: "required", max_tokens: 200, stream_options: { include_usage: true },
  });
  const { choices, usage } = await runner.finalChatCompletion();
  assert.equal(choices[0].finish_reason, "tool_calls");
  assert.match(JSON.parse(choices[0].message.tool_calls[0].function.arguments).city, /^(Rome|Oslo)$/);
  assert.ok(usage.completion_tokens > 0);
});

await check("embeddings", async () => {
  // The SDK asks for base64 by itself, and unpacks it.
  const { data, request_id } = await client.embeddings.create({ model: "vectors", input: ["one", "two"] }).withResponse();
  assert.deepEqual(data.data.map((d) => d.embedding.length), [64, 64]);
  return { request: request_id, prompt: data.usage.prompt_tokens };
});

await check("abort", async () => {
  const { data, request_id } = await client.chat.completions.create({ model: "tiny", messages, max_tokens: 100000, stream: true }).withResponse();
  let pieces = 0;
  for await (const chunk of data) if (++pieces === 5) data.controller.abort();
  return { request: request_id, cancelled: true };
});

await check("unknown model", async () => {
  const e = await refused(client.chat.completions.create({ model: "nobody", messages }));
  assert.ok(e instanceof OpenAI.NotFoundError, String(e));
  assert.deepEqual([e.status, e.type, e.code, e.param], [404, "not_found_error", "model_not_found", "model"]);
  assert.ok(e.requestID);
});

await check("wrong key", async () => {
  const stranger = new OpenAI({ baseURL, apiKey: "sk-nobody", maxRetries: 0 });
  const e = await refused(stranger.chat.completions.create({ model: "tiny", messages, stream: true }));
  assert.ok(e instanceof OpenAI.AuthenticationError, String(e));
  assert.equal(e.code, "invalid_api_key");
});

await check("wrong request", async () => {
  const e = await refused(client.chat.completions.create({ model: "tiny", messages: "none" }));
  assert.ok(e instanceof OpenAI.BadRequestError, String(e));
  assert.equal(e.param, "messages");
});

await check("prompt too long", async () => {
  const long = [{ role: "user", content: "word ".repeat(20000) }];
  const e = await refused(client.chat.completions.create({ model: "tools", messages: long, stream: true }));
  assert.ok(e instanceof OpenAI.BadRequestError, String(e));
  assert.equal(e.code, "context_length_exceeded");
});

await check("slow stream", async () => {
  const stream = await client.chat.completions.create({ model: "slow", messages, stream: true });
  let text = "";
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
  assert.equal(text, "at last");
});

await check("broken stream", async () => {
  const stream = await client.chat.completions.create({ model: "broken", messages, stream: true });
  let text = "";
  const e = await refused((async () => {
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
  })());
  assert.equal(text, "half");
  assert.ok(e instanceof OpenAI.APIError, String(e));
  assert.match(e.message, /broke off/);
});
