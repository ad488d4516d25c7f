/** The disk under the API's store, the logs and the mesh's own files: slow, and full. */
import type { Fault } from "./fault.ts";

export const disks: readonly Fault[] = [
  {
    name: "slow-disk",
    what: "each write to the data folder waits for up to 400 ms, for 8 s",
    expected: "changes are late, requests are not",
    ...{ holdMs: 8_000, touches: ["disk"] },
    lacks: ({ disk }) => (disk.slow ? undefined : "a loop device"),
    async inject({ mesh }) {
      const slowness = mesh.disk.slow?.();
      return () => slowness?.end();
    },
  },
  {
    name: "full-disk",
    what: "no space left in the data folder for 8 s",
    expected: "writes are refused, everything else goes on",
    ...{ holdMs: 8_000, touches: ["disk"] },
    inject: async ({ mesh }) => mesh.disk.fill(),
  },
];
