/** Webhook configurations: injectors that overlap, services that are not there, addresses that cannot be right. */
import { compareText, readList, readRecord, readText, readTextMap, readTexts } from "../../lib/index.ts";
import { parseUrl } from "../schema/go-url.ts";
import { isIp } from "../validate/addresses.ts";
import type { Analyser, Analysis } from "./analyser.ts";
import type { AnalysedObject } from "./objects.ts";
import { selects } from "./workloads.ts";

type Record_ = Readonly<Record<string, unknown>>;

const revisionLabel = "istio.io/rev";

const hooksOf = ({ raw }: AnalysedObject): readonly Record_[] => readList(raw.webhooks).map(readRecord);

function revisionsOf(object: AnalysedObject): readonly string[] {
  const selectors = hooksOf(object).flatMap((hook) => [hook.namespaceSelector, hook.objectSelector].map(readRecord));
  const named = [object.meta.labels, ...selectors.map((selector) => readTextMap(selector.matchLabels))].flatMap(
    (labels) => labels[revisionLabel] ?? [],
  );
  const listed = selectors
    .flatMap((selector) => readList(selector.matchExpressions).map(readRecord))
    .filter(({ key }) => key === revisionLabel)
    .flatMap(({ values }) => readTexts(values));
  return [...new Set([...named, ...listed])];
}

interface Hook {
  readonly object: AnalysedObject;
  readonly name: string;
  readonly hook: Record_;
}

export const webhooks: Analyser = {
  name: "webhook.Analyzer",
  needsCluster: true,
  run(analysis) {
    const injectors = analysis.objects
      .kube("MutatingWebhookConfiguration")
      .filter(
        (object) =>
          revisionsOf(object).length > 0 || hooksOf(object).some(({ name }) => readText(name).endsWith("istio.io")),
      );
    const hooks = injectors.flatMap((object) =>
      hooksOf(object).map((hook) => ({ object, hook, name: `${object.fullName}/${readText(hook.name)}` })),
    );
    checkOverlap(analysis, hooks, [...new Set(injectors.flatMap(revisionsOf))]);
    checkServices(analysis, hooks);
  },
};

/** Every mix of labels that a namespace and a Pod may have must meet one injector at most. */
function checkOverlap({ report }: Analysis, hooks: readonly Hook[], revisions: readonly string[]): void {
  const mixes = (label: string, values: readonly string[]): readonly Readonly<Record<string, string>>[] => {
    const plain = [{}, ...values.map((value) => ({ [label]: value }))];
    return [
      ...plain,
      ...revisions.flatMap((revision) => plain.map((labels) => ({ ...labels, [revisionLabel]: revision }))),
    ];
  };
  for (const namespace of mixes("istio-injection", ["enabled", "disabled"]))
    for (const pod of mixes("sidecar.istio.io/inject", ["true", "false"])) {
      const met = hooks.filter(
        ({ hook }) => selects(hook.namespaceSelector, namespace) && selects(hook.objectSelector, pod),
      );
      const names = [...new Set(met.map(({ name }) => name))];
      if (names.length < 2) continue;
      for (const { object, name } of met) {
        const others = names.filter((other) => other !== name).sort(compareText);
        report(
          object,
          "IST0139",
          `Webhook overlaps with others: [${others.join(" ")}]. This may cause injection to occur twice.`,
        );
      }
    }
}

function checkServices({ objects, report }: Analysis, hooks: readonly Hook[]): void {
  const services = new Set(objects.kube("Service").map(({ fullName }) => fullName));
  for (const { object, hook } of hooks) {
    const { service } = readRecord(hook.clientConfig);
    if (service === undefined) continue;
    const name = `${readText(readRecord(service).namespace)}/${readText(readRecord(service).name)}`;
    if (!services.has(name))
      report(object, "IST0139", `Injector refers to a control plane service that does not exist: ${name}.`);
  }
}

export const externalControlPlane: Analyser = {
  name: "externalcontrolplane.ExternalControlPlaneAnalyzer",
  needsCluster: false,
  run(analysis) {
    for (const object of analysis.objects.kube("ValidatingWebhookConfiguration"))
      if (object.meta.name === "istiod-default-validator" || object.meta.name.startsWith("istio-validator"))
        checkAddresses(analysis, object);
    for (const object of analysis.objects.kube("MutatingWebhookConfiguration"))
      if (object.meta.name.startsWith("istio-sidecar-injector")) checkAddresses(analysis, object);
  },
};

function checkAddresses({ report }: Analysis, object: AnalysedObject): void {
  for (const hook of hooksOf(object)) {
    const { url, service } = readRecord(hook.clientConfig);
    const name = readText(hook.name);
    const wrong = (host: string, why: string): void =>
      report(
        object,
        "IST0163",
        `The hostname (${host}) that was provided for the webhook (${name}) to reach the ingress gateway on the external control plane cluster ${why}. Traffic may not flow properly.`,
      );
    if (typeof url !== "string") {
      if (service === undefined) wrong("", "is blank");
      continue;
    }
    const parsed = parseUrl(url);
    if ("error" in parsed) wrong(url, "was provided in an invalid format");
    else if (isIp(parsed.host.replace(/:\d*$/, "").replace(/^\[|\]$/g, "")))
      report(
        object,
        "IST0164",
        `The address (${url}) that was provided for the webhook (${name}) to reach the ingress gateway on the external control plane cluster is an IP address. This is not recommended for a production environment.`,
      );
  }
}
