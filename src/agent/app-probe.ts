/** Probes that the injector led away from the application: a path of ours in, the application's answer out. */
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect } from "node:net";
import { FairleadError, isRecord, parseJson, readList, readNumber, readRecord, readText } from "../lib/index.ts";

export interface AppProbe {
  readonly timeoutMs: number;
  readonly http?: {
    readonly path: string;
    readonly port: number;
    readonly host: string;
    readonly tls: boolean;
    readonly headers: Readonly<Record<string, string>>;
  };
  readonly tcpPort?: number;
}

/** ISTIO_KUBE_APP_PROBERS: our paths, each with the probe it stands for. What is malformed is refused as a whole, as Istio does. */
export function parseAppProbes(text: string | undefined): ReadonlyMap<string, AppProbe> {
  if (text === undefined || text === "") return new Map();
  const value = parseJson(text);
  if (!isRecord(value)) throw new FairleadError("invalid", "ISTIO_KUBE_APP_PROBERS is not an object");
  return new Map(Object.entries(value).map(([path, probe]) => [path, parseProbe(path, readRecord(probe))]));
}

function parseProbe(path: string, probe: Readonly<Record<string, unknown>>): AppProbe {
  if (!/^\/app-(health\/[^/]+\/(livez|readyz|startupz)|lifecycle\/[^/]+\/(prestopz|poststartz))$/.test(path))
    throw new FairleadError(
      "invalid",
      `ISTIO_KUBE_APP_PROBERS has the key ${JSON.stringify(path)}, which is no probe path`,
    );
  const timeoutMs = (readNumber(probe.timeoutSeconds) || 1) * 1000;
  const tcp = readNumber(readRecord(probe.tcpSocket).port);
  if (tcp !== undefined) return { timeoutMs, tcpPort: tcp };
  const get = readRecord(probe.httpGet);
  const port = readNumber(get.port);
  if (port === undefined) throw new FairleadError("invalid", `the probe ${path} has no port number`);
  const headers = readList(get.httpHeaders)
    .map(readRecord)
    .map((header) => [readText(header.name), readText(header.value)] as const);
  const target = readText(get.path) || "/";
  const http = {
    path: target.startsWith("/") ? target : `/${target}`,
    port,
    host: readText(get.host) || "localhost",
    tls: readText(get.scheme) === "HTTPS",
  };
  return { timeoutMs, http: { ...http, headers: Object.fromEntries(headers.filter(([name]) => name !== "")) } };
}

/** The status to answer with: the application's own, or 500 where it does not answer. */
export function runAppProbe(probe: AppProbe, appAddress: string): Promise<number> {
  if (probe.tcpPort !== undefined) return probeTcp(appAddress, probe.tcpPort, probe.timeoutMs);
  return probe.http ? probeHttp(probe.http, appAddress, probe.timeoutMs) : Promise.resolve(500);
}

function probeHttp(http: NonNullable<AppProbe["http"]>, host: string, timeout: number): Promise<number> {
  return new Promise((resolve) => {
    const { host: name, ...rest } = Object.fromEntries(
      Object.entries(http.headers).map(([key, value]) => [key.toLowerCase(), value]),
    );
    const headers = {
      "user-agent": "kube-probe/istio",
      connection: "close",
      ...rest,
      host: name ?? `${http.host}:${http.port}`,
    };
    // Like the kubelet's, a probe over TLS does not ask who answers.
    const options = { host, port: http.port, path: http.path, timeout, headers, rejectUnauthorized: false };
    const outgoing = (http.tls ? httpsRequest : httpRequest)(options, (response) => {
      response.resume();
      resolve(response.statusCode ?? 500);
    });
    outgoing.on("timeout", () => outgoing.destroy());
    outgoing.on("error", () => resolve(500));
    outgoing.end();
  });
}

function probeTcp(host: string, port: number, timeout: number): Promise<number> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout });
    const end = (code: number) => (): void => {
      socket.destroy();
      resolve(code);
    };
    socket.once("connect", end(200));
    socket.once("timeout", end(500));
    socket.once("error", end(500));
  });
}
