/** A folder in; names for unix sockets in it that the system takes, however deep the folder lies, out. */
import { closeSync, constants, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";

export interface SocketFolder {
  path(name: string): string;
  close(): void;
}

/** Of `sun_path`, less its end. */
const maxPathBytes = 107;

/** Only its owner enters it: who reaches a socket in it needs no further proof. */
export function openSocketFolder(dir: string): SocketFolder {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const fd = openSync(dir, constants.O_RDONLY | constants.O_DIRECTORY);
  return {
    path(name) {
      const plain = join(dir, name);
      return Buffer.byteLength(plain) <= maxPathBytes ? plain : `/proc/self/fd/${fd}/${name}`;
    },
    close: () => closeSync(fd),
  };
}
