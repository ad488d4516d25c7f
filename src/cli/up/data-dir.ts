/** A path in; a data folder that is ours alone while we run out. */
import { linkSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { giveToUser, userData } from "../../../scripts/user-home.mjs";
import { FairleadError, isAlive, isRecord, type Owner, ownerOf, parseJson, systemCode } from "../../lib/index.ts";
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
  for (let tries = 0; !tryLock(dir, lock, content); tries++) {
    const owner = readOwner(lock);
    if ((owner && isAlive(owner)) || tries > 3)
      throw new FairleadError("locked", `${dir} is in use by process ${owner?.pid ?? "?"}`, {
        hint: "stop that one, or choose another folder with --data DIR",
      });
    dropStale(lock);
  }
  return {
    path: dir,
    write(name, text) {
      const file = join(dir, name);
      writeFileSync(`${file}.new`, text, { mode: 0o600 });
      renameSync(`${file}.new`, file);
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

/** Moves a dead owner's lock away. Between our look and this, another may have done so and put its own there: that goes back. */
function dropStale(lock: string): void {
  const stale = `${lock}.${process.pid}`;
  try {
    renameSync(lock, stale);
    const owner = readOwner(stale);
    if (owner && isAlive(owner)) linkSync(stale, lock);
    rmSync(stale, { force: true });
  } catch {
    // Somebody else was quicker: look again.
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
    hint: "choose another with --data DIR",
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
