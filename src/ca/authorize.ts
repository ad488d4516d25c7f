/** The one place that says whose certificate a caller may have: who called and what was asked for in, an identity or a refusal out. */
import { type Identity, isIdentity, parseIdentity } from "../model/index.ts";

export interface IssuanceRequest {
  readonly caller: Identity;
  /** Another identity that a node agent asks for on behalf of a workload; empty for the caller's own. */
  readonly impersonated: string;
}

export type Issuance =
  | { readonly identity: Identity }
  /** `isMalformed`: there is no identity to be read from what was given. */
  | { readonly refused: string; readonly isMalformed?: true };

/** Whether a node agent may ask for a workload's identity; without one, nobody may. */
export type AuthorizeNode = (caller: Identity, wanted: Identity) => boolean;

export function authorizeIssuance(request: IssuanceRequest, authorizeNode?: AuthorizeNode): Issuance {
  const { caller, impersonated } = request;
  if (!isIdentity(caller)) return { refused: "the caller's identity is malformed", isMalformed: true };
  if (impersonated === "") return { identity: caller };
  const wanted = parseIdentity(impersonated);
  if (!wanted) return { refused: "the impersonated identity is malformed", isMalformed: true };
  if (!authorizeNode) return { refused: "impersonation is not enabled" };
  return authorizeNode(caller, wanted)
    ? { identity: wanted }
    : { refused: "the caller may not act for the impersonated identity" };
}
