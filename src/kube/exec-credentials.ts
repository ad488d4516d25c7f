/** The `exec` section of a kubeconfig in, credentials out: the plugin is run again when its answer expires or is refused. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { FairleadError, isRecord, parseJson } from "../lib/index.ts";

export interface Credentials {
  readonly token?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly ca?: string | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

export function createExecCredentials(
  exec: Fields,
  env: Readonly<Record<string, string | undefined>>,
): (refused: boolean) => Promise<Credentials> {
  let cached: { credentials: Credentials; expires: number } | undefined;
  return async (refused) => {
    if (cached && !refused && cached.expires > Date.now() + 10_000) return cached.credentials;
    const status = await runPlugin(exec, env);
    const expires = Date.parse(text(status, "expirationTimestamp") ?? "");
    const credentials = {
      token: text(status, "token"),
      cert: text(status, "clientCertificateData"),
      key: text(status, "clientKeyData"),
    };
    cached = { credentials, expires: Number.isNaN(expires) ? Number.POSITIVE_INFINITY : expires };
    return credentials;
  };
}

async function runPlugin(exec: Fields, env: Readonly<Record<string, string | undefined>>): Promise<Fields> {
  const command = text(exec, "command") ?? "";
  const args = Array.isArray(exec.args) ? exec.args.map(String) : [];
  const extra = Array.isArray(exec.env) ? exec.env.filter(isRecord).map((e) => [String(e.name), String(e.value)]) : [];
  const info = { apiVersion: text(exec, "apiVersion"), kind: "ExecCredential", spec: { interactive: false } };
  try {
    const { stdout } = await promisify(execFile)(command, args, {
      env: { ...env, ...Object.fromEntries(extra), KUBERNETES_EXEC_INFO: JSON.stringify(info) },
      timeout: 60_000,
      maxBuffer: 1024 * 1024,
    });
    const answer = parseJson(stdout);
    const status = isRecord(answer) ? answer.status : undefined;
    if (isRecord(status)) return status;
  } catch (error) {
    throw new FairleadError("unauthenticated", `the kubeconfig's exec plugin ${command} failed`, {
      cause: error,
      hint: text(exec, "installHint") ?? "run it by hand to see why",
    });
  }
  throw new FairleadError("unauthenticated", `the kubeconfig's exec plugin ${command} gave no credentials`);
}

function text(fields: Fields, key: string): string | undefined {
  const value = fields[key];
  return typeof value === "string" && value !== "" ? value : undefined;
}
