/** Istio's Gateways against the Pods, Services and Secrets they stand on, and against each other. */
import { compareText, readList, readNumber, readRecord, readText, readTextMap } from "../../lib/index.ts";
import {
  credentialState,
  type GatewaySpec,
  gateway,
  matchesLabels,
  type ServerTLSSettings,
  secretKeyPair,
} from "../../model/index.ts";
import { type Analyser, type Analysis, notFound } from "./analyser.ts";
import { type AnalysedObject, inNamespace, selectorText } from "./objects.ts";

type Gateway = AnalysedObject<GatewaySpec>;

export const gatewayPorts: Analyser = {
  name: "gateway.IngressGatewayPortAnalyzer",
  needsCluster: true,
  run(analysis) {
    for (const object of analysis.objects.of(gateway)) {
      const { selector = {}, servers = [] } = object.spec;
      const pods = analysis.objects.kube("Pod").filter((pod) => matchesLabels(selector, pod.meta.labels));
      if (pods.length === 0) {
        reportSelector(analysis, object);
        continue;
      }
      const open = new Set(pods.flatMap((pod) => [...openPorts(analysis, pod)]));
      servers.forEach(({ port }) => {
        if (!port || open.has(port.number ?? 0)) return;
        analysis.report(
          object,
          "IST0162",
          `The gateway is listening on a target port (port ${port.number ?? 0}) that is not defined in the Service associated with its workload instances (Pod selector ${selectorText(selector)}). If you need to access the gateway port through the gateway Service, it will not be available.`,
          "spec.selector",
        );
      });
    }
  },
};

function reportSelector({ report }: Analysis, object: Gateway): void {
  report(object, "IST0101", notFound("selector", selectorText(object.spec.selector ?? {})), "spec.selector");
}

/** Ports of the Services in front of a Pod: what they listen on and where they send it. */
function openPorts({ objects }: Analysis, pod: AnalysedObject): ReadonlySet<number> {
  const ports = new Set<number>();
  for (const { meta, spec } of objects.kube("Service")) {
    if (
      meta.namespace !== pod.meta.namespace ||
      !matchesLabels(readTextMap(readRecord(spec).selector), pod.meta.labels)
    )
      continue;
    for (const port of readList(readRecord(spec).ports).map(readRecord)) {
      if (readText(port.protocol) !== "TCP" && port.protocol !== undefined) continue;
      const target = readNumber(port.targetPort) ?? Number(readText(port.targetPort) || 0);
      if (target) ports.add(target);
      ports.add(readNumber(port.port) ?? 0);
    }
  }
  return ports;
}

export const certificates: Analyser = {
  name: "gateway.CertificateAnalyzer",
  needsCluster: false,
  run({ objects, report }) {
    const all = objects.of(gateway);
    for (const object of all)
      for (const other of all) {
        if (other === object || !matchesLabels(object.spec.selector ?? {}, other.spec.selector ?? {})) continue;
        for (const a of object.spec.servers ?? [])
          for (const b of other.spec.servers ?? [])
            if (a.tls && b.tls && sameCertificate(a.tls, b.tls))
              report(
                object,
                "IST0138",
                `Duplicate certificate in multiple gateways [${object.fullName} ${other.fullName}] may cause 404s if clients re-use HTTP2 connections.`,
                "metadata.name",
              );
      }
  },
};

function sameCertificate(a: ServerTLSSettings, b: ServerTLSSettings): boolean {
  if (a.credentialName && b.credentialName) return a.credentialName === b.credentialName;
  if (a.credentialName || b.credentialName) return false;
  return Boolean(
    a.serverCertificate && a.serverCertificate === b.serverCertificate && a.privateKey && a.privateKey === b.privateKey,
  );
}

export const secrets: Analyser = {
  name: "gateway.SecretAnalyzer",
  needsCluster: true,
  run(analysis) {
    for (const object of analysis.objects.of(gateway)) {
      if (podOf(analysis, object)) continue;
      reportSelector(analysis, object);
    }
    for (const { object, credential, namespace, path, secret } of credentialsOf(analysis)) {
      if (!secret) analysis.report(object, "IST0101", notFound("credentialName", credential), path);
      else if (isInvalid(secret, analysis.now))
        analysis.report(
          object,
          "IST0161",
          `The credential referenced by the Gateway ${object.meta.name} in namespace ${namespace} is invalid, which can cause the traffic not to work as expected.`,
          path,
        );
    }
  },
};

/** Whether the analyser above has something to say of what a field names, for proxies of a namespace. */
export function toldOfSecrets(
  analysis: Analysis,
): (object: AnalysedObject<unknown>, path: string, namespace: string) => boolean {
  const told = credentialsOf(analysis).filter(({ secret }) => !secret || isInvalid(secret, analysis.now));
  return (object, path, namespace) =>
    told.some((used) => used.object === object && used.path === path && used.namespace === namespace);
}

interface UsedCredential {
  readonly object: Gateway;
  readonly credential: string;
  /** Of the Pods that the Gateway selects. */
  readonly namespace: string;
  readonly path: string;
  readonly secret: AnalysedObject | undefined;
}

function credentialsOf(analysis: Analysis): readonly UsedCredential[] {
  const all = analysis.objects.kube("Secret");
  return analysis.objects.of(gateway).flatMap((object) => {
    const namespace = podOf(analysis, object)?.meta.namespace;
    if (namespace === undefined) return [];
    return (object.spec.servers ?? []).flatMap(({ tls }, i): readonly UsedCredential[] => {
      const credential = tls?.credentialName ?? "";
      const secret = all.find(({ fullName }) => fullName === inNamespace(namespace, credential));
      const path = `spec.servers[${i}].tls.credentialName`;
      return credential === "" ? [] : [{ object, credential, namespace, path, secret }];
    });
  });
}

function podOf({ objects }: Analysis, { spec }: Gateway): AnalysedObject | undefined {
  return objects.kube("Pod").find(({ meta }) => matchesLabels(spec.selector ?? {}, meta.labels));
}

/** Without a pair under names that Istio reads, or expired; a key of another certificate Istio says nothing of. */
function isInvalid({ raw }: AnalysedObject, now: Date): boolean {
  const pair = secretKeyPair(raw);
  const state = pair && credentialState({ cert: pair.cert }, now).state;
  return state !== "good" && state !== "expiring";
}

interface Server {
  readonly gateway: Gateway;
  readonly port: number;
  readonly hosts: readonly string[];
  readonly bind: string;
}

export const conflicts: Analyser = {
  name: "gateway.ConflictingGatewayAnalyzer",
  needsCluster: true,
  run(analysis) {
    const all = analysis.objects.of(gateway);
    const servers = lastServers(all);
    for (const object of all) {
      const selector = selectorText(object.spec.selector ?? {});
      const rivals = servers.filter((server) => sharesPod(analysis, object, server.gateway));
      if (selector !== "" && rivals.length === 0) {
        reportSelector(analysis, object);
        continue;
      }
      for (const { port, hosts = [], bind = "" } of object.spec.servers ?? []) {
        const number = port?.number ?? 0;
        const names = rivals
          .filter((rival) => rival.gateway.fullName !== object.fullName && rival.port === number)
          .filter((rival) => rival.bind === bind && hosts.some((host) => rival.hosts.includes(host)))
          .map((rival) => rival.gateway.fullName)
          .sort(compareText);
        if (names.length > 0)
          analysis.report(
            object,
            "IST0145",
            `Conflict with gateways ${names.join(",")} (workload selector ${selector}, port ${number}, hosts ${hosts.join(",")}).`,
          );
      }
    }
  },
};

/** Of several servers on one port of one gateway Istio compares the last. */
function lastServers(all: readonly Gateway[]): readonly Server[] {
  const byPort = new Map<string, Server>();
  for (const object of all)
    for (const { port, hosts = [], bind = "" } of object.spec.servers ?? []) {
      const number = port?.number ?? 0;
      byPort.set(`${object.fullName}~${number}`, { gateway: object, port: number, hosts, bind });
    }
  return [...byPort.values()];
}

/** The same selector, or one within the other and a Pod that both select. */
function sharesPod({ objects }: Analysis, a: Gateway, b: Gateway): boolean {
  const [x, y] = [a.spec.selector ?? {}, b.spec.selector ?? {}];
  const [textX, textY] = [selectorText(x), selectorText(y)];
  if (textX === textY) return true;
  if (!textX.includes(textY) && !textY.includes(textX)) return false;
  return objects.kube("Pod").some(({ meta }) => matchesLabels(x, meta.labels) && matchesLabels(y, meta.labels));
}
