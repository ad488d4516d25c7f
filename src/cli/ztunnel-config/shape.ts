/**
 * Decoded JSON of unknown shape in; data with just the fields that istioctl knows out, empty ones as istioctl writes
 * them: a missing text as "", a missing list as null, and some fields only where they say something.
 */
import { isRecord, readRecord, readText } from "../../lib/index.ts";

export type Shape<T> = (value: unknown) => T;

export const text: Shape<string> = readText;
export const number: Shape<number> = (value) => (typeof value === "number" ? value : 0);
export const flag: Shape<boolean> = (value) => value === true;

export function list<T>(of: Shape<T>): Shape<readonly T[] | null> {
  return (value) => (Array.isArray(value) ? value.map(of) : null);
}

export function map<T>(of: Shape<T>): Shape<Readonly<Record<string, T>> | null> {
  return (value) =>
    isRecord(value) ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, of(inner)])) : null;
}

/** Absent stays absent. */
export function optional<T>(of: Shape<T>): Shape<T | undefined> {
  return (value) => (value === undefined || value === null ? undefined : of(value));
}

/** Left out where it is empty. */
export function unlessEmpty<T>(of: Shape<T>): Shape<T | undefined> {
  return (value) => {
    const read: unknown = of(value);
    const empty =
      read === "" || read === 0 || read === false || read === null || (Array.isArray(read) && read.length === 0);
    return empty ? undefined : (read as T);
  };
}

export function object<T>(fields: { readonly [Key in keyof T]: Shape<T[Key]> }): Shape<T> {
  return (value) => {
    const given = readRecord(value);
    const read = Object.keys(fields).map((key) => [key, fields[key as keyof T](given[key])] as const);
    // The keys are those of T, each with its own shape.
    return Object.fromEntries(read.filter(([, inner]) => inner !== undefined)) as T;
  };
}
