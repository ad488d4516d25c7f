/** The agent's options in; where the admin interface of its Envoy is out. */
import type { AgentOptions } from "../agent-options.ts";
import type { ServerAddress } from "../request-text.ts";
import { shortestPath } from "../socket-path.ts";

export const adminSocket = ({ workDir, bootstrap }: AgentOptions): string =>
  shortestPath(workDir, bootstrap.adminSocket);

export const adminPort = ({ localhost, proxyConfig }: AgentOptions) => ({
  host: localhost,
  port: proxyConfig.proxyAdminPort ?? 15000,
});

/** A bootstrap that the user wrote has its admin where the user put it; ours has it on a socket. */
export const adminAddress = (options: AgentOptions): ServerAddress =>
  options.proxyConfig.customConfigFile ? adminPort(options) : { socketPath: adminSocket(options) };
