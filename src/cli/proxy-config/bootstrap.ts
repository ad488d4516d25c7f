/** A dump in; the versions of Istio and Envoy, or the whole bootstrap, out. */
import type { JsonValue } from "@bufbuild/protobuf";
import { type BootstrapConfigDump, BootstrapConfigDumpSchema } from "../../gen/envoy/admin/v3/config_dump_pb.js";
import { printTabs } from "../table.ts";
import type { EnvoyDump } from "./dump.ts";
import type { View } from "./view.ts";

export function viewBootstrap(dump: EnvoyDump): View {
  const section = dump.section(BootstrapConfigDumpSchema);
  return {
    short: () => {
      const metadata = section.bootstrap?.node?.metadata ?? {};
      const sha = text(metadata["ISTIO_PROXY_SHA"]);
      const rows: readonly (readonly [string, string])[] = [
        ["Istio Version:", text(metadata["ISTIO_VERSION"])],
        // The number stands behind the repository's name.
        ["Istio Proxy Version:", sha.split(":")[1] ?? sha],
        ["Envoy Version:", envoyVersion(section)],
      ];
      return printTabs(
        rows.filter(([, value]) => value !== ""),
        1,
      );
    },
    json: () => dump.print(BootstrapConfigDumpSchema, section),
  };
}

function envoyVersion(section: BootstrapConfigDump): string {
  const type = section.bootstrap?.node?.userAgentVersionType;
  const build = type?.case === "userAgentBuildVersion" ? type.value : undefined;
  const { majorNumber = 0, minorNumber = 0, patch = 0 } = build?.version ?? {};
  const metadata = build?.metadata ?? {};
  const told = (key: string, sign: string): string => (key in metadata ? `${sign}${text(metadata[key])}` : "");
  return [
    `${majorNumber}.${minorNumber}.${patch}`,
    told("build.label", "-"),
    told("revision.status", "/"),
    told("build.type", "/"),
    told("ssl.version", "/"),
  ].join("");
}

function text(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}
