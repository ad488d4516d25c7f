/** Says by ALPN that a stream is raw TCP, on builds where the cluster would otherwise offer HTTP. */
import type { Filter } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import { FilterStateValue_SharedWithUpstream as Shared } from "../../gen/envoy/extensions/filters/common/set_filter_state/v3/value_pb.js";
import { ConfigSchema } from "../../gen/envoy/extensions/filters/network/set_filter_state/v3/set_filter_state_pb.js";
import { packAny } from "../build/any.ts";
import { networkFilter } from "../build/listener-chain.ts";

export function declareTcp(): Filter {
  return networkFilter(
    "envoy.filters.network.set_filter_state",
    packAny(ConfigSchema, {
      onNewConnection: [
        {
          key: { case: "objectKey", value: "envoy.network.application_protocols" },
          value: {
            case: "formatString",
            value: {
              format: { case: "textFormatSource", value: { specifier: { case: "inlineString", value: "istio" } } },
            },
          },
          sharedWithUpstream: Shared.ONCE,
        },
      ],
    }),
  );
}
