/** What is sent to a client at once: some resources of one type, and names of those that are gone. */
import type { Resource, ResourceType } from "../../model/index.ts";

export interface Sent extends Resource {
  /** It has no content: the client is only to say its name and version when it comes back. */
  readonly isMark?: boolean;
}

export interface Response {
  readonly type: ResourceType;
  /** Of routes only: it carries virtual hosts by themselves, and goes out as their type. */
  readonly isOfHosts?: boolean;
  readonly version: string;
  readonly nonce: string;
  readonly resources: readonly Sent[];
  readonly removed: readonly string[];
}
