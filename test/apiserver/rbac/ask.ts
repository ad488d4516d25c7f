/** A kubeconfig of an API server in, its answers to all questions out, in a form that can be compared. */
import { Agent, request } from "node:https";
import { parseYaml } from "../../../src/lib/index.ts";
import { type Asked, pathRows, pathVerbs, requests, rows, ruleUsers, verbs } from "./questions.ts";
import { setup } from "./setup.ts";

export interface Answers {
  /** The verbs that are allowed, of those asked for. */
  readonly rows: Readonly<Record<string, string>>;
  readonly paths: Readonly<Record<string, string>>;
  readonly requests: Readonly<Record<string, string>>;
  /** One line per verb on one thing. */
  readonly rules: Readonly<Record<string, readonly string[]>>;
}

type Fields = Readonly<Record<string, unknown>>;
type Reply = { readonly code: number; readonly body: Fields };
type Send = (asked: Omit<Asked, "id">) => Promise<Reply>;

const parallel = 8;

export function questionCount(): number {
  return rows.length * verbs.length + pathRows.length * pathVerbs.length + requests.length + ruleUsers.length;
}

export async function askAll(kubeconfig: string): Promise<Answers> {
  const agent = new Agent({ keepAlive: true, maxSockets: parallel });
  const send = client(kubeconfig, agent);
  try {
    await prepare(send);
    return {
      rows: await collect(
        rows,
        (row) => rowText(row),
        (row) =>
          allowedVerbs(send, row.user, row.groups, verbs, (verb) => ({
            resourceAttributes: { ...row, user: undefined, groups: undefined, verb },
          })),
      ),
      paths: await collect(
        pathRows,
        ({ user, groups, path }) => `${user} ${groups.join(",")} ${path}`,
        (row) =>
          allowedVerbs(send, row.user, row.groups, pathVerbs, (verb) => ({
            nonResourceAttributes: { path: row.path, verb },
          })),
      ),
      requests: await collect(
        requests,
        ({ id }) => id,
        async (asked) => summary(await send(asked)),
      ),
      rules: await collect(
        ruleUsers,
        ([user, namespace]) => `${user} in ${namespace}`,
        ([user, namespace]) => rulesOf(send, user, namespace),
      ),
    };
  } finally {
    agent.destroy();
  }
}

function rowText({ user, groups, namespace, group, resource, subresource, name }: (typeof rows)[number]): string {
  const who = groups.join(",") === "system:authenticated" ? user : `${user} of ${groups.join(",")}`;
  const what = `${resource}${subresource && `/${subresource}`}${group && `.${group}`}${name && `:${name}`}`;
  return `${who} in ${namespace || "all"}: ${what}`;
}

async function collect<T, A>(
  items: readonly T[],
  name: (item: T) => string,
  ask: (item: T) => Promise<A>,
): Promise<Readonly<Record<string, A>>> {
  const out = new Map<string, A>(items.map((item) => [name(item), undefined as A]));
  if (out.size !== items.length) throw new Error("two questions have the same name");
  const queue = [...items];
  const work = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) out.set(name(item), await ask(item));
  };
  await Promise.all(Array.from({ length: parallel }, work));
  return Object.fromEntries(out);
}

/** Makes what is not there yet, and waits until what controllers do about it is done. */
async function prepare(send: Send): Promise<void> {
  for (const { path, object } of setup) {
    const { code, body } = await send({ method: "POST", path, body: object });
    if (code !== 201 && code !== 409) throw new Error(`${path}: ${code} ${JSON.stringify(body)}`);
  }
  const settled = async (): Promise<boolean> => {
    const widgets = await send({ method: "GET", path: "/apis/example.com/v1/widgets" });
    const may = (user: string, resource: string, verb: string, group: string): Promise<string> =>
      allowedVerbs(send, user, [], [verb], () => ({ resourceAttributes: { namespace: "qa", resource, verb, group } }));
    const granted = await Promise.all([
      may("chain", "services", "watch", ""),
      may("sum", "pods", "list", ""),
      may("edit", "widgets", "create", "example.com"),
      may("view", "pods", "list", ""),
      may("admin", "widgets", "create", "example.com"),
    ]);
    return widgets.code === 200 && granted.every((text) => text !== "");
  };
  for (let i = 0; !(await settled()); i++) {
    if (i > 600) throw new Error("aggregated roles or the definition of widgets never came to be");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function allowedVerbs(
  send: Send,
  user: string,
  groups: readonly string[],
  list: readonly string[],
  attributes: (verb: string) => object,
): Promise<string> {
  const allowed = await Promise.all(
    list.map(async (verb) => {
      const { body } = await send({
        method: "POST",
        path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        body: {
          apiVersion: "authorization.k8s.io/v1",
          kind: "SubjectAccessReview",
          spec: { user, groups, ...attributes(verb) },
        },
      });
      return (body.status as Fields | undefined)?.allowed === true ? [verb] : [];
    }),
  );
  return allowed.flat().join(" ");
}

async function rulesOf(send: Send, user: string, namespace: string): Promise<readonly string[]> {
  const { body } = await send({
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
    body: { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview", spec: { namespace } },
    headers: { "impersonate-user": user },
  });
  const status = body.status as Fields;
  const lists = (rule: Fields, name: string): readonly string[] => (rule[name] as string[] | undefined) ?? [];
  const lines = [
    ...(status.resourceRules as Fields[]).flatMap((rule) =>
      lists(rule, "verbs").flatMap((verb) =>
        lists(rule, "apiGroups").flatMap((group) =>
          lists(rule, "resources").flatMap((resource) =>
            (lists(rule, "resourceNames").length === 0 ? [""] : lists(rule, "resourceNames")).map(
              (name) => `${verb} ${resource}${group && `.${group}`}${name && `:${name}`}`,
            ),
          ),
        ),
      ),
    ),
    ...(status.nonResourceRules as Fields[]).flatMap((rule) =>
      lists(rule, "verbs").flatMap((verb) => lists(rule, "nonResourceURLs").map((url) => `${verb} ${url}`)),
    ),
    `incomplete: ${String(status.incomplete)}`,
  ];
  return [...new Set(lines)].sort();
}

/** Of a success what matters of it; of a refusal its reason, and the whole sentence where it is about rights. */
function summary({ code, body }: Reply): string {
  const status = (body.status ?? {}) as Fields;
  if (body.kind === "SelfSubjectReview") return `${code} ${userText(status.userInfo as Fields)}`;
  if (typeof status.allowed === "boolean") return `${code} ${status.allowed ? "allowed" : "not allowed"}`;
  if (code < 300) return String(code);
  const sentence = body.reason === "Forbidden" ? `: ${String(body.message)}` : "";
  return `${code} ${String(body.reason ?? "")}${sentence}`;
}

function userText({ username, groups, uid, extra }: Fields): string {
  const own = Object.entries((extra ?? {}) as Fields).filter(([key]) => !key.startsWith("authentication."));
  const known = String(username).startsWith("system:serviceaccount:") && own.length === 0 ? "" : String(uid ?? "");
  return JSON.stringify({ username, groups: [...((groups ?? []) as string[])].sort(), uid: known, extra: own });
}

function client(kubeconfig: string, agent: Agent): Send {
  const [config] = parseYaml(kubeconfig) as readonly {
    clusters: { cluster: Record<string, string> }[];
    users: { user: Record<string, string> }[];
  }[];
  const cluster = config?.clusters[0]?.cluster ?? {};
  const user = config?.users[0]?.user ?? {};
  const decode = (text: string | undefined): Buffer => Buffer.from(text ?? "", "base64");
  const tls = {
    ca: decode(cluster["certificate-authority-data"]),
    cert: decode(user["client-certificate-data"]),
    key: decode(user["client-key-data"]),
  };
  const server = cluster.server ?? "";
  const anonymous = new Agent({ keepAlive: true, maxSockets: parallel });
  const tokens = new Map<string, Promise<string>>();
  const send = (asked: Omit<Asked, "id">, token?: string): Promise<Reply> => {
    const text = asked.body === undefined ? undefined : JSON.stringify(asked.body);
    const headers = {
      accept: "application/json",
      ...(text === undefined
        ? {}
        : { "content-type": asked.contentType ?? "application/json", "content-length": Buffer.byteLength(text) }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...asked.headers,
    } as Record<string, string | string[] | number>;
    const credentials = token === undefined ? { ...tls, agent } : { ca: tls.ca, agent: anonymous };
    return new Promise((resolve, reject) => {
      const sent = request(`${server}${asked.path}`, { method: asked.method, headers, ...credentials }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on("data", (chunk: Buffer) => chunks.push(chunk));
        answer.on("error", reject);
        answer.on("end", () =>
          resolve({ code: answer.statusCode ?? 0, body: fields(Buffer.concat(chunks).toString()) }),
        );
      });
      sent.on("error", reject);
      sent.end(text);
    });
  };
  const tokenOf = (account: string): Promise<string> => {
    const path = `/api/v1/namespaces/qa/serviceaccounts/${account}/token`;
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
    const asked =
      tokens.get(account) ??
      send({ method: "POST", path, body }).then((reply) => String((reply.body.status as Fields).token));
    tokens.set(account, asked);
    return asked;
  };
  return async (asked) => send(asked, asked.account === undefined ? undefined : await tokenOf(asked.account));
}

function fields(text: string): Fields {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Fields) : {};
  } catch {
    return {};
  }
}
