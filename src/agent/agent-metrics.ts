/** The agent's own state in; its figures, in Prometheus' text format, out. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Overload } from "../lib/index.ts";
import type { WorkloadIdentity } from "./identity/workload-identity.ts";

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

/** Node measures from one tick to the next, so that its idle delay is the tick. */
const tickMs = 10;

export function createAgentMetrics({ identity, overload, now }: AgentMetricsOptions): AgentMetrics {
  const startedAt = now();
  const delay = monitorEventLoopDelay({ resolution: tickMs });
  delay.enable();
  const counts = { started: 0, hung: 0 };

  const own = (): string => {
    const until = identity.current()?.notAfter;
    const expiry = until && [`{resource_name="default"}`, (until.getTime() - now().getTime()) / 1000];
    return [
      metric("istio_agent_uptime_seconds", "gauge", "Time since the agent started.", [
        ["", (now().getTime() - startedAt.getTime()) / 1000],
      ]),
      expiry
        ? metric("istio_agent_cert_expiry_seconds", "gauge", "Time until the certificate expires.", [
            [String(expiry[0]), Number(expiry[1])],
          ])
        : "",
      metric("fairlead_agent_envoy_restarts_total", "counter", "How often another Envoy was started by this agent.", [
        ["", Math.max(0, counts.started - 1)],
      ]),
      metric("fairlead_agent_envoy_hangs_total", "counter", "How often an Envoy was ended because it hung.", [
        ["", counts.hung],
      ]),
    ].join("");
  };
  const loop = (): string => {
    const lines = [0.5, 0.99, 1].map((quantile): Line => {
      const seconds = delay.percentile(quantile * 100) / 1e9 - tickMs / 1000;
      return [`{quantile="${quantile}"}`, Math.max(0, seconds)];
    });
    delay.reset();
    return metric(
      "fairlead_agent_event_loop_delay_seconds",
      "gauge",
      "How late the agent's event loop was, over the time since the last scrape.",
      lines,
    );
  };
  return {
    envoyStarted: () => void counts.started++,
    envoyHung: () => void counts.hung++,
    text: () => own() + loop() + (overload ? overloadText(overload) : ""),
    close: () => void delay.disable(),
  };
}

type Line = readonly [labels: string, value: number];

function overloadText(overload: Overload): string {
  return (
    metric("fairlead_agent_heap_share", "gauge", "How much of the heap's limit is taken by what lives.", [
      ["", overload.heap.share],
    ]) +
    metric(
      "fairlead_agent_shed_total",
      "counter",
      "What was refused because memory or file descriptors ran out.",
      overload.refusals().map(({ what, cause, count }): Line => [`{what="${what}",cause="${cause}"}`, count]),
    )
  );
}

function metric(name: string, type: "gauge" | "counter", help: string, lines: readonly Line[]): string {
  const text = lines.map(([labels, value]) => `${name}${labels} ${value}\n`).join("");
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${text}`;
}
