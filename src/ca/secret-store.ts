/** Where the self-signed CA is kept, as a port, and the rule by which one of several starters creates it. */
import { FairleadError } from "../lib/index.ts";
import {
  createSelfSignedBundle,
  formatSigningBundle,
  parseSigningBundle,
  type RootOptions,
  type SigningBundle,
} from "./signing-bundle.ts";

/** Secret `istio-ca-secret` (type `istio.io/ca-root`) of the system namespace, its data decoded. */
export interface CaSecretStore {
  /** Undefined only where there surely is none; anything else that goes wrong throws. */
  get(): Promise<Readonly<Record<string, string>> | undefined>;
  /** Creates it only where there is none, in one step of the store. */
  create(data: Readonly<Record<string, string>>): Promise<"created" | "exists">;
}

export const caSecretName = "istio-ca-secret";
export const caSecretType = "istio.io/ca-root";

/** Loads what is there; creates a root only where nothing is; of several at once one wins and the others load its root. */
export async function loadOrCreateCa(store: CaSecretStore, options: RootOptions): Promise<SigningBundle> {
  const existing = await store.get();
  if (existing) return read(existing, options.now);
  const bundle = await createSelfSignedBundle(options);
  // Istio's own reader expects all five members.
  const outcome = await store.create({ ...formatSigningBundle(bundle), "key.pem": "" });
  if (outcome === "created") return bundle;
  const winner = await store.get();
  if (!winner)
    throw new FairleadError("conflict", `secret ${caSecretName} was created and removed while this process started`);
  return read(winner, options.now);
}

function read(data: Readonly<Record<string, string>>, now: Date): SigningBundle {
  return parseSigningBundle(
    {
      "ca-cert.pem": data["ca-cert.pem"] ?? "",
      "ca-key.pem": data["ca-key.pem"] ?? "",
      "cert-chain.pem": data["cert-chain.pem"] ?? "",
      "root-cert.pem": data["root-cert.pem"] ?? "",
    },
    now,
  );
}
