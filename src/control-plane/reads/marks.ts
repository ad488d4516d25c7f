/** The routes, rules and policies of a mesh in; what of them a place or a way in the picture is marked with out. */
import { resolveHost } from "../../model/index.ts";
import type { Effect, Mark, MarkKind } from "../../read-api/index.ts";
import type { Stages } from "../stages.ts";
import { clientPolicies, policiesOf, ruleOf } from "./policies.ts";
import { leadsOf, objectOf } from "./routes-to.ts";

export interface Marks {
  /** Of the way to a host. */
  ofHost(host: string): readonly Mark[];
  /** Of a workload, or of a namespace where the name is that of the namespace. */
  ofPlace(namespace: string, name: string): readonly Mark[];
}

/** Envoy's flags that tell what a policy has done. */
const flagMarks: ReadonlyMap<string, readonly [MarkKind, string]> = new Map<string, readonly [MarkKind, string]>([
  ["UO", ["circuit breaker", "refused by a circuit breaker"]],
  ["UH", ["circuit breaker", "found no healthy endpoint"]],
  ["DI", ["fault", "delayed by a fault"]],
  ["FI", ["fault", "aborted by a fault"]],
  ["UT", ["timeout", "took too long"]],
  ["URX", ["retries", "given up after retries"]],
]);

export function flagMarksOf(flags: Readonly<Record<string, number>>): readonly Mark[] {
  return Object.entries(flags).flatMap(([flag, count]) => {
    const [what, words] = flagMarks.get(flag) ?? [];
    return what === undefined || count === 0 ? [] : [{ what, says: `${count} ${words} (${flag})` }];
  });
}

/** Worked out anew when something has changed: a picture asks for hundreds at a time. */
export function createMarks(stages: Stages): Marks {
  let [version, index] = [-1, emptyIndex()];
  const current = (): Index => {
    if (version !== stages.graph.version) [version, index] = [stages.graph.version, indexOf(stages)];
    return index;
  };
  return {
    ofHost(host) {
      const { byHost, rules } = current();
      const kept = rules.get(host) ?? ruleMarks(stages, current(), host);
      rules.set(host, kept);
      return [...(byHost.get(host) ?? []), ...kept];
    },
    ofPlace(namespace, name) {
      const labels = name === namespace ? {} : current().labels.get(`${namespace}/${name}`);
      return labels === undefined ? [] : policiesOf(stages.mesh, namespace, labels).flatMap(placeMark);
    },
  };
}

interface Index {
  readonly byHost: ReadonlyMap<string, readonly Mark[]>;
  readonly rules: Map<string, readonly Mark[]>;
  /** Of one Pod of each workload. */
  readonly labels: ReadonlyMap<string, Readonly<Record<string, string>>>;
  readonly services: ReadonlyMap<string, string>;
}

const emptyIndex = (): Index => ({ byHost: new Map(), rules: new Map(), labels: new Map(), services: new Map() });

/** Of one host; nobody reads more. */
const maxMarks = 12;

function indexOf({ configs: { virtualServices }, registry, mesh }: Stages): Index {
  const byHost = new Map<string, Mark[]>();
  for (const key of virtualServices.keys()) {
    const route = virtualServices.get(key);
    for (const { field, marks, to } of route ? leadsOf(route) : []) {
      if (!route || marks.length === 0) continue;
      const hosts = new Set(
        to.map(({ destination }) => resolveHost(destination?.host ?? "", route.meta.namespace, mesh.domain)),
      );
      for (const host of hosts) {
        const known = byHost.get(host) ?? [];
        known.push(...marks.map((mark) => ({ ...mark, object: objectOf(route), field })));
        byHost.set(host, known.slice(0, maxMarks));
      }
    }
  }
  const pods = registry.pods.keys().flatMap((key) => registry.pods.get(key) ?? []);
  const services = registry.services.keys().map((key) => [key.slice(key.indexOf("/") + 1), key] as const);
  return {
    byHost,
    rules: new Map(),
    labels: new Map(pods.map(({ namespace, workload, labels }) => [`${namespace}/${workload}`, labels])),
    services: new Map(services),
  };
}

function ruleMarks({ mesh, registry }: Stages, { services }: Index, host: string): readonly Mark[] {
  const service = registry.services.get(services.get(host) ?? "");
  if (!service) return [];
  const breaks = /outlierDetection|connectionPool/;
  return clientPolicies(ruleOf(mesh, service))
    .filter(({ field = "" }) => breaks.test(field))
    .map(({ about: _, ...effect }) => ({ what: "circuit breaker", ...effect }));
}

const placeKinds: ReadonlyMap<string, MarkKind> = new Map([
  ["authorization", "authorization"],
  ["authentication", "authentication"],
  ["patch", "patch"],
  ["extension", "extension"],
]);

function placeMark({ about, ...effect }: Effect): readonly Mark[] {
  if (about === "mutual TLS") return effect.object === undefined ? [] : [{ what: "mutual TLS", ...effect }];
  const what = placeKinds.get(about);
  return what === undefined ? [] : [{ what, ...effect }];
}
