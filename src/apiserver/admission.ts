/** The port to admission: an object that is about to be written in; the object as webhooks leave it out, or their refusal. */
import type { KubeObject } from "../model/index.ts";
import type { ResourceRequest } from "./request.ts";
import type { User } from "./user.ts";

export interface AdmissionRequest {
  readonly operation: "CREATE" | "UPDATE" | "DELETE";
  readonly request: ResourceRequest;
  readonly user: User;
  readonly object: KubeObject | undefined;
  readonly before: KubeObject | undefined;
  readonly dryRun: boolean;
  readonly warn: (text: string) => void;
}

export interface Admission {
  mutate(request: AdmissionRequest): Promise<KubeObject | undefined>;
  validate(request: AdmissionRequest): Promise<void>;
}
