/** Flags in; a root rotation that the control plane was asked for, followed to its end, out. */
import { randomUUID } from "node:crypto";
import { type RotationView, readRotationView, requestRotation } from "../../control-plane/index.ts";
import { createKubeClient, type KubeClient } from "../../kube/index.ts";
import { FairleadError, parseDurationMs, wait } from "../../lib/index.ts";
import { clusterAccess } from "../cluster-access.ts";
import type { Io } from "../command.ts";

export interface RotateFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly istioNamespace: string;
  readonly resume?: boolean;
  readonly rollback?: boolean;
  readonly ignore?: readonly string[];
  readonly wait: boolean;
  readonly timeout: string;
  readonly output: "text" | "json";
}

const lookMs = 500;
/** A control plane that leads answers within a second. */
const answerMs = 30_000;

export async function rotateRoot(flags: RotateFlags, io: Io): Promise<number> {
  const timeoutMs = parseDurationMs(flags.timeout);
  if (timeoutMs === undefined)
    throw new FairleadError("usage", `--timeout: ${flags.timeout} is not a duration`, { hint: "write it as 30m" });
  if (flags.rollback && flags.resume)
    throw new FairleadError("usage", "--rollback and --resume exclude each other", {
      hint: "--rollback goes back from wherever the rotation is",
    });
  const client = createKubeClient(await clusterAccess(flags, io));
  try {
    const read = (): Promise<RotationView> => readRotationView(client, flags.istioNamespace, new Date());
    const refused = await ask(client, flags, read, io);
    if (refused !== "") {
      io.err(`fairlead: ${refused}\n`);
      return 1;
    }
    return await follow(flags, read, timeoutMs, io);
  } finally {
    client.close();
  }
}

/** What was the control plane's objection; empty where it did as it was asked. */
async function ask(client: KubeClient, flags: RotateFlags, read: () => Promise<RotationView>, io: Io): Promise<string> {
  if (flags.resume && !flags.ignore) return "";
  const id = randomUUID();
  const action = flags.rollback ? "rollback" : flags.ignore ? "ignore" : "start";
  await requestRotation(client, flags.istioNamespace, { id, action, proxies: flags.ignore ?? [] });
  for (const until = performance.now() + answerMs; performance.now() < until; ) {
    const { answer } = await read();
    if (answer?.id === id) return answer.refused;
    await wait(lookMs, io.signal);
  }
  throw new FairleadError("timeout", "no control plane has answered", {
    hint: "is one running, and does it lead? The request stays: it is taken up by the next one that does",
  });
}

async function follow(
  flags: RotateFlags,
  read: () => Promise<RotationView>,
  timeoutMs: number,
  io: Io,
): Promise<number> {
  const until = performance.now() + timeoutMs;
  let told = "";
  for (;;) {
    const view = await read();
    const { facts } = view;
    if (!facts) {
      io.err("no root rotation is under way, and there was none\n");
      return 1;
    }
    const line = flags.output === "json" ? JSON.stringify(describe(view)) : lineOf(view);
    if (line !== told) io.out(`${line}\n`);
    told = line;
    if (facts.phase === "done" || !flags.wait) return 0;
    if (performance.now() >= until) {
      io.err("the rotation goes on; look again with --resume\n");
      return 1;
    }
    await wait(lookMs, io.signal);
  }
}

function describe({ facts, waiting }: RotationView): unknown {
  return {
    ...{ id: facts?.id, phase: facts?.phase, rollback: facts?.isRollback, startedAt: facts?.startedAt },
    ...{ since: facts?.since, ignored: facts?.ignored, waiting: waiting.count, waitingFor: waiting.names },
  };
}

const meaning: Readonly<Record<string, string>> = {
  trust: "proxies are given both roots",
  reissue: "the new root signs, and proxies come for new certificates",
  settle: "the control plane shows certificates of the new root",
  done: "the old root is gone",
};

const maxShown = 5;

function lineOf({ facts, waiting }: RotationView): string {
  if (!facts) return "";
  const shown = waiting.names.slice(0, maxShown).join(", ");
  const more = waiting.count > maxShown ? ", …" : "";
  const left = waiting.count > 0 && facts.phase !== "done" ? `; waiting for ${waiting.count}: ${shown}${more}` : "";
  const back = facts.isRollback ? " (rollback)" : "";
  return `${facts.phase}${back}: ${meaning[facts.phase] ?? ""}${left}`;
}
