/** A Pod with its place on this machine in; its proxy and its process, kept running and told of in the API, out. */
import { join } from "node:path";
import { livingEnvoy } from "../../agent/index.ts";
import { createEventRecorder, type EventRecorder } from "../../kube/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { nodeName } from "../kinds.ts";
import { type ContainerLog, createContainerLog } from "../log/container-log.ts";
import type { Running } from "../processes.ts";
import { type Container, type ContainerOptions, startContainer } from "./container.ts";
import { initContainerNames } from "./injected.ts";
import { appContainer, proxyContainer } from "./pod.ts";
import { createPodTeller, type PodTeller } from "./pod-teller.ts";
import { probeListen, probeProxy } from "./probes.ts";
import { type PodPlace, startAgent, startApp } from "./process.ts";
import { proxyUser, type WorkloadHost, type WorkloadSpec } from "./spec.ts";
import { createStatusWriter } from "./status-writer.ts";

export interface Containers {
  /** Undefined for one that has not been started; `none` where there is no process that could write. */
  log(name: string): ContainerLog | "none" | undefined;
  /** Rejects with what is missing when the signal comes first. */
  ready(signal: AbortSignal): Promise<void>;
  /** Resolves with the exit code of the process when it is not started again. */
  readonly ended: Promise<number>;
  stop(): Promise<void>;
}

interface Context {
  readonly host: WorkloadHost;
  readonly spec: WorkloadSpec;
  readonly pod: KubeObject;
  readonly place: PodPlace;
  readonly events: EventRecorder;
  readonly teller: PodTeller;
  /** Of the containers that have been started. */
  readonly logs: Map<string, ContainerLog>;
}

const graceMs = 10_000;

export function startContainers(host: WorkloadHost, spec: WorkloadSpec, pod: KubeObject, place: PodPlace): Containers {
  const names = spec.command.length > 0 ? [appContainer, proxyContainer] : [proxyContainer];
  const writer = createStatusWriter({ ...host, pod: { name: spec.name, namespace: spec.namespace } });
  const teller = createPodTeller({ names, initNames: initContainerNames(pod), writer, now: host.now });
  const events = createEventRecorder({ ...host, component: "fairlead-run", host: nodeName });
  const logs = new Map<string, ContainerLog>();
  const context: Context = { host, spec, pod, place, events, teller, logs };
  events.record(pod, "Normal", "Scheduled", `Successfully assigned ${spec.namespace}/${spec.name} to ${nodeName}`);
  const proxy = startProxy(context);
  const stopping = new AbortController();
  const app = names.includes(appContainer) ? appAfterProxy(context, stopping.signal) : undefined;
  return {
    log: (name) => (names.includes(name) ? logs.get(name) : "none"),
    ready: (signal) => teller.ready(names, signal),
    ended: app?.ended ?? new Promise(() => {}),
    async stop() {
      stopping.abort();
      await teller.ending();
      // The proxy drains while the process still answers what it has accepted.
      await proxy.stop(graceMs);
      await app?.stop();
      await events.idle();
      writer.close();
    },
  };
}

/** The proxy belongs to the Pod, not to the process: whatever the policy, it is there for as long as the Pod. */
function startProxy(context: Context): LoggedContainer {
  const { host, pod, place } = context;
  return startLogged(context, proxyContainer, (log) => startAgent(host, place, pod, log), {
    policy: "Always",
    probe: probeProxy(place.address),
    // An agent that is started again finds the Envoy of the one before, which has gone on.
    outlives: () => livingEnvoy(place.files.dir) !== undefined,
  });
}

/** First started when its proxy is ready, so that its first request already goes through the mesh. */
function appAfterProxy(context: Context, stopping: AbortSignal): { ended: Promise<number>; stop(): Promise<void> } {
  const { host, spec, place, teller } = context;
  const ended = Promise.withResolvers<number>();
  let app: LoggedContainer | undefined;
  const start = async (): Promise<void> => {
    await teller.ready([proxyContainer], stopping);
    app = startLogged(context, appContainer, (log) => startApp(host, spec, place, log), {
      policy: spec.restartPolicy,
      probe: probeListen(spec.ports[0]),
    });
    const exitCode = await app.ended;
    teller.ended(exitCode);
    ended.resolve(exitCode);
  };
  // Told to stop before the proxy was ready: there is nothing to end.
  start().catch(() => {});
  return { ended: ended.promise, stop: async () => app?.stop(graceMs) };
}

type LoggedContainer = Pick<Container, "ended" | "stop">;

const trimMs = 10_000;

function startLogged(
  { host, spec, pod, events, teller, logs }: Context,
  name: string,
  run: (log: ContainerLog) => Running,
  how: Pick<ContainerOptions, "policy" | "probe" | "outlives">,
): LoggedContainer {
  const isProxy = name === proxyContainer;
  const file = join(host.logDir, spec.namespace, spec.name, `${name}.log`);
  const log = createContainerLog(file, isProxy ? proxyUser : undefined);
  logs.set(name, log);
  const source = isProxy ? `${spec.name}/proxy` : spec.name;
  const unfollow = host.echo && log.follow((text) => host.echo?.(source, text));
  const trimming = setInterval(log.trim, trimMs);
  const container = startContainer({
    ...how,
    name,
    start: () => run(log),
    lastLines: log.lastLines,
    changed: teller.report,
    tell(type, reason, message, details = "") {
      events.record(pod, type, reason, message + details, name);
      if (type === "Warning") host.log.warn(`${spec.name}: ${message}`);
    },
    now: host.now,
    monotonicMs: () => performance.now(),
  });
  return {
    ended: container.ended,
    async stop(grace) {
      await container.stop(grace);
      clearInterval(trimming);
      unfollow?.();
    },
  };
}
