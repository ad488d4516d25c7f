/** A Pod as the injector left it in; how its proxy and its capture are started, as a kubelet reads it, out. */
import { availableParallelism } from "node:os";
import { isRecord, parseJson, readList, readRecord, readText, readTexts } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { proxyContainer } from "./pod.ts";

type Fields = Readonly<Record<string, unknown>>;

/** What the API does not know yet when the Pod is made. */
export interface PodFacts {
  readonly address: string;
  readonly hostAddress: string;
}

function container(pod: KubeObject, name: string): Fields {
  const spec = readRecord(pod.spec);
  const all = [...readList(spec.containers), ...readList(spec.initContainers)].filter(isRecord);
  return all.find((one) => one.name === name) ?? {};
}

/** Environment of the proxy's container, with fields of the Pod looked up. */
export function proxyEnvironment(pod: KubeObject, facts: PodFacts): Record<string, string> {
  const proxy = container(pod, proxyContainer);
  const env: Record<string, string> = {};
  for (const { name, value, valueFrom } of readList(proxy.env).filter(isRecord)) {
    const found = isRecord(valueFrom) ? lookUp(pod, proxy, valueFrom, facts) : readText(value);
    if (found !== undefined) env[readText(name)] = found;
  }
  return env;
}

function lookUp(pod: KubeObject, proxy: Fields, source: Fields, facts: PodFacts): string | undefined {
  const path = readText(readRecord(source.fieldRef).fieldPath);
  const fields: ReadonlyMap<string, string> = new Map([
    ["metadata.name", pod.metadata.name],
    ["metadata.namespace", pod.metadata.namespace ?? ""],
    ["spec.nodeName", readText(readRecord(pod.spec).nodeName)],
    ["spec.serviceAccountName", readText(readRecord(pod.spec).serviceAccountName)],
    ["status.podIP", facts.address],
    ["status.hostIP", facts.hostAddress],
  ]);
  if (path !== "") return fields.get(path);
  // Nothing limits memory here; of CPUs the proxy may use what its limit says, as far as there are so many.
  const limit = String(readRecord(readRecord(proxy.resources).limits).cpu ?? "");
  const cpu = limit.endsWith("m") ? Number(limit.slice(0, -1)) / 1000 : Number(limit);
  const isCpu = readText(readRecord(source.resourceFieldRef).resource) === "limits.cpu";
  return isCpu && cpu > 0 ? String(Math.min(Math.ceil(cpu), availableParallelism())) : undefined;
}

/** Arguments of the proxy's container, with `$(NAME)` of its environment put in. */
export function proxyArguments(pod: KubeObject, env: Readonly<Record<string, string>>): readonly string[] {
  return readTexts(container(pod, proxyContainer).args).map((argument) =>
    argument.replace(/\$\((\w+)\)/g, (all, name: string) => env[name] ?? all),
  );
}

/** Flags of the rules that capture its traffic; empty where nothing is captured. */
export function captureArguments(pod: KubeObject): readonly string[] {
  const [program, ...flags] = readTexts(container(pod, "istio-init").args);
  return program === undefined ? [] : flags;
}

/** Containers that have to end before the others start; here what they do is done by then. */
export function initContainerNames(pod: KubeObject): readonly string[] {
  return readList(readRecord(pod.spec).initContainers)
    .filter(isRecord)
    .filter(({ restartPolicy }) => restartPolicy !== "Always")
    .map(({ name }) => readText(name));
}

/** The proxy's settings with what only this machine knows. */
export function withProxyConfig(text: string | undefined, own: object): string {
  const given = text === undefined || text.trim() === "" ? {} : parseJson(text);
  return JSON.stringify({ ...(isRecord(given) ? given : {}), ...own });
}
