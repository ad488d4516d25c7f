/** A dump's secrets in; what their certificates say of themselves, or the secrets without keys, out. */
import {
  type SecretsConfigDump_DynamicSecret,
  SecretsConfigDumpSchema,
} from "../../gen/envoy/admin/v3/config_dump_pb.js";
import type { DataSource } from "../../gen/envoy/config/core/v3/base_pb.js";
import { type Secret, SecretSchema } from "../../gen/envoy/extensions/transport_sockets/tls/v3/secret_pb.js";
import { SPIFFECertValidatorConfigSchema } from "../../gen/envoy/extensions/transport_sockets/tls/v3/tls_spiffe_validator_config_pb.js";
import { FairleadError } from "../../lib/index.ts";
import { printTabs } from "../table.ts";
import { decodeIf } from "./any.ts";
import { type CertificateFacts, certificateFacts } from "./certificate.ts";
import type { EnvoyDump } from "./dump.ts";
import type { View } from "./view.ts";

interface Item extends CertificateFacts {
  readonly name: string;
  readonly state: string;
}

const columns = ["RESOURCE NAME", "TYPE", "STATUS", "VALID CERT", "SERIAL NUMBER", "NOT AFTER", "NOT BEFORE"];

export function viewSecrets(dump: EnvoyDump, now: Date): View {
  return {
    short: (style) => {
      const section = dump.section(SecretsConfigDumpSchema);
      const items = [
        ...section.dynamicWarmingSecrets.flatMap((secret) => itemsOf(secret, "WARMING", now)),
        ...section.dynamicActiveSecrets.flatMap((secret) => itemsOf(secret, "ACTIVE", now)),
      ];
      if (section.dynamicActiveSecrets.length + section.dynamicWarmingSecrets.length === 0)
        return "No active or warming secrets found.\n";
      return items.length === 0 ? "No secret items to show.\n" : table(items, style === "alone" ? "" : "secret/");
    },
    json: () => {
      try {
        return dump.print(SecretsConfigDumpSchema, dump.section(SecretsConfigDumpSchema));
      } catch (cause) {
        const { code, message } = FairleadError.from(cause);
        throw new FairleadError(code, `sidecar doesn't support secrets: ${message}`, { cause });
      }
    },
  };
}

/** Trust domains are told only where every certificate has one: then the mesh is likely one of several that trust each other. */
function table(items: readonly Item[], prefix: string): string {
  const withDomains = items.every((item) => item.trustDomain !== "");
  const rows = items.map((item) => [
    `${prefix}${item.name}`,
    item.type,
    item.state,
    String(item.valid),
    item.serialNumber,
    item.notAfter,
    item.notBefore,
    ...(withDomains ? [item.trustDomain] : []),
  ]);
  return printTabs([withDomains ? [...columns, "TRUST DOMAIN"] : columns, ...rows], 5);
}

function itemsOf(dynamic: SecretsConfigDump_DynamicSecret, state: string, now: Date): readonly Item[] {
  const secret = decodeIf(SecretSchema, dynamic.secret);
  if (!secret)
    throw new FairleadError("invalid", `failed building warming secret ${dynamic.name}: it is no TLS secret`);
  const pem = certificatesOf(secret);
  if (pem !== "") return [{ name: dynamic.name, state, ...certificateFacts(pem, "", now) }];
  return (
    trustBundles(secret)?.map(({ domain, bundle }) => ({
      name: secret.name,
      state,
      ...certificateFacts(bundle, domain, now),
    })) ?? [{ name: dynamic.name, state, ...certificateFacts("", "", now) }]
  );
}

/** The chain of an identity, or the roots that peers are judged by. */
export function certificatesOf({ type }: Secret): string {
  if (type.case === "tlsCertificate") return inlineText(type.value.certificateChain);
  return type.case === "validationContext" ? inlineText(type.value.trustedCa) : "";
}

function trustBundles({ type }: Secret): readonly { domain: string; bundle: string }[] | undefined {
  if (type.case !== "validationContext") return undefined;
  const config = decodeIf(SPIFFECertValidatorConfigSchema, type.value.customValidatorConfig?.typedConfig);
  return config?.trustDomains.map(({ name, trustBundle }) => ({ domain: name, bundle: inlineText(trustBundle) }));
}

function inlineText(source: DataSource | undefined): string {
  return source?.specifier.case === "inlineBytes" ? Buffer.from(source.specifier.value).toString("utf8") : "";
}
