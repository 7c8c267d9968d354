// What the programs share: each check says what it saw in one line of JSON, and
// the first that fails ends the program.
import assert from "node:assert/strict";

export const baseURL = process.env.OPENAI_BASE_URL;
export const apiKey = process.env.OPENAI_API_KEY;

export async function check(name, run) {
  const saw = (await run()) ?? {};
  console.log(JSON.stringify({ check: name, ...saw }));
}

// refused gives the error that a promise is to end with.
export async function refused(promise) {
  try {
    await promise;
  } catch (e) {
    return e;
  }
  assert.fail("nothing was refused");
}

export const weather = {
  name: "weather",
  description: "Tells the weather in a city",
  parameters: {
    type: "object",
    properties: { city: { enum: ["Rome", "Oslo"] } },
    required: ["city"],
  },
};
