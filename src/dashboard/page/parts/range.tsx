/** How long back is looked, chosen by whoever looks, in the address. */
import { change, query } from "../place.ts";

const choices: readonly (readonly [string, string])[] = [
  ["60", "last minute"],
  ["300", "last 5 minutes"],
  ["600", "last 10 minutes"],
  ["3600", "last hour"],
];

export const lastSeconds = (): string => choices.find(([value]) => value === query.value.get("last"))?.[0] ?? "60";

export function Range() {
  const current = lastSeconds();
  return (
    <label>
      Time{" "}
      <select value={current} onChange={(event) => change({ last: event.currentTarget.value })}>
        {choices.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}
