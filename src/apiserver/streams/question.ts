/**
 * A request for a Pod's log, or for a stream into it, in; the same question as whoever runs the Pod is asked, out. What
 * is wrong with it is said in Kubernetes' words.
 */
import type { KubeObject } from "../../model/index.ts";
import { listAt, textAt } from "../access.ts";
import { type FieldError, failure, invalid } from "../failure.ts";
import type { ResourceRequest } from "../request.ts";

/** The path and query that its host is asked for. */
export function podQuestion(request: ResourceRequest, pod: KubeObject): string {
  const { subresource = "", query, name = "" } = request;
  if (textAt(pod, "spec", "nodeName") === "") throw failure("BadRequest", `pod ${name} does not have a host assigned`);
  if (subresource === "portforward") {
    requireRunning(pod, "forward ports of");
    const ports = query.getAll("ports");
    return `/portforward${ports.length === 0 ? "" : `?${new URLSearchParams({ ports: ports.join(",") })}`}`;
  }
  const asked = subresource === "log" ? logParameters(query, name) : commandParameters(subresource, query, pod);
  asked.set("container", containerOf(query.get("container") ?? "", pod));
  return `/${subresource}?${asked}`;
}

function requireRunning(pod: KubeObject, act: string): void {
  const phase = textAt(pod, "status", "phase");
  if (phase === "Succeeded" || phase === "Failed")
    throw failure("BadRequest", `cannot ${act} a container in a completed pod; current phase is ${phase}`);
}

function containerOf(asked: string, pod: KubeObject): string {
  const names = (list: string): readonly string[] => listAt(pod, "spec", list).map((item) => textAt(item, "name"));
  const [main, init] = [names("containers"), names("initContainers")];
  const [only] = main;
  if (asked === "" && only !== undefined && main.length === 1) return only;
  const { name } = pod.metadata;
  if (asked === "") {
    const others = init.length === 0 ? "" : ` or one of the init containers: [${init.join(" ")}]`;
    throw failure(
      "BadRequest",
      `a container name must be specified for pod ${name}, choose one of: [${main.join(" ")}]${others}`,
    );
  }
  if ([...main, ...init].includes(asked)) return asked;
  throw failure("BadRequest", `container ${asked} is not valid for pod ${name}`);
}

function commandParameters(subresource: string, query: URLSearchParams, pod: KubeObject): URLSearchParams {
  requireRunning(pod, subresource === "exec" ? "exec into" : "attach to");
  const out = new URLSearchParams();
  for (const flag of ["stdin", "stdout", "stderr", "tty"]) if (isSet(query, flag)) out.set(flag, "true");
  if (!["stdin", "stdout", "stderr"].some((flag) => out.has(flag)))
    throw failure("BadRequest", "you must specify at least 1 of stdin, stdout, stderr");
  if (out.has("tty") && out.has("stderr")) throw failure("BadRequest", "tty and stderr cannot both be true");
  const command = query.getAll("command");
  if (subresource === "exec" && (command[0] ?? "") === "")
    throw failure("BadRequest", "you must specify at least 1 command for the container");
  for (const word of subresource === "exec" ? command : []) out.append("command", word);
  return out;
}

/** As Kubernetes reads booleans of queries: there, and not said to be false. */
function isSet(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && !["", "0", "false"].includes(value.toLowerCase());
}

/** The least that each may be. */
const numbers: ReadonlyMap<string, number> = new Map([
  ["tailLines", 0],
  ["sinceSeconds", 1],
  ["limitBytes", 1],
]);

function logParameters(query: URLSearchParams, name: string): URLSearchParams {
  const out = new URLSearchParams();
  const errors: FieldError[] = [];
  for (const flag of ["follow", "previous", "timestamps"]) if (isSet(query, flag)) out.set(flag, "true");
  for (const [field, least] of numbers) {
    const value = numberIn(query, field);
    if (value === undefined) continue;
    out.set(field, String(value));
    const bound = least === 0 ? "greater than or equal to 0" : "greater than 0";
    if (value < least)
      errors.push({
        ...{ path: field, reason: "FieldValueInvalid" },
        message: `Invalid value: ${value}: must be ${bound}`,
      });
  }
  const since = timeIn(query);
  if (since !== undefined) out.set("sinceTime", since);
  if (since !== undefined && out.has("sinceSeconds"))
    errors.push({
      ...{ path: "", reason: "FieldValueForbidden" },
      message: "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified",
    });
  if (errors.length > 0) throw invalid({ group: "", plural: "pods", kind: "PodLogOptions" }, name, errors);
  return out;
}

function numberIn(query: URLSearchParams, field: string): number | undefined {
  const text = query.get(field);
  if (text === null || text === "") return undefined;
  if (!/^-?\d{1,15}$/.test(text))
    throw failure("BadRequest", `${field}: ${JSON.stringify(text)} is not a whole number`);
  return Number(text);
}

function timeIn(query: URLSearchParams): string | undefined {
  const text = query.get("sinceTime");
  if (text === null || text === "") return undefined;
  const time = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) throw failure("BadRequest", `sinceTime: ${JSON.stringify(text)} is not a time of RFC 3339`);
  return new Date(time).toISOString();
}
