/** A control plane's program in, Fairlead's or istiod's; a running one out, on an address of its own, as its Pod would be. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Journal, startProcess } from "../../src/standalone/index.ts";
import { eventually } from "../traffic/mesh.ts";

export interface PlaneProgram {
  readonly name: string;
  readonly command: readonly string[];
  /** Beyond what its Pod has. */
  readonly env: Readonly<Record<string, string>>;
}

export interface PlaneOptions {
  readonly program: PlaneProgram;
  readonly revision: string;
  readonly address: string;
  /** A kubeconfig as the account of the control plane. */
  readonly kubeconfig: string;
  readonly journal: Journal;
}

export interface Plane {
  readonly address: string;
  log(): string;
  /** Proxies that are connected to it. */
  proxies(): Promise<number>;
  /** As a Pod ends. */
  stop(): Promise<void>;
}

const root = join(import.meta.dirname, "../..");

export const fairleadPlane: PlaneProgram = {
  name: "Fairlead",
  command: [process.execPath, join(root, "dist/main.js")],
  env: {},
};

/**
 * A stock Envoy lacks Istio's own filters, which istiod would send to it all the same: it is told to leave them out.
 * Fairlead sees from the proxy what it can do.
 */
export const istiodPlane = (binary: string): PlaneProgram => ({
  name: "istiod",
  command: [binary],
  env: { PILOT_ENABLE_ALPN_FILTER: "false", PILOT_ENABLE_METADATA_EXCHANGE: "false" },
});

export async function startPlane(options: PlaneOptions): Promise<Plane> {
  const { program, revision, address } = options;
  const dir = mkdtempSync(join(tmpdir(), "fairlead-plane-"));
  writeFileSync(join(dir, "kubeconfig"), options.kubeconfig, { mode: 0o600 });
  const [file = "", ...first] = program.command;
  const lines: string[] = [];
  const running = startProcess({
    file,
    args: [
      ...first,
      "discovery",
      ...["--kubeconfig", join(dir, "kubeconfig"), "--domain", "cluster.local", "--log_output_level=default:info"],
      ...[`--grpcAddr=${address}:15010`, `--secureGRPCAddr=${address}:15012`, `--httpsAddr=${address}:15017`],
      ...[`--monitoringAddr=${address}:15014`, `--httpAddr=${address}:8080`],
      "--keepaliveMaxServerConnectionAge=30m",
    ],
    cwd: dir,
    env: {
      PATH: process.env.PATH ?? "/usr/bin",
      HOME: dir,
      REVISION: revision,
      POD_NAME: `${program.name.toLowerCase()}-${address.replaceAll(".", "-")}`,
      POD_NAMESPACE: "istio-system",
      SERVICE_ACCOUNT: "istiod",
      PILOT_CERT_PROVIDER: "istiod",
      CLUSTER_ID: "Kubernetes",
      ...program.env,
    },
    output: (line) => lines.push(line),
    journal: options.journal,
  });
  const ended = running.exited.then((status) => {
    throw new Error(`${program.name} ended with ${status}:\n${lines.slice(-20).join("\n")}`);
  });
  ended.catch(() => {});
  const ready = async (): Promise<boolean> =>
    (await fetch(`http://${address}:8080/ready`).catch(() => undefined))?.ok === true;
  await Promise.race([ended, eventually(ready, `${program.name} to be ready`, 300_000)]);
  return {
    address,
    log: () => lines.join("\n"),
    async proxies() {
      const text = await (await fetch(`http://${address}:15014/metrics`)).text();
      const counts = [...text.matchAll(/^pilot_xds(?:\{[^}]*\})? (\d+)/gm)].map(([, count]) => Number(count));
      return counts.reduce((sum, count) => sum + count, 0);
    },
    async stop() {
      await running.stop(30_000);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
