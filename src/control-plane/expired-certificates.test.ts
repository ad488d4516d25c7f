/** Stages over objects in memory, with a clock of the test's: what a Gateway's status says when its certificate expires, and after. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createGraph } from "../collections/index.ts";
import { createMemorySource } from "../kube/index.ts";
import { readList, readRecord } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { formatCertificate, formatPrivateKey, generateKey, issueCertificate } from "../pki/index.ts";
import { followExpired } from "./expired-certificates.ts";
import { createStages } from "./stages.ts";
import { watchObjects } from "./watched-kinds.ts";

const start = new Date("2026-11-16T12:00:00Z");
const hourMs = 3_600_000;
const stop = new AbortController();
beforeEach(() => vi.useFakeTimers({ now: start, toFake: ["setTimeout", "clearTimeout", "Date"] }));
afterEach(() => {
  stop.abort();
  vi.useRealTimers();
});

async function secret(name: string, hours: number): Promise<KubeObject> {
  const { publicKey, privateKey } = await generateKey();
  const signer = { certificate: undefined, key: privateKey };
  const terms = { profile: "server", subject: { commonName: "a" }, publicKey, signer } as const;
  const certificate = issueCertificate({ ...terms, now: new Date(), ttlMs: hours * hourMs });
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  return {
    ...{ apiVersion: "v1", kind: "Secret", metadata: { name, namespace: "infra" }, type: "kubernetes.io/tls" },
    data: { "tls.crt": base64(formatCertificate(certificate)), "tls.key": base64(formatPrivateKey(privateKey)) },
  };
}

const listener = (name: string, port: number) => ({
  ...{ name, port, protocol: "HTTPS", hostname: `${name}.example.com` },
  tls: { mode: "Terminate", certificateRefs: [{ name }] },
});
const gateway: KubeObject = {
  ...{ apiVersion: "gateway.networking.k8s.io/v1", kind: "Gateway", metadata: { name: "edge", namespace: "infra" } },
  spec: { gatewayClassName: "istio", listeners: [listener("short", 443), listener("long", 8443)] },
};

test("a listener whose certificate expires says so from then on until it is renewed, and is served all the same", async () => {
  const graph = createGraph();
  const source = createMemorySource({
    graph,
    objects: [gateway, await secret("short", 30), await secret("long", 900)],
  });
  const { objects } = watchObjects(source);
  const now = (): Date => new Date();
  const stages = createStages({
    ...{ graph, objects, domain: "cluster.local", cluster: "Kubernetes", configMap: "istio-system/istio" },
    expired: followExpired({ graph, secrets: objects("", "Secret"), now, signal: stop.signal }),
  });
  const told = (): readonly string[] =>
    readList(readRecord(stages.statuses.get("Gateway/infra/edge")?.status).listeners).map((of) => {
      const conditions = readList(readRecord(of).conditions).map(readRecord);
      const said = (type: string): string => {
        const { status, reason, message } = conditions.find((one) => one.type === type) ?? {};
        return `${status} ${reason}${status === "True" ? "" : ` ${message}`}`;
      };
      return `${said("ResolvedRefs")}, ${said("Programmed")}`;
    });
  const good = "True ResolvedRefs, True Programmed";
  expect(told()).toEqual([good, good]);
  await vi.advanceTimersByTimeAsync(30 * hourMs + 1000);
  const cause = "the certificate of secret infra/short expired at 2026-11-17T18:00:00.000Z";
  expect(told()).toEqual([`False InvalidCertificateRef ${cause}, True Programmed`, good]);
  source.apply([await secret("short", 1)]);
  while (told()[0] !== good) await nextTurn();
  await vi.advanceTimersByTimeAsync(hourMs + 1000);
  expect(told()[0]).toContain("expired at");
  // The clock was wrong, and somebody has set it right.
  vi.setSystemTime(start);
  await vi.advanceTimersByTimeAsync(24 * hourMs);
  expect(told()).toEqual([good, good]);
});
