/** What the messages and fields of networking.istio.io are for, a line each: \`Message: …\` or \`Message.field: …\`. */
export const trafficText = `
VirtualService: Where requests for some hosts go: routes by path, header or port, with rewrites, retries, faults and mirrors.
VirtualService.hosts: The hosts whose traffic is routed; short names are completed with the object's namespace.
VirtualService.http: Routes of HTTP and gRPC traffic; the first that matches is taken.
VirtualService.tls: Routes of TLS traffic that is passed through, by server name.
VirtualService.tcp: Routes of traffic that is neither.
HTTPRoute.name: A name for logs and metrics.
HTTPRoute.match: Requests that this route is for; one of the entries has to be met, and of an entry everything.
HTTPRoute.redirect: Answers with a redirect instead of routing.
HTTPRoute.directResponse: Answers with a fixed response instead of routing.
HTTPRoute.delegate: Another VirtualService that holds the routes for what matched.
HTTPRoute.rewrite: Changes path or authority before the request is forwarded.
HTTPRoute.timeout: How long a request may take, retries included.
HTTPRoute.retries: When and how often a failed request is tried again.
HTTPRoute.fault: Delays or failures made on purpose, to test the callers.
HTTPRoute.mirror: A destination that gets a copy of each request; its answers are dropped.
HTTPRoute.mirrors: Destinations that get a copy of each request; their answers are dropped.
HTTPRoute.mirrorPercent: The share of requests that are mirrored; mirrorPercentage takes its place.
HTTPRoute.mirror_percent: The share of requests that are mirrored; mirrorPercentage takes its place.
HTTPRoute.mirrorPercentage: The share of requests that are mirrored.
HTTPRoute.corsPolicy: Which other origins' pages may call.
HTTPRoute.headers: Headers that are set, added or removed.
HTTPMatchRequest.name: A name for logs.
HTTPMatchRequest.scheme: The scheme of the URI, http or https.
HTTPMatchRequest.authority: The Host or :authority header.
HTTPMatchRequest.headers: Headers by lower-case name; an entry without a value asks only that it is there.
HTTPMatchRequest.port: The port that the client asked for.
HTTPMatchRequest.queryParams: Parameters of the query, by name.
HTTPMatchRequest.ignoreUriCase: Compares the URI without regard to case.
HTTPMatchRequest.withoutHeaders: Headers that must not be there, or not with this value.
HTTPMatchRequest.statPrefix: A prefix for the metrics of this route.
StringMatch: Compares a text; exactly one way is given.
StringMatch.exact: The whole text.
StringMatch.prefix: How the text begins.
StringMatch.regex: A pattern in RE2 syntax that the whole text meets.
HTTPRouteDestination.headers: Headers that are changed for this destination only.
Headers.request: Changes of the request on its way there.
Headers.response: Changes of the response on its way back.
HeaderOperations.set: Headers that are written over.
HeaderOperations.add: Values that are appended.
HeaderOperations.remove: Headers that are taken off.
HTTPRedirect.uri: The path to redirect to.
HTTPRedirect.authority: The host to redirect to.
HTTPRedirect.port: The port to redirect to.
HTTPRedirect.derivePort: Takes the port from the request or from the scheme.
HTTPRedirect.scheme: The scheme to redirect to.
HTTPRedirect.redirectCode: The status code; 301 without it.
HTTPRedirect.prefixRewrite: What takes the place of the matched prefix.
HTTPDirectResponse.status: The status code of the answer.
HTTPDirectResponse.body: The content of the answer.
HTTPBody.string: The content as text.
HTTPBody.bytes: The content as base64.
Delegate.name: The name of the VirtualService.
Delegate.namespace: Its namespace; that of this object without it.
HTTPRewrite.uri: What takes the place of the path, or of the matched prefix.
HTTPRewrite.authority: What takes the place of the Host header.
HTTPRewrite.uriRegexRewrite: Rewrites the path by a pattern.
RegexRewrite.match: The pattern, in RE2 syntax.
RegexRewrite.rewrite: What is put instead; \\1 and so on stand for groups.
HTTPRetry.attempts: How often a request is tried again; 0 turns retries off.
HTTPRetry.perTryTimeout: How long each attempt may take.
HTTPRetry.retryOn: The conditions, as Envoy names them, and status codes.
HTTPRetry.retryRemoteLocalities: Whether an attempt may go to another locality.
HTTPRetry.retryIgnorePreviousHosts: Whether an attempt avoids the endpoints that were tried before.
HTTPRetry.backoff: The pause before the first retry; later ones are longer.
HTTPFaultInjection.delay: Holds requests back.
HTTPFaultInjection.abort: Answers requests with a failure.
Delay.fixedDelay: How long a request is held back.
Delay.exponentialDelay: Not in use.
Delay.percent: The share of requests, as a whole number; percentage takes its place.
Abort.httpStatus: The status code of the answer.
Abort.grpcStatus: The gRPC status of the answer.
Abort.http2Error: Not in use.
CorsPolicy.allowOrigin: Origins, exactly; allowOrigins takes its place.
CorsPolicy.allowOrigins: Origins whose pages may call.
CorsPolicy.allowMethods: Methods that they may use.
CorsPolicy.allowHeaders: Headers that they may send.
CorsPolicy.exposeHeaders: Headers of the answer that they may read.
CorsPolicy.maxAge: How long a browser may remember the answer.
CorsPolicy.allowCredentials: Whether cookies and credentials may be sent.
CorsPolicy.unmatchedPreflights: Whether a preflight of another origin is forwarded or answered here.
TLSMatchAttributes.sniHosts: Server names of the TLS handshake; a leading *. stands for any label.
L4MatchAttributes.sourceSubnet: Addresses of the client.
Destination.host: The service: a Kubernetes service or the host of a ServiceEntry.
Percent.value: From 0 to 100.
Port.name: A name for the port.
PortSelector.number: The number of the port.
DestinationRule: What happens to traffic once it is known where it goes: load balancing, connection pools, outlier detection, TLS, subsets.
DestinationRule.host: The service that this is for.
DestinationRule.subsets: Named parts of the service's endpoints, by label.
Subset.labels: Labels that the endpoints of the subset have.
TrafficPolicy.tunnel: Tunnels traffic through another proxy.
TrafficPolicy.proxyProtocol: Begins connections with the PROXY protocol.
TrafficPolicy.retryBudget: How many of the active requests may be retries.
LoadBalancerSettings.simple: One of the standard methods.
LoadBalancerSettings.consistentHash: Sends what has the same hash to the same endpoint.
LoadBalancerSettings.localityLbSetting: Prefers near endpoints, and says where to go when they fail.
LoadBalancerSettings.zoneAwareLbSetting: Keeps traffic in the zone as far as there are endpoints enough.
LoadBalancerSettings.warmupDurationSecs: How long a new endpoint gets less traffic; warmup takes its place.
LoadBalancerSettings.warmup: Lets new endpoints have less traffic at first.
LoadBalancerSettings.backendUtilization: Weighs endpoints by the load that they report.
ConsistentHashLB.httpHeaderName: Hashes this header.
ConsistentHashLB.httpCookie: Hashes this cookie, which is set where it is missing.
ConsistentHashLB.useSourceIp: Hashes the client's address.
ConsistentHashLB.httpQueryParameterName: Hashes this parameter of the query.
ConsistentHashLB.ringHash: Uses a ring of hashes.
ConsistentHashLB.maglev: Uses a Maglev table.
ConsistentHashLB.minimumRingSize: The least size of the ring; ringHash takes its place.
HTTPCookie.path: The path that the cookie is set for.
HTTPCookie.ttl: How long the cookie lives; 0 for as long as the browser runs.
HTTPCookie.attributes: Further attributes of the cookie.
RingHash.minimumRingSize: The least size of the ring.
MagLev.tableSize: The size of the table; a prime.
LocalityLoadBalancerSetting.distribute: Shares of traffic by locality of the caller.
LocalityLoadBalancerSetting.failover: The region that takes over for another.
LocalityLoadBalancerSetting.failoverPriority: Labels that rank endpoints; the more of them agree with the caller's, the sooner one is taken.
Distribute.from: The locality of the caller; * stands for any.
Distribute.to: Shares by locality, in percent.
Failover.from: The region that has failed.
Failover.to: The region that takes over.
ZoneAwareLoadBalancerSetting.failover: The region that takes over for another.
ZoneAwareLoadBalancerSetting.failoverPriority: Labels that rank endpoints.
ZoneAwareLoadBalancerSetting.minClusterSize: How many endpoints there have to be for zones to count.
WarmupConfiguration.duration: How long the warm-up takes.
WarmupConfiguration.minimumPercent: The share of its weight that an endpoint begins with.
WarmupConfiguration.aggression: How fast the share grows; 1 is evenly.
errorUtilizationPenaltyPercent: How much reported errors count against an endpoint.
metricNamesForComputingUtilization: The reported metrics that the load is taken from.
weightExpirationPeriod: How long a report counts.
weightStabilizationPeriod: How long an endpoint has to report before its weight counts.
weightUpdatePeriod: How often weights are worked out anew.
ConnectionPoolSettings.tcp: Limits of connections.
ConnectionPoolSettings.http: Limits of requests.
TCPSettings.maxConnections: Connections to the host at a time.
TCPSettings.connectTimeout: How long a connection may take to be made.
TCPSettings.tcpKeepalive: Probes on silent connections.
TCPSettings.maxConnectionDuration: How old a connection may get.
TcpKeepalive.probes: Probes without an answer before the connection is given up.
TcpKeepalive.time: Silence before the first probe.
HTTPSettings.http1MaxPendingRequests: Requests that may wait for a connection.
HTTPSettings.http2MaxRequests: Requests to the host at a time.
HTTPSettings.maxRequestsPerConnection: Requests on one connection; 1 turns keep-alive off.
HTTPSettings.maxRetries: Retries to the host at a time.
HTTPSettings.h2UpgradePolicy: Whether HTTP/1.1 is carried over HTTP/2.
HTTPSettings.useClientProtocol: Speaks to the host what the client spoke.
HTTPSettings.maxConcurrentStreams: Streams on one HTTP/2 connection at a time.
HTTPSettings.http2KeepAlive: Pings on HTTP/2 connections.
ConnectionKeepalive.timeout: How long an answer to a ping may take.
OutlierDetection.consecutiveErrors: Errors in a row; consecutive5xxErrors takes its place.
OutlierDetection.splitExternalLocalOriginErrors: Counts failures to connect apart from answers with errors.
OutlierDetection.consecutiveLocalOriginFailures: Failures to connect in a row that leave an endpoint out.
OutlierDetection.consecutiveGatewayErrors: 502, 503 and 504 in a row that leave an endpoint out.
OutlierDetection.consecutive5xxErrors: 5xx in a row that leave an endpoint out.
OutlierDetection.baseEjectionTime: How long an endpoint is left out the first time.
OutlierDetection.maxEjectionPercent: The share of endpoints that may be left out at a time.
OutlierDetection.minHealthPercent: Below this share of healthy endpoints none is left out.
OutlierDetection.outlierDetectionHttpErrorCodes: Status codes that count as errors.
ClientTLSSettings.clientCertificate: The file of the client's certificate.
ClientTLSSettings.privateKey: The file of its key.
ClientTLSSettings.caCertificates: The file of the authorities that the server's certificate has to come from.
ClientTLSSettings.insecureSkipVerify: Accepts any certificate of the server.
ClientTLSSettings.caCrl: The file of revoked certificates.
TunnelSettings.targetHost: The host at the far end of the tunnel.
TunnelSettings.targetPort: The port at the far end of the tunnel.
ProxyProtocol.version: The version of the PROXY protocol.
RetryBudget.minRetryConcurrency: Retries that are allowed in any case.
RetryBudget.budgetInterval: The time over which requests are counted.
Gateway: The ports, hosts and certificates of proxies at the edge of the mesh.
Gateway.servers: What the proxies listen for.
Gateway.selector: Labels of the proxies' Pods.
Server.port: The port to listen on.
Server.bind: The address, or unix socket, to listen on.
Server.hosts: Host names that are served; a namespace and "/" may stand before one.
Server.defaultEndpoint: Where traffic goes by default.
ServerTLSSettings.httpsRedirect: Redirects to https.
ServerTLSSettings.serverCertificate: The file of the certificate.
ServerTLSSettings.privateKey: The file of its key.
ServerTLSSettings.caCertificates: The file of the authorities that clients' certificates have to come from.
ServerTLSSettings.caCrl: The file of revoked certificates.
ServerTLSSettings.credentialNames: The Secrets that hold certificates of several kinds of keys.
ServerTLSSettings.caCertCredentialName: The Secret or ConfigMap that holds the authorities of clients.
ServerTLSSettings.tlsCertificates: Certificates of several kinds of keys, as files.
ServerTLSSettings.verifyCertificateSpki: Digests of public keys that clients may have.
ServerTLSSettings.verifyCertificateHash: Digests of certificates that clients may have.
ServerTLSSettings.minProtocolVersion: The oldest version of TLS that is spoken.
ServerTLSSettings.maxProtocolVersion: The newest version of TLS that is spoken.
ServerTLSSettings.cipherSuites: The cipher suites that may be used.
ServerTLSSettings.insecureSkipVerify: Accepts any certificate of clients.
ServerTLSSettings.ecdhCurves: The curves that may be used.
TLSCertificate.serverCertificate: The file of the certificate.
TLSCertificate.privateKey: The file of its key.
TLSCertificate.caCertificates: The file of the authorities of clients.
ServiceEntry: Makes a service known to the mesh that the platform does not know.
ServiceEntry.addresses: Addresses of the service itself, as addresses or in CIDR form.
ServiceEntry.ports: The ports of the service.
ServiceEntry.resolution: How its endpoints are found.
ServiceEntry.endpoints: Its endpoints.
ServiceEntryStatus.addresses: Addresses that were given to the service.
WorkloadEntry: One workload that is no Pod, such as a virtual machine.
WorkloadEntry.address: Its address, or a name that is looked up.
WorkloadEntry.ports: The numbers of its ports, by name.
WorkloadGroup: What workloads that join by themselves have in common.
WorkloadGroup.metadata: Labels and annotations that each of them gets.
WorkloadGroup.template: The rest of the WorkloadEntry that is made for each of them.
WorkloadGroup.probe: How it is found out whether one is ready.
ObjectMeta.annotations: Annotations, by name.
ReadinessProbe.initialDelaySeconds: The time before the first probe.
ReadinessProbe.timeoutSeconds: How long a probe may take.
ReadinessProbe.periodSeconds: The time between two probes.
ReadinessProbe.successThreshold: Successes in a row that make it ready.
ReadinessProbe.failureThreshold: Failures in a row that make it not ready.
ReadinessProbe.httpGet: Asks a path by HTTP.
ReadinessProbe.tcpSocket: Opens a connection.
ReadinessProbe.exec: Runs a command.
ReadinessProbe.grpc: Asks the gRPC health service.
HTTPHealthCheckConfig.scheme: HTTP or HTTPS.
HTTPHealthCheckConfig.httpHeaders: Headers that are sent along.
ExecHealthCheckConfig.command: The command and its arguments.
GrpcHealthCheckConfig.service: The service that is asked about.
Sidecar: What the proxies of some workloads listen for and which hosts they know.
Sidecar.ingress: The ports on which the workload gets traffic.
Sidecar.egress: The hosts that the workload can reach.
Sidecar.inboundConnectionPool: Limits of connections to the workload.
Sidecar.outboundTrafficPolicy: What happens to traffic for hosts that nobody knows.
IstioIngressListener.bind: The address to listen on.
IstioIngressListener.captureMode: How the traffic comes to the listener.
IstioIngressListener.defaultEndpoint: Where in the workload the traffic goes.
IstioEgressListener.bind: The address, or unix socket, to listen on.
IstioEgressListener.captureMode: How the traffic comes to the listener.
IstioEgressListener.hosts: Hosts as namespace/host; "." is the own namespace, "*" any, "~" none.
OutboundTrafficPolicy.egressProxy: The gateway that such traffic goes through.
ProxyConfig: Settings of the proxies of some workloads that hold from their start on.
ProxyConfig.concurrency: Worker threads; 0 for as many as there are cores.
ProxyConfig.environmentVariables: Environment variables of the proxy.
ProxyConfig.image: The image of the proxy.
ProxyImage.imageType: The variant of the image.
EnvoyFilter: Changes the configuration of Envoy itself, past everything else that the mesh knows.
EnvoyFilter.configPatches: The changes, in order.
EnvoyConfigObjectPatch.applyTo: The part of Envoy's configuration that is changed.
EnvoyConfigObjectPatch.patch: The change.
EnvoyConfigObjectMatch.context: The kind of listener or cluster: of a sidecar's inbound or outbound side, of a gateway.
EnvoyConfigObjectMatch.proxy: Which proxies.
EnvoyConfigObjectMatch.listener: Which listeners.
EnvoyConfigObjectMatch.routeConfiguration: Which route configurations.
EnvoyConfigObjectMatch.cluster: Which clusters.
EnvoyConfigObjectMatch.waypoint: Which parts of a waypoint.
ProxyMatch.proxyVersion: A pattern that the proxy's version meets.
ProxyMatch.metadata: Metadata that the proxy sent.
portNumber: The number of the port.
portName: The name of the port.
ListenerMatch.filterChain: Which filter chain of the listener.
ListenerMatch.listenerFilter: Which listener filter.
FilterChainMatch.transportProtocol: raw_buffer or tls.
FilterChainMatch.applicationProtocols: Protocols of the TLS handshake.
FilterChainMatch.filter: Which network filter.
FilterChainMatch.destinationPort: The port that the client asked for.
FilterChainMatch.transportSocket: Which transport socket.
FilterMatch.subFilter: Which filter inside this one.
RouteConfigurationMatch.gateway: The gateway, as namespace/name.
RouteConfigurationMatch.vhost: Which virtual host.
VirtualHostMatch.domainName: One of its domains.
RouteMatch.action: What the route does.
ClusterMatch.service: The host of the service.
WaypointMatch.filter: Which filter.
Patch.operation: What is done with the value.
Patch.value: What is merged, added or put instead, as Envoy spells it.
Patch.filterClass: Where among the filters an added one goes.
`;
