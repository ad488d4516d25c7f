/** A control plane in a thread that is measured; says where its ports are. */
import { parentPort, workerData } from "node:worker_threads";
import { startPlaneWith } from "../../src/control-plane/testing.ts";
import { type Meter, measureTurns } from "./meter.ts";

export interface PlaneOrder {
  readonly kubeconfig: string;
  readonly meter: Meter;
}

const { kubeconfig, meter } = workerData as PlaneOrder;
const stop = new AbortController();
const plane = await startPlaneWith(kubeconfig, stop.signal, { leaderElection: false, analysis: true });
measureTurns(meter);
parentPort?.on("message", () => {
  stop.abort();
  void plane.close().then(() => process.exit(0));
});
parentPort?.postMessage(plane.addresses);
