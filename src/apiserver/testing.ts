/** A real API on a free port with a data folder of its own, and the clients that tests use on it. */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "../lib/index.ts";
import { type ApiServer, type ApiServerOptions, adminUser, createApiServer, type KubeconfigUser } from "./server.ts";

export interface Answer {
  readonly code: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly warnings: string;
}

export interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface Credentials {
  readonly cert?: string;
  readonly key?: string;
  readonly token?: string;
}

export interface TestApi {
  readonly server: ApiServer;
  readonly dir: string;
  readonly kubeconfig: string;
  readonly admin: Credentials;
  kubectl(args: string, input?: string, env?: Readonly<Record<string, string>>): Promise<CommandResult>;
  /** As the admin unless told otherwise. */
  call(method: string, path: string, body?: unknown, contentType?: string, as?: Credentials): Promise<Answer>;
  close(): Promise<void>;
}

export async function startApi(
  options: Partial<ApiServerOptions> & { readonly keep?: boolean } = {},
): Promise<TestApi> {
  const dir = options.dataDir ?? (await mkdtemp(join(tmpdir(), "fairlead-api-")));
  const server = await createApiServer({ now: () => new Date(), log: silentLogger, ...options, dataDir: dir });
  const kubeconfig = join(dir, "kubeconfig");
  await server.writeKubeconfig(kubeconfig, adminUser);
  const admin = await credentialsOf(server, adminUser);
  return {
    server,
    dir,
    kubeconfig,
    admin,
    kubectl: (args, input, env) =>
      runKubectl({ kubeconfig, home: join(kubeconfig, ".."), timeoutMs: 30_000 }, args, input, env),
    call: (method, path, body, contentType, as) => call(server, method, path, body, contentType, as ?? admin),
    async close() {
      await server.close();
      if (options.keep !== true) await rm(dir, { recursive: true, force: true });
    },
  };
}

export async function credentialsOf(server: ApiServer, user: KubeconfigUser): Promise<Credentials> {
  return readKubeconfig(await server.kubeconfig(user));
}

export function readKubeconfig(text: string): { readonly ca: string; readonly cert: string; readonly key: string } {
  type Entries = Readonly<Record<string, string>>;
  const config = JSON.parse(text) as { users: { user: Entries }[]; clusters: { cluster: Entries }[] };
  const decode = (entries: Entries | undefined, name: string): string =>
    Buffer.from(entries?.[name] ?? "", "base64").toString();
  const user = config.users[0]?.user;
  return {
    ca: decode(config.clusters[0]?.cluster, "certificate-authority-data"),
    cert: decode(user, "client-certificate-data"),
    key: decode(user, "client-key-data"),
  };
}

interface Kubectl {
  readonly kubeconfig: string;
  readonly home: string;
  readonly timeoutMs: number;
}

export function runKubectl(
  { kubeconfig, home, timeoutMs }: Kubectl,
  args: string,
  input = "",
  env: Readonly<Record<string, string>> = {},
): Promise<CommandResult> {
  const words = [...args.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
  return new Promise((resolve) => {
    const child = execFile(
      "kubectl",
      words,
      { env: { PATH: process.env.PATH, HOME: home, KUBECONFIG: kubeconfig, ...env }, timeout: timeoutMs },
      (error, out, err) => resolve({ code: error === null ? 0 : Number(error.code ?? 1), out, err }),
    );
    child.stdin?.end(input);
  });
}

export function call(
  server: ApiServer,
  method: string,
  path: string,
  body?: unknown,
  contentType?: string,
  as: Credentials = {},
): Promise<Answer> {
  return callWith(server.url, { ...as, ca: server.ca }, method, path, body, contentType);
}

export function callWith(
  url: string,
  as: Credentials & { readonly ca: string },
  method: string,
  path: string,
  body?: unknown,
  contentType = "application/json",
): Promise<Answer> {
  const { token, ...tls } = as;
  const text = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
  const headers = {
    accept: "application/json",
    ...(text === undefined ? {} : { "content-type": contentType, "content-length": Buffer.byteLength(text) }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${path}`, { method, ...tls, headers, agent: false }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("error", reject);
      answer.on("end", () =>
        resolve({
          code: answer.statusCode ?? 0,
          body: JSON.parse(Buffer.concat(chunks).toString()),
          warnings: String(answer.headers.warning ?? ""),
        }),
      );
    });
    sent.on("error", reject);
    sent.end(text);
  });
}
