/** One webhook and one AdmissionReview in, its answer out; over HTTPS only, trusting the webhook's own CA bundle. */
import { Agent, request } from "node:https";
import { isIP } from "node:net";
import { collectBytes, createAddressGuard, guardedLookup, isRecord, parseJson, systemCode } from "../lib/index.ts";
import { numberAt, recordAt, textAt } from "./access.ts";
import { maxBodyBytes } from "./limits.ts";

/** Where a Service is reached, if anywhere. */
export type ServiceResolver = (service: {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}) => { readonly host: string; readonly port: number } | undefined;

export interface WebhookClient {
  /** Throws when there is no answer that can be understood. */
  ask(webhook: unknown, review: unknown): Promise<Readonly<Record<string, unknown>>>;
  close(): void;
}

interface Target {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly servername: string;
}

const maxAgents = 64;
/** Who may write a webhook's URL, or the endpoints of its Service, must not make the API call just any place. */
const guard = createAddressGuard();
const lookup = guardedLookup(guard);
/** Kubernetes' own bound. */
const maxTimeoutSeconds = 30;

export function createWebhookClient(resolveService: ServiceResolver): WebhookClient {
  const agents = new Map<string, Agent>();
  const agentFor = (target: Target, ca: string): Agent => {
    const key = `${target.servername} ${ca}`;
    let agent = agents.get(key);
    if (!agent) {
      const [oldest] = agents.keys();
      if (agents.size >= maxAgents && oldest !== undefined) {
        agents.get(oldest)?.destroy();
        agents.delete(oldest);
      }
      const trust = ca === "" ? {} : { ca: Buffer.from(ca, "base64") };
      agent = new Agent({
        keepAlive: true,
        maxSockets: 32,
        ...trust,
        ...(isIP(target.servername) ? {} : { servername: target.servername }),
      });
      agents.set(key, agent);
    }
    return agent;
  };
  return {
    async ask(webhook, review) {
      const config = recordAt(webhook, "clientConfig");
      const timeoutMs = Math.min(maxTimeoutSeconds, Math.max(1, numberAt(webhook, "timeoutSeconds") ?? 10)) * 1000;
      const [body, deadline] = [JSON.stringify(review), AbortSignal.timeout(timeoutMs)];
      let text: string | undefined;
      // Ends with a connection that is new: each that was kept is used up by trying it.
      while (text === undefined) {
        const target = targetOf(config, resolveService);
        text = await post(target, agentFor(target, textAt(config, "caBundle")), body, deadline);
      }
      const answer = parseJson(text);
      const response = isRecord(answer) ? answer.response : undefined;
      if (!isRecord(response)) throw new Error("the answer is not an AdmissionReview with a response");
      return response;
    },
    close() {
      for (const agent of agents.values()) agent.destroy();
    },
  };
}

function targetOf(config: Readonly<Record<string, unknown>>, resolveService: ServiceResolver): Target {
  const text = textAt(config, "url");
  if (text !== "") {
    const url = new URL(text);
    if (url.protocol !== "https:") throw new Error(`the URL of the webhook is not https`);
    if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
      throw new Error("user information, queries and fragments are not permitted in the URL of a webhook");
    const host = url.hostname.replace(/^\[|\]$/g, "");
    return { host, port: Number(url.port || 443), path: url.pathname, servername: host };
  }
  const service = recordAt(config, "service");
  const [name, namespace, port] = [
    textAt(service, "name"),
    textAt(service, "namespace"),
    numberAt(service, "port") ?? 443,
  ];
  const found = resolveService({ name, namespace, port });
  if (!found) throw new Error(`no endpoints available for service "${name}"`);
  return { ...found, path: textAt(service, "path") || "/", servername: `${name}.${namespace}.svc` };
}

/** Undefined where a kept connection was closed just as it was used again. */
function post(target: Target, agent: Agent, body: string, deadline: AbortSignal): Promise<string | undefined> {
  const refused = isIP(target.host) ? guard(target.host) : undefined;
  if (refused !== undefined) return Promise.reject(new Error(refused));
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const headers = {
    "content-type": "application/json",
    accept: "application/json",
    "content-length": Buffer.byteLength(body),
  };
  let isAnswered = false;
  const call = request(
    {
      host: target.host,
      port: target.port,
      path: target.path,
      method: "POST",
      agent,
      headers,
      signal: deadline,
      lookup,
    },
    (answer) => {
      isAnswered = true;
      const bytes = collectBytes();
      answer.on("data", (chunk: Buffer) => {
        bytes.add(chunk);
        if (bytes.size > maxBodyBytes) call.destroy(new Error("the answer is too large"));
      });
      answer.on("error", reject);
      answer.on("end", () => {
        if (answer.statusCode === 200) resolve(bytes.whole().toString());
        else reject(new Error(`it answered ${answer.statusCode}`));
      });
    },
  );
  call.on("error", (error) => {
    if (deadline.aborted) return reject(new Error("context deadline exceeded"));
    if (call.reusedSocket && !isAnswered && systemCode(error) === "ECONNRESET") resolve(undefined);
    else reject(error);
  });
  call.end(body);
  return promise;
}
