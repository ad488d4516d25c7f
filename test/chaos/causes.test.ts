/** Which failed look-ups of names are part of a kill of the client's agent. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findCauses } from "./causes.ts";
import { type Kill, lookUpsMeanwhile } from "./faults/fault.ts";
import type { Failure } from "./load.ts";

const kill = (name: string, at: number): Kill => ({
  pod: { name, address: "10.0.0.9", uid: "u", namespace: "n" },
  what: `the agent of ${name}`,
  ...{ from: at, until: at },
});

const lookUp = (startedAt: number): Failure => ({
  ...{ id: "1", stream: "fresh", startedAt, endedAt: startedAt + 5, status: 0 },
  text: "getaddrinfo EAI_AGAIN api",
});

test.each([
  ["just after the client's agent was killed", [kill("client", 1_000)], true],
  ["after the second of two kills", [kill("client", -60_000), kill("client", 1_000)], true],
  ["long after it", [kill("client", -60_000)], false],
  ["after another's was killed", [kill("web-1", 1_000)], false],
  ["when nothing was killed", [], false],
])("a look-up that fails %s: %s", (_name, kills, allowed) => {
  const logs = mkdtempSync(join(tmpdir(), "fl-causes-"));
  const [cause] = findCauses([lookUp(2_000)], kills, logs);
  rmSync(logs, { recursive: true });
  const { allows, allowedMs = 0 } = lookUpsMeanwhile;
  expect(cause).toMatchObject({ inFlight: false });
  expect(allows?.test(cause?.text ?? "") === true && (cause?.afterMs ?? 0) <= allowedMs).toBe(allowed);
});
