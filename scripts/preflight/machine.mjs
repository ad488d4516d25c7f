// The machine as checks see it: programs, rights, disks and ports, each asked without changing anything. Plain
// JavaScript for Node 20.19, because it runs before any package is there.
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, readdirSync, readFileSync, readlinkSync, statfsSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";

/**
 * @typedef {object} Machine
 * @property {string} platform
 * @property {string} arch
 * @property {boolean} musl whether the system's C library is musl, which no pinned binary is built for
 * @property {number} uid
 * @property {string} nodeVersion
 * @property {Readonly<Record<string, string | undefined>>} env
 * @property {(program: string) => string | undefined} find the path of a program, also where only root looks
 * @property {(command: readonly string[]) => { ok: boolean, error: string }} attempt
 * @property {(path: string) => number | undefined} freeBytes on the disk that will hold the path
 * @property {(path: string) => boolean} writable whether the path, or what it will be made in, may be written
 * @property {(path: string) => boolean} exists
 * @property {(host: string, port: number) => Promise<string | undefined>} portFault why it cannot be listened on
 */

/** Where Debian keeps what only root is expected to call. */
const rootFolders = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/**
 * @param {Readonly<Record<string, string | undefined>>} env
 * @returns {Machine}
 */
export function createMachine(env) {
  const folders = [...(env.PATH ?? "").split(":").filter((dir) => dir !== ""), ...rootFolders];
  const find = (/** @type {string} */ program) =>
    folders.map((dir) => join(dir, program)).find((file) => isExecutable(file));
  return {
    platform: process.platform,
    arch: process.arch,
    musl: existsSync("/lib") && readdirSync("/lib").some((name) => name.startsWith("ld-musl-")),
    uid: process.getuid?.() ?? -1,
    nodeVersion: process.versions.node,
    env,
    find,
    attempt([program = "", ...args]) {
      const path = folders.join(":");
      const { status, stderr, error } = spawnSync(program, args, { encoding: "utf8", env: { ...env, PATH: path } });
      return { ok: status === 0, error: (error?.message ?? stderr ?? "").trim() };
    },
    freeBytes(path) {
      const { bavail, bsize } = statfsSync(nearest(path));
      return bavail * bsize;
    },
    writable: (path) => isAllowed(nearest(path), constants.W_OK),
    exists: existsSync,
    portFault,
  };
}

/** @param {string} file */
const isExecutable = (file) => isAllowed(file, constants.X_OK);

/**
 * @param {string} path
 * @param {number} mode
 */
function isAllowed(path, mode) {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

/**
 * The path itself, or the folder that exists and that it will be made in.
 * @param {string} path
 * @returns {string}
 */
function nearest(path) {
  return existsSync(path) || dirname(path) === path ? path : nearest(dirname(path));
}

/**
 * @param {string} host
 * @param {number} port
 * @returns {Promise<string | undefined>}
 */
function portFault(host, port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.on("error", (/** @type {NodeJS.ErrnoException} */ error) => {
      if (error.code === "EADDRINUSE") resolve(`it is taken${ownerOfPort(port)}`);
      else resolve(error.code === "EACCES" ? "only root may listen there" : error.message);
    });
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

/**
 * Whose it is, as far as this user may see.
 * @param {number} port
 */
function ownerOfPort(port) {
  const sockets = new Set(["tcp", "tcp6"].flatMap((family) => listeners(`/proc/net/${family}`, port)));
  const owner = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .find((pid) => openSockets(pid).some((socket) => sockets.has(socket)));
  return owner === undefined ? "" : ` by process ${owner} (${commandOf(owner)})`;
}

/**
 * @param {string} file
 * @param {number} port
 */
function listeners(file, port) {
  if (!existsSync(file)) return [];
  const listening = "0A";
  const rows = readFileSync(file, "utf8").trim().split("\n").slice(1);
  return rows.flatMap((row) => {
    const [, local = "", , state, , , , , , inode] = row.trim().split(/\s+/);
    return state === listening && Number.parseInt(local.split(":")[1] ?? "", 16) === port ? [`socket:[${inode}]`] : [];
  });
}

/** @param {string} pid */
function openSockets(pid) {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((fd) => linkTarget(`/proc/${pid}/fd/${fd}`));
  } catch {
    // Another user's process, or one that has ended.
    return [];
  }
}

/** @param {string} path */
function linkTarget(path) {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

/** @param {string} pid */
function commandOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch {
    return "ended";
  }
}
