/** The flags of `proxy-config`, by istioctl's names; each command takes those that mean something to it. */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { SourceFlags } from "./source.ts";

export interface ProxyConfigFlags extends SourceFlags {
  readonly output?: string;
  readonly fqdn?: string;
  readonly direction?: string;
  readonly subset?: string;
  readonly port?: number;
  readonly address?: string;
  readonly type?: string;
  readonly name?: string;
  readonly cluster?: string;
  readonly status?: string;
  readonly verbose?: boolean;
  readonly withHeaders?: boolean;
  readonly why?: boolean;
}

const options = {
  fqdn: () => new Option("--fqdn <host>", "clusters whose name has this host in it"),
  direction: () => new Option("--direction <direction>", "clusters of this direction: inbound or outbound"),
  subset: () => new Option("--subset <subset>", "clusters of this subset"),
  port: () => new Option("--port <port>", "resources of this port").argParser(parsePort),
  address: () => new Option("--address <address>", "resources of this address"),
  type: () => new Option("--type <type>", "listeners of this type: HTTP, TCP or HTTP+TCP"),
  name: () => new Option("--name <name>", "routes of this name"),
  cluster: () => new Option("--cluster <name>", "endpoints of this cluster"),
  status: () => new Option("--status <status>", "endpoints in this state, such as healthy"),
  verbose: () => new Option("--verbose", "a row for each match (the default)").default(true),
  noVerbose: () => new Option("--no-verbose", "a row for each resource"),
  why: () => new Option("--why", "also the objects and fields that each came from"),
  withHeaders: () => new Option("--with-headers", "a heading above each table"),
} as const;

export type FilterFlag = keyof typeof options;

/** Flags that say where the proxy is. */
export function addTargetFlags(command: Command): Command {
  return command
    .option("-n, --namespace <namespace>", "namespace of the Pod")
    .option("--data <dir>", "data folder of the running `fairlead up`")
    .option("--control-plane <host:port>", "monitoring port of a control plane, to ask where Envoy cannot be")
    .option("--kubeconfig <file>", "how to reach the API")
    .option("--context <name>", "context of the kubeconfig")
    .addOption(new Option("--proxy-admin-port <port>", "Envoy's admin port").argParser(parsePort).default(15000));
}

export function addViewFlags(command: Command, filters: readonly FilterFlag[]): Command {
  command
    .option("-o, --output <format>", "how to print: short, json, yaml, name, jsonpath=… or custom-columns=…")
    .option("-f, --file <file>", "a dump that was saved before; - for standard input");
  for (const filter of filters) command.addOption(options[filter]());
  return addTargetFlags(command);
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65535) throw new InvalidArgumentError("Not a port.");
  return port;
}
