// Processor time that the standard metrics cost a stock Envoy and its agent, per way of telling the agent.
// node bench/metrics-cost.ts [requests per second=1000] [seconds=10] [rounds=3] [ways=none,agent,lines,array,als,file,stats]
// Each way is run once a round, in turn; of its rounds the cheapest counts, because the machine does other things too.
import { type ChildProcess, fork, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createReadStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createTelemetry } from "../src/agent/telemetry/telemetry.ts";
import { silentLogger } from "../src/lib/index.ts";
import { columnSeparator, groupSeparator, metricPlanAttribute } from "../src/model/index.ts";
import { lineFormat, requestNoteFormats } from "../src/render/telemetry/metric-line.ts";
import { bidi, createRpcServer, rawCodec, unary } from "../src/rpc/index.ts";
import { findEnvoy } from "../test/require.ts";

const numbers = process.argv.slice(process.argv[2] === "load" ? 3 : 2).map(Number);
const [rate = 1000, seconds = 10, rounds = 3] = numbers;
const ways = (process.argv[5] ?? "none,agent,lines,array,als,file,stats").split(",");
const type = (name: string) => ({ "@type": `type.googleapis.com/envoy.extensions.${name}` });
const [proxyPort, appPort] = [19401, 19402];

const line = lineFormat("outbound", "http", []);
const columns = line.split(groupSeparator).flatMap((group) => group.split(columnSeparator));
const plan = JSON.stringify({ reporter: "source", protocol: "http", changes: {} });
const common = {
  log_name: "bench",
  grpc_service: { envoy_grpc: { cluster_name: "agent" } },
  transport_api_version: "V3",
  buffer_flush_interval: "1s",
  buffer_size_bytes: 65_536,
};
const otlp = (body: object) => ({
  ...type("access_loggers.open_telemetry.v3.OpenTelemetryAccessLogConfig"),
  common_config: common,
  disable_builtin_labels: true,
  resource_attributes: { values: [{ key: metricPlanAttribute, value: { string_value: plan } }] },
  body,
});

const notes = { values: requestNoteFormats.map(([key, format]) => ({ key, value: { string_value: format } })) };

function logger(way: string, dir: string): object | undefined {
  if (way === "agent") return { ...otlp({ string_value: line }), attributes: notes };
  if (way === "lines") return otlp({ string_value: line });
  if (way === "array") return otlp({ array_value: { values: columns.map((format) => ({ string_value: format })) } });
  if (way === "als") {
    const tag = (name: string, value: string) => ({ tag: name, value });
    const custom_tags = columns
      .filter((format) => /SAN|METADATA|FLAGS|GRPC|RAW/.test(format))
      .map((f, i) => tag(`t${i}`, f));
    return { ...type("access_loggers.grpc.v3.HttpGrpcAccessLogConfig"), common_config: { ...common, custom_tags } };
  }
  if (way === "file")
    return {
      ...type("access_loggers.file.v3.FileAccessLog"),
      path: join(dir, "fifo"),
      log_format: { text_format_source: { inline_string: `${line}\n` } },
    };
  if (way !== "stats") return undefined;
  const tags = columns.slice(0, 10).map((format, i) => ({ name: `t${i}`, value_format: format }));
  const histogram = (name: string, format: string) => ({ stat: { name, tags }, unit: "Bytes", value_format: format });
  return {
    ...type("access_loggers.stats.v3.Config"),
    stat_prefix: "bench",
    counters: [{ stat: { name: "requests", tags }, value_fixed: 1 }],
    histograms: columns.slice(10, 13).map((format, i) => histogram(`h${i}`, format)),
  };
}

function bootstrap(way: string, dir: string): object {
  const router = { name: "router", typed_config: type("filters.http.router.v3.Router") };
  const typedConfig = logger(way, dir);
  const services = [{ host: "web.default.svc.cluster.local", name: "web", namespace: "default" }];
  const cluster = "outbound|80||web.default.svc.cluster.local";
  const endpoint = (address: object, metadata = {}) => [{ lb_endpoints: [{ endpoint: { address }, ...metadata }] }];
  const socket = (port: number) => ({ socket_address: { address: "127.0.0.1", port_value: port } });
  const workload = { metadata: { filter_metadata: { istio: { workload: "web-v1;default;web;v1;Kubernetes" } } } };
  const http2 = { explicit_http_config: { http2_protocol_options: {} } };
  const name = "upstreams.http.v3.HttpProtocolOptions";
  const manager = {
    ...type("filters.network.http_connection_manager.v3.HttpConnectionManager"),
    stat_prefix: "bench",
    route_config: {
      virtual_hosts: [{ name: "all", domains: ["*"], routes: [{ match: { prefix: "/" }, route: { cluster } }] }],
    },
    http_filters: [router],
    ...(typedConfig ? { access_log: [{ name: "bench", typed_config: typedConfig }] } : {}),
  };
  return {
    static_resources: {
      listeners: [
        {
          name: "in",
          address: socket(proxyPort),
          filter_chains: [{ filters: [{ name: "http", typed_config: manager }] }],
        },
      ],
      clusters: [
        {
          name: cluster,
          metadata: { filter_metadata: { istio: { services } } },
          load_assignment: { cluster_name: cluster, endpoints: endpoint(socket(appPort), workload) },
        },
        {
          name: "agent",
          typed_extension_protocol_options: { [`envoy.extensions.${name}`]: { ...type(name), ...http2 } },
          load_assignment: { cluster_name: "agent", endpoints: endpoint({ pipe: { path: join(dir, "agent") } }) },
        },
      ],
    },
  };
}

/** The process that takes what Envoy tells: our agent's counting for `agent`, else something that only reads. */
async function runReceiver(way: string, dir: string): Promise<void> {
  const node = {
    id: "",
    metadata: { WORKLOAD_NAME: "bench" },
    labels: {},
    annotations: {},
    locality: { region: "", zone: "", subZone: "" },
  };
  const method = (path: string) => ({ path, request: rawCodec, response: rawCodec });
  const sinks = [
    unary(method("/opentelemetry.proto.collector.logs.v1.LogsService/Export"), async () => []),
    bidi(method("/envoy.service.accesslog.v3.AccessLogService/StreamAccessLogs"), async (messages) => {
      for await (const _ of messages);
    }),
  ];
  const routes =
    way === "agent" || way === "lines"
      ? createTelemetry({ node, envoyMetrics: async () => "", log: silentLogger }).routes
      : sinks;
  await createRpcServer({ routes, limits: { maxMessageBytes: 1 << 24 }, log: silentLogger }).listen({
    path: join(dir, "agent"),
  });
  if (way === "file") createReadStream(join(dir, "fifo")).resume();
  process.send?.("ready");
}

/** The application, and who calls it at an even rate, in a process of their own. */
async function runLoad(): Promise<void> {
  http.createServer((_, response) => response.end("ok")).listen(appPort, "127.0.0.1");
  const agent = new http.Agent({ keepAlive: true, maxSockets: 32 });
  const one = (): Promise<void> =>
    new Promise((resolve) => {
      http
        .get({ host: "127.0.0.1", port: proxyPort, agent }, (response) => response.resume().on("end", resolve))
        .on("error", () => resolve());
    });
  process.on("message", async (forSeconds: number) => {
    const began = performance.now();
    const open: Promise<void>[] = [];
    while (performance.now() - began < forSeconds * 1000) {
      while (open.length < ((performance.now() - began) / 1000) * (rate ?? 0)) open.push(one());
      await sleep(2);
    }
    await Promise.all(open);
    process.send?.(open.length);
  });
  process.send?.("ready");
}

/** Fields 14 and 15 of stat, in hundredths of a second. */
function cpuMs(pid: number | undefined): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function measure(way: string, load: ChildProcess): Promise<{ readonly envoy: number; readonly agent: number }> {
  const dir = mkdtempSync(join(tmpdir(), "fl-bench-"));
  spawnSync("mkfifo", [join(dir, "fifo")]);
  const receiver = fork(import.meta.filename, ["receiver", way, dir]);
  await once(receiver, "message");
  writeFileSync(join(dir, "envoy.json"), JSON.stringify(bootstrap(way, dir)));
  const args = [
    "-c",
    join(dir, "envoy.json"),
    "--concurrency",
    "1",
    "--use-dynamic-base-id",
    "-l",
    "off",
    "--file-flush-interval-msec",
    "1000",
  ];
  const envoy = spawn(findEnvoy() ?? "envoy", args, { stdio: "ignore" });
  const send = async (forSeconds: number): Promise<number> => {
    load.send(forSeconds);
    const [count] = await once(load, "message");
    return count;
  };
  try {
    await sleep(1500);
    await send(3);
    const before = [cpuMs(envoy.pid), cpuMs(receiver.pid)] as const;
    const count = await send(seconds ?? 10);
    await sleep(1200);
    const per = (pid: number | undefined, from: number): number => ((cpuMs(pid) - from) / count) * 1000;
    return { envoy: per(envoy.pid, before[0]), agent: per(receiver.pid, before[1]) };
  } finally {
    envoy.kill();
    receiver.kill();
    rmSync(dir, { recursive: true });
  }
}

async function main(): Promise<void> {
  const load = fork(import.meta.filename, ["load", String(rate)]);
  await once(load, "message");
  const best = new Map<string, { envoy: number; agent: number }>();
  for (let round = 0; round < (rounds ?? 3); round++)
    for (const way of ways) {
      const { envoy, agent } = await measure(way, load);
      const before = best.get(way) ?? { envoy, agent };
      best.set(way, { envoy: Math.min(before.envoy, envoy), agent: Math.min(before.agent, agent) });
    }
  load.kill();
  const none = best.get("none")?.envoy ?? 0;
  console.log("way       Envoy ms  more than none  agent ms   (processor time per 1,000 requests)");
  for (const [way, { envoy, agent }] of best)
    console.log(
      `${way.padEnd(8)} ${envoy.toFixed(1).padStart(9)} ${(envoy - none).toFixed(1).padStart(15)} ${agent.toFixed(1).padStart(9)}`,
    );
}

const [, , role, way = "", dir = ""] = process.argv;
if (role === "receiver") await runReceiver(way, dir);
else if (role === "load") await runLoad();
else await main();
