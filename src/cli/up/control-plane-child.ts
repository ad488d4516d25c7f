/** The control plane as a child process; workloads do not notice when it is started again. */
import { join } from "node:path";
import { formatAddress, type ListenAddress } from "../listen-address.ts";
import { dashboardSecret } from "./dashboard-url.ts";
import { type Supervised, type SupervisedOptions, supervise } from "./supervised.ts";

export interface ControlPlaneOptions
  extends Pick<SupervisedOptions, "journal" | "log" | "line" | "random" | "signal" | "restarted" | "tell"> {
  readonly dir: string;
  readonly kubeconfig: string;
  /** By istiod's flag name. */
  readonly addresses: ReadonlyMap<string, ListenAddress>;
  /** `host:port` on the mesh network that TLS is served at as well. */
  readonly meshAddress: string | undefined;
  readonly domain: string;
  /** Kubeconfig that whoever holds the page's secret applies objects with; absent: the page is for reading. */
  readonly editKubeconfig?: string | undefined;
  readonly logLevels: string | undefined;
  readonly fairlead: readonly string[];
}

const flagNames: ReadonlyMap<string, string> = new Map([
  ["grpc", "--grpcAddr"],
  ["secureGrpc", "--secureGRPCAddr"],
  ["monitoring", "--monitoringAddr"],
  ["https", "--httpsAddr"],
  ["http", "--httpAddr"],
  ["dashboard", "--dashboardAddr"],
]);

export function startControlPlane(options: ControlPlaneOptions): Promise<Supervised> {
  const boundFile = join(options.dir, "run", "control-plane-addresses.json");
  return supervise({
    ...options,
    name: "the control plane",
    boundFile,
    logFile: join(options.dir, "logs", "control-plane.log"),
    env: childEnv(options.dir),
    command: (bound) => [
      ...options.fairlead,
      "discovery",
      ...["--kubeconfig", options.kubeconfig, "--domain", options.domain],
      ...["--dashboard-secret", dashboardSecret(options.dir)],
      ...["--dashboard-history", join(options.dir, "changes.jsonl")],
      ...(options.editKubeconfig === undefined
        ? []
        : ["--dashboard-edit", "--dashboard-edit-kubeconfig", options.editKubeconfig]),
      ...(options.logLevels === undefined ? [] : ["--log_output_level", options.logLevels]),
      ...(bound ? [] : ["--bound-addresses", boundFile]),
      ...addressFlags(options, bound),
    ],
    ask: async (bound, deadline) => (await fetch(`http://${bound.get("http")}/ready`, { signal: deadline })).ok,
  });
}

/** The same ports in each life, or nobody would find it. */
function addressFlags(options: ControlPlaneOptions, bound: ReadonlyMap<string, string> | undefined): readonly string[] {
  const flags = [...flagNames].flatMap(([name, flag]) => {
    const wanted = options.addresses.get(name);
    return [flag, bound?.get(name) ?? (wanted ? formatAddress(wanted) : "127.0.0.1:0")];
  });
  const controlz = bound?.get("controlz") ?? "127.0.0.1:0";
  const at = controlz.lastIndexOf(":");
  const all = [...flags, "--ctrlz_address", controlz.slice(0, at), "--ctrlz_port", controlz.slice(at + 1)];
  return options.meshAddress === undefined ? all : [...all, "--extra-secure-addr", options.meshAddress];
}

/** Settings of istiod are environment: what `up` was given, its control plane is given. */
export function childEnv(dir: string): Readonly<Record<string, string>> {
  const own = Object.entries(process.env).flatMap(([key, value]) =>
    value === undefined || key === "KUBECONFIG" ? [] : [[key, value] as const],
  );
  return {
    PILOT_ENABLE_ANALYSIS: "true",
    // Compiled code is kept, so that one that was killed is back sooner.
    NODE_COMPILE_CACHE: join(dir, "run", "compiled"),
    // `run` starts the proxy beside the process, whatever the nodes of a cluster of this version could do.
    ENABLE_NATIVE_SIDECARS: "false",
    // `run` looks for new roots every ten seconds.
    FAIRLEAD_ROOT_FILE_LAG: "12s",
    ...Object.fromEntries(own),
    // No other control plane lives on this API, so one that starts after another goes on with its locks at once.
    POD_NAME: "istiod",
  };
}
