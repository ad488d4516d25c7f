/**
 * What was made on the host (namespaces, devices, processes) is written down in DIR/run before it is made, so that the
 * next start, or `fairlead down`, can remove what a dead owner left. What a living owner has is never touched.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { FairleadError, isAlive, isDiskFull, isRecord, type Owner, parseJson } from "../lib/index.ts";

export type Leftover =
  | { readonly kind: "namespace"; readonly name: string }
  | { readonly kind: "device"; readonly name: string }
  | { readonly kind: "way-out"; readonly name: string }
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "process"; readonly process: Owner };

export interface Journal {
  /** Writes down what is about to be made. */
  add(item: Leftover): void;
  /** Strikes out what has been removed. */
  remove(item: Leftover): void;
  items(): readonly Leftover[];
  /** Removes the journal itself; for an owner that has cleaned up. */
  close(): void;
}

interface Page {
  /** Undefined for what all owners share: it is left when the last of them is gone. */
  readonly owner: Owner | undefined;
  readonly items: readonly Leftover[];
}

export function openJournal(dir: string, name: string, owner: Owner): Journal {
  return openPage(join(dir, `${name}.json`), owner, []);
}

/** What the journal of a `fairlead run` is called: its Pod may be asked for longer than it lives. */
export const runnerJournal = (pid: number): string => `run-${pid}`;
const runnerFile = /^run-\d+\.json$/;

const sharedName = "shared.json";

/** For what stays while anybody needs it: the mesh network, which processes of `run` use longer than `up` may live. */
export function openSharedJournal(dir: string): Journal {
  const file = join(dir, sharedName);
  return openPage(file, undefined, readPage(file)?.items ?? []);
}

function openPage(file: string, owner: Owner | undefined, before: readonly Leftover[]): Journal {
  let items = before;
  const write = (): void => {
    const page: Page = { owner, items };
    try {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      writeFileSync(`${file}.new`, JSON.stringify(page), { mode: 0o600 });
      renameSync(`${file}.new`, file);
    } catch (cause) {
      rmSync(`${file}.new`, { force: true });
      throw cannotWrite(file, cause);
    }
  };
  const same = (a: Leftover, b: Leftover): boolean => JSON.stringify(a) === JSON.stringify(b);
  // Others see at once that somebody lives here.
  write();
  return {
    add(item) {
      items = [...items.filter((other) => !same(other, item)), item];
      write();
    },
    remove(item) {
      items = items.filter((other) => !same(other, item));
      // What is struck out is gone already: where the page cannot be written, removing it once more does no harm.
      try {
        write();
      } catch {}
    },
    items: () => items,
    close: () => rmSync(file, { force: true }),
  };
}

function cannotWrite(file: string, cause: unknown): FairleadError {
  const isFull = isDiskFull(cause);
  const why = isFull ? "the disk is full" : FairleadError.from(cause).message;
  return new FairleadError("storage", `${file} cannot be written: ${why}`, {
    hint: isFull ? "make room and try again" : "the data folder must be writable",
    cause,
  });
}

export interface DeadPage extends Page {
  /** Of a `fairlead run`. */
  readonly isRunners: boolean;
  /** Strikes it out once its leftovers are removed. */
  done(): void;
}

/** The pages of owners that are gone; what all shared, only when all are. */
export function deadPages(dir: string): readonly DeadPage[] {
  const isInUse = livingOwners(dir).length > 0;
  return journalFiles(dir).flatMap((file) => {
    const page = readPage(file);
    if (!page || (page.owner ? isAlive(page.owner) : isInUse)) return [];
    return [{ ...page, isRunners: runnerFile.test(basename(file)), done: () => rmSync(file, { force: true }) }];
  });
}

export function livingOwners(dir: string): readonly Owner[] {
  return journalFiles(dir).flatMap((file) => {
    const owner = readPage(file)?.owner;
    return owner && isAlive(owner) ? [owner] : [];
  });
}

function journalFiles(dir: string): readonly string[] {
  try {
    return readdirSync(dir)
      .filter((name) => name.endsWith(".json"))
      .map((name) => join(dir, name));
  } catch {
    return [];
  }
}

function readPage(file: string): Page | undefined {
  try {
    const page = parseJson(readFileSync(file, "utf8"));
    const owner = isRecord(page) ? ownerIn(page.owner) : undefined;
    const isPage = owner !== undefined || basename(file) === sharedName;
    if (isPage && isRecord(page) && Array.isArray(page.items)) return { owner, items: page.items.flatMap(leftoverIn) };
  } catch {
    // Pages are replaced whole, so that what cannot be read is none; what a power cut may spoil is of things that it ended.
  }
  return undefined;
}

/**
 * `down` may run as root on a folder that somebody else can write: nothing is believed but what we would have made
 * ourselves, so that a page cannot name other people's files or devices.
 */
function leftoverIn(item: unknown): readonly Leftover[] {
  if (!isRecord(item)) return [];
  const { kind, name, path } = item;
  if (kind === "namespace" && typeof name === "string" && /^fl[0-9a-f]{6}-[0-9a-z]+$/.test(name))
    return [{ kind, name }];
  if (kind === "device" && typeof name === "string" && /^fl[0-9a-f]{6}h$/.test(name)) return [{ kind, name }];
  if (kind === "way-out" && typeof name === "string" && /^fl[0-9a-f]{6}$/.test(name)) return [{ kind, name }];
  if (kind === "folder" && typeof path === "string" && ownFolder.test(path)) return [{ kind, path }];
  const process = kind === "process" ? ownerIn(item.process) : undefined;
  return kind === "process" && process ? [{ kind, process }] : [];
}

const ownFolder = /^\/run\/fairlead\/fl[0-9a-f]{6}-\d+(\/pods\/[0-9a-f]+)?$/;

function ownerIn(value: unknown): Owner | undefined {
  if (!isRecord(value)) return undefined;
  const { pid, started } = value;
  const sound = typeof pid === "number" && Number.isSafeInteger(pid) && pid > 1 && typeof started === "string";
  return sound ? { pid, started } : undefined;
}
