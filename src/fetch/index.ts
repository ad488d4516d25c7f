export {
  createHttpClient,
  type FetchAnswer,
  type FetchLimits,
  type FetchRequest,
  type HttpClient,
  type HttpClientOptions,
} from "./http-client.ts";
export { createJwksResolver, type JwksResolver, type JwksResolverOptions } from "./jwks-resolver.ts";
export { unfetchedKeySet } from "./unfetched.ts";
