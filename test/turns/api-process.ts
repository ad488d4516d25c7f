/** The embedded API in a process that is measured; says where it is. */
import { controlPlane } from "../../src/apiserver/index.ts";
import { credentialsOf, startApi } from "../../src/apiserver/testing.ts";
import { serveMeasured } from "./measured-process.ts";

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
const place: ApiPlace = { url: api.server.url, ca: api.server.ca, admin: api.admin, eve, planeConfig };
serveMeasured(place, api.close);
