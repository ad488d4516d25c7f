/** Clients that show more certificates than anybody needs: let go, and after some times not heard for a while. */
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect as connectTls, createServer } from "node:tls";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createCertificateAuthority, createSelfSignedBundle } from "../src/ca/index.ts";
import { guardConnections, webLimits } from "../src/lib/index.ts";
import { bitString, encode, nullValue, oid, sequence, set, time, unsignedInteger, utf8String } from "../src/pki/der.ts";
import { createCsr, formatPrivateKey, generateKey } from "../src/pki/index.ts";
import { formatPem } from "../src/pki/pem.ts";
import { lacks, outsideAddress } from "./require.ts";

const rsaSha256 = sequence(oid("1.2.840.113549.1.1.11"), nullValue());
const name = (text: string): Buffer => sequence(set(sequence(oid("2.5.4.3"), utf8String(text))));

/** Well-formed, with a signature that is none: who looks at it has the whole work all the same. */
function certificate(subject: string, issuer: string, spki: Uint8Array, bytes: number): Buffer {
  const validity = sequence(time(new Date(Date.now() - 60_000)), time(new Date(Date.now() + 3_600_000)));
  const body = sequence(
    encode(0xa0, unsignedInteger(Buffer.of(2))),
    unsignedInteger(randomBytes(8)),
    rsaSha256,
    name(issuer),
    validity,
    name(subject),
    spki,
  );
  return sequence(body, rsaSha256, bitString(randomBytes(bytes).fill(0, 0, 1)));
}

function madeUpKey(bytes: number): Buffer {
  const modulus = randomBytes(bytes);
  modulus[0] = 0x80 | (modulus[0] ?? 0);
  modulus[bytes - 1] = 1 | (modulus[bytes - 1] ?? 0);
  const key = sequence(unsignedInteger(modulus), unsignedInteger(Buffer.of(1, 0, 1)));
  return sequence(sequence(oid("1.2.840.113549.1.1.1"), nullValue()), bitString(key));
}

function chain(length: number, bytes: number): Shown {
  const own = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const leaf = certificate("c0", "c1", own.publicKey.export({ type: "spki", format: "der" }), bytes);
  const others = Array.from({ length }, (_, i) => certificate(`c${i + 1}`, `c${i + 2}`, madeUpKey(bytes), bytes));
  return {
    cert: [leaf, ...others].map((one) => formatPem("CERTIFICATE", one)).join(""),
    key: own.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

interface Shown {
  readonly cert: string;
  readonly key: string;
}

let close: () => Promise<void>;
let port: number;
let good: Shown;

beforeEach(async () => {
  const now = (): Date => new Date();
  const bundle = await createSelfSignedBundle({ organization: "o", now: now() });
  const authority = createCertificateAuthority({ bundle, now });
  const serving = await authority.issueServing({ dns: ["a"], addresses: [] });
  const key = await generateKey();
  const identity = { trustDomain: "cluster.local", namespace: "ns", serviceAccount: "sa" };
  good = {
    cert: authority.sign(createCsr({ key }), identity, 0).chain.join(""),
    key: formatPrivateKey(key.privateKey),
  };
  const asked = { requestCert: true, rejectUnauthorized: false, ca: authority.roots() };
  const server = createServer({ ...serving, ...asked }, (socket) => void socket.write("hello"));
  const connections = guardConnections(server, webLimits);
  server.listen(0, "0.0.0.0");
  await once(server, "listening");
  ({ port } = server.address() as AddressInfo);
  close = async () => {
    const closed = once(server, "close");
    server.close();
    connections.destroyAll();
    await closed;
  };
});
afterEach(() => close());

interface Hearing {
  /** The first word, or nothing where the connection ends before it. */
  readonly word: Promise<string>;
  isOpen(): boolean;
}

function connect(host: string, shown: Shown): Hearing {
  const socket = connectTls({ host, port, ...shown, rejectUnauthorized: false });
  const word = Promise.withResolvers<string>();
  socket.on("error", () => {}).on("data", (chunk) => word.resolve(chunk.toString()));
  socket.once("close", () => word.resolve(""));
  return { word: word.promise, isOpen: () => !socket.destroyed };
}

test.each([
  ["thirty certificates", 30, 256],
  ["four with keys of 16,384 bits", 4, 2048],
])("%s are too many; a usual chain is not", async (_, length, bytes) => {
  expect(await connect("127.0.0.1", chain(length, bytes)).word).toBe("");
  expect(await connect("127.0.0.1", chain(2, 256)).word).toBe("hello");
  expect(await connect("127.0.0.1", good).word).toBe("hello");
});

test.skipIf(lacks("network"))(
  "who shows too many again and again waits; what else came from there goes on",
  async () => {
    const other = connect(outsideAddress() ?? "", good);
    expect(await other.word).toBe("hello");
    const [tooMany, heard] = [chain(30, 256), (shown: Shown) => connect(outsideAddress() ?? "", shown).word];
    expect(await heard(tooMany)).toBe("");
    expect(await heard(tooMany)).toBe("");
    expect(await heard(good)).toBe("hello");
    expect(await heard(tooMany)).toBe("");
    expect(await heard(good)).toBe("");
    expect(await connect("127.0.0.1", good).word).toBe("hello");
    expect(other.isOpen()).toBe(true);
  },
);
