/**
 * Policies of the recorded cases, on a workload that serves HTTP and TCP, in; the authorisation filters of its chains
 * compared with istiod's. The figure may only rise; FAIRLEAD_RAISE_FLOOR=1 writes it down, FAIRLEAD_CASES picks cases.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import { isRecord, parseYaml, readRecord } from "../../src/lib/index.ts";
import type { KubeObject } from "../../src/model/index.ts";
import { type Json, renderProxy } from "../render/offline.ts";
import { conformanceDir, lacks } from "../require.ts";

interface Options {
  readonly protocol: "http" | "tcp";
  readonly trustDomain: string;
  readonly trustDomainAliases: readonly string[];
  readonly workload: { readonly namespace: string; readonly labels: Readonly<Record<string, string>> };
  readonly services: readonly { readonly hostname: string; readonly namespace: string }[];
}

const corpus = join(conformanceDir, "authz");
const floorFile = join(import.meta.dirname, "authz.json");
const wanted = new RegExp(process.env.FAIRLEAD_CASES ?? ".");

describe.skipIf(lacks("conformance"))("authz conformance", () => {
  test("cases equal to istiod's only rise", { timeout: 120_000 }, async () => {
    const cases = readdirSync(corpus).filter(
      (name) => wanted.test(name) && existsSync(join(corpus, name, "options.json")),
    );
    const different: string[] = [];
    for (const name of cases) {
      const [expected, actual] = [expectedFilters(name), await actualFilters(name)];
      if (isDeepStrictEqual(actual, expected)) continue;
      different.push(name);
      if (process.env.FAIRLEAD_CASES) expect(actual).toEqual(expected);
    }
    console.log(`authz conformance: ${cases.length - different.length} of ${cases.length} cases equal`, different);
    if (!process.env.FAIRLEAD_CASES) checkFloor(cases.length - different.length);
  });
});

function checkFloor(casesEqual: number): void {
  const floor: { readonly casesEqual: number } = JSON.parse(readFileSync(floorFile, "utf8"));
  if (process.env.FAIRLEAD_RAISE_FLOOR && casesEqual > floor.casesEqual)
    writeFileSync(floorFile, `${JSON.stringify({ casesEqual }, null, 2)}\n`);
  expect(casesEqual).toBeGreaterThanOrEqual(floor.casesEqual);
}

const yaml = (name: string, file: string): readonly unknown[] => {
  const path = join(corpus, name, file);
  return existsSync(path) ? parseYaml(readFileSync(path, "utf8")) : [];
};

function expectedFilters(name: string): readonly unknown[] {
  const dir = join(corpus, name, "expected");
  const files = existsSync(dir) ? readdirSync(dir).sort() : [];
  return files.flatMap((file) => yaml(name, `expected/${file}`));
}

/** Each case has policies of one action set only, so all authorisation filters of a chain are those asked for. */
async function actualFilters(name: string): Promise<readonly unknown[]> {
  const options: Options = JSON.parse(readFileSync(join(corpus, name, "options.json"), "utf8"));
  const policies = yaml(name, "policies.yaml").filter((policy): policy is KubeObject => isRecord(policy));
  const { trustDomain, trustDomainAliases } = options;
  const mesh = {
    ...readRecord(yaml(name, "mesh.yaml")[0]),
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
