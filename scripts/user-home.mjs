// Whose this run is: under sudo the user who called it, not root. Where that user's files go, and how what root made is
// given to its owner. Plain JavaScript for Node 20.19.
import { spawnSync } from "node:child_process";
import { existsSync, lchownSync, lstatSync, readdirSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** @typedef {Readonly<Record<string, string | undefined>>} Env */
/** @typedef {{ readonly uid: number, readonly gid: number }} Owner */

/**
 * The user who called sudo; undefined without sudo, and where root called it.
 * @param {Env} env
 * @returns {Owner | undefined}
 */
export function sudoUser(env) {
  const [uid, gid] = [Number(env.SUDO_UID ?? 0), Number(env.SUDO_GID ?? 0)];
  return process.getuid?.() === 0 && uid > 0 && gid > 0 ? { uid, gid } : undefined;
}

/**
 * @param {Env} env
 * @returns {string}
 */
export function userHome(env) {
  const user = sudoUser(env);
  return (user && homeOf(user.uid)) || env.HOME || homedir();
}

/** @param {number} uid */
function homeOf(uid) {
  const asked = spawnSync("getent", ["passwd", String(uid)], { encoding: "utf8" });
  const known = asked.status === 0 ? asked.stdout : readFileSync("/etc/passwd", "utf8");
  const row = known.split("\n").find((line) => line.split(":")[2] === String(uid));
  const home = row?.split(":")[5];
  return home && existsSync(home) ? home : undefined;
}

/**
 * A folder named in the environment is the user's own choice, unless sudo passed on root's.
 * @param {Env} env
 */
export const userCache = (env) => join(env.XDG_CACHE_HOME || join(userHome(env), ".cache"), "fairlead");

/** @param {Env} env */
export const userData = (env) => join(env.XDG_DATA_HOME || join(userHome(env), ".local/share"), "fairlead");

/**
 * Gives a file or folder, with all that root owns in it, to the user who called sudo. What belongs to others, such as
 * the proxies' own files, stays theirs.
 * @param {string} path
 * @param {Env} env
 */
export function giveToUser(path, env) {
  const user = sudoUser(env);
  if (user) give(path, user);
}

/**
 * What lies in a folder belongs to whoever owns the folder.
 * @param {string} folder
 * @param {readonly string[]} names
 */
export function giveToOwner(folder, names) {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(folder);
  if (uid !== 0) for (const name of names) give(join(folder, name), { uid, gid });
}

/**
 * Links are not followed. What disappears meanwhile needs no owner.
 * @param {string} path
 * @param {Owner} owner
 */
function give(path, owner) {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (!stat) return;
  if (stat.isDirectory()) for (const name of readdirSync(path)) give(join(path, name), owner);
  if (stat.uid === 0) lchownSync(path, owner.uid, owner.gid);
}
