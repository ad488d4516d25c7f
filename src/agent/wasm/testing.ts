/** For tests: a Wasm module made by hand, archives, and an HTTP server that is a small OCI registry as well. */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";

const leb = (value: number): number[] => (value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...leb(value >>> 7)]);
const vector = (items: readonly (readonly number[])[]): number[] => [...leb(items.length), ...items.flat()];
const text = (value: string): number[] => [...leb(value.length), ...Buffer.from(value)];
const section = (id: number, content: readonly number[]): number[] => [id, ...leb(content.length), ...content];
const i32 = 0x7f;
const type = (params: number, results: number): number[] => [
  0x60,
  ...vector(Array.from({ length: params }, () => [i32])),
  ...vector(Array.from({ length: results }, () => [i32])),
];
/** `i32.const` of a number that a signed LEB128 of two bytes can hold. */
const constant = (value: number): number[] => [0x41, (value & 0x7f) | 0x80, (value >> 7) & 0x7f];

/** A proxy-wasm filter that answers every request itself, with this status. */
export function answeringModule(status: number): Uint8Array {
  const [version, allocate, headers, respond] = [type(0, 0), type(1, 1), type(3, 1), type(8, 1)];
  const body = (code: readonly number[]): number[] => [...leb(code.length + 2), 0, ...code, 0x0b];
  const answer = [constant(status), ...Array.from({ length: 6 }, () => constant(0)), constant(-1)].flat();
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, vector([version, allocate, headers, respond])),
    ...section(2, vector([[...text("env"), ...text("proxy_send_local_response"), 0, 3]])),
    ...section(3, vector([[0], [1], [2]])),
    ...section(5, vector([[0, 1]])),
    ...section(
      7,
      vector([
        [...text("memory"), 2, 0],
        [...text("proxy_abi_version_0_2_1"), 0, 1],
        [...text("proxy_on_memory_allocate"), 0, 2],
        [...text("proxy_on_request_headers"), 0, 3],
      ]),
    ),
    // The answer stops the request: Envoy goes no further with it.
    ...section(10, vector([body([]), body(constant(1024)), body([...answer, 0x10, 0, 0x1a, ...constant(1)])])),
  ]);
}

export const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

export function tar(files: Readonly<Record<string, Uint8Array>>): Uint8Array {
  const blocks = Object.entries(files).flatMap(([name, bytes]) => {
    const head = Buffer.alloc(512);
    head.write(name, 0, "latin1");
    head.write(bytes.length.toString(8).padStart(11, "0"), 124, "latin1");
    head.write("0", 156, "latin1");
    head.write("ustar\x0000", 257, "latin1");
    return [head, Buffer.from(bytes), Buffer.alloc((512 - (bytes.length % 512)) % 512)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

export interface Image {
  readonly manifest: Uint8Array;
  readonly blobs: ReadonlyMap<string, Uint8Array>;
}

const layerOf = (mediaType: string, bytes: Uint8Array) => ({
  mediaType,
  digest: `sha256:${sha256(bytes)}`,
  size: bytes.length,
});

function imageOf(layers: readonly (readonly [mediaType: string, bytes: Uint8Array])[], mediaType?: string): Image {
  const manifest = { schemaVersion: 2, mediaType, layers: layers.map(([kind, bytes]) => layerOf(kind, bytes)) };
  return {
    manifest: Buffer.from(JSON.stringify(manifest)),
    blobs: new Map(layers.map(([, bytes]) => [`sha256:${sha256(bytes)}`, bytes])),
  };
}

/** As container tools make it: the module is a file in the last layer. */
export const containerImage = (module: Uint8Array): Image =>
  imageOf(
    [["application/vnd.docker.image.rootfs.diff.tar.gzip", gzipSync(tar({ "./plugin.wasm": module }))]],
    "application/vnd.docker.distribution.manifest.v2+json",
  );

/** As Wasm tools make it: the module is a layer. */
export const artifactImage = (module: Uint8Array): Image =>
  imageOf([
    ["application/vnd.module.wasm.config.v1+json", Buffer.from("{}")],
    ["application/vnd.module.wasm.content.layer.v1+wasm", module],
  ]);

export interface TestServer {
  readonly host: string;
  /** `METHOD path` of each request, with ` as AUTHORIZATION` where it had one. */
  readonly requests: string[];
  /** By path; what is not there is 404. */
  readonly paths: Map<string, (request: IncomingMessage, response: ServerResponse) => void>;
  serve(path: string, bytes: Uint8Array): void;
  push(repository: string, tag: string, image: Image): void;
  close(): Promise<void>;
}

export async function startTestServer(): Promise<TestServer> {
  const requests: string[] = [];
  const paths: TestServer["paths"] = new Map();
  const server = createServer((request, response) => {
    const { method = "", url = "", headers } = request;
    requests.push(`${method} ${url}${headers.authorization === undefined ? "" : ` as ${headers.authorization}`}`);
    const answer = paths.get(url.replace(/\?.*$/, ""));
    if (answer) answer(request, response);
    else response.writeHead(404).end();
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const bound = server.address();
  const port = typeof bound === "object" && bound ? bound.port : 0;
  const serve = (path: string, bytes: Uint8Array): void =>
    void paths.set(path, (_, response) => void response.writeHead(200).end(bytes));
  return {
    host: `127.0.0.1:${port}`,
    requests,
    paths,
    serve,
    push(repository, tag, { manifest, blobs }) {
      for (const name of [tag, `sha256:${sha256(manifest)}`]) serve(`/v2/${repository}/manifests/${name}`, manifest);
      for (const [digest, bytes] of blobs) serve(`/v2/${repository}/blobs/${digest}`, bytes);
    },
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}
