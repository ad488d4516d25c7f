/**
 * Pods of `fairlead run` and their Leases in; Pods whose runner has gone silent are marked not ready, then deleted, out.
 * Time is measured on our own clock from the moment a renewal was seen, so a runner's wrong clock does no harm.
 */
import { type KubeObject, objectKey } from "../model/index.ts";
import { type ControllerContext, follow } from "./controller.ts";
import { ignoreMissing } from "./endpoint-slices.ts";
import { leases, pods, runnerAnnotation } from "./kinds.ts";
import { readPodShape } from "./service-shape.ts";

export const notReadyAfterMs = 15_000;
export const deletedAfterMs = 60_000;

export function runPodLeases(context: ControllerContext, monotonicMs: () => number): void {
  const [allPods, allLeases] = [context.objects(pods), context.objects(leases)];
  const renewed = new Map<string, number>();
  follow(allLeases, (key, now) => {
    if (now) renewed.set(key, monotonicMs());
    else renewed.delete(key);
  });
  const seen = new Map<string, number>();
  const check = async (): Promise<void> => {
    for (const key of allPods.keys()) {
      const pod = allPods.get(key);
      const lease = pod && leaseKey(pod);
      if (!pod || lease === undefined) continue;
      const first = seen.get(key) ?? monotonicMs();
      seen.set(key, first);
      const silentMs = monotonicMs() - (renewed.get(lease) ?? first);
      if (silentMs > deletedAfterMs) await removePod(context, pod);
      else if (silentMs > notReadyAfterMs && readPodShape(pod).ready) await markNotReady(context, pod);
    }
    for (const key of seen.keys()) if (!allPods.get(key)) seen.delete(key);
  };
  const timer = setInterval(() => {
    check().catch((error: unknown) =>
      context.log.warn(`pod leases: ${error instanceof Error ? error.message : String(error)}`),
    );
  }, 1_000);
  context.signal.addEventListener("abort", () => clearInterval(timer), { once: true });
}

function leaseKey(pod: KubeObject): string | undefined {
  const name = pod.metadata.annotations?.[runnerAnnotation];
  return name === undefined ? undefined : objectKey({ namespace: pod.metadata.namespace, name });
}

export async function removePod(context: Pick<ControllerContext, "client">, pod: KubeObject): Promise<void> {
  const { name, namespace, annotations } = pod.metadata;
  await context.client.delete(pods, { name, namespace }, { gracePeriodSeconds: 0 }).catch(ignoreMissing);
  const lease = annotations?.[runnerAnnotation];
  if (lease !== undefined) await context.client.delete(leases, { name: lease, namespace }).catch(ignoreMissing);
}

async function markNotReady(context: ControllerContext, pod: KubeObject): Promise<void> {
  const { name, namespace } = pod.metadata;
  await context.client.patchStatus(
    pods,
    { name, namespace },
    {
      conditions: [
        {
          type: "Ready",
          status: "False",
          reason: "RunnerSilent",
          message: "its `fairlead run` has not renewed its lease",
          lastTransitionTime: context.now().toISOString(),
        },
      ],
    },
  );
}
