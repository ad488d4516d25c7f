/**
 * `npm run bench -- csr`: what certificates cost. Starts a control plane with a mesh of 500 services and simulated proxies,
 * comes with tokens of many accounts for P-256 certificates at a steady rate over kept TLS connections, changes a route once
 * a second meanwhile, and prints how long the answers and the pushes took and what processor time each certificate cost.
 * Each call has a token of its own, as Pods that start have; with `--tokens kept` an account has one for all of its calls.
 * `--changes` says how many routes change meanwhile, one a second by default. With `--pin` the control plane has the first
 * core for itself and by itself, and all others share the second.
 *
 *   npm run bench -- csr --rate 500 --seconds 10 --accounts 200 --connections 8 --proxies 100 --tokens fresh
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { create } from "@bufbuild/protobuf";
import { IstioCertificateRequestSchema, IstioCertificateService } from "../../src/gen/istio/auth_pb.js";
import { createKubeClient, kubeKinds, loadKubeconfig, requestToken } from "../../src/kube/index.ts";
import { createCsr, generateKey } from "../../src/pki/index.ts";
import { createRpcClient, protoMethod, type RpcClient } from "../../src/rpc/index.ts";
import { type Driver, startDriver } from "../scale/driver.ts";
import { readFigures } from "../scale/figures.ts";
import { openApi } from "../scale/mesh-api.ts";
import { scenario, virtualService } from "../scale/scenario.ts";
import { startStandalone } from "../scale/server.ts";
import { pin, processesOf, processorMs } from "./processes.ts";

const { values } = parseArgs({
  args: process.argv.slice(2).filter((word) => word !== "csr"),
  options: {
    rate: { type: "string", default: "500" },
    seconds: { type: "string", default: "10" },
    accounts: { type: "string", default: "200" },
    connections: { type: "string", default: "8" },
    services: { type: "string", default: "500" },
    proxies: { type: "string", default: "100" },
    tokens: { type: "string", default: "fresh" },
    changes: { type: "string" },
    pin: { type: "boolean", default: false },
  },
});
const numberOf = (name: Exclude<keyof typeof values, "pin">): number => Number(values[name]);
const [rate, seconds, proxies] = [numberOf("rate"), numberOf("seconds"), numberOf("proxies")];
const changes = Number(values.changes ?? seconds);
/** The first ones compile what later ones use, and open the connections. */
const warmSeconds = 3;
const size = { services: numberOf("services"), endpoints: 5, namespaces: 10, routed: 100 };
const method = protoMethod(IstioCertificateService.method.createCertificate);

const server = await startStandalone();
const processes = processesOf(server.pid ?? 0);
const apiMs = (): number => processorMs(processes.get("api") ?? 0);
/** How late this client itself is, which is no fault of whoever answers. */
const own = monitorEventLoopDelay({ resolution: 1 });
const api = await openApi(server.kubeconfig);
const kube = createKubeClient(await loadKubeconfig({ paths: [server.kubeconfig], env: {} }));
const clients: RpcClient[] = [];
const fleet = { namespaces: size.namespaces, deployments: 0, mode: "delta", envoyVersion: "1.40.0" } as const;
let driver: Driver | undefined;
try {
  const { secure, monitoring } = server;
  if (!secure || !monitoring) throw new Error("the control plane does not say where its ports are");
  const objects = scenario(size);
  await api.apply(objects.filter(({ kind }) => kind === "Namespace"));
  await api.apply(objects.filter(({ kind }) => kind !== "Namespace"));
  driver = startDriver({ ...fleet, proxies, target: server.plain, rampMs: 1000 });
  await driver.warm;
  const tokens = await makeTokens(values.tokens === "kept" ? numberOf("accounts") : rate * (seconds + warmSeconds));
  const ca = (await api.authority())["root-cert.pem"] ?? "";
  for (let i = 0; i < numberOf("connections"); i++)
    clients.push(createRpcClient({ target: secure, tls: () => ({ ca }) }));
  const csr = createCsr({ key: await generateKey() });
  const request = create(IstioCertificateRequestSchema, { csr, validityDuration: 3600n });
  const ask = async (i: number): Promise<void> => {
    const authorization = `Bearer ${tokens[i % tokens.length] ?? ""}`;
    await clients[i % clients.length]?.unary(method, request, { metadata: { authorization } });
  };
  if (values.pin) pinAll(driver);
  await drive(ask, warmSeconds);
  const apiBeforeMs = apiMs();
  own.enable();
  const before = await readFigures(monitoring);
  const pushes = changeRoutes(driver);
  const clientBefore = process.cpuUsage();
  const { took, failures } = await drive((i) => ask(rate * warmSeconds + i), seconds);
  const clientMs = Object.values(process.cpuUsage(clientBefore)).reduce((sum, us) => sum + us, 0) / 1000;
  const apiTookMs = apiMs() - apiBeforeMs;
  own.disable();
  const pushedMs = await pushes;
  const after = await readFigures(monitoring);
  const sorted = took.toSorted((a, b) => a - b);
  const at = (share: number): string => `${(sorted[Math.floor(sorted.length * share)] ?? Number.NaN).toFixed(1)} ms`;
  const each = (seconds: number): number => (seconds * 1000) / Math.max(1, took.length);
  const cpuMs = each(after.cpuSeconds - before.cpuSeconds);
  const failed = [...failures].map(([cause, count]) => `${count} failed: ${cause}\n`).join("");
  process.stdout.write(
    [
      `${rate}/s asked for, for ${seconds} s, by ${numberOf("accounts")} accounts with ${tokens.length} tokens; ${took.length} issued`,
      `p50 ${at(0.5)}  p90 ${at(0.9)}  p99 ${at(0.99)}  longest ${at(0.9999)}`,
      `processor of the control plane ${cpuMs.toFixed(2)} ms each: ${Math.round(1000 / cpuMs)}/s on one core`,
      `processor of the API ${each(apiTookMs / 1000).toFixed(2)} ms each, of this client ${each(clientMs / 1000).toFixed(2)} ms`,
      `event loop of the control plane late by p99 ${after.loopDelayMs?.p99.toFixed(0)} ms, at most ${after.loopDelayMs?.max.toFixed(0)} ms`,
      `event loop of this client late by p99 ${(own.percentile(99) / 1e6).toFixed(0)} ms, at most ${(own.max / 1e6).toFixed(0)} ms`,
      `${pushedMs.length} routes changed meanwhile; ${proxies} proxies had each after ${pushedMs.map((ms) => ms.toFixed(0)).join(", ")} ms\n${failed}`,
    ].join("\n"),
  );
} finally {
  driver?.close();
  for (const client of clients) client.close();
  kube.close();
  api.close();
  await server.stop();
}

async function makeTokens(count: number): Promise<readonly string[]> {
  const accounts = Array.from({ length: numberOf("accounts") }, (_, i) => `account-${i}`);
  for (const name of accounts) {
    const metadata = { name, namespace: "ns-0" };
    await kube.create(kubeKinds.serviceAccounts, { apiVersion: "v1", kind: "ServiceAccount", metadata });
  }
  const tokens: string[] = [];
  for (let i = 0; i < count; i++) {
    const serviceAccount = accounts[i % accounts.length] ?? "";
    const order = { namespace: "ns-0", serviceAccount, audiences: ["istio-ca"] };
    tokens.push((await requestToken(kube, order)).token);
  }
  return tokens;
}

function pinAll(fleetOf: Driver): void {
  const [first, second] = [0, 1];
  for (const [command, pid] of processes) pin(pid, command === "discovery" ? first : second);
  for (const pid of [fleetOf.pid, process.pid]) if (pid !== undefined) pin(pid, second);
}

/** Calls begin when they are due, whether or not earlier ones have been answered. */
async function drive(
  ask: (i: number) => Promise<void>,
  lastsSeconds: number,
): Promise<{ readonly took: readonly number[]; readonly failures: ReadonlyMap<string, number> }> {
  const took: number[] = [];
  const failures = new Map<string, number>();
  const pending: Promise<void>[] = [];
  const started = performance.now();
  for (let i = 0; i < rate * lastsSeconds; i++) {
    const wait = started + (i * 1000) / rate - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    const begun = performance.now();
    pending.push(
      ask(i).then(
        () => void took.push(performance.now() - begun),
        (error: unknown) => void failures.set(String(error), (failures.get(String(error)) ?? 0) + 1),
      ),
    );
  }
  await Promise.all(pending);
  return { took, failures };
}

/** How long it took each time from the change until the last proxy had it. */
async function changeRoutes(fleetOf: Driver): Promise<readonly number[]> {
  const took: number[] = [];
  for (let i = 0; i < changes; i++) {
    const needle = `x-change-${i}-end`;
    const seen = await fleetOf.watch(needle, proxies);
    const begun = performance.timeOrigin + performance.now();
    await api.apply([virtualService(i, size, needle)]);
    took.push(((await seen.at).at(-1) ?? Number.NaN) - begun);
    await new Promise((resolve) => setTimeout(resolve, (seconds * 1000) / changes));
  }
  return took;
}
