/** An object's status and its problems in; the status that tells them, as Istio's statuses do, out. */
import { isRecord, readList, readText } from "../../lib/index.ts";
import { istioVersion } from "../../model/index.ts";
import type { ObjectProblem } from "./find-problems.ts";

type Json = Readonly<Record<string, unknown>>;

const conditionType = "Reconciled";
const reasons = { errors: "ErrorsFound", warnings: "WarningsFound", none: "NoProblemsFound" } as const;
const maxMessage = 4_000;

/** Whether a status says of this generation that nothing is wrong. */
export function tellsNoProblem(status: Json, generation: number | undefined): boolean {
  return readList(status.conditions)
    .filter(isRecord)
    .some(
      (condition) =>
        isOurs(condition) &&
        condition.reason === reasons.none &&
        condition.observedGeneration === (generation === undefined ? undefined : String(generation)),
    );
}

/** Our condition and messages replaced, also where nothing is wrong: who waits for it learns that it was looked at. */
export function problemStatus(
  status: Json,
  problems: readonly ObjectProblem[],
  generation: number | undefined,
  now: string,
): Json {
  const { conditions, validationMessages: _, ...rest } = status;
  const before = readList(conditions);
  const others = before.filter((condition) => !isOurs(condition));
  const own = condition(problems, generation);
  const last = before.filter(isRecord).find(isOurs);
  const isSame = last?.status === own.status && last?.reason === own.reason;
  const lastTransitionTime = isSame ? (last?.lastTransitionTime ?? now) : now;
  return {
    ...rest,
    conditions: [...others, { ...own, lastTransitionTime }],
    ...(problems.length === 0 ? {} : { validationMessages: problems.map(messageOf) }),
  };
}

function messageOf({ code, level }: ObjectProblem): Json {
  return { type: { code }, level: level.toUpperCase(), documentationUrl: documentationOf(code) };
}

function isOurs(condition: unknown): boolean {
  if (!isRecord(condition) || condition.type !== conditionType) return false;
  return Object.values<string>(reasons).includes(readText(condition.reason));
}

/** What is wrong keeps an object from taking effect; what is suspicious does not. */
function condition(problems: readonly ObjectProblem[], generation: number | undefined) {
  const isWrong = problems.some(({ level }) => level === "Error");
  const text = problems
    .map(({ code, path, message }) => `[${code}] ${path === "" ? "" : `${path}: `}${message}`)
    .join("; ");
  return {
    type: conditionType,
    status: isWrong ? "False" : "True",
    reason: isWrong ? reasons.errors : problems.length > 0 ? reasons.warnings : reasons.none,
    message: text.length > maxMessage ? `${text.slice(0, maxMessage)}…` : text || "nothing wrong was found",
    // A protobuf int64, so text in JSON.
    ...(generation === undefined ? {} : { observedGeneration: String(generation) }),
  };
}

function documentationOf(code: string): string {
  const [major, minor] = istioVersion.split(".");
  return code.startsWith("IST")
    ? `https://istio.io/v${major}.${minor}/docs/reference/config/analysis/${code.toLowerCase()}/`
    : "docs/reference/coverage.md";
}
