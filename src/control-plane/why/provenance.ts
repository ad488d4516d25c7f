/** A step and what its resource was made from in; the objects and fields that decided it, ranked, with where they stand, out. */
import type { Hint, Step } from "../../explain/index.ts";
import { isRecord } from "../../lib/index.ts";
import type { ResourceType } from "../../model/index.ts";
import type { Decider } from "../../read-api/index.ts";

/** Where an object stands; nothing for what nobody wrote. */
export type Locate = (object: string, field: string | undefined) => Pick<Decider, "file" | "line" | "resourceVersion">;

export interface Sources {
  causes(
    proxy: string,
    type: ResourceType,
    name: string,
  ): readonly { readonly object: string; readonly field?: string }[];
  readonly locate: Locate;
  /** The object as it was written. */
  objectOf(object: string): unknown;
}

/** Which kinds of objects decide what. */
const kindsOf: Readonly<Record<Step["stage"], readonly string[]>> = {
  capture: [],
  listener: ["Gateway", "Sidecar", "ServiceEntry", "EnvoyFilter"],
  "filter chain": ["Gateway", "PeerAuthentication", "EnvoyFilter"],
  tls: ["Gateway", "PeerAuthentication"],
  "network filter": ["VirtualService", "EnvoyFilter"],
  "virtual host": ["VirtualService", "Service", "ServiceEntry", "EnvoyFilter"],
  "http filter": ["VirtualService", "EnvoyFilter", "WasmPlugin", "TrafficExtension"],
  authentication: ["RequestAuthentication"],
  authorization: [],
  route: [],
  cluster: ["DestinationRule", "Service", "ServiceEntry", "EnvoyFilter"],
  endpoint: ["Service", "ServiceEntry", "WorkloadEntry"],
  transport: ["DestinationRule", "PeerAuthentication"],
  application: [],
};

export function decidersOf(step: Step, sources: Sources): readonly Decider[] {
  const { resource } = step;
  const causes = resource ? sources.causes(step.proxy, resource.type, resource.name) : [];
  const hinted = step.hints.map((hint) => refined(hint, step.stage, causes, sources));
  const kinds = kindsOf[step.stage];
  const related = causes
    .filter(
      ({ object }) =>
        kinds.includes(kindOf(object)) && !hinted.some((hint) => hint.object === object) && isMeant(object, step),
    )
    // Those whose fields were noted say more.
    .sort((a, b) => Number(b.field !== undefined) - Number(a.field !== undefined));
  const once = new Map<string, Hint>();
  for (const one of [...hinted, ...related]) if (!once.has(one.object)) once.set(one.object, one);
  const all = [...hinted.filter((hint) => once.get(hint.object) !== hint), ...once.values()].sort(
    (a, b) => Number(!hinted.includes(a)) - Number(!hinted.includes(b)),
  );
  return all.slice(0, 4).map(({ object, field }) => ({
    object,
    ...(field === undefined ? {} : { field }),
    ...sources.locate(object, field),
  }));
}

const kindOf = (object: string): string => object.slice(0, object.indexOf("/"));

/** A scope looks at many services; the one that is meant has its name in the resource or in the decision. */
function isMeant(object: string, { resource, decision, stage }: Step): boolean {
  const kind = kindOf(object);
  const [, namespace = "", name = ""] = object.split("/");
  if (kind === "Service")
    return [resource?.name ?? "", decision].some((text) => text.includes(`${name}.${namespace}.`));
  if (kind === "VirtualService" && stage !== "network filter") return false;
  return kind !== "ServiceEntry" || stage === "cluster" || stage === "endpoint";
}

/** Of a route, which match of the VirtualService it comes from: the noted fields stand in the routes' order. */
function refined(hint: Hint, stage: Step["stage"], causes: readonly Hint[], { objectOf }: Sources): Hint {
  const { route, ...rest } = hint;
  if (!route && rest.field === undefined) return withField(rest, stage, causes);
  if (!route) return existing(rest, objectOf(rest.object));
  const fields = causes
    .filter(({ object, field }) => object === hint.object && field !== undefined && field.startsWith("spec.http["))
    .map(({ field = "" }) => field);
  const ordered = [...new Set(fields)].sort((a, b) => order(a) - order(b));
  const field = ordered.length === route.of ? ordered[route.index] : fieldByName(objectOf(hint.object), route.name);
  return field === undefined ? rest : { ...rest, field };
}

/** Of the fields that were noted for an object, the one that this is about. */
const fieldsOf: Readonly<Partial<Record<Step["stage"], RegExp>>> = { transport: /tls/i, cluster: /subsets\[\d+\]$/ };

function withField(hint: Hint, stage: Step["stage"], causes: readonly Hint[]): Hint {
  const noted = causes.flatMap(({ object, field }) => (object === hint.object && field !== undefined ? [field] : []));
  const field = noted.find((one) => fieldsOf[stage]?.test(one)) ?? noted[0];
  return field === undefined ? hint : { ...hint, field };
}

function order(field: string): number {
  const [http = 0, match = 0] = [...field.matchAll(/\[(\d+)\]/g)].map(([, number]) => Number(number));
  return http * 10_000 + match;
}

function fieldByName(object: unknown, name: string): string | undefined {
  const spec = isRecord(object) && isRecord(object.spec) ? object.spec : {};
  const routes = Array.isArray(spec.http) ? spec.http : [];
  const index = routes.findIndex(
    (route) => isRecord(route) && name !== "" && (route.name === name || name.startsWith(`${String(route.name)}.`)),
  );
  return index < 0 ? undefined : `spec.http[${index}]`;
}

/** A field that is not written as it was worked out is cut back to the part that is. */
function existing(hint: Hint, object: unknown): Hint {
  if (hint.field === undefined || object === undefined) return hint;
  let field = hint.field;
  while (field !== "" && valueAt(object, field) === undefined) field = field.replace(/(\.?[^.[\]]+|\[\d+\])$/, "");
  return field === "" ? { object: hint.object } : { ...hint, field };
}

function valueAt(object: unknown, field: string): unknown {
  return [...field.matchAll(/[^.[\]]+/g)].reduce<unknown>(
    (at, [word]) => (Array.isArray(at) ? at[Number(word)] : isRecord(at) ? at[word] : undefined),
    object,
  );
}

export function showDecider(decider: Decider): string {
  return `${decider.object.replace("/", " ")}${fieldAndPlace(decider)}`;
}

/** What is said of a decider beside the object itself. */
export function fieldAndPlace({ field, file, line, resourceVersion }: Decider): string {
  const place =
    file !== undefined
      ? ` (${file}:${line ?? 1})`
      : resourceVersion !== undefined
        ? ` (resourceVersion ${resourceVersion})`
        : "";
  return `${field === undefined ? "" : `, ${field}`}${place}`;
}
