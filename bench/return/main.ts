/**
 * `npm run bench -- return`: how soon a control plane that was killed is back. A mesh of 500 services (and seven proxies
 * with Envoys of their own, joined by `fairlead run`) in; for each `kill -9` the time to the first xDS response, the time
 * until every proxy is in step, and the bytes that were sent to proxies which have it all, out. Needs root, iptables and Envoy.
 *
 *   npm run bench -- return --kills 10 --services 500
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { printTable } from "../../src/cli/table.ts";
import { wait } from "../../src/lib/index.ts";
import { type ChaosMesh, startChaosMesh } from "../../test/chaos/mesh.ts";
import { openApi } from "../scale/mesh-api.ts";
import { scenario } from "../scale/scenario.ts";
import { freshBytes } from "./fresh.ts";

const { values } = parseArgs({
  allowPositionals: true,
  options: { kills: { type: "string", default: "10" }, services: { type: "string", default: "500" } },
});
const size = { services: Number(values.services), endpoints: 5, namespaces: 10, routed: 100 };
const say = (text: string): boolean => process.stderr.write(`${text}\n`);
/** What is asked of the quiet machine. */
const goalsMs = { first: 2_000, all: 4_000 };
const lookMs = 20;

const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;

const kilobytes = (bytes: number): string => `${(bytes / 1000).toFixed(1)} kB`;

interface Return {
  readonly firstMs: number;
  readonly allMs: number;
  readonly bytes: ReadonlyMap<string, number>;
}

const mesh = await startChaosMesh({
  apps: [
    { name: "web", count: 3 },
    { name: "api", count: 3 },
  ],
  pauseMs: 200,
  say,
});
try {
  await seed(mesh);
  const fresh = await freshBytes(addressOf(mesh, "grpc"));
  const returns: Return[] = [];
  await mesh.load.drain();
  for (let i = 0; i < Number(values.kills); i++) {
    returns.push(await killAndWait(mesh));
    say(rowOf(returns.at(-1), fresh).join("  "));
    await wait(1_000);
  }
  process.stdout.write(summary(returns, fresh, await mesh.load.drain()));
} finally {
  await mesh.close();
}

async function seed(into: ChaosMesh): Promise<void> {
  const api = await openApi(join(into.data, "kubeconfig"));
  const objects = scenario(size);
  await api.apply(objects.filter(({ kind }) => kind === "Namespace"));
  await api.apply(objects.filter(({ kind }) => kind !== "Namespace"));
  api.close();
  // What is still on its way would count as sent again.
  for (let quiet = 0; quiet < 5; await wait(1_000)) quiet = (await into.missing()).length === 0 ? quiet + 1 : 0;
}

function addressOf(of: ChaosMesh, name: string): string {
  return of.supervisor.addresses()[name] ?? "";
}

async function killAndWait(of: ChaosMesh): Promise<Return> {
  process.kill(of.supervisor.controlPlanePid(), "SIGKILL");
  const started = performance.now();
  const passedMs = (): number => performance.now() - started;
  let firstMs: number | undefined;
  for (;;) {
    if (total(await sentBytes(of)) > 0) firstMs ??= passedMs();
    if (firstMs !== undefined && (await of.missing()).length === 0) break;
    await wait(lookMs);
  }
  const allMs = passedMs();
  await wait(2_000);
  return { firstMs, allMs, bytes: await sentBytes(of) };
}

/** By this life of the control plane, by type; nothing where it does not answer. */
async function sentBytes(of: ChaosMesh): Promise<ReadonlyMap<string, number>> {
  const text = await fetch(`http://${addressOf(of, "monitoring")}/metrics`, {
    signal: AbortSignal.timeout(1_000),
  }).then(
    (answer) => answer.text(),
    () => "",
  );
  const sums = text.matchAll(/^pilot_xds_config_size_bytes_sum\{type="(\w+)"\} (\S+)$/gm);
  return new Map([...sums].map(([, type = "", value]) => [type, Number(value)]));
}

function total(bytes: ReadonlyMap<string, number>): number {
  return [...bytes.values()].reduce((sum, one) => sum + one, 0);
}

function rowOf(one: Return | undefined, fresh: number): readonly string[] {
  if (!one) return [];
  const { firstMs, allMs, bytes } = one;
  const sent = total(bytes) / mesh.workloads.size;
  const types = [...bytes].map(([type, count]) => `${type} ${kilobytes(count / mesh.workloads.size)}`);
  return [
    seconds(firstMs),
    seconds(allMs),
    kilobytes(sent),
    `${((sent / fresh) * 100).toFixed(1)} %`,
    types.join(", "),
  ];
}

function summary(
  returns: readonly Return[],
  fresh: number,
  load: { readonly requests: number; readonly failures: readonly unknown[] },
): string {
  const middle = (of: (one: Return) => number): number =>
    returns.map(of).sort((a, b) => a - b)[Math.floor(returns.length / 2)] ?? 0;
  const [first, all] = [middle(({ firstMs }) => firstMs), middle(({ allMs }) => allMs)];
  const verdict = (ms: number, goalMs: number): string => (ms <= goalMs ? "met" : "missed");
  const table = printTable(
    ["FIRST XDS", "ALL BACK", "SENT TO EACH", "OF ALL THERE IS", "BY TYPE"],
    returns.map((one) => rowOf(one, fresh)),
  );
  return [
    `\n${table}`,
    `${mesh.workloads.size} proxies, ${size.services} services; a fresh proxy is sent ${kilobytes(fresh)}`,
    `median to the first xDS ${seconds(first)}: goal ${seconds(goalsMs.first)} ${verdict(first, goalsMs.first)}`,
    `median until all are back ${seconds(all)}: goal ${seconds(goalsMs.all)} ${verdict(all, goalsMs.all)}`,
    `${load.requests} requests meanwhile, ${load.failures.length} failed\n`,
  ].join("\n");
}
