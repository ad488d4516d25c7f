/** Secrets on disk: mode 0600 from the first byte, never through a link, replaced whole or not at all. */
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, rename, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { FairleadError, systemCode } from "../lib/index.ts";

/** Creates the file; throws `already-exists` and touches nothing where there is one. */
export async function createSecretFile(path: string, text: string): Promise<void> {
  try {
    await writeNew(path, text);
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
    throw new FairleadError("already-exists", `${path} exists and is not overwritten`, { cause: error });
  }
  await syncFolder(path);
}

/** Puts the text in place of what was there, in one step; another mode is for what its owner wants read by others. */
export async function replaceSecretFile(path: string, content: string | Uint8Array, mode = 0o600): Promise<void> {
  const temporary = join(dirname(path), `.${randomBytes(8).toString("hex")}.tmp`);
  try {
    await writeNew(temporary, content, mode);
    await rename(temporary, path);
  } catch (error) {
    await unlink(temporary).catch(() => {});
    throw error;
  }
  await syncFolder(path);
}

/** Refuses a secret that others on the machine can read or have written, or that is larger than any key. */
export async function readSecretFile(path: string, maxBytes = 64 * 1024): Promise<string> {
  const file = await openSecret(path);
  try {
    const about = await file.stat();
    const { mode, size, uid } = about;
    if (!about.isFile()) throw new FairleadError("storage", `${path} is no file`);
    if ((mode & 0o077) !== 0)
      throw new FairleadError("no-permission", `${path} can be read by others (mode ${(mode & 0o777).toString(8)})`, {
        hint: `chmod 600 ${path}`,
      });
    if (!isOwn(uid))
      throw new FairleadError("no-permission", `${path} belongs to another user (uid ${uid})`, {
        hint: `chown ${process.geteuid?.() ?? 0} ${path}`,
      });
    if (size > maxBytes)
      throw new FairleadError("too-large", `${path} has ${size} bytes; at most ${maxBytes} are read`);
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

/** What root has put there is as good as what this user has; under sudo, what is of the user who called it, too. */
function isOwn(uid: number): boolean {
  const own = process.geteuid?.();
  return uid === 0 || uid === own || (own === 0 && String(uid) === process.env.SUDO_UID);
}

async function openSecret(path: string): Promise<FileHandle> {
  try {
    // A pipe would be waited for until somebody writes to it.
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    throw new FairleadError(systemCode(error) === "ENOENT" ? "not-found" : "storage", `${path} cannot be opened`, {
      cause: error,
    });
  }
}

async function writeNew(path: string, content: string | Uint8Array, mode = 0o600): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const file = await open(path, flags, mode);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), constants.O_RDONLY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
