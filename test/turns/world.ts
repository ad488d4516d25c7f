/** The embedded API and a control plane on it, each in a thread of its own that is measured, and the ways to ask them. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { controlPlane } from "../../src/apiserver/index.ts";
import { type Answer, callWith } from "../../src/apiserver/testing.ts";
import type { DiscoveryAddresses } from "../../src/control-plane/discovery-options.ts";
import type { ApiPlace } from "./api-thread.ts";
import { createMeter, type Meter } from "./meter.ts";

export interface World {
  readonly meters: Readonly<Record<"api" | "plane", Meter>>;
  readonly plane: DiscoveryAddresses;
  call(method: string, path: string, body?: unknown, type?: string, as?: "admin" | "eve"): Promise<Answer>;
  close(): Promise<void>;
}

export async function startWorld(): Promise<World> {
  const meters = { api: createMeter(), plane: createMeter() };
  const thread = (file: string, workerData: unknown): Worker =>
    new Worker(new URL(file, import.meta.url), { workerData });
  const api = thread("./api-thread.ts", meters.api);
  const [place]: ApiPlace[] = await once(api, "message");
  if (!place) throw new Error("the API does not say where it is");
  const call: World["call"] = (method, path, body, type, as = "admin") =>
    callWith(place.url, { ...place[as], ca: place.ca }, method, path, body, type);
  await allowSecrets(call);
  const plane = thread("./plane-thread.ts", { kubeconfig: place.planeConfig, meter: meters.plane });
  const [addresses]: DiscoveryAddresses[] = await once(plane, "message");
  if (!addresses) throw new Error("the control plane does not say where it is");
  return {
    meters,
    plane: addresses,
    call,
    async close() {
      for (const one of [plane, api]) {
        const ended = once(one, "exit");
        one.postMessage("end");
        await ended;
      }
    },
  };
}

/** As an installer gives it to the control plane. */
async function allowSecrets(call: World["call"]): Promise<void> {
  const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/istio-system";
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "istiod" };
  const verbs = ["create", "get", "list", "watch", "update", "patch"];
  const metadata = { name: "istiod" };
  await call("POST", "/api/v1/namespaces", { metadata: { name: "istio-system" } });
  await call("POST", `${rbac}/roles`, { metadata, rules: [{ apiGroups: [""], resources: ["secrets"], verbs }] });
  const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: controlPlane.user }];
  await call("POST", `${rbac}/rolebindings`, { metadata, roleRef, subjects });
}
