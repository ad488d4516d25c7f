/** The embedded API as a child process: one that runs out of memory takes nothing else with it, and is started again. */
import { request } from "node:https";
import { join } from "node:path";
import { type ClusterAccess, loadKubeconfig } from "../../kube/index.ts";
import { formatAddress, type ListenAddress } from "../listen-address.ts";
import { childEnv } from "./control-plane-child.ts";
import { type Supervised, type SupervisedOptions, supervise } from "./supervised.ts";

export interface ApiOptions
  extends Pick<SupervisedOptions, "journal" | "log" | "line" | "random" | "signal" | "restarted" | "tell"> {
  readonly dir: string;
  readonly listen: ListenAddress;
  readonly fairlead: readonly string[];
  readonly logLevels: string | undefined;
}

export interface ApiChild {
  readonly child: Supervised;
  readonly kubeconfig: string;
  /** Of the user that the control plane is. */
  readonly planeKubeconfig: string;
  readonly access: ClusterAccess;
}

export async function startApi(options: ApiOptions): Promise<ApiChild> {
  const { dir, fairlead, listen, logLevels } = options;
  const boundFile = join(dir, "run", "api-addresses.json");
  const kubeconfig = join(dir, "kubeconfig");
  let access: ClusterAccess | undefined;
  const child = await supervise({
    ...options,
    name: "the API",
    boundFile,
    logFile: join(dir, "logs", "api.log"),
    env: childEnv(dir),
    command: (bound) => [
      ...[...fairlead, "api", "--data", dir, "--addr", bound?.get("api") ?? formatAddress(listen)],
      ...(bound ? [] : ["--bound-addresses", boundFile]),
      ...(logLevels === undefined ? [] : ["--log_output_level", logLevels]),
    ],
    ask: (bound, deadline) => askLife(bound.get("api") ?? "", access?.ca, deadline),
  });
  access = await loadKubeconfig({ paths: [kubeconfig], env: {} });
  return { child, kubeconfig, planeKubeconfig: join(dir, "run", "control-plane.kubeconfig"), access };
}

/** Any answer will do, a refusal too. */
function askLife(address: string, ca: string | undefined, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const asked = request(`https://${address}/livez`, { ...(ca === undefined ? {} : { ca }), signal }, (answer) => {
      answer.on("error", () => {}).resume();
      resolve(true);
    });
    asked.on("error", reject);
    asked.end();
  });
}
