/** Changes: those of objects that are seen, without proxies and resources that name something hidden. */
import type { Change, ChangeDetail, ChangeReads } from "../../../read-api/index.ts";
import { ofObject } from "./kind-in-namespace.ts";
import type { Sight } from "./sight.ts";

export function visibleChanges(reads: ChangeReads, sight: Sight): ChangeReads {
  return {
    async changes() {
      const seen = await sight.seen(await reads.changes(), ({ object }) => [ofObject(object)]);
      const names = await sight.hiddenNames();
      return seen.map((change) => seenChange(change, names));
    },
    async change(id) {
      const change = await sight.seenOne(await reads.change(id), ({ object }) => [ofObject(object)]);
      const names = await sight.hiddenNames();
      return change && seenChange(seenDetail(change, names), names);
    },
  };
}

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
function seenDetail(change: ChangeDetail, names: Names): ChangeDetail {
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
