/** What is sent to a client at once: some resources of one type, and names of those that are gone. */
import type { Resource, ResourceType } from "../../model/index.ts";

/** A name and a version without any content: the client is only to say them when it comes back. */
export interface Mark {
  readonly name: string;
  readonly version: string;
}

export interface Response {
  readonly type: ResourceType;
  /** Of routes only: it carries virtual hosts by themselves, and goes out as their type. */
  readonly isOfHosts?: boolean;
  readonly version: string;
  readonly nonce: string;
  readonly resources: readonly Resource[];
  /** Comes after the resources, which many clients are sent alike. */
  readonly mark?: Mark;
  readonly removed: readonly string[];
}
