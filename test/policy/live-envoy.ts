/** Nothing in; a running Envoy out whose listeners and secrets can be changed: it reads the first from a file, the second from the agent's SDS. */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSdsRoutes } from "../../src/agent/identity/sds.ts";
import type { SecretContent, SecretSource } from "../../src/agent/identity/secrets.ts";
import { digest, silentLogger, wait } from "../../src/lib/index.ts";
import { createRpcServer } from "../../src/rpc/index.ts";
import type { Json } from "../render/offline.ts";
import { askAdmin, type RunningEnvoy, startEnvoy } from "./envoy.ts";

export interface LiveEnvoy extends RunningEnvoy {
  /** Resolves when Envoy has taken them; they may still wait for secrets. */
  serve(...listeners: readonly Json[]): Promise<void>;
  /** Gives the secret to Envoy, now or when it asks. */
  secret(name: "default" | "ROOTCA", content: SecretContent): void;
  /** The value of a number that Envoy counts. */
  count(name: string): Promise<number>;
  /** Resolves when the number is so. */
  counted(name: string, is: (value: number) => boolean): Promise<void>;
}

interface Secrets extends SecretSource {
  set(name: string, content: SecretContent): void;
}

function createSecrets(): Secrets {
  const held = new Map<string, SecretContent>();
  const watching = new Map<string, Set<() => void>>();
  return {
    get(name) {
      const content = held.get(name);
      return content && { name, content, version: digest(JSON.stringify(content)) };
    },
    watch(name, changed) {
      const all = watching.get(name) ?? new Set();
      watching.set(name, all.add(changed));
      return () => all.delete(changed);
    },
    set(name, content) {
      held.set(name, content);
      for (const changed of watching.get(name) ?? []) changed();
    },
  };
}

const listenerType = "type.googleapis.com/envoy.config.listener.v3.Listener";

export async function startLiveEnvoy(clusters: readonly Json[]): Promise<LiveEnvoy> {
  const dir = mkdtempSync(join(tmpdir(), "fl-live-"));
  const [socket, file] = [join(dir, "sds"), join(dir, "lds.json")];
  const secrets = createSecrets();
  const sds = createRpcServer({ routes: createSdsRoutes(secrets, silentLogger), log: silentLogger });
  await sds.listen({ path: socket });
  let version = 0;
  const write = (listeners: readonly Json[]): void => {
    const resources = listeners.map((listener) => ({ "@type": listenerType, ...listener }));
    // Envoy notices a file that is moved into place.
    writeFileSync(`${file}.new`, JSON.stringify({ versionInfo: String(++version), resources }), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  };
  write([]);
  const envoy = await startEnvoy([], [...clusters, sdsCluster(socket)], {
    dynamicResources: { ldsConfig: { pathConfigSource: { path: file }, resourceApiVersion: "V3" } },
  });
  const count = async (name: string): Promise<number> =>
    Number((await askAdmin(`/stats?filter=^${name}$`)).split(": ")[1] ?? Number.NaN);
  const counted = async (name: string, is: (value: number) => boolean): Promise<void> => {
    for (const deadline = performance.now() + 120_000; !is(await count(name)); await wait(10))
      if (performance.now() > deadline) throw new Error(`${name} is ${await count(name)}`);
  };
  return {
    pid: envoy.pid,
    alive: envoy.alive,
    secret: secrets.set,
    count,
    counted,
    async serve(...listeners) {
      const before = await count("listener_manager.lds.update_success");
      write(listeners);
      await counted("listener_manager.lds.update_success", (value) => value > before);
    },
    async close() {
      await envoy.close();
      await sds.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

const sdsCluster = (path: string): Json => ({
  name: "sds-grpc",
  type: "STATIC",
  connectTimeout: "1s",
  typedExtensionProtocolOptions: {
    "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
      "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
      explicitHttpConfig: { http2ProtocolOptions: {} },
    },
  },
  loadAssignment: {
    clusterName: "sds-grpc",
    endpoints: [{ lbEndpoints: [{ endpoint: { address: { pipe: { path } } } }] }],
  },
});
