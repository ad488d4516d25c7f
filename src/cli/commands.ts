/** Every command, in the order in which help lists them. */
import type { CommandEntry } from "./command.ts";

export const commands: readonly CommandEntry[] = [
  {
    name: "render",
    summary: "Show what a proxy would be sent, offline, from files",
    load: () => import("./render.ts"),
  },
];
