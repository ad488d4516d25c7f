/** The RequestAuthentications that a proxy is under in; the filter that verifies tokens out. */
import { create, type DescMessage, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import {
  JwtAuthenticationSchema,
  JwtClaimToHeaderSchema,
  JwtHeaderSchema,
  type JwtProvider,
  JwtProviderSchema,
  type JwtRequirementSchema,
} from "../../gen/envoy/extensions/filters/http/jwt_authn/v3/config_pb.js";
import type { HttpFilter } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { compareText } from "../../lib/index.ts";
import { type InboundFacet, objectName } from "../../model/index.ts";
import { brokenConstraint } from "../build/constraints.ts";
import { httpFilter } from "../build/http-filter.ts";
import { inboundFacet } from "../facets.ts";
import type { Steps } from "../layer.ts";
import { encodePart, joined, type Part, samePart } from "../part.ts";
import { recipe } from "../recipe.ts";
import type { View } from "../view.ts";
import { jwksOf, type SourcedRule } from "./jwks.ts";
import { jwtFilterName, payloadKey } from "./jwt-names.ts";

type Requirement = MessageInitShape<typeof JwtRequirementSchema>;

export function jwtFilter(view: View<InboundFacet>): readonly HttpFilter[] {
  const { length } = jwtRules(view);
  if (length === 0) return [];
  const rest = create(JwtAuthenticationSchema, {
    rules: [
      {
        match: { pathSpecifier: { case: "prefix", value: "/" } },
        requirementType: { case: "requires", value: requirement(Array.from({ length }, (_, i) => providerName(i))) },
      },
    ],
    bypassCorsPreflight: true,
  });
  const providers = chunksOf(length).map((chunk) => providerChunk(view, chunk));
  const { pieces } = joined([...providers, encodePart(JwtAuthenticationSchema, rest)]);
  const typeUrl = `type.googleapis.com/${JwtAuthenticationSchema.typeName}`;
  return [httpFilter(jwtFilterName, create(AnySchema, { typeUrl, value: Buffer.concat(pieces) }))];
}

/** Makes what `jwtFilter` puts together, a few providers at a time. */
export function* jwtSteps(view: View<InboundFacet>): Steps {
  for (const chunk of chunksOf(jwtRules(view).length)) {
    providerChunk(view, chunk);
    yield;
  }
}

const providerName = (index: number): string => `origins-${index}`;

/** So many providers are made in one go, and again when the keys of one of them come: one object may name thousands. */
const chunkProviders = 128;

const chunksOf = (count: number): readonly string[] =>
  Array.from({ length: Math.ceil(count / chunkProviders) }, (_, chunk) => String(chunk));

const providerChunk = recipe(
  inboundFacet,
  "JWT providers",
  (view, chunk): Part => {
    const from = Number(chunk) * chunkProviders;
    const rules = jwtRules(view).slice(from, from + chunkProviders);
    const providers = Object.fromEntries(rules.map((rule, i) => [providerName(from + i), jwtProvider(view, rule)]));
    return encodePart(JwtAuthenticationSchema, create(JwtAuthenticationSchema, { providers }));
  },
  samePart,
);

/** In the order of their issuers: Envoy tries providers in turn, and the same input must give the same bytes. */
const jwtRules = recipe(inboundFacet, "JWT rules", (view): readonly SourcedRule[] => {
  const all = view.proxy.requestAuthentications.flatMap((key) => view.mesh.requestAuthentication(key) ?? []);
  const rules = all.flatMap(({ meta, spec }) => {
    const object = objectName("RequestAuthentication", meta);
    view.mesh.graph.note(object, "spec.jwtRules");
    return (spec.jwtRules ?? []).map((rule, index) => ({
      ...rule,
      from: { object, field: `spec.jwtRules[${index}]` },
    }));
  });
  return rules.sort((a, b) => compareText(a.issuer ?? "", b.issuer ?? ""));
});

function jwtProvider(view: View<InboundFacet>, rule: SourcedRule): JwtProvider {
  return create(JwtProviderSchema, {
    issuer: rule.issuer ?? "",
    audiences: [...(rule.audiences ?? [])],
    jwksSourceSpecifier: {
      case: "localJwks",
      value: { specifier: { case: "inlineString", value: jwksOf(view, rule) } },
    },
    forward: rule.forwardOriginalToken ?? false,
    forwardPayloadHeader: headerName(rule.outputPayloadToHeader ?? ""),
    fromHeaders: soundOnes(
      JwtHeaderSchema,
      (rule.fromHeaders ?? []).map(({ name = "", prefix = "" }) => ({ name, valuePrefix: prefix })),
    ),
    fromParams: [...(rule.fromParams ?? [])],
    fromCookies: [...(rule.fromCookies ?? [])],
    claimToHeaders: soundOnes(
      JwtClaimToHeaderSchema,
      (rule.outputClaimToHeaders ?? []).map(({ header = "", claim = "" }) => ({
        headerName: header,
        claimName: claim,
      })),
    ),
    payloadInMetadata: payloadKey,
    normalizePayloadInMetadata: { spaceDelimitedClaims: spaceDelimited(rule.spaceDelimitedClaims ?? []) },
    // A gateway's routes may depend on claims, so the route is chosen again once they are known.
    clearRouteCache: view.proxy.type !== "sidecar",
  });
}

const headerName = (name: string): string => (/[\0\r\n]/.test(name) ? "" : name);

/** Without those that Envoy would refuse, and the whole listener with them. */
function soundOnes<Desc extends DescMessage>(
  schema: Desc,
  items: readonly MessageInitShape<Desc>[],
): MessageShape<Desc>[] {
  return items.map((item) => create(schema, item)).filter((item) => brokenConstraint(schema, item) === undefined);
}

const spaceDelimited = (claims: readonly string[]): string[] =>
  [...new Set([...claims, "permission", "scope"])].sort(compareText);

/**
 * A request without a token passes here; whether it needs one is for AuthorizationPolicy to say. R17: a token that is
 * there must be good: of some provider, or, where providers look in different places, of each that found one.
 */
function requirement(names: readonly string[]): Requirement {
  const each = names.map((name) => anyOf([byProvider(name), { requiresType: { case: "allowMissing", value: {} } }]));
  const [only] = each;
  if (only && each.length === 1) return only;
  const all: Requirement = { requiresType: { case: "requiresAll", value: { requirements: each } } };
  return anyOf([...names.map(byProvider), all]);
}

const byProvider = (value: string): Requirement => ({ requiresType: { case: "providerName", value } });

const anyOf = (requirements: Requirement[]): Requirement => ({
  requiresType: { case: "requiresAny", value: { requirements } },
});
