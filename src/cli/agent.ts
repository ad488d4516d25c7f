/** `fairlead agent proxy sidecar|router`: the node agent, by pilot-agent's arguments and environment. */
import type { Command } from "commander";
import { agentOptionsFromEnv, createAgent, readAgentMachine } from "../agent/index.ts";
import { createLogger } from "../lib/index.ts";
import type { Io } from "./command.ts";
import { processOverload } from "./process-overload.ts";

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  const agent = program
    .command("agent")
    .summary("Run the node agent beside a workload")
    .description("The sidecar's side of the mesh: identity, configuration and life of an Envoy.");
  agent
    .command("proxy")
    .argument("<type>", "sidecar or router")
    .description(
      "Runs Envoy with its identity and configuration. Settings come from pilot-agent's environment: POD_NAME, POD_NAMESPACE, INSTANCE_IP, PROXY_CONFIG, …",
    )
    .allowUnknownOption()
    .allowExcessArguments()
    .addHelpText(
      "after",
      "\nExample:\n  POD_NAME=web POD_NAMESPACE=default fairlead agent proxy sidecar --domain default.svc.cluster.local\n",
    )
    .action(async (_type: string, _flags: unknown, command: Command) => {
      const log = createLogger({ write: (line) => io.err(`${line}\n`), now: () => new Date() });
      const options = agentOptionsFromEnv(io.env, command.args, readAgentMachine(io.cwd, log));
      exit(await createAgent({ ...options, overload: processOverload(io, log) }).run(io.signal));
    });
}
