/** Seconds in; requests answered and failed while endpoints come and go, or while there is no control plane, out. */
import { wait } from "../../src/lib/index.ts";
import { istio } from "../render/objects.ts";
import type { Backend } from "./backend.ts";
import { countAnswers, type HttpCall, type LoadReport } from "./caller.ts";
import { eventually, onTrafficMesh, serviceOf, type TrafficMesh } from "./mesh.ts";
import type { TrafficProxy } from "./proxy.ts";

export interface ChurnReport {
  readonly changes: number;
  readonly requests: number;
  readonly failed: number;
  /** The first of those that failed, in words. */
  readonly failures: readonly string[];
  readonly refusals: readonly string[];
}

interface Stage {
  readonly mesh: TrafficMesh;
  readonly client: TrafficProxy;
  readonly backends: readonly Backend[];
  readonly call: HttpCall;
  /** Tells the control plane that these are the ready ones. */
  offer(backends: readonly Backend[]): Promise<void>;
}

function onStage<T>(count: number, stop: AbortSignal | undefined, play: (stage: Stage) => Promise<T>): Promise<T> {
  return onTrafficMesh(stop, async (mesh) => {
    const backends: Backend[] = [];
    for (let i = 0; i < count; i++) backends.push(await mesh.backend(`b${i}`));
    const address = mesh.serviceAddress();
    const offer = (ready: readonly Backend[]): Promise<void> =>
      mesh.apply(...serviceOf("web", { address, backends: ready }));
    await offer(backends);
    const client = await mesh.proxy("sidecar", "client");
    await mesh.apply();
    return await play({ mesh, client, backends, call: { address, port: 80, host: "web" }, offer });
  });
}

const changeMs = 50;

/** D03: 20 changes a second (for longer than `seconds` where there were too few requests), always with at least one ready endpoint; then a rolling deploy; then none at all, and back. */
export function runChurn(
  seconds: number,
  atLeastRequests = 0,
  stop?: AbortSignal,
): Promise<ChurnReport & { readonly lastedSeconds: number; readonly whileEmpty: readonly number[] }> {
  return onStage(6, stop, async ({ mesh, client, backends, call, offer }) => {
    await mesh.apply(withoutRetries);
    const load = await client.caller.load({ ...call, concurrency: 24 });
    const started = performance.now();
    let changes = 0;
    const enough = async (): Promise<boolean> =>
      performance.now() > started + seconds * 1000 &&
      (atLeastRequests === 0 || countAnswers(await load.report()).requests >= atLeastRequests);
    for (; !(await enough()); changes++) {
      // A slow machine gets the next change before it has dealt with the last one.
      const ready = backends.filter((_, i) => (i + changes) % 3 !== 0 || i === changes % backends.length);
      mesh.controlPlane.apply(serviceOf("web", { address: call.address, backends: ready }));
      await wait(Math.max(0, started + (changes + 1) * changeMs - performance.now()));
    }
    const lastedSeconds = (performance.now() - started) / 1000;
    // What is gone from the list is stopped only after the proxy has let go of it, as a Pod's grace time has it.
    for (let i = 0; i < 4; i++, changes++) {
      await offer(backends.slice(i + 1));
      await wait(150);
      await backends[i]?.close();
    }
    const report = await load.stop();
    await offer([]);
    const empty = await client.caller.requests(call, 5);
    await offer(backends.slice(4));
    const back = await client.caller.requests(call, 20);
    const late = back.filter(({ status }) => status !== 200);
    const { requests, failed } = countAnswers(report);
    return {
      lastedSeconds,
      changes,
      requests,
      failed: failed + late.length,
      failures: [...report.failures, ...late.map((answer) => `after coming back: ${JSON.stringify(answer)}`)],
      refusals: mesh.controlPlane.refusals(),
      whileEmpty: empty.map(({ status }) => status),
    };
  });
}

/**
 * Requests that met the server in the moment of its death and until it was ejected: no configuration, however fresh, can
 * save those for which every retry drew the same server. Anything else (no route, no cluster, no healthy host) is ours.
 */
function isDeadServer(failure: string): boolean {
  return failure.includes("reset reason: connect");
}

export interface OutageReport extends ChurnReport {
  /** Connections that the dead server refused before it was ejected; `failures` has only the others. */
  readonly refusedByTheDead: number;
  readonly ejected: boolean;
  readonly caughtUp: boolean;
}

/**
 * D01: without a control plane for a while, with traffic; meanwhile one server dies, and the API's list of servers moves
 * on. Requests go on, the dead one is ejected, and the next control plane brings what was missed.
 */
export function runOutage(seconds: number, pauseMs = 1, stop?: AbortSignal): Promise<OutageReport> {
  return onStage(4, stop, async ({ mesh, client, backends, call, offer }) => {
    const [dead, stale, kept, fresh] = backends;
    if (!dead || !stale || !kept || !fresh) throw new Error("four backends are needed");
    const outlierDetection = { consecutiveGatewayErrors: 2, interval: "100ms", baseEjectionTime: "60s" };
    const trafficPolicy = { outlierDetection: { ...outlierDetection, maxEjectionPercent: 50 } };
    await mesh.apply(istio("DestinationRule", "web", { host: "web", trafficPolicy }));
    await offer([dead, stale, kept]);
    const load = await client.caller.load({ ...call, concurrency: 4, pauseMs });
    await mesh.stopControlPlane();
    await wait(seconds * 500);
    await dead.close();
    let changes = 0;
    for (const end = performance.now() + seconds * 500; performance.now() < end; changes++) {
      await offer([kept, fresh].slice(0, 1 + (changes % 2)));
      await wait(50);
    }
    await offer([fresh]);
    const clusters = await client.admin("/clusters");
    const ejected = clusters.includes(`${dead.address}:8080::health_flags::/failed_outlier_check`);
    fresh.seen.length = 0;
    await mesh.startControlPlane();
    await eventually(async () => (await client.caller.request(call)).body === fresh.name, "news after the outage");
    const report = await load.stop();
    const last = await client.caller.requests(call, 20);
    const { requests, failed } = countAnswers(report);
    const refusedByTheDead = countAnswers(only(report, isDeadServer)).failed;
    return {
      changes,
      requests,
      failed: failed - refusedByTheDead,
      failures: report.failures.filter((failure) => !isDeadServer(failure)),
      refusedByTheDead,
      refusals: mesh.controlPlane.refusals(),
      ejected,
      caughtUp: last.every(({ body }) => body === fresh.name),
    };
  });
}

const only = (report: LoadReport, holds: (answer: string) => boolean): LoadReport => ({
  ...report,
  answers: Object.fromEntries(Object.entries(report.answers).filter(([answer]) => holds(answer))),
});

const withoutRetries = istio("VirtualService", "web", {
  hosts: ["web"],
  http: [{ retries: { attempts: 0 }, route: [{ destination: { host: "web" } }] }],
});
