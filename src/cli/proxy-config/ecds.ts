/** A dump in; the filters that Envoy got by extension discovery, as a table or whole, out. */
import { create } from "@bufbuild/protobuf";
import { EcdsConfigDumpSchema } from "../../gen/envoy/admin/v3/config_dump_shared_pb.js";
import { TypedExtensionConfigSchema } from "../../gen/envoy/config/core/v3/extension_pb.js";
import { FairleadError } from "../../lib/index.ts";
import { printTabs } from "../table.ts";
import { decodeIf } from "./any.ts";
import type { EnvoyDump } from "./dump.ts";
import { lessBy, sortByLess } from "./order.ts";
import type { View } from "./view.ts";

const typePrefix = "type.googleapis.com/";

export function viewExtensions(dump: EnvoyDump): View {
  // Envoy writes one section for each place where such filters may stand.
  const ecdsFilters = dump.sections(EcdsConfigDumpSchema).flatMap((section) => section.ecdsFilters);
  return {
    short: () => {
      const filters = ecdsFilters.map(({ ecdsFilter }) => {
        const config = decodeIf(TypedExtensionConfigSchema, ecdsFilter);
        if (!config) throw new FairleadError("invalid", "failed to retrieve TypedExtensionConfig");
        return { name: config.name, type: config.typedConfig?.typeUrl ?? "" };
      });
      const rows = sortByLess(
        filters,
        lessBy<(typeof filters)[number]>(
          (filter) => filter.type,
          (filter) => filter.name,
        ),
      ).map(({ name, type }) => [name, type.startsWith(typePrefix) ? type.slice(typePrefix.length) : type]);
      return printTabs([["ECDS NAME", "TYPE"], ...rows], 5);
    },
    json: () => dump.print(EcdsConfigDumpSchema, create(EcdsConfigDumpSchema, { ecdsFilters })),
  };
}
