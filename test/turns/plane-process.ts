/** A kubeconfig, and where the page is if there is to be one, in; a control plane in a process that is measured, which says where its ports are, out. */
import { tuneRuntime } from "../../src/cli/runtime.ts";
import type { DiscoveryOptions } from "../../src/control-plane/discovery-options.ts";
import { freeAddresses, startPlaneWith } from "../../src/control-plane/testing.ts";
import { serveMeasured } from "./measured-process.ts";

const runtime = tuneRuntime();
const [kubeconfig = "", pageFolder] = process.argv.slice(2);
const stop = new AbortController();
const plane = await startPlaneWith(kubeconfig, stop.signal, {
  ...{ leaderElection: false, analysis: true, runtime },
  ...(pageFolder === undefined ? {} : withPage(pageFolder)),
});
serveMeasured(plane.addresses, async () => {
  stop.abort();
  await plane.close();
});

function withPage(folder: string): Partial<DiscoveryOptions> {
  return { dashboard: { folder }, addresses: { ...freeAddresses, dashboard: freeAddresses.http } };
}
