/** `fairlead up`: the standalone mesh, with the sample application if asked for. Prints `ready` on stdout when it serves. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { createLogger } from "../lib/index.ts";
import { type Io, untilStopped } from "./command.ts";
import { type ListenAddress, parseListenAddress } from "./listen-address.ts";
import { selfCommand } from "./self.ts";
import { shellWord } from "./shell-word.ts";
import { dashboardUrl } from "./up/dashboard-url.ts";
import { defaultDataDir } from "./up/data-dir.ts";
import type { Relay } from "./up/relay.ts";
import { type StandaloneMesh, startStandaloneMesh } from "./up/standalone-mesh.ts";
import { isInside, relayOut, runInside } from "./up/user-namespace.ts";

interface UpFlags {
  readonly demo?: boolean;
  readonly check?: boolean;
  readonly data?: string;
  readonly apiAddr: string;
  readonly gatewayAddr: string;
  readonly grpcAddr: string;
  readonly secureGRPCAddr: string;
  readonly monitoringAddr: string;
  readonly httpsAddr: string;
  readonly httpAddr: string;
  readonly dashboardAddr: string;
  readonly dashboardEdit: boolean;
  readonly podCidr?: string;
  readonly serviceCidr?: string;
  readonly outside?: boolean;
  readonly dnsUpstream?: string;
  readonly log_output_level?: string;
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("up")
    .summary("Start a standalone mesh: API, control plane and certificates, without a cluster")
    .description(
      "Starts an embedded Kubernetes API with a durable store, the control plane and its certificate authority.\n" +
        "With --demo also a sample application with real Envoys and a gateway (needs root).\n" +
        "Prints one line, `ready`, on stdout when it serves; Ctrl-C stops and removes everything it made.",
    )
    .option("--demo", "run the sample application, with sidecars and a gateway")
    .option("--check", "prove the demo with real requests, print what was checked, and stop")
    .option("--data <dir>", "folder that holds everything (default: fairlead in the user's data folder)")
    .option("--api-addr <addr>", "Kubernetes API", "127.0.0.1:7443")
    .option("--gateway-addr <addr>", "the demo's gateway", "127.0.0.1:8081")
    .option("--grpcAddr <addr>", "plaintext xDS", "127.0.0.1:15010")
    .option("--secureGRPCAddr <addr>", "xDS and certificates over TLS", "127.0.0.1:15012")
    .option("--monitoringAddr <addr>", "metrics, version, debug", "127.0.0.1:15014")
    .option("--httpsAddr <addr>", "webhooks", "127.0.0.1:15017")
    .option("--httpAddr <addr>", "readiness, debug", "127.0.0.1:8080")
    .option(
      "--dashboard-addr <addr>",
      "the mesh on a page; another port of the address where this one is taken",
      dashboardAddress,
    )
    .option("--dashboard-edit", "whoever has the link to the page may apply objects from it", false)
    .option("--pod-cidr <cidr>", "addresses of Pods (default: derived from the data folder)")
    .option("--service-cidr <cidr>", "addresses of Services (default: derived from the data folder)")
    .option("--outside", "let Pods reach what is outside, through this machine (default as root, without --check)")
    .option("--no-outside", "leave this machine's forwarding and iptables alone; Pods reach only the mesh")
    .option("--dns-upstream <addr>", "who is asked about names outside (default: this machine's own servers)")
    .option("--log_output_level <levels>", "as istiod: default:info,ads:debug")
    .addHelpText(
      "after",
      "\nExamples:\n  fairlead up\n  sudo fairlead up --demo\n  fairlead up --data /tmp/mesh --api-addr 127.0.0.1:0 --grpcAddr 127.0.0.1:0\n",
    )
    .action(async (flags: UpFlags) => exit(await up(flags, io)));
}

/** A proof leaves no trace: without a folder of the user's choice it has one of its own, for as long as it runs. */
async function up(flags: UpFlags, io: Io): Promise<number> {
  if (!flags.check || flags.data !== undefined) return await start(flags, io);
  const data = mkdtempSync(join(tmpdir(), "fairlead-check-"));
  try {
    return await start({ ...flags, data }, io);
  } finally {
    rmSync(data, { recursive: true, force: true });
  }
}

async function start(flags: UpFlags, io: Io): Promise<number> {
  const log = createLogger({
    write: (line) => io.err(`${line}\n`),
    now: () => new Date(),
    ...(flags.log_output_level === undefined ? {} : { levels: flags.log_output_level }),
  });
  const at = (flag: string, text: string): ListenAddress => parseListenAddress(flag, text, "127.0.0.1");
  const demo = flags.demo === true || flags.check === true;
  const addresses = new Map(addressFlags.map(([name, flag, key]) => [name, at(flag, flags[key])]));
  const outside = new Map(
    addressFlags.flatMap(([name, flag]) => [[flag, addresses.get(name) ?? at(flag, "127.0.0.1:0")]]),
  );
  if (demo && process.getuid?.() !== 0 && !isInside(io)) return await runInside(upArgs(flags), outside, io);
  const gateway = addresses.get("gateway") ?? at("--gateway-addr", flags.gatewayAddr);
  const mesh = await startStandaloneMesh({
    dataDir: flags.data ?? defaultDataDir(io.env),
    env: io.env,
    api: addresses.get("api") ?? at("--api-addr", flags.apiAddr),
    addresses,
    ...(flags.podCidr === undefined ? {} : { podCidr: flags.podCidr }),
    ...(flags.serviceCidr === undefined ? {} : { serviceCidr: flags.serviceCidr }),
    // A proof leaves no trace, and needs nothing outside.
    outside: flags.outside ?? !flags.check,
    ...(flags.dnsUpstream === undefined ? {} : { dnsUpstream: at("--dns-upstream", flags.dnsUpstream) }),
    ways: new Map(demo ? [["gateway", { listen: gateway, service: gatewayService }]] : []),
    needsNetwork: demo,
    dashboardEdit: flags.dashboardEdit,
    fairlead: selfCommand(),
    logLevels: flags.log_output_level,
    log,
    line: (source, text) => io.err(`[${source}] ${text}\n`),
    signal: io.signal,
  });
  let relays: readonly Relay[] = [];
  try {
    relays = await relayOut(outside, io);
    io.signal.throwIfAborted();
    if (demo) return await runDemo(mesh, flags, io, log);
    io.out("ready\n");
    io.err(
      `\nThe mesh: ${await dashboardUrl(mesh.dir, new Date())}\nThe API:  export KUBECONFIG=${shellWord(mesh.kubeconfig)}\n`,
    );
    await untilStopped(io.signal);
    return 0;
  } finally {
    await Promise.all(relays.map((relay) => relay.close()));
    await mesh.stop();
  }
}

const dashboardAddress = "127.0.0.1:15015";

/** The Service of the demo's gateway. */
const gatewayService = "istio-system/istio-ingressgateway:80";

/** Name in addresses.json, flag, and where commander puts it. */
const addressFlags = [
  ["api", "--api-addr", "apiAddr"],
  ["gateway", "--gateway-addr", "gatewayAddr"],
  ["grpc", "--grpcAddr", "grpcAddr"],
  ["secureGrpc", "--secureGRPCAddr", "secureGRPCAddr"],
  ["monitoring", "--monitoringAddr", "monitoringAddr"],
  ["https", "--httpsAddr", "httpsAddr"],
  ["http", "--httpAddr", "httpAddr"],
  ["dashboard", "--dashboard-addr", "dashboardAddr"],
] as const;

/** The same command line again, without the addresses. */
function upArgs(flags: UpFlags): readonly string[] {
  const given = (flag: string, value: string | undefined): readonly string[] =>
    value === undefined ? [] : [flag, value];
  return [
    "up",
    ...(flags.demo ? ["--demo"] : []),
    ...(flags.check ? ["--check"] : []),
    ...(flags.dashboardEdit ? ["--dashboard-edit"] : []),
    ...given("--data", flags.data),
    ...given("--pod-cidr", flags.podCidr),
    ...given("--service-cidr", flags.serviceCidr),
    ...(flags.outside === undefined ? [] : [flags.outside ? "--outside" : "--no-outside"]),
    ...given("--dns-upstream", flags.dnsUpstream),
    ...given("--log_output_level", flags.log_output_level),
  ];
}

async function runDemo(
  mesh: StandaloneMesh,
  flags: UpFlags,
  io: Io,
  log: ReturnType<typeof createLogger>,
): Promise<number> {
  const { startDemo } = await import("./up/demo.ts");
  const demo = await startDemo(mesh, io, log);
  try {
    if (flags.check) {
      const { checkDemo } = await import("./up/check.ts");
      return await checkDemo(mesh, demo, io);
    }
    io.out("ready\n");
    await demo.greet();
    await untilStopped(io.signal);
    return 0;
  } finally {
    await demo.stop();
  }
}
