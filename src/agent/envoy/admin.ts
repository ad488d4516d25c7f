/** Envoy's admin in, its readiness and connections out, and the order to drain. */
import { parseJson, readRecord, readText } from "../../lib/index.ts";
import { requestAnswer, requestText, type ServerAddress } from "../request-text.ts";

export interface EnvoyAdmin {
  /** Resolves when it answers at all, whatever it says. */
  answer(): Promise<unknown>;
  /** The file that it was started with. */
  configFile(): Promise<string>;
  /** Undefined when ready, else what is missing, in the words that users of Istio know. */
  notReady(): Promise<string | undefined>;
  /** Lets go of clients: only the inbound side of a sidecar, so that work in progress can still call others. */
  drain(options: { readonly inboundOnly: boolean; readonly skipExit: boolean }): Promise<void>;
  /** Connections from outside, leaving out those listeners; undefined where Envoy has no such count. */
  activeConnections(except: ReadonlySet<string>): Promise<number | undefined>;
  /** Envoy's metrics in Prometheus' form; the query as the scraper wrote it. */
  metrics(query: string): Promise<string>;
}

const readyFilter =
  "^(server\\.state|listener_manager\\.workers_started|cluster_manager\\.cds\\.update_(success|rejected)|listener_manager\\.lds\\.update_(success|rejected))$";
const states = ["LIVE", "DRAINING", "PRE_INITIALIZING", "INITIALIZING"];

export function createEnvoyAdmin(at: ServerAddress): EnvoyAdmin {
  return {
    answer: () => requestAnswer({ at, path: "/ready" }),
    async configFile() {
      const info = readRecord(parseJson(await requestText({ at, path: "/server_info" })));
      return readText(readRecord(info.command_line_options).config_path);
    },
    async notReady() {
      const stats = await readStats(at, readyFilter);
      return configMissing(stats) ?? stateMissing(stats);
    },
    async drain({ inboundOnly, skipExit }) {
      const flags = [...(inboundOnly ? ["inboundonly"] : []), "graceful", ...(skipExit ? ["skip_exit"] : [])];
      await requestText({ method: "POST", at, path: `/drain_listeners?${flags.join("&")}` });
    },
    async activeConnections(except) {
      const stats = await readStats(at, "downstream_cx_active$");
      if (stats.size === 0) return undefined;
      let sum = 0;
      for (const [name, value] of stats) if (isClientListener(name) && !except.has(name)) sum += value;
      return sum;
    },
    metrics: (query) => requestText({ at, path: `/stats/prometheus${query === "" ? "" : `?${query}`}` }),
  };
}

function configMissing(stats: ReadonlyMap<string, number>): string | undefined {
  const count = (name: string): number => stats.get(name) ?? 0;
  const [cds, lds] = [count("cluster_manager.cds.update_success"), count("listener_manager.lds.update_success")];
  if (cds > 0 && lds > 0) return undefined;
  const [badCds, badLds] = [
    count("cluster_manager.cds.update_rejected"),
    count("listener_manager.lds.update_rejected"),
  ];
  const text = `cds updates: ${cds} successful, ${badCds} rejected; lds updates: ${lds} successful, ${badLds} rejected`;
  if (cds === 0 && lds === 0 && badCds + badLds === 0)
    return `config not received from XDS server (is Istiod running?): ${text}`;
  if (badCds + badLds > 0) return `config received from XDS server, but was rejected: ${text}`;
  return `config not fully received from XDS server: ${text}`;
}

function stateMissing(stats: ReadonlyMap<string, number>): string | undefined {
  const state = stats.get("server.state");
  if (state === undefined) return "server.state is not yet updated";
  if (state !== 0) return `server is not live, current state is: ${states[state] ?? "UNKNOWN"}`;
  return stats.get("listener_manager.workers_started") === 1 ? undefined : "workers have not yet started";
}

/** Per-worker counts repeat the listener's own; internal listeners are plumbing. */
function isClientListener(name: string): boolean {
  // Each listener is counted once more by thread.
  if (!name.startsWith("listener.") || /\.(worker_\d+|main_thread)\./.test(name)) return false;
  return !name.startsWith("listener.envoy_internal_");
}

async function readStats(at: ServerAddress, filter: string): Promise<ReadonlyMap<string, number>> {
  const text = await requestText({ at, path: `/stats?usedonly&filter=${encodeURIComponent(filter)}` });
  const pairs = text.split("\n").map((line) => line.split(": "));
  return new Map(
    pairs.flatMap(([name = "", value = ""]) => (/^\d+$/.test(value) ? [[name, Number(value)] as const] : [])),
  );
}
