/** The embedded API and a control plane on it, each in a process of its own that is measured, and the ways to ask them. */
import { controlPlane } from "../../src/apiserver/index.ts";
import { type Answer, callWith } from "../../src/apiserver/testing.ts";
import type { DiscoveryAddresses } from "../../src/control-plane/discovery-options.ts";
import type { ApiPlace } from "./api-process.ts";
import { type Measuring, startMeasured } from "./measured-process.ts";

export interface World {
  readonly measured: Readonly<Record<"api" | "plane", Omit<Measuring<unknown>, "place" | "close">>>;
  readonly plane: DiscoveryAddresses;
  call(method: string, path: string, body?: unknown, type?: string, as?: "admin" | "eve"): Promise<Answer>;
  close(): Promise<void>;
}

/** The control plane has a page where its folder is given. */
export async function startWorld(pageFolder?: string): Promise<World> {
  const api = await startMeasured<ApiPlace>("./api-process.ts");
  const { place } = api;
  const call: World["call"] = (method, path, body, type, as = "admin") =>
    callWith(place.url, { ...place[as], ca: place.ca }, method, path, body, type);
  await allowSecrets(call);
  const page = pageFolder === undefined ? [] : [pageFolder];
  const plane = await startMeasured<DiscoveryAddresses>("./plane-process.ts", place.planeConfig, ...page);
  return {
    measured: { api, plane },
    plane: plane.place,
    call,
    async close() {
      await plane.close();
      await api.close();
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
