import { fromJson } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ListenerSchema } from "../../gen/envoy/config/listener/v3/listener_pb.js";
import type { Connection } from "../request.ts";
import { findFilterChain } from "./filter-chain-match.ts";

const listener = fromJson(ListenerSchema, {
  filterChains: [
    { name: "blackhole", filterChainMatch: { destinationPort: 15006 } },
    { name: "any tls", filterChainMatch: { transportProtocol: "tls" } },
    { name: "any plain", filterChainMatch: { transportProtocol: "raw_buffer" } },
    {
      name: "istio",
      filterChainMatch: {
        destinationPort: 80,
        transportProtocol: "tls",
        applicationProtocols: ["istio", "istio-http/1.1"],
      },
    },
    { name: "first choice", filterChainMatch: { destinationPort: 81, applicationProtocols: ["istio-http/1.1"] } },
    { name: "second choice", filterChainMatch: { destinationPort: 81, applicationProtocols: ["istio"] } },
    { name: "exact", filterChainMatch: { destinationPort: 443, serverNames: ["a.example.com"] } },
    { name: "wild", filterChainMatch: { destinationPort: 443, serverNames: ["*.example.com"] } },
    {
      name: "wide",
      filterChainMatch: { destinationPort: 90, prefixRanges: [{ addressPrefix: "10.0.0.0", prefixLen: 8 }] },
    },
    {
      name: "narrow",
      filterChainMatch: { destinationPort: 90, prefixRanges: [{ addressPrefix: "10.1.0.0", prefixLen: 16 }] },
    },
  ],
});

const at = (port: number, ip = "10.0.0.1"): Connection => ({
  source: { ip: "10.0.0.9", port: 1 },
  destination: { ip, port },
  tls: [],
  payload: { kind: "bytes" },
});
const plain = { transport: "raw_buffer", sni: "", alpn: [] } as const;
const tls = (sni: string, ...alpn: readonly string[]) => ({ transport: "tls", sni, alpn }) as const;

test.each([
  ["no port of its own, plain text", at(8080), plain, "any plain"],
  ["no port of its own, TLS", at(8080), tls("x"), "any tls"],
  ["a port and a protocol", at(80), tls("x", "istio"), "istio"],
  // The port decides first, and Envoy never goes back to chains for any port.
  ["a port whose chains do not fit", at(80), plain, undefined],
  ["the client's first choice of protocols", at(81), tls("x", "istio-http/1.1", "istio"), "first choice"],
  ["the client's second choice of protocols", at(81), tls("x", "h2", "istio"), "second choice"],
  ["an exact server name", at(443), tls("a.example.com"), "exact"],
  ["a wildcard", at(443), tls("b.c.example.com"), "wild"],
  ["not the domain of a wildcard itself", at(443), tls("example.com"), undefined],
  ["the longest range", at(90, "10.1.2.3"), plain, "narrow"],
  ["a shorter range", at(90, "10.2.2.3"), plain, "wide"],
])("%s", (_, connection, seen, expected) => {
  expect(findFilterChain(listener, connection, seen).chain?.name).toBe(expected);
});

test("says why the chains of the same port lost", () => {
  const { lost } = findFilterChain(listener, at(443), tls("a.example.com"));
  expect(lost).toContain("wild (port 443 · server name *.example.com): not for server name a.example.com");
});
