/** Exchanges workload facts with the peer in HTTP headers: `istio.metadata_exchange`. */
import type { JsonObject } from "@bufbuild/protobuf";
import { HeaderMutationSchema } from "../../gen/envoy/extensions/filters/http/header_mutation/v3/header_mutation_pb.js";
import { packAny, packStruct } from "../build/any.ts";
import { httpFilter } from "../build/http-filter.ts";
import { hasIstioFilters } from "../proxy/profile.ts";
import { proxyConfig } from "../proxy/proxy-config.ts";
import type { HttpFilterPass } from "./http-filter.ts";

const typeUrl = "type.googleapis.com/io.istio.http.peer_metadata.Config";
const discovery = [{ istio_headers: {} }, { workload_discovery: {} }];

export const peerMetadata: HttpFilterPass = ({ view, direction }) => {
  if (!hasIstioFilters(view.proxy)) return direction === "gateway" ? [disbelief()] : [];
  if (direction === "inbound") {
    return [filter({ downstream_discovery: discovery, downstream_propagation: [{ istio_headers: {} }] })];
  }
  // Facts about workloads must not leave the mesh where the user said so.
  const inMesh = proxyConfig(view.proxy).proxyHeaders?.metadataExchangeHeaders?.mode === "IN_MESH";
  const headers: JsonObject = inMesh ? { skip_external_clusters: true } : {};
  return [filter({ upstream_discovery: discovery, upstream_propagation: [{ istio_headers: headers }] })];
};

const filter = (config: JsonObject) => httpFilter("istio.metadata_exchange", packStruct(typeUrl, config));

/** R09: where nothing writes these headers anew, what a client outside claims in them must not reach a peer that reads them. */
const disbelief = () =>
  httpFilter(
    "envoy.filters.http.header_mutation",
    packAny(HeaderMutationSchema, {
      mutations: {
        requestMutations: ["x-envoy-peer-metadata", "x-envoy-peer-metadata-id"].map((value) => ({
          action: { case: "remove" as const, value },
        })),
      },
    }),
  );
