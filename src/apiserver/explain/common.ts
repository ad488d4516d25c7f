/** What fields are for that mean the same wherever they are found, a line each. */
export const commonText = `
address: The address to use.
conditions: What is known of the object, each with the generation that it was seen at.
connectionPool: How many connections and requests there may be at a time.
credentialName: The Secret that holds the certificate and key.
destination: Where the traffic goes.
destinationSubnets: Addresses that the client asked for, as addresses or in CIDR form.
disabled: Turns this off.
enabled: Turns this on.
exportTo: The namespaces that see the object: "." is its own, "*" all of them; without it the mesh's default holds.
gateways: The gateways that this is for; "mesh" stands for all sidecars.
host: The name of the host.
hosts: The host names that this is for.
idleTimeout: How long a connection may be without traffic before it is closed.
interval: The time between two rounds.
kind: The kind of the object that is meant.
group: The API group of the object that is meant; empty is the core group.
labels: Labels, by name.
loadBalancer: How an endpoint is chosen for each request or connection.
location: Whether it is part of the mesh.
locality: The region, zone and sub-zone, with "/" between them.
match: What has to be met for this to apply.
matchLabels: Labels that a workload has to have, all of them.
message: A sentence for people.
method: The HTTP method.
mode: Which way of working is chosen.
name: The name.
namespace: The namespace.
network: The network that the address belongs to; addresses of one network reach each other directly.
number: The number of the port.
observedGeneration: The generation of the object that this was said of.
outlierDetection: When an endpoint that fails is left out for a while.
parentRefs: The Gateways, or listeners of them, that this is attached to.
path: The path.
percent: The share of requests, in percent.
percentage: The share of requests, in percent, fractions included.
port: The port.
portLevelSettings: Settings for single ports, which replace those for all.
ports: The ports.
priority: Decides the order among several of the same kind.
protocol: The protocol that is spoken on the port.
providers: The providers that do the work, by the names that the mesh's configuration gives them.
reason: One word for programs that says why.
route: Where the traffic goes; several destinations share it by weight.
rules: The rules, in order.
selector: The workloads that this is for, by label; without it all of the namespace.
serviceAccount: The service account that the workload runs as.
sni: The server name of the TLS handshake.
sourceLabels: Labels of the workloads that this is for, as the caller.
sourceNamespace: The namespace of the workloads that this is for, as the caller.
spec: What is wanted.
status: What has become of it.
subjectAltNames: Names that the other side's certificate has to show, at least one of them.
subset: The subset of the host's endpoints, as a DestinationRule defines it.
targetPort: The port that the workload itself listens on; the same number without it.
targetRef: The one object that this is for.
targetRefs: The objects that this is for.
timeout: How long it may take.
tls: The TLS settings.
trafficPolicy: Load balancing, connection pools, outlier detection and TLS.
type: The type.
uri: The path of the URI.
url: The address to fetch it from.
validationMessages: What analysis found to say about the object.
value: The value.
weight: The share of the traffic, relative to the others' weights.
workloadSelector: The workloads that this is for, by label.
`;
