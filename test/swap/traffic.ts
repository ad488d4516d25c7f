/** A Pod that calls and an API in; requests and Pod creations without a pause out, with a count of what failed. */
import { type KubeClient, kubeKinds } from "../../src/kube/index.ts";
import { FairleadError, wait } from "../../src/lib/index.ts";
import type { Answer, Load } from "../traffic/caller.ts";
import type { Workload } from "./workload.ts";

export interface TrafficReport {
  readonly requests: number;
  readonly seconds: number;
  /** Pods that the API asked the injection webhook about. */
  readonly pods: number;
  readonly failures: readonly string[];
}

export interface Traffic {
  /** From now on from this Pod, whose webhook is the revision's. */
  from(workload: Workload, revision: string): Promise<void>;
  /** One request, on a connection of its own. */
  ask(): Promise<Answer>;
  /** What it brought since the last time. */
  take(): Promise<TrafficReport>;
  stop(): Promise<void>;
}

export function createTraffic(client: KubeClient, target: string): Traffic {
  let loads: readonly Load[] = [];
  let probe: { stop(): Promise<{ readonly count: number; readonly failures: readonly string[] }> } | undefined;
  let report: TrafficReport = { requests: 0, seconds: 0, pods: 0, failures: [] };
  let startedAt = 0;
  const halt = async (): Promise<void> => {
    const [answers, pods] = await Promise.all([Promise.all(loads.map((load) => load.stop())), probe?.stop()]);
    const counts = answers.flatMap((one) => Object.values(one.answers));
    report = {
      requests: counts.reduce((sum, count) => sum + count, report.requests),
      seconds: report.seconds + (loads.length > 0 ? (performance.now() - startedAt) / 1000 : 0),
      pods: report.pods + (pods?.count ?? 0),
      failures: [...report.failures, ...answers.flatMap(({ failures }) => failures), ...(pods?.failures ?? [])],
    };
    [loads, probe] = [[], undefined];
  };
  const call = { address: target, port: 80, host: "web.default" };
  let go = async (): Promise<void> => {};
  let ask = (): Promise<Answer> => Promise.reject(new Error("there is no traffic yet"));
  return {
    async from({ caller }, revision) {
      await halt();
      ask = () => caller.request(call);
      go = async () => {
        startedAt = performance.now();
        probe = createPods(client, revision);
        // Most on connections that stay, some on new ones.
        loads = [
          await caller.load({ ...call, concurrency: 20, pauseMs: 50 }),
          await caller.load({ ...call, concurrency: 3, pauseMs: 100, headers: { connection: "close" } }),
        ];
      };
      await go();
    },
    ask: () => ask(),
    async take() {
      await halt();
      const taken = report;
      report = { requests: 0, seconds: 0, pods: 0, failures: [] };
      await go();
      return taken;
    },
    stop: halt,
  };
}

const pauseMs = 300;

/** Creates Pods for show: each has to come back with a proxy in it. */
function createPods(client: KubeClient, revision: string) {
  const failures: string[] = [];
  let [count, running] = [0, true];
  const selected = revision === "default" ? { "sidecar.istio.io/inject": "true" } : { "istio.io/rev": revision };
  const work = (async () => {
    while (running) {
      const name = `probe-${count++}`;
      const object = {
        ...{ apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default", labels: selected } },
        spec: { serviceAccountName: "web", containers: [{ name: "app", image: "app" }] },
      };
      try {
        const made = await client.create(kubeKinds.pods, object, { dryRun: true });
        if (!JSON.stringify(made.spec).includes('"istio-proxy"')) failures.push(`Pod ${name} was not injected`);
      } catch (error) {
        failures.push(`${new Date().toISOString()} Pod ${name}: ${FairleadError.from(error).message}`);
      }
      await wait(pauseMs);
    }
  })();
  return {
    async stop() {
      running = false;
      await work;
      return { count, failures };
    },
  };
}
