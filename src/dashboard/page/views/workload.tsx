/** One workload: who calls it, whom it calls, how that went over time, and its proxies. */
import type { TrafficSlot, WorkloadDetail } from "../../mesh-reads.ts";
import { useAsk } from "../ask.ts";
import { millis, rate } from "../parts/figures.ts";
import { ProxyLink } from "../parts/link.tsx";
import { lastSeconds, Range } from "../parts/range.tsx";
import { Trouble } from "../parts/text.tsx";
import { Title } from "../parts/title.tsx";
import { query } from "../place.ts";
import { Edges } from "./edges.tsx";

export function Workload() {
  const id = query.value.get("id") ?? "";
  const { value, error } = useAsk<WorkloadDetail>("workload", { id, last: lastSeconds() }).value;
  return (
    <>
      <Title>{id}</Title>
      <p>
        <Range />
      </p>
      <Trouble error={error} />
      {value ? (
        <>
          <Chart words="Requests" slots={value.series} of={({ perSecond }) => perSecond} say={rate} />
          <Chart words="Server errors" slots={value.series} of={({ errorsPerSecond }) => errorsPerSecond} say={rate} />
          <Chart words="p99" slots={value.series} of={({ p99Ms }) => p99Ms ?? 0} say={millis} />
          <h2>Who calls it</h2>
          {value.callers.length === 0 ? (
            <p>Nobody did in this time.</p>
          ) : (
            <Edges caption="callers" edges={value.callers} />
          )}
          <h2>Whom it calls</h2>
          {value.calls.length === 0 ? <p>Nobody in this time.</p> : <Edges caption="calls" edges={value.calls} />}
          <h2>Its proxies</h2>
          <ul>
            {value.proxies.map((proxy) => (
              <li key={proxy}>
                <ProxyLink id={proxy} />
              </li>
            ))}
          </ul>
        </>
      ) : null}
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
