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
import type { ApiKind } from "./kind.ts";
import type { KindRegistry } from "./kind-registry.ts";
import { createOpenApi, type OpenApi } from "./openapi.ts";
import { issuer, type Tokens } from "./tokens.ts";

export type OtherAnswer =
  | { readonly json: unknown; readonly contentType?: string }
  | { readonly bytes: Buffer; readonly contentType: string };

/**
 * OpenAPI v2 in protobuf, with a title and no paths. kubectl asks for it when v3 does not know a kind, and then says by
 * itself that there is no such kind.
 */
const emptyDocument = Buffer.concat([
  Buffer.from([0x0a, 3]),
  Buffer.from("2.0"),
  Buffer.from([0x12, 14, 0x0a, 8]),
  Buffer.from("Fairlead"),
  Buffer.from([0x12, 2]),
  Buffer.from("v1"),
  Buffer.from([0x42, 0]),
]);

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
      (accept) =>
        accept?.includes("protobuf") && !accept.includes("application/json")
          ? { bytes: emptyDocument, contentType: "application/com.github.proto-openapi.spec.v2.v1.0+protobuf" }
          : { json: openApi().v2 },
    ],
    ["/openapi/v3", () => ({ json: openApi().index })],
    ["/openid/v1/jwks", () => ({ json: tokens.jwks, contentType: "application/jwk-set+json" })],
    ["/.well-known/openid-configuration", () => ({ json: openIdConfiguration(address()) })],
  ]);
  const root = (): OtherAnswer => ({
    json: { paths: [...fixed.keys(), ...new Set(registry.kinds.map((kind) => pathOf(kind)))].sort() },
  });
  return {
    get(path, accept) {
      if (path === "/") return root();
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

function pathOf({ group, version }: ApiKind): string {
  return group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
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
