/** The agent's options in; the file that Envoy starts with, and the files to be written before, out. */
import { resolve } from "node:path";
import type { AgentOptions } from "../agent-options.ts";
import { buildBootstrap, lightstepTokenFile } from "../bootstrap/bootstrap.ts";

export interface BootstrapFiles {
  readonly configFile: string;
  /** By path; with secrets. */
  readonly written: ReadonlyMap<string, string>;
}

export function bootstrapFiles({ proxyConfig, workDir, bootstrap }: AgentOptions): BootstrapFiles {
  if (proxyConfig.customConfigFile) return { configFile: proxyConfig.customConfigFile, written: new Map() };
  const folder = proxyConfig.configPath ?? ".";
  const configFile = resolve(workDir, folder, "envoy-rev.json");
  const written = new Map([[configFile, `${JSON.stringify(buildBootstrap(bootstrap), undefined, 2)}\n`]]);
  const token = proxyConfig.tracing?.lightstep?.accessToken;
  if (token) written.set(resolve(workDir, lightstepTokenFile(folder)), token);
  return { configFile, written };
}
