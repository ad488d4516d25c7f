/** ServiceEntries against each other, and those whose TCP ports nobody can tell apart. */
import { compareText, readList, readRecord } from "../../lib/index.ts";
import { type ServiceEntrySpec, serviceEntry } from "../../model/index.ts";
import type { Analyser } from "./analyser.ts";
import { scopesOf } from "./hosts.ts";
import type { AnalysedObject } from "./objects.ts";

export const protocolAddresses: Analyser = {
  name: "serviceentry.Analyzer",
  needsCluster: false,
  run({ objects, mesh, report }) {
    const metadata = mesh.defaultConfig?.proxyMetadata ?? {};
    const on = (name: string): boolean => metadata[name] === "true";
    if (on("ISTIO_META_DNS_CAPTURE") && (on("ISTIO_META_DNS_AUTO_ALLOCATE") || on("PILOT_ENABLE_IP_AUTOALLOCATE")))
      return;
    for (const entry of objects.of(serviceEntry)) {
      const given = readList(readRecord(entry.raw.status).addresses).length > 0;
      if (given || (entry.spec.addresses ?? []).length > 0) continue;
      (entry.spec.ports ?? []).forEach(({ protocol = "" }, i) => {
        if (["", "TCP"].includes(protocol.toUpperCase()))
          report(entry, "IST0134", "ServiceEntry addresses are required for this protocol.", `spec.ports[${i}].name`);
      });
    }
  },
};

interface Use {
  readonly entry: AnalysedObject<ServiceEntrySpec>;
  readonly protocol: string;
}

/** Hosts, ports and namespaces multiply: nobody writes more of them in one entry, or in all, and all are kept at once. */
const [maxUsesOfEntry, maxUses] = [2_000, 50_000];

/** What an entry defines, by scope, host and port. */
function* usesOf({
  spec,
  meta,
}: AnalysedObject<ServiceEntrySpec>): Generator<readonly [key: string, protocol: string]> {
  for (const scope of scopesOf(spec.exportTo ?? [], meta.namespace))
    for (const host of spec.hosts ?? [])
      for (const { number = 0, protocol = "" } of spec.ports ?? [])
        yield [JSON.stringify([scope, host, number]), protocol.toUpperCase()];
}

export const conflictingProtocols: Analyser = {
  name: "serviceentry.ConflictingServiceEntryProtocolAnalyzer",
  needsCluster: false,
  run({ objects, report }) {
    const uses = new Map<string, Use[]>();
    let left = maxUses;
    for (const entry of objects.of(serviceEntry))
      for (const [key, protocol] of usesOf(entry).take(Math.min(left, maxUsesOfEntry))) {
        left--;
        const others = uses.get(key);
        if (others) others.push({ entry, protocol });
        else uses.set(key, [{ entry, protocol }]);
      }
    const told = new Set<string>();
    for (const [key, own] of uses) {
      const [scope, host, port]: [string, string, number] = JSON.parse(key);
      const all = scope === "*" ? own : [...own, ...(uses.get(JSON.stringify(["*", host, port])) ?? [])];
      const protocols = [...new Set(all.map(({ protocol }) => protocol))].sort(compareText);
      if (protocols.length < 2) continue;
      const names = [...new Set(all.map(({ entry }) => entry.fullName))].sort(compareText).join(", ");
      for (const { entry } of all) {
        if (told.has(entry.fullName)) continue;
        told.add(entry.fullName);
        report(
          entry,
          "IST0177",
          `Multiple ServiceEntries (${names}) define the same host ${JSON.stringify(host)} and port ${port} with conflicting protocols (${protocols.join(", ")}).`,
          "metadata.name",
        );
      }
    }
  },
};
