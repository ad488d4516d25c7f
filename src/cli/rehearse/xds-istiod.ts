/** The address of istiod's plaintext xDS port in; what it answers to each Pod's proxy, asked in its name, out. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { fromBinary } from "@bufbuild/protobuf";
import type { NodeSchema } from "../../gen/envoy/config/core/v3/base_pb.js";
import { FairleadError, isRecord, readText } from "../../lib/index.ts";
import { type Proxy, type ResourceType, types } from "../../model/index.ts";
import { createRpcClient } from "../../rpc/index.ts";
import { openQuestions, type Questions } from "../../xds/index.ts";
import { parseListenAddress } from "../listen-address.ts";
import type { ProtoJson } from "../proxy-config/proto-json.ts";
import { found, schemas } from "./canonical.ts";
import type { Istiod, TheirResource, TheirResources } from "./istiod.ts";

/** All answers for one proxy; those of the first are made while nobody knows yet whether there is an istiod. */
const answerMs = 20_000;
const firstMs = 5_000;

export function createXdsIstiod(address: string, protos: ProtoJson, signal: AbortSignal): Istiod {
  const target = parseListenAddress("--xds", address, "127.0.0.1");
  const rpc = createRpcClient({ target });
  let isThere = false;
  return {
    at: address,
    close: () => rpc.close(),
    // Only Pods tell who there is: over xDS nobody lists the others.
    proxies: async (offline) =>
      offline.proxies().map((proxy) => ({
        proxy,
        async resources() {
          try {
            const timeoutMs = isThere ? answerMs : firstMs;
            const questions = await openQuestions(rpc, nodeOf(proxy), { timeoutMs, signal });
            try {
              const answers = await askAll(questions, protos);
              isThere = true;
              return answers;
            } finally {
              questions.close();
            }
          } catch (cause) {
            const { message } = FairleadError.from(cause);
            throw new FairleadError("unavailable", `istiod at ${address} does not answer over xDS: ${message}`, {
              hint: "--xds is its plaintext port 15010; `kubectl -n istio-system port-forward deploy/istiod 15010` leads there",
              cause,
            });
          }
        },
      })),
  };
}

/** As istio-agent introduces an Envoy. */
function nodeOf(proxy: Proxy): MessageInitShape<typeof NodeSchema> {
  const { region, zone, subZone } = proxy.locality;
  return {
    id: proxy.id,
    cluster: proxy.serviceCluster ?? "",
    locality: { region, zone, subZone },
    metadata: {
      ...withoutOwn(proxy.allMetadata),
      LABELS: { ...proxy.labels },
      ANNOTATIONS: { ...proxy.annotations },
      PROXY_CONFIG: JSON.parse(JSON.stringify(proxy.proxyConfig)),
    },
  };
}

/** Only our own agents say this of their Envoys. */
const withoutOwn = ({ FAIRLEAD_TELEMETRY: _own, ...metadata }: Proxy["allMetadata"]): Proxy["allMetadata"] => metadata;

/** First what is asked for whole, then what that names. */
async function askAll(questions: Questions, protos: ProtoJson): Promise<TheirResources> {
  const ask = async (type: ResourceType, names?: readonly string[]): Promise<readonly Answer[]> => {
    if (names?.length === 0) return [];
    return (await questions.ask(type, names)).map((bytes) => answerOf(type, bytes, protos));
  };
  const clusters = await ask(types.cluster);
  const listeners = await ask(types.listener);
  const routes = found(
    listeners.map(({ json }) => json),
    (key, value) => (key === "routeConfigName" && typeof value === "string" ? [value] : []),
  );
  const extensions = found(
    listeners.map(({ json }) => json),
    (key, value, owner) => (key === "configDiscovery" && isRecord(value) ? [readText(owner.name)] : []),
  );
  const assigned = clusters.flatMap(({ name, json }) => (isRecord(json) && json.edsClusterConfig ? [name] : []));
  return new Map([
    [types.cluster, clusters],
    [types.listener, listeners],
    [types.endpoint, await ask(types.endpoint, assigned)],
    [types.route, await ask(types.route, [...new Set(routes)])],
    [types.extension, await ask(types.extension, [...new Set(extensions)])],
  ]);
}

interface Answer extends TheirResource {
  readonly json: unknown;
}

function answerOf(type: ResourceType, bytes: Uint8Array, protos: ProtoJson): Answer {
  const schema = schemas.get(type);
  if (!schema) throw new Error(`no schema for ${type}`);
  const json = protos.print(schema, fromBinary(schema, bytes));
  const fields = isRecord(json) ? json : {};
  return { name: readText(fields.clusterName) || readText(fields.name), bytes, json };
}
