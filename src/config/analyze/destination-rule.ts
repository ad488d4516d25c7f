/** DestinationRules against the hosts and Pods they are about, and their TLS without verification. */
import { readRecord, readText } from "../../lib/index.ts";
import { type ClientTLSSettings, type DestinationRuleSpec, destinationRule, matchesLabels } from "../../model/index.ts";
import type { Analyser } from "./analyser.ts";
import { knownHosts } from "./hosts.ts";
import type { AnalysedObject, AnalysedObjects } from "./objects.ts";

export const caCertificates: Analyser = {
  name: "destinationrule.CaCertificateAnalyzer",
  needsCluster: false,
  run({ objects, report }) {
    for (const rule of objects.of(destinationRule)) {
      const { trafficPolicy, host = "" } = rule.spec;
      const say = (tls: ClientTLSSettings): string =>
        `DestinationRule ${rule.fullName} in namespace ${rule.meta.namespace} has TLS mode set to ${tls.mode} but no caCertificates are set to validate server identity for host: ${host}`;
      const { tls, portLevelSettings = [] } = trafficPolicy ?? {};
      if (tls && unverified(tls, rule.spec)) report(rule, "IST0128", say(tls), "spec.trafficPolicy.tls");
      portLevelSettings.forEach((settings, i) => {
        if (!settings.tls || !unverified(settings.tls, rule.spec)) return;
        const port = settings.port?.number ? `number:${settings.port.number}` : "";
        report(
          rule,
          "IST0129",
          `${say(settings.tls)} at port ${port}`,
          `spec.trafficPolicy.portLevelSettings[${i}].tls`,
        );
      });
    }
  },
};

/** A credential brings its own CA, but only where the rule is for some workloads. */
function unverified(tls: ClientTLSSettings, spec: DestinationRuleSpec): boolean {
  if (tls.mode !== "SIMPLE" && tls.mode !== "MUTUAL") return false;
  return !tls.caCertificates && !(tls.credentialName && spec.workloadSelector);
}

export const subsetPods: Analyser = {
  name: "destinationrule.SubsetSelectPodAnalyzer",
  needsCluster: true,
  run({ objects, report }) {
    const hosts = knownHosts(objects);
    const pods = objects.kube("Pod").map((pod) => labelsWithPlace(objects, pod));
    for (const rule of objects.of(destinationRule)) {
      const { host = "", exportTo = [], subsets = [] } = rule.spec;
      const known = hosts.find(rule.meta.namespace, exportTo, host);
      if (!known) {
        report(
          rule,
          "IST0174",
          `The host ${host} defined in the DestinationRule does not match any services in the mesh.`,
        );
        continue;
      }
      // Of two subsets with one name the last one counts.
      const byName = new Map(subsets.map(({ name = "", labels = {} }) => [name, { ...known.selector, ...labels }]));
      for (const [name, labels] of byName)
        if (!pods.some((pod) => matchesLabels(labels, pod)))
          report(
            rule,
            "IST0173",
            `The Subset ${name} defined in the DestinationRule does not select any pods. Which may lead to 503 UH (NoHealthyUpstream).`,
          );
    }
  },
};

/** Istio adds where a Pod runs to its labels, so that subsets can be made by place. */
function labelsWithPlace(objects: AnalysedObjects, pod: AnalysedObject): Readonly<Record<string, string>> {
  const nodeName = readText(readRecord(pod.spec).nodeName);
  const node = objects.kube("Node").find(({ meta }) => meta.name === nodeName)?.meta.labels ?? {};
  const place: Record<string, string> = {};
  const [region, zone, subzone] = [
    node["topology.kubernetes.io/region"],
    node["topology.kubernetes.io/zone"],
    node["topology.istio.io/subzone"],
  ];
  if (region) place["topology.kubernetes.io/region"] = region;
  if (region && zone) place["topology.kubernetes.io/zone"] = zone;
  if (region && zone && subzone) place["topology.istio.io/subzone"] = subzone;
  if (nodeName !== "") place["kubernetes.io/hostname"] = nodeName;
  return { ...pod.meta.labels, ...place };
}
