import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { IstioCertificateRequestSchema, IstioCertificateService } from "../gen/istio/auth_pb.js";
import { FairleadError, silentLogger } from "../lib/index.ts";
import {
  createCsr,
  formatCertificate,
  formatPrivateKey,
  generateKey,
  issueCertificate,
  type KeyPair,
} from "../pki/index.ts";
import { createRpcClient, createRpcServer, protoMethod, type RpcServer } from "../rpc/index.ts";
import { type CertificateAuthority, createCertificateAuthority } from "./authority.ts";
import { caGauges } from "./metrics.ts";
import { createCertificateService } from "./service.ts";
import { createSelfSignedBundle } from "./signing-bundle.ts";
import { createOwnSigner, type WorkloadSigner } from "./workload-signer.ts";

const method = protoMethod(IstioCertificateService.method.createCertificate);
const now = (): Date => new Date();
const counts = new Map<string, number>();
let authority: CertificateAuthority;
let key: KeyPair;
let signer: WorkloadSigner | undefined;
let mayIssue = true;
const servers: RpcServer[] = [];

beforeAll(async () => {
  key = await generateKey();
  const bundle = await createSelfSignedBundle({ organization: "cluster.local", now: now() });
  authority = createCertificateAuthority({ bundle, now });
});
afterAll(() => Promise.all(servers.map((server) => server.close())));

/** A token names its account: `a.NAMESPACE.b`. */
async function start(): Promise<number> {
  const service = createCertificateService({
    ...{ signer: signer ?? createOwnSigner(authority), log: silentLogger },
    acceptsPeer: () => true,
    stillThere: async () => true,
    async authenticate(token) {
      const namespace = token.split(".")[1] ?? "";
      if (namespace === "unknown") return undefined;
      return { identity: { trustDomain: "cluster.local", namespace, serviceAccount: "sa" } };
    },
    rateLimit: { take: () => mayIssue },
    metrics: {
      count(name, labels) {
        const labelled = labels ? `${name}{${labels.error}}` : name;
        counts.set(labelled, (counts.get(labelled) ?? 0) + 1);
      },
    },
  });
  const serving = await authority.issueServing({ dns: ["istiod.istio-system.svc"], addresses: [] });
  const tls = { ...serving, clientCa: authority.roots() };
  const server = createRpcServer({ routes: [service], tls, log: silentLogger });
  servers.push(server);
  return (await server.listen({ host: "127.0.0.1", port: 0 })).port;
}

/** Of this CA, for the key of all requests. */
function certificateWith(uri: string): string {
  const altNames = [{ type: "uri", value: uri }] as const;
  const { certificate, key: signingKey } = authority.bundle();
  const signer = { certificate, key: signingKey };
  const terms = { profile: "leaf", altNames, publicKey: key.publicKey, signer, now: now(), ttlMs: 60_000 } as const;
  return formatCertificate(issueCertificate(terms));
}

interface Asked {
  readonly namespace?: string;
  readonly request?: MessageInitShape<typeof IstioCertificateRequestSchema>;
  readonly certificate?: () => string;
  readonly signer?: WorkloadSigner;
  readonly isLimited?: true;
}

const failing = (code: "internal" | "unavailable" | "invalid"): WorkloadSigner => ({
  lifetime: (askedMs) => askedMs,
  sign: () => Promise.reject(new FairleadError(code, "no")),
});
const received = "citadel_server_csr_count";
const unknown = "citadel_server_authentication_failure_count";
const noIdentity = "citadel_server_id_extraction_err_count";
const unreadable = "citadel_server_csr_parsing_err_count";
const issued = "citadel_server_success_cert_issuance_count";
const unsigned = (error: string): string => `citadel_server_csr_sign_err_count{${error}}`;

const rows: readonly (readonly [event: string, asked: Asked, counted: readonly string[]])[] = [
  ["a certificate is issued", { namespace: "a" }, [issued]],
  ["nobody is known by the token", { namespace: "unknown" }, [unknown]],
  ["there is no token", {}, [unknown]],
  ["the token's name is no identity", { namespace: "Not_a_Name" }, [unknown, noIdentity]],
  [
    "another's identity is asked for",
    { namespace: "a", request: { metadata: { ImpersonatedIdentity: "spiffe://cluster.local/ns/b/sa/c" } } },
    [unknown],
  ],
  [
    "what is asked for is no identity",
    { namespace: "a", request: { metadata: { ImpersonatedIdentity: "spiffe://cluster.local/b" } } },
    [unknown, noIdentity],
  ],
  ["a certificate renews itself", { certificate: () => certificateWith("spiffe://cluster.local/ns/a/sa/b") }, [issued]],
  [
    "a certificate names no identity, and a token does",
    { namespace: "a", certificate: () => certificateWith("spiffe://cluster.local/somebody") },
    [noIdentity, issued],
  ],
  ["the CSR is junk", { namespace: "a", request: { csr: "junk" } }, [unreadable, unsigned("CSR_ERROR")]],
  ["the life is too long", { namespace: "a", request: { validityDuration: 2n ** 40n } }, [unsigned("TTL_ERROR")]],
  ["a CA elsewhere fails", { namespace: "a", signer: failing("internal") }, [unsigned("CERT_GEN_ERROR")]],
  ["a CA elsewhere is away", { namespace: "a", signer: failing("unavailable") }, [unsigned("CA_NOT_READY")]],
  [
    "a CA elsewhere would be asked for too much",
    { namespace: "a", signer: failing("invalid") },
    [unreadable, unsigned("CSR_ERROR")],
  ],
  ["too many are asked for", { namespace: "a", isLimited: true }, []],
];

test.each(rows)("what istiod counts is counted when %s", async (_, asked, counted) => {
  signer = asked.signer;
  mayIssue = asked.isLimited !== true;
  const port = await start();
  counts.clear();
  const certificate = asked.certificate && { cert: asked.certificate(), key: formatPrivateKey(key.privateKey) };
  const client = createRpcClient({
    target: { host: "127.0.0.1", port },
    tls: () => ({ ca: authority.roots(), serverName: "istiod.istio-system.svc", ...certificate }),
    metadata: async (): Promise<Readonly<Record<string, string>>> =>
      asked.namespace === undefined ? {} : { authorization: `Bearer a.${asked.namespace}.b` },
  });
  const request = create(IstioCertificateRequestSchema, { csr: createCsr({ key }), ...asked.request });
  const succeeded = await client.unary(method, request).then(
    () => true,
    () => false,
  );
  client.close();
  expect(succeeded).toBe(counted.includes(issued));
  expect(Object.fromEntries(counts)).toEqual(Object.fromEntries([received, ...counted].map((name) => [name, 1])));
});

test("the ends of the root and of the signer are shown, in seconds", async () => {
  const at = now();
  const root = authority.bundle().certificate;
  const until = Math.floor(root.validToDate.getTime() / 1000);
  expect(caGauges(authority, () => at)).toEqual({
    citadel_server_root_cert_expiry_timestamp: until,
    citadel_server_root_cert_expiry_seconds: (root.validToDate.getTime() - at.getTime()) / 1000,
    citadel_server_cert_chain_expiry_timestamp: undefined,
    citadel_server_cert_chain_expiry_seconds: undefined,
  });
});
