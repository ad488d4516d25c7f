/**
 * How somebody without a token says who they are: they make a CertificateSigningRequest whose name is the digest of a
 * secret, and the API notes in it who made it, by whatever means they proved that. Whoever knows the secret is that one. It
 * asks for no certificate, and nobody signs it.
 */
import { createHash } from "node:crypto";

export const claimSigner = "fairlead.dev/dashboard";

const mark = "fairlead-claim.";

export const claimBearer = (secret: string): string => `${mark}${secret}`;

export const secretOfClaim = (bearer: string): string | undefined =>
  bearer.startsWith(mark) ? bearer.slice(mark.length) : undefined;

export const claimName = (secret: string): string =>
  `fairlead-dashboard-${createHash("sha256").update(secret).digest("hex")}`;
