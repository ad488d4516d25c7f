/** Bytes or text in, a short stable digest out; for cache keys and resource versions, not for secrets. */
import { hash } from "node:crypto";

export function digest(data: Uint8Array | string): string {
  return hash("sha256", data, "base64url").slice(0, 22);
}
