/** Connected proxies, and what each of them has and refuses. */
import type { Awaitable } from "./awaitable.ts";
import type { CertificateHolder } from "./identities.ts";
import type { Cause } from "./resources.ts";

export interface ProxyReads {
  proxies(): Awaitable<readonly ProxyRow[]>;
  proxy(id: string): Awaitable<ProxyDetail | undefined>;
}

export type ProxyState = "in step" | "behind" | "refuses" | "held back";

export interface ProxyRow {
  /** `pod.namespace`. */
  readonly id: string;
  readonly namespace: string;
  readonly kind: string;
  readonly version: string;
  readonly state: ProxyState;
  /** Since when it is not in step; else when it last acknowledged. */
  readonly since: string;
  readonly connectedAt: string;
}

export interface ProxyDetail extends ProxyRow {
  readonly identity: string;
  readonly address: string;
  readonly types: readonly ProxyType[];
  readonly held: readonly { readonly type: string; readonly name: string; readonly clusters: readonly string[] }[];
  readonly certificate?: CertificateHolder;
  /** Objects that are withheld from it, or whose parts it refuses. */
  readonly refuses: readonly Refused[];
}

export interface ProxyType {
  /** `CDS`, `LDS`, … */
  readonly type: string;
  readonly resources: number;
  readonly sentAt?: string;
  readonly ackedAt?: string;
  readonly error: string;
}

export interface Refused {
  readonly resource: string;
  readonly words: string;
  readonly objects: readonly Cause[];
}
