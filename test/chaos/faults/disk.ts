/** The disk under the API's store, the logs and the mesh's own files: slow, and full. */
import { kubeKinds } from "../../../src/kube/index.ts";
import { FairleadError, wait } from "../../../src/lib/index.ts";
import type { ChaosMesh } from "../mesh.ts";
import { type Course, type Fault, must } from "./fault.ts";

const { configMaps, pods } = kubeKinds;
const noteOf = (number: number) => ({ name: `chaos-disk-${number}`, namespace: "default" });
const writeNote = ({ api }: ChaosMesh, number: number, text: string): Promise<unknown> =>
  api.create(configMaps, { apiVersion: "v1", kind: "ConfigMap", metadata: noteOf(number), data: { text } });

async function removeNotes({ api }: ChaosMesh, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await api.delete(configMaps, noteOf(i)).catch(() => {});
}

interface Tried {
  readonly written: number;
  readonly refusals: readonly string[];
  readonly readFailures: readonly string[];
}

/** Writes, until the room that the store has of its own is used up and beyond, and reads. */
async function tryWrites(mesh: ChaosMesh, signal: AbortSignal): Promise<Tried> {
  const [refusals, readFailures]: [string[], string[]] = [[], []];
  const into = (list: string[]) => (error: unknown) => void list.push(FairleadError.from(error).message);
  let written = 0;
  while (!signal.aborted) {
    const done = await writeNote(mesh, written, "x".repeat(700_000)).then(() => true, into(refusals));
    if (done) written++;
    await mesh.api.list(pods, { namespace: "default" }).catch(into(readFailures));
    await wait(100, signal).catch(() => {});
  }
  return { written, refusals, readFailures };
}

export const disks: readonly Fault[] = [
  {
    name: "slow-disk",
    what: "each write to the data folder waits for up to 400 ms, for 8 s",
    expected: "changes are late, requests are not",
    ...{ holdMs: 8_000, touches: ["disk"] },
    lacks: ({ disk }) => (disk.slow ? undefined : "a loop device"),
    async inject({ mesh, isTouched }): Promise<Course> {
      const slowness = mesh.disk.slow?.();
      const written = isTouched("api", "supervisor") ? Promise.resolve() : writeNote(mesh, 0, "late").then(() => {});
      written.catch(() => {});
      return {
        async end() {
          await slowness?.end();
          await written;
          await removeNotes(mesh, 1);
        },
      };
    },
  },
  {
    name: "full-disk",
    what: "no space left in the data folder for 8 s",
    expected: "writes are refused by name, everything else goes on",
    ...{ holdMs: 8_000, touches: ["disk"] },
    async inject({ mesh, isTouched, tell }): Promise<Course> {
      const free = mesh.disk.fill();
      const stop = new AbortController();
      const trying = tryWrites(mesh, stop.signal);
      return {
        async end() {
          stop.abort();
          free();
          const { written, refusals, readFailures } = await trying;
          await removeNotes(mesh, written);
          // Of an API that is away nobody hears why.
          if (isTouched("api", "supervisor")) return;
          must(refusals.length > 0, `no write was refused, of ${written}`);
          tell(`${refusals.length} writes were refused after ${written} that the store had room for`);
          const others = refusals.filter((text) => !text.includes("the store cannot be written"));
          must(others.length === 0, `a write was refused with: ${others[0]}`);
          must(readFailures.length === 0, `a read failed: ${readFailures[0]}`);
        },
        async verify() {
          await writeNote(mesh, 0, "there is room again");
          await removeNotes(mesh, 1);
        },
      };
    },
  },
];
