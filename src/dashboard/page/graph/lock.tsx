/** Whether mutual TLS was seen in; a lock that is closed, half open or open, of which the words beside it say the same, out. */
import type { MutualTls } from "../../../read-api/index.ts";

/** The bow of each; the body is the same. */
const bows: Readonly<Record<Exclude<MutualTls, "unknown">, string>> = {
  all: "M2,5 V3 A2.5,2.5 0 0 1 8,3 V5",
  mixed: "M2,5 V3 A2.5,2.5 0 0 1 8,3",
  none: "M2,5 V1 A2.5,2.5 0 0 0 -3,1 V3",
};

/** At its left upper corner; ten wide. */
export function Lock({ state, x, y }: { readonly state: MutualTls; readonly x: number; readonly y: number }) {
  if (state === "unknown") return null;
  return (
    <g class={`lock ${state}`} transform={`translate(${x},${y})`}>
      <path d={bows[state]} />
      <path class="body" d="M0,5 H10 V12 H0 z" />
    </g>
  );
}
