/** An AdmissionReview of a Pod in; the answer out: the patch that injects it, no patch, or a refusal with its cause. */
import { setImmediate as nextTurn } from "node:timers/promises";
import jsonPatch from "fast-json-patch";
import { FairleadError, isRecord, type ParseLimits, parseJson, readRecord, readText } from "../lib/index.ts";
import type { ProxyConfigValues } from "../model/index.ts";
import { type InjectSettings, injectPod } from "./inject-pod.ts";
import { ownerOfPod } from "./owner.ts";
import { annotationsOf, labelsOf, metadataOf, type Pod, specOf } from "./pod.ts";
import { isInjected } from "./selection.ts";

type Texts = Readonly<Record<string, string>>;

export interface InjectionSources {
  settings(): InjectSettings;
  /** The settings of the proxy of a Pod: the mesh's, those of ProxyConfig objects, and the Pod's own. */
  proxyConfig(namespace: string, labels: Texts, annotations: Texts): ProxyConfigValues;
  /** Whether a Pod on that node (an empty name: on any) may have its proxy before its other containers. */
  nativeSidecars(node: string): boolean;
  /** User and group of proxies in a namespace, where the platform gives each its own. */
  proxyIds?(namespace: string): { readonly proxyUser?: number; readonly proxyGroup?: number };
  /** What to tell the author of an annotation that nothing reads. */
  annotationWarning?(name: string): string | undefined;
}

export interface InjectionReview {
  readonly outcome: "injected" | "skipped" | "failed";
  /** The answer as JSON. */
  readonly body: string;
  /** Why it failed, with the Pod's name. */
  readonly failure?: string;
}

interface Answer {
  readonly allowed: boolean;
  readonly status?: { readonly message: string };
  readonly patch?: string;
  readonly patchType?: "JSONPatch";
  readonly warnings?: readonly string[];
}

const versions: readonly string[] = ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"];

/** What an API server accepts of one object, twice; the number of values is what can be worked on in a short turn. */
const podLimits: ParseLimits = { maxBytes: 3 * 1024 * 1024, maxDepth: 100, maxValues: 16_384 };
/** Kubernetes' own limit of all annotations together. */
const maxAnnotations = 256 * 1024;
/** Of a larger one the steps have turns of their own. */
const mostInOneTurn = 64 * 1024;

/** `path` is the URL's: `/inject/cluster/NAME/net/NAME` tells where the Pod will be. */
export async function reviewInjection(
  body: string,
  path: string,
  sources: InjectionSources,
  pause: () => Promise<void> = nextTurn,
): Promise<InjectionReview> {
  const rest = async (): Promise<void> => {
    if (body.length > mostInOneTurn) await pause();
  };
  let [apiVersion, uid, name] = [versions[0] ?? "", "", ""];
  const respond = (answer: Answer): string =>
    JSON.stringify({ apiVersion, kind: "AdmissionReview", response: { uid, ...answer } });
  try {
    const review = readRecord(parseJson(body, podLimits));
    const request = readRecord(review.request);
    uid = readText(request.uid);
    if (!versions.includes(readText(review.apiVersion)) || review.kind !== "AdmissionReview")
      throw new FairleadError("invalid", "could not decode body: not an AdmissionReview of a known version");
    apiVersion = readText(review.apiVersion);
    if (!isRecord(request.object)) throw new FairleadError("invalid", "could not decode object: the request has none");
    // A configuration that was written too widely must not cost others their objects.
    if ((request.object.kind ?? "Pod") !== "Pod") return { outcome: "skipped", body: respond({ allowed: true }) };
    const pod = withNamespace(request.object, readText(request.namespace));
    name = podName(pod);
    const settings = sources.settings();
    if (!isInjected(pod, settings.policy)) return { outcome: "skipped", body: respond({ allowed: true }) };
    checkAnnotationSize(pod);
    await rest();
    const after = injected(pod, path, settings, sources);
    await rest();
    const patch = jsonPatch.compare(pod, after);
    await rest();
    return {
      outcome: "injected",
      body: respond({
        allowed: true,
        patchType: "JSONPatch",
        patch: Buffer.from(JSON.stringify(patch)).toString("base64"),
        ...warningsFor(pod, sources),
      }),
    };
  } catch (thrown) {
    const error = FairleadError.from(thrown);
    // A fault of ours is told as such; what its words are stays in the log.
    const message = error.code === "internal" ? "internal error while injecting the Pod" : error.message;
    return {
      outcome: "failed",
      body: respond({ allowed: false, status: { message } }),
      failure: `${name === "" ? "" : `${name}: `}${error.code === "internal" ? String(error.stack) : error.message}`,
    };
  }
}

function checkAnnotationSize(pod: Pod): void {
  let size = 0;
  for (const [name, value] of Object.entries(annotationsOf(pod))) size += name.length + value.length;
  if (size > maxAnnotations)
    throw new FairleadError("too-large", `its annotations have more than ${maxAnnotations} characters together`, {
      hint: "Kubernetes takes no more either",
    });
}

function injected(pod: Pod, path: string, settings: InjectSettings, sources: InjectionSources): Pod {
  const namespace = readText(metadataOf(pod).namespace);
  return injectPod(pod, settings, {
    owner: ownerOfPod(pod),
    proxyConfig: sources.proxyConfig(namespace, labelsOf(pod), annotationsOf(pod)),
    nativeSidecars: sources.nativeSidecars(readText(specOf(pod).nodeName)),
    extraEnv: pathEnv(path),
    ...sources.proxyIds?.(namespace),
  });
}

function withNamespace(pod: Pod, namespace: string): Pod {
  const metadata = metadataOf(pod);
  return readText(metadata.namespace) === "" ? { ...pod, metadata: { ...metadata, namespace } } : pod;
}

function podName(pod: Pod): string {
  const { name, generateName, namespace } = metadataOf(pod);
  return `${readText(namespace)}/${readText(name) || `${readText(generateName)}*`}`;
}

/** Of more slips in one Pod nobody reads. */
const maxWarnings = 20;

function warningsFor(pod: Pod, { annotationWarning }: InjectionSources): { readonly warnings?: readonly string[] } {
  const warnings: string[] = [];
  for (const name of Object.keys(annotationsOf(pod))) {
    const warning = annotationWarning?.(name);
    if (warning !== undefined) warnings.push(warning);
    if (warnings.length === maxWarnings) break;
  }
  return warnings.length > 0 ? { warnings } : {};
}

const variables: ReadonlyMap<string, string> = new Map([
  ["cluster", "ISTIO_META_CLUSTER_ID"],
  ["net", "ISTIO_META_NETWORK"],
]);

/** `/inject/k1/v1/k2/v2`, where a slash in a value is written `--slash--`; a key without a value is left out. */
function pathEnv(path: string): ReadonlyMap<string, string> {
  const [, , ...parts] = path.replace(/\/$/, "").split("/").map(decoded);
  const env = new Map<string, string>();
  for (let i = 0; i + 1 < parts.length; i += 2) {
    const key = parts[i] ?? "";
    const name = variables.get(key) ?? key.toUpperCase();
    if (name !== "") env.set(name, (parts[i + 1] ?? "").replaceAll("--slash--", "/"));
  }
  return env;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
