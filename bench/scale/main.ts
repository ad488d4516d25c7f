/**
 * `npm run bench`: what a fleet of simulated proxies and single changes cost a control plane. Starts one on the embedded
 * API with the scenario (or, with --kubeconfig, on an API that is there), drives it, prints a table.
 */
import { writeFileSync } from "node:fs";
import { type ParseArgsConfig, parseArgs } from "node:util";
import type { Fleet } from "./fleet.ts";
import { sayGrid } from "./grid.ts";
import { measure, type Pace, type Run } from "./measure.ts";
import { openApi } from "./mesh-api.ts";
import { putScenario } from "./put-scenario.ts";
import type { ScenarioSize } from "./scenario.ts";
import { other, parseAddress, type Server, startDiscovery, startStandalone } from "./server.ts";
import { sayRun } from "./table.ts";
import { buildXdsload, checkLoad } from "./xdsload.ts";

const help = `npm run bench -- [options]      what a fleet of simulated proxies and single changes cost

  --proxies N        how many (100), --ramp-ms MS  the time in which they connect (50 a proxy)
  --deployments N    how many different ones they are of (10)
  --namespaces N     (10)
  --services N       (500), --endpoints N  of each (5), --routed N  with a VirtualService and a DestinationRule (100)
  --mode MODE        delta (default) or sotw
  --tls              over 15012, with a certificate for each proxy
  --envoy-version V  that the proxies say they have (1.40.0)
  --steady-s N       for how long a route changes again and again (20)
  --quick            waits for nothing longer than it must: to see that all works, not for figures
  --grid             100, 500, 1,000 and 2,000 proxies of few and of many deployments, and 500 in each other way; half an hour
  --full             100, 500, 1,000 and 2,000 proxies in all variants; takes hours
  --json FILE        the figures as JSON too
  --kubeconfig K     on an API that is there, instead of one that is started: namespaces ns-0, ns-1... are made there, and
                     MeshConfig is changed; afterwards both are as before
  --against H:P      with --kubeconfig: the same table for another control plane on that API, plain xDS at H:P;
                     --against-tls H:P, --against-monitoring H:P, --against-name NAME, --only-against
  --check-load       whether our load counts what xdsload counts (needs Go)

npm run bench -- webhooks | return | departed [TEAMS]      admission; return after a kill; what is kept of the departed
npm run bench -- bad-input [SECONDS]      bad input over xDS; fails where it costs more than it may
`;

const { values } = options({
  options: {
    help: { type: "boolean", short: "h", default: false },
    proxies: { type: "string", default: "100" },
    deployments: { type: "string", default: "10" },
    namespaces: { type: "string", default: "10" },
    services: { type: "string", default: "500" },
    endpoints: { type: "string", default: "5" },
    routed: { type: "string", default: "100" },
    mode: { type: "string", default: "delta" },
    tls: { type: "boolean", default: false },
    "ramp-ms": { type: "string", default: "" },
    "envoy-version": { type: "string", default: "1.40.0" },
    "steady-s": { type: "string", default: "20" },
    quick: { type: "boolean", default: false },
    grid: { type: "boolean", default: false },
    full: { type: "boolean", default: false },
    json: { type: "string" },
    "check-load": { type: "boolean", default: false },
    kubeconfig: { type: "string" },
    against: { type: "string" },
    "against-tls": { type: "string" },
    "against-monitoring": { type: "string" },
    "against-name": { type: "string", default: "the other" },
    /** Measures the other one alone. */
    "only-against": { type: "boolean", default: false },
  },
});

if (values.help) {
  process.stdout.write(help);
  process.exit(0);
}

function options<const C extends ParseArgsConfig>(config: C): ReturnType<typeof parseArgs<C>> {
  try {
    return parseArgs(config);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${help}`);
    process.exit(2);
  }
}

/** 50 ms between two connects, as a rolling restart has it, unless told otherwise. */
const rampOf = (proxies: number): number => (values["ramp-ms"] === "" ? proxies * 50 : Number(values["ramp-ms"]));

const envoyVersion = values["envoy-version"];

const sizes = [100, 500, 1000, 2000];
const shares = (proxies: number): readonly number[] => [10, proxies / 2, proxies];

function fleets(): readonly Fleet[] {
  if (values.grid)
    return [
      ...sizes.flatMap((proxies) =>
        shares(proxies).map((deployments) => fleet(proxies, deployments, 10, "delta", false)),
      ),
      fleet(500, 500, 500, "delta", false),
      fleet(500, 500, 10, "delta", true),
      fleet(500, 500, 10, "sotw", false),
    ];
  if (!values.full) {
    const [proxies, deployments, namespaces] = [values.proxies, values.deployments, values.namespaces].map(Number);
    const mode = values.mode === "sotw" ? "sotw" : "delta";
    return [fleet(proxies ?? 100, deployments ?? 10, namespaces ?? 10, mode, values.tls)];
  }
  return sizes.flatMap((proxies) =>
    shares(proxies).flatMap((deployments) =>
      [10, 500].flatMap((namespaces) =>
        (["delta", "sotw"] as const).flatMap((mode) =>
          [false, true].map((tls) => fleet(proxies, deployments, namespaces, mode, tls)),
        ),
      ),
    ),
  );
}

const fleet = (proxies: number, deployments: number, namespaces: number, mode: Fleet["mode"], tls: boolean): Fleet => ({
  proxies,
  deployments,
  namespaces,
  mode,
  tls,
  rampMs: rampOf(proxies),
  envoyVersion,
});

/** Each on a mesh of its own, so that nothing of the run before is left. */
async function runOne(one: Fleet): Promise<readonly Run[]> {
  const size: ScenarioSize = {
    services: Number(values.services),
    endpoints: Number(values.endpoints),
    namespaces: one.namespaces,
    routed: Number(values.routed),
  };
  const runs: Run[] = [];
  if (!values["only-against"]) {
    const ours = values.kubeconfig === undefined ? await startStandalone() : await startDiscovery(values.kubeconfig);
    runs.push(await runOn(ours, size, one));
  }
  if (values.against !== undefined) runs.push(await runOn(theOther(values.against), size, one));
  return runs;
}

async function runOn(server: Server, size: ScenarioSize, one: Fleet): Promise<Run> {
  const api = await openApi(server.kubeconfig);
  const undo: (() => Promise<void>)[] = [];
  try {
    const leave = await putScenario(api, size);
    // The API that was started for this run goes with it.
    if (values.kubeconfig !== undefined) undo.push(leave);
    // Watches bring it in; what is still on its way would count for the fleet.
    await new Promise((resolve) => setTimeout(resolve, values.quick ? 1000 : 5000));
    if (program !== undefined) process.stdout.write(`${await checkLoad(program, server, api, size, one)}\n`);
    return await measure(server, api, size, one, pace);
  } finally {
    for (const leave of undo) await leave();
    api.close();
    await server.stop();
  }
}

const pace: Pace = values.quick
  ? { steadyMs: 1000, quietMs: 200 }
  : { steadyMs: Number(values["steady-s"]) * 1000, quietMs: 700 };

function theOther(plain: string): Server {
  if (values.kubeconfig === undefined) throw new Error("--against needs --kubeconfig: the API that both read");
  const [secure, monitoring] = [values["against-tls"], values["against-monitoring"]];
  return other(
    values["against-name"],
    values.kubeconfig,
    parseAddress(plain),
    secure === undefined ? undefined : parseAddress(secure),
    monitoring === undefined ? undefined : parseAddress(monitoring),
  );
}

const program = values["check-load"] ? buildXdsload() : undefined;
if (values["check-load"] && program === undefined) throw new Error("--check-load needs Go and ../shared/tools/xdsload");
const runs: Run[] = [];
for (const one of fleets()) {
  for (const run of await runOne(one)) {
    runs.push(run);
    process.stdout.write(`${sayRun(run)}\n`);
  }
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(runs, null, 2)}\n`);
}
if (runs.length > 1) process.stdout.write(`${sayGrid(runs)}\n`);
process.exit(0);
