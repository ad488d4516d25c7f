/** A Pod and the port of a control plane in; a proxy that follows all that it is told, and acknowledges it, out. */
import { create, fromBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { textAt } from "../../src/apiserver/access.ts";
import { Cluster_DiscoveryType, ClusterSchema } from "../../src/gen/envoy/config/cluster/v3/cluster_pb.js";
import {
  DeltaDiscoveryRequestSchema,
  type DeltaDiscoveryResponse,
} from "../../src/gen/envoy/service/discovery/v3/discovery_pb.js";
import { wait } from "../../src/lib/index.ts";
import { types } from "../../src/model/index.ts";
import { createRpcClient } from "../../src/rpc/index.ts";
import { deltaMethod } from "../../src/xds/index.ts";
import type { PodApi } from "../standalone/kubectl.ts";

export interface Follower {
  close(): void;
}

export interface ProxyPod {
  readonly name: string;
  readonly namespace: string;
  readonly address: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly account: string;
  readonly containers: readonly string[];
}

/** Resolves when each type that it follows has been told and acknowledged. */
export async function followAll({ api }: PodApi, port: number, pod: ProxyPod): Promise<Follower> {
  const token = await tokenOf(api, pod);
  const rpc = createRpcClient({
    target: { host: "127.0.0.1", port },
    authority: "istiod.istio-system.svc",
    tls: () => ({ ca: roots, serverName: "istiod.istio-system.svc" }),
    metadata: async () => ({ authorization: `Bearer ${token}` }),
  });
  const roots = await rootsOf(api, pod.namespace);
  const stream = await rpc.stream(deltaMethod);
  const send = (init: MessageInitShape<typeof DeltaDiscoveryRequestSchema>): Promise<void> =>
    stream.send(create(DeltaDiscoveryRequestSchema, init));
  const missing = new Set<string>([types.cluster, types.listener, types.route, types.endpoint]);
  const whole = Promise.withResolvers<void>();
  const routes = pod.containers.length === 1 ? ["http.8080"] : ["80", "9080"];
  const reading = (async () => {
    for await (const response of stream.messages) {
      await send({ typeUrl: response.typeUrl, responseNonce: response.nonce });
      if (response.typeUrl === types.cluster)
        await send({ typeUrl: types.endpoint, resourceNamesSubscribe: endpointNames(response) });
      if (response.typeUrl === types.listener) await send({ typeUrl: types.route, resourceNamesSubscribe: routes });
      missing.delete(response.typeUrl);
      if (missing.size === 0) whole.resolve();
    }
  })();
  reading.catch(whole.reject);
  await send({ node: nodeOf(pod), typeUrl: types.cluster });
  await send({ typeUrl: types.listener });
  await whole.promise;
  return {
    close() {
      stream.cancel();
      rpc.close();
    },
  };
}

/** Of the account that the Pod runs as, for the control plane; what has no Pod, as a virtual machine, has one of the account. */
export async function tokenOf(
  api: PodApi["api"],
  { name, namespace, account }: Pick<ProxyPod, "name" | "namespace" | "account">,
): Promise<string> {
  const { body: pod } = await api.call("GET", `/api/v1/namespaces/${namespace}/pods/${name}`);
  const uid = textAt(pod, "metadata", "uid");
  const { body } = await api.call("POST", `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`, {
    spec: {
      audiences: ["istio-ca"],
      ...(uid === "" ? {} : { boundObjectRef: { kind: "Pod", apiVersion: "v1", name, uid } }),
    },
  });
  return textAt(body, "status", "token");
}

/** As a Pod has it mounted; control planes write it once they are up. */
export async function rootsOf(api: PodApi["api"], namespace: string): Promise<string> {
  for (;;) {
    const { body } = await api.call("GET", `/api/v1/namespaces/${namespace}/configmaps/istio-ca-root-cert`);
    const roots = textAt(body, "data", "root-cert.pem");
    if (roots !== "") return roots;
    await wait(100);
  }
}

function endpointNames({ resources }: DeltaDiscoveryResponse): string[] {
  return resources.flatMap(({ name, resource }) => {
    const cluster = resource && fromBinary(ClusterSchema, resource.value);
    const isEds =
      cluster?.clusterDiscoveryType.case === "type" && cluster.clusterDiscoveryType.value === Cluster_DiscoveryType.EDS;
    return isEds ? [cluster.edsClusterConfig?.serviceName || name] : [];
  });
}

function nodeOf({ name, namespace, address, labels, account, containers }: ProxyPod) {
  const kind = containers.length === 1 ? "router" : "sidecar";
  return {
    id: `${kind}~${address}~${name}.${namespace}~${namespace}.svc.cluster.local`,
    cluster: `${labels.app ?? name}.${namespace}`,
    userAgentName: "envoy",
    metadata: {
      ...{
        NAME: name,
        NAMESPACE: namespace,
        LABELS: { ...labels },
        SERVICE_ACCOUNT: account,
        CLUSTER_ID: "Kubernetes",
      },
      ...{ ISTIO_VERSION: "1.32.0", INSTANCE_IPS: address, MESH_ID: "cluster.local", INTERCEPTION_MODE: "REDIRECT" },
      // By this istiod tells proxies from those who only ask.
      PROXY_CONFIG: { discoveryAddress: "istiod.istio-system.svc:15012" },
      ...{ PILOT_SAN: ["istiod.istio-system.svc"], NODE_NAME: "n1", WORKLOAD_NAME: name },
    },
    locality: { region: "r1", zone: "z1", subZone: "" },
  };
}
