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

export const conflictingProtocols: Analyser = {
  name: "serviceentry.ConflictingServiceEntryProtocolAnalyzer",
  needsCluster: false,
  run({ objects, report }) {
    const uses = new Map<string, Use[]>();
    for (const entry of objects.of(serviceEntry))
      for (const scope of scopesOf(entry.spec.exportTo ?? [], entry.meta.namespace))
        for (const host of entry.spec.hosts ?? [])
          for (const { number = 0, protocol = "" } of entry.spec.ports ?? []) {
            const key = JSON.stringify([scope, host, number]);
            uses.set(key, [...(uses.get(key) ?? []), { entry, protocol: protocol.toUpperCase() }]);
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
