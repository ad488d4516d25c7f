/** The settings of Envoy's JWT filter and a request in; whether it passes, and the claims that others may look at, out. */
import type {
  JwtAuthentication,
  JwtProvider,
  JwtRequirement,
} from "../../gen/envoy/extensions/filters/http/jwt_authn/v3/config_pb.js";
import { queryOf } from "../match/header.ts";
import { type HttpRequest, headerOf } from "../request.ts";
import { type Checked, checkToken, type JwtSettings } from "./jwt-token.ts";
import { mismatch, type RouteContext } from "./route-match.ts";

export interface JwtVerdict {
  /** Envoy's word for what is wrong; undefined where it passes. */
  readonly failure: string | undefined;
  readonly claims: Readonly<Record<string, unknown>> | undefined;
  readonly provider: string | undefined;
  readonly metadataKey: string;
  readonly clearRouteCache: boolean;
  /** Whether somebody's keys were not known. */
  readonly unverified: boolean;
  /** For each provider, what it found. */
  readonly lost: readonly string[];
}

const missing = "Jwt is missing";

export function evaluateJwt(config: JwtAuthentication, context: RouteContext, settings: JwtSettings): JwtVerdict {
  const pass: JwtVerdict = {
    failure: undefined,
    claims: undefined,
    provider: undefined,
    metadataKey: "",
    clearRouteCache: false,
    unverified: false,
    lost: [],
  };
  const { request } = context;
  if (config.bypassCorsPreflight && isPreflight(request)) return pass;
  const rule = config.rules.find(({ match }) => match && mismatch(match, context) === undefined);
  const type = rule?.requirementType;
  const requirement =
    type?.case === "requires"
      ? type.value
      : type?.case === "requirementName"
        ? config.requirementMap[type.value]
        : undefined;
  if (!requirement) return pass;
  const lost: string[] = [];
  const check = (name: string): Checked => {
    const provider = config.providers[name];
    const checked = provider ? checkProvider(provider, request, settings) : { failure: "Jwt issuer is not configured" };
    lost.push(`${provider?.issuer ?? name}: ${checked.failure ?? "good"}`);
    return { ...checked, provider: name };
  };
  const { failure, claims, provider, unverified } = checkRequirement(requirement, check);
  const chosen = provider === undefined ? undefined : config.providers[provider];
  return {
    failure,
    claims: claims && chosen ? normalized(claims, chosen) : undefined,
    provider: chosen?.issuer,
    metadataKey: chosen?.payloadInMetadata ?? "",
    clearRouteCache: claims !== undefined && (chosen?.clearRouteCache ?? false),
    unverified: unverified ?? false,
    lost,
  };
}

export const isPreflight = ({ method, headers }: HttpRequest): boolean =>
  method === "OPTIONS" &&
  (headerOf(headers, "origin") ?? "") !== "" &&
  (headerOf(headers, "access-control-request-method") ?? "") !== "";

function checkRequirement({ requiresType: type }: JwtRequirement, check: (name: string) => Checked): Checked {
  switch (type.case) {
    case "providerName":
      return check(type.value);
    case "providerAndAudiences":
      return check(type.value.providerName);
    case "requiresAny":
      return anyOf(type.value.requirements, check);
    case "requiresAll": {
      const all = type.value.requirements.map((one) => checkRequirement(one, check));
      return (
        all.find(({ failure }) => failure !== undefined) ?? all.find(({ claims }) => claims) ?? { failure: undefined }
      );
    }
    // Stands for the requirements beside it; alone it lets everything pass.
    default:
      return { failure: undefined };
  }
}

/** One that is good is enough; a token that is there and bad is told rather than one that is not there. */
function anyOf(requirements: readonly JwtRequirement[], check: (name: string) => Checked): Checked {
  const isLenient = (one: JwtRequirement): boolean =>
    one.requiresType.case === "allowMissing" || one.requiresType.case === "allowMissingOrFailed";
  const lenient = requirements.find(isLenient)?.requiresType.case;
  const tried = requirements.filter((one) => !isLenient(one)).map((one) => checkRequirement(one, check));
  const good = tried.find(({ failure }) => failure === undefined);
  if (good) return good;
  const told =
    tried.findLast(({ failure }) => failure !== missing && failure !== "Jwt issuer is not configured") ??
    tried.findLast(({ failure }) => failure !== missing) ??
    tried.at(-1);
  if (lenient === "allowMissingOrFailed") return { failure: undefined };
  if (lenient === "allowMissing" && tried.every(({ failure }) => failure === missing)) return { failure: undefined };
  return told ?? { failure: undefined };
}

function checkProvider(provider: JwtProvider, request: HttpRequest, settings: JwtSettings): Checked {
  const tokens = tokensOf(provider, request);
  const [token] = tokens;
  if (token === undefined) return { failure: missing };
  for (const one of tokens) {
    const checked = checkToken(one, provider, settings);
    if (checked.failure !== undefined) return checked;
  }
  return checkToken(token, provider, settings);
}

function tokensOf({ fromHeaders, fromParams, fromCookies }: JwtProvider, request: HttpRequest): readonly string[] {
  const nowhere = fromHeaders.length === 0 && fromParams.length === 0 && fromCookies.length === 0;
  const headers = nowhere ? [{ name: "authorization", valuePrefix: "Bearer " }] : fromHeaders;
  const params = nowhere ? ["access_token"] : fromParams;
  const query = queryOf(request.path);
  return [
    ...headers.flatMap(({ name, valuePrefix }) => {
      const value = headerOf(request.headers, name.toLowerCase());
      const at = value?.indexOf(valuePrefix) ?? -1;
      if (value === undefined || at < 0) return [];
      // Up to what cannot be part of a token.
      return [/^[\w.+/=-]*/.exec(value.slice(at + valuePrefix.length).trimStart())?.[0] ?? ""];
    }),
    ...params.flatMap((name) => query.get(name) ?? []),
    ...fromCookies.flatMap((name) => cookiesOf(request).get(name) ?? []),
  ];
}

function cookiesOf({ headers }: HttpRequest): ReadonlyMap<string, string> {
  const pairs = (headerOf(headers, "cookie") ?? "").split(/;\s*/).map((pair) => pair.split("="));
  return new Map(pairs.map(([name = "", ...value]) => [name, value.join("=")]));
}

/** Claims that are lists in one text become lists. */
function normalized(
  claims: Readonly<Record<string, unknown>>,
  { normalizePayloadInMetadata: normalize }: JwtProvider,
): Readonly<Record<string, unknown>> {
  const spaced = new Set(normalize?.spaceDelimitedClaims ?? []);
  return Object.fromEntries(
    Object.entries(claims).map(([name, value]) => [
      name,
      spaced.has(name) && typeof value === "string" ? value.split(" ") : value,
    ]),
  );
}
