/**
 * A control plane with the scenario in; what xdsload counts on it beside what our own load counts out. The two must agree,
 * or figures of one say nothing about the other.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { startDriver } from "./driver.ts";
import type { Fleet } from "./fleet.ts";
import type { MeshApi } from "./mesh-api.ts";
import { type ScenarioSize, virtualService } from "./scenario.ts";
import type { Server } from "./server.ts";

interface Counted {
  readonly warmBytes: number;
  readonly warmResponses: number;
  /** With one changed VirtualService. */
  readonly bytes: number;
  readonly responses: number;
}

const quietMs = 700;
const root = join(import.meta.dirname, "../..");
const sources = join(root, "../shared/tools/xdsload");

/** Undefined where its sources, or Go, are not at hand. */
export function buildXdsload(): string | undefined {
  const out = join(root, ".cache/xdsload");
  if (!existsSync(sources)) return undefined;
  mkdirSync(join(root, ".cache"), { recursive: true });
  const built = spawnSync("go", ["build", "-o", out, "."], { cwd: sources, stdio: ["ignore", "ignore", "inherit"] });
  return built.status === 0 ? out : undefined;
}

/** Says how the two differ; throws where that is by more than a hundredth. */
export async function checkLoad(
  program: string,
  server: Server,
  api: MeshApi,
  size: ScenarioSize,
  fleet: Fleet,
): Promise<string> {
  const ours = await countOurs(server, api, size, fleet);
  const theirs = await countTheirs(program, server, api, size, fleet);
  const lines = (Object.keys(ours) as (keyof Counted)[]).map((key) => {
    const apart = Math.abs(ours[key] - theirs[key]) / theirs[key];
    return { apart, text: `  ${key}: ours ${ours[key]}, xdsload ${theirs[key]} (${(apart * 100).toFixed(2)} % apart)` };
  });
  const text = ["the load against xdsload:", ...lines.map((line) => line.text)].join("\n");
  if (lines.some(({ apart }) => apart > 0.01)) throw new Error(text);
  return text;
}

async function countOurs(server: Server, api: MeshApi, size: ScenarioSize, fleet: Fleet): Promise<Counted> {
  const driver = startDriver({ ...fleet, target: server.plain });
  await driver.warm;
  const warm = await driver.quiet(quietMs);
  const seen = await driver.watch("x-check-ours", fleet.proxies);
  await api.apply([virtualService(0, size, "x-check-ours")]);
  await seen.at;
  const after = await driver.quiet(quietMs);
  driver.close();
  await api.apply([virtualService(0, size)]);
  return { warmBytes: warm.bytes, warmResponses: warm.responses, bytes: after.bytes, responses: after.responses };
}

interface XdsloadEvent {
  readonly event: string;
  readonly bytes_in: number;
  readonly responses: number;
}

async function countTheirs(
  program: string,
  server: Server,
  api: MeshApi,
  size: ScenarioSize,
  fleet: Fleet,
): Promise<Counted> {
  const flags = {
    addr: `${server.plain.host}:${server.plain.port}`,
    n: fleet.proxies,
    namespaces: fleet.namespaces,
    apps: fleet.deployments,
    mode: fleet.mode,
    "envoy-version": fleet.envoyVersion,
    ramp: `${fleet.rampMs}ms`,
  };
  const child = spawn(
    program,
    Object.entries(flags).map(([flag, value]) => `-${flag}=${value}`),
  );
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (event: string): Promise<XdsloadEvent> => {
    const line: IteratorResult<string> = await lines.next();
    if (line.done) throw new Error(`xdsload ended before ${event}`);
    const told: XdsloadEvent = JSON.parse(line.value);
    return told.event === event ? told : next(event);
  };
  const warm = await next("ready");
  // What is still on its way when all are warm.
  await new Promise((resolve) => setTimeout(resolve, 2000));
  child.stdin.write("x-check-theirs\n");
  await api.apply([virtualService(0, size, "x-check-theirs")]);
  await next("seen");
  await new Promise((resolve) => setTimeout(resolve, 2000));
  child.stdin.end();
  const done = await next("done");
  await api.apply([virtualService(0, size)]);
  return { warmBytes: warm.bytes_in, warmResponses: warm.responses, bytes: done.bytes_in, responses: done.responses };
}
