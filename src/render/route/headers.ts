/** Header operations of a route or a destination in; what Envoy adds and removes, and the authority it sets, out. */
import { create } from "@bufbuild/protobuf";
import {
  type HeaderValueOption,
  HeaderValueOption_HeaderAppendAction,
  HeaderValueOptionSchema,
} from "../../gen/envoy/config/core/v3/base_pb.js";
import { sortBy } from "../../lib/index.ts";
import type { HeaderOperations, RouteHeaders } from "../../model/index.ts";
import { isUsableValue } from "./header-commands.ts";

export interface HeaderEdits {
  readonly requestHeadersToAdd: HeaderValueOption[];
  readonly requestHeadersToRemove: string[];
  readonly responseHeadersToAdd: HeaderValueOption[];
  readonly responseHeadersToRemove: string[];
}

export function headerEdits(headers: RouteHeaders | undefined): HeaderEdits {
  return {
    requestHeadersToAdd: additions(headers?.request),
    requestHeadersToRemove: removals(headers?.request),
    responseHeadersToAdd: additions(headers?.response),
    responseHeadersToRemove: removals(headers?.response),
  };
}

export function hasUsableHeaders({ headers }: { readonly headers?: RouteHeaders }): boolean {
  const edits = headerEdits(headers);
  const added = [...edits.requestHeadersToAdd, ...edits.responseHeadersToAdd];
  return added.every(({ header }) => isUsableValue(header?.value ?? ""));
}

/** First those of `first`, then those of `second`. */
export function joinEdits(first: HeaderEdits, second: HeaderEdits): HeaderEdits {
  return {
    requestHeadersToAdd: [...first.requestHeadersToAdd, ...second.requestHeadersToAdd],
    requestHeadersToRemove: [...first.requestHeadersToRemove, ...second.requestHeadersToRemove],
    responseHeadersToAdd: [...first.responseHeadersToAdd, ...second.responseHeadersToAdd],
    responseHeadersToRemove: [...first.responseHeadersToRemove, ...second.responseHeadersToRemove],
  };
}

/** Envoy cannot set the authority as a header: it becomes a rewrite of the host. `set` goes before `add`. */
export function authorityEdit(headers: RouteHeaders | undefined): string {
  const { set, add } = headers?.request ?? {};
  return authorityOf(set) || authorityOf(add);
}

/** Of several the last by name: they are a map, and one that was translated has the order in which it was made. */
function authorityOf(headers: Readonly<Record<string, string>> | undefined): string {
  return sortBy(Object.entries(headers ?? {}), ([name]) => name).findLast(([name]) => isAuthority(name))?.[1] ?? "";
}

function additions(operations: HeaderOperations | undefined): HeaderValueOption[] {
  const { OVERWRITE_IF_EXISTS_OR_ADD, APPEND_IF_EXISTS_OR_ADD } = HeaderValueOption_HeaderAppendAction;
  return [
    ...additionsOf(operations?.set, OVERWRITE_IF_EXISTS_OR_ADD),
    ...additionsOf(operations?.add, APPEND_IF_EXISTS_OR_ADD),
  ];
}

function additionsOf(
  headers: Readonly<Record<string, string>> | undefined,
  appendAction: HeaderValueOption_HeaderAppendAction,
): HeaderValueOption[] {
  return sortBy(Object.entries(headers ?? {}), ([name]) => name)
    .filter(([name]) => !isInternal(name))
    .map(([key, value]) => create(HeaderValueOptionSchema, { header: { key, value }, appendAction }));
}

function removals(operations: HeaderOperations | undefined): string[] {
  return (operations?.remove ?? []).filter((name) => !isInternal(name));
}

/** Envoy refuses edits of pseudo headers and of the host. */
const isInternal = (name: string): boolean => name.startsWith(":") || name.toLowerCase() === "host";

const isAuthority = (name: string): boolean => [":authority", "host"].includes(name.toLowerCase());
