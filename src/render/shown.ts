/** An encoded resource in; the same for showing, without keys and passwords that it carries in passing, out. Secrets are not looked at. */
import { type ResourceType, types } from "../model/index.ts";
import { withoutPullSecret } from "./extensions/index.ts";
import { withoutSharedKeys } from "./security/shared-keys.ts";

export function shownResource(type: ResourceType, bytes: Uint8Array): Uint8Array {
  if (type === types.extension) return withoutPullSecret(bytes);
  return type === types.listener ? withoutSharedKeys(bytes) : bytes;
}
