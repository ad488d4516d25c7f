/** A proxy in; which of the SDS servers beside it has what out: certificates of files, and those of somebody else's making. */
import type { BuildFacet } from "../../model/index.ts";

/** Static clusters of the bootstrap. */
export type SecretServer = "sds-grpc" | "sds-files-grpc";

/** The cluster of whoever serves credentials on a socket beside the proxy. */
export const credentialServer = "sds-external";

/** Where another process hands out identities (SPIRE), the agent serves files alone, on a socket of its own. */
export const fileServer = ({ metadata }: Pick<BuildFacet, "metadata">): SecretServer =>
  metadata["file-credential"] === "true" ? "sds-files-grpc" : "sds-grpc";

/** Whether its agent has found that socket. */
export const hasCredentialServer = ({ metadata }: Pick<BuildFacet, "metadata">): boolean =>
  metadata["credential"] === "true";
