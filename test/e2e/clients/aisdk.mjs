// What programs do with the Vercel AI SDK.
import assert from "node:assert/strict";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, embedMany, generateText, jsonSchema, streamText, tool } from "ai";
import { apiKey, baseURL, check, refused, weather } from "./report.mjs";

const provider = (apiKey, includeUsage) => createOpenAICompatible({ name: "llmgw", baseURL, apiKey, includeUsage });
const router = provider(apiKey, true);
const once = { maxRetries: 0 };
const prompt = "Say something.";
const requestOf = (response) => response.headers["x-request-id"];
const counted = (usage) => ({ prompt: usage.inputTokens, completion: usage.outputTokens });
const tools = { weather: tool({ description: weather.description, inputSchema: jsonSchema(weather.parameters) }) };

await check("chat", async () => {
  const { text, finishReason, usage, response } = await generateText({ model: router("tiny"), prompt, maxOutputTokens: 5, ...once });
  assert.ok(text.length > 0);
  assert.equal(finishReason, "length");
  return { request: requestOf(response), ...counted(usage) };
});

await check("stream", async () => {
  const result = streamText({ model: provider(apiKey, false)("tiny"), prompt, maxOutputTokens: 5, ...once });
  let pieces = 0;
  for await (const piece of result.textStream) if (piece) pieces++;
  assert.ok(pieces > 1);
  assert.equal(await result.finishReason, "length");
  return { request: requestOf(await result.response), completion: 5 };
});

await check("stream with usage", async () => {
  const result = streamText({ model: router("tiny"), prompt, maxOutputTokens: 5, ...once });
  assert.ok((await result.text).length > 0);
  return { request: requestOf(await result.response), ...counted(await result.usage) };
});

await check("completion", async () => {
  const result = streamText({ model: router.completionModel("tiny"), prompt, maxOutputTokens: 5, ...once });
  assert.ok((await result.text).length > 0);
  return { request: requestOf(await result.response), completion: 5 };
});

await check("tools", async () => {
  const { toolCalls, finishReason, usage, response } = await generateText({
    model: router("tools"), prompt, tools, toolChoice: "required", maxOutputTokens: 200, ...once,
  });
  assert.equal(toolCalls[0].toolName, "weather");
  assert.match(toolCalls[0].input.city, /^(Rome|Oslo)$/);
  assert.equal(finishReason, "tool-calls");
  return { request: requestOf(response), ...counted(usage) };
});

await check("streamed tools", async () => {
  const result = streamText({ model: router("tools"), prompt, tools, toolChoice: "required", maxOutputTokens: 200, ...once });
  let pieces = 0;
  for await (const part of result.fullStream) if (part.type === "tool-input-delta") pieces++;
  const [call] = await result.toolCalls;
  assert.ok(pieces > 1);
  assert.match(call.input.city, /^(Rome|Oslo)$/);
  return { request: requestOf(await result.response), ...counted(await result.usage) };
});

await check("embeddings", async () => {
  const { embeddings, usage } = await embedMany({ model: router.embeddingModel("vectors"), values: ["one", "two"], ...once });
  assert.deepEqual(embeddings.map((e) => e.length), [64, 64]);
  assert.ok(usage.tokens > 0);
});

await check("abort", async () => {
  const leave = new AbortController();
  let request;
  const watched = createOpenAICompatible({
    name: "llmgw", baseURL, apiKey,
    fetch: async (...args) => {
      const response = await fetch(...args);
      request = response.headers.get("x-request-id");
      return response;
    },
  });
  const result = streamText({ model: watched("tiny"), prompt, maxOutputTokens: 100000, abortSignal: leave.signal, ...once });
  let pieces = 0, aborted = false;
  for await (const part of result.fullStream) {
    if (part.type === "text-delta" && ++pieces === 5) leave.abort();
    if (part.type === "abort") aborted = true;
  }
  assert.ok(aborted);
  return { request, cancelled: true };
});

await check("unknown model", async () => {
  const e = await refused(generateText({ model: router("nobody"), prompt, ...once }));
  assert.ok(APICallError.isInstance(e), String(e));
  assert.deepEqual([e.statusCode, e.isRetryable, e.data.error.code], [404, false, "model_not_found"]);
});

await check("wrong key", async () => {
  const e = await refused(generateText({ model: provider("sk-nobody")("tiny"), prompt, ...once }));
  assert.ok(APICallError.isInstance(e), String(e));
  assert.deepEqual([e.statusCode, e.data.error.code], [401, "invalid_api_key"]);
});

await check("slow stream", async () => {
  assert.equal(await streamText({ model: router("slow"), prompt, ...once }).text, "at last");
});

await check("broken stream", async () => {
  const result = streamText({ model: router("broken"), prompt, onError() {}, ...once });
  let text = "", failed;
  for await (const part of result.fullStream) {
    if (part.type === "text-delta") text += part.text;
    if (part.type === "error") failed = part.error;
  }
  assert.equal(text, "half");
  assert.match(String(failed?.message ?? failed), /broke off/);
});
