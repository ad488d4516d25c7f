/**
 * The control plane's table of names in; the addresses of a name, as a Pod of one namespace may write it, out. The table
 * is asked for on the stream that Envoy has, and the last one is kept while the control plane is away; until there is one,
 * the one that an agent before this has left is gone by.
 */
import { isIPv4, isIPv6 } from "node:net";
import { toBinary } from "@bufbuild/protobuf";
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
} from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { type NameTable, type NameTable_NameInfo, NameTableSchema } from "../../gen/istio/nds_pb.js";
import { types } from "../../model/index.ts";
import { createClientState } from "../../xds/index.ts";
import { decodeMessage } from "../decode-message.ts";
import type { OwnSubscription } from "../own-subscription.ts";

export interface NameEntry {
  /** The name that the addresses belong to; another than was asked for where that is a search domain's spelling of it. */
  readonly host: string;
  readonly ipv4: readonly string[];
  readonly ipv6: readonly string[];
}

export interface Names {
  /** Undefined where the mesh has no such name. */
  lookup(name: string): NameEntry | undefined;
  readonly size: number;
  readonly subscription: OwnSubscription;
}

export interface NameOptions {
  readonly namespace: string;
  readonly search: readonly string[];
  /** What an agent before this has left. */
  readonly kept?: Uint8Array | undefined;
  /** Told of each table, encoded. */
  readonly keep?: (table: Uint8Array) => void;
}

export function createNames(options: NameOptions): Names {
  const state = createClientState({ node: {} });
  state.subscribe(types.nameTable, ["*"]);
  const read = (bytes: Uint8Array): ReadonlyMap<string, NameEntry> =>
    index(decodeMessage(NameTableSchema, bytes)?.table ?? {}, options.namespace);
  let entries = read(options.kept ?? new Uint8Array(0));
  const replace = (): void => {
    // One after the other, encoded messages are their union.
    const bytes = Buffer.concat([...state.held(types.nameTable).values()].map((table) => table.bytes));
    entries = read(bytes);
    options.keep?.(bytes);
  };
  return {
    lookup: (name) => find(entries, name) ?? findSearched(entries, name, options.search),
    get size() {
      return entries.size;
    },
    subscription: {
      typeUrl: types.nameTable,
      isWhole: true,
      attach(send) {
        for (const request of state.opening()) send(toBinary(DeltaDiscoveryRequestSchema, request));
        return () => {};
      },
      receive(bytes) {
        const response = decodeMessage(DeltaDiscoveryResponseSchema, bytes);
        if (!response) return undefined;
        const { answer, change } = state.receive(response, ({ updated }) =>
          updated.every((table) => decodeMessage(NameTableSchema, table.bytes)) ? undefined : "not a table of names",
        );
        if (change) replace();
        return toBinary(DeltaDiscoveryRequestSchema, answer);
      },
    },
  };
}

function index(table: NameTable["table"], namespace: string): ReadonlyMap<string, NameEntry> {
  const entries = new Map<string, NameEntry>();
  for (const [written, info] of Object.entries(table)) {
    const host = written.toLowerCase();
    const entry = { host, ipv4: info.ips.filter((ip) => isIPv4(ip)), ipv6: info.ips.filter((ip) => isIPv6(ip)) };
    for (const name of spellings(host, info, namespace)) entries.set(name, { ...entry, host: name });
    entries.set(host, entry);
  }
  return entries;
}

/** A Service goes by its short names too: alone in its own namespace, with its namespace everywhere. */
function spellings(host: string, info: NameTable_NameInfo, own: string): readonly string[] {
  const { shortname, namespace } = info;
  if (shortname === "" || namespace === "") return [];
  const names = [
    `${shortname}.${namespace}`,
    `${shortname}.${namespace}.svc`,
    ...(namespace === own ? [shortname] : []),
  ];
  return names.map((name) => name.toLowerCase()).filter((name) => host.startsWith(`${name}.`));
}

/** The name itself, or the wildcard one label above it. */
function find(entries: ReadonlyMap<string, NameEntry>, name: string): NameEntry | undefined {
  const exact = entries.get(name);
  if (exact) return exact;
  const wildcard = entries.get(`*${name.slice(name.indexOf("."))}`);
  return wildcard && { ...wildcard, host: name };
}

/**
 * Resolvers ask for `api.example.com` first as `api.example.com.NAMESPACE.svc.cluster.local`: told at once where that
 * leads, they need no second question.
 */
function findSearched(
  entries: ReadonlyMap<string, NameEntry>,
  name: string,
  search: readonly string[],
): NameEntry | undefined {
  for (const domain of search) {
    if (!name.endsWith(`.${domain}`)) continue;
    const found = find(entries, name.slice(0, -domain.length - 1));
    // Short names are spelled out by the first search domain; a further one would lead astray.
    if (found?.host.includes(".") && !found.host.endsWith(".svc")) return found;
  }
  return undefined;
}
