/** A path and a size in; the file's text out. No more than that is ever read, and nothing is waited for that is no file. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { FairleadError } from "./error.ts";

/** Links are followed: mounted files are behind some. System errors are thrown as they come. */
export function readBoundedFile(path: string, maxBytes: number): string {
  // A pipe would be waited for until somebody writes to it.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const about = fstatSync(file);
    if (!about.isFile()) throw new FairleadError("storage", `${path} is no file`);
    if (about.size > maxBytes) throw tooLarge(path, maxBytes);
    // One more than it said, to see whether it has grown.
    const bytes = Buffer.alloc(about.size + 1);
    let length = 0;
    for (let read = 1; read > 0 && length < bytes.length; length += read)
      read = readSync(file, bytes, length, bytes.length - length, null);
    if (length > maxBytes) throw tooLarge(path, maxBytes);
    return bytes.toString("utf8", 0, length);
  } finally {
    closeSync(file);
  }
}

const tooLarge = (path: string, maxBytes: number): FairleadError =>
  new FairleadError("too-large", `${path} has more than ${maxBytes} bytes`);
