/** The rows of long runs, as data: how long each is in full, and what it gives. */
import { runChurn, runOutage } from "../traffic/churn.ts";
import { type FlipOptions, runFlips } from "../traffic/flips.ts";
import { type Saturation, saturate } from "./saturate.ts";

export interface RowReport {
  readonly requests: number;
  readonly failed: number;
  /** Counted and named apart: on the process that the row itself has killed. */
  readonly onTheKilled: number;
  /** What else must hold and did not, and the first failures. */
  readonly faults: readonly string[];
  /** The figures of this row, in words. */
  readonly seen: string;
}

export interface Row {
  readonly name: string;
  readonly what: string;
  run(options: RowOptions): Promise<RowReport>;
}

export interface RowOptions {
  /** Of the full length. */
  readonly share: number;
  /** Told how far it is. */
  readonly say: (text: string) => void;
  readonly stop: AbortSignal;
}

/** As many as a full run must have. */
const fullRequests = 200_000;

async function flip(options: FlipOptions): Promise<RowReport> {
  const report = await runFlips(options);
  return {
    ...report,
    onTheKilled: 0,
    faults: [...report.failures, ...report.refusals],
    seen: `${report.flips} flips in ${report.seconds.toFixed(0)} s`,
  };
}

export const rows: readonly Row[] = [
  {
    name: "D01",
    what: "30 minutes without a control plane; a server dies meanwhile",
    async run({ share, stop }) {
      const seconds = 1800 * share;
      const report = await runOutage(seconds, 10, stop);
      return {
        ...report,
        onTheKilled: report.refusedByTheDead,
        faults: [
          ...report.failures,
          ...report.refusals,
          ...(report.ejected ? [] : ["the dead server was not ejected"]),
          ...(report.caughtUp ? [] : ["the next control plane did not bring what was missed"]),
        ],
        seen: `${seconds} s, ${report.changes} changes missed and caught up with`,
      };
    },
  },
  {
    name: "D02",
    what: "1,000 flips of a route to a new destination, the old one removed",
    run: ({ share, say, stop }) => flip({ flips: 1000 * share, requests: fullRequests * share, say, stop }),
  },
  {
    name: "D02-saturated",
    what: "the same on a machine without time; as many requests as it has time for",
    async run({ share, say, stop }) {
      let saturation: Saturation | undefined;
      const begin = (): void => {
        saturation = saturate();
      };
      try {
        const report = await flip({ flips: 1000 * share, begin, say, stop });
        return { ...report, seen: `${report.seen}, ${saturation?.share}` };
      } finally {
        saturation?.end();
      }
    },
  },
  {
    name: "D03",
    what: "10 minutes of endpoint churn at 20 changes a second, a rolling deploy, to nothing and back",
    async run({ share, stop }) {
      const report = await runChurn(600 * share, fullRequests * share, stop);
      const empty = report.whileEmpty.every((status) => status === 503);
      return {
        ...report,
        onTheKilled: 0,
        faults: [...report.failures, ...report.refusals, ...(empty ? [] : ["an empty service did not answer 503"])],
        seen: `${report.changes} changes in ${report.lastedSeconds.toFixed(0)} s (${(report.changes / report.lastedSeconds).toFixed(1)}/s)`,
      };
    },
  },
];
