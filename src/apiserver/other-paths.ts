/** Paths that are not objects in, their documents out: discovery, OpenAPI, version, health, the keys of the tokens. */
import type { Definitions } from "./definitions.ts";
import {
  aggregatedDiscovery,
  aggregatedVersion,
  apiGroup,
  apiGroupList,
  apiResourceList,
  apiVersions,
} from "./discovery.ts";
import { failure } from "./failure.ts";
import type { KindRegistry } from "./kind-registry.ts";
import { createOpenApi, type OpenApi } from "./openapi.ts";
import { issuer, type Tokens } from "./tokens.ts";

export interface OtherAnswer {
  readonly json: unknown;
  readonly contentType?: string;
}

export interface OtherPaths {
  get(path: string, accept: string | undefined): OtherAnswer | undefined;
}

/** The Kubernetes version that clients may take us for. */
const kubernetesVersion = {
  major: "1",
  minor: "32",
  gitVersion: "v1.32.0+fairlead",
  gitCommit: "",
  gitTreeState: "",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "",
  platform: "linux/amd64",
};

export function createOtherPaths(
  registry: KindRegistry,
  definitions: Definitions,
  tokens: Tokens,
  address: () => string,
): OtherPaths {
  let made: { readonly generation: number; readonly openApi: OpenApi } | undefined;
  const openApi = (): OpenApi => {
    if (made?.generation !== registry.generation)
      made = { generation: registry.generation, openApi: createOpenApi(registry.kinds, definitions) };
    return made.openApi;
  };
  const discovery = (accept: string | undefined, core: boolean): OtherAnswer => {
    const version = aggregatedVersion(accept);
    if (version === undefined) return { json: core ? apiVersions(address()) : apiGroupList(registry.kinds) };
    return {
      json: aggregatedDiscovery(registry.kinds, core, `apidiscovery.k8s.io/${version}`),
      contentType: `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`,
    };
  };
  const fixed: ReadonlyMap<string, (accept: string | undefined) => OtherAnswer> = new Map<
    string,
    (accept: string | undefined) => OtherAnswer
  >([
    ["/api", (accept) => discovery(accept, true)],
    ["/apis", (accept) => discovery(accept, false)],
    ["/version", () => ({ json: kubernetesVersion })],
    ["/healthz", () => ({ json: "ok" })],
    ["/livez", () => ({ json: "ok" })],
    ["/readyz", () => ({ json: "ok" })],
    [
      "/openapi/v2",
      (accept) => {
        if (accept?.includes("protobuf") && !accept.includes("application/json"))
          throw failure("NotAcceptable", "only the following media types are accepted: application/json");
        return { json: openApi().v2 };
      },
    ],
    ["/openapi/v3", () => ({ json: openApi().index })],
    ["/openid/v1/jwks", () => ({ json: tokens.jwks, contentType: "application/jwk-set+json" })],
    ["/.well-known/openid-configuration", () => ({ json: openIdConfiguration(address()) })],
  ]);
  return {
    get(path, accept) {
      const clean = path.length > 1 ? path.replace(/\/+$/, "") : path;
      const known = fixed.get(clean);
      if (known) return known(accept);
      const parts = clean.split("/").slice(1);
      if (clean.startsWith("/openapi/v3/")) return answer(openApi().document(clean.slice("/openapi/v3/".length)));
      if (parts[0] === "api" && parts.length === 2) return answer(apiResourceList(registry.kinds, "", parts[1] ?? ""));
      if (parts[0] === "apis" && parts.length === 2) return answer(apiGroup(registry.kinds, parts[1] ?? ""));
      if (parts[0] === "apis" && parts.length === 3)
        return answer(apiResourceList(registry.kinds, parts[1] ?? "", parts[2] ?? ""));
      return undefined;
    },
  };
}

function answer(json: unknown): OtherAnswer | undefined {
  return json === undefined ? undefined : { json };
}

function openIdConfiguration(address: string): unknown {
  return {
    issuer,
    jwks_uri: `https://${address}/openid/v1/jwks`,
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["ES256"],
  };
}
