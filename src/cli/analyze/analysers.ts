/** Names of analysers in; what `-L` says of each out. */

const descriptions: ReadonlyMap<string, string> = new Map([
  ["annotations.K8sAnalyzer", "Checks for misplaced and invalid Istio annotations in Kubernetes resources"],
  ["applicationUID.Analyzer", "Checks invalid application UID"],
  ["auth.AuthorizationPoliciesAnalyzer", "Checks the validity of authorization policies"],
  [
    "authn.BlockedCIDRsAnalyzer",
    "Checks that BLOCKED_CIDRS_IN_JWKS_URIS is configured on istiod when RequestAuthentication resources exist",
  ],
  ["conditions.ConditionAnalyzer", "Checks for negative status conditions on resources"],
  ["deployment.MultiServiceAnalyzer", "Checks association between services and pods"],
  ["deprecation.DeprecationAnalyzer", "Checks for deprecated Istio types and fields"],
  ["destinationrule.CaCertificateAnalyzer", "Checks if caCertificates is set when TLS mode is SIMPLE/MUTUAL"],
  ["destinationrule.SubsetSelectPodAnalyzer", "Checks if pods are selected by subsets in destination rules."],
  ["envoyfilter.EnvoyPatchAnalyzer", "Checks an envoyFilters "],
  [
    "externalcontrolplane.ExternalControlPlaneAnalyzer",
    "Checks that the remote IstioOperator resources reference an external control plane",
  ],
  ["fairlead.UnhonouredFieldAnalyzer", "Checks for fields that this control plane does not honour"],
  ["fairlead.DelegateAnalyzer", "Checks that the delegates of virtual services exist and end"],
  ["fairlead.CredentialAnalyzer", "Checks for certificates of gateways that cannot be used, or end soon"],
  ["fairlead.ForeignHostAnalyzer", "Checks for routes that take a host of another namespace for the whole mesh"],
  ["fairlead.PlaintextSourceAnalyzer", "Checks for policies by identity that plaintext clients pass"],
  ["gateway.CertificateAnalyzer", "Checks a gateway certificate"],
  ["gateway.ConflictingGatewayAnalyzer", "Checks a gateway's selector, port number and hosts"],
  ["gateway.IngressGatewayPortAnalyzer", "Checks a gateway's ports against the gateway's Kubernetes service ports"],
  ["gateway.SecretAnalyzer", "Checks a gateway's referenced secrets for correctness"],
  ["injection.Analyzer", "Checks conditions related to Istio sidecar injection"],
  ["injection.ImageAnalyzer", "Checks the image of auto-injection configured with the running proxies on pods"],
  ["injection.ImageAutoAnalyzer", "Makes sure that Pods and Deployments with `image: auto` are going to be injected"],
  [
    "k8sgateway.CRDVersionAnalyzer",
    "Checks Gateway API CRDs are at the minimum version required by this Istio version",
  ],
  ["k8sgateway.SelectorAnalyzer", "Check that selectors are effective for Kubernetes gateway"],
  ["meshnetworks.MeshNetworksAnalyzer", "Check the validity of MeshNetworks in the cluster"],
  ["service.PortNameAnalyzer", "Checks the port names associated with each service"],
  ["serviceentry.Analyzer", "Checks the validity of ServiceEntry"],
  [
    "serviceentry.ConflictingServiceEntryProtocolAnalyzer",
    "Checks if multiple ServiceEntries define the same host and port with different protocols",
  ],
  [
    "sidecar.SelectorAnalyzer",
    "Validates that sidecars that define a workload selector match at least one pod, and that there aren't multiple sidecar resources that select overlapping pods",
  ],
  [
    "telemetry.DefaultSelectorAnalyzer",
    "Validates that there aren't multiple telemetry resources that have no selector",
  ],
  ["telemetry.LightstepAnalyzer", "Validates that lightstep provider is still used"],
  ["telemetry.ProviderAnalyzer", "Validates that providers in telemetry resource is valid"],
  [
    "telemetry.SelectorAnalyzer",
    "Validates that telemetries that define a selector match at least one pod, and that there aren't multiple telemetry resources that select overlapping pods",
  ],
  [
    "virtualservice.ConflictingMeshGatewayHostsAnalyzer",
    "Checks if multiple virtual services associated with the mesh gateway have conflicting hosts",
  ],
  ["virtualservice.DestinationHostAnalyzer", "Checks the destination hosts associated with each virtual service"],
  ["virtualservice.DestinationRuleAnalyzer", "Checks the destination rules associated with each virtual service"],
  ["virtualservice.GatewayAnalyzer", "Checks the gateways associated with each virtual service"],
  [
    "virtualservice.JWTClaimRouteAnalyzer",
    "Checks the VirtualService using JWT claim based routing has corresponding RequestAuthentication",
  ],
  ["webhook.Analyzer", "Checks the validity of Istio webhooks"],
]);

export function listAnalysers(names: readonly string[]): string {
  return [...names]
    .sort()
    .map((name) => `* ${name}:\n    ${describe(name)}\n`)
    .join("");
}

function describe(name: string): string {
  const kind = /^schema\.ValidationAnalyzer\.(.+)$/.exec(name)?.[1];
  return kind ? `Runs schema validation as an analyzer on '${kind}' resources` : (descriptions.get(name) ?? "");
}
