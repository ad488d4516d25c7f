/** A kubeconfig in; a control plane in a process that is measured, which says where its ports are, out. */
import { tuneRuntime } from "../../src/cli/runtime.ts";
import { startPlaneWith } from "../../src/control-plane/testing.ts";
import { serveMeasured } from "./measured-process.ts";

tuneRuntime();
const [kubeconfig = ""] = process.argv.slice(2);
const stop = new AbortController();
const plane = await startPlaneWith(kubeconfig, stop.signal, { leaderElection: false, analysis: true });
serveMeasured(plane.addresses, async () => {
  stop.abort();
  await plane.close();
});
