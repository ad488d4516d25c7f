/** ProxyConfig's readinessProbe in; what is wrong with the workload, or nothing, out. Of Istio's four ways: HTTP, TCP, a command, gRPC. */
import { execFile } from "node:child_process";
import { FairleadError } from "../../lib/index.ts";
import type { ReadinessProbe } from "../../model/index.ts";
import { createRpcClient, type Method, type Payload, rawCodec } from "../../rpc/index.ts";
import { type AppProbe, runAppProbe } from "../app-probe.ts";

/** All that a probe asks for, whole: whom, how, how often, and how many answers count. */
export interface ProbePlan {
  readonly delayMs: number;
  readonly periodMs: number;
  readonly timeoutMs: number;
  readonly successes: number;
  readonly failures: number;
  readonly asks:
    | { readonly by: "http"; readonly target: AppProbe; readonly host: string }
    | { readonly by: "tcp"; readonly host: string; readonly port: number }
    | { readonly by: "command"; readonly command: readonly string[] }
    | { readonly by: "grpc"; readonly host: string; readonly port: number; readonly service: string }
    | { readonly by: "nothing" };
}

export function probePlan(probe: ReadinessProbe, appAddress: string): ProbePlan {
  const timeoutMs = (probe.timeoutSeconds || 1) * 1000;
  return {
    delayMs: (probe.initialDelaySeconds ?? 0) * 1000,
    periodMs: (probe.periodSeconds || 10) * 1000,
    timeoutMs,
    successes: probe.successThreshold || 1,
    failures: probe.failureThreshold || 1,
    asks: whatIsAsked(probe, appAddress, timeoutMs),
  };
}

function whatIsAsked(probe: ReadinessProbe, appAddress: string, timeoutMs: number): ProbePlan["asks"] {
  const { httpGet, tcpSocket, exec, grpc } = probe;
  if (httpGet) {
    const host = httpGet.host || appAddress;
    return { by: "http", target: appProbe(httpGet, host, timeoutMs), host };
  }
  if (tcpSocket) return { by: "tcp", host: tcpSocket.host || appAddress, port: tcpSocket.port ?? 0 };
  if (exec) return { by: "command", command: exec.command ?? [] };
  if (grpc) return { by: "grpc", host: appAddress, port: grpc.port ?? 0, service: grpc.service ?? "" };
  return { by: "nothing" };
}

/** Resolves with the reason why the workload is not healthy; undefined where it is. */
export async function askWorkload({ asks, timeoutMs }: ProbePlan): Promise<string | undefined> {
  switch (asks.by) {
    case "http": {
      const status = await runAppProbe(asks.target, asks.host);
      return status >= 200 && status < 400 ? undefined : `status code was not from [200,400), bad code ${status}`;
    }
    case "tcp": {
      const { host, port } = asks;
      const status = await runAppProbe({ timeoutMs, tcpPort: port }, host);
      return status === 200 ? undefined : `nothing answers at ${host}:${port}`;
    }
    case "command":
      return runCommand(asks.command, timeoutMs);
    case "grpc":
      return askGrpc(asks, asks.service, timeoutMs);
    case "nothing":
      return undefined;
  }
}

function appProbe(get: NonNullable<ReadinessProbe["httpGet"]>, host: string, timeoutMs: number): AppProbe {
  const path = get.path || "/";
  const headers = (get.httpHeaders ?? []).map(({ name = "", value = "" }) => [name, value] as const);
  return {
    timeoutMs,
    http: {
      path: path.startsWith("/") ? path : `/${path}`,
      port: get.port ?? 0,
      host,
      tls: (get.scheme ?? "").toUpperCase() === "HTTPS",
      headers: Object.fromEntries(headers.filter(([name]) => name !== "")),
    },
  };
}

function runCommand([program = "", ...args]: readonly string[], timeout: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(program, args, { timeout, killSignal: "SIGKILL", maxBuffer: 64 * 1024 }, (error) =>
      resolve(error ? `${program} failed: ${error.code ?? error.signal ?? "it took too long"}` : undefined),
    );
  });
}

const healthCheck: Method<Payload, Payload> = {
  path: "/grpc.health.v1.Health/Check",
  request: rawCodec,
  response: rawCodec,
};
const serving = 1;

/** gRPC's own health service: one field to ask with, one to answer with. */
async function askGrpc(
  target: { readonly host: string; readonly port: number },
  service: string,
  timeoutMs: number,
): Promise<string | undefined> {
  const client = createRpcClient({ target });
  try {
    const name = Buffer.from(service);
    const request = name.length === 0 ? name : Buffer.concat([Buffer.from([0x0a, name.length]), name]);
    const [answer = new Uint8Array()] = await client.unary(healthCheck, [request], { timeoutMs });
    return statusOf(answer) === serving ? undefined : "the gRPC service does not say SERVING";
  } catch (error) {
    return FairleadError.from(error).message;
  } finally {
    client.close();
  }
}

function statusOf(answer: Uint8Array): number {
  const [tag, value] = answer;
  return tag === 0x08 ? (value ?? 0) : 0;
}
