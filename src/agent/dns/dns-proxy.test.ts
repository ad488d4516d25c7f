import { createSocket } from "node:dgram";
import { once } from "node:events";
import {
  chmodSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { type Answer, decode, encode, type Packet, type RecordType } from "dns-packet";
import { afterEach, describe, expect, test } from "vitest";
import { DeltaDiscoveryResponseSchema } from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { NameTableSchema } from "../../gen/istio/nds_pb.js";
import { silentLogger } from "../../lib/index.ts";
import { types } from "../../model/index.ts";
import { type DnsProxy, startDnsProxy } from "./dns-proxy.ts";
import { encodeReply } from "./message.ts";
import { createNamesFile, type NamesFile } from "./names-file.ts";
import { parseResolvConf } from "./resolv-conf.ts";
import { createDnsServer } from "./server.ts";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const search = ["default.svc.cluster.local", "svc.cluster.local", "cluster.local"];

async function startProxy(
  servers: readonly { host: string; port: number }[] = [],
  names?: NamesFile,
): Promise<DnsProxy> {
  const proxy = await startDnsProxy({
    addresses: ["127.0.0.1"],
    port: 0,
    namespace: "default",
    search,
    servers,
    names,
    random: () => 0,
    log: silentLogger,
  });
  closers.push(proxy.close);
  return proxy;
}

type Info = { ips: string[]; registry?: string; shortname?: string; namespace?: string };

function tell(proxy: DnsProxy, table: Record<string, Info>): void {
  const resource = anyPack(NameTableSchema, create(NameTableSchema, { table }));
  const response = { typeUrl: types.nameTable, nonce: "1", resources: [{ name: "nds", version: "1", resource }] };
  proxy.subscription.receive(toBinary(DeltaDiscoveryResponseSchema, create(DeltaDiscoveryResponseSchema, response)));
}

const question = (name: string, type: RecordType, size?: number): Buffer =>
  encode({
    type: "query",
    id: 4711,
    flags: 0x0100,
    questions: [{ type, name }],
    ...(size === undefined
      ? {}
      : {
          additionals: [
            {
              type: "OPT",
              name: ".",
              udpPayloadSize: size,
              extendedRcode: 0,
              ednsVersion: 0,
              flags: 0,
              flag_do: false,
              options: [],
            },
          ],
        }),
  });

async function askUdp(port: number, bytes: Buffer): Promise<Packet> {
  const socket = createSocket("udp4");
  try {
    socket.send(bytes, port, "127.0.0.1");
    const [data] = (await once(socket, "message")) as [Buffer];
    return decode(data);
  } finally {
    socket.close();
  }
}

async function askTcp(port: number, bytes: Buffer): Promise<Packet> {
  const socket = connect(port, "127.0.0.1");
  const head = Buffer.alloc(2);
  head.writeUInt16BE(bytes.length);
  socket.write(Buffer.concat([head, bytes]));
  let got = Buffer.alloc(0);
  for await (const chunk of socket) {
    got = Buffer.concat([got, chunk as Buffer]);
    if (got.length >= 2 && got.length >= 2 + got.readUInt16BE(0)) break;
  }
  return decode(got.subarray(2));
}

const ask = (proxy: DnsProxy, name: string, type: RecordType = "A") => askUdp(proxy.port, question(name, type));
const datas = (packet: Packet): readonly unknown[] =>
  (packet.answers ?? []).map((answer: Answer) => ("data" in answer ? answer.data : undefined));
const code = (packet: Packet): number => (packet.flags ?? 0) & 0xf;

const web: Info = { ips: ["10.1.0.1"], registry: "Kubernetes", shortname: "web", namespace: "default" };
const shop: Info = { ips: ["10.1.0.2", "fd00::2"], registry: "Kubernetes", shortname: "web", namespace: "shop" };

describe("names of the mesh", () => {
  test("a Service answers to all its names, alone only in its own namespace", async () => {
    const proxy = await startProxy();
    tell(proxy, { "web.default.svc.cluster.local": web, "web.shop.svc.cluster.local": shop });
    for (const name of ["web", "web.default", "web.default.svc", "web.default.svc.cluster.local", "WEB.Default.svc."])
      expect(datas(await ask(proxy, name)), name).toEqual(["10.1.0.1"]);
    expect(datas(await ask(proxy, "web.shop"))).toEqual(["10.1.0.2"]);
    const answer = (await ask(proxy, "web"))?.answers?.[0];
    expect(answer).toMatchObject({ name: "web", ttl: 30 });
  });

  test("IPv6 is answered where there is some; a name with addresses of the other family exists all the same", async () => {
    const proxy = await startProxy();
    tell(proxy, { "web.default.svc.cluster.local": web, "web.shop.svc.cluster.local": shop });
    expect(datas(await ask(proxy, "web.shop", "AAAA"))).toEqual(["fd00::2"]);
    const none = await ask(proxy, "web", "AAAA");
    expect([code(none), datas(none)]).toEqual([0, []]);
  });

  test("hosts of ServiceEntries answer, wildcards by one label, and under every search domain", async () => {
    const proxy = await startProxy();
    tell(proxy, { "api.example.com": { ips: ["240.0.0.1"] }, "*.example.org": { ips: ["240.0.0.2"] } });
    expect(datas(await ask(proxy, "api.example.com"))).toEqual(["240.0.0.1"]);
    expect(datas(await ask(proxy, "any.example.org"))).toEqual(["240.0.0.2"]);
    for (const domain of search)
      expect(datas(await ask(proxy, `api.example.com.${domain}`))).toEqual(["api.example.com", "240.0.0.1"]);
    expect(code(await ask(proxy, "a.b.example.org"))).toBe(2);
  });

  test("an answer that is too long for UDP says so, and is whole over TCP or where the asker takes more", async () => {
    const proxy = await startProxy();
    const ips = Array.from({ length: 60 }, (_, i) => `10.2.0.${i}`);
    tell(proxy, { "many.default.svc.cluster.local": { ips, registry: "Kubernetes" } });
    const name = "many.default.svc.cluster.local";
    const cut = await ask(proxy, name);
    expect([(cut.flags ?? 0) & 0x0200, datas(cut)]).toEqual([0x0200, []]);
    expect(datas(await askTcp(proxy.port, question(name, "A")))).toHaveLength(60);
    expect(datas(await askUdp(proxy.port, question(name, "A", 4096)))).toHaveLength(60);
  });

  test("a new table takes the place of the old one; one that cannot be read changes nothing", async () => {
    const proxy = await startProxy();
    tell(proxy, { "web.default.svc.cluster.local": web });
    const broken = create(DeltaDiscoveryResponseSchema, {
      typeUrl: types.nameTable,
      nonce: "2",
      resources: [{ name: "nds", resource: { typeUrl: types.nameTable, value: Buffer.from([0xff]) } }],
    });
    proxy.subscription.receive(toBinary(DeltaDiscoveryResponseSchema, broken));
    expect(datas(await ask(proxy, "web"))).toEqual(["10.1.0.1"]);
    tell(proxy, { "other.default.svc.cluster.local": { ...web, shortname: "other", ips: ["10.1.0.9"] } });
    expect(code(await ask(proxy, "web"))).toBe(2);
    expect(datas(await ask(proxy, "other"))).toEqual(["10.1.0.9"]);
  });
});

describe("names that an agent has left", () => {
  const name = "web.default.svc.cluster.local";
  const fileIn = (dir: string, owner = "default istiod"): NamesFile =>
    createNamesFile({ path: join(dir, "proxy/names"), owner, log: silentLogger });

  /** The folder of an agent that was told of `web`, and has ended. */
  async function leave(table: Record<string, Info> = { [name]: web }): Promise<string> {
    const dir = mkdtempSync(join(tmpdir(), "fl-names-"));
    closers.push(async () => rmSync(dir, { recursive: true }));
    const proxy = await startProxy([], fileIn(dir));
    tell(proxy, { "older.test": { ips: ["10.1.0.3"] } });
    tell(proxy, table);
    await proxy.close();
    return dir;
  }

  test("are answered by the next one before the control plane speaks, and are those of the last table", async () => {
    const dir = await leave();
    expect(statSync(join(dir, "proxy/names")).mode & 0o777).toBe(0o600);
    const next = await startProxy([], fileIn(dir));
    expect(datas(await ask(next, "web"))).toEqual(["10.1.0.1"]);
    expect(code(await ask(next, "older.test"))).toBe(2);
  });

  test("give way to the first table that the control plane sends, an empty one too", async () => {
    const dir = await leave();
    const next = await startProxy([], fileIn(dir));
    tell(next, {});
    expect(code(await ask(next, "web"))).toBe(2);
  });

  test("are written while the agent lives, for one that is killed", async () => {
    const dir = await leave({ "other.test": { ips: ["10.1.0.4"] } });
    const alive = await startProxy([], fileIn(dir));
    const before = readFileSync(join(dir, "proxy/names"), "utf8");
    tell(alive, { [name]: web });
    await expect.poll(() => readFileSync(join(dir, "proxy/names"), "utf8") === before, { timeout: 60_000 }).toBe(false);
    expect(datas(await ask(await startProxy([], fileIn(dir)), "web"))).toEqual(["10.1.0.1"]);
  });

  test.each<[string, (path: string) => void]>([
    ["damaged", (path) => writeFileSync(path, readFileSync(path, "utf8").replace(/.{4}\n$/, "AAAA\n"))],
    ["cut off", (path) => writeFileSync(path, readFileSync(path, "utf8").slice(0, -9))],
    ["empty", (path) => writeFileSync(path, "")],
    ["open to others", (path) => chmodSync(path, 0o644)],
    ["larger than any", (path) => writeFileSync(path, `${readFileSync(path, "utf8")}${" ".repeat(17 << 20)}`)],
    [
      "a link",
      (path) => {
        renameSync(path, `${path}-elsewhere`);
        symlinkSync(`${path}-elsewhere`, path);
      },
    ],
  ])("are not gone by where the file is %s", async (_what, spoil) => {
    const dir = await leave();
    spoil(join(dir, "proxy/names"));
    const next = await startProxy([], fileIn(dir));
    expect(code(await ask(next, "web"))).toBe(2);
    tell(next, { [name]: web });
    expect(datas(await ask(next, "web"))).toEqual(["10.1.0.1"]);
  });

  test("are not gone by in another namespace or another mesh", async () => {
    const dir = await leave();
    expect(code(await ask(await startProxy([], fileIn(dir, "default elsewhere")), "web"))).toBe(2);
  });

  test("are not kept where the disk refuses them, which harms nothing", async () => {
    const warnings: string[] = [];
    const log = { ...silentLogger, warn: (text: string) => void warnings.push(text) };
    const file = createNamesFile({ path: "/proc/names", owner: "default istiod", log });
    const proxy = await startProxy([], file);
    tell(proxy, { [name]: web });
    await file.settle();
    expect(warnings).toEqual(["the names cannot be kept"]);
    expect(datas(await ask(proxy, "web"))).toEqual(["10.1.0.1"]);
  });
});

describe("other names", () => {
  const upstream = async () => {
    const server = await createDnsServer({
      addresses: ["127.0.0.1"],
      port: 0,
      answer: async (query, protocol, max) =>
        encodeReply(
          query,
          query.name === "gone.test"
            ? { code: "no-such-name", answers: [] }
            : {
                code: "ok",
                answers: [{ type: "TXT", name: query.name, ttl: 1, data: `${query.name} by ${protocol}` }],
              },
          max,
        ),
      log: silentLogger,
    });
    closers.push(server.close);
    return { host: "127.0.0.1", port: server.port };
  };

  test("they are asked of the Pod's own server, as they came, over the same protocol", async () => {
    const proxy = await startProxy([await upstream()]);
    tell(proxy, { "web.default.svc.cluster.local": web });
    expect(String(datas(await ask(proxy, "elsewhere.test", "TXT")))).toBe("elsewhere.test by udp");
    expect(String(datas(await askTcp(proxy.port, question("elsewhere.test", "TXT"))))).toBe("elsewhere.test by tcp");
    expect(String(datas(await ask(proxy, "web", "TXT")))).toBe("web by udp");
    const gone = await ask(proxy, "gone.test");
    expect([gone.id, code(gone)]).toEqual([4711, 3]);
  });

  /** Answers each question by this, whoever it then comes from. */
  const scripted = async (
    act: (asked: Packet, answer: (data: string, change?: Partial<Packet>) => Buffer, to: AddressInfo) => Promise<void>,
  ) => {
    const socket = createSocket("udp4");
    socket.bind(0, "127.0.0.2");
    await once(socket, "listening");
    closers.push(() => new Promise((resolve) => void socket.close(() => resolve())));
    socket.on("message", (bytes, { address, port }) => {
      const asked = decode(bytes);
      const answer = (data: string, change: Partial<Packet> = {}): Buffer =>
        encode({
          ...{ type: "response", id: asked.id, questions: asked.questions, flags: 0x0100 },
          answers: [{ type: "A", name: asked.questions?.[0]?.name ?? "", ttl: 1, data }],
          ...change,
        } as Packet);
      void act(asked, answer, { address, port, family: "IPv4" });
    });
    const sendFrom = async (from: string, data: Buffer, { address, port }: AddressInfo): Promise<void> => {
      const own = from === "" ? socket : createSocket("udp4");
      if (from !== "") {
        own.bind(0, from);
        await once(own, "listening");
      }
      await new Promise((resolve) => own.send(data, port, address, resolve));
      if (from !== "") own.close();
    };
    return { sendFrom, server: { host: "127.0.0.2", port: socket.address().port } };
  };

  test("P02: what another Pod says in the server's place is not heard, though it knows id and port", async () => {
    const { sendFrom, server } = await scripted(async (_, answer, to) => {
      // From another address, and from the same one by another port.
      for (const from of ["127.0.0.3", "127.0.0.2"]) await sendFrom(from, answer("10.6.6.6"), to);
      await sendFrom("", answer("192.0.2.1"), to);
    });
    const proxy = await startProxy([server]);
    expect(datas(await ask(proxy, "bank.test"))).toEqual(["192.0.2.1"]);
  });

  test("P02: an answer with the asker's id, to another question, or that is a question is none", async () => {
    const { sendFrom, server } = await scripted(async (asked, answer, to) => {
      const others = [{ type: "A", name: "other.test" }] as NonNullable<Packet["questions"]>;
      // The asker's own id may be known; by chance it may be the agent's too.
      if (asked.id !== 4711) await sendFrom("", answer("10.6.6.6", { id: 4711 }), to);
      await sendFrom("", answer("10.6.6.7", { questions: others }), to);
      await sendFrom("", answer("10.6.6.8", { type: "query" }), to);
      await sendFrom("", answer("10.6.6.9", { questions: [] }), to);
      await sendFrom("", answer("192.0.2.1"), to);
    });
    const proxy = await startProxy([server]);
    expect(datas(await ask(proxy, "bank.test"))).toEqual(["192.0.2.1"]);
  });

  test("P02: over TCP, too, an answer to another question is none, and the next server is asked", async () => {
    const evil = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", (bytes) => {
        const { id } = decode(bytes.subarray(2));
        const [name, type] = ["other.test", "A"] as const;
        const answers = [{ type, name, ttl: 1, data: "10.6.6.6" } as const];
        const answer = encode({ type: "response", id: id ?? 0, questions: [{ name, type }], answers });
        const head = Buffer.alloc(2);
        head.writeUInt16BE(answer.length);
        socket.end(Buffer.concat([head, answer]));
      });
    }).listen(0, "127.0.0.2");
    await once(evil, "listening");
    closers.push(() => new Promise((resolve) => void evil.close(() => resolve())));
    const bound = evil.address();
    const port = typeof bound === "object" && bound ? bound.port : 0;
    const proxy = await startProxy([{ host: "127.0.0.2", port }, await upstream()]);
    expect(String(datas(await askTcp(proxy.port, question("bank.test", "TXT"))))).toBe("bank.test by tcp");
  });

  test("a server that is not there gives way to the next; without any the asker is told", async () => {
    const dead = await createDnsServer({
      addresses: ["127.0.0.1"],
      port: 0,
      answer: async () => undefined,
      log: silentLogger,
    });
    await dead.close();
    const nobody = { host: "127.0.0.1", port: dead.port };
    const proxy = await startProxy([nobody, await upstream()]);
    expect(String(datas(await ask(proxy, "elsewhere.test", "TXT")))).toBe("elsewhere.test by udp");
    const alone = await startProxy([nobody]);
    expect(code(await ask(alone, "elsewhere.test"))).toBe(2);
    expect(alone.metrics()).toContain("istio_agent_dns_upstream_failures_total 1");
  });

  test("what is no question is not answered and harms nothing", async () => {
    const proxy = await startProxy();
    tell(proxy, { "web.default.svc.cluster.local": web });
    const socket = createSocket("udp4");
    for (const junk of [
      Buffer.alloc(0),
      Buffer.alloc(3),
      Buffer.alloc(600, 0xff),
      Buffer.from("c00cc00cc00cc00cc00cc00cc00c", "hex"),
    ])
      socket.send(junk, proxy.port, "127.0.0.1");
    expect(datas(await ask(proxy, "web"))).toEqual(["10.1.0.1"]);
    socket.close();
  });
});

test("P05: who asks over TCP and does not read is not heard any further, and has all answers when he reads", async () => {
  let answered = 0;
  const long = Buffer.alloc(60_000);
  const server = await createDnsServer({
    addresses: ["127.0.0.1"],
    port: 0,
    async answer() {
      answered++;
      return long;
    },
    log: silentLogger,
  });
  closers.push(server.close);
  const [asked, question] = [500, encode({ type: "query", id: 1, questions: [{ type: "A", name: "a.test" }] })];
  const head = Buffer.alloc(2);
  head.writeUInt16BE(question.length);
  const socket = connect(server.port, "127.0.0.1").pause();
  closers.push(async () => void socket.destroy());
  socket.write(Buffer.concat(Array.from({ length: asked }, () => [head, question]).flat()));
  const isStill = async (): Promise<boolean> => {
    const before = answered;
    await new Promise((resolve) => setTimeout(resolve, 200));
    return before > 0 && answered === before;
  };
  await expect.poll(isStill).toBe(true);
  expect(answered).toBeLessThan(asked);
  let bytes = 0;
  socket.on("data", (chunk) => {
    bytes += chunk.length;
  });
  socket.resume();
  await expect.poll(() => bytes).toBe(asked * (long.length + 2));
});

test("resolv.conf is read as resolvers do", () => {
  const text =
    "# comment\nnameserver 10.0.0.10 ; kube-dns\nnameserver nonsense\nnameserver fe80::1%eth0\ndomain old.\nsearch A.svc. b\noptions ndots:5\n";
  expect(parseResolvConf(text)).toEqual({ servers: ["10.0.0.10", "fe80::1%eth0"], search: ["a.svc", "b"] });
});
