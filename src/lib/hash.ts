/** Bytes or text in, a short stable digest out; for cache keys and resource versions, not for secrets. */
import { hash } from "node:crypto";

export function digest(data: Uint8Array | string): string {
  return hash("sha256", data, "base64url").slice(0, 22);
}

/** V8 hashes text of more than 16,383 characters by its length alone: of many as long, a map compares each with all. */
const longestKey = 8192;

/** What a client can make as long as it likes in; a key of a map that stands for it out. */
export const keyFor = (text: string): string => (text.length > longestKey ? digest(text) : text);
