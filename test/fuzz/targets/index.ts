/** Everything that reads what others send or write. */
import type { Target } from "../target.ts";
import { byteTargets } from "./bytes.ts";
import { objectTargets } from "./objects.ts";
import { serverTargets } from "./servers.ts";
import { textTargets } from "./text.ts";

export async function targets(): Promise<readonly Target[]> {
  return [...(await textTargets()), ...(await byteTargets()), ...(await objectTargets()), ...(await serverTargets())];
}
