/**
 * YAML of somebody who looks at the page, and a client with their own credentials, in; the objects applied by the API out.
 * The API judges all of them before the first is written; where it is lost after that, it is told what was applied.
 */
import type { AppliedObject, ApplyAnswer, ApplyQuestion, ApplyRefusal } from "../../dashboard/index.ts";
import { apiStatus, type KindRef, type KubeClient, kindRef } from "../../kube/index.ts";
import { FairleadError, isRecord, objectLimits, parseYaml } from "../../lib/index.ts";
import { type KubeObject, kindOf, objectName } from "../../model/index.ts";

/** As the API notes who has set a field. */
const fieldManager = "fairlead-dashboard";
const maxObjects = 50;
const maxMessage = 2_000;

export async function applyObjects(client: KubeClient, question: ApplyQuestion): Promise<ApplyAnswer> {
  const wishes = readObjects(question);
  const dry = await writeAll(client, wishes, question, true);
  if (dry.refused.length > 0) return { applied: [], refused: dry.refused };
  return await writeAll(client, wishes, question, false);
}

interface Wish {
  readonly kind: KindRef;
  readonly object: KubeObject;
  readonly name: string;
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

function readObjects({ objects, resourceVersion }: ApplyQuestion): readonly Wish[] {
  const documents = parseYaml(objects, objectLimits).filter((document) => document !== null && document !== undefined);
  if (documents.length === 0) throw new FairleadError("invalid", "there is no object in it");
  if (documents.length > maxObjects)
    throw new FairleadError("invalid", `more than ${maxObjects} objects are not applied from here`, {
      hint: "use kubectl apply",
    });
  const wishes = documents.map(readObject);
  const [only] = wishes;
  if (resourceVersion === undefined || !only || wishes.length > 1) return wishes;
  return [{ ...only, object: { ...only.object, metadata: { ...only.object.metadata, resourceVersion } } }];
}

/** What the API keeps of an object is not written back. */
function readObject(document: unknown): Wish {
  const { apiVersion, kind, metadata, status: _, ...content } = isRecord(document) ? document : {};
  const name = isRecord(metadata) ? metadata.name : undefined;
  if (typeof apiVersion !== "string" || typeof kind !== "string" || typeof name !== "string" || !isRecord(metadata))
    throw new FairleadError("invalid", "an object needs apiVersion, kind and metadata.name");
  const known = kindOf(apiVersion, kind);
  if (!known)
    throw new FairleadError("invalid", `${kind} of ${apiVersion} is not edited here`, {
      hint: "objects of Istio's and the Gateway API's kinds are; use kubectl apply for others",
    });
  const ref = { ...kindRef(known), version: apiVersion.slice(apiVersion.indexOf("/") + 1) };
  const { namespace = "default", labels, annotations } = metadata;
  const own = {
    ...{ name, ...(ref.namespaced ? { namespace: String(namespace) } : {}) },
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
  };
  const object = { ...content, apiVersion, kind, metadata: own } as KubeObject;
  return { kind: ref, object, name: objectName(kind, object.metadata) };
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
