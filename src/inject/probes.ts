/**
 * Probes and lifecycle hooks of the application in; the same asked of the agent out, which asks the application in its
 * stead, since the kubelet has no certificate of the mesh.
 */
import { goJson, isRecord, parseJson, readList, readText } from "../lib/index.ts";
import {
  addEnv,
  annotationsOf,
  type Container,
  changeContainer,
  containersOf,
  envOf,
  type Fields,
  findInPod,
  type Pod,
  proxyName,
  withContainers,
} from "./pod.ts";
import { parseTruth } from "./prometheus.ts";

const probersVariable = "ISTIO_KUBE_APP_PROBERS";
const probes = { readinessProbe: "readyz", livenessProbe: "livez", startupProbe: "startupz" } as const;
const hooks = { preStop: "prestopz", postStart: "poststartz" } as const;

export interface ProbeSettings {
  /** What holds where the Pod does not say. */
  readonly rewrite: boolean;
  /** The agent's port by the mesh's settings. */
  readonly statusPort: number;
  readonly reinjected: boolean;
}

export function rewriteProbes(pod: Pod, settings: ProbeSettings): Pod {
  const annotations = annotationsOf(pod);
  const wanted = parseTruth(annotations["sidecar.istio.io/rewriteAppHTTPProbers"]) ?? settings.rewrite;
  if (!wanted || !findInPod(pod, proxyName)) return pod;
  const probers = collect(pod, settings.statusPort);
  const told = Object.keys(probers).length === 0 ? pod : tell(pod, probers, settings.reinjected);
  const port = annotations["status.sidecar.istio.io/port"];
  return redirect(told, port === undefined ? settings.statusPort : Number(port));
}

/** What the agent is to ask, by the path under which it is asked. */
function collect(pod: Pod, statusPort: number): Readonly<Record<string, Fields>> {
  const found: [string, Fields][] = [];
  for (const container of [...containersOf(pod, "initContainers"), ...containersOf(pod)]) {
    if (container.name === proxyName) continue;
    for (const [field, end] of Object.entries(probes)) {
      const prober = proberOf(container, container[field], ["httpGet", "tcpSocket", "grpc"], statusPort);
      if (prober) found.push([probePath(container, end), prober]);
    }
    const lifecycle = isRecord(container.lifecycle) ? container.lifecycle : {};
    for (const [field, end] of Object.entries(hooks)) {
      const prober = proberOf(container, lifecycle[field], ["httpGet", "tcpSocket"], statusPort);
      if (prober) found.push([hookPath(container, end), prober]);
    }
  }
  return Object.fromEntries(found.sort(([a], [b]) => (a < b ? -1 : 1)));
}

const probePath = ({ name }: Container, end: string): string => `/app-health/${name}/${end}`;
const hookPath = ({ name }: Container, end: string): string => `/app-lifecycle/${name}/${end}`;

function proberOf(
  container: Container,
  handler: unknown,
  kinds: readonly string[],
  statusPort: number,
): Fields | undefined {
  if (!isRecord(handler)) return undefined;
  const kind = kinds.find((candidate) => isRecord(handler[candidate]));
  if (kind === undefined) return undefined;
  const action = isRecord(handler[kind]) ? handler[kind] : {};
  const shown = kind === "grpc" ? grpcAction(action) : webAction(container, kind, action, statusPort);
  const timeout = handler.timeoutSeconds;
  return shown && { [kind]: shown, ...(timeout ? { timeoutSeconds: timeout } : {}) };
}

const grpcAction = ({ port, service }: Fields): Fields => ({ port: port ?? 0, service: service ?? null });

/** Undefined for a port that has no number, and for one that was redirected before. */
function webAction(container: Container, kind: string, action: Fields, statusPort: number): Fields | undefined {
  const port = typeof action.port === "string" ? numberOf(container, action.port) : (action.port ?? 0);
  if (port === undefined || (port === statusPort && typeof action.port !== "string")) return undefined;
  const { path, host, scheme, httpHeaders } = action;
  if (kind === "tcpSocket") return present({ port, host });
  const headers = readList(httpHeaders).filter(isRecord);
  return present({
    path,
    port,
    host,
    scheme,
    httpHeaders: headers.length === 0 ? undefined : headers.map(({ name, value }) => ({ name, value })),
  });
}

const present = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== ""));

function numberOf(container: Container, portName: string): unknown {
  const port = readList(container.ports)
    .filter(isRecord)
    .findLast(({ name }) => portName !== "" && name === portName);
  return port?.containerPort;
}

/** An earlier injection's list goes on to hold for what it has redirected. */
function tell(pod: Pod, probers: Readonly<Record<string, Fields>>, reinjected: boolean): Pod {
  return changeContainer(pod, proxyName, (proxy) => {
    const before = reinjected ? envOf(proxy).find(({ name }) => name === probersVariable) : undefined;
    if (!before) return addEnv(proxy, { name: probersVariable, value: goJson(probers) });
    const known = parseProbers(readText(before.value));
    // A list that cannot be read is left as it is: the agent says so.
    if (!known) return proxy;
    const all = Object.entries({ ...probers, ...known }).sort(([a], [b]) => (a < b ? -1 : 1));
    const text = goJson(Object.fromEntries(all));
    return {
      ...proxy,
      env: envOf(proxy).map((item) =>
        item === before || item.name === probersVariable ? { name: item.name, value: text } : item,
      ),
    };
  });
}

function parseProbers(text: string): Fields | undefined {
  try {
    const parsed = parseJson(text);
    return isRecord(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function redirect(pod: Pod, port: number): Pod {
  return (["containers", "initContainers"] as const).reduce(
    (result, list) =>
      withContainers(
        result,
        list,
        containersOf(result, list).map((container) =>
          container.name === proxyName ? container : redirectContainer(container, port),
        ),
      ),
    pod,
  );
}

function redirectContainer(container: Container, port: number): Container {
  const changed: Record<string, unknown> = {};
  for (const [field, end] of Object.entries(probes))
    changed[field] = redirectHandler(
      container[field],
      ["httpGet", "tcpSocket", "grpc"],
      probePath(container, end),
      port,
    );
  if (isRecord(container.lifecycle)) {
    const lifecycle: Record<string, unknown> = { ...container.lifecycle };
    for (const [field, end] of Object.entries(hooks)) {
      const hook = redirectHandler(lifecycle[field], ["httpGet", "tcpSocket"], hookPath(container, end), port);
      if (hook !== undefined) lifecycle[field] = hook;
    }
    changed.lifecycle = lifecycle;
  }
  const set = Object.entries(changed).filter(([, value]) => value !== undefined);
  return { ...container, ...Object.fromEntries(set) };
}

function redirectHandler(handler: unknown, kinds: readonly string[], path: string, port: number): unknown {
  if (!isRecord(handler)) return handler;
  const kind = kinds.find((candidate) => isRecord(handler[candidate]));
  if (kind === undefined) return handler;
  const { [kind]: action, ...rest } = handler;
  const web = kind === "httpGet" && isRecord(action) ? action : {};
  // The agent speaks HTTPS to the application; the kubelet speaks HTTP to the agent.
  const scheme = web.scheme === "HTTPS" ? { scheme: "HTTP" } : {};
  return { ...rest, httpGet: { ...web, path, port, ...scheme } };
}
