/**
 * An image reference and credentials in; the digest of the image, and its Wasm module when it is asked for, out. A
 * registry says where tokens are had and where blobs are: both are followed within bounds only.
 */
import { createHash } from "node:crypto";
import { isIP } from "node:net";
import type { FetchAnswer, HttpClient } from "../../fetch/index.ts";
import { FairleadError, isLoopbackHost, isRecord, parseJson } from "../../lib/index.ts";
import { type ImageReference, isPlainRegistry } from "./image-reference.ts";
import { credentialsFor, type RegistryCredentials } from "./pull-secret.ts";
import { fileOfLayer } from "./unpack.ts";

export interface RegistryOptions {
  readonly http: HttpClient;
  readonly maxBytes: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly pullSecret: string | undefined;
  /** Its certificate is not checked, and plain HTTP will do. */
  readonly insecure: boolean;
}

export interface RemoteImage {
  /** Hex; of the image that was chosen, and of the list that it was chosen from. */
  readonly digests: readonly string[];
  module(): Promise<Uint8Array>;
}

const maxManifestBytes = 4 * 1024 * 1024;
const dockerManifest = "application/vnd.docker.distribution.manifest.v2+json";
const lists = ["application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json"];
const accepted = ["application/vnd.oci.image.manifest.v1+json", dockerManifest, ...lists].join(", ");
const moduleLayers: ReadonlySet<string> = new Set([
  "application/vnd.module.wasm.content.layer.v1+wasm",
  "application/vnd.wasm.content.layer.v1+wasm",
  "application/wasm",
]);
const archiveLayers: ReadonlySet<string> = new Set([
  "application/vnd.oci.image.layer.v1.tar+gzip",
  "application/vnd.oci.image.layer.v1.tar",
  "application/vnd.docker.image.rootfs.diff.tar.gzip",
]);
/** As the tools that make such images name it. */
const moduleFile = "plugin.wasm";

interface Layer {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

export async function findImage(reference: ImageReference, options: RegistryOptions): Promise<RemoteImage> {
  const ask = createAsker(reference, options);
  const first = await manifest(ask, reference.identifier);
  const chosen = childOf(first.content);
  const image = chosen === undefined ? first : await manifest(ask, chosen);
  return {
    digests: [...new Set([image.digest, first.digest])],
    module: () => moduleOf(ask, image.content, options.maxBytes),
  };
}

interface Manifest {
  readonly digest: string;
  readonly content: Readonly<Record<string, unknown>>;
}

async function manifest(ask: Asker, identifier: string): Promise<Manifest> {
  const bytes = await ask(`manifests/${identifier}`, maxManifestBytes, accepted);
  const digest = sha256(bytes);
  if (identifier.startsWith("sha256:") && identifier !== `sha256:${digest}`)
    throw new FairleadError("invalid", "the registry gave another manifest than the one of that digest");
  const content = parseJson(Buffer.from(bytes).toString("utf8"));
  if (!isRecord(content)) throw new FairleadError("invalid", "the image's manifest is no JSON object");
  return { digest, content };
}

/** Of an image for several platforms the one for Linux on amd64, as modules run anywhere; undefined for a single image. */
function childOf({ manifests }: Manifest["content"]): string | undefined {
  if (!Array.isArray(manifests)) return undefined;
  const all: readonly unknown[] = manifests;
  const usual = all.find(
    (one) =>
      isRecord(one) && isRecord(one.platform) && one.platform.os === "linux" && one.platform.architecture === "amd64",
  );
  const chosen = usual ?? all[0];
  const digest = isRecord(chosen) ? chosen.digest : undefined;
  if (typeof digest !== "string" || !isDigest(digest))
    throw new FairleadError("invalid", "the image's list of platforms has no digest");
  return digest;
}

const isDigest = (text: string): boolean => /^sha256:[0-9a-f]{64}$/.test(text);

async function moduleOf(ask: Asker, content: Manifest["content"], maxBytes: number): Promise<Uint8Array> {
  const layers = (Array.isArray(content.layers) ? content.layers : []).flatMap((one: unknown) => layerOf(one) ?? []);
  const bare = layers.find(({ mediaType }) => moduleLayers.has(mediaType));
  const last = layers.at(-1);
  const layer = bare ?? (last && archiveLayers.has(last.mediaType) ? last : undefined);
  if (!layer) throw new FairleadError("invalid", "the image has no layer with a Wasm module");
  if (layer.size > maxBytes) throw new FairleadError("too-large", `the image's layer has more than ${maxBytes} bytes`);
  const bytes = await ask(`blobs/${layer.digest}`, maxBytes, "*/*");
  if (`sha256:${sha256(bytes)}` !== layer.digest)
    throw new FairleadError("invalid", "the registry gave another layer than the one of that digest");
  return bare ? bytes : fileOfLayer(bytes, moduleFile, maxBytes);
}

function layerOf(value: unknown): Layer | undefined {
  if (!isRecord(value)) return undefined;
  const { mediaType, digest, size } = value;
  if (typeof mediaType !== "string" || typeof digest !== "string" || typeof size !== "number") return undefined;
  return isDigest(digest) ? { mediaType, digest, size } : undefined;
}

export const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** What is below the repository in; its bytes out. */
type Asker = (path: string, maxBytes: number, accept: string) => Promise<Uint8Array>;

function createAsker(reference: ImageReference, options: RegistryOptions): Asker {
  const { registry, repository } = reference;
  const { http, timeoutMs, signal, insecure } = options;
  const credentials = credentialsFor(registry, options.pullSecret);
  let scheme = isPlainRegistry(registry) ? "http" : "https";
  let authorization = credentials.token === undefined ? undefined : `Bearer ${credentials.token}`;
  const limits = { timeoutMs, signal, insecure };
  const once = (path: string, maxBytes: number, accept: string): Promise<FetchAnswer> => {
    const headers = { accept, ...(authorization === undefined ? {} : { authorization }) };
    return http.ask(`${scheme}://${registry}/v2/${repository}/${path}`, { ...limits, maxBytes, headers });
  };
  const tryBoth: typeof once = (path, maxBytes, accept) =>
    once(path, maxBytes, accept).catch((error: unknown) => {
      // Only whoever is named as insecure may be called in the clear instead: else a refused handshake would do.
      if (!insecure || scheme === "http" || !(error instanceof FairleadError) || error.code !== "unavailable")
        throw error;
      scheme = "http";
      return once(path, maxBytes, accept);
    });
  return async (path, maxBytes, accept) => {
    let answer = await tryBoth(path, maxBytes, accept);
    if (answer.status === 401 && authorization === undefined) {
      const challenge = answer.headers["www-authenticate"] ?? "";
      authorization = await answerChallenge(challenge, { reference, credentials, scheme }, http, limits);
      answer = await once(path, maxBytes, accept);
    }
    if (answer.status < 200 || answer.status > 299)
      throw new FairleadError("unavailable", `${registry} answers with status ${answer.status} for ${repository}`);
    return answer.body;
  };
}

interface Challenged {
  readonly reference: ImageReference;
  readonly credentials: RegistryCredentials;
  readonly scheme: string;
}

const maxTokenBytes = 64 * 1024;

async function answerChallenge(
  challenge: string,
  { reference, credentials, scheme }: Challenged,
  http: HttpClient,
  limits: { readonly timeoutMs: number; readonly signal: AbortSignal; readonly insecure: boolean },
): Promise<string | undefined> {
  const basic = credentials.basic === undefined ? undefined : `Basic ${credentials.basic}`;
  if (!/^bearer /i.test(challenge)) return basic;
  const words = new Map(
    // Each word is tried once, from its beginning: a long one takes no longer than it is.
    [...challenge.matchAll(/(?<![a-z])([a-z]+)="([^"]*)"/gi)].map(([, key = "", value = ""]) => [key, value]),
  );
  const realm = realmOf(words.get("realm") ?? "", reference.registry, scheme);
  const service = words.get("service");
  if (service !== undefined) realm.searchParams.set("service", service);
  // What is asked for is ours to say, not the server's.
  realm.searchParams.set("scope", `repository:${reference.repository}:pull`);
  const headers = basic === undefined ? {} : { authorization: basic };
  // Who was named as insecure is the registry, and not whomever it names.
  const insecure = limits.insecure && realm.host === reference.registry;
  const { status, body } = await http.ask(realm.href, { ...limits, insecure, maxBytes: maxTokenBytes, headers });
  if (status !== 200) throw new FairleadError("unavailable", `${realm.host} gives no token: status ${status}`);
  const answer = parseJson(Buffer.from(body).toString("utf8"));
  const token = isRecord(answer) ? (answer.token ?? answer.access_token) : undefined;
  if (typeof token !== "string" || /[\r\n]/.test(token))
    throw new FairleadError("invalid", `${realm.host} gives no token`);
  return `Bearer ${token}`;
}

/** A registry must not make the agent show credentials to, or knock at, places that only the agent reaches. */
function realmOf(text: string, registry: string, scheme: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const bad = (why: string): FairleadError => new FairleadError("forbidden", `${registry} asks for a token ${why}`);
  if (!url || (url.protocol !== "https:" && url.protocol !== "http:")) throw bad("of no address that can be called");
  if (url.protocol === "http:" && scheme === "https") throw bad("over a connection that is not encrypted");
  if (url.host === registry) return url;
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (isLoopbackHost(host)) throw bad("of this machine itself");
  if (isIP(host) !== 0 && isPlainRegistry(host)) throw bad("of a private address");
  return url;
}
