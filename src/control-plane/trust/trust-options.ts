/** What the trust of a mesh is made from. */
import type { Collection } from "../../collections/index.ts";
import type { HttpClient } from "../../fetch/index.ts";
import type { EventRecorder, KubeClient } from "../../kube/index.ts";
import type { Logger } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import type { Settings } from "../settings.ts";
import type { ExternalCaOptions } from "./external-ca.ts";
import type { RotationPace } from "./rotation-driver.ts";
import type { ServingFiles } from "./serving.ts";
import type { CaFolder } from "./wanted-ca.ts";

export interface TrustOptions {
  readonly client: KubeClient;
  readonly secrets: Collection<KubeObject>;
  readonly configMaps: Collection<KubeObject>;
  readonly namespace: string;
  /** Unique among control planes. */
  readonly identity: string;
  /** False: nobody comes here for certificates; the mesh's CA is elsewhere, and so is that of the control plane. */
  readonly hasOwnCa: boolean;
  /** Signs for workloads, through the API, in place of the mesh's own CA. */
  readonly external: ExternalCaOptions | undefined;
  /** The control plane's own certificate, where somebody else gives it. */
  readonly servingFiles: ServingFiles | undefined;
  readonly folder: CaFolder | undefined;
  readonly readsRevocations: boolean;
  readonly certificates: { readonly defaultTtlMs: number; readonly maxTtlMs: number } | undefined;
  readonly pace: Partial<RotationPace> | undefined;
  trustDomain(): string;
  readonly settings: Pick<Settings, "current">;
  /** Name and namespace of MeshConfig's ConfigMap. */
  readonly meshConfigMap: string;
  /** For SPIFFE bundles. */
  readonly http: HttpClient;
  readonly recorder: EventRecorder;
  readonly now: () => Date;
  readonly monotonicMs: () => number;
  readonly log: Logger;
  readonly signal: AbortSignal;
}
