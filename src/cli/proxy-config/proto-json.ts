/**
 * JSON that an Envoy of any version printed in, messages out, and back to proto3 JSON. Fields that our types do not
 * know are dropped, as istioctl drops them; an Any of a type that we do not know is carried along as it came.
 */
import {
  create,
  createFileRegistry,
  createRegistry,
  type DescFile,
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonValue,
  type MessageShape,
  type Registry,
  toJson,
} from "@bufbuild/protobuf";
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FileDescriptorProtoSchema,
  file_google_protobuf_any,
  file_google_protobuf_duration,
  file_google_protobuf_empty,
  file_google_protobuf_field_mask,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
} from "@bufbuild/protobuf/wkt";
import { isRecord } from "../../lib/index.ts";

export interface ProtoJson {
  read<Desc extends DescMessage>(schema: Desc, json: unknown): MessageShape<Desc>;
  print<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): JsonValue;
}

const wellKnown: readonly DescFile[] = [
  file_google_protobuf_any,
  file_google_protobuf_duration,
  file_google_protobuf_empty,
  file_google_protobuf_field_mask,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
];

export async function createProtoJson(): Promise<ProtoJson> {
  const { allFiles } = await import("../../gen/all.js");
  const known = createRegistry(...allFiles(), ...wellKnown);
  const isKnown = (typeUrl: string): boolean => known.getMessage(typeNameOf(typeUrl)) !== undefined;
  const registry = withForeignTypes(known);
  return {
    read: (schema, json) =>
      // The walk below only wraps what is foreign; everything else is the caller's JSON.
      fromJson(schema, wrapForeign(json, isKnown) as JsonValue, { registry, ignoreUnknownFields: true }),
    print: (schema, message) => unwrapForeign(toJson(schema, message, { registry }), isKnown),
  };
}

function typeNameOf(typeUrl: string): string {
  return typeUrl.slice(typeUrl.lastIndexOf("/") + 1);
}

/** Answers every type name: those that are not ours with a message of one text field, which holds the JSON that came. */
function withForeignTypes(known: Registry): Registry {
  const foreign = new Map<string, DescMessage | undefined>();
  const getMessage = (typeName: string): DescMessage | undefined => {
    const found = known.getMessage(typeName);
    if (found) return found;
    if (!foreign.has(typeName)) foreign.set(typeName, foreignType(typeName));
    return foreign.get(typeName);
  };
  return {
    kind: "registry",
    [Symbol.iterator]: () => known[Symbol.iterator](),
    get: (name) => known.get(name) ?? getMessage(name),
    getMessage,
    getEnum: (name) => known.getEnum(name),
    getExtension: (name) => known.getExtension(name),
    getExtensionFor: (extendee, number) => known.getExtensionFor(extendee, number),
    getService: (name) => known.getService(name),
  };
}

function foreignType(typeName: string): DescMessage | undefined {
  const dot = typeName.lastIndexOf(".");
  const file = create(FileDescriptorProtoSchema, {
    name: `foreign/${typeName}.proto`,
    package: dot < 0 ? "" : typeName.slice(0, dot),
    syntax: "proto3",
    messageType: [
      {
        name: typeName.slice(dot + 1),
        field: [
          {
            name: "value",
            jsonName: "value",
            number: 1,
            type: FieldDescriptorProto_Type.STRING,
            label: FieldDescriptorProto_Label.OPTIONAL,
          },
        ],
      },
    ],
  });
  return createFileRegistry(file, () => undefined).getMessage(typeName);
}

type IsKnown = (typeUrl: string) => boolean;

function wrapForeign(json: unknown, isKnown: IsKnown): unknown {
  if (Array.isArray(json)) return json.map((item) => wrapForeign(item, isKnown));
  if (!isRecord(json)) return json;
  const { "@type": type, ...rest } = json;
  if (typeof type === "string" && !isKnown(type)) return { "@type": type, value: JSON.stringify(rest) };
  return mapFields(json, (value) => wrapForeign(value, isKnown));
}

function unwrapForeign(json: JsonValue, isKnown: IsKnown): JsonValue {
  if (Array.isArray(json)) return json.map((item) => unwrapForeign(item, isKnown));
  if (typeof json !== "object" || json === null) return json;
  const type = json["@type"];
  if (typeof type !== "string") return mapFields(json, (value) => unwrapForeign(value, isKnown)) as JsonObject;
  // Type first, as everybody prints it.
  const { "@type": _, ...rest } = json;
  if (isKnown(type)) return { "@type": type, ...(mapFields(rest, (v) => unwrapForeign(v, isKnown)) as JsonObject) };
  return { "@type": type, ...(camelKeys(JSON.parse(String(rest.value ?? "{}"))) as JsonObject) };
}

function mapFields<T>(json: Readonly<Record<string, T>>, change: (value: T) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, change(value)]));
}

/** Envoy prints proto names; proto3 JSON has lowerCamelCase. */
function camelKeys(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(camelKeys);
  if (!isRecord(json)) return json;
  return Object.fromEntries(
    Object.entries(json).map(([key, value]) => [
      key.replace(/_([a-z0-9])/g, (_, c: string) => c.toUpperCase()),
      camelKeys(value),
    ]),
  );
}
