/** The course of requests to a place in; small charts of it, and the same as a table, out. */
import type { TrafficSlot } from "../../../read-api/index.ts";
import { millis, rate } from "./figures.ts";
import { type Column, Rows } from "./table.tsx";
import { Time } from "./text.tsx";

const columns: readonly Column<TrafficSlot>[] = [
  { title: "From", show: ({ at }) => <Time at={at} /> },
  { title: "Requests", show: ({ perSecond }) => rate(perSecond) },
  { title: "Server errors", show: ({ errorsPerSecond }) => rate(errorsPerSecond) },
  { title: "p50", show: ({ p50Ms }) => millis(p50Ms) },
  { title: "p99", show: ({ p99Ms }) => millis(p99Ms) },
];

export function Charts({ slots }: { readonly slots: readonly TrafficSlot[] }) {
  if (slots.every(({ perSecond }) => perSecond === 0)) return <p>Nothing came in this time.</p>;
  return (
    <>
      <Chart words="Requests" slots={slots} of={({ perSecond }) => perSecond} say={rate} />
      <Chart words="Server errors" slots={slots} of={({ errorsPerSecond }) => errorsPerSecond} say={rate} />
      <Chart words="p50" slots={slots} of={({ p50Ms }) => p50Ms ?? 0} say={millis} />
      <Chart words="p99" slots={slots} of={({ p99Ms }) => p99Ms ?? 0} say={millis} />
      <details>
        <summary>The same as a table</summary>
        <Rows caption="course" columns={columns} rows={slots.toReversed()} rowKey={({ at }) => at} />
      </details>
    </>
  );
}

const [width, height] = [320, 60];

interface ChartProps {
  readonly words: string;
  readonly slots: readonly TrafficSlot[];
  readonly of: (slot: TrafficSlot) => number;
  readonly say: (value: number) => string;
}

/** The most and the last are said beside it, so that the line itself need not be read. */
function Chart({ words, slots, of, say }: ChartProps) {
  const values = slots.map(of);
  const most = Math.max(0, ...values);
  const step = width / Math.max(1, values.length - 1);
  const points = values.map(
    (value, i) => `${i * step},${height - (most === 0 ? 0 : (value / most) * (height - 4)) - 2}`,
  );
  const said = `${words}: now ${say(values.at(-1) ?? 0)}, at most ${say(most)}`;
  return (
    <figure class="chart">
      <figcaption>{said}</figcaption>
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={said}>
        <polyline points={points.join(" ")} />
      </svg>
    </figure>
  );
}
