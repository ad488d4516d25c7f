/** A proxy in; which of the SDS servers beside it reads certificates from files, out. */
import type { BuildFacet } from "../../model/index.ts";

/** Static clusters of the bootstrap. */
export type SecretServer = "sds-grpc" | "sds-files-grpc";

/** Where another process hands out identities (SPIRE), the agent serves files alone, on a socket of its own. */
export const fileServer = ({ metadata }: Pick<BuildFacet, "metadata">): SecretServer =>
  metadata["file-credential"] === "true" ? "sds-files-grpc" : "sds-grpc";
