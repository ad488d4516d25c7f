/** The node of a first request in, a bounded and checked ProxyNode out; anything else is refused as `invalid`. */
import { isIP } from "node:net";
import type { JsonValue } from "@bufbuild/protobuf";
import { FairleadError } from "../../lib/index.ts";
import type { Identity } from "../../model/index.ts";
import type { ProxyNode } from "../source.ts";
import { checkMetadata } from "./node-metadata.ts";
import type { NodeFields } from "./read-node.ts";

const maxIdLength = 1024;
const maxExtensions = 4096;
const maxNameLength = 256;

/** `type~ip~name.namespace~domain` */
export interface NodeId {
  readonly type: string;
  readonly ip: string;
  readonly name: string;
  /** Empty where the name carries none. */
  readonly namespace: string;
  readonly domain: string;
}

const nodeTypes = new Set(["sidecar", "router", "waypoint", "ztunnel", "agentgateway"]);

export function parseNodeId(id: string): NodeId | undefined {
  if (id.length > maxIdLength) return undefined;
  const parts = id.split("~");
  const [type = "", ip = "", fullName = "", domain = ""] = parts;
  if (parts.length !== 4 || !nodeTypes.has(type) || fullName === "") return undefined;
  const dot = fullName.lastIndexOf(".");
  const [name, namespace] = dot < 0 ? [fullName, ""] : [fullName.slice(0, dot), fullName.slice(dot + 1)];
  return { type, ip, name, namespace, domain };
}

/** `name.namespace`, as people call a proxy; the whole id where it has no such part. */
export const proxyName = ({ id }: Pick<ProxyNode, "id">): string => id.split("~")[2] ?? id;

export function parseNode(node: NodeFields | undefined): ProxyNode {
  if (!node || node.id === "") throw new FairleadError("invalid", "the first request has no node id");
  const id = parseNodeId(node.id);
  if (!id)
    throw new FairleadError("invalid", "the node id is malformed", {
      hint: "it must be type~ip~name.namespace~domain",
    });
  const metadata = checkMetadata((node.metadata ?? {}) as JsonValue);
  if (!addresses(metadata, id).some((address) => isIP(address) !== 0))
    throw new FairleadError("invalid", "the node has no IP address, neither in INSTANCE_IPS nor in its id");
  if (node.extensions.length > maxExtensions)
    throw new FairleadError("invalid", `the node lists more than ${maxExtensions} extensions`);
  return {
    id: node.id,
    cluster: node.cluster.slice(0, maxIdLength),
    metadata,
    locality: {
      region: short(node.locality?.region),
      zone: short(node.locality?.zone),
      subZone: short(node.locality?.subZone),
    },
    extensions: new Set(
      node.extensions.filter((one) => one.name.length <= maxNameLength && !one.disabled).map((one) => one.name),
    ),
    userAgent: userAgent(node),
  };
}

/**
 * A proxy may only ask in the name of the workload that it proved to be (istio's rule for namespace and account). The
 * namespace of its id counts only where it says no other, as it does when the proxy is served: istioctl calls itself
 * `test-1.default` wherever it is.
 */
export function checkIdentity(node: ProxyNode, identity: Identity | undefined): void {
  if (!identity) return;
  const claims = [
    [text(node.metadata.NAMESPACE) || (parseNodeId(node.id)?.namespace ?? ""), identity.namespace],
    [text(node.metadata.SERVICE_ACCOUNT), identity.serviceAccount],
  ];
  if (claims.some(([claim, proven]) => claim !== "" && claim !== proven))
    throw new FairleadError(
      "forbidden",
      `the node ${node.id} is not of ${identity.namespace}/${identity.serviceAccount}`,
    );
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");

const short = (value: string | undefined): string => (value ?? "").slice(0, maxNameLength);

function addresses(metadata: ProxyNode["metadata"], id: NodeId): string[] {
  return [...text(metadata.INSTANCE_IPS).split(","), id.ip];
}

function userAgent(node: NodeFields): string {
  const version = node.userAgentVersionType;
  const number = version.case === "userAgentBuildVersion" ? version.value.version : undefined;
  const shown =
    version.case === "userAgentVersion"
      ? version.value
      : number
        ? `${number.majorNumber}.${number.minorNumber}.${number.patch}`
        : "";
  return short(`${node.userAgentName} ${shown}`.trim());
}
