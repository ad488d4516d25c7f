/** Layers and settings in; an image as an OCI archive out, which `docker load`, `podman load` and `ctr images import` read. */
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { type Entry, folder, type Layer, text } from "./entry.ts";
import { tarOf } from "./tar.ts";

export interface ImageSettings {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  /** When it was made, as far as the image tells: a number of the source, not of the clock. */
  readonly created: Date;
  readonly user: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly entrypoint: readonly string[];
}

export interface Image {
  /** Of the manifest: what the image is known by. */
  readonly digest: string;
  readonly archive: Buffer;
  readonly layers: readonly { readonly name: string; readonly bytes: number; readonly packedBytes: number }[];
}

interface Blob {
  readonly digest: string;
  readonly content: Buffer;
}

const sha256 = (content: Buffer): string => createHash("sha256").update(content).digest("hex");
const blobOf = (content: Buffer): Blob => ({ digest: `sha256:${sha256(content)}`, content });
const jsonBlob = (data: unknown): Blob => blobOf(Buffer.from(JSON.stringify(data)));
const media = (name: string): string => `application/vnd.oci.image.${name}`;
const descriptor = (mediaType: string, { digest, content }: Blob): object => ({
  mediaType,
  digest,
  size: content.length,
});

export function createImage(layers: readonly Layer[], settings: ImageSettings): Image {
  const packed = layers.map(({ name, entries }) => {
    const tar = tarOf(entries);
    return { name, bytes: tar.length, tarDigest: `sha256:${sha256(tar)}`, blob: blobOf(gzipSync(tar)) };
  });
  const config = jsonBlob(
    configOf(
      settings,
      packed.map(({ tarDigest }) => tarDigest),
      layers,
    ),
  );
  const manifest = jsonBlob({
    schemaVersion: 2,
    mediaType: media("manifest.v1+json"),
    config: descriptor(media("config.v1+json"), config),
    layers: packed.map(({ blob }) => descriptor(media("layer.v1.tar+gzip"), blob)),
  });
  const reference = `${settings.name}:${settings.version}`;
  const blobs = [config, manifest, ...packed.map(({ blob }) => blob)];
  return {
    digest: manifest.digest,
    archive: tarOf(
      archiveEntries(blobs, indexOf(manifest, reference, settings), legacyManifest(config, packed, reference)),
    ),
    layers: packed.map(({ name, bytes, blob }) => ({ name, bytes, packedBytes: blob.content.length })),
  };
}

function configOf(settings: ImageSettings, diffIds: readonly string[], layers: readonly Layer[]): object {
  const created = settings.created.toISOString();
  return {
    created,
    architecture: settings.architecture,
    os: "linux",
    config: {
      User: `${settings.user}:${settings.user}`,
      Env: Object.entries(settings.environment).map(([name, value]) => `${name}=${value}`),
      Entrypoint: settings.entrypoint,
      WorkingDir: "/",
      Labels: {
        "org.opencontainers.image.title": settings.name,
        "org.opencontainers.image.version": settings.version,
        "org.opencontainers.image.licenses": "Apache-2.0",
      },
    },
    rootfs: { type: "layers", diff_ids: diffIds },
    history: layers.map(({ name }) => ({ created, created_by: name })),
  };
}

function indexOf(manifest: Blob, reference: string, { version, architecture }: ImageSettings): object {
  const annotations = { "io.containerd.image.name": reference, "org.opencontainers.image.ref.name": version };
  const entry = {
    ...descriptor(media("manifest.v1+json"), manifest),
    platform: { architecture, os: "linux" },
    annotations,
  };
  return { schemaVersion: 2, mediaType: media("index.v1+json"), manifests: [entry] };
}

const blobPath = ({ digest }: Blob): string => `blobs/${digest.replace(":", "/")}`;

/** For a Docker that does not know OCI archives. */
function legacyManifest(config: Blob, layers: readonly { readonly blob: Blob }[], reference: string): object {
  return [{ Config: blobPath(config), RepoTags: [reference], Layers: layers.map(({ blob }) => blobPath(blob)) }];
}

function archiveEntries(blobs: readonly Blob[], index: object, legacy: object): readonly Entry[] {
  const files = blobs.map(
    (blob): Entry => ({ path: `/${blobPath(blob)}`, type: "file", mode: 0o644, content: { bytes: blob.content } }),
  );
  return [
    folder("/blobs"),
    folder("/blobs/sha256"),
    ...files.sort((a, b) => (a.path < b.path ? -1 : 1)),
    text("/index.json", JSON.stringify(index)),
    text("/manifest.json", JSON.stringify(legacy)),
    text("/oci-layout", JSON.stringify({ imageLayoutVersion: "1.0.0" })),
  ];
}
