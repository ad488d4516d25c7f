/** The text of Envoy's /config_dump in; its sections as messages out, with key material redacted. */
import type { DescMessage, JsonValue, Message, MessageShape } from "@bufbuild/protobuf";
import { ConfigDumpSchema } from "../../gen/envoy/admin/v3/config_dump_pb.js";
import { FairleadError } from "../../lib/index.ts";
import { decodeAs } from "./any.ts";
import { readDumpJson } from "./dump-json.ts";
import type { ProtoJson } from "./proto-json.ts";
import { redactDump } from "./redact.ts";

export interface EnvoyDump {
  /** The last section of this type; throws where there is none. */
  section<Desc extends DescMessage>(schema: Desc): MessageShape<Desc>;
  sections<Desc extends DescMessage>(schema: Desc): readonly MessageShape<Desc>[];
  print<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc> & Message): JsonValue;
}

export function parseDump(text: string, protos: ProtoJson): EnvoyDump {
  const { configs } = readMessage(text, protos);
  const sections = <Desc extends DescMessage>(schema: Desc): readonly MessageShape<Desc>[] => {
    const typeUrl = `type.googleapis.com/${schema.typeName}`;
    const found = configs.filter((config) => config.typeUrl === typeUrl);
    if (found.length === 0) throw new FairleadError("not-found", `config dump has no configuration type ${typeUrl}`);
    return found.map((config) => decodeAs(schema, config));
  };
  return {
    sections,
    section: (schema) => {
      const all = sections(schema);
      return all[all.length - 1] as MessageShape<typeof schema>;
    },
    print: (schema, message) => protos.print(schema, message),
  };
}

function readMessage(text: string, protos: ProtoJson): MessageShape<typeof ConfigDumpSchema> {
  const json = redactDump(readDumpJson(text, "proto")).json;
  try {
    return protos.read(ConfigDumpSchema, json);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new FairleadError("invalid", `error unmarshalling config dump response from Envoy: ${why}`, { cause });
  }
}
