/** The embedded API in a thread that is measured; says where it is. */
import { parentPort, workerData } from "node:worker_threads";
import { controlPlane } from "../../src/apiserver/index.ts";
import { credentialsOf, startApi } from "../../src/apiserver/testing.ts";
import { measureTurns } from "./meter.ts";

export interface ApiPlace {
  readonly url: string;
  readonly ca: string;
  readonly admin: { readonly cert?: string; readonly key?: string };
  /** With few rights of its own, and many roles once somebody gives it some. */
  readonly eve: { readonly cert?: string; readonly key?: string };
  readonly planeConfig: string;
}

const api = await startApi();
const planeConfig = `${api.dir}/plane`;
await api.server.writeKubeconfig(planeConfig, controlPlane);
const eve = await credentialsOf(api.server, { user: "eve" });
measureTurns(workerData);
parentPort?.on("message", () => void api.close().then(() => process.exit(0)));
parentPort?.postMessage({
  url: api.server.url,
  ca: api.server.ca,
  admin: api.admin,
  eve,
  planeConfig,
} satisfies ApiPlace);
