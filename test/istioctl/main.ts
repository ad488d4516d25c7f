/**
 * `ISTIOCTL=BINARY npm run istioctl`: each command of `commands.ts` by an unmodified istioctl on Fairlead, compared with
 * what is kept of istiod. With `ISTIOD=BINARY` (pilot-discovery) that is asked first, and kept.
 */

import type { PodApi } from "../standalone/kubectl.ts";
import { commands } from "./commands.ts";
import { complaints, differences } from "./compare.ts";
import { readKept, writeKept } from "./kept.ts";
import { type Plane, startMesh } from "./mesh.ts";
import { startFairlead, startIstiod } from "./planes.ts";
import { runAll, type Said } from "./run.ts";

const { ISTIOCTL: istioctl, ISTIOD: istiod } = process.env;
if (istioctl === undefined) throw new Error("name an istioctl: ISTIOCTL=/path/to/istioctl npm run istioctl");

async function ask(binary: string, plane: (pods: PodApi) => Promise<Plane>): Promise<ReadonlyMap<string, Said>> {
  const mesh = await startMesh(plane);
  try {
    return await runAll(binary, mesh);
  } finally {
    await mesh.close();
  }
}

if (istiod !== undefined) writeKept(await ask(istioctl, (pods) => startIstiod(istiod, pods)));
const kept = readKept();
const own = await ask(istioctl, startFairlead);
const nothing: Said = { status: -1, out: "" };
const wrong = commands.flatMap((one) => complaints(one, kept.get(one) ?? nothing, own.get(one) ?? nothing));
for (const line of wrong) console.info(line);
console.info(`${commands.length} commands, ${differences.size} differ for a listed reason, ${wrong.length} complaints`);
process.exit(wrong.length === 0 ? 0 : 1);
