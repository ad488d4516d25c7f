/** A name in; what the client shall have of it, as far as it asks for it, out. */
import type { Resource, ResourceSet } from "../../model/index.ts";
import type { ProxySession } from "../source.ts";
import type { TypeState } from "./type-state.ts";

/** The source follows what it is asked for by name, until the client gives that up: so it is asked for nothing else. */
export function wantedOf(
  state: TypeState,
  from: { readonly session: ProxySession; readonly current: ResourceSet },
  name: string,
  named = state.names.has(name),
): Resource | undefined {
  if (state.wildcard) return from.current.get(name);
  return named ? (from.current.get(name) ?? from.session.get(state.type, name)) : undefined;
}
