/** Pods that ask for images in; the word that nobody here runs images, on the Pod and as an Event, out. */
import { createEventRecorder } from "../kube/index.ts";
import { isRecord } from "../lib/index.ts";
import { type KubeObject, ownPart } from "../model/index.ts";
import { type ControllerContext, follow } from "./controller.ts";
import { ignoreMissing } from "./endpoint-slices.ts";
import { pods, runnerAnnotation } from "./kinds.ts";
import { createReconciler, type Reconciler } from "./reconciler.ts";

export function runImagePods(context: ControllerContext): Reconciler {
  const all = context.objects(pods);
  const recorder = createEventRecorder({ ...context, component: "fairlead", host: "" });
  const reconciler = createReconciler({
    name: "image pods",
    ...context,
    async reconcile(key) {
      const pod = all.get(key);
      if (!pod || !isWaiting(pod)) return;
      const message = why(pod);
      const condition = {
        type: "PodScheduled",
        status: "False",
        reason: "Unschedulable",
        message,
        lastTransitionTime: context.now().toISOString(),
      };
      const { name, namespace, resourceVersion } = pod.metadata;
      // Somebody who has written its status meanwhile is right.
      const change = { metadata: { resourceVersion }, status: { phase: "Pending", conditions: [condition] } };
      await context.client
        .patch(pods, { name, namespace }, "merge", change, { subresource: "status" })
        .catch(ignoreMissing);
      recorder.record(pod, "Warning", "FailedScheduling", message);
    },
  });
  follow(all, (key, now) => {
    if (now && isWaiting(now)) reconciler.add(key);
  });
  return reconciler;
}

/** Nobody runs it and nobody has said anything of it: whoever writes a Pod's status himself has his reasons. */
function isWaiting(pod: KubeObject): boolean {
  const { annotations = {}, deletionTimestamp } = pod.metadata;
  const isOurs = annotations[runnerAnnotation] !== undefined || annotations[ownPart] !== undefined;
  if (isOurs || deletionTimestamp !== undefined) return false;
  const status = isRecord(pod.status) ? pod.status : {};
  const isNew = status.phase === undefined || status.phase === "" || status.phase === "Pending";
  const conditions = Array.isArray(status.conditions) ? status.conditions : [];
  return isNew && status.podIP === undefined && conditions.length === 0;
}

function why(pod: KubeObject): string {
  const { name, namespace = "default" } = pod.metadata;
  return (
    "this mesh runs processes, not images: start one with " +
    `\`fairlead run --name ${name} -n ${namespace} --port PORT -- COMMAND\``
  );
}
