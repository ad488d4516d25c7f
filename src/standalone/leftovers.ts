/** The journals of dead owners in; what they left on the host removed out. */
import { rmSync } from "node:fs";
import { isAlive, type Logger, type Owner, wait } from "../lib/index.ts";
import { type DeadPage, deadPages, type Journal, type Leftover, livingOwners } from "./journal.ts";
import { removeLeftover } from "./network/leftover.ts";
import { closeWayOut } from "./network/way-out.ts";
import { signalGroup } from "./processes.ts";

/** How many things were removed. Processes go first, because they hold the rest. */
export async function removeLeftovers(
  runDir: string,
  log: Logger,
  spares: (page: DeadPage) => boolean = () => false,
): Promise<number> {
  let removed = 0;
  for (const page of deadPages(runDir).filter((page) => !spares(page))) {
    const order = (item: Leftover): number => (item.kind === "process" ? 0 : 1);
    for (const item of [...page.items].sort((a, b) => order(a) - order(b))) {
      await removeOne(item);
      removed++;
    }
    page.done();
    const whose = page.owner ? `process ${page.owner.pid} had left` : "all had shared";
    if (page.items.length > 0) log.info(`removed what ${whose}`, { items: page.items.length });
  }
  return removed;
}

/** What a dead runner has left may still be asked for: its Pod has to be out of everybody's endpoints first. */
export const removeAllButRunners = (runDir: string, log: Logger): Promise<number> =>
  removeLeftovers(runDir, log, ({ isRunners }) => isRunners);

/** For whoever leaves the mesh: the last one takes everything along. */
export const removeAtEnd = (runDir: string, log: Logger): Promise<number> =>
  livingOwners(runDir).length > 0 ? removeAllButRunners(runDir, log) : removeLeftovers(runDir, log);

/** For an owner that ends in good order: whatever is still written down goes, then the journal itself. */
export async function endJournal(journal: Journal): Promise<void> {
  for (const item of journal.items()) await removeOne(item);
  journal.close();
}

/** What it holds, such as the store, is the next one's only when it is gone. */
async function endProcess(owner: Owner): Promise<void> {
  if (!isAlive(owner)) return;
  signalGroup(owner.pid, "SIGKILL");
  const deadline = performance.now() + 10_000;
  while (isAlive(owner) && performance.now() < deadline) await wait(10);
}

async function removeOne(item: Leftover): Promise<void> {
  if (item.kind === "process") await endProcess(item.process);
  else if (item.kind === "folder") rmSync(item.path, { recursive: true, force: true });
  else if (item.kind === "way-out") await closeWayOut(item.name);
  else await removeLeftover(item);
}
