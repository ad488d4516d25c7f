/** What the messages and fields of security, telemetry and extensions, and of statuses are for, a line each. */
export const otherText = `
AuthorizationPolicy: Who may call a workload, and how.
AuthorizationPolicy.rules: A request that meets one of them is what the action is for; none is met by no request.
AuthorizationPolicy.action: What becomes of a request that meets a rule.
AuthorizationPolicy.provider: Who decides, for the action CUSTOM.
ExtensionProvider.name: The provider's name in the mesh's configuration.
Rule.from: Who calls; one of the entries has to be met.
Rule.to: What is called; one of the entries has to be met.
Rule.when: Further conditions; all have to be met.
From.source: Everything that is given here has to be met.
To.operation: Everything that is given here has to be met.
Source.principals: Identities of the caller's certificate.
Source.notPrincipals: Identities that the caller must not have.
Source.requestPrincipals: Issuer and subject of the request's token, with "/" between them.
Source.notRequestPrincipals: Issuers and subjects that the token must not have.
Source.namespaces: Namespaces of the caller, by its certificate.
Source.notNamespaces: Namespaces that the caller must not be of.
Source.serviceAccounts: Service accounts of the caller, by its certificate.
Source.notServiceAccounts: Service accounts that the caller must not have.
Source.ipBlocks: Addresses that the connection comes from.
Source.notIpBlocks: Addresses that the connection must not come from.
Source.remoteIpBlocks: Addresses of the client, also by X-Forwarded-For or the PROXY protocol.
Source.notRemoteIpBlocks: Addresses that the client must not have.
Source.trustDomains: Trust domains of the caller, by its certificate.
Source.notTrustDomains: Trust domains that the caller must not be of.
Operation.notHosts: Hosts that must not be asked for.
Operation.notPorts: Ports that must not be asked for.
Operation.methods: HTTP methods.
Operation.notMethods: HTTP methods that must not be used.
Operation.paths: Paths; * at one end stands for anything.
Operation.notPaths: Paths that must not be asked for.
Condition.key: The attribute that is looked at, such as request.headers[x].
Condition.values: Values that it may have.
Condition.notValues: Values that it must not have.
PeerAuthentication: Whether callers have to show a certificate of the mesh.
PeerAuthentication.mtls: For all ports.
PeerAuthentication.portLevelMtls: For single ports of the workload.
MutualTLS.mode: STRICT asks for a certificate, PERMISSIVE takes it where there is one, DISABLE does without.
RequestAuthentication: Which tokens are accepted, and what becomes of them. A request without one passes.
RequestAuthentication.jwtRules: The issuers whose tokens are accepted.
JWTRule.issuer: The issuer, as the token has it.
JWTRule.audiences: Audiences, one of which the token has.
JWTRule.jwksUri: Where the issuer's keys are.
JWTRule.jwks_uri: Where the issuer's keys are.
JWTRule.jwks: The issuer's keys themselves.
JWTRule.fromHeaders: Headers that may hold the token.
JWTRule.fromParams: Parameters of the query that may hold the token.
JWTRule.fromCookies: Cookies that may hold the token.
JWTRule.outputPayloadToHeader: The header in which the token's content is passed on.
JWTRule.forwardOriginalToken: Whether the token itself is passed on.
JWTRule.outputClaimToHeaders: Claims that are passed on in headers.
JWTRule.timeout: How long fetching the keys may take.
JWTRule.spaceDelimitedClaims: Claims whose text is a list with blanks in between.
JWTRule.presence: Whether a token has to be there.
JWTHeader.prefix: What stands before the token in the header.
ClaimToHeader.header: The header.
ClaimToHeader.claim: The claim.
Telemetry: What is measured, traced and logged of a workload's traffic.
Telemetry.tracing: Traces.
Telemetry.metrics: Metrics.
Telemetry.accessLogging: Access logs.
Tracing.randomSamplingPercentage: The share of requests that are traced.
Tracing.disableSpanReporting: Passes traces on without reporting spans.
Tracing.customTags: Tags that are added to spans, by name.
Tracing.useRequestIdForTraceSampling: Keeps the decision in the request id.
Tracing.enableIstioTags: Adds the mesh's own tags.
Tracing.disableContextPropagation: Sends no trace headers on.
CustomTag.literal: A fixed value.
CustomTag.environment: A value of the proxy's environment.
CustomTag.header: A value of a header.
CustomTag.formatter: A value made of Envoy's command operators.
defaultValue: The value where there is none.
Metrics.overrides: Changes of single metrics.
Metrics.reportingInterval: How often values are reported.
MetricsOverrides.tagOverrides: Changes of single labels, by name.
MetricSelector.metric: One of the standard metrics.
MetricSelector.customMetric: A metric by its own name.
TagOverride.operation: Whether the label is set or removed.
TagOverride.value: An expression in CEL.
AccessLogging.filter: Which requests are logged.
Filter.expression: An expression in CEL that is true for them.
TrafficExtension: Adds a filter of one's own, in WebAssembly or Lua, to proxies.
TrafficExtension.wasm: The filter in WebAssembly.
TrafficExtension.lua: The filter in Lua.
LuaConfig.inlineCode: The program.
WasmPlugin: Adds a filter in WebAssembly to proxies.
phase: Where among the filters it goes.
sha256: The digest that the module has to have.
imagePullPolicy: Whether it is fetched anew.
imagePullSecret: The Secret with the credentials for the registry.
verificationKey: The key that the module is signed with.
pluginConfig: The configuration that the filter is given.
pluginName: The name that the filter is given.
failStrategy: Whether traffic passes when the filter cannot be loaded.
vmConfig: The settings of the machine that it runs in.
VmConfig.env: Environment variables.
EnvVar.valueFrom: Whether the value is given here or taken from the proxy.
IstioCondition.type: What the condition is about.
IstioCondition.status: True, False or Unknown.
IstioCondition.lastProbeTime: When it was last looked at.
IstioCondition.lastTransitionTime: When it last changed.
AnalysisMessageBase.type: Which message it is.
AnalysisMessageBase.level: How bad it is.
AnalysisMessageBase.documentationUrl: Where more is written about it.
Type.code: The code of the message.
`;
