/** A path with `{*}` (one segment) or `{**}` (any number of them) in; the template in Envoy's words out. */

const maxLength = 256;
const operator = /\{\*{1,2}\}/;
/** Characters of a path segment in RFC 3986. */
const literal = /^[\w.~%!$&'()+,;:@=-]+$/;

export const isPathTemplate = (path: string): boolean => operator.test(path);

/** Undefined for what is no template. R33: it must never reach Envoy, which ends itself over one inside RBAC. */
export function pathTemplate(path: string): string | undefined {
  const template = path.replaceAll("{**}", "**").replaceAll("{*}", "*");
  if (!path.startsWith("/") || template.length > maxLength) return undefined;
  const segments = path.slice(1).replace(/\/$/, "").split("/");
  const rest = segments.indexOf("{**}");
  // Nothing after "any number of segments" could say where it ends.
  if (rest >= 0 && segments.slice(rest + 1).some(isPathTemplate)) return undefined;
  return segments.every((segment) => segment === "{*}" || segment === "{**}" || literal.test(segment))
    ? template
    : undefined;
}
