/**
 * The specimens in; for each kind the fields of which two values, both valid and all else the same, were seen to make a
 * proxy's configuration differ, out. Only that makes a field count as honoured.
 */
import { decodeMeshConfig, validateConfig, validateMeshConfig } from "../../src/config/index.ts";
import { isRecord, readRecord } from "../../src/lib/index.ts";
import {
  defaultProxyConfig,
  type Kind,
  type KubeObject,
  kindOf,
  mergeMeshConfig,
  meshConfigSpec,
  type ObjectNode,
  proxyConfigValues,
  requestAuthentication,
  workloadGroup,
} from "../../src/model/index.ts";
import { keySetsOf } from "./key-sets.ts";
import { createTrialMesh, documents, type Made, type TrialMesh } from "./mesh.ts";
import { trustOf } from "./trust.ts";
import { mostLacking, variantsOf } from "./variants.ts";
import { injectedPod, machineOf, workloadOf } from "./workload.ts";

type Spec = Readonly<Record<string, unknown>>;

/** By kind, the paths of fields that made a difference. */
export type Evidence = ReadonlyMap<string, ReadonlySet<string>>;

export interface Wanted {
  readonly kind: string;
  /** As listed; of a message that is described elsewhere any field will do. */
  readonly paths: ReadonlySet<string>;
}

/** Each costs a rendering of the mesh. */
const mostStates = 5;

/** The first is tried, the others stand beside it. */
interface Specimen {
  readonly object: KubeObject;
  readonly beside: readonly KubeObject[];
}

export async function findEvidence(wanted: readonly Wanted[]): Promise<Evidence> {
  const mesh = await createTrialMesh();
  const specimens = documents("specimens.yaml").map(specimenOf);
  for (const { object } of specimens) refuseBad(object);
  const evidence = new Map<string, ReadonlySet<string>>();
  for (const { kind, paths } of wanted) {
    const trials = specimens.filter(({ object }) => object.kind === kind).map((specimen) => trialOf(mesh, specimen));
    const seen = new Set<string>();
    for (let lacking = 0; lacking <= mostLacking; lacking++)
      for (const trial of trials) await tryAll(trial, lacking, paths, seen);
    evidence.set(kind, seen);
  }
  return evidence;
}

function specimenOf(document: KubeObject): Specimen {
  if (document.kind !== "List") return { object: document, beside: [] };
  const [object, ...beside] = document.items as readonly KubeObject[];
  if (!object) throw new Error("a List without items");
  return { object, beside: beside.map(asStored) };
}

function refuseBad(object: KubeObject): void {
  const complaint = complaintAbout(object);
  if (complaint !== undefined) throw new Error(`${object.kind} ${object.metadata.name}: ${complaint}`);
}

/** What is made of a specimen with other specs. */
interface Trial {
  readonly object: KubeObject;
  differ(states: readonly unknown[]): Promise<boolean>;
}

type Texts = ReadonlyMap<string, string>;

function trialOf(mesh: TrialMesh, { object, beside }: Specimen): Trial {
  const make = async function* (state: unknown): AsyncGenerator<Made> {
    yield* mesh.rendered([...beside, asStored({ ...object, spec: state })]);
    yield ["others", await madeElsewhere(mesh, object, state)];
  };
  // Most states are compared with the specimen as it is written.
  const known = new Map<string, Texts>();
  const made = async (state: unknown): Promise<Texts> => {
    const key = JSON.stringify(state);
    const before = known.get(key);
    if (before) return before;
    const texts = new Map<string, string>();
    for await (const [whose, text] of make(state)) texts.set(whose, text);
    known.set(key, texts);
    return texts;
  };
  const isOther = async (state: unknown, first: Texts): Promise<boolean> => {
    let count = 0;
    for await (const [whose, text] of make(state)) {
      if (first.get(whose) !== text) return true;
      count++;
    }
    return count !== first.size;
  };
  return {
    object,
    async differ(states) {
      const [first, ...others] = states.slice(0, mostStates);
      if (others.length === 0) return false;
      const base = await made(first);
      for (const state of others) if (await isOther(state, base)) return true;
      return false;
    },
  };
}

/** Fields that the specimen lacks as much of; what another one shows for less is not tried here. */
async function tryAll(
  { object, differ }: Trial,
  lacking: number,
  paths: ReadonlySet<string>,
  seen: Set<string>,
): Promise<void> {
  const spec: Spec = isRecord(object.spec) ? object.spec : {};
  for (const variants of variantsOf(schemaOf(object), spec)) {
    const listed = listedPath(variants.path, paths);
    if (variants.lacking !== lacking || listed === undefined || seen.has(listed)) continue;
    const valid = variants.states.filter((state) => complaintAbout({ ...object, spec: state }) === undefined);
    if (await differ(valid)) for (const above of selfAndAbove(listed)) seen.add(above);
  }
}

/** The field itself, or the nearest above it that is listed. */
function listedPath(path: string, paths: ReadonlySet<string>): string | undefined {
  return selfAndAbove(path).find((one) => paths.has(one));
}

function selfAndAbove(path: string): readonly string[] {
  const steps = path.split(".");
  return steps.map((_, i) =>
    steps
      .slice(0, steps.length - i)
      .join(".")
      .replace(/(\[\]|\.\*)+$/, ""),
  );
}

/** The settings of proxies that stand in the MeshConfig. */
export const defaultConfigKind = "ProxyConfig of the mesh";

const isMeshConfig = ({ kind }: KubeObject): boolean => kind === "MeshConfig";
const isDefaultConfig = ({ kind }: KubeObject): boolean => kind === defaultConfigKind;

/** Agents, injection, and the choice of roots and of key sets act on some, beside what proxies are sent. */
async function madeElsewhere(mesh: TrialMesh, object: KubeObject, state: unknown): Promise<string> {
  if (object.kind === "ProxyConfig" || isDefaultConfig(object)) return workloadOf(mesh.settings());
  if (object.kind === workloadGroup.kind) return machineOf({ ...object, spec: state });
  if (object.kind === requestAuthentication.kind) return keySetsOf({ ...object, spec: state });
  if (!isMeshConfig(object)) return "";
  const meshConfig = mergeMeshConfig(readRecord(state));
  return `${injectedPod(meshConfig)}\n${trustOf(meshConfig)}`;
}

function schemaOf(object: KubeObject): ObjectNode {
  if (isDefaultConfig(object)) return proxyConfigValues;
  return isMeshConfig(object) ? meshConfigSpec : knownKind(object).spec;
}

function knownKind(object: KubeObject): Kind {
  const kind = kindOf(object.apiVersion, object.kind);
  if (!kind) throw new Error(`there is no kind ${object.kind}`);
  return kind;
}

/** What is refused shows nothing: it would be left out, which also makes a difference. */
function complaintAbout(object: KubeObject): string | undefined {
  if (isMeshConfig(object)) return meshComplaint(object.spec);
  if (isDefaultConfig(object)) return meshComplaint({ defaultConfig: object.spec });
  const { readable, errors } = validateConfig(knownKind(object), object);
  return errors[0]?.message ?? (readable ? undefined : "cannot be read");
}

/** Beyond what an empty one lacks: defaults fill that in. */
function meshComplaint(spec: unknown): string | undefined {
  const messages = (value: unknown): readonly string[] => {
    const { ok, problems } = decodeMeshConfig(JSON.stringify(value));
    return ok ? validateMeshConfig(ok).errors.map(({ message }) => message) : problems.map(({ message }) => message);
  };
  const always = new Set(messages({}));
  const { defaultConfig, ...others } = readRecord(spec);
  const filled = isRecord(defaultConfig) ? { defaultConfig: { ...defaultProxyConfig, ...defaultConfig } } : {};
  return messages({ ...others, ...filled }).find((message) => !always.has(message));
}

/** A MeshConfig stands in its ConfigMap. */
function asStored(object: KubeObject): KubeObject {
  if (isMeshConfig(object)) return meshConfigMap(object.spec);
  if (isDefaultConfig(object)) return meshConfigMap({ ...usingDefaults, defaultConfig: object.spec });
  return object;
}

/** Without these some settings of proxies are of no use. */
const usingDefaults = { enableTracing: true, enableEnvoyAccessLogService: true };

const meshConfigMap = (spec: unknown): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "istio", namespace: "istio-system" },
  data: { mesh: JSON.stringify(spec) },
});
