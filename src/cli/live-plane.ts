/** The API that is meant, and a question, in; what its running control plane answers out, or nothing where none can be asked. */
import { type Command, Option } from "commander";
import { type ErrorCode, FairleadError, readRecord, readText } from "../lib/index.ts";
import type { Mistake } from "../read-api/index.ts";
import type { AccessFlags } from "./cluster-access.ts";
import type { Io } from "./command.ts";
import { askDebug } from "./debug-client.ts";
import { openPlanes } from "./planes.ts";
import type { AskDebug } from "./pod-debug.ts";

export interface LiveFlags extends AccessFlags {
  /** `host:port` of a control plane's monitoring port. */
  readonly address?: string;
  readonly istioNamespace: string;
}

export function withLiveOptions(command: Command): Command {
  return command
    .option("--kubeconfig <file>", "how to reach the API")
    .option("--context <name>", "context of the kubeconfig")
    .option("--address <addr>", "monitoring port of a control plane, which is asked")
    .option("-i, --istioNamespace <namespace>", "where the control plane is", "istio-system")
    .addOption(
      new Option("--profile <profile>", "which filters the Envoys have, other than those that are connected").choices([
        "istio-proxy",
        "envoy",
      ]),
    );
}

/** What was asked wrongly comes as data. */
export function answerOrThrow<T extends object>(answer: unknown): T | undefined {
  const given = answer as T | Mistake | undefined;
  if (given === undefined || !("error" in given)) return given;
  const { code, error, remedy } = given;
  throw new FairleadError(code as ErrorCode, error, remedy === undefined ? {} : { hint: remedy });
}

/** One that was named has to answer; of any other, what it has can be worked out from its objects instead. */
export async function askLivePlane(flags: LiveFlags, path: string, question: object, io: Io): Promise<unknown> {
  const body = JSON.stringify(question);
  const { address } = flags;
  if (address !== undefined) return askOf((at, sent) => askDebug({ address }, at, io, sent), path, body);
  const unless = (codes: readonly ErrorCode[]) => (error: unknown) => {
    if (!io.signal.aborted && error instanceof FairleadError && codes.includes(error.code)) return undefined;
    throw error;
  };
  // An API that does not answer would not either when it is asked for its objects.
  const plane = await findPlane(flags, io).catch(unless(["not-found", "forbidden"]));
  // It does not answer, or it is an istiod, which does not know the path; or it may not be asked.
  return plane && askOf(plane, path, body).catch(unless(noAnswer));
}

/** A question may take its time; whether anybody is there is soon known. */
async function askOf(ask: AskDebug, path: string, body: string): Promise<unknown> {
  const known = await ask("list");
  if (Array.isArray(known) && known.includes(path)) return failedOr(await ask(path, body));
  throw new FairleadError("not-found", `the control plane does not know ${path}`, {
    hint: "it is an istiod, or of another version; without --address the objects of its API are read",
  });
}

const noAnswer: readonly ErrorCode[] = ["not-found", "unavailable", "too-large", "forbidden", "unauthenticated"];

/** Short of time or memory, it is no mistake of whoever asks. */
function failedOr(answer: unknown): unknown {
  const code = readText(readRecord(answer).code);
  return code === "unavailable" || code === "too-large" ? answerOrThrow(answer) : answer;
}

async function findPlane(flags: LiveFlags, io: Io): Promise<AskDebug> {
  const [plane] = await openPlanes(flags, io);
  if (!plane) throw new FairleadError("not-found", "no control plane runs there");
  return plane.ask;
}
