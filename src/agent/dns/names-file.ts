/**
 * Tables of names in; the last of them, for an agent that starts while the control plane is away, out. What is damaged,
 * another mesh's or open to others is as good as none.
 */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { digest, FairleadError, type Logger } from "../../lib/index.ts";
import { readSecretFile, replaceSecretFile } from "../../pki/index.ts";

export interface NamesFile {
  /** An encoded table; undefined where there is none to go by. */
  read(): Promise<Uint8Array | undefined>;
  /** Written at once where the last one is some time ago, otherwise soon; of several in that time the last. */
  keep(table: Uint8Array): void;
  /** Resolves when all that was to be kept is written. */
  settle(): Promise<void>;
}

export interface NamesFileOptions {
  readonly path: string;
  /** Whose names they are: those of another namespace, or from another control plane, are not taken. */
  readonly owner: string;
  readonly log: Logger;
}

/** Endpoints of headless Services may change all the time; nobody needs each of their tables on a disk. */
const pauseMs = 5_000;
/** Some hundred thousand names. In a Pod the folder is memory. */
const maxBytes = 16 * 1024 * 1024;
const format = "fairlead-names-1";

export function createNamesFile(options: NamesFileOptions): NamesFile {
  const { path, log } = options;
  const settling = new AbortController();
  let waiting: Uint8Array | undefined;
  let writing: Promise<void> | undefined;
  let complained = false;
  const writeAll = async (): Promise<void> => {
    for (; waiting; await sleep(pauseMs, undefined, { signal: settling.signal, ref: false }).catch(() => {})) {
      const table = waiting;
      waiting = undefined;
      try {
        await write(table, options);
        complained = false;
      } catch (error) {
        if (!complained) log.warn("the names cannot be kept", { path, cause: FairleadError.from(error).message });
        complained = true;
      }
    }
    writing = undefined;
  };
  return {
    read: () => read(options),
    keep(table) {
      waiting = table;
      writing ??= writeAll();
    },
    async settle() {
      settling.abort();
      await writing;
    },
  };
}

const signature = (owner: string, table: string): string => digest(`${format}\n${owner}\n${table}`);

async function write(bytes: Uint8Array, { path, owner }: NamesFileOptions): Promise<void> {
  const table = Buffer.from(bytes).toString("base64");
  const text = `${format} ${signature(owner, table)} ${table}\n`;
  if (text.length > maxBytes)
    throw new FairleadError("too-large", `they take ${text.length} bytes; at most ${maxBytes} are kept`);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  await replaceSecretFile(path, text);
}

async function read({ path, owner, log }: NamesFileOptions): Promise<Uint8Array | undefined> {
  try {
    const [is, signed, table = ""] = (await readSecretFile(path, maxBytes)).trimEnd().split(" ");
    if (is === format && signed === signature(owner, table)) return Buffer.from(table, "base64");
    log.info("the names that were kept are damaged or not of this mesh, and are not used", { path });
  } catch (error) {
    const { code, message } = FairleadError.from(error);
    if (code !== "not-found") log.info("the names that were kept cannot be used", { path, cause: message });
  }
  return undefined;
}
