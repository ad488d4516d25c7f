export { createHttpClient, type FetchLimits, type HttpClient, type HttpClientOptions } from "./http-client.ts";
export { createJwksResolver, type JwksResolver, type JwksResolverOptions } from "./jwks-resolver.ts";
export { unfetchedKeySet } from "./unfetched.ts";
