/**
 * Annotations that tell Prometheus where to scrape in; the same out, pointing to the agent, which scrapes the
 * application in its stead and is told where by its environment.
 */
import { FairleadError, goJson } from "../lib/index.ts";
import type { MeshConfigSpec } from "../model/index.ts";
import {
  addAnnotations,
  addEnv,
  annotationsOf,
  changeContainer,
  envOf,
  findInPod,
  type Pod,
  proxyName,
  withAnnotations,
} from "./pod.ts";

/** Prometheus reads any spelling of a name in which other characters stand for its underscores. */
const spelling = (name: string): string =>
  // Most are others', and a Pod may have thousands.
  name.startsWith("prometheus") ? name.replace(/[^a-zA-Z0-9_]/g, "_") : name;

const names = [
  "prometheus_io_scrape",
  "prometheus_io_port",
  "prometheus_io_path",
  "prometheus_istio_io_scrape_targets",
];
const securePort = "prometheus.istio.io/secure-port";

function find(pod: Pod, name: string): string | undefined {
  return Object.entries(annotationsOf(pod)).find(([key]) => spelling(key) === name)?.[1];
}

const truths: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "T", "true", "TRUE", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "false", "FALSE", "False"].map((text) => [text, false] as const),
]);

export const parseTruth = (text: string | undefined): boolean | undefined => truths.get(text ?? "");

function withoutScrapeAnnotations(pod: Pod): Pod {
  const kept = Object.entries(annotationsOf(pod)).filter(([key]) => !names.includes(spelling(key)));
  return withAnnotations(pod, Object.fromEntries(kept));
}

/** The Pod's own wish, then the mesh's setting. */
const isWanted = (pod: Pod, mesh: MeshConfigSpec): boolean =>
  (parseTruth(find(pod, "prometheus_io_scrape")) ?? true) &&
  (parseTruth(annotationsOf(pod)["prometheus.istio.io/merge-metrics"]) ?? mesh.enablePrometheusMerge ?? true);

export function mergeMetrics(pod: Pod, mesh: MeshConfigSpec): Pod {
  const agentPort = String(mesh.defaultConfig?.statusPort ?? 0);
  // Pointing to the agent already: injected before, or the user's own doing.
  if (!isWanted(pod, mesh) || find(pod, "prometheus_io_port") === agentPort) return pod;
  const config = scrapeConfig(pod, agentPort);
  const told = config
    ? changeContainer(pod, proxyName, (proxy) =>
        addEnv(proxy, { name: "ISTIO_PROMETHEUS_ANNOTATIONS", value: goJson(config) }),
      )
    : pod;
  return addAnnotations(withoutScrapeAnnotations(told), {
    "prometheus.io/port": agentPort,
    "prometheus.io/path": "/stats/prometheus",
    "prometheus.io/scrape": "true",
  });
}

interface Target {
  readonly port: string;
  readonly path: string;
}

interface ScrapeConfig extends Target {
  readonly scrape: string;
  readonly targets?: readonly Target[];
}

function scrapeConfig(pod: Pod, agentPort: string): ScrapeConfig | undefined {
  const [scrape = "", port = "", path = ""] = names.map((name) => find(pod, name));
  const targets = parseTargets(find(pod, "prometheus_istio_io_scrape_targets") ?? "");
  const [first] = targets;
  if (first) {
    for (const target of targets) checkPort(target.port, agentPort, "targets", "target ");
    return { scrape, path: first.path, port: first.port, targets };
  }
  if (port !== "") checkPort(port, agentPort, "configuration", "");
  return scrape === "" && path === "" && port === "" ? undefined : { scrape, path, port };
}

/** `port:path` pairs with commas between them; what cannot be read counts as absent. */
function parseTargets(text: string): readonly Target[] {
  const targets = text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
    .map((entry) => {
      const [port = "", path = ""] = entry.split(/:(.*)/s);
      return { port: port.trim(), path: path.trim() || "/metrics" };
    });
  return targets.every(({ port }) => port !== "") ? targets : [];
}

const reserved: ReadonlyMap<number, string> = new Map([
  [15000, "Envoy admin"],
  [15001, "outbound traffic capture"],
  [15004, "pilot debug"],
  [15006, "inbound traffic capture"],
  [15008, "HBONE tunnel"],
  [15020, "pilot-agent status / merged Prometheus"],
  [15021, "Envoy health"],
  [15053, "DNS proxy"],
  [15090, "Envoy Prometheus (already merged)"],
]);

/** The agent must not be led to scrape itself, nor Envoy a second time. */
function checkPort(text: string, agentPort: string, what: string, kind: string): void {
  const port = /^[+-]?\d+$/.test(text) ? Number(text) : 0;
  const fail = (why: string): FairleadError =>
    new FairleadError("invalid", `invalid prometheus scrape ${what}: ${why}`, {
      hint: "see the prometheus.io/port and prometheus.istio.io/scrape-targets annotations of the Pod",
    });
  if (port < 1 || port > 65535) throw fail(`invalid ${kind}port ${JSON.stringify(text)}`);
  if (String(port) === agentPort) throw fail(`${kind}port ${text} conflicts with agent port`);
  const owner = reserved.get(port);
  if (owner) throw fail(`${kind}port ${text} is reserved for Istio (${owner}) and cannot be scraped`);
}

/** Where the proxy serves its metrics over mTLS too, Prometheus is told the port. */
export function announceSecurePort(pod: Pod): Pod {
  if (find(pod, spelling(securePort)) !== undefined) return pod;
  const proxy = findInPod(pod, proxyName);
  const port = proxy && envOf(proxy).find(({ name }) => name === "ENVOY_SECURE_MERGED_METRICS_PORT")?.value;
  return typeof port === "string" && port !== "" && port !== "0" ? addAnnotations(pod, { [securePort]: port }) : pod;
}
