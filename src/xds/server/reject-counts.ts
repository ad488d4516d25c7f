/**
 * Refusals of proxies in; how often each of those that are connected has refused what, by its name and the code that it gave,
 * out: `pilot_xds_cds_reject` and its like.
 */
import { statusNames } from "../../rpc/index.ts";
import type { XdsMetrics, XdsReject } from "../metrics.ts";

export interface RejectCounts {
  /** For a stream of the proxy with this name. */
  open(proxy: string): StreamRejects;
}

export interface StreamRejects {
  count(metric: XdsReject, code: number): void;
  /** What is told of a proxy goes with its last stream. */
  close(): void;
}

/** What a proxy calls itself becomes a label: only what looks like the name of a Pod, and of not too many. */
const podName = /^[\w.-]{1,320}$/;
const mostProxies = 1000;
const others = "other";
/** An Envoy gives one code: all of them for each proxy, and a scrape would be 24 MB. */
const mostCodes = 2;

interface Refuser {
  readonly node: string;
  /** Of those that have refused something. */
  streams: number;
  readonly counts: Map<XdsReject, Map<string, number>>;
}

export function createRejectCounts(metrics: XdsMetrics): RejectCounts {
  const refusers = new Map<string, Refuser>();
  const labelOf = (proxy: string): string =>
    podName.test(proxy) && (refusers.has(proxy) || refusers.size < mostProxies) ? proxy : others;
  const refuser = (node: string): Refuser => {
    const known = refusers.get(node) ?? { node, streams: 0, counts: new Map() };
    refusers.set(node, known);
    return known;
  };
  const leave = (one: Refuser): void => {
    if (--one.streams > 0) return;
    refusers.delete(one.node);
    for (const [metric, byCode] of one.counts)
      for (const err of byCode.keys()) metrics.remove(metric, { node: one.node, err });
  };
  return {
    open(proxy) {
      let mine: Refuser | undefined;
      return {
        count(metric, code) {
          if (!mine) {
            mine = refuser(labelOf(proxy));
            mine.streams++;
          }
          const byCode = mine.counts.get(metric) ?? new Map<string, number>();
          // Numbers beyond these would be as many labels as somebody likes.
          const given = statusNames.get(code) ?? unknown;
          const err = byCode.has(given) || byCode.size < mostCodes || mine.node === others ? given : unknown;
          const count = (byCode.get(err) ?? 0) + 1;
          mine.counts.set(metric, byCode.set(err, count));
          metrics.set(metric, count, { node: mine.node, err });
        },
        close() {
          if (mine) leave(mine);
          mine = undefined;
        },
      };
    },
  };
}

const unknown = "Unknown";
