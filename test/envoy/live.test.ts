/**
 * A sample of all cases served over ADS, delta and state of the world in turn, to live stock Envoys, each in a network
 * namespace of its own where it can bind what it is told to: none refuses anything.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createSdsRoutes } from "../../src/agent/identity/sds.ts";
import { loadObjects } from "../../src/kube/index.ts";
import { isRecord, silentLogger, wait } from "../../src/lib/index.ts";
import type { KubeObject } from "../../src/model/index.ts";
import { createRpcServer } from "../../src/rpc/index.ts";
import { agentBootstrap } from "../agent-bootstrap.ts";
import { casesIn, recordedCases } from "../conformance/corpus.ts";
import { findEnvoy, lacks } from "../require.ts";
import { createCa, type TestCa } from "../traffic/ca.ts";
import { type ControlPlane, createControlPlane } from "../traffic/control-plane.ts";
import { meshConfig } from "../traffic/mesh.ts";

const every = 8;
const own = join(import.meta.dirname, "cases");

describe.skipIf(lacks("root", "envoy"))("a live stock Envoy refuses nothing of", () => {
  const dir = mkdtempSync(join(tmpdir(), "fl-live-"));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  let ca: TestCa;
  beforeAll(async () => {
    ca = await createCa();
  });

  const sample = recordedCases("xds", "input").filter(
    ({ dir: path }, i) => i % every === 0 && filesNamed(join(path, "input")).every((file) => existsSync(file)),
  );
  const cases = [...casesIn(own, "input"), ...sample].map(
    ({ name, dir: path }, i) => [name, join(path, "input"), i % 2 === 1] as const,
  );
  test.each(cases)("%s", { timeout: 300_000 }, async (_, path, sotw) => {
    const objects = await load(path);
    const pod = objects.find(isProxy);
    if (!pod) throw new Error("no proxy in the case");
    const controlPlane = createControlPlane(objects);
    const stop = await startEnvoy(dir, pod, controlPlane, ca, sotw);
    try {
      await controlPlane.settled();
      expect(controlPlane.refusals()).toEqual([]);
      expect(controlPlane.ads.status()[0]?.variant).toBe(sotw ? "sotw" : "delta");
    } finally {
      await stop();
      await controlPlane.close();
    }
  });
});

/** By `file://`: Envoy reads them itself, and refuses what names one that this machine does not have. */
function filesNamed(path: string): readonly string[] {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"))
    .flatMap((text) => [...text.matchAll(/\bfile:\/\/(\/[^\s"']+)/g)].map(([, file = ""]) => file));
}

async function load(path: string): Promise<readonly KubeObject[]> {
  const more: KubeObject[] = [];
  const loaded = await loadObjects([path], {
    other: (_, document) => {
      if (isRecord(document)) more.push(meshConfig(document));
    },
  });
  return [...loaded.map(({ object }) => object), ...more];
}

function proxyContainer({ kind, spec }: KubeObject): { readonly args?: readonly string[] } | undefined {
  if (kind !== "Pod" || !isRecord(spec)) return undefined;
  const all = [spec.containers, spec.initContainers].flatMap((list) => (Array.isArray(list) ? list : []));
  return all.find((container) => isRecord(container) && container.name === "istio-proxy");
}

const isProxy = (object: KubeObject): boolean => proxyContainer(object) !== undefined;

async function startEnvoy(
  parent: string,
  pod: KubeObject,
  controlPlane: ControlPlane,
  ca: TestCa,
  sotw: boolean,
): Promise<() => Promise<void>> {
  const dir = mkdtempSync(join(parent, "p"));
  const { name, namespace = "default", labels = {} } = pod.metadata;
  const type = proxyContainer(pod)?.args?.includes("router") ? "router" : "sidecar";
  const address = isRecord(pod.status) && typeof pod.status.podIP === "string" ? pod.status.podIP : "10.0.0.1";
  const serviceAccount =
    isRecord(pod.spec) && typeof pod.spec.serviceAccountName === "string" ? pod.spec.serviceAccountName : "default";
  const { config } = agentBootstrap({ serviceAccount, dir, type, name, namespace, labels, address, sotw });
  writeFileSync(join(dir, "bootstrap.json"), JSON.stringify(config));
  const served = [
    ["xds", controlPlane.routes(serviceAccount, namespace)],
    ["sds", createSdsRoutes(await ca.workload(serviceAccount), silentLogger)],
  ] as const;
  const servers = await Promise.all(
    served.map(async ([socket, routes]) => {
      const server = createRpcServer({ routes, limits: { maxMessageBytes: 64 * 1024 * 1024 }, log: silentLogger });
      await server.listen({ path: join(dir, socket) });
      return server;
    }),
  );
  // No name server is there to answer, which must not take long. The shell is replaced by Envoy; the namespaces end with it.
  const resolver = join(dir, "resolv.conf");
  writeFileSync(resolver, "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n");
  const command = 'ip link set lo up && mount --bind "$0" "$(realpath /etc/resolv.conf)" && exec "$@"';
  const args = [
    findEnvoy() ?? "envoy",
    "-c",
    join(dir, "bootstrap.json"),
    "--use-dynamic-base-id",
    "--concurrency",
    "1",
    "-l",
    "error",
  ];
  const envoy = spawn("unshare", ["--net", "--mount", "--", "sh", "-c", command, resolver, ...args], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  envoy.stderr.on("data", (chunk: Buffer) => {
    said += chunk;
  });
  await until(() => {
    if (envoy.exitCode !== null) throw new Error(`envoy ended: ${said}`);
    return controlPlane.ads.status().length > 0;
  }, "Envoy to connect");
  return async () => {
    if (envoy.exitCode === null) {
      envoy.kill("SIGKILL");
      await once(envoy, "exit");
    }
    await Promise.all(servers.map((server) => server.close()));
  };
}

async function until(check: () => boolean, what: string): Promise<void> {
  const deadline = Date.now() + 120_000;
  while (!check()) {
    if (Date.now() > deadline) throw new Error(`waited in vain for ${what}`);
    await wait(10);
  }
}
