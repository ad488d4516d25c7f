/**
 * `npm run identity`: flags in; a mesh of real Envoys under load whose certificates live for seconds, while roots are
 * rotated and control planes die, and counts out. The client tries nothing twice; a single request that fails fails it.
 * Needs root, iptables and Envoy.
 */
import { parseArgs } from "node:util";
import { parseDurationMs } from "../../src/lib/index.ts";
import { startChaosMesh } from "../chaos/mesh.ts";
import { exitAfter, unlessStopped } from "../stop.ts";
import { type Event, identityEvents } from "./events.ts";
import { createIssued } from "./issued.ts";

const usage = `npm run identity -- [flags]
  --rotations N      how often each workload gets a new certificate at least (default 100)
  --life DURATION    how long certificates live (default 30s)
  --roots N          full root rotations, of which one is rolled back and one meets a kill -9 (default 3)
  --restarts N       of the control plane (default 10)
  --pause MS         between two requests of one of the eight workers of the client (default 10)
  -o json            machine-readable
`;

const { values } = parseArgs({
  options: {
    help: { type: "boolean" },
    rotations: { type: "string", default: "100" },
    life: { type: "string", default: "30s" },
    roots: { type: "string", default: "3" },
    restarts: { type: "string", default: "10" },
    pause: { type: "string", default: "10" },
    output: { type: "string", short: "o", default: "text" },
  },
});
const say = (text: string): boolean => process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);

if (values.help) process.stdout.write(usage);
else await exitAfter(run);

async function run(stop: AbortSignal): Promise<number> {
  const lifeMs = parseDurationMs(values.life) ?? 30_000;
  const wanted = Number(values.rotations);
  const env = { SECRET_TTL: values.life };
  const apps = ["web", "api", "store"].map((name) => ({ name, count: 2, env }));
  const mesh = await startChaosMesh({
    apps,
    clientEnv: env,
    pauseMs: Number(values.pause),
    say: (text) => void say(text),
    stop,
  });
  const issued = createIssued(mesh);
  const outcomes: { readonly event: string; readonly seconds: number }[] = [];
  const started = performance.now();
  let failed = "";
  const live = async (): Promise<void> => {
    await mesh.load.drain();
    await issued.begin();
    const events = identityEvents({ mesh, lifeMs, roots: Number(values.roots), restarts: Number(values.restarts) });
    // Spread over the whole run, with quiet between them in which certificates are renewed as usual.
    for (const [i, event] of events.entries()) {
      await issued.until(Math.floor((wanted * i) / events.length));
      outcomes.push(await play(event));
    }
    await issued.until(wanted);
  };
  try {
    await unlessStopped(live(), stop);
  } catch (error) {
    if (stop.aborted) {
      await mesh.close();
      throw error;
    }
    failed = error instanceof Error ? error.message : String(error);
    say(failed);
  }
  const seconds = (performance.now() - started) / 1000;
  const { requests, slowestMs, failures } = await mesh.load.drain();
  const report = {
    ...{ workloads: mesh.workloads.size, seconds: Math.round(seconds), requests },
    requestsPerSecond: Math.round(requests / seconds),
    ...{ failedRequests: failures.length, slowestMs: Math.round(slowestMs), certificates: issued.counts() },
    ...{ events: outcomes, failed },
  };
  const isRenewed = issued.fewest() >= wanted;
  for (const failure of failures.slice(0, 20)) say(JSON.stringify(failure));
  await mesh.close();
  process.stdout.write(values.output === "json" ? `${JSON.stringify(report, null, 2)}\n` : text(report));
  return failed === "" && failures.length === 0 && isRenewed ? 0 : 1;
}

async function play({ name, act }: Event): Promise<{ readonly event: string; readonly seconds: number }> {
  const from = performance.now();
  say(`${name} …`);
  await act(say);
  return { event: name, seconds: Math.round((performance.now() - from) / 100) / 10 };
}

function text(report: Readonly<Record<string, unknown>>): string {
  return `${Object.entries(report)
    .map(([key, value]) => `${key.padEnd(18)} ${typeof value === "object" ? JSON.stringify(value) : String(value)}`)
    .join("\n")}\n`;
}
