/** What control planes tell of their proxies in; tables of who is in step, for how long, and why not, out. */
import { isRecord, readList, readRecord, readText } from "../../lib/index.ts";
import { printTable } from "../table.ts";

export interface StatusRow {
  /** The control plane that says it. */
  readonly at: string;
  readonly row: Readonly<Record<string, unknown>>;
}

type Row = StatusRow["row"];

interface TypeState {
  readonly sent: string;
  readonly acked: string;
  readonly sentTime: string;
  readonly ackedTime: string;
  readonly nackedTime: string;
}

/** Types that every proxy follows first; others where somebody uses them. */
const known = new Map([
  ["Cluster", "CDS"],
  ["Listener", "LDS"],
  ["ClusterLoadAssignment", "EDS"],
  ["RouteConfiguration", "RDS"],
  ["TypedExtensionConfig", "ECDS"],
  ["VirtualHost", "VHDS"],
  ["Secret", "SDS"],
  ["NameTable", "NDS"],
  ["ProxyConfig", "PCDS"],
]);

const fields: readonly (readonly [string, string])[] = [
  ["CDS", "cluster"],
  ["LDS", "listener"],
  ["EDS", "endpoint"],
  ["RDS", "route"],
  ["ECDS", "extensionconfig"],
];

/** By short name. Control planes of before have no `resources`. */
function statesOf(row: Row): ReadonlyMap<string, TypeState> {
  if (isRecord(row.resources))
    return new Map(
      Object.entries(row.resources).map(([type, value]) => {
        const last = type.slice(Math.max(type.lastIndexOf("."), type.lastIndexOf("/")) + 1);
        const state = readRecord(value);
        const of = (name: keyof TypeState): string => readText(state[name]);
        return [
          known.get(last) ?? last,
          ...[
            {
              sent: of("sent"),
              acked: of("acked"),
              sentTime: of("sentTime"),
              ackedTime: of("ackedTime"),
              nackedTime: of("nackedTime"),
            },
          ],
        ] as const;
      }),
    );
  return new Map(
    fields.map(([short, field]) => [
      short,
      {
        sent: readText(row[`${field}_sent`]),
        acked: readText(row[`${field}_acked`]),
        sentTime: "",
        ackedTime: "",
        nackedTime: "",
      },
    ]),
  );
}

export function shortTable(rows: readonly StatusRow[], now: number): string {
  const line = ({ at, row }: StatusRow): string[] => {
    const subscribed = [...statesOf(row).keys()].sort(byOrder);
    return [
      ...[String(row.proxy), String(row.cluster_id), at, String(row.istio_version)],
      ...[`${subscribed.length} (${subscribed.join(",")})`, lastAck(row, now), reasons(row)],
    ];
  };
  return printTable(["NAME", "CLUSTER", "ISTIOD", "VERSION", "SUBSCRIBED TYPES", "LAST ACK", "WHY"], rows.map(line), 5);
}

/** A column for each type that some proxy uses. */
export function wideTable(rows: readonly StatusRow[], now: number): string {
  const types = [
    ...new Set([...fields.map(([short]) => short), ...rows.flatMap(({ row }) => [...statesOf(row).keys()])]),
  ].sort(byOrder);
  return printTable(
    ["NAME", "CLUSTER", ...types, "ISTIOD", "VERSION", "CONNECTED", "LAST ACK", "WHY"],
    rows.map(({ at, row }) => {
      const states = statesOf(row);
      return [
        ...[String(row.proxy), String(row.cluster_id)],
        ...types.map((type) => stateText(row, type, states.get(type), now)),
        ...[at, String(row.istio_version), ageOf(readText(row.connected_at), now), lastAck(row, now), reasons(row)],
      ];
    }),
    5,
  );
}

const order: readonly string[] = [...known.values()];

function byOrder(a: string, b: string): number {
  const [i, j] = [order.indexOf(a), order.indexOf(b)].map((at) => (at < 0 ? order.length : at));
  return (i ?? 0) - (j ?? 0) || (a < b ? -1 : 1);
}

/** A type that the proxy does not follow is ignored; one that it follows and that has nothing for it was not sent. */
function stateText(row: Row, type: string, state: TypeState | undefined, now: number): string {
  if (isRecord(row.errors) && row.errors[type] !== undefined) return withAge("ERROR", state?.nackedTime, now);
  if (!state || (state.sent === "" && !isRecord(row.resources))) return "IGNORED";
  if (state.sent === "") return "NOT SENT";
  return state.sent === state.acked
    ? withAge("SYNCED", state.ackedTime || state.sentTime, now)
    : withAge("STALE", state.sentTime, now);
}

function withAge(word: string, time: string | undefined, now: number): string {
  const age = ageOf(time ?? "", now);
  return age === "" ? word : `${word} (${age})`;
}

function lastAck(row: Row, now: number): string {
  const times = [...statesOf(row).values()].map(({ ackedTime }) => ackedTime).sort();
  return ageOf(times.at(-1) ?? "", now) || "-";
}

/** As kubectl counts: one unit, two where the first is small. */
function ageOf(time: string, now: number): string {
  const seconds = Math.floor((now - Date.parse(time)) / 1000);
  if (!Number.isFinite(seconds)) return "";
  if (seconds < 120) return `${Math.max(0, seconds)}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}

function reasons(row: Row): string {
  const errors = isRecord(row.errors)
    ? Object.entries(row.errors).map(([type, error]) => `${type}: ${String(error)}`)
    : [];
  const held = readList(row.held)
    .filter(isRecord)
    .map((item) => `${String(item.type)} ${String(item.name)} waits for ${String(item.clusters)}`);
  const refused = readList(row.refused)
    .filter(isRecord)
    .map((item) => `${String(item.type)} ${String(item.name)} was made by ${String(item.objects)}`);
  return [...errors, ...refused, ...held].join("; ");
}
