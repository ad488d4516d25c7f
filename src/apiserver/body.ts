/** A request's bytes in, plain data out: at most so many bytes, so deep, JSON or YAML. */
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { FairleadError, isRecord, objectLimits, parseJson, parseYaml } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import type { Definitions } from "./definitions.ts";
import { failure } from "./failure.ts";
import { type ApiKind, apiVersionOf } from "./kind.ts";
import { isProtobuf, parseProtobuf } from "./protobuf-body.ts";

/** Kubernetes' own limit of a request body. */
export const maxBodyBytes = 3 * 1024 * 1024;

export async function readBody(stream: Readable, encoding: string | undefined): Promise<Buffer> {
  const source = encoding === "gzip" ? stream.pipe(createGunzip()) : stream;
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of source) {
      size += (chunk as Buffer).length;
      // Also what a compressed body grows to counts.
      if (size > maxBodyBytes)
        throw failure("RequestEntityTooLarge", `Request entity too large: limit is ${maxBodyBytes}`);
      chunks.push(chunk as Buffer);
    }
  } catch (error) {
    if (error instanceof FairleadError) throw error;
    throw failure("BadRequest", "the request's body could not be read");
  }
  return Buffer.concat(chunks);
}

/** `kind` is the one that the URL names. */
export function parseBody(definitions: Definitions, kind: ApiKind, bytes: Buffer, contentType: string): unknown {
  if (isProtobuf(contentType)) return parseProtobuf(definitions, kind, bytes);
  const text = bytes.toString();
  const type = contentType.split(";")[0]?.trim().toLowerCase() ?? "";
  if (text.trim() === "") return undefined;
  try {
    if (type === "application/json" || type === "" || type.endsWith("+json"))
      return parseJson(text, { ...objectLimits, maxBytes: maxBodyBytes });
    if (type === "application/yaml" || type.endsWith("+yaml"))
      return parseYaml(text, { ...objectLimits, maxBytes: maxBodyBytes })[0];
  } catch (error) {
    throw failure("BadRequest", `the object provided is unrecognized: ${FairleadError.from(error).message}`);
  }
  throw failure(
    "UnsupportedMediaType",
    `the body of the request was in an unknown format - accepted media types include: application/json, application/yaml`,
  );
}

/** The body as an object of the kind that the URL names. */
export function asKind(body: unknown, kind: ApiKind): KubeObject {
  if (!isRecord(body)) throw failure("BadRequest", "the object provided is unrecognized (must be of type Object)");
  const { apiVersion, kind: name } = body;
  if (name !== undefined && name !== kind.kind)
    throw failure(
      "BadRequest",
      `${String(name)} in version ${JSON.stringify(apiVersion)} cannot be handled as a ${kind.kind}: the URL names ${kind.plural}`,
    );
  if (apiVersion !== undefined && apiVersion !== apiVersionOf(kind))
    throw failure(
      "BadRequest",
      `the API version in the data (${String(apiVersion)}) does not match the expected API version (${apiVersionOf(kind)})`,
    );
  const metadata = isRecord(body.metadata) ? body.metadata : {};
  const named = metadata.name;
  if (named !== undefined && named !== null && typeof named !== "string")
    throw failure(
      "BadRequest",
      `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: metadata.name is not a string`,
    );
  return {
    ...body,
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: { ...metadata, name: typeof named === "string" ? named : "" },
  };
}
