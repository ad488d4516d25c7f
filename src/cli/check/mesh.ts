/** A running standalone mesh in; what is well with its API, control plane and agents, and what is not, out. */
import { join } from "node:path";
import { missingFixes } from "../../../scripts/envoy-floor.mjs";
import type { Finding } from "../../../scripts/preflight/finding.mjs";
import { createKubeClient, type KubeClient, kubeKinds, loadKubeconfig } from "../../kube/index.ts";
import { FairleadError, fileLimits, parseJson, readList, readNumber, readRecord, readText } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { readAddresses } from "../up/bound-addresses.ts";
import { type Figures, readFigures } from "./figures.ts";
import { finding, type Row, unreachable } from "./finding.ts";

/** A loop that is late by more keeps everybody waiting. */
const lateSeconds = 1;
const longQueue = 1000;
const askMs = 5_000;

export async function checkMesh(dir: string): Promise<readonly Finding[]> {
  const addresses = addressesOf(dir);
  const client = createKubeClient(await loadKubeconfig({ paths: [join(dir, "kubeconfig")], env: {} }));
  try {
    const restarts = readRecord(addresses.restarts);
    const [api, plane, agents] = await Promise.all([
      checkApi(client, readNumber(restarts.api) ?? 0, dir),
      checkControlPlane(readText(addresses.monitoring), readNumber(restarts.controlPlane) ?? 0, dir),
      checkAgents(client),
    ]);
    return [...api, ...plane, ...agents];
  } finally {
    client.close();
  }
}

function addressesOf(dir: string): Readonly<Record<string, unknown>> {
  try {
    const found = readAddresses(dir);
    if (found) return found;
  } catch {
    // Said below.
  }
  throw new FairleadError("not-found", `no standalone mesh runs on ${dir}`, {
    hint: "name its folder with --data DIR, or check the machine alone with --pre",
  });
}

async function checkApi(client: KubeClient, restarts: number, dir: string): Promise<readonly Finding[]> {
  const section = "api";
  try {
    const figures = readFigures(await client.text("/metrics"));
    const waiting = figures.get("fairlead_api_waiting_writes") ?? 0;
    const rows: readonly Row[] = [
      ["the API answers", true, "", ""],
      ...process(figures, { prefix: "fairlead_api", who: "the API", restarts, log: join(dir, "logs/api.log") }),
      [
        `${waiting} writes wait for the disk, ${figures.get("fairlead_api_watches") ?? 0} watches are open`,
        waiting < longQueue,
        "the disk is slower than what is written to it",
        "put the data folder on a faster disk, or change fewer objects at once",
      ],
    ];
    return rows.map(finding(section));
  } catch (error) {
    return [unreachable(section, "the API answers", error, `look at ${join(dir, "logs/api.log")}`)];
  }
}

async function checkControlPlane(address: string, restarts: number, dir: string): Promise<readonly Finding[]> {
  const section = "control-plane";
  const log = join(dir, "logs/control-plane.log");
  try {
    const ask = async (path: string): Promise<string> =>
      (await fetch(`http://${address}/${path}`, { signal: AbortSignal.timeout(askMs) })).text();
    const figures = readFigures(await ask("metrics"));
    const [waiting, refused] = ["fairlead_waiting_pushes", "fairlead_refused_objects"].map(
      (name) => figures.get(name) ?? 0,
    );
    const rows: readonly Row[] = [
      ["the control plane answers", true, "", ""],
      ...process(figures, { prefix: "fairlead", who: "the control plane", restarts, log }),
      [
        `${waiting} proxies wait to be written to, ${figures.sum("pilot_xds")} are connected`,
        (waiting ?? 0) < longQueue,
        "changes come faster than proxies can be told",
        "divide the mesh with Sidecars, or run more control planes",
      ],
      [
        `${refused} objects make something that a proxy refuses`,
        refused === 0,
        "a proxy keeps what it had before",
        "`fairlead proxy-status -v` names them; so do their statuses",
      ],
      envoysRow(parseJson(await ask("debug/syncz"), fileLimits)),
    ];
    return rows.map(finding(section));
  } catch (error) {
    return [unreachable(section, "the control plane answers", error, `look at ${log}`)];
  }
}

/** By what they say of themselves when they connect. */
function envoysRow(proxies: unknown): Row {
  const versions = readList(proxies).flatMap((proxy) => {
    const [, version] = /^envoy (\d+\.\d+\.\d+)$/.exec(readText(readRecord(proxy).user_agent)) ?? [];
    return version === undefined ? [] : [version];
  });
  const weak = [...new Set(versions)].filter((version) => missingFixes(version).length > 0).sort();
  return [
    `${versions.length} proxies run Envoys that have every fix that is known`,
    weak.length === 0,
    weak.map((version) => `${version} lacks ${missingFixes(version).join(", ")}`).join("; "),
    "restart these workloads with a newer proxy image, or with a newer Envoy in FAIRLEAD_ENVOY",
  ];
}

interface Whose {
  readonly prefix: string;
  readonly who: string;
  readonly restarts: number;
  readonly log: string;
}

function process(figures: Figures, { prefix, who, restarts, log }: Whose): readonly Row[] {
  const late = figures.get(`${prefix}_event_loop_delay_seconds`, 'quantile="1"') ?? 0;
  const share = figures.get(`${prefix}_heap_share`) ?? 0;
  const shed = figures.sum(`${prefix}_shed_total`);
  return [
    [
      `${who} was started again ${restarts} times`,
      restarts === 0,
      "it has died or hung since `up` was started",
      `look at ${log}, and at kubectl get events -n istio-system`,
    ],
    [
      `the event loop of ${who} was at most ${Math.round(late * 1000)} ms late`,
      late < lateSeconds,
      "everybody waits meanwhile",
      "give the machine fewer things to do, or more processors",
    ],
    [
      `${Math.round(share * 100)} % of the heap of ${who} is taken`,
      share < 0.85,
      "from 85 % on new work is refused",
      "give more with NODE_OPTIONS=--max-old-space-size=MB",
    ],
    [
      `${shed} requests of ${who} were refused for want of memory or descriptors`,
      shed === 0,
      "they were told to come back",
      `look at ${log} for which; raise ulimit -n or the heap's limit`,
    ],
  ];
}

/** Those whose agents can be reached from here: Pods of this machine. */
async function checkAgents(client: KubeClient): Promise<readonly Finding[]> {
  const section = "agents";
  try {
    const { items } = await client.list(kubeKinds.pods, { limit: 500 });
    const checked = await Promise.all(items.filter((pod) => proxyOf(pod) !== undefined).map(checkAgent));
    const rows = checked.flat();
    return (rows.length > 0 ? rows : [["no Pod has an agent", true, "", ""] as const]).map(finding(section));
  } catch (error) {
    return [unreachable(section, "Pods can be listed", error, "the API has to answer first")];
  }
}

function proxyOf({ status }: KubeObject): Readonly<Record<string, unknown>> | undefined {
  const { containerStatuses, initContainerStatuses } = readRecord(status);
  return [...readList(containerStatuses), ...readList(initContainerStatuses)]
    .map(readRecord)
    .find(({ name }) => name === "istio-proxy");
}

async function checkAgent(pod: KubeObject): Promise<readonly Row[]> {
  const name = `${pod.metadata.name}.${pod.metadata.namespace}`;
  const { ready, restartCount } = proxyOf(pod) ?? {};
  const restarts = readNumber(restartCount) ?? 0;
  const seen: Row = [
    `the proxy of ${name} is ${ready === true ? "ready" : "not ready"}, started again ${restarts} times`,
    ready === true && restarts === 0,
    "it died, hangs or has no configuration",
    `kubectl describe pod ${pod.metadata.name} -n ${pod.metadata.namespace}`,
  ];
  const figures = await askAgent(readText(readRecord(pod.status).podIP));
  if (!figures) return [seen];
  const late = figures.get("fairlead_agent_event_loop_delay_seconds", 'quantile="1"') ?? 0;
  const [hangs, shed] = [figures.sum("fairlead_agent_envoy_hangs_total"), figures.sum("fairlead_agent_shed_total")];
  const told = `the agent of ${name} was at most ${Math.round(late * 1000)} ms late, refused ${shed} requests, and ended ${hangs} hanging Envoys`;
  return [
    seen,
    [told, late < lateSeconds && shed === 0 && hangs === 0, "the machine or the Pod has too little of something", ""],
  ];
}

/** Undefined where it cannot be asked; Envoy's own figures are left out. */
async function askAgent(address: string): Promise<Figures | undefined> {
  if (address === "") return undefined;
  try {
    const url = `http://${address}:15020/stats/prometheus?filter=^none$`;
    return readFigures(await (await fetch(url, { signal: AbortSignal.timeout(askMs) })).text());
  } catch {
    return undefined;
  }
}
