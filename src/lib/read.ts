/** Decoded outside data of unknown shape in, typed pieces of it out; what has the wrong shape counts as absent. */
import { isRecord } from "./parse.ts";

export function readText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function readNumber(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

export function readRecord(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

export function readList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function readTexts(value: unknown): readonly string[] {
  return readList(value).filter((item) => typeof item === "string");
}

/** A map of texts such as labels; members of another type are left out. */
export function readTextMap(value: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(readRecord(value)).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return Object.fromEntries(entries);
}
