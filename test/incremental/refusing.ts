/**
 * What comes on the streams of a proxy in; what it refuses of it out, in Envoy's words, and what a control plane cannot know
 * of it because of that: Envoy notes no versions of a response of which it refuses something, and tells those it has noted
 * when it comes back.
 */
import { type ResourceType, types } from "../../src/model/index.ts";

/** By name, as it has come. */
export type Coming = readonly (readonly [name: string, bytes: Uint8Array])[];

export interface Refusing {
  /** The names that are refused. */
  judge(type: ResourceType, resources: Coming): ReadonlySet<string>;
  /** The version of this name that was refused, where nothing else has come since. */
  refused(type: ResourceType, name: string): Uint8Array | undefined;
  /** How often something was refused. */
  readonly count: number;
  /** Taken, or dropped, and its version noted. */
  note(type: ResourceType, name: string): void;
  /** The same without a version. */
  noteNot(type: ResourceType, name: string): void;
  /** Another stream begins. */
  comeBack(held: ReadonlyMap<ResourceType, ReadonlyMap<string, unknown>>): void;
  /** Whether the proxy has said, when it came back, to hold something else of this name than it does. */
  isMisstated(type: ResourceType, name: string): boolean;
  /** Whether it has of this name what an earlier stream brought. */
  isCarried(type: ResourceType, name: string): boolean;
}

export interface RefusingOptions {
  held(type: ResourceType, name: string): Uint8Array | undefined;
  /** Whether something new of this name is refused now. */
  refuses(type: ResourceType, name: string, bytes: Uint8Array): boolean;
}

export function createRefusing({ held, refuses }: RefusingOptions): Refusing {
  const refused = new Map<string, Uint8Array>();
  const unnoted = new Set<string>();
  let misstated = new Set<string>();
  let carried = new Set<string>();
  let count = 0;
  const idOf = (type: ResourceType, name: string): string => `${type} ${name}`;
  const note = (type: ResourceType, name: string): void => {
    for (const names of [unnoted, misstated, carried]) names.delete(idOf(type, name));
  };
  const isRefused = (type: ResourceType, name: string, bytes: Uint8Array): boolean => {
    const before = held(type, name);
    // In place of what it refuses, it may be sent what it has.
    if (before && Buffer.compare(before, bytes) === 0) return false;
    refused.delete(idOf(type, name));
    if (!refuses(type, name, bytes)) return false;
    refused.set(idOf(type, name), bytes);
    count++;
    return true;
  };
  return {
    judge: (type, resources) =>
      new Set(resources.filter(([name, bytes]) => isRefused(type, name, bytes)).map(([name]) => name)),
    refused: (type, name) => refused.get(idOf(type, name)),
    get count() {
      return count;
    },
    note,
    noteNot(type, name) {
      note(type, name);
      unnoted.add(idOf(type, name));
    },
    comeBack(all) {
      misstated = new Set(unnoted);
      carried = new Set([...all].flatMap(([type, resources]) => [...resources.keys()].map((name) => idOf(type, name))));
    },
    isMisstated: (type, name) => misstated.has(idOf(type, name)),
    isCarried: (type, name) => carried.has(idOf(type, name)),
  };
}

/** Of these types Envoy takes all but what it refuses; of the others nothing of such a response. gRPC takes the rest of any. */
export const takesOthers = (type: ResourceType): boolean => type === types.cluster || type === types.listener;

/** As gRPC says it: everything that is wrong with what it refuses. */
export function grpcComplaint(refused: ReadonlySet<string>): { errorDetail?: { code: number; message: string } } {
  if (refused.size === 0) return {};
  const each = [...refused].map((name, index) => `resource index ${index}: ${name}: INVALID_ARGUMENT: not today`);
  return { errorDetail: { code: 3, message: `xDS response validation errors: [${each.join("; ")}]` } };
}

/** As Envoy says it: all clusters that it refuses in one line, listeners in a line each, others by name or not. */
export function complaint(
  type: ResourceType,
  refused: ReadonlySet<string>,
): { errorDetail?: { code: number; message: string } } {
  const [first, ...more] = refused;
  if (first === undefined) return {};
  const each = [...refused].map((name) => `${name}: not today`);
  // The same each time that a life is lived.
  const isNamed = more.length === 0 && first.length % 2 === 0;
  const other = isNamed ? `${first} is not wanted today` : "not today";
  const message =
    type === types.cluster
      ? `Error adding/updating cluster(s) ${each.join(", ")}`
      : type === types.listener
        ? `Error adding/updating listener(s) ${each.join("\n")}`
        : other;
  return { errorDetail: { code: 13, message } };
}
