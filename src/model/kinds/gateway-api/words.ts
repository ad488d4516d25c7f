/** Pieces that many schemas of the Gateway API share: names as Kubernetes writes them, and conditions before anybody has looked. */
import { int32, string } from "../schema.ts";

/** Name of a thing that DNS knows: up to 253 characters. */
export const subdomain = () =>
  string({
    pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
    minLength: 1,
    maxLength: 253,
  });

/** One part of such a name. */
export const label = () => string({ pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", minLength: 1, maxLength: 63 });

/** A host as routes and listeners name it, with `*.` for all below one. */
export const hostname = () =>
  string({
    pattern: "^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
    minLength: 1,
    maxLength: 253,
  });

/** `example.com/gateway-controller`. */
export const controllerName = (options: Parameters<typeof string>[0] = {}) =>
  string({
    ...options,
    pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\\/[A-Za-z0-9\\/\\-._~%!$&'()*+,;=:]+$",
    minLength: 1,
    maxLength: 253,
  });

/** Name of an HTTP header. */
export const headerName = () =>
  string({ pattern: "^[A-Za-z0-9!#$%&'*+\\-.^_\\x60|~]+$", minLength: 1, maxLength: 256 });

export const portNumber = () => int32({ minimum: 1, maximum: 65535 });

const fallback = (value: string | undefined) => (value === undefined ? {} : { default: value });

export const kindName = (value?: string) =>
  string({ ...fallback(value), pattern: "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$", minLength: 1, maxLength: 63 });

/** Empty is the core group. */
export const groupName = (value?: string) =>
  string({
    ...fallback(value),
    pattern: "^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
    maxLength: 253,
  });

/** What the API itself writes until a controller has spoken. */
export const waitingFor = (...types: readonly string[]) =>
  types.map((type) => ({
    lastTransitionTime: "1970-01-01T00:00:00Z",
    message: "Waiting for controller",
    reason: "Pending",
    status: "Unknown",
    type,
  }));
