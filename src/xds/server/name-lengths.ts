/** Names of a request, or those that a stream holds, in; how long they are, and a refusal where too many are very long, out. */
import { RpcError, status } from "../../rpc/index.ts";

export interface NameLengths {
  /** All of them together. */
  readonly total: number;
  /** How many are very long. */
  readonly long: number;
}

/**
 * Strings from some 16,000 characters on have their length for a hash in V8: in a map of many, each is compared with all
 * of its length. Sixteen hundred names that differed at their end alone held the event loop for nine seconds. Nothing in
 * a mesh has a name of that length.
 */
const longFrom = 16_000;
export const maxLongNames = 4;

export function measureNames(names: Iterable<string>): NameLengths {
  let [total, long] = [0, 0];
  for (const { length } of names) {
    total += length;
    if (length >= longFrom) long++;
  }
  return { total, long };
}

/** Lists that many proxies ask with alike are looked at once; short ones are not worth remembering. */
const known = new WeakMap<readonly string[], NameLengths>();
const worthKnowing = 64;

export function lengthsOf(names: readonly string[]): NameLengths {
  if (names.length < worthKnowing) return names.length === 0 ? nothing : measureNames(names);
  const found = known.get(names) ?? measureNames(names);
  known.set(names, found);
  return found;
}

const nothing: NameLengths = { total: 0, long: 0 };

export function checkLongNames(count: number): void {
  if (count <= maxLongNames) return;
  throw new RpcError(status.resourceExhausted, `more than ${maxLongNames} names of ${longFrom} characters or more`);
}
