/** A bootstrap in; nothing, or Envoy's words of refusal, out. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { findEnvoy } from "../require.ts";
import type { Json } from "./json.ts";

let last = 0;

export async function validate(dir: string, bootstrap: Json): Promise<string | undefined> {
  const file = join(dir, `bootstrap-${++last}.json`);
  writeFileSync(file, JSON.stringify(bootstrap));
  const args = ["--mode", "validate", "-c", file, "-l", "error", "--concurrency", "1"];
  const envoy = spawn(findEnvoy() ?? "envoy", args, { stdio: ["ignore", "ignore", "pipe"], timeout: 120_000 });
  const [said, [status, signal]] = await Promise.all([text(envoy.stderr), once(envoy, "exit")]);
  rmSync(file);
  if (status === 0) return undefined;
  return reasonIn(said) || `ended with ${status ?? signal}`;
}

/** Envoy prints the whole message that it refuses before it says why. */
function reasonIn(said: string): string {
  const reason = said.replace(/^.*error initializing configuration '[^']*': /s, "");
  return reason.replace(/^goo\.gle\/debug.*(?=: Proto constraint)/s, "").trim();
}
