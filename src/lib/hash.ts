/** Bytes or text in, a short stable digest out; for cache keys and resource versions, not for secrets. */
import { createHash } from "node:crypto";

export function digest(data: Uint8Array | string): string {
  return createHash("sha256").update(data).digest("base64url").slice(0, 22);
}
