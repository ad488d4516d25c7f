/** Names as a person gives them in; who calls, and the connection that they open, out. */
import type { ClientHello, Departure, Headers, HttpRequest, Payload } from "../../explain/index.ts";
import { FairleadError, nearest, parseIp } from "../../lib/index.ts";
import {
  isGrpc,
  isHttp2,
  isTcp,
  isTls,
  matchesLabels,
  parsePodName,
  portByNumber,
  type Service,
  type ServicePort,
} from "../../model/index.ts";
import type { DestinationText, Scheme } from "./destination-text.ts";
import { type ExplainedMesh, type ExplainedProxy, explainedName } from "./explained-mesh.ts";

export interface Question {
  readonly source: string;
  readonly destination: DestinationText;
  readonly namespace: string;
  readonly method: string | undefined;
  readonly headers: Headers;
  readonly sni: string | undefined;
  /** Address that a request from outside comes from. */
  readonly from: string | undefined;
}

export interface Asked {
  readonly departure: Departure;
  /** The request in a line. */
  readonly text: string;
  /** What was taken for granted about the question itself. */
  readonly assumptions: readonly string[];
}

/** Of ranges for documentation: nobody has them. */
const outsideClient = "203.0.113.1";
const outsideServer = "198.51.100.1";
/** Says that the caller is not of the mesh. */
const outsideWord = "outside";

export function resolveQuestion(question: Question, explained: ExplainedMesh): Asked {
  if (question.source === outsideWord) return fromOutside(question, explained);
  const proxy = findCaller(question, explained);
  return proxy.type === "router" ? throughGateway(question, proxy, explained) : fromSidecar(question, proxy, explained);
}

/** A Pod, or whatever stands for Pods: a Service, the label `app`, the beginning of the name. */
function findCaller({ source, namespace }: Question, { proxies, mesh }: ExplainedMesh): ExplainedProxy {
  const wanted = parsePodName(source, namespace);
  const candidates = [wanted, ...(source.includes(".") || wanted.type !== "" ? [] : [{ ...wanted, namespace: "" }])];
  for (const { name, namespace: where } of candidates) {
    const near = proxies.filter((proxy) => where === "" || proxy.namespace === where);
    const service = mesh.service(`${where}/${name}.${where}.svc.${mesh.domain}`);
    const selector = service?.selector ?? {};
    const found =
      near.find((proxy) => proxy.name === name) ??
      near.find(
        ({ labels }) => labels.app === name || labels.istio === name || labels["app.kubernetes.io/name"] === name,
      ) ??
      near.find(({ labels }) => Object.keys(selector).length > 0 && matchesLabels(selector, labels)) ??
      near.find((proxy) => new RegExp(`^${name.replace(/[^\w-]/g, "\\$&")}-[a-z0-9]+(-[a-z0-9]+)?$`).test(proxy.name));
    if (found) return found;
  }
  const known = proxies.map(explainedName);
  const close = nearest(source, known);
  throw new FairleadError("not-found", `no proxy is called ${source} in namespace ${wanted.namespace}`, {
    hint:
      known.length === 0
        ? "no Pod has a proxy: a container named istio-proxy; a caller without one is called `outside`"
        : close !== undefined
          ? `did you mean ${close}?`
          : `there is ${known.slice(0, 8).join(", ")}${known.length > 8 ? ", …" : ""}; a caller without a proxy is called \`${outsideWord}\``,
  });
}

function fromSidecar(question: Question, proxy: ExplainedProxy, explained: ExplainedMesh): Asked {
  const { destination } = question;
  const service = findService(destination.host, proxy.namespace, explained);
  const port = findPort(question, service);
  const scheme = schemeOf(question, service, port);
  const { address, assumption } = addressOf(question, service, port, explained);
  const request = requestOf(question, scheme, port);
  const connection = {
    source: { ip: proxy.addresses[0] ?? "127.0.0.1", port: 0 },
    destination: { ip: address, port },
    ...request,
  };
  return {
    departure: { proxy: explained.view(proxy), side: "outbound", connection },
    text: textOf(question, scheme, port, explainedName(proxy)),
    assumptions: assumption,
  };
}

/** From anybody to a gateway: the port is the one that clients see. */
function throughGateway(question: Question, proxy: ExplainedProxy, explained: ExplainedMesh): Asked {
  const { destination, from = outsideClient } = question;
  const view = explained.view(proxy);
  const wanted = destination.port ?? (destination.scheme === "https" || destination.scheme === "tls" ? 443 : 80);
  const port = targetOf(wanted, proxy, explained) ?? wanted;
  const scheme = destination.scheme ?? (wanted === 443 ? "https" : "http");
  const request = requestOf(question, scheme, wanted);
  const assumptions =
    question.from === undefined ? [`the client is at ${outsideClient}; --from names another address`] : [];
  return {
    departure: {
      proxy: view,
      side: "gateway",
      connection: { source: { ip: from, port: 0 }, destination: { ip: proxy.addresses[0] ?? "", port }, ...request },
    },
    text: textOf(question, scheme, wanted, `a client of ${view.name}`),
    assumptions,
  };
}

/** Where the gateway listens for a port of its Service. */
function targetOf(wanted: number, proxy: ExplainedProxy, { mesh, targets }: ExplainedMesh): number | undefined {
  return targets(proxy).find(({ service: key, port, portName }) => {
    const service = port === wanted ? mesh.service(key) : undefined;
    return service && portByNumber(service.ports, wanted)?.name === portName;
  })?.targetPort;
}

/** No proxy on the caller's side: the connection comes to the server's as it is. */
function fromOutside(question: Question, explained: ExplainedMesh): Asked {
  const { destination, from = outsideClient } = question;
  const service = findService(destination.host, question.namespace, explained);
  const port = findPort(question, service);
  const scheme = schemeOf(question, service, port);
  const servicePort = service && portByNumber(service.ports, port);
  const [endpoint] = service && servicePort ? explained.mesh.endpoints(service.key, servicePort) : [];
  const address = endpoint?.addresses[0] ?? destination.host;
  const server = explained.world.proxyAt(address);
  if (!server)
    throw new FairleadError("not-found", `behind ${destination.host}:${port} there is no Pod with a proxy`, {
      hint: "without a proxy on either side the mesh has no say in it",
    });
  const side = server.kind === "gateway" ? "gateway" : "inbound";
  const connection = {
    source: { ip: from, port: 0 },
    destination: { ip: address, port: endpoint?.port ?? port },
    ...requestOf(question, scheme, port),
  };
  return {
    departure: { proxy: server, side, connection },
    text: textOf(question, scheme, port, "a caller without a proxy"),
    assumptions: [`${address} is one of the Pods of ${destination.host}`],
  };
}

function findService(host: string, namespace: string, { mesh }: ExplainedMesh): Service | undefined {
  if (parseIp(host)) return undefined;
  const scope = mesh.gatewayScope(namespace);
  const words = host.split(".");
  const names = [
    host,
    `${host}.${namespace}.svc.${mesh.domain}`,
    ...(words.length === 2 ? [`${host}.svc.${mesh.domain}`] : []),
    ...(words.at(-1) === "svc" ? [`${host}.${mesh.domain}`] : []),
  ];
  for (const name of names) {
    const found = scope.serviceFor(name);
    if (found) return found;
    const [, , where = namespace] = /^([^.]+)\.([^.]+)\.svc\./.exec(name) ?? [];
    const own = mesh.service(`${/^[^.]+\.([^.]+)\.svc\./.exec(name)?.[1] ?? where}/${name}`);
    if (own) return own;
  }
  return undefined;
}

/** The one that was written; that of the scheme, as in any URL; or the only one. */
function findPort({ destination }: Question, service: Service | undefined): number {
  if (destination.port !== undefined) return destination.port;
  const { scheme } = destination;
  const usual = scheme === "https" || scheme === "tls" ? 443 : 80;
  if (!service) return usual;
  const ports = service.ports.filter(({ protocol }) => protocol !== "UDP");
  const [only] = ports;
  if (only && ports.length === 1) return only.port;
  if (scheme !== "tcp" && scheme !== "grpc" && ports.some(({ port }) => port === usual)) return usual;
  const [fitting, ...others] = ports.filter(({ protocol }) => schemeOfPort(protocol) === (scheme ?? "http"));
  if (fitting && others.length === 0) return fitting.port;
  throw new FairleadError("usage", `${destination.host} has ${ports.length} ports`, {
    hint:
      ports.length === 0
        ? "name the port that you mean as HOST:PORT"
        : `name one: ${ports.map(({ port, name }) => `${destination.host}:${port} (${name})`).join(", ")}`,
  });
}

const schemeOfPort = (protocol: ServicePort["protocol"]): Scheme =>
  isTls(protocol) ? "tls" : isTcp(protocol) ? "tcp" : isGrpc(protocol) ? "grpc" : "http";

/** What was asked for, or what the port is for; a path or a header can only be of HTTP. */
function schemeOf({ destination, method, headers }: Question, service: Service | undefined, port: number): Scheme {
  if (destination.scheme !== undefined) return destination.scheme;
  const known = service && portByNumber(service.ports, port);
  if (service && !known && destination.port !== undefined && service.ports.length > 0)
    throw new FairleadError("not-found", `${service.host} has no port ${port}`, {
      hint: `it has ${service.ports.map((one) => (one.protocol === "UDP" ? `${one.port} for UDP` : one.port)).join(", ")}`,
    });
  if (destination.path !== undefined || method !== undefined || headers.length > 0)
    return known && isHttp2(known.protocol) && isGrpc(known.protocol) ? "grpc" : "http";
  return known ? schemeOfPort(known.protocol) : port === 443 ? "https" : "http";
}

function addressOf(
  { destination }: Question,
  service: Service | undefined,
  port: number,
  { mesh }: ExplainedMesh,
): { readonly address: string; readonly assumption: readonly string[] } {
  if (parseIp(destination.host)) return { address: destination.host, assumption: [] };
  const [own] = [...(service?.addresses ?? []), ...(service?.autoAddresses ?? [])]
    .map((address) => address.replace(/\/\d+$/, ""))
    .filter((address) => parseIp(address));
  if (own !== undefined) return { address: own, assumption: [] };
  const servicePort = service && portByNumber(service.ports, port);
  const endpoints = service?.headless && servicePort ? mesh.endpoints(service.key, servicePort) : [];
  const [first] = endpoints;
  if (first?.addresses[0] !== undefined)
    return {
      address: first.addresses[0],
      assumption:
        endpoints.length > 1
          ? [
              `${destination.host} is headless: DNS gives one of ${endpoints.length} addresses, and ${first.addresses[0]} is followed`,
            ]
          : [],
    };
  return {
    address: outsideServer,
    assumption: [`${destination.host} is looked up by DNS and is at ${outsideServer}, outside the mesh`],
  };
}

function requestOf(
  { destination, method, headers, sni }: Question,
  scheme: Scheme,
  port: number,
): { readonly tls: readonly ClientHello[]; readonly payload: Payload } {
  const isSecure = scheme === "https" || scheme === "tls";
  const tls = isSecure
    ? [
        {
          sni: sni ?? (parseIp(destination.host) ? "" : destination.host),
          alpn: scheme === "https" ? ["h2", "http/1.1"] : [],
          peer: undefined,
        },
      ]
    : [];
  if (scheme === "tcp" || scheme === "tls") return { tls, payload: { kind: "bytes" } };
  const host = headers.find(([name]) => name === "host")?.[1];
  const isDefault = port === (scheme === "https" ? 443 : 80);
  const request: HttpRequest = {
    method: method ?? (scheme === "grpc" ? "POST" : "GET"),
    path: destination.path ?? "/",
    authority: host ?? (isDefault ? destination.host : `${destination.host}:${port}`),
    headers: [
      ...headers.filter(([name]) => name !== "host"),
      ...(scheme === "grpc" ? [["content-type", "application/grpc"] as const] : []),
    ],
    version: scheme === "grpc" ? "HTTP/2" : "HTTP/1.1",
  };
  return { tls, payload: { kind: "http", request } };
}

function textOf({ destination, method }: Question, scheme: Scheme, port: number, caller: string): string {
  const url = `${scheme}://${destination.host}:${port}${scheme === "tcp" || scheme === "tls" ? "" : (destination.path ?? "/")}`;
  const verb = scheme === "tcp" || scheme === "tls" ? "" : `${method ?? (scheme === "grpc" ? "POST" : "GET")} `;
  return `${verb}${url} from ${caller}`;
}
