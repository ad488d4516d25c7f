/** A PATCH in, the patched object out: the content type decides which of the four kinds of patch it is. */
import { isRecord } from "../lib/index.ts";
import { type KubeObject, objectKey } from "../model/index.ts";
import { recordAt } from "./access.ts";
import { asKind } from "./body.ts";
import type { WriteContext } from "./context.ts";
import { failure } from "./failure.ts";
import { resourceOf } from "./kind.ts";
import { checkLimits, maxBodyBytes, objectLimits } from "./limits.ts";
import { applyJsonPatch } from "./patch-json.ts";
import { mergePatch } from "./patch-merge.ts";
import { strategicMerge } from "./patch-strategic.ts";
import { scaleOf, withScale } from "./scale.ts";
import { applyObject, changeObject } from "./write.ts";

export async function patchFrom(
  context: WriteContext,
  contentType: string,
  patch: unknown,
): Promise<{ readonly code: number; readonly body: unknown }> {
  const type = contentType.split(";")[0]?.trim() ?? "";
  const { kind, name = "", namespace, query, subresource } = context.request;
  await context.pace.pause();
  checkLimits(patch, { ...objectLimits, maxBytes: maxBodyBytes });
  if (subresource === "scale") return { code: 200, body: await patchScale(context, type, patch) };
  switch (type) {
    case "application/json-patch+json":
      return { code: 200, body: await change(context, (before) => applyJsonPatch(before, patch)) };
    case "application/merge-patch+json":
      if (!isRecord(patch)) throw failure("BadRequest", "merge patch: the body is not an object");
      return { code: 200, body: await change(context, (before) => mergePatch(before, patch)) };
    case "application/strategic-merge-patch+json": {
      if ("custom" in kind.schema)
        throw failure(
          "UnsupportedMediaType",
          "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        );
      const schema = context.definitions.schemaOf(kind);
      return {
        code: 200,
        body: await change(context, (before) => strategicMerge(context.definitions, schema, before, patch)),
      };
    }
    case "application/apply-patch+yaml": {
      if (!query.get("fieldManager"))
        throw failure(
          "BadRequest",
          'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
        );
      const existed = context.store.get(resourceOf(kind), objectKey({ name, namespace })) !== undefined;
      const body = await applyObject(context, asKind(patch, kind), query.get("force") === "true");
      return { code: existed ? 200 : 201, body };
    }
    default:
      throw failure(
        "UnsupportedMediaType",
        `the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml`,
      );
  }
}

/** A Scale is small and has no lists: to merge is the same by all names. */
async function patchScale(context: WriteContext, type: string, patch: unknown): Promise<unknown> {
  const { kind } = context.request;
  const next = (scale: unknown): unknown =>
    type === "application/json-patch+json" ? applyJsonPatch(scale, patch) : mergePatch(scale, patch);
  // What the client says is compared, not the version that was read for it.
  const asked = (before: KubeObject): unknown => {
    const scale = scaleOf(kind, before);
    return next(
      isRecord(scale) ? { ...scale, metadata: { ...recordAt(scale, "metadata"), resourceVersion: "" } } : scale,
    );
  };
  return scaleOf(kind, await changeObject(context, (before) => withScale(kind, before, asked(before))));
}

function change(context: WriteContext, patch: (before: KubeObject) => unknown): Promise<KubeObject> {
  return changeObject(context, (before) => {
    const next = asKind(patch(before), context.request.kind);
    if (next.metadata.name !== before.metadata.name)
      throw failure(
        "BadRequest",
        `the name of the object (${next.metadata.name}) does not match the name on the URL (${before.metadata.name})`,
      );
    return next;
  });
}
