/** A dump's listeners and a filter in; istioctl's table or the listeners themselves out. */
import { ListenersConfigDumpSchema } from "../../gen/envoy/admin/v3/config_dump_shared_pb.js";
import type { FilterChain } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import { type Listener, ListenerSchema } from "../../gen/envoy/config/listener/v3/listener_pb.js";
import { FairleadError } from "../../lib/index.ts";
import { types } from "../../model/index.ts";
import { printTabs } from "../table.ts";
import { decodeAs } from "./any.ts";
import { describeChainMatch } from "./chain-match.ts";
import { chainKinds, describeDestination } from "./destination.ts";
import type { EnvoyDump } from "./dump.ts";
import { lessBy, sortByLess } from "./order.ts";
import type { Cells, Style, View, Why } from "./view.ts";

export interface ListenerFilter {
  readonly address?: string | undefined;
  readonly port?: number | undefined;
  readonly type?: string | undefined;
  readonly verbose: boolean;
}

export function viewListeners(dump: EnvoyDump, filter: ListenerFilter, why?: Why): View {
  const found = (): readonly Listener[] => listenersOf(dump).filter((listener) => matches(listener, filter));
  return {
    short: (style) => {
      const last = why ? ["WHY"] : [];
      const header = ["ADDRESSES", "PORT", ...(filter.verbose ? ["MATCH", "DESTINATION"] : ["TYPE"]), ...last];
      const rows = inOrder(found()).flatMap((listener) => {
        const more = why ? [why.text(types.listener, listener.name)] : [];
        return rowsOf(listener, filter.verbose, style).map((cells) => [...cells, ...more]);
      });
      return printTabs([style === "alone" ? header : ["NAME", ...header], ...rows], 1);
    },
    json: () =>
      found().map((listener) => why?.data(types.listener, listener.name) ?? dump.print(ListenerSchema, listener)),
  };
}

/** In the order of the dump, dynamic ones first. */
function listenersOf(dump: EnvoyDump): readonly Listener[] {
  let section: ReturnType<typeof dump.section<typeof ListenersConfigDumpSchema>>;
  try {
    section = dump.section(ListenersConfigDumpSchema);
  } catch (cause) {
    const { code, message } = FairleadError.from(cause);
    throw new FairleadError(code, `listener dump: ${message}`, { cause });
  }
  const packed = [
    ...section.dynamicListeners.map(({ activeState }) => activeState?.listener),
    ...section.staticListeners.map(({ listener }) => listener),
  ];
  const listeners = packed.flatMap((listener) => (listener ? [decodeAs(ListenerSchema, listener)] : []));
  if (listeners.length === 0) throw new FairleadError("not-found", "no listeners found");
  return listeners;
}

function inOrder(listeners: readonly Listener[]): readonly Listener[] {
  return sortByLess(listeners, lessBy(portOf, addressOf, typeOf));
}

function chainsOf(listener: Listener): readonly FilterChain[] {
  return [...listener.filterChains, ...(listener.defaultFilterChain ? [listener.defaultFilterChain] : [])];
}

function matches(listener: Listener, filter: ListenerFilter): boolean {
  const same = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();
  const { address, port, type } = filter;
  if (address && !addressesOf(listener).some((own) => same(own, address))) return false;
  if (port && portOf(listener) !== port) return false;
  return !type || same(typeOf(listener), type);
}

function rowsOf(listener: Listener, verbose: boolean, style: Style): readonly Cells[] {
  const name = style === "alone" ? [] : [`listener/${listener.name}`];
  const start = [...name, addressesOf(listener).join(","), String(portOf(listener))];
  if (!verbose) return [[...start, typeOf(listener)]];
  const chains = chainsOf(listener).map((chain) => ({
    match: describeChainMatch(chain.filterChainMatch),
    destination: describeDestination(chain.filters),
  }));
  return sortByLess(chains, (a, b) => a.destination > b.destination).map(({ match, destination }) => [
    ...start,
    match,
    destination,
  ]);
}

function addressOf({ address }: Listener): string {
  if (address?.address.case === "socketAddress") return address.address.value.address;
  return address?.address.case === "pipe" ? address.address.value.path : "";
}

function addressesOf(listener: Listener): readonly string[] {
  const more = listener.additionalAddresses.map(({ address }) =>
    address?.address.case === "socketAddress" ? address.address.value.address : "",
  );
  return [addressOf(listener), ...more];
}

function portOf({ address }: Listener): number {
  if (address?.address.case !== "socketAddress") return 0;
  const { portSpecifier } = address.address.value;
  return portSpecifier.case === "portValue" ? portSpecifier.value : 0;
}

function typeOf(listener: Listener): string {
  const kinds = new Set(chainsOf(listener).flatMap(({ filters }) => chainKinds(filters)));
  return ["HTTP", "TCP"].filter((kind) => kinds.has(kind)).join("+") || "UNKNOWN";
}
