/** A change of an object that somebody may see, and which texts name what they may not, in; the change without these out. */
import type { Change, ChangeDetail } from "../../read-api/index.ts";

type Names = (text: string) => boolean;

export function seenChange<T extends Change>(change: T, names: Names): T {
  const { proxies, touched } = change;
  const isSeen = (part: object): boolean => !names(JSON.stringify(part));
  return copyWith(change, {
    ...(proxies ? { proxies: { ...proxies, refusing: proxies.refusing.filter(isSeen) } } : {}),
    ...(touched ? { touched: touched.filter(isSeen) } : {}),
  });
}

/** Of proxies that many share, what was altered may be somebody else's, too. */
export function seenDetail(change: ChangeDetail, names: Names): ChangeDetail {
  const all = (change.touched ?? []).map((resource, i) => ({ resource, lines: change.envoy[i] }));
  const seen = all.filter((one) => !names(JSON.stringify(one)));
  const untold = (change.untold ?? 0) + all.length - seen.length;
  return copyWith(change, {
    ...(change.touched ? { touched: seen.map(({ resource }) => resource) } : {}),
    ...(untold === 0 ? {} : { untold }),
    envoy: seen.map(({ lines }) => lines),
  });
}

/** The difference is a getter, and works itself out where it is read: a plain copy would read that of each change. */
function copyWith<T extends Change>(change: T, others: Partial<ChangeDetail>): T {
  const own = { ...Object.getOwnPropertyDescriptors(change), ...Object.getOwnPropertyDescriptors(others) };
  return Object.defineProperties({}, own) as T;
}
