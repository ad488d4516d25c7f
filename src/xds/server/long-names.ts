/** Names of a request, or those that a stream holds, in; refused where too many of them are long. */
import { RpcError, status } from "../../rpc/index.ts";

/**
 * Strings from some 16,000 characters on have their length for a hash in V8: in a map of many, each is compared with all
 * of its length. Sixteen hundred names that differed at their end alone held the event loop for nine seconds. Nothing in
 * a mesh has a name of that length.
 */
const longFrom = 16_000;
export const maxLongNames = 4;

export function countLongNames(names: Iterable<string>): number {
  let count = 0;
  for (const { length } of names) if (length >= longFrom) count++;
  return count;
}

export function checkLongNames(count: number): void {
  if (count <= maxLongNames) return;
  throw new RpcError(status.resourceExhausted, `more than ${maxLongNames} names of ${longFrom} characters or more`);
}
