/** `fairlead proxy-config rootca-compare`: whether two Pods trust a common root. */
import type { X509Certificate } from "node:crypto";
import type { Command } from "commander";
import { SecretsConfigDumpSchema } from "../../gen/envoy/admin/v3/config_dump_pb.js";
import { SecretSchema } from "../../gen/envoy/extensions/transport_sockets/tls/v3/secret_pb.js";
import { FairleadError } from "../../lib/index.ts";
import { parseCertificates } from "../../pki/index.ts";
import type { Io } from "../command.ts";
import { decodeIf } from "./any.ts";
import { parseDump } from "./dump.ts";
import { addTargetFlags } from "./flags.ts";
import type { Action } from "./istioctl-action.ts";
import { createProtoJson } from "./proto-json.ts";
import { certificatesOf } from "./secret.ts";
import { podSource, type SourceFlags } from "./source.ts";

export function addRootCompareCommand(parent: Command, io: Io, action: Action): void {
  const command = parent
    .command("rootca-compare")
    .alias("rc")
    .summary("Tell whether two Pods trust a common root certificate")
    .argument("<pod>", "[type/]name[.namespace]")
    .argument("<other>", "[type/]name[.namespace]")
    .addHelpText("after", "\nExample:\n  fairlead pc rootca-compare web-1.shop reviews-1.shop\n");
  addTargetFlags(command).action((one: string, other: string, flags: SourceFlags) =>
    action(async () => {
      const [a, b] = [await rootsOf(one, flags, io), await rootsOf(other, flags, io)];
      const common = a.roots.some((root) => b.roots.some((candidate) => candidate.raw.equals(root.raw)));
      const verdict = common
        ? "have the identical ROOTCA, theoretically the connectivity between them is available"
        : "have the non identical ROOTCA, theoretically the connectivity between them is unavailable";
      const text = `Both [${a.name}] and [${b.name}] ${verdict}`;
      if (!common) throw new FairleadError("invalid", text);
      io.out(`${text}\n`);
    }),
  );
}

async function rootsOf(
  target: string,
  flags: SourceFlags,
  io: Io,
): Promise<{ readonly name: string; readonly roots: readonly X509Certificate[] }> {
  const source = await podSource(target, flags, io);
  const name = `${source.pod.name}.${source.pod.namespace}`;
  const text = await source.configDump("?mask=dynamic_active_secrets,dynamic_warming_secrets");
  const section = parseDump(text, await createProtoJson()).section(SecretsConfigDumpSchema);
  const packed = section.dynamicActiveSecrets.find((dynamic) => dynamic.name === "ROOTCA");
  const secret = decodeIf(SecretSchema, packed?.secret);
  const roots = secret ? parseCertificates(certificatesOf(secret)) : [];
  if (roots.length === 0) throw new FairleadError("not-found", `${name} has no certificate in its secret ROOTCA`);
  return { name, roots };
}
