/** What is asked of a running istiod, however it is reached. */
import type { Offline } from "../../control-plane/index.ts";
import type { Proxy, ResourceType } from "../../model/index.ts";

/** A resource as istiod has it. */
export interface TheirResource {
  readonly name: string;
  readonly bytes: Uint8Array;
}

export type TheirResources = ReadonlyMap<ResourceType, readonly TheirResource[]>;

/** A proxy, and how to ask what it is sent. */
export interface KnownProxy {
  readonly proxy: Proxy;
  resources(): Promise<TheirResources>;
}

export interface Istiod {
  /** Where it is, for people. */
  readonly at: string;
  proxies(offline: Offline): Promise<readonly KnownProxy[]>;
  close(): void;
}
