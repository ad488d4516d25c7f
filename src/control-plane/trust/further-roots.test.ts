/** Roots of MeshConfig and of a real HTTPS endpoint with a SPIFFE bundle. */
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { createCertificateAuthority, createSelfSignedBundle, type SigningBundle } from "../../ca/index.ts";
import { createHttpClient } from "../../fetch/index.ts";
import { createLogger } from "../../lib/index.ts";
import type { MeshConfigSpec } from "../../model/index.ts";
import { formatBundle } from "../../pki/index.ts";
import { followFurtherRoots } from "./further-roots.ts";

const now = (): Date => new Date();
const stop = new AbortController();
const open: (() => void)[] = [];
afterEach(() => {
  for (const end of open.splice(0)) end();
});
const root = (organization: string): Promise<SigningBundle> => createSelfSignedBundle({ organization, now: now() });
const names = (roots: readonly { readonly subject: string }[]): readonly string[] =>
  roots.map(({ subject }) => subject);

async function serveBundle(answer: () => string) {
  const authority = createCertificateAuthority({ bundle: await root("web"), now });
  const tls = await authority.issueServing({ dns: ["localhost"], addresses: ["127.0.0.1"] });
  const server = createServer(tls, (_, response) => response.end(answer()));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  return { url: `https://127.0.0.1:${port}/`, roots: authority.roots() };
}

const bundleOf = (...cas: readonly SigningBundle[]): string =>
  JSON.stringify({
    keys: [
      ...cas.map(({ certificate }) => ({ use: "x509-svid", kty: "EC", x5c: [certificate.raw.toString("base64")] })),
      { use: "jwt-svid", kid: "a" },
    ],
  });

test("roots of MeshConfig and of SPIFFE bundles are believed, each once; what cannot be read is left out and told", async () => {
  const [written, spiffe, later] = [await root("written"), await root("spiffe"), await root("later")];
  let answer = bundleOf(spiffe, written);
  const { url, roots } = await serveBundle(() => answer);
  const lines: string[] = [];
  let spec: MeshConfigSpec = {
    caCertificates: [{ pem: formatBundle(written.roots) }, { pem: "junk" }, { spiffeBundleUrl: url }],
  };
  const further = followFurtherRoots({
    settings: () => spec,
    client: createHttpClient({ guard: () => undefined, extraRoots: roots }),
    log: createLogger({ write: (line) => void lines.push(line), now }),
    signal: stop.signal,
    refreshMs: 20,
  });
  expect(names(further.current())).toEqual(["O=written"]);
  expect(lines.join()).toContain("caCertificates[1].pem");
  const change = (): Promise<void> => new Promise((resolve) => further.onChange(resolve));
  await change();
  expect(names(further.current())).toEqual(["O=written", "O=spiffe"]);

  // What the endpoint gave stays while it gives nothing that can be used.
  answer = "{}";
  await expect.poll(() => lines.join(), { timeout: 60_000 }).toContain("its last roots stay");
  expect(names(further.current())).toEqual(["O=written", "O=spiffe"]);
  answer = bundleOf(later);
  await expect.poll(() => names(further.current()), { timeout: 60_000 }).toEqual(["O=written", "O=later"]);

  spec = {};
  further.refresh();
  expect(further.current()).toEqual([]);
});

test("plain HTTP is not asked", async () => {
  const lines: string[] = [];
  const further = followFurtherRoots({
    settings: () => ({ caCertificates: [{ spiffeBundleUrl: "http://127.0.0.1:1/" }] }),
    client: createHttpClient({ guard: () => undefined }),
    log: createLogger({ write: (line) => void lines.push(line), now }),
    signal: stop.signal,
  });
  await expect.poll(() => lines.join(), { timeout: 60_000 }).toContain("only https is asked");
  expect(further.current()).toEqual([]);
});
