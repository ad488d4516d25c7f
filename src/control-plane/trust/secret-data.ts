/** A Secret in, its members as text out, and back. */
import { isRecord } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";

export function decodeSecret(secret: KubeObject | undefined): Readonly<Record<string, string>> {
  const data = secret && isRecord(secret.data) ? secret.data : {};
  return Object.fromEntries(
    Object.entries(data).flatMap(([key, value]) =>
      typeof value === "string" ? [[key, Buffer.from(value, "base64").toString("utf8")]] : [],
    ),
  );
}

export function encodeSecret(data: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")]));
}
