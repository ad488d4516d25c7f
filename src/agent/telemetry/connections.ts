/**
 * Reports on TCP connections in, each with the bytes since the connection began; opened, closed and new bytes counted
 * out. A connection is counted under the labels of its first report, as Istio does.
 */
import { counters, current, type Series } from "./series.ts";

export interface ConnectionReport {
  readonly type: string;
  readonly id: string;
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

export interface Connections {
  /** `series` is asked for as long as the connection has none; undefined where it cannot be told yet. */
  report(report: ConnectionReport, series: () => Series | undefined): void;
  /** Takes those for closed whose end was never reported. */
  sweep(): void;
  readonly size: number;
}

export interface ConnectionsOptions {
  readonly maxConnections: number;
  readonly silentMs: number;
  readonly monotonicMs: () => number;
}

interface Open {
  series: Series | undefined;
  sentBytes: number;
  receivedBytes: number;
  seenAtMs: number;
}

export function createConnections(options: ConnectionsOptions): Connections {
  const { maxConnections, silentMs, monotonicMs } = options;
  const open = new Map<string, Open>();

  function begin(report: ConnectionReport): Open {
    const isFirst = report.type !== "TcpPeriodic";
    // What a connection in the middle of its life has carried so far was counted before, or is lost.
    const { sentBytes, receivedBytes } = isFirst ? { sentBytes: 0, receivedBytes: 0 } : report;
    return { series: undefined, sentBytes, receivedBytes, seenAtMs: monotonicMs() };
  }

  function name(connection: Open, seriesOf: () => Series | undefined): void {
    connection.series = seriesOf();
    connection.series?.count(counters.opened, 1);
  }

  function advance(connection: Open, report: ConnectionReport): void {
    const nowMs = monotonicMs();
    connection.seenAtMs = nowMs;
    if (!connection.series) return;
    const series = current(connection.series);
    series.count(counters.sentBytes, Math.max(0, report.sentBytes - connection.sentBytes));
    series.count(counters.receivedBytes, Math.max(0, report.receivedBytes - connection.receivedBytes));
    series.usedAtMs = nowMs;
    connection.sentBytes = report.sentBytes;
    connection.receivedBytes = report.receivedBytes;
  }

  function close(id: string, connection: Open): void {
    open.delete(id);
    if (!connection.series) return;
    const series = current(connection.series);
    series.count(counters.closed, 1);
    series.usedAtMs = monotonicMs();
  }

  return {
    report(report, seriesOf) {
      const isEnd = report.type === "TcpConnectionEnd";
      const known = open.get(report.id);
      // Without room, a connection is counted whole at its end.
      if (!known && !isEnd && open.size >= maxConnections) return;
      const connection = known ?? begin(report);
      if (!connection.series) name(connection, seriesOf);
      advance(connection, report);
      if (isEnd) close(report.id, connection);
      else open.set(report.id, connection);
    },
    sweep() {
      const before = monotonicMs() - silentMs;
      for (const [id, connection] of open) if (connection.seenAtMs < before) close(id, connection);
    },
    get size() {
      return open.size;
    },
  };
}
