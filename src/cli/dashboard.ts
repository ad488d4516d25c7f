/** `fairlead dashboard`: the page of a running mesh, here or on a cluster, opened in a browser, or its link. */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { type AccessFlags, clusterAccess } from "./cluster-access.ts";
import { type Io, untilStopped } from "./command.ts";
import { serveClusterPage } from "./dashboard/cluster-page.ts";
import { openLink } from "./dashboard/open-link.ts";
import { parseListenAddress } from "./listen-address.ts";
import { meshDataDir } from "./mesh-data-dir.ts";
import { addressesFile } from "./up/bound-addresses.ts";
import { dashboardUrl } from "./up/dashboard-url.ts";

interface DashboardFlags extends AccessFlags {
  readonly data?: string;
  readonly istioNamespace: string;
  readonly addr: string;
  readonly browser: boolean;
  readonly edit: boolean;
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("dashboard")
    .summary("Open the mesh on a page")
    .description(
      "Prints a link to the page of a mesh, and opens it in a browser where there is one: of the standalone mesh that runs\n" +
        "here, or of a cluster. A cluster's page is served by this command for as long as it runs, and shows what the user of\n" +
        "the kubeconfig may see. The link is good once and for ten minutes; the page then stays signed in for twelve hours.",
    )
    .option("--data <dir>", "data folder of the mesh (default: that of KUBECONFIG, or the user's)")
    .option("--kubeconfig <file>", "how to reach the API of a cluster")
    .option("--context <name>", "context of the kubeconfig")
    .option("-i, --istioNamespace <namespace>", "where the cluster's control plane is", "istio-system")
    .option("--addr <addr>", "where a cluster's page is served here", "127.0.0.1:0")
    .option("--edit", "of a cluster: objects may be applied from the page, with the kubeconfig's user", false)
    .option("--no-browser", "only print the link")
    .addHelpText(
      "after",
      "\nExamples:\n  fairlead dashboard\n  fairlead dashboard --no-browser --data /tmp/mesh\n  fairlead dashboard --context production\n",
    )
    .action(async (flags: DashboardFlags) => exit(await dashboard(flags, io)));
}

async function dashboard(flags: DashboardFlags, io: Io): Promise<number> {
  const dir = meshDataDir(flags, io);
  if (isOfCluster(flags, dir, io)) return dashboardOfCluster(flags, io);
  const link = await dashboardUrl(dir, new Date());
  io.out(`${link}\n`);
  if (flags.browser && io.tty) await openLink(link, dir, io);
  return 0;
}

/** As other commands find the control plane that is meant. */
function isOfCluster({ data, kubeconfig, context }: DashboardFlags, dir: string, { env }: Io): boolean {
  if (kubeconfig !== undefined || context !== undefined) return true;
  return data === undefined && !existsSync(addressesFile(dir)) && (env.KUBECONFIG ?? "") !== "";
}

async function dashboardOfCluster(flags: DashboardFlags, io: Io): Promise<number> {
  const page = await serveClusterPage({
    access: await clusterAccess(flags, io),
    namespace: flags.istioNamespace,
    address: parseListenAddress("--addr", flags.addr, "127.0.0.1"),
    edit: flags.edit,
    signal: io.signal,
  });
  const folder = await mkdtemp(join(tmpdir(), "fairlead-dashboard-"));
  try {
    io.out(`${page.link}\n`);
    io.err("The page is served until this command is stopped (Ctrl-C).\n");
    if (flags.browser && io.tty) await openLink(page.link, folder, io);
    await untilStopped(io.signal);
  } finally {
    await rm(folder, { recursive: true, force: true });
    await page.close();
  }
  return 0;
}
