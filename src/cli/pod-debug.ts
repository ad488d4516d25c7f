/** Where a control plane is, or the Pod that it runs in, in; answers of its debug paths out. The hop that fails is named. */
import { type IncomingMessage, request } from "node:http";
import type { Duplex } from "node:stream";
import { type ClusterAccess, forwardPort } from "../kube/index.ts";
import { collectBytes, FairleadError, fileLimits, parseJson } from "../lib/index.ts";

/** JSON of a path after `/debug/`; with a body, it is sent. */
export type AskDebug = (path: string, body?: string) => Promise<unknown>;

/** Where istiod listens for those who look into it. */
const monitoringPort = 15014;
/** Until it answers at all; once it has, it may take longer to make what a proxy is sent. */
const beginMs = 5_000;
const answerMs = 30_000;

/** `host:port` of the port that control planes have for those who look into them. */
export const debugAt = (address: string, stop: AbortSignal): AskDebug => askOver(address, connectTo(address), stop);

/** Through the API, as `kubectl port-forward` goes. */
export const debugOfPod = (
  access: ClusterAccess,
  pod: { readonly name: string; readonly namespace: string },
  stop: AbortSignal,
): AskDebug =>
  askOver(
    `${pod.namespace}/${pod.name}`,
    (signal) => forwardPort(access, { name: pod.name, namespace: pod.namespace, port: monitoringPort }, signal),
    stop,
  );

type Connect = (signal: AbortSignal) => Promise<Duplex | { readonly host: string; readonly port: string }>;

function connectTo(address: string): Connect {
  const [, host = "", port = ""] = /^(.*):(\d{1,5})$/.exec(address) ?? [];
  if (port === "")
    throw new FairleadError("usage", `--address: ${address} is not an address`, { hint: "write HOST:PORT" });
  return async () => ({ host: host.replace(/^\[|\]$/g, "") || "127.0.0.1", port });
}

/** Each hop is named in what is thrown: the API, the way to the Pod, or istiod. */
function askOver(at: string, connect: Connect, stop: AbortSignal): AskDebug {
  let isThere = false;
  return async (path, body) => {
    const late = new AbortController();
    const limitMs = isThere ? answerMs : beginMs;
    const timer = setTimeout(() => late.abort(), limitMs);
    try {
      const signal = AbortSignal.any([stop, late.signal]);
      const response = await send(await connect(signal), `/debug/${path}`, body, signal);
      isThere = true;
      clearTimeout(timer);
      return parseJson(await textOf(response), fileLimits);
    } catch (cause) {
      const { code, message } = FairleadError.from(cause);
      if (stop.aborted || code === "forbidden" || code === "invalid") throw cause;
      const said = late.signal.aborted ? `no answer within ${limitMs / 1000} s` : message;
      throw new FairleadError("unavailable", `istiod at ${at} does not answer on its debug port: ${said}`, {
        hint: `\`kubectl -n istio-system port-forward deploy/istiod ${monitoringPort}\` goes the same way; --xds asks its xDS port instead`,
        cause,
      });
    } finally {
      clearTimeout(timer);
    }
  };
}

function send(
  way: Awaited<ReturnType<Connect>>,
  path: string,
  body: string | undefined,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const target = "write" in way ? { createConnection: () => way } : way;
    const method = body === undefined ? "GET" : "POST";
    const asked = request({ ...target, method, path, signal, headers: { host: "localhost", connection: "close" } });
    asked.on("error", reject).on("response", resolve);
    asked.end(body);
  });
}

async function textOf(response: IncomingMessage): Promise<string> {
  const body = collectBytes();
  for await (const chunk of response) {
    body.add(chunk as Buffer);
    if (body.size > fileLimits.maxBytes) throw new FairleadError("too-large", "the answer is too large");
  }
  const text = body.whole().toString();
  if (response.statusCode === 200) return text;
  throw new FairleadError("unavailable", `${response.statusCode} ${text.trim().slice(0, 200)}`);
}
