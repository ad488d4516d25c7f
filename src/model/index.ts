export { canonicalName, canonicalRevision } from "./canonical.ts";
export { knownCipherSuites } from "./cipher-suites.ts";
export {
  type CaCertificate,
  configMapCa,
  credentialSocket,
  type KeyPair,
  secretCa,
  secretDockerConfig,
  secretKeyPair,
} from "./credential.ts";
export { type CredentialState, credentialState } from "./credential-state.ts";
export {
  type Endpoint,
  type Health,
  type Locality,
  localityName,
  localityText,
  splitLocality,
} from "./endpoint.ts";
export { compareSpecificity, hostCovers, hostsOverlap, isWildcard, resolveHost } from "./host.ts";
export { formatIdentity, type Identity, isIdentity, parseIdentity } from "./identity.ts";
export { type JwksSource, jwksKey, jwksLimits, jwksSource, publicJwks, shownJwks } from "./jwks.ts";
export * from "./kinds/index.ts";
export {
  type LabelSelector,
  matchesRequirements,
  matchesSelector,
  parseLabelSelector,
  type Requirement,
} from "./label-selector.ts";
export { labelPairs, matchesLabels, ownPart } from "./labels.ts";
export {
  columnSeparator,
  groupSeparator,
  httpValueColumns,
  type LabelColumn,
  labelColumns,
  type MetricChange,
  type MetricPlan,
  metricPlanAttribute,
  requestNotes,
  standardMetrics,
  tapHeaders,
  tapLimits,
  tcpValueColumns,
  telemetryCluster,
} from "./metric-record.ts";
export {
  type Config,
  compareAge,
  type KubeObject,
  lastWriter,
  type ObjectId,
  type ObjectMeta,
  type OwnerReference,
  objectId,
  objectKey,
  objectName,
  type Writer,
} from "./object.ts";
export { type PodName, parsePodName } from "./pod-name.ts";
export { podOwner } from "./pod-owner.ts";
export {
  isGrpc,
  isHttp,
  isHttp2,
  isSniffed,
  isTcp,
  isTls,
  type Protocol,
  parseProtocol,
  servicePortProtocol,
} from "./protocol.ts";
export {
  type BuildFacet,
  type ClientFacet,
  type EgressFacet,
  type InboundFacet,
  type MetadataKey,
  metadataKeys,
  type OutboundFacet,
  type PlacedFacet,
  type Profile,
  type Proxy,
  type ProxyClass,
  type ProxyType,
  type SelfNames,
  type ServerFacet,
  type ServiceTarget,
  type TracedFacet,
} from "./proxy.ts";
export { canonicalQuantity } from "./quantity.ts";
export {
  bytesOf,
  encodedResource,
  envoyTypes,
  healthType,
  type Resource,
  type ResourceType,
  type RouteParts,
  routeHostName,
  routeHosts,
  types,
} from "./resource.ts";
export { createResourceSet, emptyResourceSet, type ResourceSet } from "./resource-set.ts";
export {
  hostKey,
  portByNumber,
  type Resolution,
  type Service,
  type ServicePort,
  serviceKey,
  variantKey,
} from "./service.ts";
export { defaultMeshConfig, defaultProxyConfig, mergeMeshConfig, mergeProxyConfig } from "./settings.ts";
export {
  type ConnectionCount,
  connectionCounts,
  countPlaces,
  latencyBoundsMs,
  type RequestCount,
  reportIntervalMs,
  requestCounts,
  type TrafficProtocol,
} from "./traffic-counts.ts";
export { fairleadHub, fairleadImage, fairleadVersion, istioVersion } from "./version.ts";
