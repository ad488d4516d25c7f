/** Requests of both protocol variants as plain data, and what a request turned out to be. */
import type { ResourceType } from "../../model/index.ts";
import type { WireType } from "../type-info.ts";

export interface SotwRequest {
  readonly type: ResourceType;
  readonly names: readonly string[];
  readonly nonce: string;
  /** Not empty when the client had an answer of this type on an earlier stream. */
  readonly version: string;
  /** Present on a NACK. */
  readonly error?: string;
}

export interface DeltaRequest<T extends WireType = ResourceType> {
  readonly type: T;
  readonly subscribe: readonly string[];
  readonly unsubscribe: readonly string[];
  /** What the client holds from an earlier stream, name to version. */
  readonly initial: ReadonlyMap<string, string>;
  readonly nonce: string;
  readonly error?: string;
  /** Where it is known what was refused of the response: all else was taken. */
  readonly refused?: ReadonlySet<string>;
}

export interface Received {
  readonly event: "subscribe" | "ack" | "nack" | "stale" | "unsubscribe";
  /** Whether the type's state may now call for a response. */
  readonly dirty: boolean;
}
