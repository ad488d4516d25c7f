/** How a stock Envoy is told to have its agent count requests: objects in to JSON out. */
import { describe, expect, test } from "vitest";
import {
  columnSeparator,
  groupSeparator,
  type KubeObject,
  labelColumns,
  type MetricPlan,
  type Profile,
} from "../../src/model/index.ts";
import { smallMesh } from "./objects.ts";
import { type Json, type RenderInput, renderProxy } from "./offline.ts";

const prometheus = { defaultProviders: { metrics: ["prometheus"] } };

const telemetry = (...overrides: readonly object[]): KubeObject => ({
  apiVersion: "telemetry.istio.io/v1",
  kind: "Telemetry",
  metadata: { name: "t", namespace: "default" },
  spec: { metrics: [{ reportingInterval: "7s", overrides }] },
});

interface Logger {
  readonly plan: MetricPlan;
  readonly format: string;
  readonly config: Json;
}

const configOf = (log: Json): Logger => ({
  plan: JSON.parse(log.typedConfig.resourceAttributes.values[0].value.stringValue),
  format: log.typedConfig.body.stringValue,
  config: log.typedConfig,
});
const isCounter = (log: Json): boolean => log.typedConfig.commonConfig?.logName === "fairlead-telemetry";
const counters = (config: Json): readonly Logger[] => (config.accessLog ?? []).filter(isCounter).map(configOf);

/** The connection manager and the TCP proxy of each direction; the last, because the first black hole is never logged. */
async function render(
  objects: readonly KubeObject[] = [],
  mesh: NonNullable<RenderInput["mesh"]> = prometheus,
  profile: Profile = "envoy",
) {
  const { listeners } = await renderProxy({ objects: [...smallMesh(), ...objects], mesh, profile });
  const filter = (listener: string, name: string): Json =>
    listeners
      .get(listener)
      .filterChains.concat(listeners.get(listener).defaultFilterChain ?? [])
      .flatMap((chain: Json) => chain.filters)
      .findLast((one: Json) => one.name.endsWith(name)).typedConfig;
  return {
    out: filter("0.0.0.0_80", "connection_manager"),
    into: filter("virtualInbound", "connection_manager"),
    tcpOut: filter("virtualOutbound", "tcp_proxy"),
    tcpInto: filter("virtualInbound", "tcp_proxy"),
  };
}

const all = async (...given: Parameters<typeof render>): Promise<readonly Logger[]> =>
  Object.values(await render(...given)).flatMap(counters);

describe("the logger", () => {
  test("is there for each direction and protocol, and says which", async () => {
    const places = (await all()).map(({ plan }) => [plan.reporter, plan.protocol]);
    expect(places).toEqual([
      ["source", "http"],
      ["destination", "http"],
      ["source", "tcp"],
      ["destination", "tcp"],
    ]);
  });

  test("is for a stock Envoy alone, and only where metrics are scraped", async () => {
    expect(await all([], prometheus, "istio-proxy")).toEqual([]);
    expect(await all([], {})).toEqual([]);
    expect(await all([], { defaultProviders: { metrics: ["stackdriver"] } })).toEqual([]);
  });

  test("has the connection's own address and certificate, and no header", async () => {
    const [out, into] = await all();
    expect(into?.format).toContain("%DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT%");
    expect(into?.format).toContain("%DOWNSTREAM_PEER_URI_SAN%");
    expect(out?.format).toContain("%UPSTREAM_PEER_URI_SAN%");
    for (const { format } of await all())
      expect(format).not.toMatch(/%(REQ|RESP|TRAILER)\(|%DOWNSTREAM_REMOTE_ADDRESS/);
  });
});

describe("the Telemetry API", () => {
  test("switches a direction, or a protocol's metrics, off", async () => {
    const noServer = await all([telemetry({ match: { mode: "SERVER" }, disabled: true })]);
    expect(noServer.map(({ plan }) => plan.reporter)).toEqual(["source", "source"]);
    const tcpMetrics = ["TCP_OPENED_CONNECTIONS", "TCP_CLOSED_CONNECTIONS", "TCP_SENT_BYTES", "TCP_RECEIVED_BYTES"];
    const noTcp = await all([telemetry(...tcpMetrics.map((metric) => ({ match: { metric }, disabled: true })))]);
    expect(noTcp.map(({ plan }) => plan.protocol)).toEqual(["http", "http"]);
    const some = await all([telemetry({ match: { metric: "TCP_SENT_BYTES" }, disabled: true })]);
    expect(some.at(-1)?.plan.changes).toEqual({ tcp_sent_bytes_total: { drop: true } });
  });

  test("adds columns for tags that a log line can have; the others are unknown", async () => {
    const tagOverrides = {
      host: { value: "request.host" },
      header: { value: "request.headers['x-team']" },
      again: { value: "request.host" },
      fixed: { value: "'100% sure'" },
      odd: { value: "request.headers['%REQ(a)%'] + 1" },
      source_app: { operation: "REMOVE" },
    };
    const [out] = await all([telemetry({ match: { metric: "REQUEST_COUNT", mode: "CLIENT" }, tagOverrides })]);
    const { set = {}, remove } = out?.plan.changes.requests_total ?? {};
    expect(remove).toEqual(["source_app"]);
    const further = (out?.format.split(groupSeparator)[0] ?? "").split(columnSeparator).slice(labelColumns.length);
    expect(Object.fromEntries(Object.entries(set).map(([tag, column]) => [tag, further[column]]))).toEqual({
      again: "%REQ(:AUTHORITY):128%",
      fixed: "100%% sure",
      header: "%REQ(x-team):128%",
      host: "%REQ(:AUTHORITY):128%",
      odd: "unknown",
    });
    expect(further).toHaveLength(4);
  });
});

describe("connections", () => {
  test("are told of while they last; the user's own log still has one line for each", async () => {
    const { tcpOut } = await render([telemetry()], { ...prometheus, accessLogFile: "/log" });
    expect(tcpOut.accessLogOptions).toEqual({ flushAccessLogOnConnected: true, accessLogFlushInterval: "7s" });
    const [own] = tcpOut.accessLog;
    expect(own.typedConfig.path).toBe("/log");
    expect(own.filter).toEqual({ logTypeFilter: { types: ["TcpConnectionEnd"] } });
    const plain = await render([], { accessLogFile: "/log" });
    expect(plain.tcpOut.accessLog[0].filter).toBeUndefined();
    expect(plain.tcpOut.accessLogOptions).toBeUndefined();
  });

  test("an interval that Envoy would refuse is the usual one", async () => {
    const zero = { ...telemetry(), spec: { metrics: [{ reportingInterval: "0s" }] } };
    const { tcpInto } = await render([zero]);
    expect(tcpInto.accessLogOptions.accessLogFlushInterval).toBe("15s");
  });
});
