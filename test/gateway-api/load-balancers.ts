/** Services of type LoadBalancer in; the address of a ready Pod behind each as its own out, as a cloud would give one. */
import { type KubeClient, kubeKinds } from "../../src/kube/index.ts";
import { readList, readRecord, readText } from "../../src/lib/index.ts";
import type { KubeObject } from "../../src/model/index.ts";
import { lookAgain } from "./look-again.ts";

export function runLoadBalancers(client: KubeClient, say: (text: string) => void): { close(): Promise<void> } {
  const look = async (): Promise<void> => {
    const [services, pods] = await Promise.all([client.list(kubeKinds.services), client.list(kubeKinds.pods)]);
    for (const service of services.items) {
      const { type, selector, loadBalancerIP } = readRecord(service.spec);
      if (type !== "LoadBalancer") continue;
      const wanted = Object.entries(readRecord(selector));
      const pod = pods.items.find(
        (one) =>
          one.metadata.namespace === service.metadata.namespace &&
          isReady(one) &&
          wanted.every(([name, value]) => one.metadata.labels?.[name] === value),
      );
      const address = readText(loadBalancerIP) || readText(readRecord(pod?.status).podIP);
      if (!pod || address === given(service)) continue;
      const { name, namespace } = service.metadata;
      const status = { loadBalancer: { ingress: [{ ip: address }] } };
      await client.patchStatus(kubeKinds.services, { name, namespace }, status);
    }
  };
  return lookAgain("load balancers", look, say);
}

const isReady = ({ status }: KubeObject): boolean =>
  readList(readRecord(status).conditions)
    .map(readRecord)
    .some(({ type, status: state }) => type === "Ready" && state === "True");

const given = ({ status }: KubeObject): string =>
  readText(readRecord(readList(readRecord(readRecord(status).loadBalancer).ingress)[0]).ip);
