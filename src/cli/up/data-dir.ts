/** A path in; a data folder that is ours alone while we run out. */
import {
  closeSync,
  existsSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { giveToUser, userData } from "../../../scripts/user-home.mjs";
import {
  FairleadError,
  isAlive,
  isDiskFull,
  isRecord,
  type Owner,
  ownerOf,
  parseJson,
  systemCode,
} from "../../lib/index.ts";
import { giveDataToUser } from "./data-owner.ts";

export interface DataDir {
  readonly path: string;
  /** Writes a file whole, private to the user. */
  write(name: string, content: string): void;
  unlock(): void;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Under sudo that of the user who called it. */
export function defaultDataDir(env: Env): string {
  return userData(env);
}

export function openDataDir(path: string, env: Env): DataDir {
  const dir = makeDir(path, env);
  const lock = join(dir, "lock");
  const content = JSON.stringify(ownerOf(process.pid) ?? { pid: process.pid, started: "" });
  for (let tries = 0; !takeOver(lock, content) && !tryLock(dir, lock, content); tries++) {
    const owner = readOwner(lock);
    if ((owner && isAlive(owner)) || tries > 3)
      throw new FairleadError("locked", `${dir} is in use by process ${owner?.pid ?? "?"}`, {
        hint: "stop that one, or choose another folder with --data DIR",
      });
  }
  return {
    path: dir,
    write(name, text) {
      const file = join(dir, name);
      try {
        writeFileSync(`${file}.new`, text, { mode: 0o600 });
        renameSync(`${file}.new`, file);
      } finally {
        rmSync(`${file}.new`, { force: true });
      }
      giveDataToUser(dir, env);
    },
    unlock: () => rmSync(lock, { force: true }),
  };
}

/** A link appears with its content: nobody ever sees a lock that does not yet say whose it is. */
function tryLock(dir: string, lock: string, content: string): boolean {
  const own = `${lock}.${process.pid}.new`;
  try {
    writeFileSync(own, content, { mode: 0o600 });
    linkSync(own, lock);
    return true;
  } catch (cause) {
    if (systemCode(cause) !== "EEXIST") throw unusable(dir, cause);
    return false;
  } finally {
    rmSync(own, { force: true });
  }
}

/**
 * Makes a dead owner's lock ours. Its file is written anew where it is: a full disk has no room for another, and who
 * comes back to one has to be let in. Between our look and the move, another may have put its own there: that goes back.
 */
function takeOver(lock: string, content: string): boolean {
  if (!isStale(lock)) return false;
  const moved = `${lock}.${process.pid}`;
  try {
    renameSync(lock, moved);
    const taken = isStale(moved);
    if (taken) overwrite(moved, content);
    linkSync(moved, lock);
    return taken;
  } catch {
    // Somebody else was quicker: look again.
    return false;
  } finally {
    rmSync(moved, { force: true });
  }
}

function isStale(lock: string): boolean {
  const owner = readOwner(lock);
  return existsSync(lock) && !(owner && isAlive(owner));
}

function overwrite(file: string, content: string): void {
  const open = openSync(file, "r+");
  try {
    writeSync(open, content, 0);
    ftruncateSync(open, Buffer.byteLength(content));
  } finally {
    closeSync(open);
  }
}

function makeDir(path: string, env: Env): string {
  try {
    const made = mkdirSync(path, { recursive: true, mode: 0o700 });
    if (made !== undefined) giveToUser(made, env);
    return realpathSync(path);
  } catch (cause) {
    throw unusable(path, cause);
  }
}

function unusable(path: string, cause: unknown): FairleadError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new FairleadError("storage", `the data folder ${path} cannot be used: ${why}`, {
    hint: isDiskFull(cause) ? "make room and try again" : "choose another with --data DIR",
    cause,
  });
}

/** Who runs on this folder; undefined where nobody does. */
export function ownerOfDir(dir: string): Owner | undefined {
  const owner = readOwner(join(dir, "lock"));
  return owner && isAlive(owner) ? owner : undefined;
}

function readOwner(lock: string): { pid: number; started: string } | undefined {
  try {
    const value = parseJson(readFileSync(lock, "utf8"));
    if (isRecord(value) && typeof value.pid === "number" && typeof value.started === "string")
      return { pid: value.pid, started: value.started };
  } catch {
    // Cut short by a crash: nobody's.
  }
  return undefined;
}
