/** `fairlead dashboard`: the page of a running mesh, opened in a browser, or its link. */
import { spawn } from "node:child_process";
import type { Command } from "commander";
import type { Io } from "./command.ts";
import { meshDataDir } from "./mesh-data-dir.ts";
import { dashboardUrl } from "./up/dashboard-url.ts";

interface DashboardFlags {
  readonly data?: string;
  readonly browser: boolean;
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("dashboard")
    .summary("Open the mesh on a page")
    .description(
      "Prints a link to the page of the standalone mesh that runs here, and opens it in a browser where there is one.\n" +
        "The link is good once and for ten minutes; the page then stays signed in for twelve hours.",
    )
    .option("--data <dir>", "data folder of the mesh (default: that of KUBECONFIG, or the user's)")
    .option("--no-browser", "only print the link")
    .addHelpText("after", "\nExamples:\n  fairlead dashboard\n  fairlead dashboard --no-browser --data /tmp/mesh\n")
    .action(async (flags: DashboardFlags) => exit(await dashboard(flags, io)));
}

async function dashboard(flags: DashboardFlags, io: Io): Promise<number> {
  const url = await dashboardUrl(meshDataDir(flags, io), new Date());
  io.out(`${url}\n`);
  if (flags.browser && io.tty) open(url);
  return 0;
}

/** Where there is no browser the link is enough. */
function open(url: string): void {
  const command = process.platform === "darwin" ? "open" : "xdg-open";
  spawn(command, [url], { stdio: "ignore", detached: true })
    .on("error", () => {})
    .unref();
}
