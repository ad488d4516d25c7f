/** The JWT filter and the key of its metadata under which it leaves a verified token's claims. */

export const jwtFilterName = "envoy.filters.http.jwt_authn";
export const payloadKey = "payload";
