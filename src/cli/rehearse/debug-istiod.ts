/** A way to istiod's debug paths in; the proxies that are connected to it, and what it sends each of them, out. */
import { type DescMessage, toBinary } from "@bufbuild/protobuf";
import type { Offline } from "../../control-plane/index.ts";
import { digest, FairleadError, isRecord, readList, readRecord, readText } from "../../lib/index.ts";
import { type ResourceType, types } from "../../model/index.ts";
import type { AskDebug } from "../pod-debug.ts";
import type { ProtoJson } from "../proxy-config/proto-json.ts";
import { schemas } from "./canonical.ts";
import type { Istiod, KnownProxy, TheirResource, TheirResources } from "./istiod.ts";

export interface DebugIstiodOptions {
  readonly at: string;
  readonly ask: AskDebug;
  readonly protos: ProtoJson;
  close(): void;
}

type Fields = Readonly<Record<string, unknown>>;

/** Where each type stands in a dump. */
const sections: readonly (readonly [ResourceType, string, string, (member: Fields) => unknown])[] = [
  [types.cluster, "ClustersConfigDump", "dynamicActiveClusters", ({ cluster }) => cluster],
  [types.endpoint, "EndpointsConfigDump", "dynamicEndpointConfigs", ({ endpointConfig }) => endpointConfig],
  [types.listener, "ListenersConfigDump", "dynamicListeners", ({ activeState }) => readRecord(activeState).listener],
  [types.route, "RoutesConfigDump", "dynamicRouteConfigs", ({ routeConfig }) => routeConfig],
  [types.extension, "EcdsConfigDump", "ecdsFilters", ({ ecdsFilter }) => ecdsFilter],
];

export function createDebugIstiod({ at, ask, protos, close }: DebugIstiodOptions): Istiod {
  const encode = createEncoder(protos);
  return {
    at,
    close,
    async proxies(offline) {
      const [clients, status] = [await ask("adsz"), await ask("syncz")];
      const kinds = new Map(
        readList(status)
          .filter(isRecord)
          .map((row) => [readText(row.proxy), readText(row.proxy_type)]),
      );
      const seen = new Set<string>();
      return readList(readRecord(clients).clients)
        .filter(isRecord)
        .flatMap((client) => {
          const name = readText(client.connectionId).replace(/-\d+$/, "");
          // A proxy that has just reconnected is there twice; a connection that follows nothing is no proxy.
          if (!kinds.has(name) || seen.has(name)) return [];
          seen.add(name);
          return knownProxy(name, client, kinds.get(name) ?? "", offline) ?? [];
        })
        .map(({ proxy, name }) => ({
          proxy,
          resources: async () =>
            resourcesOf(await ask(`config_dump?include_eds=true&proxyID=${encodeURIComponent(name)}`), encode),
        }));
    },
  };
}

/** As it introduced itself to istiod. Waypoints and ztunnels are of ambient, which is not compared. */
function knownProxy(
  name: string,
  { metadata, locality }: Fields,
  kind: string,
  offline: Offline,
): (Pick<KnownProxy, "proxy"> & { readonly name: string }) | undefined {
  const said = readRecord(metadata);
  const namespace = readText(said.NAMESPACE) || (name.split(".").at(-1) ?? "");
  const pod = offline.proxies().find((one) => `${one.name}.${one.namespace}` === name);
  const type = kind || pod?.type || "sidecar";
  if (type !== "sidecar" && type !== "router") return undefined;
  const place = readRecord(locality);
  const address = readText(said.INSTANCE_IPS).split(",")[0] || pod?.addresses[0] || "127.0.0.1";
  const node = {
    id: `${type}~${address}~${name}~${namespace}.svc.${offline.mesh.domain}`,
    cluster: "",
    metadata: said,
    locality: { region: readText(place.region), zone: readText(place.zone), subZone: readText(place.sub_zone) },
    extensions: new Set<string>(),
    userAgent: "",
  };
  const serviceAccount = readText(said.SERVICE_ACCOUNT) || (pod?.serviceAccount ?? "");
  const trustDomain = offline.mesh.settings().trustDomain ?? "cluster.local";
  return { name, proxy: offline.proxyOf(node, { trustDomain, namespace, serviceAccount }) };
}

type Encode = (schema: DescMessage, json: unknown) => TheirResource;

/** What many proxies have in common is encoded once. */
function createEncoder(protos: ProtoJson): Encode {
  const known = new Map<string, TheirResource>();
  return (schema, json) => {
    const key = `${schema.typeName} ${digest(Buffer.from(JSON.stringify(json)))}`;
    const found = known.get(key) ?? encoded(schema, json, protos);
    known.set(key, found);
    return found;
  };
}

function encoded(schema: DescMessage, json: unknown, protos: ProtoJson): TheirResource {
  const { "@type": _type, ...fields } = readRecord(json);
  const name = readText(fields.clusterName) || readText(fields.name);
  try {
    return { name, bytes: toBinary(schema, protos.read(schema, fields)) };
  } catch (cause) {
    const { message } = FairleadError.from(cause);
    throw new FairleadError("invalid", `istiod's dump has a ${schema.name} ${name} that cannot be read: ${message}`, {
      hint: "--xds asks for the same as bytes",
      cause,
    });
  }
}

function resourcesOf(dump: unknown, encode: Encode): TheirResources {
  if (!isRecord(dump) || !Array.isArray(dump.configs))
    throw new FairleadError("invalid", "istiod's answer is no config dump", {
      hint: "is it istiod that answers there?",
    });
  const configs = dump.configs.filter(isRecord);
  return new Map(
    sections.map(([type, section, field, pick]) => {
      const schema = schemas.get(type);
      const members = configs
        .filter((config) => config["@type"] === `type.googleapis.com/envoy.admin.v3.${section}`)
        .flatMap((config) => readList(config[field]).filter(isRecord));
      return [type, schema ? members.map((member) => encode(schema, pick(member))) : []];
    }),
  );
}
