// The Gateway API's own conformance suite against Fairlead, with real Envoys in namespaces: see docs/reference/gateway-api.md.
// KUBECONFIG=… GATEWAY_SUITE=BINARY ECHO_BASIC=BINARY npm run gateway-api [-- FLAGS OF THE SUITE]
// Needs root, Envoy and kubectl, and a cluster without kubelets that is there to be tried on, with the CRDs of the Gateway API:
// this machine runs the Pods. The two programs are the suite's.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCli } from "../../src/cli/testing.ts";
import { loadKubeconfig } from "../../src/kube/index.ts";
import { fairleadVersion } from "../../src/model/index.ts";
import { makeImageRoot } from "../image/root.ts";
import { fairleadPlane } from "../swap/plane.ts";
import { untilInjecting } from "../swap/scenario.ts";
import { createSwapWorld } from "../swap/world.ts";
import { runLoadBalancers } from "./load-balancers.ts";
import { runPods } from "./pods.ts";

const { KUBECONFIG = "", GATEWAY_SUITE = "", ECHO_BASIC = "" } = process.env;
const say = (text: string): boolean => process.stdout.write(`${text}\n`);
const missing = Object.entries({ KUBECONFIG, GATEWAY_SUITE, ECHO_BASIC }).filter(([, path]) => !existsSync(path));
if (missing.length > 0) {
  say(`skipped: ${missing.map(([name]) => name).join(", ")} not at hand`);
  process.exit(0);
}

const work = mkdtempSync(join(tmpdir(), "fairlead-gateway-api-"));
const root = makeImageRoot(work);
const access = await loadKubeconfig({ paths: [KUBECONFIG], env: process.env });
const world = await createSwapWorld({ access });
const ends: (() => Promise<unknown>)[] = [() => world.close()];
try {
  const { status, stderr } = await runCli(["install", "--no-wait"], process.cwd(), 120_000, { KUBECONFIG });
  if (status !== 0) throw new Error(`fairlead install: ${stderr}`);
  const plane = await world.start(fairleadPlane, "default");
  await world.point("default", plane);
  await untilInjecting(world, "default");
  const { host, address } = await world.address("default");
  const ca = (await access.credentials(false)).ca ?? access.ca ?? "";
  const pods = await runPods({
    api: { client: world.client, url: access.server, ca },
    network: world.network,
    root,
    echo: ECHO_BASIC,
    hosts: { [host]: address },
    say,
  });
  ends.push(() => pods.close());
  const balancers = runLoadBalancers(world.client, say);
  ends.push(() => balancers.close());
  const report = join(process.env.FAIRLEAD_REPORT_DIR ?? work, "report.yaml");
  const flags = [
    ...[`-kubeconfig=${KUBECONFIG}`, "-gateway-class=istio", `-report-output=${report}`, "-test.run=^TestConformance$"],
    ...[
      "-organization=fairlead",
      "-project=fairlead",
      "-url=fairlead",
      `-version=${fairleadVersion}`,
      "-contact=fairlead",
    ],
  ];
  // A Service that is there, and one that is not.
  const hostname = (value: string): object => ({ type: "Hostname", value });
  const addresses = {
    usableNetworkAddresses: [hostname("infra-backend-v1.gateway-conformance-infra.svc.cluster.local")],
    unusableNetworkAddresses: [hostname("nothing")],
  };
  writeFileSync(join(work, "options.yaml"), JSON.stringify(addresses));
  flags.push(`-conformance-options-file=${join(work, "options.yaml")}`);
  const suite = spawn(GATEWAY_SUITE, ["-test.v", "-test.timeout=60m", ...flags, ...process.argv.slice(2)], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  const [ended] = await once(suite, "exit");
  process.exitCode = Number(ended ?? 1);
  if (process.env.FAIRLEAD_LOG) say(plane.log());
} finally {
  for (const end of ends.reverse()) await end();
  rmSync(work, { recursive: true, force: true });
}
