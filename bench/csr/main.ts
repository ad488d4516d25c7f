/**
 * `npm run bench -- csr`: what certificates cost. Starts a control plane with a mesh of 500 services, comes with tokens of many
 * accounts for P-256 certificates at a steady rate over kept TLS connections, changes a route once a second meanwhile, and
 * prints how long the answers took and what processor time each cost.
 *
 *   npm run bench -- csr --rate 500 --seconds 10 --accounts 200 --connections 8
 */
import { parseArgs } from "node:util";
import { create } from "@bufbuild/protobuf";
import { IstioCertificateRequestSchema, IstioCertificateService } from "../../src/gen/istio/auth_pb.js";
import { createKubeClient, kubeKinds, loadKubeconfig, requestToken } from "../../src/kube/index.ts";
import { createCsr, generateKey } from "../../src/pki/index.ts";
import { createRpcClient, protoMethod, type RpcClient } from "../../src/rpc/index.ts";
import { readFigures } from "../scale/figures.ts";
import { openApi } from "../scale/mesh-api.ts";
import { scenario, virtualService } from "../scale/scenario.ts";
import { startStandalone } from "../scale/server.ts";

const { values } = parseArgs({
  args: process.argv.slice(2).filter((word) => word !== "csr"),
  options: {
    rate: { type: "string", default: "500" },
    seconds: { type: "string", default: "10" },
    accounts: { type: "string", default: "200" },
    connections: { type: "string", default: "8" },
    services: { type: "string", default: "500" },
  },
});
const numberOf = (name: keyof typeof values): number => Number(values[name]);
const [rate, seconds] = [numberOf("rate"), numberOf("seconds")];
const size = { services: numberOf("services"), endpoints: 5, namespaces: 10, routed: 100 };
const method = protoMethod(IstioCertificateService.method.createCertificate);

const server = await startStandalone();
const api = await openApi(server.kubeconfig);
const kube = createKubeClient(await loadKubeconfig({ paths: [server.kubeconfig], env: {} }));
const clients: RpcClient[] = [];
try {
  const { secure, monitoring } = server;
  if (!secure || !monitoring) throw new Error("the control plane does not say where its ports are");
  const objects = scenario(size);
  await api.apply(objects.filter(({ kind }) => kind === "Namespace"));
  await api.apply(objects.filter(({ kind }) => kind !== "Namespace"));
  const tokens = await makeTokens();
  const ca = (await api.authority())["root-cert.pem"] ?? "";
  for (let i = 0; i < numberOf("connections"); i++)
    clients.push(createRpcClient({ target: secure, tls: () => ({ ca }) }));
  const csr = createCsr({ key: await generateKey() });
  const request = create(IstioCertificateRequestSchema, { csr, validityDuration: 3600n });
  const ask = async (i: number): Promise<void> => {
    const authorization = `Bearer ${tokens[i % tokens.length] ?? ""}`;
    await clients[i % clients.length]?.unary(method, request, { metadata: { authorization } });
  };
  // The first ones compile what later ones use, and open the connections.
  for (let i = 0; i < 200; i++) await ask(i);
  const before = await readFigures(monitoring);
  const pushes = changeRoutes();
  const own = process.cpuUsage();
  const { took, failures } = await drive(ask);
  const clientMs = Object.values(process.cpuUsage(own)).reduce((sum, us) => sum + us, 0) / 1000;
  const changes = await pushes;
  const after = await readFigures(monitoring);
  const sorted = took.toSorted((a, b) => a - b);
  const at = (share: number): string => `${(sorted[Math.floor(sorted.length * share)] ?? Number.NaN).toFixed(1)} ms`;
  const each = (seconds: number): number => (seconds * 1000) / Math.max(1, took.length);
  const cpuMs = each(after.cpuSeconds - before.cpuSeconds);
  const failed = [...failures].map(([cause, count]) => `${count} failed: ${cause}\n`).join("");
  process.stdout.write(
    [
      `${rate}/s asked for, for ${seconds} s, by ${tokens.length} accounts; ${took.length} issued`,
      `p50 ${at(0.5)}  p90 ${at(0.9)}  p99 ${at(0.99)}  longest ${at(0.9999)}`,
      `processor of the control plane ${cpuMs.toFixed(2)} ms each: ${Math.round(1000 / cpuMs)}/s on one core`,
      `processor of this client ${each(clientMs / 1000).toFixed(2)} ms each`,
      `event loop of the control plane late by p99 ${after.loopDelayMs?.p99.toFixed(0)} ms, at most ${after.loopDelayMs?.max.toFixed(0)} ms`,
      `${changes} routes changed meanwhile\n${failed}`,
    ].join("\n"),
  );
} finally {
  for (const client of clients) client.close();
  kube.close();
  api.close();
  await server.stop();
}

async function makeTokens(): Promise<readonly string[]> {
  const tokens: string[] = [];
  for (let i = 0; i < numberOf("accounts"); i++) {
    const metadata = { name: `account-${i}`, namespace: "ns-0" };
    await kube.create(kubeKinds.serviceAccounts, { apiVersion: "v1", kind: "ServiceAccount", metadata });
    const order = { namespace: "ns-0", serviceAccount: metadata.name, audiences: ["istio-ca"] };
    tokens.push((await requestToken(kube, order)).token);
  }
  return tokens;
}

/** Calls begin when they are due, whether or not earlier ones have been answered. */
async function drive(
  ask: (i: number) => Promise<void>,
): Promise<{ readonly took: readonly number[]; readonly failures: ReadonlyMap<string, number> }> {
  const took: number[] = [];
  const failures = new Map<string, number>();
  const pending: Promise<void>[] = [];
  const started = performance.now();
  for (let i = 0; i < rate * seconds; i++) {
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

async function changeRoutes(): Promise<number> {
  for (let i = 0; i < seconds; i++) {
    await api.apply([virtualService(i, size, `x-change-${i}`)]);
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  return seconds;
}
