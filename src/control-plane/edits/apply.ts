/**
 * YAML of somebody who looks at the page, and a client with their own credentials, in; the objects applied by the API out.
 * The API judges all of them before the first is written; where it is lost after that, it is told what was applied.
 */
import type { AppliedObject, ApplyAnswer, ApplyQuestion, ApplyRefusal } from "../../dashboard/index.ts";
import { apiStatus, type KubeClient } from "../../kube/index.ts";
import { FairleadError } from "../../lib/index.ts";
import { readObjects, type Wish } from "./read-objects.ts";

/** As the API notes who has set a field. */
const fieldManager = "fairlead-dashboard";
const maxMessage = 2_000;

/** `read`: for whoever cannot stop for as long as a large text takes. */
export async function applyObjects(
  client: KubeClient,
  question: ApplyQuestion,
  read: (question: ApplyQuestion) => Promise<readonly Wish[]> = async (asked) => readObjects(asked),
): Promise<ApplyAnswer> {
  const wishes = await read(question);
  const dry = await writeAll(client, wishes, question, true);
  if (dry.refused.length > 0) return { applied: [], refused: dry.refused };
  return await writeAll(client, wishes, question, false);
}

async function writeAll(
  client: KubeClient,
  wishes: readonly Wish[],
  { force = false }: ApplyQuestion,
  dryRun: boolean,
): Promise<ApplyAnswer> {
  const applied: AppliedObject[] = [];
  const refused: ApplyRefusal[] = [];
  for (const [i, { kind, object, name }] of wishes.entries())
    try {
      const { metadata } = await client.patch(kind, object.metadata, "apply", object, {
        ...{ fieldManager, force, fieldValidation: "Strict" },
        ...(dryRun ? { dryRun } : {}),
      });
      const { generation } = metadata;
      applied.push({ object: name, ...(generation === undefined ? {} : { generation }) });
    } catch (thrown) {
      const refusal = refusalOf(name, thrown);
      if (refusal) refused.push(refusal);
      else if (dryRun) throw thrown;
      else return { applied, refused: [...refused, unanswered(name, thrown), ...wishes.slice(i + 1).map(unsent)] };
    }
  return { applied, refused };
}

/** Undefined where the API has said nothing. */
function refusalOf(object: string, thrown: unknown): ApplyRefusal | undefined {
  const { code } = FairleadError.from(thrown);
  const status = apiStatus(thrown);
  if (!status) return undefined;
  const message = status.message.slice(0, maxMessage);
  const isOwned = code === "conflict" && /conflicts? with "/.test(message);
  return { object, message, remedy: remedies(code, isOwned), ...(isOwned ? { isOwned } : {}) };
}

const unanswered = (object: string, thrown: unknown): ApplyRefusal => ({
  object,
  message: `the API has not answered: ${FairleadError.from(thrown).message.slice(0, maxMessage)}`,
  remedy: "It may be applied all the same: open it again.",
});

const unsent = ({ name }: Wish): ApplyRefusal => ({
  object: name,
  message: "it was not sent, since the API had not answered for the one before it",
  remedy: "Apply it again.",
});

function remedies(code: string, isOwned: boolean): string {
  if (isOwned) return "Leave these fields as they are, or take them over from whoever set them.";
  if (code === "conflict") return "Somebody has changed it meanwhile: open it again.";
  if (code === "forbidden" || code === "unauthenticated")
    return "Ask for the right to write it, or apply as another user.";
  return "Change what is named, and try again.";
}
