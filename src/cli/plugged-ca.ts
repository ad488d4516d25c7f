/** The folder where a Secret `cacerts` is mounted in; the files of the CA that users brought out, or nothing. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { CaFiles } from "../ca/index.ts";

export function readPluggedCa(dir: string): CaFiles | undefined {
  const read = (name: string): string => (existsSync(join(dir, name)) ? readFileSync(join(dir, name), "utf8") : "");
  const key = read("ca-key.pem");
  if (key !== "")
    return {
      "ca-cert.pem": read("ca-cert.pem"),
      "ca-key.pem": key,
      "cert-chain.pem": read("cert-chain.pem"),
      "root-cert.pem": read("root-cert.pem"),
    };
  // A Secret of type kubernetes.io/tls, as cert-manager makes them: the signer first, then what is above it.
  const tlsKey = read("tls.key");
  if (tlsKey === "") return undefined;
  const chain = read("tls.crt");
  return { "ca-cert.pem": chain, "ca-key.pem": tlsKey, "cert-chain.pem": chain, "root-cert.pem": read("ca.crt") };
}
