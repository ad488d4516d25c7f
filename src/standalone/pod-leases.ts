/**
 * Pods of `fairlead run` and their Leases in; Pods whose runner has gone silent are marked not ready, then deleted, out;
 * those whose runner speaks again are ready again. Time is measured on our own clock from the moment a renewal was seen,
 * so a runner's wrong clock does no harm, and only while the API answers: while it is away nobody can renew anything.
 */
import type { Collection } from "../collections/index.ts";
import { isRecord } from "../lib/index.ts";
import { type KubeObject, objectKey } from "../model/index.ts";
import { type ControllerContext, follow } from "./controller.ts";
import { ignoreMissing } from "./endpoint-slices.ts";
import { leases, pods, runnerAnnotation } from "./kinds.ts";
import { readPodShape } from "./service-shape.ts";

const notReadyAfterMs = 15_000;
const deletedAfterMs = 60_000;

/** More than this between two looks means that we ourselves did not run, and could not see any renewal. */
const longestStepMs = 2_000;
/** An API that takes longer to answer was away meanwhile. */
const longestAnswerMs = 5_000;
const silentReason = "RunnerSilent";

export function runPodLeases(context: ControllerContext, monotonicMs: () => number, checkMs = 1_000): void {
  const [allPods, allLeases] = [context.objects(pods), context.objects(leases)];
  const ranMs = createRunClock(monotonicMs);
  const renewed = new Map<string, number>();
  follow(allLeases, (key, now) => {
    if (now) renewed.set(key, ranMs());
    else renewed.delete(key);
  });
  const seen = new Map<string, number>();
  let heardSince = 0;
  const check = async (): Promise<void> => {
    const asked = monotonicMs();
    const answers = await answersAsked(context, allPods);
    const nowMs = ranMs();
    if (!answers || monotonicMs() - asked > longestAnswerMs) {
      heardSince = nowMs;
      return;
    }
    for (const key of allPods.keys()) {
      const pod = allPods.get(key);
      const lease = pod && leaseKey(pod);
      if (!pod || lease === undefined) continue;
      const first = seen.get(key) ?? nowMs;
      seen.set(key, first);
      await judge(context, pod, nowMs - Math.max(renewed.get(lease) ?? first, heardSince));
    }
    for (const key of seen.keys()) if (!allPods.get(key)) seen.delete(key);
  };
  let checking = false;
  const timer = setInterval(() => {
    if (checking) return;
    checking = true;
    check()
      .catch((error: unknown) =>
        context.log.warn(`pod leases: ${error instanceof Error ? error.message : String(error)}`),
      )
      .finally(() => {
        checking = false;
      });
  }, checkMs);
  context.signal.addEventListener("abort", () => clearInterval(timer), { once: true });
}

/** Whether the API, asked about any of them, answers: what was watched before it went away says nothing of now. */
async function answersAsked({ client }: ControllerContext, all: Collection<KubeObject>): Promise<boolean> {
  for (const key of all.keys()) {
    const pod = all.get(key);
    if (!pod || leaseKey(pod) === undefined) continue;
    const { name, namespace } = pod.metadata;
    return client.find(pods, { name, namespace }).then(
      () => true,
      () => false,
    );
  }
  return true;
}

/** Time in which this process ran: a stopped or starved one must not take all runners for dead. */
function createRunClock(monotonicMs: () => number): () => number {
  let ranMs = 0;
  let last = monotonicMs();
  return () => {
    const now = monotonicMs();
    ranMs += Math.min(now - last, longestStepMs);
    last = now;
    return ranMs;
  };
}

async function judge(context: ControllerContext, pod: KubeObject, silentMs: number): Promise<void> {
  if (silentMs > deletedAfterMs) await removePod(context, pod);
  else if (silentMs > notReadyAfterMs && readPodShape(pod).ready) await setReady(context, pod, false);
  else if (silentMs <= notReadyAfterMs && conditions(pod).some(isSilent)) await setReady(context, pod, true);
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

/** A runner that speaks again is believed in what it last said of its containers. */
async function setReady(context: ControllerContext, pod: KubeObject, ready: boolean): Promise<void> {
  const { name, namespace } = pod.metadata;
  const said = conditions(pod).find(({ type }) => type === "ContainersReady") ?? { status: "True" };
  const told = ready
    ? said
    : { status: "False", reason: silentReason, message: "its `fairlead run` has not renewed its lease" };
  const condition = { ...told, type: "Ready", lastTransitionTime: context.now().toISOString() };
  const others = conditions(pod).filter(({ type }) => type !== "Ready");
  await context.client
    .patchStatus(pods, { name, namespace }, { conditions: [...others, condition] })
    .catch(ignoreMissing);
}

function conditions(pod: KubeObject): readonly Readonly<Record<string, unknown>>[] {
  const list = isRecord(pod.status) ? pod.status.conditions : undefined;
  return Array.isArray(list) ? list.filter(isRecord) : [];
}

function isSilent(condition: Readonly<Record<string, unknown>>): boolean {
  return condition.type === "Ready" && condition.reason === silentReason;
}
