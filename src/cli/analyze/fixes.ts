/** The code of a message in; what to do about it, in a sentence, out. Codes whose message says it have none. */
const fixes: ReadonlyMap<string, string> = new Map(
  Object.entries({
    IST0002: "replace what is deprecated by what the message names",
    IST0101: "create the object that is named, or correct the name, the namespace or the port of the reference",
    IST0102: "kubectl label namespace NAME istio-injection=enabled, or =disabled where no proxies are wanted",
    IST0103: "kubectl rollout restart the workload, so that its Pods are injected",
    IST0106: "correct the field; `fairlead validate -f FILE` checks without a cluster",
    IST0107: "move the annotation to an object of the kind that it is for",
    IST0108: "correct the annotation's name, or remove it",
    IST0109: "merge the VirtualServices of the host into one, or keep them apart with exportTo",
    IST0110: "give each of the Sidecars a selector that no other matches",
    IST0111: "leave one Sidecar without selector in the namespace",
    IST0112: "name the port: destination.port.number",
    IST0116: "use the same protocol for the port in all Services of the workload",
    IST0118: "name the port PROTOCOL or PROTOCOL-SUFFIX, such as http-web, or set its appProtocol",
    IST0123: "keep one of the labels istio-injection and istio.io/rev",
    IST0125: "give the annotation a value of the form that the message names",
    IST0126: "correct the registry's name in meshNetworks, or add its remote secret",
    IST0127: "correct the selector, or label the workload that is meant",
    IST0128: "set tls.caCertificates, so that the server is verified",
    IST0129: "set caCertificates in the port's tls, so that the server is verified",
    IST0130: "remove the rule, or move it before the one that takes all its requests",
    IST0131: "remove the match that is repeated",
    IST0132: "add the host to a server of the Gateway, or correct it in the VirtualService",
    IST0133: "correct the field; `fairlead validate -f FILE` checks without a cluster",
    IST0134: "set addresses in the ServiceEntry, or another protocol",
    IST0135: "replace the annotation by what the message names",
    IST0137: "use the same port for the target port in all Services of the workload",
    IST0138: "use one Secret in one Gateway for these hosts",
    IST0139: "install again, or remove the webhook: `fairlead install`",
    IST0140: "make the Ingress a VirtualService, or remove the routes that it cannot have",
    IST0144: "run the application as another user than 1337",
    IST0145: "give the Gateways different hosts or ports, or different selectors",
    IST0146: "label the namespace or the Pod for injection, or name an image",
    IST0147: "label the namespace or the Pod for injection, or name an image",
    IST0148: "label the namespace istio-injection=disabled where no proxies are wanted",
    IST0149: "add a RequestAuthentication that selects the gateway",
    IST0150: "name the port tcp, so that all that goes to the name is let through",
    IST0151: "use an operation that does not depend on others: INSERT_FIRST, or a priority",
    IST0152: "use REPLACE only with HTTP_FILTER and NETWORK_FILTER; MERGE or ADD elsewhere",
    IST0153: "use ADD elsewhere than on routes",
    IST0154: "use REMOVE elsewhere than on routes",
    IST0155: "set a priority, or match no proxyVersion",
    IST0157: "name a provider in the Telemetry, or a default one in the mesh config",
    IST0158: "kubectl rollout restart the workloads of the namespace",
    IST0159: "give each of the Telemetries a selector that no other matches",
    IST0160: "leave one Telemetry without selector in the namespace",
    IST0161: "put a certificate and its key into the Secret: kubectl create secret tls",
    IST0162: "add the port to the gateway's Service, or correct targetPort",
    IST0163: "correct the host in the webhook, so that it leads to the external control plane",
    IST0164: "use a host name instead of an address",
    IST0165: "name gateways as NAMESPACE/NAME that users have written",
    IST0166: "use targetRefs, or a selector that matches no Gateway of the Gateway API",
    IST0167: "use targetRefs of a waypoint, or a policy that ztunnel enforces",
    IST0171: "look at the object's status for the reason, and correct what it names",
    IST0173: "correct the subset's labels, or label the Pods that are meant",
    IST0174: "correct the host, or create the Service or ServiceEntry",
    IST0175: "set BLOCKED_CIDRS_IN_JWKS_URIS for the control plane",
    IST0176: "install the newer CRDs of the Gateway API",
    IST0177: "use one protocol for the port in all ServiceEntries of the host",
    FLD0001: "leave the field out, or look in docs/reference/coverage.md for what is honoured instead",
    FLD0002: "correct the delegate's name, or create the VirtualService",
  }),
);

/** Those that say what to do themselves. */
export const selfExplaining: ReadonlySet<string> = new Set(["FLD0005", "FLD0007", "FLD0008", "FLD0009"]);

export const fixFor = (code: string): string | undefined => fixes.get(code);

/** A line for each code, in the order of the messages. */
export function fixLines(codes: readonly string[]): string {
  return [...new Set(codes)]
    .flatMap((code) => {
      const fix = fixFor(code);
      return fix === undefined ? [] : [`  fix ${code}: ${fix}\n`];
    })
    .join("");
}
