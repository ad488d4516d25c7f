import { expect, test } from "vitest";
import { argumentsAs } from "./called-as.ts";

test.each([
  ["/usr/local/bin/fairlead", "proxy sidecar --domain a", "agent proxy sidecar --domain a"],
  ["/usr/local/bin/fairlead", "istio-iptables -p 15001", "iptables -p 15001"],
  ["/usr/local/bin/fairlead", "istio-clean-iptables", "iptables --cleanup-only"],
  ["/usr/local/bin/fairlead", "wait --for=distribution", "wait --for=distribution"],
  ["pilot-agent", "wait", "agent wait"],
  [
    "/usr/local/bin/pilot-agent",
    "request --debug-port=15020 POST drain",
    "agent request --debug-port=15020 POST drain",
  ],
  ["pilot-agent", "proxy router", "agent proxy router"],
  ["pilot-agent", "version", "version"],
  ["pilot-discovery", "discovery --domain a", "discovery --domain a"],
  ["istio-iptables", "-p 15001", "iptables -p 15001"],
  ["dist/main.js", "render", "render"],
  ["fairlead", "", ""],
])("%s %s", (program, args, meant) => {
  const words = (text: string) => text.split(" ").filter((word) => word !== "");
  expect(argumentsAs(program, words(args))).toEqual(words(meant));
});
