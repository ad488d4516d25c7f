/**
 * A folder in; a small file system of its own there out, that can be filled up and made slow. Both need a loop device;
 * where there is none, a file system in memory can at least be filled.
 */
import { execFileSync } from "node:child_process";
import { closeSync, ftruncateSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export interface Disk {
  readonly path: string;
  /** Undefined where it cannot be made slow. */
  readonly slow: (() => Slowness) | undefined;
  /** Takes all space that is left; what is returned gives it back. */
  fill(): () => void;
  remove(): void;
}

interface Slowness {
  end(): Promise<void>;
}

const sizeMb = 256;
const run = (file: string, ...args: readonly string[]): void => {
  execFileSync(file, [...args], { stdio: "ignore" });
};

export function createDisk(dir: string): Disk {
  const path = join(dir, "disk");
  const image = join(dir, "disk.img");
  mkdirSync(path);
  const isLoop = tryLoop(image, path);
  if (!isLoop) run("mount", "-t", "tmpfs", "-o", `size=${sizeMb}m`, "tmpfs", path);
  return {
    path,
    slow: isLoop ? () => slowDown(path) : undefined,
    fill: () => fill(join(path, "filling")),
    remove() {
      try {
        run("umount", path);
      } catch {
        run("umount", "--lazy", path);
      }
      rmSync(image, { force: true });
    },
  };
}

function tryLoop(image: string, path: string): boolean {
  try {
    const file = openSync(image, "w");
    ftruncateSync(file, sizeMb * 1024 * 1024);
    closeSync(file);
    run("mkfs.ext4", "-q", "-m", "0", image);
    run("mount", "-o", "loop", image, path);
    return true;
  } catch {
    return false;
  }
}

const frozenMs = 400;
const thawedMs = 40;

/** Every write waits for up to `frozenMs`: the file system is frozen again and again. */
function slowDown(path: string): Slowness {
  const stop = new AbortController();
  const swing = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      run("fsfreeze", "--freeze", path);
      await sleep(frozenMs);
      run("fsfreeze", "--unfreeze", path);
      await sleep(thawedMs);
    }
  };
  const swinging = swing();
  return {
    end() {
      stop.abort();
      return swinging;
    },
  };
}

function fill(file: string): () => void {
  const out = openSync(file, "w");
  for (let size = 1 << 20; size >= 512; size >>= 1)
    try {
      for (const block = Buffer.alloc(size, 1); ; ) writeSync(out, block);
    } catch {
      // Full for blocks of this size: the smaller ones may still go in.
    }
  closeSync(out);
  return () => rmSync(file, { force: true });
}
