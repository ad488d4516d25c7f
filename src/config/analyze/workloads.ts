/** Services, Deployments, Pods and Namespaces: ports and their names, users, injection. */
import {
  compareText,
  isRecord,
  parseJson,
  readList,
  readNumber,
  readRecord,
  readText,
  readTextMap,
} from "../../lib/index.ts";
import {
  isSniffed,
  matchesLabels,
  matchesSelector,
  type ProxyConfigSpec,
  proxyConfig,
  servicePortProtocol,
} from "../../model/index.ts";
import { decodeProxyConfig } from "../decode.ts";
import type { Analyser, Analysis } from "./analyser.ts";
import type { AnalysedObject, AnalysedObjects } from "./objects.ts";
import { containersOf, inMesh, isControlPlane, proxyImage } from "./workload.ts";

type Record_ = Readonly<Record<string, unknown>>;

const managedGateways: ReadonlySet<string> = new Set([
  "istio.io-gateway-controller",
  "istio.io-mesh-controller",
  "istio.io-eastwest-controller",
]);

const portsOf = (service: AnalysedObject): readonly Record_[] =>
  readList(readRecord(service.spec).ports).map(readRecord);

const textOf = (value: unknown): string => (typeof value === "number" ? String(value) : readText(value));

export const portNames: Analyser = {
  name: "service.PortNameAnalyzer",
  needsCluster: true,
  run({ objects, report }) {
    for (const service of objects.kube("Service")) {
      if (isControlPlane(service) || managedGateways.has(service.meta.labels["gateway.istio.io/managed"] ?? ""))
        continue;
      const external = readRecord(service.spec).type === "ExternalName";
      portsOf(service).forEach((port, i) => {
        const [name, number] = [readText(port.name), readNumber(port.port) ?? 0];
        const app = typeof port.appProtocol === "string" ? port.appProtocol : undefined;
        const protocol = servicePortProtocol(number, name, readText(port.protocol) || "TCP", app);
        if (!isSniffed(protocol) && !(name === "tcp" && external)) return;
        const path = `spec.ports[${i}]`;
        if (external)
          report(
            service,
            "IST0150",
            "Port name for ExternalName service is invalid. Proxy may prevent tcp named ports and unmatched traffic for ports serving TCP protocol from being forwarded correctly",
            path,
          );
        else {
          const target = textOf(port.targetPort) || String(number);
          report(
            service,
            "IST0118",
            `Port name ${name} (port: ${number}, targetPort: ${target}) doesn't follow the naming convention of Istio port.`,
            path,
          );
        }
      });
    }
  },
};

const templateOf = (deployment: AnalysedObject): Record_ => readRecord(readRecord(deployment.spec).template);

export const serviceAssociation: Analyser = {
  name: "deployment.MultiServiceAnalyzer",
  needsCluster: true,
  run(analysis) {
    for (const deployment of analysis.objects.kube("Deployment")) {
      if (deployment.meta.labels["gateway.istio.io/managed"] === "istio.io-mesh-controller") continue;
      const template = templateOf(deployment);
      const metadata = readRecord(template.metadata);
      const labels = readTextMap(metadata.labels);
      const workload = {
        namespace: deployment.meta.namespace,
        labels,
        annotations: readTextMap(metadata.annotations),
        spec: readRecord(template.spec),
      };
      if (!inMesh(analysis.objects, workload)) continue;
      const services = analysis.objects.kube("Service").filter(({ meta, spec }) => {
        const selector = readTextMap(readRecord(spec).selector);
        return (
          meta.namespace === deployment.meta.namespace &&
          Object.keys(selector).length > 0 &&
          matchesLabels(selector, labels)
        );
      });
      checkProtocols(analysis, deployment, services);
      checkTargets(analysis, deployment, services);
    }
  },
};

function checkProtocols({ report }: Analysis, deployment: AnalysedObject, services: readonly AnalysedObject[]): void {
  const byPort = new Map<number, { readonly protocol: string; readonly service: string }[]>();
  for (const service of services)
    for (const port of portsOf(service)) {
      const number = readNumber(port.port) ?? 0;
      byPort.set(number, [
        ...(byPort.get(number) ?? []),
        { protocol: readText(port.protocol) || "TCP", service: service.fullName },
      ]);
    }
  for (const [port, uses] of byPort) {
    if (new Set(uses.map(({ protocol }) => protocol)).size < 2) continue;
    const names = uses.map(({ service }) => service).sort(compareText);
    report(
      deployment,
      "IST0116",
      `This deployment ${deployment.meta.name} is associated with multiple services using port ${port} but different protocols: [${names.join(" ")}]`,
      "metadata.name",
    );
  }
}

function checkTargets({ report }: Analysis, deployment: AnalysedObject, services: readonly AnalysedObject[]): void {
  const byTarget = new Map<string, Map<number, string>>();
  for (const service of services)
    for (const port of portsOf(service)) {
      const number = readNumber(port.port) ?? 0;
      const target = textOf(port.targetPort) || String(number);
      byTarget.set(target, (byTarget.get(target) ?? new Map<number, string>()).set(number, service.fullName));
    }
  for (const [target, ports] of byTarget) {
    if (ports.size < 2) continue;
    const names = [...ports.values()].sort(compareText).join(" ");
    const numbers = [...ports.keys()].sort((a, b) => a - b).join(" ");
    report(
      deployment,
      "IST0137",
      `This deployment ${deployment.meta.name} is associated with multiple services [${names}] using targetPort ${JSON.stringify(target)} but different ports: [${numbers}].`,
      "metadata.name",
    );
  }
}

export const applicationUid: Analyser = {
  name: "applicationUID.Analyzer",
  needsCluster: true,
  run({ objects, report }) {
    const check = (object: AnalysedObject, spec: Record_): void => {
      if (isControlPlane(object)) return;
      const own = readList(spec.containers)
        .map(readRecord)
        .filter(({ name }) => name !== "istio-proxy" && name !== "istio-operator");
      for (const part of [spec, ...own])
        if (readRecord(part.securityContext).runAsUser === 1337)
          report(object, "IST0144", "User ID (UID) 1337 is reserved for the sidecar proxy.");
    };
    for (const pod of objects.kube("Pod")) check(pod, pod.spec);
    for (const deployment of objects.kube("Deployment")) check(deployment, readRecord(templateOf(deployment).spec));
  },
};

function injectorName(revision: string | undefined): string {
  return !revision || revision === "default" ? "istio-sidecar-injector" : `istio-sidecar-injector-${revision}`;
}

function injectorValues(configMap: AnalysedObject): Record_ {
  try {
    return readRecord(parseJson(readText(readRecord(configMap.raw.data).values) || "{}"));
  } catch {
    return {};
  }
}

export const injection: Analyser = {
  name: "injection.Analyzer",
  needsCluster: true,
  run(analysis) {
    const { objects, report } = analysis;
    const injected = new Set(
      objects
        .kube("Namespace")
        .filter((namespace) => checkNamespace(analysis, namespace))
        .map(({ meta }) => meta.name),
    );
    for (const pod of objects.kube("Pod")) {
      if (!injected.has(pod.meta.namespace) || readRecord(pod.spec).hostNetwork === true || proxyImage(pod.spec) !== "")
        continue;
      const wish = pod.meta.labels["sidecar.istio.io/inject"] ?? pod.meta.annotations["sidecar.istio.io/inject"] ?? "";
      if (wish.toLowerCase() === "false") continue;
      report(
        pod,
        "IST0103",
        `The pod ${pod.fullName} is missing the Istio proxy. This can often be resolved by restarting or redeploying the workload.`,
      );
    }
  },
};

/** True where Pods of the namespace should have a sidecar by the plain label. */
function checkNamespace({ objects, report }: Analysis, namespace: AnalysedObject): boolean {
  const { name, labels } = namespace.meta;
  if (name === "istio-system") return false;
  const label = labels["istio-injection"];
  const revision = labels["istio.io/rev"];
  const several = [
    ...(label === undefined ? [] : [`istio-injection=${label}`]),
    ...["istio.io/rev", "istio.io/dataplane-mode"].flatMap((key) =>
      labels[key] !== undefined && (label === undefined || label === "enabled") ? [`${key}=${labels[key]}`] : [],
    ),
  ];
  if (several.length > 1)
    report(
      namespace,
      "IST0123",
      `The namespace has more than one type of injection labels [${several.join(" ")}], which may lead to undefined behavior. Make sure only one injection label exists.`,
    );
  if (labels["istio.io/dataplane-mode"] === "ambient") return false;
  if ((label ?? "") !== "" || revision !== undefined) return label === "enabled";
  const injector = objects.kube("ConfigMap").find(({ meta }) => meta.name === injectorName(revision));
  const byDefault =
    injector && readRecord(injectorValues(injector).sidecarInjectorWebhook).enableNamespacesByDefault === true;
  if (byDefault)
    report(
      namespace,
      "IST0148",
      "is enabled for Istio injection, as Istio is installed with enableNamespacesByDefault as true.",
    );
  else
    report(
      namespace,
      "IST0102",
      `The namespace is not enabled for Istio injection. Run 'kubectl label namespace ${name} istio-injection=enabled' to enable it, or 'kubectl label namespace ${name} istio-injection=disabled' to explicitly mark it as not needing injection.`,
      "metadata.name",
    );
  return false;
}

export const injectionImages: Analyser = {
  name: "injection.ImageAnalyzer",
  needsCluster: true,
  run(analysis) {
    const { objects, report } = analysis;
    const images = new Map(
      objects
        .kube("ConfigMap")
        .filter(({ meta }) => meta.name.startsWith("istio-sidecar-injector"))
        .map((configMap) => [configMap.meta.name, injectorImage(configMap)]),
    );
    for (const namespace of objects.kube("Namespace")) {
      const { labels, name } = namespace.meta;
      const revision = labels["istio.io/rev"] ?? (labels["istio-injection"] === "enabled" ? "default" : undefined);
      const wanted = revision === undefined ? undefined : images.get(injectorName(revision));
      if (wanted === undefined) continue;
      const others = objects
        .kube("Pod")
        .filter((pod) => pod.meta.namespace === name && !pod.meta.annotations["sidecar.istio.io/proxyImage"])
        .flatMap((pod) => {
          const variant = imageType(analysis, pod);
          return containersOf(pod.spec)
            .filter((container) => container.name === "istio-proxy")
            .filter(({ image }) => image !== wanted && image !== `${wanted}-${variant}`)
            .map(() => pod.meta.name);
        })
        .sort(compareText);
      if (others.length > 0)
        report(
          namespace,
          "IST0158",
          `The Istio proxy images of the pods running in the namespace do not match the image defined in the injection configuration (pod names: [${others.join(" ")}]). This often happens after upgrading the Istio control-plane and can be fixed by redeploying the pods.`,
        );
    }
  },
};

function injectorImage(configMap: AnalysedObject): string {
  const { hub, tag, proxy } = readRecord(injectorValues(configMap).global);
  const image = readText(readRecord(proxy).image);
  return image.includes("/") ? image : `${readText(hub)}/${image}:${textOf(tag)}`;
}

/** Mesh, root namespace, namespace, workload, annotation: the last that says something. */
function imageType({ objects, mesh }: Analysis, pod: AnalysedObject): string {
  const all = objects.of(proxyConfig);
  const typeOf = (spec: ProxyConfigSpec | undefined): string => spec?.image?.imageType ?? "";
  const root = mesh.rootNamespace ?? "istio-system";
  const own = all.filter(({ meta }) => meta.namespace === pod.meta.namespace && meta.namespace !== root);
  const written = decodeProxyConfig(pod.meta.annotations["proxy.istio.io/config"] ?? "");
  const steps = [
    mesh.defaultConfig?.image?.imageType ?? "",
    ...all.filter(({ meta }) => meta.namespace === root).map(({ spec }) => typeOf(spec)),
    ...own.filter(({ spec }) => !spec.selector).map(({ spec }) => typeOf(spec)),
    ...own
      .filter(({ spec }) => spec.selector && matchesLabels(spec.selector.matchLabels ?? {}, pod.meta.labels))
      .map(({ spec }) => typeOf(spec)),
    written.ok?.image?.imageType ?? "",
  ];
  const variant = steps.findLast((step) => step !== "") ?? "";
  return variant === "default" ? "" : variant;
}

export const autoImages: Analyser = {
  name: "injection.ImageAutoAnalyzer",
  needsCluster: true,
  run({ objects, report }) {
    const webhooks = objects
      .kube("MutatingWebhookConfiguration")
      .flatMap(({ raw }) => readList(raw.webhooks).map(readRecord))
      .filter(({ name }) => readText(name).endsWith("istio.io"));
    const say = (kind: string, name: string): string =>
      `${kind} ${name} contains \`image: auto\` but does not match any Istio injection webhook selectors.`;
    for (const pod of objects.kube("Pod"))
      if (hasAutoImage(pod.spec)) report(pod, "IST0147", say("Pod", pod.meta.name));
    for (const deployment of objects.kube("Deployment")) {
      const template = templateOf(deployment);
      if (!hasAutoImage(readRecord(template.spec))) continue;
      const namespace = namespaceLabels(objects, deployment.meta.namespace);
      const labels = readTextMap(readRecord(template.metadata).labels);
      const matched = webhooks.some(
        (hook) => selects(hook.namespaceSelector, namespace) && selects(hook.objectSelector, labels),
      );
      if (!matched) report(deployment, "IST0146", say("Deployment", deployment.meta.name));
    }
  },
};

const hasAutoImage = (spec: Record_): boolean =>
  readList(spec.containers)
    .map(readRecord)
    .some(({ name, image }) => name === "istio-proxy" && image === "auto");

const namespaceLabels = (objects: AnalysedObjects, name: string): Readonly<Record<string, string>> =>
  objects.kube("Namespace").find(({ meta }) => meta.name === (name || "default"))?.meta.labels ?? {};

/** No selector selects all. */
export function selects(selector: unknown, labels: Readonly<Record<string, string>>): boolean {
  if (!isRecord(selector)) return true;
  const matchExpressions = readList(selector.matchExpressions)
    .map(readRecord)
    .map(({ key, operator, values }) => ({
      key: readText(key),
      operator: readText(operator),
      values: readList(values).map(textOf),
    }));
  return matchesSelector({ matchLabels: readTextMap(selector.matchLabels), matchExpressions }, labels);
}
