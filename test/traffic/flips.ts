/**
 * How many flips in; how many requests were answered and which failed meanwhile, out. A flip moves all traffic to a
 * destination that did not exist and takes away the one before, in one change: by subset (VirtualService and
 * DestinationRule), and every third time by service (VirtualService, Service and EndpointSlice).
 */
import { wait } from "../../src/lib/index.ts";
import type { KubeObject } from "../../src/model/index.ts";
import { istio } from "../render/objects.ts";
import type { Backend } from "./backend.ts";
import { countAnswers } from "./caller.ts";
import { eventually, onTrafficMesh, serviceOf } from "./mesh.ts";

export interface FlipReport {
  readonly flips: number;
  readonly requests: number;
  readonly failed: number;
  /** The first of those that failed, in words. */
  readonly failures: readonly string[];
  readonly refusals: readonly string[];
  readonly seconds: number;
}

interface Generation {
  readonly objects: readonly KubeObject[];
  /** Those that go with the next flip. */
  readonly passing: readonly KubeObject[];
}

/** A machine without time has all the time it needs: a flip has arrived when it was acknowledged, however late. */
const settledMs = 30 * 60_000;
/** A request that takes long has not failed; one that never ends has. */
const answerMs = 5 * 60_000;

export interface FlipOptions {
  readonly flips: number;
  /** Goes on until there were as many requests, too. */
  readonly requests?: number;
  /** Called when all is there. */
  readonly begin?: () => void;
  /** Told now and then how far it is. */
  readonly say?: (text: string) => void;
  readonly stop?: AbortSignal;
}

export function runFlips({ begin, say, stop, ...atLeast }: FlipOptions): Promise<FlipReport> {
  return onTrafficMesh(stop, async (mesh) => {
    const backends = [await mesh.backend("even"), await mesh.backend("odd")];
    const [address, passing] = [mesh.serviceAddress(), mesh.serviceAddress()];
    const generation = (i: number): Generation => generationOf(i, backends, passing);
    let last = generation(0);
    await mesh.apply(...serviceOf("web", { address, backends }), ...last.objects);
    const clients = [await mesh.proxy("sidecar", "delta"), await mesh.proxy("sidecar", "sotw", { sotw: true })];
    await mesh.apply();
    const call = { address, port: 80, host: "web", concurrency: 3, pauseMs: 1, timeoutMs: answerMs };
    const loads = await Promise.all(clients.map(({ caller }) => caller.load(call)));
    begin?.();
    const started = performance.now();
    const seconds = (): number => (performance.now() - started) / 1000;
    const counted = async (): Promise<number> => {
      const reports = await Promise.all(loads.map((load) => load.report()));
      return reports.reduce((sum, report) => sum + countAnswers(report).requests, 0);
    };
    let flips = 0;
    while (flips < atLeast.flips || (atLeast.requests !== undefined && (await counted()) < atLeast.requests)) {
      const i = ++flips;
      if (i % 50 === 0) say?.(`${i} flips, ${await counted()} requests, ${seconds().toFixed(0)} s`);
      const next = generation(i);
      const gone = last.passing.filter((object) => !next.objects.some((other) => isSame(object, other)));
      mesh.controlPlane.remove(gone);
      await applyInOrder(i, next.objects, mesh.controlPlane.apply);
      last = next;
      // Now and then the next one comes before the last has arrived.
      if (i % 4 !== 0) await mesh.controlPlane.settled(settledMs);
    }
    await mesh.controlPlane.settled(settledMs);
    const newest = backends[flips % 2]?.name ?? "";
    const isThere = async (): Promise<boolean> => (await clients[0]?.caller.request(call))?.body === newest;
    await eventually(isThere, "the last flip to arrive", settledMs);
    const reports = await Promise.all(loads.map((load) => load.stop()));
    const counts = reports.map(countAnswers);
    return {
      flips,
      requests: counts.reduce((sum, { requests }) => sum + requests, 0),
      failed: counts.reduce((sum, { failed }) => sum + failed, 0),
      failures: reports.flatMap(({ failures }) => failures),
      refusals: mesh.controlPlane.refusals(),
      seconds: seconds(),
    };
  });
}

/** Together; or as a user's files may arrive, one after the other with a push in between, the route first or last. */
async function applyInOrder(
  i: number,
  objects: readonly KubeObject[],
  apply: (objects: readonly KubeObject[]) => void,
): Promise<void> {
  if (i % 5 > 1) return apply(objects);
  for (const object of i % 5 === 0 ? objects : objects.toReversed()) {
    apply([object]);
    await wait(40);
  }
}

const isSame = (a: KubeObject, b: KubeObject): boolean => a.kind === b.kind && a.metadata.name === b.metadata.name;

function generationOf(i: number, backends: readonly Backend[], address: string): Generation {
  const target = backends[i % 2];
  if (!target) throw new Error("no backend");
  if (i % 3 === 2) {
    const host = `service-${i}`;
    const service = serviceOf(host, { address, backends: [target] });
    return { objects: [...service, routeTo({ host })], passing: service };
  }
  const subset = `v${i}`;
  const rule = istio("DestinationRule", "web", {
    host: "web",
    subsets: [{ name: subset, labels: { app: target.name } }],
  });
  return { objects: [rule, routeTo({ host: "web", subset })], passing: [rule] };
}

const routeTo = (destination: object): KubeObject =>
  istio("VirtualService", "web", { hosts: ["web"], http: [{ retries: { attempts: 0 }, route: [{ destination }] }] });
