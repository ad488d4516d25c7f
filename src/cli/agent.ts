/** `fairlead agent proxy|wait|request`: the node agent and questions to it, by pilot-agent's arguments and environment. */
import type { Command } from "commander";
import {
  agentOptionsFromEnv,
  createAgent,
  readAgentMachine,
  requestAnswer,
  type ServerAddress,
  waitUntilReady,
} from "../agent/index.ts";
import { createLogger, FairleadError } from "../lib/index.ts";
import type { Io } from "./command.ts";
import { processOverload } from "./process-overload.ts";

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  const agent = program
    .command("agent")
    .summary("Run the node agent beside a workload")
    .description("The sidecar's side of the mesh: identity, configuration and life of an Envoy.")
    .addHelpText("after", "\nExamples:\n  fairlead agent proxy sidecar\n  fairlead agent wait\n");
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
  registerWait(agent, io);
  registerRequest(agent, io);
}

interface WaitFlags {
  readonly timeoutSeconds: string;
  readonly requestTimeoutMillis: string;
  readonly periodMillis: string;
  readonly url: string;
}

function registerWait(agent: Command, io: Io): void {
  agent
    .command("wait")
    .description("Waits until the proxy of this Pod is ready.")
    .option("--timeoutSeconds <seconds>", "how long to wait", "60")
    .option("--requestTimeoutMillis <ms>", "how long to wait for one answer", "500")
    .option("--periodMillis <ms>", "time between two attempts", "500")
    .option("--url <url>", "where to ask", "http://localhost:15021/healthz/ready")
    .addHelpText("after", "\nExample:\n  fairlead agent wait --timeoutSeconds 120\n")
    .action(async (flags: WaitFlags) => {
      await waitUntilReady({
        ...addressOf(flags.url),
        timeoutMs: wholeNumber("--timeoutSeconds", flags.timeoutSeconds) * 1000,
        requestTimeoutMs: wholeNumber("--requestTimeoutMillis", flags.requestTimeoutMillis),
        periodMs: wholeNumber("--periodMillis", flags.periodMillis),
        signal: io.signal,
      });
      io.err("Envoy is ready\n");
    });
}

/** Ports of the own Pod that answer such questions; with another one the command would be a way to the application. */
const requestPorts: ReadonlySet<string> = new Set(["15000", "15004", "15020", "15021"]);
/** What a proxy with many thousands of endpoints tells of itself. */
const maxAnswerBytes = 400 * 1024 * 1024;

function registerRequest(agent: Command, io: Io): void {
  agent
    .command("request")
    .description("Makes an HTTP request to Envoy's admin, or to another port of this Pod's proxy.")
    .argument("<method>", "GET or POST")
    .argument("<path>", "such as config_dump")
    .argument("[body]", "what to send")
    .option("--debug-port <port>", "15000, 15004, 15020 or 15021", "15000")
    .addHelpText("after", "\nExample:\n  fairlead agent request GET clusters\n")
    .action(async (method: string, path: string, body: string | undefined, flags: { readonly debugPort: string }) => {
      if (!requestPorts.has(flags.debugPort))
        throw new FairleadError("usage", `--debug-port: ${flags.debugPort} is no port of the proxy`, {
          hint: `give one of ${[...requestPorts].join(", ")}`,
        });
      const answer = await requestAnswer({
        method,
        ...addressOf(`http://localhost:${flags.debugPort}/${path.replace(/^\//, "")}`),
        body: body ?? "",
        timeoutMs: 60_000,
        maxBytes: maxAnswerBytes,
      });
      // As pilot-agent has it: tools read a 404 as an answer.
      if (answer.status > 399 && answer.status !== 404)
        throw new FairleadError("unavailable", `received unsuccessful status code ${answer.status}: ${answer.body}`);
      // istioctl reads this as JSON: nothing else is printed.
      io.out(`${answer.body}\n`);
    });
}

function wholeNumber(flag: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new FairleadError("usage", `${flag}: ${text} is not a whole number`);
  return Number(text);
}

function addressOf(text: string): { readonly at: ServerAddress; readonly path: string } {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:")
    throw new FairleadError("usage", `${text} is no URL of this Pod`, {
      hint: "write it as http://localhost:15021/healthz/ready",
    });
  return { at: { host: url.hostname, port: Number(url.port || 80) }, path: `${url.pathname}${url.search}` };
}
