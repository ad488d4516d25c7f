/** One API's address and credentials in, HTTP requests to it out: kept-alive connections, made anew when the credentials change. */
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { FairleadError, fileLimits, parseJson, systemCode } from "../lib/index.ts";
import type { Credentials } from "./exec-credentials.ts";
import type { ClusterAccess } from "./kubeconfig.ts";
import { statusError } from "./status.ts";

export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>> | undefined;
  readonly body?: unknown;
  readonly contentType?: string | undefined;
  readonly accept?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Absent for watches, which have no end. */
  readonly timeoutMs?: number | undefined;
}

export interface Transport {
  /** The answer to a 2xx; anything else is thrown as the error that the API described. */
  open(request: HttpRequest): Promise<IncomingMessage>;
  json(request: HttpRequest): Promise<unknown>;
  close(): void;
}

const maxAnswerBytes = fileLimits.maxBytes;

export function createTransport(access: ClusterAccess): Transport {
  const base = new URL(access.server);
  let agent: { readonly id: string; readonly agent: Agent } | undefined;
  const agentFor = (credentials: Credentials): Agent => {
    const id = `${credentials.cert ?? ""}\n${credentials.ca ?? ""}`;
    if (agent?.id === id) return agent.agent;
    // Running requests keep the old agent's sockets; only idle ones are closed.
    agent?.agent.destroy();
    agent = {
      id,
      agent: new Agent({
        keepAlive: true,
        keepAliveMsecs: 15_000,
        ca: credentials.ca ?? access.ca,
        cert: credentials.cert,
        key: credentials.key,
        rejectUnauthorized: !access.insecure,
        ...(access.serverName === undefined ? {} : { servername: access.serverName }),
      }),
    };
    return agent.agent;
  };

  const once = async (r: HttpRequest, refused: boolean): Promise<IncomingMessage> => {
    const credentials = await access.credentials(refused);
    const body = r.body === undefined ? undefined : Buffer.from(JSON.stringify(r.body));
    return new Promise((resolve, reject) => {
      const req = request(
        {
          host: base.hostname.replace(/^\[|\]$/g, ""),
          port: base.port === "" ? 443 : Number(base.port),
          method: r.method,
          path: `${base.pathname.replace(/\/$/, "")}${r.path}${queryText(r.query)}`,
          agent: agentFor(credentials),
          headers: headersFor(r, credentials, body),
          ...(r.signal ? { signal: r.signal } : {}),
        },
        resolve,
      );
      req.on("error", (error) => reject(connectError(access.server, error)));
      if (r.timeoutMs !== undefined) {
        req.setTimeout(r.timeoutMs, () =>
          req.destroy(new FairleadError("timeout", `${r.method} ${r.path}: no answer within ${r.timeoutMs} ms`)),
        );
      }
      req.end(body);
    });
  };

  const open = async (r: HttpRequest): Promise<IncomingMessage> => {
    let answer = await once(r, false);
    if (answer.statusCode === 401) {
      // The token may just have been rotated: it is read again once.
      answer.resume();
      answer = await once(r, true);
    }
    const code = answer.statusCode ?? 0;
    if (code >= 200 && code < 300) return answer;
    const text = await readAll(answer).catch(() => "");
    throw statusError(`${r.method} ${r.path}`, code, tryJson(text), retryAfter(answer));
  };

  return {
    open,
    json: async (r) => {
      const text = await readAll(await open({ timeoutMs: 60_000, ...r }));
      return text === "" ? undefined : parseJson(text, fileLimits);
    },
    close: () => agent?.agent.destroy(),
  };
}

function headersFor(r: HttpRequest, credentials: Credentials, body: Buffer | undefined): Record<string, string> {
  return {
    accept: r.accept ?? "application/json",
    "user-agent": "fairlead",
    ...(credentials.token === undefined ? {} : { authorization: `Bearer ${credentials.token}` }),
    ...(body === undefined
      ? {}
      : { "content-type": r.contentType ?? "application/json", "content-length": String(body.length) }),
  };
}

async function readAll(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer) {
    size += (chunk as Buffer).length;
    if (size > maxAnswerBytes)
      throw new FairleadError("too-large", `the API's answer has more than ${maxAnswerBytes} bytes`);
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString();
}

function queryText(query: HttpRequest["query"]): string {
  const set = Object.entries(query ?? {}).filter((e): e is [string, string] => e[1] !== undefined && e[1] !== "");
  return set.length === 0 ? "" : `?${new URLSearchParams(set)}`;
}

function retryAfter(answer: IncomingMessage): number | undefined {
  const seconds = Number(answer.headers["retry-after"]);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

function tryJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function connectError(server: string, error: Error): Error {
  if (error instanceof FairleadError || error.name === "AbortError") return error;
  return new FairleadError("unavailable", `cannot reach the API at ${server}: ${systemCode(error) ?? error.message}`, {
    cause: error,
  });
}
