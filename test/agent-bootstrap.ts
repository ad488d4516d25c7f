/** A Pod's name, place and labels in; Envoy's bootstrap as the agent writes it out, with sockets in a folder of the test. */
import { join } from "node:path";
import { type AgentMachine, agentOptionsFromEnv, buildBootstrap } from "../src/agent/index.ts";
import { silentLogger } from "../src/lib/index.ts";
import type { ProxyType } from "../src/model/index.ts";

export interface BootstrapPod {
  /** The sockets `xds`, `sds` and `admin` are in it. */
  readonly dir: string;
  readonly type: ProxyType;
  readonly name: string;
  readonly namespace: string;
  /** The Pod's name where absent. */
  readonly serviceAccount?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly address: string;
  /** State of the world instead of delta. */
  readonly sotw: boolean;
}

export function agentBootstrap(pod: BootstrapPod): { readonly nodeId: string; readonly config: object } {
  const { dir, type, name, namespace, labels, address } = pod;
  const env = {
    POD_NAME: name,
    POD_NAMESPACE: namespace,
    INSTANCE_IP: address,
    SERVICE_ACCOUNT: pod.serviceAccount ?? name,
    ISTIO_META_CLUSTER_ID: "Kubernetes",
    ISTIO_META_INTERCEPTION_MODE: "REDIRECT",
    ISTIO_META_WORKLOAD_NAME: labels.app ?? name,
  };
  const labelsFile = Object.entries(labels)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}\n`)
    .join("");
  const machine: AgentMachine = {
    workDir: dir,
    hostname: "host",
    addresses: [address],
    readFile: (path) => (path === "./etc/istio/pod/labels" ? labelsFile : undefined),
    secretName: "sockets",
    now: () => new Date(),
    random: Math.random,
    log: silentLogger,
  };
  const agent = agentOptionsFromEnv(env, [type, "--domain", `${namespace}.svc.cluster.local`], machine);
  const sockets = { sdsSocket: join(dir, "sds"), xdsSocket: join(dir, "xds"), adminSocket: join(dir, "admin") };
  const config = buildBootstrap({ ...agent.bootstrap, ...sockets, deltaXds: !pod.sotw });
  return { nodeId: agent.bootstrap.node.id, config };
}
