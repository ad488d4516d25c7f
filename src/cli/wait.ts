/** `fairlead wait`: returns when every proxy that an object reaches has acknowledged its generation, or says who has not. */
import type { Command } from "commander";
import { createKubeClient, type KubeClient } from "../kube/index.ts";
import { FairleadError, parseDurationMs, printable, wait } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { clusterAccess } from "./cluster-access.ts";
import { collect, type Io } from "./command.ts";
import { findKind, type NamedKind } from "./objects.ts";
import { outputOption, parseOutput } from "./output.ts";
import { type Answer, conditionOf, hasCondition, type PlaneFlags, planesSay } from "./wait/answers.ts";

interface WaitFlags extends PlaneFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace: string;
  readonly for: string;
  readonly timeout: string;
  readonly output: string;
}

/** What became of one object in time. */
interface Reached {
  readonly object: string;
  readonly programmed: boolean;
  readonly generation: number;
  readonly reason: string;
  readonly message: string;
}

interface Target {
  readonly kind: NamedKind;
  readonly name: string;
}

/** A proxy that is in step answers within milliseconds. */
const pollMs = 200;

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("wait")
    .summary("Wait until every proxy that an object reaches has acknowledged it")
    .argument("<object...>", "TYPE/NAME, or TYPE NAME...")
    .option("-n, --namespace <namespace>", "namespace of the objects", "default")
    .option("--for <state>", "programmed: all proxies that it reaches have acknowledged this generation", "programmed")
    .option("--timeout <duration>", "how long to wait; 0 asks once", "30s")
    .option("--kubeconfig <file>", "how to reach the API")
    .option("--context <name>", "context of the kubeconfig")
    .option(
      "--address <addr>",
      "ask this control plane's monitoring port, not the status; for each replica",
      collect,
      [],
    )
    .option("--data <dir>", "data folder of the running `fairlead up`, for kinds without the condition")
    .addOption(outputOption("text"))
    .addHelpText(
      "after",
      "\nExamples:\n  fairlead wait virtualservice/reviews\n  fairlead wait vs/reviews dr/reviews -n shop --timeout 10s\n  kubectl wait --for=condition=Programmed virtualservice/reviews\n",
    )
    .action(async (names: readonly string[], flags: WaitFlags) => exit(await waitForAll(names, flags, io)));
}

async function waitForAll(names: readonly string[], flags: WaitFlags, io: Io): Promise<number> {
  if (!["programmed", "condition=programmed"].includes(flags.for.toLowerCase()))
    throw new FairleadError("usage", `--for=${flags.for} is not known`, { hint: "--for=programmed is" });
  const untilMs = performance.now() + parseTimeout(flags.timeout);
  const client = createKubeClient(await clusterAccess(flags, io));
  try {
    const reached: Reached[] = [];
    const line = ({ object, message }: Reached): string => `${object}: ${printable(message)}\n`;
    const print = parseOutput(flags.output, "text");
    for (const target of await parseTargets(client, names)) {
      const one = await reach(client, target, flags, untilMs, io);
      reached.push(one);
      // People are told as soon as it is so.
      if (one.programmed && flags.output === "text") io.out(line(one));
    }
    const done = reached.filter(({ programmed }) => programmed);
    const forms = {
      plain: () => done.map(line).join(""),
      data: () => reached,
      names: () => done.map(({ object }) => object),
    };
    if (flags.output !== "text") io.out(print(forms));
    return done.length === reached.length ? 0 : 1;
  } finally {
    client.close();
  }
}

export function parseTimeout(text: string): number {
  const timeoutMs = parseDurationMs(text) ?? (text === "0" ? 0 : undefined);
  if (timeoutMs === undefined || timeoutMs < 0)
    throw new FairleadError("usage", `--timeout ${text} is not a duration`, { hint: "write it as 30s" });
  return timeoutMs;
}

async function parseTargets(client: KubeClient, words: readonly string[]): Promise<readonly Target[]> {
  const [first = "", ...others] = words;
  const pairs = first.includes("/")
    ? words.map((word): readonly string[] => word.split("/"))
    : others.map((name): readonly string[] => [first, name]);
  if (
    pairs.length === 0 ||
    pairs.some(([type = "", name = "", ...more]) => type === "" || name === "" || more.length > 0)
  )
    throw new FairleadError("usage", "what to wait for is named as TYPE/NAME", {
      hint: "such as virtualservice/reviews",
    });
  return Promise.all(pairs.map(async ([type = "", name = ""]) => ({ kind: await findKind(client, type), name })));
}

/** Whether it became so in time; what is known of it is told. */
export async function isProgrammed(
  client: KubeClient,
  target: Target,
  flags: PlaneFlags & { readonly namespace: string },
  untilMs: number,
  io: Io,
): Promise<boolean> {
  const { object, programmed, message } = await reach(client, target, flags, untilMs, io);
  if (programmed) io.out(`${object}: ${printable(message)}\n`);
  return programmed;
}

/** On the way, and where it does not come to that, what is known is told. */
async function reach(
  client: KubeClient,
  { kind, name }: Target,
  flags: PlaneFlags & { readonly namespace: string },
  untilMs: number,
  io: Io,
): Promise<Reached> {
  const namespace = kind.namespaced ? flags.namespace : undefined;
  const read = (): Promise<KubeObject> => client.get(kind, { name, namespace });
  const asksPlanes = flags.address.length > 0 || !hasCondition(kind);
  const title = `${kind.kind.toLowerCase()}.${kind.group}/${name}`;
  const { generation = 0 } = (await read()).metadata;
  let told = "";
  for (;;) {
    const answer: Answer | undefined = asksPlanes
      ? await planesSay(flags, kind, { name, namespace }, io)
      : conditionOf(await read());
    const isCurrent = answer !== undefined && answer.generation >= generation;
    const found = { object: title, generation, reason: answer?.reason ?? "", message: answer?.message ?? "" };
    if (isCurrent && answer.isDone) return { ...found, programmed: true };
    const isRefused = isCurrent && answer.reason === "RejectedByProxy";
    const isLate = performance.now() + pollMs >= untilMs;
    if (isRefused || isLate) {
      io.err(
        `${isRefused ? "" : "timed out: "}${title}: ${isCurrent ? printable(answer.message) : unknown(answer, generation)}\n`,
      );
      return { ...found, programmed: false };
    }
    if (isCurrent && answer.message !== told) io.err(`${title}: ${printable(answer.message)}\n`);
    if (isCurrent) told = answer.message;
    await wait(pollMs, io.signal);
  }
}

function unknown(answer: Answer | undefined, generation: number): string {
  if (answer) return `generation ${generation} has not been looked at yet, ${answer.generation} has`;
  return "its status does not say; is a control plane running, and PILOT_ENABLE_STATUS not false? --address asks one directly";
}
