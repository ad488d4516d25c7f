/**
 * `caCertificates` of MeshConfig in; the roots that proxies believe besides the mesh's own out: those that are written
 * there, and those that SPIFFE bundle endpoints give. An entry that cannot be read is told and left out; an endpoint that
 * does not answer keeps the roots that it gave last.
 */
import type { X509Certificate } from "node:crypto";
import type { HttpClient } from "../../fetch/index.ts";
import { FairleadError, type Logger, parseJson, readList, readRecord, readText } from "../../lib/index.ts";
import type { MeshConfigSpec } from "../../model/index.ts";
import { formatPem, parseCertificates } from "../../pki/index.ts";

export interface FurtherRootsOptions {
  settings(): MeshConfigSpec;
  readonly client: HttpClient;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** How often endpoints are asked again. */
  readonly refreshMs?: number;
}

export interface FurtherRoots {
  /** Each once; the same list until it changes. */
  current(): readonly X509Certificate[];
  /** Those that MeshConfig has for a signer of the Kubernetes API (`certSigners`), or for any of them. */
  ofSigner(name: string | undefined): readonly X509Certificate[];
  /** MeshConfig may have changed. */
  refresh(): void;
  onChange(listener: () => void): void;
}

/** As istiod polls. */
const halfHourMs = 30 * 60_000;
const limits = { maxBytes: 1024 * 1024, timeoutMs: 10_000 };

export function followFurtherRoots(options: FurtherRootsOptions): FurtherRoots {
  const { log, signal } = options;
  const listeners = new Set<() => void>();
  const fetched = new Map<string, readonly X509Certificate[]>();
  let [asked, written]: [string, readonly X509Certificate[]] = ["", []];
  let urls: readonly string[] = [];
  let bySigner: readonly { readonly signers: readonly string[]; readonly roots: readonly X509Certificate[] }[] = [];
  let current: readonly X509Certificate[] = [];

  const tell = (): void => {
    current = distinct([...written, ...[...fetched.values()].flat()]);
    for (const listener of listeners) listener();
  };
  const fetchOne = async (url: string): Promise<void> => {
    try {
      if (!url.startsWith("https://")) throw new FairleadError("invalid", "only https is asked");
      const body = await options.client.get(url, { ...limits, signal });
      fetched.set(url, rootsOfBundle(new TextDecoder().decode(body)));
      tell();
    } catch (error) {
      const kept = fetched.has(url) ? "its last roots stay" : "nothing of it is believed";
      log.warn(`MeshConfig caCertificates spiffeBundleUrl ${url}: ${FairleadError.from(error).message}; ${kept}`);
    }
  };
  const refresh = (): void => {
    const entries = options.settings().caCertificates ?? [];
    if (JSON.stringify(entries) === asked) return;
    asked = JSON.stringify(entries);
    bySigner = entries.map(({ pem, certSigners }, i) => ({
      signers: certSigners ?? [],
      roots: pem === undefined ? [] : readWritten(pem, i, log),
    }));
    written = bySigner.flatMap(({ roots }) => roots);
    urls = entries.flatMap(({ spiffeBundleUrl }) => spiffeBundleUrl ?? []);
    for (const url of fetched.keys()) if (!urls.includes(url)) fetched.delete(url);
    tell();
    for (const url of urls) void fetchOne(url);
  };
  const timer = setInterval(() => urls.forEach((url) => void fetchOne(url)), options.refreshMs ?? halfHourMs).unref();
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  refresh();
  return {
    current: () => current,
    ofSigner: (name) =>
      distinct(
        bySigner
          .filter(({ signers }) => (name === undefined ? signers.length > 0 : signers.includes(name)))
          .flatMap(({ roots }) => roots),
      ),
    refresh,
    onChange: (listener) => void listeners.add(listener),
  };
}

function readWritten(pem: string, at: number, log: Logger): readonly X509Certificate[] {
  try {
    const roots = parseCertificates(pem);
    if (roots.length === 0) throw new FairleadError("invalid", "there is no certificate");
    if (roots.every((root) => root.ca)) return roots;
    throw new FairleadError("invalid", "a certificate is no CA");
  } catch (error) {
    log.warn(`MeshConfig caCertificates[${at}].pem: ${FairleadError.from(error).message}; it is left out`);
    return [];
  }
}

/** The document of SPIFFE: keys for X.509 have one certificate each. */
function rootsOfBundle(text: string): readonly X509Certificate[] {
  const keys = readList(readRecord(parseJson(text))["keys"]).map(readRecord);
  const roots = keys.flatMap((key) => {
    if (key["use"] !== "x509-svid") return [];
    const [der, ...others] = readList(key["x5c"]).map(readText);
    if (der === undefined || others.length > 0) throw new FairleadError("invalid", "a key has not exactly one x5c");
    return parseCertificates(formatPem("CERTIFICATE", Buffer.from(der, "base64")));
  });
  if (roots.length === 0) throw new FairleadError("invalid", "the bundle has no key of use x509-svid");
  if (!roots.every((root) => root.ca)) throw new FairleadError("invalid", "a certificate of the bundle is no CA");
  return roots;
}

function distinct(roots: readonly X509Certificate[]): readonly X509Certificate[] {
  return [...new Map(roots.map((root) => [root.fingerprint256, root])).values()];
}
