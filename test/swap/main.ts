// From istiod to Fairlead and back under live traffic, in place and by revision, on a real API: see docs/kubernetes.md.
// KUBECONFIG=… ISTIOD=BINARY ISTIO_MANIFEST=FILE [PILOT_AGENT=BINARY ISTIO_BOOTSTRAP=FILE] npm run swap
// Needs root, iptables, Envoy and kubectl, and a cluster that is there to be tried on. ISTIO_MANIFEST is what `istioctl manifest
// generate` prints; with PILOT_AGENT and ISTIO_BOOTSTRAP (its template of Envoy's bootstrap) every other proxy runs under that.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { runCli } from "../../src/cli/testing.ts";
import { kubeKinds, loadKubeconfig } from "../../src/kube/index.ts";
import { parseYaml, readRecord, readText } from "../../src/lib/index.ts";
import { exitAfter, unlessStopped } from "../stop.ts";
import { fairleadPlane, istiodPlane } from "./plane.ts";
import { type SwapReport, swapByRevision, swapInPlace, untilInjecting } from "./scenario.ts";
import { fairleadAgent, pilotAgent } from "./workload.ts";
import { createSwapWorld } from "./world.ts";

const { KUBECONFIG = "", ISTIOD = "", ISTIO_MANIFEST = "", PILOT_AGENT = "", ISTIO_BOOTSTRAP = "" } = process.env;
const say = (text: string): boolean => process.stdout.write(`${text}\n`);
const missing = Object.entries({ KUBECONFIG, ISTIOD, ISTIO_MANIFEST }).filter(([, path]) => !existsSync(path));
if (missing.length > 0) {
  say(`skipped: ${missing.map(([name]) => name).join(", ")} not at hand`);
  process.exit(0);
}

let failed = 0;
const tell = (what: string, report: SwapReport): void => {
  const { requests, seconds, pods, failures, certificatesKept } = report;
  say(
    `${what}: ${requests} requests at ${Math.round(requests / seconds)}/s, ${pods} Pods injected, ${failures.length} failed${certificatesKept ? ", certificates kept" : ""}`,
  );
  for (const failure of failures) say(`  ${failure}`);
  failed += failures.length;
};
const fairlead = async (...args: readonly string[]): Promise<void> => {
  const { status, stderr } = await runCli(args, process.cwd(), 120_000, { KUBECONFIG });
  if (status !== 0) throw new Error(`fairlead ${args.join(" ")}: ${stderr}`);
};

/** As `istioctl install` would; the mesh's metrics are left out, because a stock Envoy has no filter for them. */
function applyManifest(): void {
  const apply = ["apply", "--server-side", "--force-conflicts", "--kubeconfig", KUBECONFIG, "-f", "-"];
  const { status, stderr } = spawnSync("kubectl", apply, { input: readFileSync(ISTIO_MANIFEST), encoding: "utf8" });
  if (status !== 0) throw new Error(`kubectl apply: ${stderr}`);
}

async function leaveOutMetrics(): Promise<void> {
  const ref = { name: "istio", namespace: "istio-system" };
  const found = await world.client.get(kubeKinds.configMaps, ref);
  const mesh = readRecord(parseYaml(readText(readRecord(found.data).mesh))[0]);
  const without = JSON.stringify({ ...mesh, defaultProviders: {} });
  await world.client.patch(kubeKinds.configMaps, ref, "merge", { data: { mesh: without } });
}

const access = await loadKubeconfig({ paths: [KUBECONFIG], env: process.env });
const world = await createSwapWorld({ access });
await exitAfter((stop) => unlessStopped(swapAll(), stop).finally(() => world.close()));

async function swapAll(): Promise<number> {
  const istiod = istiodPlane(ISTIOD);
  spawnSync("kubectl", ["--kubeconfig", KUBECONFIG, "create", "namespace", "istio-system"]);
  applyManifest();
  await leaveOutMetrics();
  let plane = await world.start(istiod, "default");
  await world.point("default", plane);
  await untilInjecting(world, "default");
  const agents = PILOT_AGENT === "" ? [fairleadAgent] : [fairleadAgent, pilotAgent(PILOT_AGENT, ISTIO_BOOTSTRAP)];
  const fleet = await world.populate("default", agents);
  say(`3 proxies under ${agents.length === 1 ? "Fairlead's agent" : "Fairlead's agent and pilot-agent in turn"}`);

  await fairlead("install", "--in-place", "--no-wait");
  const there = await swapInPlace(world, fleet, "default", plane, fairleadPlane);
  tell("in place, istiod to Fairlead", there);
  applyManifest();
  await leaveOutMetrics();
  const back = await swapInPlace(world, fleet, "default", there.plane, istiod);
  tell("in place, Fairlead to istiod", back);
  plane = back.plane;

  await fairlead("install", "--revision", "fairlead", "--no-wait");
  const beside = await world.start(fairleadPlane, "fairlead");
  tell("by revision, istiod to Fairlead", await swapByRevision(world, fleet, "fairlead", beside));
  tell("by revision, Fairlead to istiod", await swapByRevision(world, fleet, "default", plane));
  await fairlead("uninstall", "--revision", "fairlead");
  return failed === 0 ? 0 : 1;
}
