/** Kubeconfig files, or the files of a Pod, in; how to reach and authenticate to one API out. */
import { readFile } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import { FairleadError, isRecord, parseYaml, readList, readRecord, readText } from "../lib/index.ts";
import { type Credentials, createExecCredentials } from "./exec-credentials.ts";

export interface ClusterAccess {
  /** `https://host:port`, perhaps with a path in front of the API's own. */
  readonly server: string;
  readonly ca: string | undefined;
  readonly insecure: boolean;
  readonly serverName: string | undefined;
  /** The namespace of the context. */
  readonly namespace: string;
  /** How long it may be silent while somebody waits at a terminal; absent: as long as those that serve wait. */
  readonly patienceMs?: number;
  /** Read anew for each connection; `refused` is true after a 401, so that a cached answer is not used again. */
  credentials(refused: boolean): Promise<Credentials>;
}

export interface KubeconfigOptions {
  /** Files in order; the first that names a thing decides, as with `KUBECONFIG=a:b`. */
  readonly paths: readonly string[];
  readonly context?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

type Fields = Readonly<Record<string, unknown>>;

export async function loadKubeconfig(options: KubeconfigOptions): Promise<ClusterAccess> {
  const files = await Promise.all(options.paths.map(readConfig));
  const named = (list: string, name: string, inner: string): { fields: Fields; dir: string } => {
    for (const { dir, config } of files) {
      const entries = Array.isArray(config[list]) ? config[list] : [];
      const entry = entries.filter(isRecord).find((e) => e.name === name);
      const fields = entry?.[inner];
      if (isRecord(fields)) return { fields, dir };
    }
    const there = files
      .flatMap(({ config }) => readList(config[list]))
      .map((entry) => readText(readRecord(entry).name));
    throw new FairleadError("not-found", `kubeconfig ${options.paths.join(":")} has no entry ${name} in ${list}`, {
      hint: there.length === 0 ? `it has no ${list} at all` : `there is ${there.slice(0, 8).join(", ")}`,
    });
  };
  const current = options.context ?? files.map((f) => text(f.config, "current-context")).find((c) => c !== undefined);
  if (current === undefined)
    throw new FairleadError("usage", `kubeconfig ${options.paths.join(":")} names no current context`, {
      hint: "choose one with --context",
    });
  const context = named("contexts", current, "context").fields;
  const cluster = named("clusters", text(context, "cluster") ?? "", "cluster");
  const user = text(context, "user");
  const auth = user === undefined ? { fields: {}, dir: "." } : named("users", user, "user");
  const server = text(cluster.fields, "server");
  if (server === undefined)
    throw new FairleadError("invalid", `kubeconfig: the cluster of context ${current} has no server`, {
      hint: "choose another context with --context",
    });
  return {
    server: server.replace(/\/+$/, ""),
    ca: await dataOrFile(cluster, "certificate-authority"),
    insecure: cluster.fields["insecure-skip-tls-verify"] === true,
    serverName: text(cluster.fields, "tls-server-name"),
    namespace: text(context, "namespace") ?? "default",
    credentials: userCredentials(auth, options.env),
  };
}

/** The API and the token that Kubernetes puts into every Pod; undefined outside of one. */
export function inClusterAccess(env: Readonly<Record<string, string | undefined>>): ClusterAccess | undefined {
  const host = env.KUBERNETES_SERVICE_HOST;
  const port = env.KUBERNETES_SERVICE_PORT;
  if (!host || !port) return undefined;
  const dir = "/var/run/secrets/kubernetes.io/serviceaccount";
  const file = (name: string): Promise<string | undefined> =>
    readFile(join(dir, name), "utf8").then(
      (t) => t.trim(),
      () => undefined,
    );
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    ca: undefined,
    insecure: false,
    serverName: undefined,
    namespace: "default",
    // The CA file is rotated with the token, so both are read when they are used.
    credentials: async () => ({ token: await file("token"), ca: await file("ca.crt") }),
  };
}

async function readConfig(path: string): Promise<{ dir: string; config: Fields }> {
  let content: string;
  try {
    content = await readFile(path, "utf8");
  } catch (error) {
    throw new FairleadError("not-found", `cannot read kubeconfig ${path}`, {
      hint: "name another with --kubeconfig FILE or KUBECONFIG",
      cause: error,
    });
  }
  const [config] = parsed(path, content);
  if (!isRecord(config)) throw new FairleadError("invalid", `${path} is not a kubeconfig`, { hint: notOne });
  return { dir: dirname(path), config };
}

function userCredentials(
  auth: { fields: Fields; dir: string },
  env: KubeconfigOptions["env"],
): ClusterAccess["credentials"] {
  const exec = auth.fields.exec;
  if (isRecord(exec)) return createExecCredentials(exec, env);
  const tokenFile = text(auth.fields, "tokenFile");
  return async () => ({
    token:
      tokenFile === undefined
        ? text(auth.fields, "token")
        : (await readFile(resolve(auth.dir, tokenFile), "utf8")).trim(),
    cert: await dataOrFile(auth, "client-certificate"),
    key: await dataOrFile(auth, "client-key"),
  });
}

async function dataOrFile(entry: { fields: Fields; dir: string }, key: string): Promise<string | undefined> {
  const data = text(entry.fields, `${key}-data`);
  if (data !== undefined) return Buffer.from(data, "base64").toString();
  const path = text(entry.fields, key);
  return path === undefined ? undefined : readFile(resolve(entry.dir, path), "utf8");
}

function resolve(dir: string, path: string): string {
  return isAbsolute(path) ? path : join(dir, path);
}

function text(fields: Fields, key: string): string | undefined {
  const value = fields[key];
  return typeof value === "string" && value !== "" ? value : undefined;
}

const notOne = "name one with --kubeconfig FILE or KUBECONFIG";

function parsed(path: string, content: string): readonly unknown[] {
  try {
    return parseYaml(content);
  } catch (cause) {
    const [why = ""] = FairleadError.from(cause).message.split("\n");
    throw new FairleadError("invalid", `${path} is not a kubeconfig: ${why}`, { hint: notOne, cause });
  }
}
