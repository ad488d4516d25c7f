/**
 * A folder, and the Secrets `cacerts` and `istio-ca-secret`, in; the CA that users want out, as it changes. The folder
 * wins, then `cacerts`; where there is neither, the mesh has a CA of its own. What cannot be used is refused, and the
 * last good one stays.
 */
import {
  type CaFiles,
  caFilesOf,
  caSecretName,
  loadOrCreateCa,
  parseSigningBundle,
  type SigningBundle,
} from "../../ca/index.ts";
import type { Collection } from "../../collections/index.ts";
import type { EventRecorder, KubeClient } from "../../kube/index.ts";
import { FairleadError, type Logger } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { parseRevocations, type Revocations } from "../../pki/index.ts";
import { createCaSecretStore } from "./ca-secret.ts";
import { decodeSecret } from "./secret-data.ts";

/** The folder where users have put a CA. */
export interface CaFolder {
  readonly path: string;
  /** Undefined where there is none. */
  read(): CaFiles | undefined;
  /** Calls back when its content may have changed; returns the way to stop. */
  watch(changed: () => void): () => void;
}

export interface CaContent {
  readonly bundle: SigningBundle;
  /** The folder's path, or `Secret namespace/name`. */
  readonly source: string;
  /** True for the CA that the mesh made itself, which is the one that can be replaced on command. */
  readonly isOwn: boolean;
  /** Lists of revoked certificates, PEM; empty where there is none. */
  readonly crl: string;
  readonly revoked: Revocations;
}

export interface WantedCa {
  current(): CaContent;
  /** Why newer content is not used; empty where all is well. */
  problem(): string;
  subscribe(listener: () => void): () => void;
}

export interface WantedCaOptions {
  readonly client: KubeClient;
  readonly secrets: Collection<KubeObject>;
  readonly namespace: string;
  readonly folder: CaFolder | undefined;
  /** False: ca-crl.pem does not count. */
  readonly readsRevocations: boolean;
  readonly organization: string;
  readonly recorder: EventRecorder;
  readonly now: () => Date;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

const cacertsName = "cacerts";

/** Throws where the first content cannot be used: a CA of our own beside a broken one of theirs would be a second mesh. */
export async function createWantedCa(options: WantedCaOptions): Promise<WantedCa> {
  const { secrets, namespace, now } = options;
  const listeners = new Set<() => void>();
  const plugged = pluggedFiles(options);
  let problem = "";
  let current: CaContent = plugged
    ? contentOf(plugged, options)
    : ownContent(
        await loadOrCreateCa(createCaSecretStore(options.client, namespace), {
          organization: options.organization,
          now: now(),
        }),
        namespace,
      );
  let text = textOf(plugged ?? ownFiles(options));

  const refuse = (cause: string, about?: KubeObject): void => {
    if (cause === problem) return;
    problem = cause;
    options.log.error(`${cause}; the CA stays as it was`);
    if (about) options.recorder.record(about, "Warning", "RefusedCA", cause);
  };
  const take = (found: FoundFiles): void => {
    text = textOf(found);
    try {
      current = contentOf(found, options);
      problem = "";
    } catch (error) {
      refuse(`${found.source}: ${told(error)}`, found.key === undefined ? undefined : secrets.get(found.key));
    }
    for (const listener of listeners) listener();
  };
  const refresh = (): void => {
    try {
      // Secrets are replaced by deleting them first: that theirs is gone is no wish for one of our own.
      const found = pluggedFiles(options) ?? (current.isOwn ? ownFiles(options) : undefined);
      if (found && textOf(found) !== text) take(found);
    } catch (error) {
      refuse(`${options.folder?.path ?? "the CA"} cannot be read: ${told(error)}`);
    }
  };
  const concerned = new Set([`${namespace}/${cacertsName}`, `${namespace}/${caSecretName}`]);
  const stops = [
    secrets.subscribe((key) => void (concerned.has(key) && refresh())),
    options.folder?.watch(refresh) ?? (() => {}),
  ];
  options.signal.addEventListener("abort", () => stops.forEach((stop) => void stop()), { once: true });
  return {
    current: () => current,
    problem: () => problem,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

interface FoundFiles {
  readonly files: CaFiles;
  readonly source: string;
  readonly isOwn: boolean;
  /** Of the Secret. */
  readonly key: string | undefined;
}

function pluggedFiles({ folder, secrets, namespace }: WantedCaOptions): FoundFiles | undefined {
  const mounted = folder?.read();
  if (folder && mounted) return { files: mounted, source: folder.path, isOwn: false, key: undefined };
  const key = `${namespace}/${cacertsName}`;
  const files = filesIn(secrets.get(key));
  return files && { files, source: `Secret ${key}`, isOwn: false, key };
}

function ownFiles({ secrets, namespace }: WantedCaOptions): FoundFiles | undefined {
  const key = `${namespace}/${caSecretName}`;
  const files = filesIn(secrets.get(key));
  return files && { files, source: `Secret ${key}`, isOwn: true, key };
}

function filesIn(secret: KubeObject | undefined): CaFiles | undefined {
  const data = decodeSecret(secret);
  return caFilesOf((name) => data[name] ?? "");
}

function contentOf({ files, source, isOwn }: FoundFiles, { now, readsRevocations }: WantedCaOptions): CaContent {
  const bundle = parseSigningBundle(files, now());
  const crl = readsRevocations ? (files["ca-crl.pem"] ?? "") : "";
  return { bundle, source, isOwn, crl, revoked: readRevocations(crl, bundle) };
}

function readRevocations(crl: string, { certificate, chain, roots }: SigningBundle): Revocations {
  try {
    return parseRevocations(crl, [certificate, ...chain, ...roots]);
  } catch (error) {
    throw new FairleadError("invalid", `ca-crl.pem: ${FairleadError.from(error).message}`, {
      hint: "a list must be signed by ca-cert.pem, by one of cert-chain.pem or by root-cert.pem",
    });
  }
}

function ownContent(bundle: SigningBundle, namespace: string): CaContent {
  return {
    bundle,
    source: `Secret ${namespace}/${caSecretName}`,
    isOwn: true,
    crl: "",
    revoked: readRevocations("", bundle),
  };
}

function textOf(found: FoundFiles | undefined): string {
  return JSON.stringify([found?.source, found?.files]);
}

function told(error: unknown): string {
  const { message, hint } = FairleadError.from(error);
  return hint === undefined ? message : `${message} (${hint})`;
}
