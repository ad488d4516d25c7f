/** The debug API over xDS, as istioctl asks it: requests of the types `istio.io/debug…` in; answers as resources out. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { create, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type ClientConfig, ClientConfigSchema, ConfigStatus } from "../gen/envoy/service/status/v3/csds_pb.js";
import { FairleadError, inTurns, isLazy, jsonPieces } from "../lib/index.ts";
import { encodedResource } from "../model/index.ts";
import {
  type OtherRequest,
  type OtherTypes,
  type ProxyStatus,
  proxyName,
  type TypeStatus,
  type WireResource,
} from "../xds/index.ts";
import { mayDebug } from "./authorize-debug.ts";
import { answerDebug, type DebugSources, eachProxy, findProxy, isOwnType, proxyNamespace } from "./debug.ts";

const debugType = "istio.io/debug";
const synczType = `${debugType}/syncz`;
const configDumpType = `${debugType}/config_dump`;
const clientConfigUrl = "type.googleapis.com/envoy.service.status.v3.ClientConfig";

export interface DebugTypesOptions extends DebugSources {
  /** What a connected proxy is sent, as messages of Envoy's own config dump, secrets redacted. */
  configDumpMessages(
    connectionId: string,
  ): Promise<readonly { readonly typeUrl: string; readonly bytes: Uint8Array }[]>;
}

export function createDebugTypes(options: DebugTypesOptions): OtherTypes {
  return {
    handles: (typeUrl) => typeUrl === debugType || typeUrl.startsWith(`${debugType}/`),
    async answer(request) {
      // Also from loopback: here a port-forward of the API does not stand for the caller, its token does.
      if (!request.identity) throw new FairleadError("unauthenticated", "authentication required");
      if (request.typeUrl === synczType) return syncz(options, request);
      if (request.typeUrl === configDumpType) return configDump(options, request);
      return request.typeUrl === debugType ? [await anyPath(options, request)] : [];
    },
  };
}

function mayAsk(options: DebugSources, request: OtherRequest, path: string, proxy: ProxyStatus): boolean {
  const caller = { remoteAddress: "", identity: request.identity };
  return mayDebug(caller, { path, proxyNamespace: proxyNamespace(proxy) }, options.systemNamespace);
}

async function syncz(options: DebugSources, request: OtherRequest): Promise<readonly WireResource[]> {
  const found: WireResource[] = [];
  const resources = eachProxy(options.ads)
    .filter((proxy) => mayAsk(options, request, "syncz", proxy))
    .map((proxy) => {
      const bytes = toBinary(ClientConfigSchema, clientConfig(proxy));
      return { ...encodedResource(proxyName(proxy.node), bytes), typeUrl: clientConfigUrl };
    });
  for (const resource of resources) {
    found.push(resource);
    if (found.length % proxiesPerTurn === 0) await nextTurn();
  }
  return found;
}

const proxiesPerTurn = 200;

function clientConfig(proxy: ProxyStatus): ClientConfig {
  const metadata: JsonObject = {};
  for (const key of ["CLUSTER_ID", "NAMESPACE", "ISTIO_VERSION"]) {
    const value = proxy.node.metadata[key];
    if (typeof value === "string") metadata[key] = value;
  }
  return create(ClientConfigSchema, {
    node: { id: proxyName(proxy.node), metadata },
    genericXdsConfigs: proxy.types
      .filter(({ type }) => !isOwnType(type))
      .sort((a, b) => (a.type < b.type ? -1 : 1))
      .map((type) => ({
        typeUrl: type.type,
        configStatus: configStatus(type),
        ...(type.sentAt ? { lastUpdated: timestampFromDate(type.sentAt) } : {}),
        ...(type.lastError === "" ? {} : { errorState: errorState(type) }),
      })),
  });
}

function errorState(type: TypeStatus) {
  return {
    details: type.lastError,
    ...(type.sentAt ? { lastUpdateAttempt: timestampFromDate(type.sentAt) } : {}),
  };
}

/** istiod's order of questions. */
function configStatus(type: TypeStatus): ConfigStatus {
  if (type.lastError !== "") return ConfigStatus.ERROR;
  if (type.sentNonce === "") return ConfigStatus.NOT_SENT;
  return type.ackedNonce === type.sentNonce ? ConfigStatus.SYNCED : ConfigStatus.STALE;
}

/** Unknown and forbidden proxies look the same, so that nobody learns who is connected. */
async function configDump(options: DebugTypesOptions, request: OtherRequest): Promise<readonly WireResource[]> {
  const [id, ...others] = request.names;
  const proxy = id !== undefined && others.length === 0 ? findProxy(options.ads, id) : undefined;
  if (!proxy || !mayAsk(options, request, "config_dump", proxy)) return [];
  const messages = await options.configDumpMessages(proxy.connectionId);
  return messages.map(({ typeUrl, bytes }) => ({ ...encodedResource(typeUrl, bytes), typeUrl }));
}

/** The name is what would follow `/debug/` in a URL. */
async function anyPath(options: DebugSources, request: OtherRequest): Promise<WireResource> {
  const [name, ...others] = request.names;
  if (name === undefined || others.length > 0)
    throw new FairleadError("invalid", "exactly one debug request is required");
  const at = name.indexOf("?");
  const { body } = await answerDebug(options, {
    path: at < 0 ? name : name.slice(0, at),
    query: new URLSearchParams(at < 0 ? "" : name.slice(at + 1)),
    remoteAddress: "",
    identity: request.identity,
  });
  const bytes = new TextEncoder().encode(typeof body === "string" ? body : await jsonOf(body));
  return { ...encodedResource(name, bytes), typeUrl: debugType };
}

async function jsonOf(value: unknown): Promise<string> {
  if (!isLazy(value)) return JSON.stringify(value);
  let whole = "";
  for await (const text of inTurns(jsonPieces(value))) whole += text;
  return whole;
}
