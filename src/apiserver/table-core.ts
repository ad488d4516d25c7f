/** The columns that `kubectl get` shows for Kubernetes' own kinds. */
import type { KubeObject } from "../model/index.ts";
import { at, listAt, numberAt, recordAt, textAt, textsAt } from "./access.ts";
import { age } from "./age.ts";
import type { Column } from "./kind.ts";
import { podColumns } from "./table-pod.ts";

type Cell = (object: KubeObject, now: Date) => unknown;

export const nameColumn: Column = {
  name: "Name",
  type: "string",
  format: "name",
  priority: 0,
  cell: (o) => o.metadata.name,
};
export const ageColumn: Column = {
  name: "Age",
  type: "string",
  priority: 0,
  cell: (o, now) => age(o.metadata.creationTimestamp ?? "", now),
};

function column(name: string, cell: Cell, priority = 0, type = "string"): Column {
  return { name, type, priority, cell };
}
const wide = (name: string, cell: Cell): Column => column(name, cell, 1);
const count = (name: string, ...path: string[]): Column => column(name, (o) => numberAt(o, ...path) ?? 0, 0, "integer");
const text = (name: string, ...path: string[]): Column => column(name, (o) => textAt(o, ...path) || "<none>");
const created = column("Created At", (o) => o.metadata.creationTimestamp ?? "");

const containers =
  (field: "name" | "image"): Cell =>
  (o) =>
    listAt(o, "spec", "template", "spec", "containers")
      .map((c) => textAt(c, field))
      .join(",");
const selector: Cell = (o) => selectorText(recordAt(o, "spec", "selector", "matchLabels"));
const podTemplate = [
  wide("Containers", containers("name")),
  wide("Images", containers("image")),
  wide("Selector", selector),
];

const tables: Readonly<Record<string, readonly Column[]>> = {
  Namespace: [text("Status", "status", "phase"), ageColumn],
  Service: [
    text("Type", "spec", "type"),
    text("Cluster-IP", "spec", "clusterIP"),
    column("External-IP", externalAddress),
    column("Port(s)", servicePorts),
    ageColumn,
    wide("Selector", (o) => selectorText(recordAt(o, "spec", "selector"))),
  ],
  Endpoints: [column("Endpoints", endpointAddresses), ageColumn],
  Pod: podColumns,
  Node: [
    column("Status", nodeStatus),
    column("Roles", () => "<none>"),
    ageColumn,
    column("Version", (o) => textAt(o, "status", "nodeInfo", "kubeletVersion")),
    wide("Internal-IP", (o) => nodeAddress(o, "InternalIP")),
    wide("External-IP", (o) => nodeAddress(o, "ExternalIP")),
    wide("OS-Image", (o) => textAt(o, "status", "nodeInfo", "osImage") || "<unknown>"),
    wide("Kernel-Version", (o) => textAt(o, "status", "nodeInfo", "kernelVersion") || "<unknown>"),
    wide("Container-Runtime", (o) => textAt(o, "status", "nodeInfo", "containerRuntimeVersion") || "<unknown>"),
  ],
  CertificateSigningRequest: [
    ageColumn,
    text("SignerName", "spec", "signerName"),
    text("Requestor", "spec", "username"),
    column("RequestedDuration", (o) => requestedLife(numberAt(o, "spec", "expirationSeconds"))),
    column("Condition", requestState),
  ],
  Secret: [
    text("Type", "type"),
    column("Data", (o) => Object.keys(recordAt(o, "data")).length, 0, "integer"),
    ageColumn,
  ],
  ConfigMap: [
    column(
      "Data",
      (o) => Object.keys(recordAt(o, "data")).length + Object.keys(recordAt(o, "binaryData")).length,
      0,
      "integer",
    ),
    ageColumn,
  ],
  ServiceAccount: [column("Secrets", (o) => listAt(o, "secrets").length, 0, "integer"), ageColumn],
  EndpointSlice: [
    text("AddressType", "addressType"),
    column("Ports", slicePorts),
    column("Endpoints", sliceAddresses),
    ageColumn,
  ],
  Lease: [text("Holder", "spec", "holderIdentity"), ageColumn],
  Ingress: [
    text("Class", "spec", "ingressClassName"),
    column("Hosts", (o) => ingressHosts(o)),
    column("Address", (o) =>
      listAt(o, "status", "loadBalancer", "ingress")
        .map((i) => textAt(i, "ip") || textAt(i, "hostname"))
        .join(","),
    ),
    column("Ports", (o) => (listAt(o, "spec", "tls").length > 0 ? "80, 443" : "80")),
    ageColumn,
  ],
  IngressClass: [
    text("Controller", "spec", "controller"),
    column("Parameters", (o) => textAt(o, "spec", "parameters", "name") || "<none>"),
    ageColumn,
  ],
  Role: [created],
  ClusterRole: [created],
  RoleBinding: [column("Role", roleName), ageColumn, ...subjects()],
  ClusterRoleBinding: [column("Role", roleName), ageColumn, ...subjects()],
  CustomResourceDefinition: [created],
  MutatingWebhookConfiguration: [column("Webhooks", (o) => listAt(o, "webhooks").length, 0, "integer"), ageColumn],
  ValidatingWebhookConfiguration: [column("Webhooks", (o) => listAt(o, "webhooks").length, 0, "integer"), ageColumn],
  Deployment: [
    column("Ready", (o) => `${numberAt(o, "status", "readyReplicas") ?? 0}/${numberAt(o, "spec", "replicas") ?? 1}`),
    count("Up-to-date", "status", "updatedReplicas"),
    count("Available", "status", "availableReplicas"),
    ageColumn,
    ...podTemplate,
  ],
  ReplicaSet: [
    count("Desired", "spec", "replicas"),
    count("Current", "status", "replicas"),
    count("Ready", "status", "readyReplicas"),
    ageColumn,
    ...podTemplate,
  ],
  StatefulSet: [
    column("Ready", (o) => `${numberAt(o, "status", "readyReplicas") ?? 0}/${numberAt(o, "spec", "replicas") ?? 1}`),
    ageColumn,
    ...podTemplate.slice(0, 2),
  ],
  DaemonSet: [
    count("Desired", "status", "desiredNumberScheduled"),
    count("Current", "status", "currentNumberScheduled"),
    count("Ready", "status", "numberReady"),
    count("Up-to-date", "status", "updatedNumberScheduled"),
    count("Available", "status", "numberAvailable"),
    column("Node Selector", (o) => selectorText(recordAt(o, "spec", "template", "spec", "nodeSelector"))),
    ageColumn,
    ...podTemplate,
  ],
  Job: [
    column("Status", () => "Suspended"),
    column(
      "Completions",
      (o) => `${numberAt(o, "status", "succeeded") ?? 0}/${numberAt(o, "spec", "completions") ?? 1}`,
    ),
    column("Duration", () => ""),
    ageColumn,
    ...podTemplate,
  ],
  HorizontalPodAutoscaler: [
    column(
      "Reference",
      (o) => `${textAt(o, "spec", "scaleTargetRef", "kind")}/${textAt(o, "spec", "scaleTargetRef", "name")}`,
    ),
    column("Targets", () => "<unknown>"),
    column("MinPods", (o) => String(numberAt(o, "spec", "minReplicas") ?? 1)),
    count("MaxPods", "spec", "maxReplicas"),
    count("Replicas", "status", "currentReplicas"),
    ageColumn,
  ],
  PodDisruptionBudget: [
    column("Min Available", (o) => String(at(o, "spec", "minAvailable") ?? "N/A")),
    column("Max Unavailable", (o) => String(at(o, "spec", "maxUnavailable") ?? "N/A")),
    count("Allowed Disruptions", "status", "disruptionsAllowed"),
    ageColumn,
  ],
};

const eventColumns: readonly Column[] = [
  column("Last Seen", (o, now) =>
    age(textAt(o, "lastTimestamp") || textAt(o, "eventTime") || (o.metadata.creationTimestamp ?? ""), now),
  ),
  column("Type", (o) => textAt(o, "type")),
  column("Reason", (o) => textAt(o, "reason")),
  column(
    "Object",
    (o) => `${textAt(o, "involvedObject", "kind").toLowerCase()}/${textAt(o, "involvedObject", "name")}`,
  ),
  wide("Subobject", (o) => textAt(o, "involvedObject", "fieldPath")),
  wide("Source", (o) => textAt(o, "source", "component") || textAt(o, "reportingComponent")),
  column("Message", (o) => textAt(o, "message").trim()),
  wide("Count", (o) => numberAt(o, "count") ?? 1),
  { ...nameColumn, priority: 1 },
];

/** Events are the one kind whose first column is not its name. */
export function columnsFor(_group: string, kind: string): readonly Column[] {
  if (kind === "Event") return eventColumns;
  return [nameColumn, ...(tables[kind] ?? [ageColumn])];
}

function selectorText(labels: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return pairs.length === 0 ? "<none>" : pairs.sort().join(",");
}

function externalAddress(o: KubeObject): string {
  const type = textAt(o, "spec", "type");
  if (type === "ExternalName") return textAt(o, "spec", "externalName");
  const balancer = listAt(o, "status", "loadBalancer", "ingress").map((i) => textAt(i, "ip") || textAt(i, "hostname"));
  const addresses = [...balancer, ...textsAt(o, "spec", "externalIPs")];
  if (addresses.length > 0) return addresses.join(",");
  return type === "LoadBalancer" ? "<pending>" : "<none>";
}

function servicePorts(o: KubeObject): string {
  const ports = listAt(o, "spec", "ports").map((port) => {
    const node = numberAt(port, "nodePort");
    return `${numberAt(port, "port") ?? ""}${node ? `:${node}` : ""}/${textAt(port, "protocol") || "TCP"}`;
  });
  return ports.length === 0 ? "<none>" : ports.join(",");
}

/** At most three, then how many more. */
function shortList(items: readonly string[]): string {
  if (items.length === 0) return "<none>";
  return items.length > 3 ? `${items.slice(0, 3).join(",")} + ${items.length - 3} more...` : items.join(",");
}

function endpointAddresses(o: KubeObject): string {
  const all = listAt(o, "subsets").flatMap((subset) =>
    listAt(subset, "addresses").flatMap((address) => {
      const ports = listAt(subset, "ports");
      return ports.length === 0
        ? [textAt(address, "ip")]
        : ports.map((port) => `${textAt(address, "ip")}:${numberAt(port, "port")}`);
    }),
  );
  return shortList(all);
}

function slicePorts(o: KubeObject): string {
  const ports = listAt(o, "ports").map((port) => String(numberAt(port, "port") ?? "*"));
  return ports.length === 0 ? "<unset>" : shortList(ports);
}

function sliceAddresses(o: KubeObject): string {
  const addresses = listAt(o, "endpoints").flatMap((endpoint) => textsAt(endpoint, "addresses"));
  return addresses.length === 0 ? "<unset>" : shortList(addresses);
}

function ingressHosts(o: KubeObject): string {
  const hosts = listAt(o, "spec", "rules").flatMap((rule) => textAt(rule, "host") || []);
  return hosts.length === 0 ? "*" : shortList(hosts);
}

function nodeStatus(o: KubeObject): string {
  const ready = listAt(o, "status", "conditions").find((c) => textAt(c, "type") === "Ready");
  const word = ready === undefined ? "Unknown" : textAt(ready, "status") === "True" ? "Ready" : "NotReady";
  return at(o, "spec", "unschedulable") === true ? `${word},SchedulingDisabled` : word;
}

function nodeAddress(o: KubeObject, type: string): string {
  const found = listAt(o, "status", "addresses").find((a) => textAt(a, "type") === type);
  return textAt(found, "address") || "<none>";
}

function roleName(o: KubeObject): string {
  return `${textAt(o, "roleRef", "kind")}/${textAt(o, "roleRef", "name")}`;
}

function subjects(): readonly Column[] {
  const of = (kind: string, name: (s: unknown) => string): Column =>
    wide(kind === "ServiceAccount" ? "ServiceAccounts" : `${kind}s`, (o) =>
      listAt(o, "subjects")
        .filter((s) => textAt(s, "kind") === kind)
        .map(name)
        .join(", "),
    );
  const plain = (s: unknown): string => textAt(s, "name");
  return [
    of("User", plain),
    of("Group", plain),
    of("ServiceAccount", (s) => `${textAt(s, "namespace")}/${textAt(s, "name")}`),
  ];
}

function requestedLife(seconds: number | undefined): string {
  if (seconds === undefined) return "<none>";
  const units = [
    [86_400, "d"],
    [3600, "h"],
    [60, "m"],
  ] as const;
  const [size, unit] = units.find(([of]) => seconds >= 2 * of) ?? [1, "s"];
  return `${Math.floor(seconds / size)}${unit}`;
}

/** As kubectl puts it: the verdict, then what came of it. */
function requestState(object: KubeObject): string {
  const types = listAt(object, "status", "conditions").map((condition) => textAt(condition, "type"));
  const verdict = ["Approved", "Denied"].find((type) => types.includes(type)) ?? "Pending";
  const outcome = types.includes("Failed") ? ["Failed"] : textAt(object, "status", "certificate") ? ["Issued"] : [];
  return [verdict, ...outcome].join(",");
}
