/** Names and labels that the objects of one installation have in common. */
import { fairleadVersion } from "../model/index.ts";
import { all, type Data, type Expression, equal, named, namespace, not, set, text, value, when } from "./expression.ts";

const revision = value("revision");
/** The default revision has no name in names. */
export const isNamed = all(set(revision), not(equal(revision, "default")));
const suffix = named("suffix", when(isNamed, text("-", revision), ""));

export const revisionName = named("revision", when(set(revision), revision, "default"));

/** `istiod`, or `istiod-canary` for the revision of that name. */
export const revised = (name: string): Expression => text(name, suffix);

/** For objects of the whole cluster: told apart by revision and namespace. */
export const clusterWide = (name: string): Expression => text(name, suffix, "-", namespace);

export const serviceName = named("istiod", revised("istiod"));

/** As Kubernetes recommends, and as istioctl and others look for. */
export const labels = (app: string): { readonly [name: string]: Data } => ({
  app,
  "app.kubernetes.io/name": app,
  "app.kubernetes.io/part-of": "istio",
  "app.kubernetes.io/managed-by": "fairlead",
  "app.kubernetes.io/version": fairleadVersion,
  "istio.io/rev": revisionName,
  release: "istio",
});

/** The two forms that Istio's own objects have, so that one can be put in the place of the other. */
export const selector: Expression = when(
  isNamed,
  { app: "istiod", "istio.io/rev": revisionName },
  { app: "istiod", istio: "pilot" },
);

export const istioLabel = named("istioLabel", when(isNamed, "istiod", "pilot"));

/** All that has a name of its own in the chart. */
export const namedExpressions: readonly Expression[] = [suffix, revisionName, serviceName, istioLabel];
