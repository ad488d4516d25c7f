/** One address and port that serves a port of a service. */

export interface Locality {
  readonly region: string;
  readonly zone: string;
  readonly subZone: string;
}

/** `unknown`: nobody watches it (WorkloadEntry and ServiceEntry endpoints without a health check); it is sent like a healthy one. */
export type Health = "unknown" | "healthy" | "unhealthy" | "draining" | "terminating";

export interface Endpoint {
  /** First address is the one connected to; more for dual stack. An IP, a DNS name, or `unix:///path`. */
  readonly addresses: readonly string[];
  readonly port: number;
  /** Name of the service port it serves. */
  readonly portName: string;
  /** Its number, of endpoints of a ServiceEntry: there a name may stand for different ports in different objects. */
  readonly servicePort?: number;
  /** Whether that port is for UDP: another object may have the number for TCP. */
  readonly isUdp?: true;
  readonly labels: Readonly<Record<string, string>>;
  readonly locality: Locality;
  /** The locality as its source spells it: `eu/a/` of a node is not `eu/a` of a label, and Istio sends them apart. */
  readonly place: string;
  /** 0 where unset. */
  readonly weight: number;
  /** SPIFFE id, or "". */
  readonly identity: string;
  readonly namespace: string;
  readonly workload: string;
  /** `istio` where the workload has a sidecar that takes mTLS, else `disabled` or "". */
  readonly tlsMode: string;
  readonly network: string;
  readonly cluster: string;
  readonly health: Health;
  readonly node: string;
  readonly hostname: string;
  readonly subdomain: string;
}

export function localityName(l: Locality): string {
  return [l.region, l.zone, l.subZone].filter((part) => part !== "").join("/");
}

/** A label's value with slashes: Kubernetes has no place for them in labels. */
export function localityText(label: string): string {
  return label.includes("/") ? label : label.replaceAll(".", "/");
}

/** Of `region/zone/subzone`. */
export function splitLocality(text: string): Locality {
  const [region = "", zone = "", subZone = ""] = text.split("/");
  return { region, zone, subZone };
}
