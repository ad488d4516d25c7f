/**
 * `npm run bench -- bad-input [SECONDS]`: what bad input over xDS costs a control plane in a process of its own, with V8's
 * settings as people run it, while two hundred other proxies are served. For each row the longest turn of its event loop, in
 * processor time, and how much larger the process became; then, after so many seconds (60), how it compares with before.
 * Fails where a bound is broken, or one of the others lost its stream.
 *
 * All rows run twice: of the first time V8 keeps the heap that it once needed, whatever is in it. What counts for memory is
 * how much larger the second time leaves the process.
 */
import http2 from "node:http2";
import { setTimeout as wait } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { DeltaDiscoveryRequestSchema } from "../src/gen/envoy/service/discovery/v3/discovery_pb.js";
import { types } from "../src/model/index.ts";
import { createRpcClient } from "../src/rpc/index.ts";
import { deltaMethod } from "../src/xds/index.ts";
import { startWorld } from "../test/turns/world.ts";

type Init = MessageInitShape<typeof DeltaDiscoveryRequestSchema>;

const restSeconds = Number(process.argv[2] ?? 60);
/** Of a turn, in processor time, */
const maxTurnMs = 250;
/** and of memory that is still taken in the end. */
const maxPercent = 10;
const broken: string[] = [];
let isOver = false;
const world = await startWorld();
const { plane } = world.measured;
const target = world.plane.grpc;
const node = (name: string) => ({ id: `sidecar~10.0.0.1~${name}.default~default.svc.cluster.local` });
const [clusters, endpoints] = [types.cluster, types.endpoint];

/** A stream that says all this, and asks for clusters; resolves when an answer has come, or its end. */
async function say(client: ReturnType<typeof createRpcClient>, requests: readonly Init[]): Promise<void> {
  const stream = await client.stream(deltaMethod);
  for (const request of [...requests, { typeUrl: clusters }])
    void stream.send(create(DeltaDiscoveryRequestSchema, request)).catch(() => {});
  await stream.messages.next().catch(() => {});
}

async function withClient<T>(run: (client: ReturnType<typeof createRpcClient>) => Promise<T>): Promise<T> {
  const client = createRpcClient({ target });
  try {
    return await run(client);
  } finally {
    client.close();
  }
}

const sayOnce = (...requests: readonly Init[]): Promise<void> => withClient((client) => say(client, requests));

/** One message as it is, with gRPC's flag for compression; resolves with the answer's end. */
function raw(message: Uint8Array, flag: number): Promise<void> {
  const session = http2.connect(`http://${target.host}:${target.port}`).on("error", () => {});
  const encoding = flag === 1 ? { "grpc-encoding": "gzip" } : {};
  const head = { ":method": "POST", ":path": deltaMethod.path, "content-type": "application/grpc", ...encoding };
  const stream = session.request(head).on("error", () => {});
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(message.length, 1);
  stream.resume().write(Buffer.concat([prefix, message]));
  return new Promise((resolve) => stream.once("close", () => session.close(() => resolve())));
}

async function herd(count: number): Promise<void> {
  const clients = Array.from({ length: count / 10 }, () => createRpcClient({ target }));
  const come = (client: ReturnType<typeof createRpcClient>, i: number): Promise<void> =>
    say(client, [{ node: node(`herd-${i}`), typeUrl: clusters }]);
  await Promise.all(clients.flatMap((client) => Array.from({ length: 10 }, (_, i) => come(client, i))));
  for (const client of clients) client.close();
}

/** Readers with a window of nothing, while Services come and go. */
async function slowReaders(count: number, changes: number): Promise<void> {
  const first = toBinary(
    DeltaDiscoveryRequestSchema,
    create(DeltaDiscoveryRequestSchema, { node: node("slow"), typeUrl: clusters }),
  );
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(first.length, 1);
  const sessions = Array.from({ length: count }, () => {
    const settings = { initialWindowSize: 0 };
    const session = http2.connect(`http://${target.host}:${target.port}`, { settings }).on("error", () => {});
    const head = { ":method": "POST", ":path": deltaMethod.path, "content-type": "application/grpc" };
    session
      .request(head)
      .on("error", () => {})
      .write(Buffer.concat([prefix, first]));
    return session;
  });
  const services = "/api/v1/namespaces/default/services";
  for (let i = 0; i < changes; i++) {
    await world.call("POST", services, { metadata: { name: `s${i}` }, spec: { ports: [{ port: 80, name: "http" }] } });
    if (i > 0) await world.call("DELETE", `${services}/s${i - 1}`);
  }
  await world.call("DELETE", `${services}/s${changes - 1}`);
  for (const session of sessions) session.destroy();
}

const names = Array.from({ length: 100_000 }, (_, i) => `outbound|80||n${i}.a.svc`);
const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
const many = async (count: number, run: () => Promise<void>): Promise<void> => {
  for (let i = 0; i < count; i++) await run();
};
const rows: readonly (readonly [string, () => Promise<void>])[] = [
  [
    "X01, X05 refusals of what was never sent",
    () =>
      sayOnce(
        { node: node("bad"), typeUrl: clusters },
        ...Array.from({ length: 900 }, (_, i) => ({
          ...{ typeUrl: clusters, responseNonce: `${i}` },
          errorDetail: { code: 3, message: "no".repeat(i < 10 ? 500_000 : 1) },
        })),
      ),
  ],
  [
    "X07 a hundred thousand names",
    () => sayOnce({ node: node("bad"), typeUrl: endpoints, resourceNamesSubscribe: names }),
  ],
  [
    "X07 names of a megabyte",
    () =>
      sayOnce(
        { node: node("bad"), typeUrl: endpoints, resourceNamesSubscribe: ["a"] },
        ...Array.from({ length: 20 }, (_, i) => ({
          ...{ typeUrl: endpoints, resourceNamesSubscribe: [`${i}`.padStart(1024 * 1024, "x")] },
        })),
      ),
  ],
  [
    "X07 long names that differ at their end",
    () =>
      sayOnce(
        { node: node("bad"), typeUrl: endpoints, resourceNamesSubscribe: ["a"] },
        ...Array.from({ length: 8 }, (_, i) => ({
          ...{
            typeUrl: endpoints,
            resourceNamesSubscribe: Array.from({ length: 200 }, (_, n) => `${200 * i + n}`.padStart(17_000, "x")),
          },
        })),
      ),
  ],
  ["X08 messages that inflate to 64 MB", () => many(20, () => raw(bomb, 1))],
  ["X08 messages of 5 MB", () => many(20, () => raw(Buffer.alloc(5_000_000), 0))],
  ["X11 twenty slow readers", () => slowReaders(20, 200)],
  ["X12 two thousand at once", () => herd(2000)],
  ["X18 noise", () => many(200, () => raw(Buffer.alloc(200, 0xff), 0))],
];

const megabytes = (bytes: number): string => (bytes / 1024 / 1024).toFixed(1);

/** Served all the time, each with a stream that takes what comes. */
const clients = Array.from({ length: 20 }, () => createRpcClient({ target }));
const others = await Promise.all(
  clients.flatMap((client, i) => Array.from({ length: 10 }, (_, n) => follow(client, `${i}-${n}`))),
);

async function follow(client: ReturnType<typeof createRpcClient>, name: string): Promise<{ answers: number }> {
  const other = { answers: 0 };
  const stream = await client.stream(deltaMethod);
  const tell = (init: Init): void => void stream.send(create(DeltaDiscoveryRequestSchema, init)).catch(() => {});
  const read = async (): Promise<void> => {
    for await (const { typeUrl, nonce } of stream.messages) {
      other.answers++;
      tell({ typeUrl, responseNonce: nonce });
    }
  };
  const onEnd = (): void => void (isOver || broken.push(`the stream of ${name} has ended`));
  tell({ node: node(`other-${name}`), typeUrl: clusters });
  void read().then(onEnd, onEnd);
  return other;
}

async function runRows(): Promise<void> {
  for (const [name, run] of rows) {
    let growth = 0;
    const { ms, garbageMs } = await plane.longestTurn(async () => {
      growth = await plane.residentGrowth(run);
    });
    const [turnMs, allGarbageMs] = [Math.round(ms), Math.round(garbageMs)];
    console.log(JSON.stringify({ row: name, turnMs, garbageMs: allGarbageMs, grewMb: megabytes(growth) }));
    if (ms > maxTurnMs) broken.push(`${name}: a turn took ${turnMs} ms, and may take ${maxTurnMs}`);
  }
}

const fresh = await plane.resident();
await runRows();
await wait(restSeconds * 1000);
const before = await plane.resident();
await runRows();
await wait(restSeconds * 1000);
const after = await plane.resident();
const percent = (after / before - 1) * 100;
const sizes = { freshMb: megabytes(fresh), beforeMb: megabytes(before), afterMb: megabytes(after) };
console.log(JSON.stringify({ ...sizes, seconds: restSeconds, percent: Math.round(percent) }));
if (percent > maxPercent) broken.push(`memory: ${percent.toFixed(1)} % more than before, of at most ${maxPercent} %`);
const idle = others.filter(({ answers }) => answers === 0).length;
if (idle > 0) broken.push(`${idle} of the others had no answer`);
isOver = true;
for (const client of clients) client.close();
await world.close();
for (const one of broken) console.error(one);
process.exitCode = broken.length > 0 ? 1 : 0;
