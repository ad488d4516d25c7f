/** An object in; which proxies have it out: as its status says, or as control planes answer, each for its own proxies. */
import type { KindRef, ObjectRef } from "../../kube/index.ts";
import { FairleadError, isRecord, readList, readRecord, readText } from "../../lib/index.ts";
import { type KubeObject, kinds, objectKey, programmedKinds } from "../../model/index.ts";
import type { Io } from "../command.ts";
import { askDebug, type DebugFlags } from "../debug-client.ts";

export interface Answer {
  readonly generation: number;
  readonly isDone: boolean;
  readonly reason: string;
  readonly message: string;
}

export function hasCondition({ group, kind }: Pick<KindRef, "group" | "kind">): boolean {
  return programmedKinds.some((one) => one.group === group && one.kind === kind);
}

/** Undefined where the status says nothing of it. */
export function conditionOf({ status }: KubeObject): Answer | undefined {
  const found = readList(readRecord(status).conditions)
    .filter(isRecord)
    .find(({ type }) => type === "Programmed");
  if (!found) return undefined;
  return {
    generation: Number(found.observedGeneration ?? 0),
    isDone: found.status === "True",
    reason: readText(found.reason),
    message: readText(found.message),
  };
}

export interface PlaneFlags {
  readonly data?: string;
  readonly address: readonly string[];
}

/** Of all that are asked: a replica counts its own proxies, so their counts add up. */
export async function planesSay(flags: PlaneFlags, kind: KindRef, ref: ObjectRef, io: Io): Promise<Answer> {
  const [all] = kinds.filter((one) => one.kind === kind.kind);
  if (!all)
    throw new FairleadError("usage", `proxies are sent nothing for a ${kind.kind}`, {
      hint: "Istio's kinds and the Gateway API's can be waited for",
    });
  // Of two kinds called Gateway the first is Istio's own.
  const name = all.group === kind.group ? kind.kind : `${kind.kind}.${kind.group}`;
  const path = `programmedz?object=${encodeURIComponent(`${name}/${objectKey({ ...ref })}`)}`;
  const asked: readonly DebugFlags[] =
    flags.address.length > 0
      ? flags.address.map((address) => ({ address }))
      : [flags.data === undefined ? {} : { data: flags.data }];
  return sumOf((await Promise.all(asked.map((plane) => askDebug(plane, path, io)))).map(readRecord));
}

function sumOf(answers: readonly Readonly<Record<string, unknown>>[]): Answer {
  const [one] = answers;
  const sum = (field: string): number => answers.reduce((total, answer) => total + Number(answer[field] ?? 0), 0);
  const isDone = answers.every((answer) => answer.isDone === true);
  const open = answers.filter((answer) => answer.isDone !== true);
  const refused = answers.find(({ reason }) => reason === "RejectedByProxy");
  const generation = Math.min(...answers.map((answer) => Number(answer.generation ?? 0)));
  return {
    generation,
    isDone,
    reason: readText((refused ?? open[0] ?? one)?.reason),
    message:
      answers.length === 1
        ? readText(one?.message)
        : [
            `${sum("acknowledged")}/${sum("affected")} proxies of ${answers.length} control planes have acknowledged generation ${generation}`,
            ...open.map((answer) => readText(answer.message)),
          ].join("; "),
  };
}
