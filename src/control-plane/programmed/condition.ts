/** An object's status and what is said of its generation in; the status with that as its condition `Programmed` out. */
import { isRecord, readList } from "../../lib/index.ts";
import type { Reason, Said } from "./say.ts";

type Json = Readonly<Record<string, unknown>>;

const conditionType = "Programmed";

/** In its place among the others: a list that is put in another order would be written for ever. */
export function withCondition(status: Json, said: Said, generation: number | undefined, now: string): Json {
  const before = readList(status.conditions);
  const last = conditionOf(status);
  const own = {
    type: conditionType,
    status: said.isDone ? "True" : "False",
    reason: said.reason,
    message: said.message,
    // A number: kubectl wait compares it with the object's, and takes a text for none.
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
  const lastTransitionTime = last?.status === own.status ? (last.lastTransitionTime ?? now) : now;
  const condition = { ...own, lastTransitionTime };
  const conditions = last ? before.map((one) => (one === last ? condition : one)) : [...before, condition];
  return { ...status, conditions };
}

/** Whether the status says of this generation that it is everywhere. */
export function tellsProgrammed(status: Json, generation: number | undefined): boolean {
  const own = conditionOf(status);
  return own?.status === "True" && own.observedGeneration === generation;
}

/** Whether it says so because nobody was there to have it. */
export function tellsNobody(status: Json): boolean {
  const reason: Reason = "NoProxyAffected";
  return conditionOf(status)?.reason === reason;
}

function conditionOf(status: Json): Json | undefined {
  return readList(status.conditions)
    .filter(isRecord)
    .find(({ type }) => type === conditionType);
}
