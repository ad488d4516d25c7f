/**
 * Objects of users, as they change, in; what is wrong with them out: on their statuses, in the log once per object and
 * cause, and counted. Only the leader does it, when it has been quiet for a while: it costs no push anything.
 */
import { type Collection, sameData } from "../../collections/index.ts";
import type { Problem } from "../../config/index.ts";
import type { KubeClient } from "../../kube/index.ts";
import { kindRef } from "../../kube/index.ts";
import { createDebounce, FairleadError, type Logger, type QueueMeter, readRecord } from "../../lib/index.ts";
import { istioKinds, type KubeObject } from "../../model/index.ts";
import { type CredentialInputs, createCredentialInputs } from "./credential-inputs.ts";
import { findProblems, type ObjectProblem, type ProblemInputs } from "./find-problems.ts";
import { runKeyedWork, statusWritesPerSecond } from "./keyed-work.ts";
import { mergePatch } from "./merge-patch.ts";
import { problemStatus, tellsNoProblem } from "./problem-status.ts";

/** Where problems are looked for. */
export interface ProblemSources {
  objects(group: string, kind: string): Collection<KubeObject>;
  readonly meshConfig: () => string;
  readonly decoding: () => readonly Problem[];
  readonly patches: { readonly skipped: ProblemInputs["patches"] };
  readonly refusals: { byObject(): Promise<ProblemInputs["refused"]> };
  readonly now: () => Date;
}

interface Subscribable {
  subscribe(listener: () => void): () => void;
}

export interface ProblemReportsOptions extends ProblemSources {
  readonly client: KubeClient;
  /** Else problems are told in the log and counted, and statuses are left alone. */
  readonly writesStatus: boolean;
  readonly patches: ProblemSources["patches"] & Subscribable;
  readonly refusals: ProblemSources["refusals"] & Subscribable;
  readonly random: () => number;
  readonly log: Logger;
  readonly meter?: QueueMeter;
  /** Told of each problem when it is first met. */
  readonly onProblem?: (kind: string, problem: ObjectProblem, object: KubeObject | undefined) => void;
  readonly signal: AbortSignal;
  readonly quietMs?: number;
  readonly maxMs?: number;
  /** How often it is looked whether certificates have expired. */
  readonly lookMs?: number;
}

/** What Istio's objects refer to. */
const referred: readonly (readonly [string, string])[] = [
  ["", "Service"],
  ["", "Namespace"],
  ["gateway.networking.k8s.io", "Gateway"],
];

function concerned({ objects }: ProblemSources): readonly Collection<KubeObject>[] {
  return [...istioKinds.map(({ group, kind }) => [group, kind] as const), ...referred].map(([group, kind]) =>
    objects(group, kind),
  );
}

/** The state of this moment. */
export async function problemInputs(
  sources: ProblemSources,
  credentials: Pick<CredentialInputs, "current"> = createCredentialInputs(sources),
): Promise<ProblemInputs> {
  const refused = await sources.refusals.byObject();
  return {
    objects: [
      ...concerned(sources).flatMap((objects) => objects.keys().flatMap((key) => objects.get(key) ?? [])),
      ...credentials.current(),
    ],
    meshConfig: sources.meshConfig(),
    decoding: sources.decoding(),
    patches: sources.patches.skipped,
    refused,
    now: sources.now(),
  };
}

export function runProblemReports(options: ProblemReportsOptions): void {
  const { client, log, signal } = options;
  const own = new Map(istioKinds.map((kind) => [kind.kind, { kind, objects: options.objects(kind.group, kind.kind) }]));
  const credentials = createCredentialInputs(options);
  let found: ReadonlyMap<string, readonly ObjectProblem[]> = new Map();
  let told: ReadonlySet<string> = new Set();
  /** What was looked at, by `Kind/namespace/name`. */
  let looked: ReadonlyMap<string, string> = new Map();

  const work = async (id: string, turn: () => Promise<void>): Promise<void> => {
    const { kind, objects } = own.get(id.slice(0, id.indexOf("/"))) ?? {};
    const object = objects?.get(id.slice(id.indexOf("/") + 1));
    if (!kind || !object || object.metadata.deletionTimestamp !== undefined) return;
    // What came or changed since then is told of after the next look.
    if (looked.get(id) !== editionOf(object)) return;
    const current = readRecord(object.status);
    const { name, namespace, resourceVersion, generation } = object.metadata;
    const time = options
      .now()
      .toISOString()
      .replace(/\.\d+Z$/, "Z");
    const status = mergePatch(current, problemStatus(current, found.get(id) ?? [], generation, time));
    if (Object.keys(status).length === 0) return;
    const patch = { metadata: { resourceVersion }, status };
    await turn();
    await client.patch(kindRef(kind), { name, namespace }, "merge", patch, { subresource: "status", signal });
  };
  const queue = options.writesStatus
    ? runKeyedWork({ ...options, name: "status of", perSecond: statusWritesPerSecond, work })
    : undefined;

  const tell = (): void => {
    const causes = new Set<string>();
    for (const [id, problems] of found)
      for (const problem of problems) {
        const cause = `${id}: [${problem.code}] ${problem.message}`;
        causes.add(cause);
        if (told.has(cause)) continue;
        log.warn(cause);
        const [kind, key] = [id.slice(0, id.indexOf("/")), id.slice(id.indexOf("/") + 1)];
        options.onProblem?.(kind, problem, own.get(kind)?.objects.get(key));
      }
    // A cause that has gone is told again should it come back.
    told = causes;
  };
  const look = async (): Promise<void> => {
    const before = found;
    const editions = [...own].flatMap(([kind, { objects }]) =>
      objects.keys().map((key) => [`${kind}/${key}`, editionOf(objects.get(key))] as const),
    );
    const now = await findProblems(await problemInputs(options, credentials));
    if (signal.aborted) return;
    found = now;
    looked = new Map(editions);
    tell();
    for (const id of new Set([...before.keys(), ...found.keys()])) queue?.due(id);
    if (!queue) return;
    // Those that nothing is wrong with are told so, once per generation; what a leader before us wrote is mended with it.
    for (const [name, { objects }] of own)
      for (const key of objects.keys()) {
        const object = objects.get(key);
        const id = `${name}/${key}`;
        if (!object || found.has(id)) continue;
        if (!tellsNoProblem(readRecord(object.status), object.metadata.generation)) queue.due(id);
      }
  };
  /** One at a time; what changes meanwhile is looked at after. */
  let looking = false;
  const run = (): void => {
    if (looking) {
      debounce.signal();
      return;
    }
    looking = true;
    look()
      .catch((error: unknown) => log.error(`looking for problems: ${FairleadError.from(error).message}`))
      .finally(() => {
        looking = false;
      });
  };
  const debounce = createDebounce({ quietMs: options.quietMs ?? 1_000, maxMs: options.maxMs ?? 10_000, run });
  const stops = [
    options.patches.subscribe(debounce.signal),
    options.refusals.subscribe(debounce.signal),
    credentials.subscribe(debounce.signal),
    ...concerned(options).map((objects) =>
      objects.subscribe((_key, now, before) => {
        if (!isStatusOnly(now, before)) debounce.signal();
      }),
    ),
  ];
  const end = (): void => {
    debounce.stop();
    for (const stop of stops) stop();
  };
  signal.addEventListener("abort", end, { once: true });
  debounce.signal();
}

const editionOf = (object: KubeObject | undefined): string => `${object?.metadata.uid} ${object?.metadata.generation}`;

/** Our own writes must not make us look again. */
function isStatusOnly(now: KubeObject | undefined, before: KubeObject | undefined): boolean {
  if (!now || !before || now.metadata.uid !== before.metadata.uid) return false;
  return ["spec", "metadata"].every((field) => sameData(steady(now, field), steady(before, field)));
}

function steady(object: KubeObject, field: string): unknown {
  if (field !== "metadata") return object[field];
  return [object.metadata.labels, object.metadata.annotations, object.metadata.deletionTimestamp];
}
