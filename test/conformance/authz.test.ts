/**
 * Policies of the recorded cases, on a workload that serves HTTP and TCP, in; the authorisation filters of its chains
 * compared with istiod's. What differs is listed in authz.json.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { test } from "vitest";
import { isRecord, parseYaml, readRecord } from "../../src/lib/index.ts";
import type { KubeObject } from "../../src/model/index.ts";
import { type Json, renderProxy } from "../render/offline.ts";
import { recordedCases } from "./corpus.ts";
import { expectKnownDifferences } from "./differences.ts";

interface Options {
  readonly protocol: "http" | "tcp";
  readonly trustDomain: string;
  readonly trustDomainAliases: readonly string[];
  readonly workload: { readonly namespace: string; readonly labels: Readonly<Record<string, string>> };
  readonly services: readonly { readonly hostname: string; readonly namespace: string }[];
}

test("filters equal istiod's, but for known differences", { timeout: 300_000 }, async () => {
  const seen = new Map<string, readonly string[]>();
  for (const { name, dir } of recordedCases("authz", "options.json")) seen.set(name, await differencesOf(dir));
  expectKnownDifferences("authz", seen);
});

async function differencesOf(dir: string): Promise<readonly string[]> {
  const [expected, actual] = [expectedFilters(dir), await actualFilters(dir)];
  return isDeepStrictEqual(actual, expected)
    ? []
    : [`${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`];
}

const yaml = (dir: string, file: string): readonly unknown[] => {
  const path = join(dir, file);
  return existsSync(path) ? parseYaml(readFileSync(path, "utf8")) : [];
};

function expectedFilters(dir: string): readonly unknown[] {
  const filters = join(dir, "expected");
  const files = existsSync(filters) ? readdirSync(filters).sort() : [];
  return files.flatMap((file) => yaml(filters, file));
}

/** Each case has policies of one action set only, so all authorisation filters of a chain are those asked for. */
async function actualFilters(dir: string): Promise<readonly unknown[]> {
  const options: Options = JSON.parse(readFileSync(join(dir, "options.json"), "utf8"));
  const policies = yaml(dir, "policies.yaml").filter((policy): policy is KubeObject => isRecord(policy));
  const { trustDomain, trustDomainAliases } = options;
  const mesh = {
    ...readRecord(yaml(dir, "mesh.yaml")[0]),
    ...(trustDomain === "" ? {} : { trustDomain, trustDomainAliases }),
  };
  const { listeners } = await renderProxy({ objects: [...workload(options), ...policies], mesh });
  const filters = chainFilters(listeners.get("virtualInbound"), options.protocol);
  return filters.filter(({ name: filter }) => /\.(rbac|ext_authz)$/.test(filter));
}

function workload({ workload: { namespace, labels }, services }: Options): readonly KubeObject[] {
  const port = (name: string, number: number) => ({ name, port: number, targetPort: number, protocol: "TCP" });
  return [
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "httpbin", namespace, labels: { ...labels, "security.istio.io/tlsMode": "istio" } },
      spec: { containers: [{ name: "istio-proxy", args: ["proxy", "sidecar"] }] },
      status: { podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }] },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "httpbin", namespace },
      spec: { clusterIP: "10.96.0.1", selector: labels, ports: [port("http", 8000), port("tcp", 9000)] },
    },
    ...services.map(({ hostname, namespace: own }) => ({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: hostname.split(".")[0] ?? "", namespace: own },
      spec: { clusterIP: "10.96.0.2", ports: [port("grpc", 9000)] },
    })),
  ];
}

function chainFilters(listener: Json, protocol: "http" | "tcp"): readonly { readonly name: string }[] {
  const port = protocol === "http" ? 8000 : 9000;
  const chain = listener.filterChains.find((one: Json) => one.filterChainMatch?.destinationPort === port);
  if (protocol === "tcp") return chain.filters;
  return chain.filters.find((one: Json) => one.typedConfig.httpFilters).typedConfig.httpFilters;
}
