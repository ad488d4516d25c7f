/** PeerAuthentication and RequestAuthentication in, what istiod's webhook says of them into the report. */
import type { JWTRule, PeerAuthenticationSpec, RequestAuthenticationSpec } from "../../model/index.ts";
import { parseUrl } from "../schema/go-url.ts";
import type { Check } from "./check.ts";
import { strictNameError } from "./header.ts";
import { jwksError, privateKeyIndexes } from "./jwks.ts";
import { each, quote, type Report } from "./report.ts";
import { checkAttachment, checkSelector } from "./selector.ts";
import { checkDuration, isSet } from "./values.ts";

export const checkPeerAuthentication: Check<PeerAuthenticationSpec> = (report, spec) => {
  const ports = Object.keys(spec.portLevelMtls ?? {});
  const everybody = Object.keys(spec.selector?.matchLabels ?? {}).length === 0;
  const at = report.at("portLevelMtls");
  if (everybody && ports.length > 0) at.error("mesh/namespace peer authentication cannot have port level mTLS");
  if (spec.portLevelMtls && ports.length === 0) at.error("port level mTLS, if defined, must have at least one element");
  for (const port of ports) if (Number(port) <= 0 || Number(port) > 65535) at.error("port must be in range 1..65535");
  checkSelector(report.at("selector"), spec.selector);
};

export const checkRequestAuthentication: Check<RequestAuthenticationSpec> = (report, spec) => {
  checkAttachment(report, spec);
  each(report, "jwtRules", spec.jwtRules, (rule, at) => checkJwtRule(at, rule));
};

function checkJwtRule(report: Report, rule: JWTRule): void {
  const { issuer = "", jwksUri = "", jwks = "" } = rule;
  const nonEmpty = (field: "audiences" | "fromParams" | "fromCookies", what: string): void =>
    each(report, field, rule[field], (text, at) =>
      at.error(text === "" ? `${what} must be non-empty string` : undefined),
    );
  nonEmpty("audiences", "audience");
  if (issuer === "" && jwksUri === "") report.error("issuer or jwksUri must be non-empty string");
  if (jwksUri !== "") report.at("jwksUri").error(jwksUriError(jwksUri));
  if (jwks !== "") checkJwks(report.at("jwks"), jwks);
  each(report, "fromHeaders", rule.fromHeaders, ({ name }, at) =>
    at.error(isSet(name) ? undefined : "location header name must be non-empty string"),
  );
  nonEmpty("fromParams", "location query");
  nonEmpty("fromCookies", "cookie name");
  each(report, "outputClaimToHeaders", rule.outputClaimToHeaders, ({ header, claim }, at) => {
    if (isSet(header) && isSet(claim)) at.at("header").error(strictNameError(header));
    else at.error("outputClaimToHeaders header and claim value must be non-empty string");
  });
  checkDuration(report.at("timeout"), rule.timeout);
}

function checkJwks(report: Report, jwks: string): void {
  const wrong = jwksError(jwks);
  if (wrong) report.error(`jwks parse error: ${wrong}`);
  for (const index of privateKeyIndexes(jwks))
    report.warn(`jwks key at index ${index} contains private key material; only public keys are used for verification`);
}

function jwksUriError(uri: string): string | undefined {
  const url = parseUrl(uri);
  if ("error" in url) return url.error;
  return url.scheme === "http" || url.scheme === "https"
    ? undefined
    : `URI scheme ${quote(url.scheme)} is not supported`;
}
