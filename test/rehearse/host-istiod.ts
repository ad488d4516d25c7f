/** A control plane in; a Pod of istiod that its API forwards ports to, out. For tests. */
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { expect } from "vitest";
import type { ControlledApi } from "../../src/control-plane/controllers/testing.ts";
import type { Discovery } from "../../src/control-plane/discovery.ts";
import { kubeKinds } from "../../src/kube/index.ts";
import { silentLogger } from "../../src/lib/index.ts";
import { type PodServer, servePod } from "../../src/standalone/kubelet/pod-server.ts";

/** A Pod whose port 15014 is the control plane's. */
export async function hostIstiod(world: ControlledApi, plane: Discovery): Promise<PodServer> {
  const { admin, api } = world;
  const env = [{ name: "PILOT_HTTP10", value: "false" }];
  const pod = await admin.create(kubeKinds.pods, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "istiod-1", namespace: "istio-system", labels: { app: "istiod", "istio.io/rev": "default" } },
    spec: { nodeName: "here", containers: [{ name: "discovery", image: "none", env }] },
  });
  const containerStatuses = [{ name: "discovery", ready: true, restartCount: 0, image: "none", imageID: "" }];
  await admin.patchStatus(kubeKinds.pods, pod.metadata, { phase: "Running", containerStatuses });
  const { host, port } = plane.addresses.monitoring;
  return servePod(
    join(api.dir, "run", "pods"),
    {
      name: "istiod-1",
      uid: pod.metadata.uid ?? "",
      connect: async (wanted) => {
        expect(wanted).toBe(15014);
        const socket = connect({ host, port, allowHalfOpen: true });
        await once(socket, "connect");
        return socket;
      },
      log: () => undefined,
      processes: () => new Map(),
      spawner: () => undefined,
    },
    silentLogger,
  );
}
