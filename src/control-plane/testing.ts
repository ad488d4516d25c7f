/** For tests: a control plane on a real API, and proxies that answer as they are told to. */
import { join } from "node:path";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { controlPlane } from "../apiserver/index.ts";
import {
  DeltaDiscoveryRequestSchema,
  type DeltaDiscoveryResponse,
} from "../gen/envoy/service/discovery/v3/discovery_pb.js";
import { loadKubeconfig } from "../kube/index.ts";
import { silentLogger } from "../lib/index.ts";
import { types } from "../model/index.ts";
import { createRpcClient } from "../rpc/index.ts";
import { deltaMethod } from "../xds/index.ts";
import type { ControlledApi } from "./controllers/testing.ts";
import { type Discovery, startDiscovery } from "./discovery.ts";
import type { DiscoveryOptions } from "./discovery-options.ts";

const free = { host: "127.0.0.1", port: 0 };
export const freeAddresses = { grpc: free, secureGrpc: free, monitoring: free, https: free, http: free };

/** What an installer gives the control plane for its CA. */
export async function allowSecrets(world: ControlledApi): Promise<void> {
  const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/istio-system";
  const metadata = { name: "istiod", namespace: "istio-system" };
  const apiVersion = "rbac.authorization.k8s.io/v1";
  const verbs = ["create", "get", "list", "watch", "update", "patch"];
  await world.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: "istio-system" } }).catch(() => {});
  const rules = [{ apiGroups: [""], resources: ["secrets"], verbs }];
  await world.admin.raw("POST", `${rbac}/roles`, { apiVersion, kind: "Role", metadata, rules });
  await world.admin.raw("POST", `${rbac}/rolebindings`, {
    apiVersion,
    kind: "RoleBinding",
    metadata,
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "istiod" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: controlPlane.user }],
  });
}

export async function startPlane(world: ControlledApi, options: Partial<DiscoveryOptions> = {}): Promise<Discovery> {
  const kubeconfig = join(world.api.dir, "plane");
  await world.api.server.writeKubeconfig(kubeconfig, controlPlane);
  return startPlaneWith(kubeconfig, world.stop.signal, options);
}

export async function startPlaneWith(
  kubeconfig: string,
  signal: AbortSignal,
  options: Partial<DiscoveryOptions> = {},
): Promise<Discovery> {
  return startDiscovery({
    access: await loadKubeconfig({ paths: [kubeconfig], env: {} }),
    addresses: freeAddresses,
    extraSecure: [],
    domain: "cluster.local",
    cluster: "Kubernetes",
    namespace: "istio-system",
    revision: "",
    identity: "istiod-test",
    analysis: false,
    injection: { nativeSidecars: "auto", compliancePolicy: "", platform: "" },
    debounceMs: 5,
    debounceMaxMs: 50,
    log: silentLogger,
    now: () => new Date(),
    monotonicMs: () => performance.now(),
    random: Math.random,
    signal,
    ...options,
  });
}

/** Its metrics, as Prometheus would scrape them. */
export async function scrape({ addresses: { monitoring } }: Pick<Discovery, "addresses">): Promise<string> {
  const answer = await fetch(`http://${monitoring.host}:${monitoring.port}/metrics`);
  return answer.text();
}

/** What a proxy says to a response: nothing where it takes it, its words where it refuses it, or no answer for now. */
export type Answers = (response: DeltaDiscoveryResponse) => string | undefined | "silence";

export interface ScriptedProxy {
  /** Responses by the short name of their type, such as Cluster, in total. */
  readonly responses: ReadonlyMap<string, number>;
  /** From now on. What was left without an answer is answered now. */
  answer(answers: Answers): Promise<void>;
  close(): void;
}

/** Follows all clusters and listeners, and these routes. */
export async function connectProxy(
  plane: { readonly addresses: Pick<Discovery["addresses"], "grpc"> },
  pod: string,
  routes: readonly string[],
  answers: Answers = () => undefined,
): Promise<ScriptedProxy> {
  const rpc = createRpcClient({ target: plane.addresses.grpc });
  const stream = await rpc.stream(deltaMethod);
  const send = (init: MessageInitShape<typeof DeltaDiscoveryRequestSchema>): Promise<void> =>
    stream.send(create(DeltaDiscoveryRequestSchema, init));
  const responses = new Map<string, number>();
  const open: DeltaDiscoveryResponse[] = [];
  let policy = answers;
  const answer = async (response: DeltaDiscoveryResponse): Promise<void> => {
    const said = policy(response);
    if (said === "silence") return void open.push(response);
    const { typeUrl, nonce: responseNonce } = response;
    const errorDetail = said === undefined ? {} : { errorDetail: { code: 13, message: said } };
    await send({ typeUrl, responseNonce, ...errorDetail });
  };
  const reading = (async () => {
    for await (const response of stream.messages) {
      const short = response.typeUrl.slice(response.typeUrl.lastIndexOf(".") + 1);
      responses.set(short, (responses.get(short) ?? 0) + 1);
      await answer(response);
    }
  })();
  reading.catch(() => {});
  await send({ node: { id: `sidecar~10.0.0.1~${pod}~default.svc.cluster.local` }, typeUrl: types.cluster });
  await send({ typeUrl: types.listener });
  await send({ typeUrl: types.route, resourceNamesSubscribe: [...routes] });
  return {
    responses,
    async answer(next) {
      policy = next;
      for (const response of open.splice(0)) await answer(response);
    },
    close: () => rpc.close(),
  };
}
