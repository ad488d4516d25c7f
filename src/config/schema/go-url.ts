/** Text in, the parts of a URL or the error out, with the verdicts and words of Go's net/url. */

export interface GoUrl {
  readonly scheme: string;
  /** Host and port. */
  readonly host: string;
  readonly path: string;
  readonly query: string;
  readonly opaque: string;
}

export type GoUrlResult = GoUrl | { readonly error: string };

/** `url.Parse`: a relative reference is a URL too. */
export function parseUrl(text: string): GoUrlResult {
  const hash = text.indexOf("#");
  const result = parse(hash < 0 ? text : text.slice(0, hash), false);
  return "error" in result ? { error: `parse ${JSON.stringify(text)}: ${result.error}` } : result;
}

/** `url.ParseRequestURI`: only an absolute URI or an absolute path; a fragment is not one. */
export function parseRequestUri(text: string): GoUrlResult {
  const result = parse(text, true);
  return "error" in result ? { error: `parse ${JSON.stringify(text)}: ${result.error}` } : result;
}

function parse(text: string, viaRequest: boolean): GoUrlResult {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(text)) return { error: "net/url: invalid control character in URL" };
  if (text === "" && viaRequest) return { error: "empty url" };
  const split = splitScheme(text);
  if ("error" in split) return split;
  const { scheme } = split;
  const question = split.rest.indexOf("?");
  const query = question < 0 ? "" : split.rest.slice(question + 1);
  const rest = question < 0 ? split.rest : split.rest.slice(0, question);
  if (!rest.startsWith("/")) {
    if (scheme !== "") return { scheme, host: "", path: "", query, opaque: rest };
    if (viaRequest) return { error: "invalid URI for request" };
    const segment = rest.split("/", 1)[0] ?? "";
    if (segment.includes(":")) return { error: "first path segment in URL cannot contain colon" };
  }
  return withAuthority(scheme, rest, query, viaRequest);
}

function withAuthority(scheme: string, rest: string, query: string, viaRequest: boolean): GoUrlResult {
  const hasAuthority = (scheme !== "" || (!viaRequest && !rest.startsWith("///"))) && rest.startsWith("//");
  const end = hasAuthority ? rest.indexOf("/", 2) : 0;
  const authority = hasAuthority ? rest.slice(2, end < 0 ? undefined : end) : "";
  const path = hasAuthority ? (end < 0 ? "" : rest.slice(end)) : rest;
  const at = authority.lastIndexOf("@");
  const host = authority.slice(at + 1);
  if (at >= 0 && !/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(authority.slice(0, at)))
    return { error: "net/url: invalid userinfo" };
  const wrong = hostError(host) ?? escapeError(path);
  return wrong === undefined ? { scheme, host, path, query, opaque: "" } : { error: wrong };
}

function splitScheme(text: string): { readonly scheme: string; readonly rest: string } | { readonly error: string } {
  for (let i = 0; i < text.length; i++) {
    const c = text[i] ?? "";
    if (/[a-zA-Z]/.test(c)) continue;
    if (/[0-9+\-.]/.test(c)) {
      if (i === 0) break;
      continue;
    }
    if (c !== ":") break;
    if (i === 0) return { error: "missing protocol scheme" };
    return { scheme: text.slice(0, i).toLowerCase(), rest: text.slice(i + 1) };
  }
  return { scheme: "", rest: text };
}

function hostError(host: string): string | undefined {
  if (host.startsWith("[")) {
    const end = host.lastIndexOf("]");
    if (end < 0) return "missing ']' in host";
    const port = host.slice(end + 1);
    return port === "" || /^:\d*$/.test(port) ? undefined : `invalid port ${JSON.stringify(port)} after host`;
  }
  const colon = host.lastIndexOf(":");
  if (colon >= 0 && !/^\d*$/.test(host.slice(colon + 1)))
    return `invalid port ${JSON.stringify(host.slice(colon))} after host`;
  const bad = /[^A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"%\u0080-\uffff]/.exec(host)?.[0];
  return bad === undefined ? escapeError(host) : `invalid character ${JSON.stringify(bad)} in host name`;
}

function escapeError(text: string): string | undefined {
  const bad = /%(?![0-9a-fA-F]{2}).{0,2}/.exec(text)?.[0];
  return bad === undefined ? undefined : `invalid URL escape ${JSON.stringify(bad)}`;
}
