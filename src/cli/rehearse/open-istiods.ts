/** Flags, and the Pods of istiod that were found, in; ways to ask each of them out. */
import { type IncomingMessage, request } from "node:http";
import type { Duplex } from "node:stream";
import { type ClusterAccess, forwardPort } from "../../kube/index.ts";
import { collectBytes, FairleadError, fileLimits, parseJson } from "../../lib/index.ts";
import type { ProtoJson } from "../proxy-config/proto-json.ts";
import { type AskDebug, createDebugIstiod } from "./debug-istiod.ts";
import type { Istiod } from "./istiod.ts";
import type { IstiodPod, IstiodSettings } from "./istiod-pods.ts";
import { createXdsIstiod } from "./xds-istiod.ts";

export interface OpenOptions {
  readonly access: ClusterAccess;
  readonly settings: IstiodSettings;
  readonly flags: { readonly xds?: string; readonly address?: string; readonly istioNamespace: string };
  readonly protos: ProtoJson;
  readonly signal: AbortSignal;
}

/** Where istiod listens for those who look into it. */
const monitoringPort = 15014;
/** Until it answers at all; once it has, it may take longer to make what a proxy is sent. */
const beginMs = 5_000;
const answerMs = 30_000;

export function openIstiods({ access, settings, flags, protos, signal }: OpenOptions): readonly Istiod[] {
  const { xds, address } = flags;
  if (xds !== undefined && address !== undefined)
    throw new FairleadError("usage", "--xds and --address exclude each other", { hint: "--xds asks as each proxy" });
  if (xds !== undefined) return [createXdsIstiod(xds, protos, signal)];
  const close = (): void => {};
  if (address !== undefined) {
    const ask = askOver(address, addressOptions(address), signal);
    return [createDebugIstiod({ at: address, ask, protos, close })];
  }
  if (settings.pods.length === 0)
    throw new FairleadError("not-found", `no istiod runs in namespace ${flags.istioNamespace}`, {
      hint: "a Pod with label app=istiod is looked for; -i names another namespace, --xds or --address an istiod elsewhere",
    });
  return settings.pods.map((pod) => {
    const at = `${pod.namespace}/${pod.name}`;
    return createDebugIstiod({ at, ask: askOver(at, podOptions(access, pod), signal), protos, close });
  });
}

type Connect = (signal: AbortSignal) => Promise<Duplex | { readonly host: string; readonly port: string }>;

function addressOptions(address: string): Connect {
  const [, host = "", port = ""] = /^(.*):(\d{1,5})$/.exec(address) ?? [];
  if (port === "")
    throw new FairleadError("usage", `--address: ${address} is not an address`, { hint: "write HOST:PORT" });
  return async () => ({ host: host.replace(/^\[|\]$/g, "") || "127.0.0.1", port });
}

const podOptions =
  (access: ClusterAccess, pod: IstiodPod): Connect =>
  (signal) =>
    forwardPort(access, { ...pod, port: monitoringPort }, signal);

/** Each hop is named in what is thrown: the API, the way to the Pod, or istiod. */
function askOver(at: string, connect: Connect, stop: AbortSignal): AskDebug {
  let isThere = false;
  return async (path) => {
    const late = new AbortController();
    const limitMs = isThere ? answerMs : beginMs;
    const timer = setTimeout(() => late.abort(), limitMs);
    try {
      const signal = AbortSignal.any([stop, late.signal]);
      const response = await get(await connect(signal), `/debug/${path}`, signal);
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

function get(way: Awaited<ReturnType<Connect>>, path: string, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const target = "write" in way ? { createConnection: () => way } : way;
    const asked = request({ ...target, path, signal, headers: { host: "localhost", connection: "close" } });
    asked.on("error", reject).on("response", resolve);
    asked.end();
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
