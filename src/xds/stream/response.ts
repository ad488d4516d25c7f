/** What is sent to a client at once: some resources of one type, and names of those that are gone. */
import type { Resource, ResourceType } from "../../model/index.ts";

export interface Response {
  readonly type: ResourceType;
  /** Of routes only: it carries virtual hosts by themselves, and goes out as their type. */
  readonly isOfHosts?: boolean;
  readonly version: string;
  readonly nonce: string;
  readonly resources: readonly Resource[];
  readonly removed: readonly string[];
}
