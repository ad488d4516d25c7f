/**
 * A proxy's settings in; one text out that differs whenever its agent, its Envoy's bootstrap and flags, or its injected
 * Pod do; a machine's WorkloadGroup likewise. That the settings themselves are handed on is left out: to pass a field along is not to act on it.
 */

import { adminPort } from "../../src/agent/envoy/admin-address.ts";
import { bootstrapFiles } from "../../src/agent/envoy/bootstrap-files.ts";
import { envoyArguments } from "../../src/agent/envoy/process.ts";
import { probePlan } from "../../src/agent/health/workload-probe.ts";
import { agentOptionsFromEnv } from "../../src/agent/index.ts";
import { vmSettings } from "../../src/cli/workload/vm-files.ts";
import { entryFromGroup, entryOf } from "../../src/control-plane/registration/entry.ts";
import { createInjectSettings, injectDocuments } from "../../src/inject/index.ts";
import { parseYaml, readRecord, silentLogger } from "../../src/lib/index.ts";
import {
  type KubeObject,
  type MeshConfigSpec,
  mergeMeshConfig,
  type ProxyConfigValues,
} from "../../src/model/index.ts";
import type { ProxyNode } from "../../src/xds/index.ts";

/** Where settings are handed on as a whole. */
const handedOn: ReadonlySet<string> = new Set(["proxyConfig", "PROXY_CONFIG"]);

export function workloadOf(config: ProxyConfigValues): string {
  const written = JSON.stringify(config);
  const agents = ["sidecar", "router"].map((type) => agentOf(type, { ...podEnv, PROXY_CONFIG: written }));
  return textOf([...agents, podOf(mergeMeshConfig({ defaultConfig: config }))]);
}

/** Of a machine: what its WorkloadGroup makes of it, and its agent of that. */
export function machineOf(group: KubeObject): string {
  const { meshYaml, clusterEnv } = vmSettings(group, "", machine);
  const [mesh] = parseYaml(meshYaml).map(readRecord);
  const written = JSON.stringify(readRecord(mesh).defaultConfig ?? {});
  const ref = entryOf(registering);
  const entry = ref && entryFromGroup(ref, registering, group);
  return textOf([clusterEnv, agentOf("sidecar", { ...podEnv, PROXY_CONFIG: written }), entry]);
}

const machine = {
  ...{ cluster: "Kubernetes", namespace: "istio-system", revision: "", captureDns: true, autoRegister: true },
  ...{ internalIp: "10.0.0.1", externalIp: "" },
};

/** As its agent names it: nothing that the group says otherwise. */
const registering: ProxyNode = {
  id: "sidecar~10.0.0.1~a.red~red.svc.cluster.local",
  metadata: { NAMESPACE: "red", AUTO_REGISTER_GROUP: "a" },
  locality: { region: "", zone: "", subZone: "" },
  cluster: "",
  userAgent: "",
  extensions: new Set(),
};

/** Of the mesh's settings only injection reads anything. */
export const injectedPod = (meshConfig: MeshConfigSpec): string => textOf(podOf(meshConfig));

const textOf = (made: unknown): string =>
  JSON.stringify(made, (key, value) =>
    handedOn.has(key) || isHandedOn(value) ? undefined : value instanceof Map ? [...value] : value,
  );

const isHandedOn = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "name" in value && value.name === "PROXY_CONFIG";

const labels = 'app="a"\nservice.istio.io/canonical-name="c"\n';

const podEnv = {
  ...{ POD_NAME: "a-1", POD_NAMESPACE: "red", INSTANCE_IP: "10.0.0.1", SERVICE_ACCOUNT: "a", HOST_IP: "10.0.9.1" },
};

function agentOf(type: string, env: Readonly<Record<string, string>>): unknown {
  const options = agentOptionsFromEnv(env, [type, "--domain", "red.svc.cluster.local"], {
    workDir: "/work",
    hostname: "host",
    addresses: ["10.0.0.1"],
    readFile: (path) => (path === "./etc/istio/pod/labels" ? labels : undefined),
    secretName: "sockets",
    now: () => new Date(0),
    random: () => 0,
    log: silentLogger,
  });
  const flags = envoyArguments({
    ...{ binary: options.envoyBinary, configFile: "envoy.json", proxyConfig: options.proxyConfig, ipv6Only: false },
    ...{ logLevel: "warning", componentLogLevel: "", skipDeprecatedLogs: false, workDir: "/work", sockets: "sockets" },
    ...{ env: {}, log: silentLogger },
  });
  const { env: _, log: __, ...own } = options;
  const { readinessProbe } = options.proxyConfig;
  const probe = readinessProbe && probePlan(readinessProbe, options.appAddress);
  return { ...own, files: bootstrapFiles(options), flags, admin: adminPort(options), probe };
}

const pod = `
apiVersion: v1
kind: Pod
metadata: { name: a-1, namespace: red, labels: { app: a }, annotations: { prometheus.io/scrape: "true" } }
spec: { containers: [{ name: app, image: app, ports: [{ containerPort: 8080 }] }] }
`;

function podOf(meshConfig: MeshConfigSpec): unknown {
  const settings = createInjectSettings({
    ...{ values: {}, config: {}, revision: "", compliancePolicy: "" },
    meshConfig,
    annotationError: () => undefined,
  });
  return injectDocuments(pod, {
    ...{ settings, nativeSidecars: false, readProxyConfig: () => ({}) },
    warn: (text) => {
      throw new Error(text);
    },
  });
}
