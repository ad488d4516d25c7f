/** RFC 6902: an object and a list of operations in, the patched object out. */
import jsonPatch from "fast-json-patch";
import { isRecord } from "../lib/index.ts";
import { failure } from "./failure.ts";

const maxOperations = 10_000;
const names: ReadonlySet<unknown> = new Set(["add", "remove", "replace", "move", "copy", "test"]);

export function applyJsonPatch(target: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch) || !patch.every(isOperation))
    throw failure("BadRequest", "json patch: the body is not a list of operations");
  if (patch.length > maxOperations)
    throw failure(
      "RequestEntityTooLarge",
      `The allowed maximum operations in a JSON patch is ${maxOperations}, got ${patch.length}`,
    );
  try {
    return jsonPatch.applyPatch(structuredClone(target), patch, true, false, true).newDocument;
  } catch (error) {
    const why = error instanceof Error ? (error.message.split("\n")[0] ?? "") : "cannot be applied";
    throw failure("Invalid", `the server rejected our request due to an error in our request: json patch: ${why}`);
  }
}

function isOperation(value: unknown): value is jsonPatch.Operation {
  return isRecord(value) && names.has(value.op) && typeof value.path === "string";
}
