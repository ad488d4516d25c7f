/** A namespace or device that was written down in; gone out. */

import type { Leftover } from "../journal.ts";
import { ip } from "./ip.ts";

/** Nothing happens where it is gone already. */
export async function removeLeftover(item: Leftover): Promise<void> {
  if (item.kind === "namespace") {
    const namespaces = (await ip("netns", "list")).split("\n").map((line) => line.split(" ")[0]);
    if (!namespaces.includes(item.name)) return;
    await endProcesses(item.name);
    // The kernel takes its time to end a namespace whose processes have just died; until then its address would lead there.
    await ip("-n", item.name, "link", "del", "eth0").catch(() => {});
    await ip("netns", "del", item.name);
  } else if (item.kind === "device") {
    const links: { ifname: string }[] = JSON.parse(await ip("-j", "link", "show"));
    if (links.some((link) => link.ifname === item.name)) await ip("link", "del", item.name);
  }
}

/** As with a container, whatever still runs in it ends with it: an Envoy whose agent has died, children of the process. */
async function endProcesses(namespace: string): Promise<void> {
  for (const pid of (await ip("netns", "pids", namespace)).split("\n").map(Number))
    if (pid > 1 && pid !== process.pid)
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // Already gone.
      }
}
