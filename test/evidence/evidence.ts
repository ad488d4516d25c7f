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
  workloadGroup,
} from "../../src/model/index.ts";
import { createTrialMesh, documents, type TrialMesh } from "./mesh.ts";
import { trustOf } from "./trust.ts";
import { variantsOf } from "./variants.ts";
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
  return new Map(
    wanted.map(({ kind, paths }) => {
      const seen = new Set<string>();
      for (const specimen of specimens) if (specimen.object.kind === kind) tryAll(mesh, specimen, paths, seen);
      return [kind, seen];
    }),
  );
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

function tryAll(mesh: TrialMesh, { object, beside }: Specimen, paths: ReadonlySet<string>, seen: Set<string>): void {
  const spec: Spec = isRecord(object.spec) ? object.spec : {};
  const rendered = new Map<string, string>();
  const render = (state: unknown): string => {
    const key = JSON.stringify(state);
    const known = rendered.get(key);
    if (known !== undefined) return known;
    const sent = mesh.rendered([...beside, asStored({ ...object, spec: state })]);
    const made = `${sent}\n${madeElsewhere(mesh, object, state)}`;
    rendered.set(key, made);
    return made;
  };
  for (const { path, states } of variantsOf(schemaOf(object), spec)) {
    const listed = listedPath(path, paths);
    if (listed === undefined || seen.has(listed)) continue;
    if (
      differ(
        states.filter((state) => complaintAbout({ ...object, spec: state }) === undefined),
        render,
      )
    )
      for (const above of selfAndAbove(listed)) seen.add(above);
  }
}

function differ(states: readonly unknown[], render: (state: unknown) => string): boolean {
  const [first, ...others] = states.slice(0, mostStates);
  if (others.length === 0) return false;
  const rendered = render(first);
  return others.some((state) => render(state) !== rendered);
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

/** Agents, injection and the choice of roots act on some, beside what proxies are sent. */
function madeElsewhere(mesh: TrialMesh, object: KubeObject, state: unknown): string {
  if (object.kind === "ProxyConfig" || isDefaultConfig(object)) return workloadOf(mesh.settings());
  if (object.kind === workloadGroup.kind) return machineOf({ ...object, spec: state });
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
