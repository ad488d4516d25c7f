/** The agent's own state in; its figures, in Prometheus' text format, out. */
import { measureLoopDelay, type Overload } from "../lib/index.ts";
import type { WorkloadIdentity } from "./identity/workload-identity.ts";
import { counterText, gaugeText, type MetricLine, metricText } from "./metric-text.ts";

export interface AgentMetrics {
  /** Another Envoy has been started. */
  envoyStarted(): void;
  /** A hanging one was ended. */
  envoyHung(): void;
  text(): string;
  close(): void;
}

export interface AgentMetricsOptions {
  readonly identity: WorkloadIdentity;
  readonly overload: Overload | undefined;
  readonly now: () => Date;
}

export function createAgentMetrics({ identity, overload, now }: AgentMetricsOptions): AgentMetrics {
  const startedAt = now();
  const delay = measureLoopDelay();
  const counts = { started: 0, hung: 0 };
  const secondsTo = (date: Date): number => (date.getTime() - now().getTime()) / 1000;

  const own = (): string => {
    const until = identity.current()?.notAfter;
    return [
      gaugeText("istio_agent_uptime_seconds", "Time since the agent started.", -secondsTo(startedAt)),
      until ? metricText(certExpiry, [[`{resource_name="default"}`, secondsTo(until)]]) : "",
      counterText(
        "fairlead_agent_envoy_restarts_total",
        "How often another Envoy was started by this agent.",
        Math.max(0, counts.started - 1),
      ),
      counterText("fairlead_agent_envoy_hangs_total", "How often an Envoy was ended because it hung.", counts.hung),
    ].join("");
  };
  const loop = (): string =>
    metricText(
      loopDelay,
      [...delay.take()].map(([quantile, seconds]): MetricLine => [`{quantile="${quantile}"}`, seconds]),
    );
  return {
    envoyStarted: () => void counts.started++,
    envoyHung: () => void counts.hung++,
    text: () => own() + loop() + (overload ? overloadText(overload) : ""),
    close: delay.stop,
  };
}

const certExpiry = {
  name: "istio_agent_cert_expiry_seconds",
  type: "gauge",
  help: "Time until the certificate expires.",
} as const;

const loopDelay = {
  name: "fairlead_agent_event_loop_delay_seconds",
  type: "gauge",
  help: "How late the agent's event loop was, over the time since the last scrape.",
} as const;

const shed = {
  name: "fairlead_agent_shed_total",
  type: "counter",
  help: "What was refused because memory or file descriptors ran out.",
} as const;

function overloadText({ heap, refusals }: Overload): string {
  const refused = refusals().map(({ what, cause, count }): MetricLine => [`{what="${what}",cause="${cause}"}`, count]);
  return (
    gaugeText("fairlead_agent_heap_share", "How much of the heap's limit is taken by what lives.", heap.share) +
    metricText(shed, refused)
  );
}
