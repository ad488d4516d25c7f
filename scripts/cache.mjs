// A program that was fetched in; a copy in the user's cache, whole from the moment that it is there, out.
import { chmodSync, copyFileSync, mkdirSync, renameSync } from "node:fs";
import { dirname } from "node:path";
import { giveToUser, userCache } from "./user-home.mjs";

/**
 * @param {string} program
 * @param {string} target
 */
export function keep(program, target) {
  mkdirSync(dirname(target), { recursive: true });
  const fresh = `${target}.${process.pid}`;
  copyFileSync(program, fresh);
  chmodSync(fresh, 0o755);
  renameSync(fresh, target);
  giveToUser(userCache(process.env), process.env);
  return target;
}
