/** The values of an installation in; all its objects, in the order in which they are applied, out. */
import { crdFor } from "../config/index.ts";
import { FairleadError, isRecord, readList, readRecord } from "../lib/index.ts";
import { istioKinds, type KubeObject } from "../model/index.ts";
import { checkValues } from "./check-values.ts";
import { type Data, evaluate, mergeRecords } from "./expression.ts";
import { injectorConfig, mesh } from "./objects/config-maps.ts";
import { deployment, service, tagServices } from "./objects/deployment.ts";
import { autoscaler, disruptionBudget, networkPolicy, serviceMonitor } from "./objects/policies.ts";
import { rbac } from "./objects/rbac.ts";
import { defaultValidator, injector, injectorByUrl, tags, validator } from "./objects/webhooks.ts";
import { defaultsOf, profiles, valuesSchema } from "./values.ts";

/** The parts of an installation by the names of the chart's files; the order is that of applying them. */
export const parts: readonly (readonly [file: string, objects: readonly Data[]])[] = [
  ["rbac", rbac],
  ["configmaps", [mesh, injectorConfig]],
  ["service", [service, tagServices]],
  ["deployment", [deployment]],
  ["policies", [autoscaler, disruptionBudget, networkPolicy, serviceMonitor]],
  ["webhooks", [injector, tags, validator, defaultValidator]],
];

type Values = Readonly<Record<string, unknown>>;

export interface InstallOptions {
  readonly namespace: string;
  readonly values: Values;
  printYaml(data: unknown): string;
}

/** What the user gave, laid over a profile, laid over the defaults; refused where a key or a type is wrong. */
export function completeValues(profile: string, given: readonly unknown[]): Values {
  const chosen = profiles.get(profile);
  if (!chosen)
    throw new FairleadError("usage", `there is no profile ${profile}`, {
      hint: `there are ${[...profiles.keys()].join(", ")}`,
    });
  const problems = given.flatMap((values) => checkValues(valuesSchema, values));
  const [first] = problems;
  if (first)
    throw new FairleadError("usage", problems.map(({ path, message }) => `${path}: ${message}`).join("\n"), {
      hint: "fairlead manifest values prints every value with its default",
    });
  const layers = [defaultsOf(valuesSchema), chosen, ...given].filter(isRecord);
  return layers.reduce(mergeRecords, {});
}

export function installObjects(options: InstallOptions): readonly KubeObject[] {
  const scope = { values: options.values, namespace: options.namespace, printYaml: options.printYaml };
  const made = evaluate(
    parts.flatMap(([, objects]) => objects),
    scope,
  );
  return (Array.isArray(made) ? made : []).map(withoutEmptyMetadata);
}

/** The injection webhook of a control plane that is reached at a URL, without a cluster. */
export function urlInjector(url: string): KubeObject {
  return evaluate(injectorByUrl(url), { values: {}, namespace: "", printYaml: String }) as KubeObject;
}

/** What makes a tag, another name for a revision: the configuration by which it selects Pods, and a Service of its name. */
export function tagObjects(tag: string, revision: string, namespace: string): readonly KubeObject[] {
  const values = completeValues("default", [{ revision, revisionTags: [tag] }]);
  const made = readList(evaluate([tags, tagServices], { values, namespace, printYaml: String }));
  return (made as readonly KubeObject[]).map(withoutEmptyMetadata);
}

/** The configuration by which objects that name no revision are judged by that one. */
export function defaultValidatorObject(revision: string, namespace: string): KubeObject {
  const values = completeValues("default", [{ revision, defaultRevision: revision }]);
  return evaluate(defaultValidator, { values, namespace, printYaml: String }) as KubeObject;
}

/** What istioctl puts in the place of a selector: a label that nothing has. */
const never = { matchLabels: { "istio.io/deactivated": "never-match" } };

/** An injector's configuration that selects nothing any more, and can be brought back. */
export function deactivated(injectorObject: KubeObject): KubeObject {
  const webhooks = readList(readRecord(injectorObject).webhooks).map(readRecord);
  const selectors = { namespaceSelector: never, objectSelector: never };
  return { ...injectorObject, ...{ webhooks: webhooks.map((webhook) => ({ ...webhook, ...selectors })) } };
}

/** The resource definitions, from the schemas that the control plane itself reads by. */
export function customResourceDefinitions(): readonly KubeObject[] {
  return istioKinds.map((kind) => crdFor(kind) as unknown as KubeObject);
}

export const namespaceObject = (name: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name },
});

/** Annotations that no value fills are not written. */
function withoutEmptyMetadata(object: KubeObject): KubeObject {
  const { annotations, ...rest } = object.metadata;
  const empty = annotations === undefined || Object.keys(annotations).length === 0;
  return { ...object, metadata: empty ? rest : object.metadata };
}
